//! The system calls that rustix does not have.

use std::{
    io,
    mem::{size_of, zeroed},
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
};

/// Which side of a `clone` this is.
pub(crate) enum Side {
    /// The one that asked: the child's number, and a descriptor of it.
    Parent { pid: i32, pidfd: OwnedFd },
    /// The new one.
    Child,
}

/// `struct clone_args` of the kernel, as far as version 2.
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Makes a process in new namespaces, born into a cgroup when one is given. Only for a process with a single thread.
pub(crate) fn clone_into(namespaces: i32, cgroup: Option<&OwnedFd>) -> io::Result<Side> {
    let mut pidfd: i32 = -1;
    let mut args = CloneArgs {
        flags: (namespaces as u32 as u64) | libc::CLONE_PIDFD as u64,
        pidfd: &raw mut pidfd as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArgs::default()
    };
    if let Some(cgroup) = cgroup {
        const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: the arguments live until the call returns and have the size that is told. Without CLONE_VM the child has
    // memory of its own, a copy of ours; the caller has one thread, so no lock is held in that copy.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        pid => {
            // SAFETY: the kernel has just put a fresh descriptor there, and nobody else knows of it.
            let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
            Ok(Side::Parent { pid: pid as i32, pidfd })
        }
    }
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

pub(crate) const RDONLY: u64 = 0x1;
pub(crate) const NOSUID: u64 = 0x2;
pub(crate) const NODEV: u64 = 0x4;
pub(crate) const NOEXEC: u64 = 0x8;
const IDMAP: u64 = 0x10_0000;

/// Sets the attributes of a mount, and maps its owners through a user namespace when one is given.
pub(crate) fn mount_setattr(mount: impl AsFd, set: u64, users: Option<&OwnedFd>) -> io::Result<()> {
    set_attributes(mount, set, users, 0)
}

fn set_attributes(mount: impl AsFd, set: u64, users: Option<&OwnedFd>, how: i32) -> io::Result<()> {
    let attr = MountAttr {
        attr_set: set | if users.is_some() { IDMAP } else { 0 },
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: users.map_or(0, |fd| fd.as_raw_fd() as u64),
    };
    // SAFETY: the path is an empty C string, the attributes live until the call returns and have the size told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | how,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the attributes of a mount and of all that are mounted beneath it.
pub(crate) fn mount_setattr_all(mount: impl AsFd, set: u64) -> io::Result<()> {
    set_attributes(mount, set, None, libc::AT_RECURSIVE)
}

/// Acts on files as somebody else for a while, with all the rights it has. The overlay remembers who mounted it, and an
/// idmapped upper takes only somebody that its map knows.
pub(crate) fn as_owner<T>(id: u32, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    struct Back(Capabilities);
    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: changes only the credentials of this thread.
            unsafe {
                libc::setfsgid(0);
                libc::setfsuid(0);
            }
            let _ = self.0.set();
        }
    }
    let back = Back(Capabilities::get()?);
    // SAFETY: changes only the credentials of this thread.
    unsafe {
        libc::setfsgid(id);
        libc::setfsuid(id);
    }
    // The change of user has taken the rights over files away.
    back.0.set()?;
    act()
}

/// The capabilities of this thread, as the kernel tells and takes them.
pub(crate) struct Capabilities([CapData; 2]);

#[repr(C)]
#[derive(Clone, Copy)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

const CAP_VERSION_3: u32 = 0x2008_0522;

impl Capabilities {
    pub(crate) fn get() -> io::Result<Self> {
        let mut header = CapHeader { version: CAP_VERSION_3, pid: 0 };
        // SAFETY: plain numbers; all zero is a value of them.
        let mut data: [CapData; 2] = unsafe { zeroed() };
        // SAFETY: version 3 writes two data entries, and there are two.
        let done = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) };
        if done == 0 { Ok(Capabilities(data)) } else { Err(io::Error::last_os_error()) }
    }

    /// These and no others, also for the programs that follow.
    pub(crate) fn only(allowed: u64) -> Self {
        let half = |bits: u32| CapData { effective: bits, permitted: bits, inheritable: 0 };
        Capabilities([half(allowed as u32), half((allowed >> 32) as u32)])
    }

    pub(crate) fn set(&self) -> io::Result<()> {
        let mut header = CapHeader { version: CAP_VERSION_3, pid: 0 };
        // SAFETY: version 3 reads two data entries, and there are two.
        let done = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, self.0.as_ptr()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Gives up, for good and for all programs that follow, every capability that is not allowed.
pub(crate) fn bound_capabilities(allowed: u64) -> io::Result<()> {
    for cap in 0..64 {
        if allowed & (1 << cap) != 0 {
            continue;
        }
        // SAFETY: takes plain numbers and changes only this thread.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, cap, 0, 0, 0) } != 0 {
            let error = io::Error::last_os_error();
            // The kernel knows no capability of that number: there are no further ones.
            return if error.raw_os_error() == Some(libc::EINVAL) { Ok(()) } else { Err(error) };
        }
    }
    Ok(())
}

/// Children that end leave nothing to be collected.
pub(crate) fn collect_no_children() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
}

