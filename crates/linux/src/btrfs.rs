//! Subvolumes of btrfs: folders that are copied and deleted in a moment at any size, each with a limit of its own.

use std::{
    fs::File,
    io,
    mem::size_of,
    os::{fd::AsRawFd, unix::ffi::OsStrExt},
    path::Path,
};

const MAGIC: u64 = 0x9123_683e;
/// `_IOW(0x94, number, size)` of the kernel.
const fn writes(number: u64, size: usize) -> u64 {
    (1 << 30) | ((size as u64) << 16) | (0x94 << 8) | number
}
const fn reads(number: u64, size: usize) -> u64 {
    (2 << 30) | ((size as u64) << 16) | (0x94 << 8) | number
}

#[repr(C)]
struct Named {
    fd: i64,
    name: [u8; 4088],
}

#[repr(C)]
struct Snapshot {
    fd: i64,
    transid: u64,
    flags: u64,
    unused: [u64; 4],
    name: [u8; 4040],
}

#[repr(C)]
struct QuotaControl {
    command: u64,
    status: u64,
}

#[repr(C)]
struct QuotaLimit {
    group: u64,
    flags: u64,
    most_referenced: u64,
    most_exclusive: u64,
    reserved: [u64; 2],
}

/// Whether a path lies on btrfs.
pub fn is_here(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|stat| stat.f_type as u64 == MAGIC)
}

/// Makes a subvolume; its parent exists.
pub fn create(place: &Path) -> io::Result<()> {
    let (parent, name) = split(place)?;
    call(&parent, writes(14, size_of::<Named>()), &Named { fd: 0, name: text(name)? })
}

/// Makes a subvolume that holds what another one holds now.
pub fn snapshot(from: &Path, place: &Path) -> io::Result<()> {
    let (parent, name) = split(place)?;
    let from = File::open(from)?;
    let ask = Snapshot { fd: i64::from(from.as_raw_fd()), transid: 0, flags: 0, unused: [0; 4], name: text(name)? };
    call(&parent, writes(23, size_of::<Snapshot>()), &ask)
}

/// Deletes a subvolume; the kernel frees what it held by and by.
pub fn delete(place: &Path) -> io::Result<()> {
    let (parent, name) = split(place)?;
    call(&parent, writes(15, size_of::<Named>()), &Named { fd: 0, name: text(name)? })
}

/// Switches on the counting that limits need, in its simple form.
pub fn count(root: &Path) -> io::Result<()> {
    const READS_AND_WRITES: u64 = 3 << 30;
    const ENABLE_SIMPLE: u64 = 4;
    let number = READS_AND_WRITES | ((size_of::<QuotaControl>() as u64) << 16) | (0x94 << 8) | 40;
    match call(&File::open(root)?, number, &QuotaControl { command: ENABLE_SIMPLE, status: 0 }) {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        done => done,
    }
}

/// Sets how many bytes a subvolume may hold beyond what it was copied from.
pub fn limit(place: &Path, most: u64) -> io::Result<()> {
    const MOST_REFERENCED: u64 = 1;
    let ask =
        QuotaLimit { group: 0, flags: MOST_REFERENCED, most_referenced: most, most_exclusive: 0, reserved: [0; 2] };
    call(&File::open(place)?, reads(43, size_of::<QuotaLimit>()), &ask)
}

fn call<T>(folder: &File, number: u64, ask: &T) -> io::Result<()> {
    // SAFETY: the number carries the size of what it points to, which lives until the call returns. Those that write an
    // answer (quota control) write only inside that size, over plain numbers that nobody reads afterwards.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), number, std::ptr::from_ref(ask)) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn split(place: &Path) -> io::Result<(File, &[u8])> {
    let odd = || io::Error::from(io::ErrorKind::InvalidInput);
    let name = place.file_name().ok_or_else(odd)?.as_bytes();
    Ok((File::open(place.parent().ok_or_else(odd)?)?, name))
}

fn text<const N: usize>(name: &[u8]) -> io::Result<[u8; N]> {
    let mut text = [0; N];
    // The last byte stays NUL.
    let place = text.get_mut(..name.len()).filter(|_| name.len() < N).ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(name);
    Ok(text)
}
