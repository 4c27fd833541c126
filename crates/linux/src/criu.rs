//! Talks to CRIU: one request, its questions on the way, one answer.
//!
//! CRIU is started as a worker (`criu swrk`) on a socket of ours and speaks length-free protobuf packets. It asks before
//! certain steps; whoever asked for the work may act there, or call it off. Its log lies beside the images.

use std::{
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, SendFlags, recv, send},
};

use crate::{Living, wire};

/// The file beside the images that CRIU writes its log to.
pub const LOG: &str = "criu.log";
/// Deleted files that are still open are kept up to this size.
const LARGEST_GHOST: u64 = 256 << 20;

/// The numbers of CRIU's protocol that are used here.
mod number {
    pub(super) const DUMP: u64 = 1;
    pub(super) const RESTORE: u64 = 2;
    pub(super) const NOTIFY: u64 = 6;
    pub(super) const CGROUPS_IGNORED: u64 = 0;
    pub(super) const NETWORK_UNLOCKED: u64 = 3;
}

/// What is asked of CRIU.
pub(crate) enum Errand<'a> {
    /// Write a tree of processes to disk and let it live.
    Dump { first: i32 },
    /// Bring it back to life in this root.
    Restore { root: &'a Path },
}

/// Changes which users of the host the users of a stored jail will be: a range from this one on.
pub fn change_users(images: &Path, base: u32) -> io::Result<()> {
    for file in fs::read_dir(images)? {
        let path = file?.path();
        let is_users = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("userns-"));
        if !is_users {
            continue;
        }
        // Two words say what kind of file it is, one how long the only message in it is.
        let head = fs::read(&path)?.get(..8).ok_or(io::ErrorKind::InvalidData)?.to_vec();
        let range = Message::default().number(1, 0).number(2, base.into()).number(3, crate::Mapping::WIDTH.into());
        let users = Message::default().bytes(1, &range.0).bytes(2, &range.0).0;
        let length = (users.len() as u32).to_le_bytes();
        // Its neighbours may share the file under another name.
        let draft = path.with_extension("draft");
        fs::write(&draft, [head.as_slice(), &length, &users].concat())?;
        return fs::rename(&draft, &path);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "there are no users in the images"))
}

/// A mount that CRIU does not make itself: how it is named in the images, and where it is found.
pub(crate) type External = (String, String);

/// Why CRIU did not do it, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CRIU refused: {0}")]
pub struct Refused(pub String);

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused(error.to_string())
    }
}

/// Writes the memory of a jail into a folder, which must be empty. The jail lives on, but `held` is called at a moment
/// when all of it stands still and everything is written: what is frozen there stays as it was written.
pub fn dump(
    criu: &Path,
    first: Living,
    host_folders: &[PathBuf],
    images: &Path,
    held: impl FnOnce() -> io::Result<()>,
) -> Result<(), Refused> {
    if !first.is_alive() {
        return Err(Refused("its first process has ended".into()));
    }
    let mut held = Some(held);
    let errand = Errand::Dump { first: first.pid };
    // On disk they are known by their places inside.
    let places =
        ["/run/carrel", "/dev"].into_iter().map(Into::into).chain(host_folders.iter().map(|f| f.to_string_lossy()));
    let externals: Vec<External> = places.map(|place| (place.clone().into(), place.into())).collect();
    run(Command::new(criu), &errand, images, &externals, |step, _| match (step, held.take()) {
        ("post-dump", Some(held)) => held(),
        (_, unused) => {
            held = unused;
            Ok(())
        }
    })?;
    Ok(())
}

/// Starts CRIU for one errand and answers its questions until it is done. Gives the number of the first process.
pub(crate) fn run(
    mut criu: Command,
    errand: &Errand<'_>,
    images: &Path,
    externals: &[External],
    mut asked: impl FnMut(&str, i32) -> io::Result<()>,
) -> Result<i32, Refused> {
    let folder = fs::File::open(images)?;
    let (ours, theirs) = wire::pair()?;
    criu.args(["swrk", "0"]).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    if criu.get_envs().len() == 0 {
        criu.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    }
    let mut child = criu.spawn().map_err(|error| Refused(format!("it did not start: {error}")))?;
    // Ours alone: the copies for the child go with the command, or its end would not be heard.
    drop(criu);
    let mut talk = || -> Result<i32, Refused> {
        say(&ours, &request(errand, folder.as_raw_fd(), externals))?;
        loop {
            let answer = Answer::read(&hear(&ours)?.ok_or_else(|| refusal(images, None))?)?;
            match answer {
                Answer { kind: number::NOTIFY, step, pid, .. } => {
                    let allowed = asked(&step, pid).map_err(|error| Refused(format!("{step}: {error}")));
                    say(&ours, &Message::default().number(1, number::NOTIFY).number(3, allowed.is_ok().into()).0)?;
                    allowed?;
                }
                Answer { success: true, pid, .. } => return Ok(pid),
                Answer { why, .. } => return Err(refusal(images, why)),
            }
        }
    };
    let told = talk();
    // It ends with the wire. What it had stopped it lets go, or ends, before.
    drop(ours);
    child.wait()?;
    told
}

