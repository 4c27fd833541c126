//! The facts about files in git's index (version 2), set without reading a file.
//!
//! After a checkout the owners and times of the files are changed; git would read every file again to believe its index.
//! Nothing in the files has changed, so the index is told the new facts instead.

use std::{ffi::OsStr, fs::Metadata, io, os::unix::ffi::OsStrExt, os::unix::fs::MetadataExt};

use sha1::{Digest, Sha1};

const HEADER: usize = 12;
/// What stands before the name: times, device, inode, mode, owners, size, object and flags.
const FIXED: usize = 62;
const CHECKSUM: usize = 20;

/// Sets, for each file in an index, what the kernel says of it now.
pub(crate) fn set_facts(bytes: &mut [u8], look: impl Fn(&OsStr) -> io::Result<Metadata>) -> io::Result<()> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "this is not an index of version 2");
    let body = bytes.len().checked_sub(CHECKSUM).ok_or_else(odd)?;
    if body < HEADER || &bytes[..4] != b"DIRC" || bytes[4..8] != 2u32.to_be_bytes() {
        return Err(odd());
    }
    let count = u32::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let mut at = HEADER;
    for _ in 0..count {
        let rest = bytes.get(at + FIXED..body).ok_or_else(odd)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or_else(odd)?;
        let meta = look(OsStr::from_bytes(&rest[..length]))?;
        let facts =
            [meta.ctime(), meta.ctime_nsec(), meta.mtime(), meta.mtime_nsec(), meta.dev() as i64, meta.ino() as i64];
        // The index keeps the lower half of each number, as git does.
        for (place, fact) in facts.into_iter().enumerate() {
            bytes[at + place * 4..at + place * 4 + 4].copy_from_slice(&(fact as u32).to_be_bytes());
        }
        for (place, fact) in [(28, meta.uid()), (32, meta.gid()), (36, meta.size() as u32)] {
            bytes[at + place..at + place + 4].copy_from_slice(&fact.to_be_bytes());
        }
        at += (FIXED + length + 8) & !7;
    }
    let checksum = Sha1::digest(&bytes[..body]);
    bytes[body..].copy_from_slice(&checksum);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_index_is_refused_and_not_guessed_at() {
        let look = |_: &OsStr| -> io::Result<Metadata> { Err(io::ErrorKind::NotFound.into()) };
        for bad in [
            &b""[..],
            b"DIRC",
            &[0; 64],
            b"DIRC\0\0\0\x04\0\0\0\0aaaaaaaaaaaaaaaaaaaa",
            b"DIRC\0\0\0\x02\xff\xff\xff\xffaaaaaaaaaaaaaaaaaaaa",
        ] {
            assert!(set_facts(&mut bad.to_vec(), look).is_err(), "{bad:?}");
        }
        let mut empty = b"DIRC\0\0\0\x02\0\0\0\0aaaaaaaaaaaaaaaaaaaa".to_vec();
        set_facts(&mut empty, look).unwrap();
        assert_eq!(empty[12..], Sha1::digest(&empty[..12])[..]);
    }
}