/// All signals do again what they do by default, and none is held back.
pub(crate) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the default action runs no code of ours. Those that cannot be set (KILL, STOP, the C library's own)
        // are refused and stay as they are.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    // SAFETY: an empty set is a value of it; the old set is not asked for.
    unsafe {
        let mut none: libc::sigset_t = zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Brings the loopback interface of this network namespace up.
pub(crate) fn raise_loopback() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: plain bytes; all zero is a value of it.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: SIOCSIFFLAGS reads an ifreq with a name and flags, which this is.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets a limit of this process, as far as the hard limit lets it.
pub(crate) fn limit(what: libc::__rlimit_resource_t, value: u64) {
    // SAFETY: the struct is filled by the call before it is read.
    unsafe {
        let mut now: libc::rlimit = zeroed();
        if libc::getrlimit(what, &raw mut now) == 0 {
            let value = value.min(now.rlim_max);
            now = libc::rlimit { rlim_cur: value, rlim_max: value };
            libc::setrlimit(what, &raw const now);
        }
    }
}

/// Marks every descriptor from this number on to be closed when another program takes over.
pub(crate) fn close_at_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: only marks descriptors; none is closed here.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor from the fourth on but these. Only for the copy of a process that uses none of the others.
pub(crate) fn close_all_but(kept: &mut [i32]) -> io::Result<()> {
    kept.sort_unstable();
    let close = |first: u32, last: u32| -> io::Result<()> {
        // SAFETY: whoever owned these in the process that was copied owns other ones there; here nobody uses them again.
        let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    let mut first = 3;
    for fd in kept.iter().filter_map(|fd| u32::try_from(*fd).ok()) {
        if fd > first {
            close(first, fd - 1)?;
        }
        first = first.max(fd + 1);
    }
    close(first, u32::MAX)
}

/// A second descriptor of the same thing, with a number from this one on.
pub(crate) fn duplicate_above(fd: i32, least: i32) -> io::Result<OwnedFd> {
    // SAFETY: makes a new descriptor; the old one is not touched.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes the cgroups that this process is in the root of those it sees.
pub(crate) fn new_cgroup_namespace() -> io::Result<()> {
    // SAFETY: a namespace of cgroups shares nothing with memory, files or threads.
    if unsafe { libc::unshare(libc::CLONE_NEWCGROUP) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Goes into a namespace of this kind. Only for a process with a single thread.
pub(crate) fn enter_namespace(namespace: impl AsFd, kind: i32) -> io::Result<()> {
    // SAFETY: takes a descriptor that lives until the call returns; with a single thread nobody else relies on the
    // former namespace.
    if unsafe { libc::setns(namespace.as_fd().as_raw_fd(), kind) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Waits for a child and says whether it ended with zero.
pub(crate) fn exited_well(child: &OwnedFd) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    loop {
        match waitid(WaitId::PidFd(child.as_fd()), WaitIdOptions::EXITED) {
            Ok(status) => return Ok(status.and_then(|status| status.exit_status()) == Some(0)),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A namespace of mounts for this thread alone, which also has its own working directory from now on.
pub(crate) fn new_mount_namespace() -> io::Result<()> {
    // SAFETY: changes only what this thread sees.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Turns this process into another program. Returns only to say why not.
pub(crate) fn become_program(program: &std::ffi::CStr, args: &[&std::ffi::CStr], env: &[&std::ffi::CStr]) -> io::Error {
    let list = |items: &[&std::ffi::CStr]| {
        items.iter().map(|item| item.as_ptr()).chain([std::ptr::null()]).collect::<Vec<_>>()
    };
    let (args, env) = (list(args), list(env));
    // SAFETY: all strings end with NUL and both lists with a null pointer; they outlive the call.
    unsafe {
        libc::execve(program.as_ptr(), args.as_ptr(), env.as_ptr());
    }
    io::Error::last_os_error()
}

/// Makes a descriptor stay open in the program that follows, at this number.
pub(crate) fn place_at(fd: OwnedFd, number: i32) -> io::Result<()> {
    // SAFETY: only called right before another program takes this process over; whatever had that number is not used
    // by us any more.
    let done = unsafe { libc::dup2(fd.as_raw_fd(), number) };
    if done != number {
        return Err(io::Error::last_os_error());
    }
    if fd.as_raw_fd() == number {
        // Nothing was duplicated: the descriptor itself stays, without the mark that closes it.
        let fd = std::os::fd::IntoRawFd::into_raw_fd(fd);
        // SAFETY: the descriptor is open and ours.
        unsafe {
            libc::fcntl(fd, libc::F_SETFD, 0);
        }
    }
    Ok(())
}

/// Asks the kernel to move a range of another process's memory to swap.
pub(crate) fn page_out(process: &OwnedFd, from: usize, length: usize) -> io::Result<()> {
    let range = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: length };
    // SAFETY: the range is the other process's; nothing of ours is read or written through it, and its content stays.
    let done = unsafe {
        libc::syscall(libc::SYS_process_madvise, process.as_raw_fd(), &raw const range, 1, libc::MADV_PAGEOUT, 0)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