/// What CRIU complained of first; its log says more than its answer.
fn refusal(images: &Path, told: Option<String>) -> Refused {
    let log = fs::read(images.join(LOG)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let mut errors = log.lines().filter_map(|line| line.split_once("Error ").map(|(_, error)| error));
    // That it failed is known, and that it may not raise its own limits is no reason.
    let first = errors.find(|error| !error.ends_with(" FAILED.") && !error.contains("rlimit: "));
    // Where in its source it says so is no news.
    let first = first.map(|error| error.split_once("): ").map_or(error, |(_, error)| error).trim().to_owned());
    Refused(first.or(told).unwrap_or_else(|| "it ended without a word".into()))
}

fn request(errand: &Errand<'_>, images: i32, externals: &[External]) -> Vec<u8> {
    let mut options = Message::default()
        .number(1, images as u64)
        .number(8, 1) // file locks
        .number(9, 2) // log warnings and errors
        .text(10, LOG)
        .number(12, 1) // ask before steps
        .number(34, number::CGROUPS_IGNORED)
        .number(35, LARGEST_GHOST)
        .number(38, libc::CLONE_NEWNET as u64) // of the network only the sockets; we raise the loopback
        .number(46, 1) // connections that nobody accepted yet are let go
        .number(52, 1) // connections are found closed
        .number(64, number::NETWORK_UNLOCKED);
    let kind = match errand {
        Errand::Dump { first } => {
            options = options.number(2, *first as u64).number(3, 1);
            number::DUMP
        }
        Errand::Restore { root } => {
            options = options.text(13, &root.to_string_lossy()).number(26, 1);
            number::RESTORE
        }
    };
    for (name, place) in externals {
        options = options.text(37, &format!("mnt[{name}]:{place}"));
    }
    Message::default().number(1, kind).bytes(2, &options.0).0
}

/// A protobuf message on its way out.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: u64) -> Self {
        varint(&mut self.0, field << 3);
        varint(&mut self.0, value);
        self
    }

    fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        varint(&mut self.0, field << 3 | 2);
        varint(&mut self.0, value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A protobuf message that came in, field by field: numbers, and bytes.
enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

fn next_field<'a>(rest: &mut &'a [u8]) -> Option<Field<'a>> {
    let mut number = || {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    };
    let key = number()?;
    match key & 7 {
        0 => Some(Field::Number(key >> 3, number()?)),
        2 => {
            let length = usize::try_from(number()?).ok()?;
            let (bytes, after) = rest.split_at_checked(length)?;
            *rest = after;
            Some(Field::Bytes(key >> 3, bytes))
        }
        _ => None,
    }
}

/// What CRIU says.
#[derive(Default)]
struct Answer {
    kind: u64,
    success: bool,
    step: String,
    pid: i32,
    why: Option<String>,
}

impl Answer {
    fn read(mut packet: &[u8]) -> io::Result<Answer> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut answer = Answer::default();
        while !packet.is_empty() {
            match next_field(&mut packet).ok_or(io::ErrorKind::InvalidData)? {
                Field::Number(1, kind) => answer.kind = kind,
                Field::Number(2, success) => answer.success = success != 0,
                // The restored process, or the step that is about to be taken.
                Field::Bytes(field @ (4 | 5), mut inner) => {
                    while !inner.is_empty() {
                        match next_field(&mut inner).ok_or(io::ErrorKind::InvalidData)? {
                            Field::Bytes(1, step) if field == 5 => answer.step = text(step),
                            Field::Number(1, pid) if field == 4 => answer.pid = pid as i32,
                            Field::Number(2, pid) if field == 5 => answer.pid = pid as i32,
                            _ => {}
                        }
                    }
                }
                Field::Bytes(9, why) => answer.why = Some(text(why)),
                _ => {}
            }
        }
        Ok(answer)
    }
}

fn say(wire: &OwnedFd, packet: &[u8]) -> io::Result<()> {
    loop {
        match send(wire, packet, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return Ok(sent.map(drop)?),
        }
    }
}

fn hear(wire: &OwnedFd) -> io::Result<Option<Vec<u8>>> {
    let mut packet = vec![0; 64 * 1024];
    loop {
        match recv(wire, packet.as_mut_slice(), RecvFlags::empty()) {
            Ok((0, _)) | Err(Errno::CONNRESET) => return Ok(None),
            Ok((length, _)) => {
                packet.truncate(length);
                return Ok(Some(packet));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_and_an_answer_are_told_apart() {
        let notify = Message::default().text(1, "post-dump").number(2, 300);
        let packet = Message::default().number(1, number::NOTIFY).number(2, 1).bytes(5, &notify.0).0;
        let question = Answer::read(&packet).expect("whole");
        assert_eq!((question.kind, question.step.as_str(), question.pid), (number::NOTIFY, "post-dump", 300));
        let restored = Message::default().number(1, 70_000);
        let packet = Message::default().number(1, number::RESTORE).number(2, 1).bytes(4, &restored.0).0;
        let answer = Answer::read(&packet).expect("whole");
        assert_eq!((answer.success, answer.pid, answer.why), (true, 70_000, None));
        assert!(Answer::read(&packet[..packet.len() - 1]).is_err(), "half an answer is none");
    }

    #[test]
    fn the_first_complaint_is_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = "(00.1) Warn  (a.c:1): odd\n(00.2) Error (u.c:1): rlimit: no\n(00.2) Error (b.c:2): sk: first\n\
                   (00.3) Error (c.c:3): next\n(00.3) Error (d.c:3): Dumping FAILED.\n";
        fs::write(folder.path().join(LOG), log).expect("written");
        assert_eq!(refusal(folder.path(), None), Refused("sk: first".into()));
        fs::remove_file(folder.path().join(LOG)).expect("removed");
        assert_eq!(refusal(folder.path(), Some("told".into())), Refused("told".into()));
    }
}
