//! Paths, as callers write them.

use std::path::PathBuf;

use super::users::User;
use crate::wire::{Code, Fault};

/// The whole path that a caller means: absolute, from `~`, or from the user's home. `.` and `..` are taken out as text,
/// which is what E2B does.
pub(super) fn resolve(path: &str, user: &User, default: Option<&str>) -> Result<PathBuf, Fault> {
    if path.contains('\0') {
        return Err(Fault::new(Code::InvalidArgument, "a path cannot contain NUL"));
    }
    let path = if path.is_empty() { default.unwrap_or("~") } else { path };
    let whole = match path.strip_prefix('~') {
        Some("") => user.home.clone(),
        Some(rest) if rest.starts_with('/') => format!("{}{rest}", user.home),
        Some(_) => {
            return Err(Fault::new(Code::InvalidArgument, format!("'{path}': only ~ and ~/… are understood")));
        }
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{}/{path}", user.home),
    };
    let mut clean: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    Ok(PathBuf::from(format!("/{}", clean.join("/"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_at_home_or_in_the_default_folder() {
        let user = User { name: "user".into(), uid: 1, gid: 1, home: "/home/user".into(), groups: vec![] };
        for (path, default, expected) in [
            ("/a/./b/../c", None, "/a/c"),
            ("/../../a", None, "/a"),
            ("a/b", None, "/home/user/a/b"),
            ("~", None, "/home/user"),
            ("~/x", None, "/home/user/x"),
            ("", None, "/home/user"),
            ("", Some("/work"), "/work"),
            ("a\nb", None, "/home/user/a\nb"),
        ] {
            assert_eq!(resolve(path, &user, default), Ok(PathBuf::from(expected)), "{path}");
        }
        assert_eq!(resolve("a\0b", &user, None).map_err(|fault| fault.code), Err(Code::InvalidArgument));
        assert_eq!(resolve("~other", &user, None).map_err(|fault| fault.code), Err(Code::InvalidArgument));
    }
}
