//! Who lives here: `/etc/passwd` and `/etc/group`, read by hand since a static binary has no name service.

use std::{
    collections::HashMap,
    fs, io,
    os::unix::fs::MetadataExt,
    sync::{Arc, Mutex, OnceLock},
};

use rustix::{
    process::{Gid, Uid},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) home: String,
    /// All groups beside the first.
    pub(super) groups: Vec<u32>,
}

/// Everybody, as of the last look at the files.
#[derive(Debug, Default)]
pub(super) struct Everybody {
    users: Vec<User>,
    groups: HashMap<u32, String>,
}

/// When and what a file was; another one is read again.
type Stamp = Option<(u64, i64, i64, u64)>;

/// The register of users; reads its files again when they changed.
#[derive(Debug, Default)]
pub(super) struct Register {
    seen: Mutex<(Stamp, Stamp, Arc<Everybody>)>,
}

impl Register {
    /// Everybody who is registered now.
    pub(super) fn everybody(&self) -> Arc<Everybody> {
        let stamps = (stamp("/etc/passwd"), stamp("/etc/group"));
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if seen.2.users.is_empty() || (seen.0, seen.1) != stamps {
            let passwd = fs::read("/etc/passwd").unwrap_or_default();
            let group = fs::read("/etc/group").unwrap_or_default();
            let everybody = understand(&String::from_utf8_lossy(&passwd), &String::from_utf8_lossy(&group));
            *seen = (stamps.0, stamps.1, Arc::new(everybody));
        }
        seen.2.clone()
    }
}

impl Everybody {
    /// A user by name, or by number when nobody has the name.
    pub(super) fn find(&self, name: &str) -> Option<&User> {
        let by_name = self.users.iter().find(|user| user.name == name);
        by_name.or_else(|| name.parse().ok().and_then(|uid: u32| self.users.iter().find(|user| user.uid == uid)))
    }

    /// The name of a user's number, or the number.
    pub(super) fn owner(&self, uid: u32) -> String {
        self.users.iter().find(|user| user.uid == uid).map_or_else(|| uid.to_string(), |user| user.name.clone())
    }

    /// The name of a group's number, or the number.
    pub(super) fn group(&self, gid: u32) -> String {
        self.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string())
    }
}

fn stamp(path: &str) -> Stamp {
    let seen = fs::metadata(path).ok()?;
    Some((seen.ino(), seen.mtime(), seen.mtime_nsec(), seen.size()))
}

fn understand(passwd: &str, group: &str) -> Everybody {
    let mut groups = HashMap::new();
    let mut members: HashMap<&str, Vec<u32>> = HashMap::new();
    for line in group.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, gid, ..] = fields[..] else { continue };
        let Ok(gid) = gid.parse() else { continue };
        groups.entry(gid).or_insert_with(|| name.to_owned());
        for member in fields.get(3).unwrap_or(&"").split(',').filter(|member| !member.is_empty()) {
            members.entry(member).or_default().push(gid);
        }
    }
    let mut users = Vec::new();
    for line in passwd.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, ..] = fields[..] else { continue };
        let (Ok(uid), Ok(gid)) = (uid.parse(), gid.parse()) else { continue };
        let mut others = members.get(name).cloned().unwrap_or_default();
        others.retain(|other| *other != gid);
        let home = if home.is_empty() { "/" } else { home };
        users.push(User { name: name.to_owned(), uid, gid, home: home.to_owned(), groups: others });
    }
    if !users.iter().any(|user| user.uid == 0) {
        // A root filesystem without a register still has a root.
        let home = if fs::metadata("/root").is_ok() { "/root" } else { "/" };
        users.push(User { name: "root".into(), uid: 0, gid: 0, home: home.into(), groups: Vec::new() });
    }
    groups.entry(0).or_insert_with(|| "root".to_owned());
    Everybody { users, groups }
}

/// Does something as a user: with that user's ids and groups, on this thread alone, and comes back.
///
/// A child that is spawned meanwhile is born as the user. The way back stays open only for this thread: a program that
/// is executed takes its saved ids from the effective ones.
pub(super) fn as_user<T>(user: &User, act: impl FnOnce() -> T) -> io::Result<T> {
    let me = rustix::process::geteuid().as_raw();
    if user.uid == me {
        return Ok(act());
    }
    if me != 0 {
        let message = format!("only root can become {}, and this is not root", user.name);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let _back = Back::new();
    let groups: Vec<Gid> = user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    match set_thread_groups(&groups) {
        // In a user namespace made without privilege nobody may change groups, and there are none to keep or lose.
        Ok(()) | Err(rustix::io::Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_res_gid(gid, gid, Gid::ROOT)?;
    set_thread_res_uid(uid, uid, Uid::ROOT)?;
    Ok(act())
}

/// The way back to root. A thread that cannot come back must not go on.
struct Back;

impl Back {
    fn new() -> Back {
        Back::groups();
        Back
    }

    fn groups() -> &'static [Gid] {
        static GROUPS: OnceLock<Vec<Gid>> = OnceLock::new();
        GROUPS.get_or_init(|| rustix::process::getgroups().unwrap_or_default())
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        let uid = set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT);
        let gid = set_thread_res_gid(Gid::ROOT, Gid::ROOT, Gid::ROOT);
        let groups = match set_thread_groups(Back::groups()) {
            Err(rustix::io::Errno::PERM) => Ok(()),
            other => other,
        };
        if uid.and(gid).and(groups).is_err() {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_groups_that_name_them() {
        let everybody = understand(
            "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/sh\nbroken\n",
            "root:x:0:\nuser:x:1000:user\nsudo:x:27:user,other\ndocker:x:99:other\n",
        );
        let user = User { name: "user".into(), uid: 1000, gid: 1000, home: "/home/user".into(), groups: vec![27] };
        assert_eq!(everybody.find("user"), Some(&user));
        assert_eq!(everybody.find("1000"), Some(&user));
        assert_eq!(everybody.find("nobody"), None);
        assert_eq!(
            (everybody.owner(1000), everybody.owner(7), everybody.group(27)),
            ("user".into(), "7".into(), "sudo".into())
        );
    }

    #[test]
    fn a_root_filesystem_without_a_register_still_has_a_root() {
        assert_eq!(understand("", "").find("root").map(|root| root.uid), Some(0));
    }
}
