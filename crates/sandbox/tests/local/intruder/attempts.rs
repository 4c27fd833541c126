//! The ways out that are tried. A row is a name, who tries, what is tried and what the kernel must say.
//!
//! Nothing in here knows by what the sandbox is kept in, so the same rows can be run on every level of isolation.

/// One way out.
pub(super) struct Attempt {
    /// A sentence about what is tried.
    pub(super) name: &'static str,
    pub(super) who: Who,
    /// A script for Python that begins with `probe.py`.
    pub(super) script: &'static str,
    /// What it may print. Everything else is a hole.
    pub(super) answers: &'static [&'static str],
}

/// Who tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Root,
    User,
    Both,
}

impl Who {
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Who::Root => &["root"],
            Who::User => &["user"],
            Who::Both => &["root", "user"],
        }
    }
}

/// Every way out that is known.
pub(super) fn attempts() -> Vec<Attempt> {
    let all = [MOUNTS, NAMESPACES, DEVICES, FIRST_PROCESS, PROC, KERNEL, SOCKETS, PRIVILEGES, FILES, NEIGHBOURHOOD];
    all.into_iter().flatten().map(|&(name, who, script, answers)| Attempt { name, who, script, answers }).collect()
}

type Row = (&'static str, Who, &'static str, &'static [&'static str]);
use Who::{Both, Root, User};

const MOUNTS: &[Row] = &[
    ("mount a filesystem", Both, "tell(lambda: call('mount', b'none', b'/mnt', b'tmpfs', 0, None))", &["EPERM"]),
    ("mount /proc anew", Both, "tell(lambda: call('mount', b'proc', b'/mnt', b'proc', 0, None))", &["EPERM"]),
    (
        "mount cgroups for a release agent",
        Both,
        r#"
tell_all([lambda: call('mount', b'none', b'/mnt', b'cgroup', 0, b'memory'),
          lambda: call('mount', b'none', b'/mnt', b'cgroup2', 0, None)])"#,
        &["EPERM"],
    ),
    ("bind one place to another", Both, "tell(lambda: call('mount', b'/etc', b'/mnt', None, 4096, None))", &["EPERM"]),
    (
        "make a read-only mount writable",
        Both,
        "tell_all([lambda p=p: call('mount', None, p, None, 32 | 4096, None) for p in (b'/usr', b'/proc/sys', b'/run/carrel', b'/dev')])",
        &["EPERM"],
    ),
    ("make mounts shared", Both, "tell(lambda: call('mount', None, b'/', None, (1 << 20) | 16384, None))", &["EPERM"]),
    (
        "take a mount away",
        Both,
        "tell_all([lambda p=p, f=f: call('umount2', p, f) for p in (b'/proc/sys', b'/proc/kcore', b'/proc', b'/usr', b'/dev') for f in (0, 2)])",
        &["EPERM"],
    ),
    ("pivot the root", Both, "tell(lambda: call('pivot_root', b'/', b'/'))", &["EPERM"]),
    (
        "open a filesystem",
        Both,
        "tell_all([lambda k=k: call('fsopen', k, 0) for k in (b'tmpfs', b'proc', b'overlay', b'cgroup2', b'ext4')])",
        &["EPERM"],
    ),
    ("pick a filesystem", Both, "tell(lambda: call('fspick', -100, b'/', 0))", &["EPERM"]),
    ("clone a tree of mounts", Both, "tell(lambda: call('open_tree', -100, b'/', 1))", &["EPERM"]),
    ("open a tree without cloning it", Both, "tell(lambda: call('open_tree', -100, b'/', 0))", &["EPERM"]),
    ("move a mount", Both, "tell(lambda: call('move_mount', -100, b'/usr', -100, b'/mnt', 0))", &["EPERM"]),
    (
        "change a mount",
        Both,
        r#"
attributes = ctypes.create_string_buffer(struct.pack('QQQQ', 0, 1, 0, 0))
tell(lambda: call('mount_setattr', -100, b'/usr', 0, attributes, 32))"#,
        &["EPERM"],
    ),
    (
        "configure and finish a filesystem",
        Both,
        "tell_all([lambda: call('fsconfig', 0, 6, None, None, 0), lambda: call('fsmount', 0, 0, 0)])",
        &["EPERM"],
    ),
    (
        "list mounts by the newer calls",
        Both,
        "tell_all([lambda: call('listmount', None, None, 0, 0), lambda: call('statmount', None, None, 0, 0)])",
        &["EPERM"],
    ),
];

const NAMESPACES: &[Row] = &[
    (
        "unshare a namespace of any kind",
        Both,
        "tell_all([lambda f=f: call('unshare', f) for f in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80)])",
        &["EPERM"],
    ),
    (
        "unshare a namespace with high bits set",
        Both,
        "tell(lambda: call('unshare', 0x10000000 | (1 << 40)))",
        &["EPERM"],
    ),
    (
        "clone into a namespace of any kind",
        Both,
        r#"
def clone(flag):
    if call('clone', flag | 17, None, None, None, None) == 0:
        os._exit(0)
    os.wait()
tell_all([lambda f=f: clone(f) for f in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)])"#,
        &["EPERM"],
    ),
    (
        "clone3 into a namespace, also of time",
        Both,
        r#"
def clone3(flags):
    args = ctypes.create_string_buffer(struct.pack('11Q', flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0))
    if call('clone3', args, 88) == 0:
        os._exit(0)
    os.wait()
tell_all([lambda f=f: clone3(f) for f in (0, 0x10000000, 0x20000, 0x80, 0x200000000)])"#,
        &["ENOSYS"],
    ),
    (
        "enter a namespace of any kind",
        Both,
        r#"
kinds = ('cgroup', 'ipc', 'mnt', 'net', 'pid', 'time', 'user', 'uts')
tell_all([lambda k=k: call('setns', os.open('/proc/self/ns/' + k, os.O_RDONLY), 0) for k in kinds])"#,
        &["EPERM"],
    ),
    (
        "enter the namespaces of a process by its descriptor",
        Both,
        "tell(lambda: call('setns', call('pidfd_open', os.getpid(), 0), 0x10000000 | 0x20000))",
        &["EPERM"],
    ),
    (
        "enter the namespaces of the first process",
        Both,
        "tell_all([lambda k=k: os.open('/proc/1/ns/' + k, os.O_RDONLY) for k in ('mnt', 'net', 'user', 'pid')])",
        &["EACCES"],
    ),
    (
        "allow namespaces again",
        Both,
        "tell_all([lambda: write('/proc/sys/user/max_user_namespaces', b'100')])",
        &["EROFS", "EACCES"],
    ),
    (
        "change the map of users",
        Both,
        "tell_all([lambda f=f: write('/proc/self/' + f, b'0 0 1') for f in ('uid_map', 'gid_map')])",
        &["EPERM"],
    ),
    (
        "rename the machine",
        Both,
        "tell_all([lambda: call('sethostname', b'x', 1), lambda: call('setdomainname', b'x', 1)])",
        &["EPERM"],
    ),
    (
        "go by the 32-bit spelling of the calls",
        Both,
        r#"
# x32: the same processor mode, another row of numbers. unshare is 0x40000000 + 272.
answer = libc.syscall(ctypes.c_long(0x40000000 + 272), ctypes.c_long(0x10000000))
print(errno.errorcode[ctypes.get_errno()] if answer < 0 else 'ok')"#,
        &["EPERM", "ENOSYS"],
    ),
];

const DEVICES: &[Row] = &[
    (
        "make a node of a device",
        Both,
        r#"
os.chdir('/tmp')
nodes = [(0o20600, 1, 1), (0o20600, 5, 1), (0o20600, 10, 229), (0o60600, 8, 0), (0o60600, 7, 0), (0o60600, 254, 0), (0o20600, 0, 0)]
tell_all([lambda n=n: os.mknod('node', n[0], os.makedev(n[1], n[2])) for n in nodes])"#,
        &["EPERM"],
    ),
    (
        "make a node in memory",
        Both,
        "tell_all([lambda m=m: os.mknod('/dev/shm/node', m, os.makedev(1, 1)) for m in (0o20600, 0o60600)])",
        &["EPERM"],
    ),
    (
        "make a node in /dev",
        Both,
        "tell(lambda: os.mknod('/dev/node', 0o20600, os.makedev(1, 3)))",
        &["EROFS", "EACCES"],
    ),
    (
        "find a device that is not on the list",
        Both,
        "print(' '.join(sorted(os.listdir('/dev'))))",
        &["fd full mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero"],
    ),
    (
        "replace or reopen a device",
        Both,
        "tell_all([lambda: os.unlink('/dev/null'), lambda: os.rename('/dev/zero', '/dev/null')])",
        &["EROFS", "EACCES EROFS", "EACCES"],
    ),
    (
        "change who may use a device",
        Both,
        "tell_all([lambda: os.chmod('/dev/tty', 0o777), lambda: os.chown('/dev/tty', 0, 0)])",
        &["EROFS", "EPERM"],
    ),
    (
        "add to the kernel's randomness with credit",
        Both,
        "tell(lambda: fcntl.ioctl(os.open('/dev/urandom', os.O_RDWR), 0x40085203, struct.pack('ii4s', 32, 4, b'xxxx')))",
        &["EPERM"],
    ),
    (
        "clear the kernel's randomness",
        Both,
        "tell(lambda: fcntl.ioctl(os.open('/dev/urandom', os.O_RDWR), 0x5204))",
        &["EPERM"],
    ),
    (
        "type into a terminal",
        Both,
        r#"
import pty, termios
host, guest = pty.openpty()
tell_all([lambda: fcntl.ioctl(guest, termios.TIOCSTI, b'x'), lambda: fcntl.ioctl(guest, 0x541c, b'\x02')])"#,
        &["EPERM"],
    ),
    (
        "type into a terminal with high bits in the request",
        Both,
        r#"
import pty
host, guest = pty.openpty()
answer = libc.ioctl(guest, ctypes.c_ulong(0x5412 | (1 << 40)), b'x')
print(errno.errorcode[ctypes.get_errno()] if answer < 0 else 'ok')"#,
        &["EPERM"],
    ),
    ("find the host's terminals", Both, "print(' '.join(sorted(os.listdir('/dev/pts'))))", &["ptmx"]),
];

const FIRST_PROCESS: &[Row] = &[
    (
        "trace the first process",
        Both,
        "tell_all([lambda r=r: call('ptrace', r, 1, 0, 0) for r in (16, 0x4206)])",
        &["EPERM"],
    ),
    (
        "read the memory of the first process",
        Both,
        "tell_all([lambda: os.open('/proc/1/mem', os.O_RDONLY), lambda: os.open('/proc/1/mem', os.O_RDWR)])",
        &["EACCES"],
    ),
    (
        "read the first process's memory by call",
        Both,
        r#"
buffer = ctypes.create_string_buffer(64)
ours = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(buffer), 64))
theirs = ctypes.create_string_buffer(struct.pack('QQ', 0x400000, 64))
tell_all([lambda n=n: call(n, 1, ours, 1, theirs, 1, 0) for n in ('process_vm_readv', 'process_vm_writev')])"#,
        &["EPERM"],
    ),
    ("read the environment of the first process", Both, "tell(lambda: read('/proc/1/environ'))", &["EACCES"]),
    (
        "read where the first process keeps things",
        Both,
        "tell_all([lambda f=f: read('/proc/1/' + f) for f in ('maps', 'auxv', 'io', 'smaps', 'pagemap', 'personality', 'stack', 'syscall')])",
        &["EACCES", "EACCES EPERM", "EPERM"],
    ),
    (
        "go by the root, folder and program of the first process",
        Both,
        "tell_all([lambda f=f: os.readlink('/proc/1/' + f) for f in ('root', 'cwd', 'exe')] + [lambda: os.listdir('/proc/1/root/'), lambda: os.open('/proc/1/exe', os.O_RDONLY)])",
        &["EACCES"],
    ),
    (
        "take descriptors of the first process",
        Both,
        r#"
first = call('pidfd_open', 1, 0)
tell_all([lambda n=n: call('pidfd_getfd', first, n, 0) for n in range(16)])"#,
        &["EPERM"],
    ),
    (
        "walk the descriptors of the first process",
        Both,
        "tell_all([lambda n=n: os.readlink(f'/proc/1/fd/{n}') for n in range(8)] + [lambda n=n: os.open(f'/proc/1/fd/{n}/', os.O_PATH) for n in range(8)] + [lambda: os.listdir('/proc/1/map_files')])",
        &["EACCES", "EACCES EPERM"],
    ),
    ("compare with the first process", Both, "tell(lambda: call('kcmp', os.getpid(), 1, 0, 0, 0))", &["EPERM"]),
    (
        "kill the first process",
        Root,
        r#"
import signal
os.kill(1, signal.SIGKILL)
os.kill(1, signal.SIGSTOP)
os.kill(1, signal.SIGSEGV)
print(read('/proc/1/stat', 256).rsplit(b') ', 1)[1][:1].decode())"#,
        &["S", "R"],
    ),
    ("kill the first process as nobody special", User, "tell(lambda: os.kill(1, 9))", &["EPERM"]),
    (
        "write to the first program (CVE-2019-5736)",
        Both,
        "tell_all([lambda p=p: os.open(p, os.O_WRONLY) for p in ('/run/carrel/envd', '/proc/1/exe')])",
        &["EACCES EROFS", "EACCES ETXTBSY", "EACCES"],
    ),
    (
        "write to the running program through a shell that became it",
        Both,
        r#"
import subprocess, time
child = subprocess.Popen(['/run/carrel/envd', '--nonsense'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
tell(lambda: os.open(f'/proc/{child.pid}/exe', os.O_WRONLY | os.O_TRUNC))
child.wait()"#,
        &["EROFS", "EACCES", "ENOENT"],
    ),
    (
        "replace the first program",
        Both,
        "tell_all([lambda: os.unlink('/run/carrel/envd'), lambda: os.rename('/run/carrel/envd', '/run/carrel/x'), lambda: os.symlink('/bin/sh', '/run/carrel/y'), lambda: os.chmod('/run/carrel/envd', 0o777), lambda: os.truncate('/run/carrel/envd', 0)])",
        &["EROFS", "EACCES EROFS", "EACCES EPERM EROFS"],
    ),
    (
        "move the first program's folder out of the way",
        Both,
        "tell_all([lambda: os.rename('/run/carrel', '/run/elsewhere'), lambda: os.rmdir('/run/carrel')])",
        &["EBUSY", "EACCES", "EACCES EBUSY"],
    ),
    (
        "choose the limits of the first process",
        Both,
        r#"
import resource
tell_all([lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1)), lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1))])"#,
        &["EPERM"],
    ),
    (
        "call the first process as if from the host",
        Both,
        r#"
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect('\0carrel-envd')
try:
    line.sendall(b'GET /health HTTP/1.1\r\nHost: envd\r\n\r\n')
    print('ok' if line.recv(64) else 'hung up')
except (BrokenPipeError, ConnectionResetError):
    print('hung up')"#,
        &["hung up"],
    ),
    (
        "call it by a child that is gone when the call is taken",
        Both,
        r#"
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
child = os.fork()
if child == 0:
    line.connect('\0carrel-envd')
    os._exit(0)
os.waitpid(child, 0)
try:
    line.sendall(b'POST /init HTTP/1.1\r\nHost: envd\r\nContent-Length: 2\r\n\r\n{}')
    print('ok' if line.recv(64) else 'hung up')
except (BrokenPipeError, ConnectionResetError):
    print('hung up')"#,
        &["hung up"],
    ),
    (
        "claim to be somebody else while calling it",
        Both,
        r#"
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect('\0carrel-envd')
try:
    credentials = struct.pack('iII', 0, os.getuid(), os.getgid())
    line.sendmsg([b'GET /metrics HTTP/1.1\r\nHost: envd\r\n\r\n'], [(socket.SOL_SOCKET, 2, credentials)])
    print('ok' if line.recv(64) else 'hung up')
except OSError:
    print('hung up')"#,
        &["hung up"],
    ),
    (
        "take the name of its socket",
        Both,
        r#"
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
tell(lambda: line.bind('\0carrel-envd'))"#,
        &["EADDRINUSE"],
    ),
    (
        "take the port of the gateway",
        Both,
        r#"
line = socket.socket()
line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
tell(lambda: line.bind(('127.0.0.1', 49980)))"#,
        &["EADDRINUSE"],
    ),
];

const PROC: &[Row] = &[
    (
        "set what runs when a program crashes",
        Both,
        "tell(lambda: write('/proc/sys/kernel/core_pattern', b'|/tmp/x'))",
        &["EROFS", "EACCES"],
    ),
    (
        "write any of the kernel's settings",
        Both,
        r#"
names = ['kernel/core_pattern', 'kernel/modprobe', 'kernel/hostname', 'kernel/domainname', 'kernel/panic', 'kernel/randomize_va_space', 'kernel/sysrq',
    'kernel/ns_last_pid', 'kernel/shmmax', 'kernel/msgmax', 'kernel/sem', 'net/ipv4/ip_forward', 'net/ipv4/ip_unprivileged_port_start',
    'vm/overcommit_memory', 'vm/drop_caches', 'fs/file-max', 'fs/suid_dumpable', 'fs/protected_symlinks', 'user/max_user_namespaces', 'user/max_net_namespaces']
tell_all([lambda n=n: write('/proc/sys/' + n, b'0') for n in names if os.path.exists('/proc/sys/' + n)])"#,
        &["EROFS", "EACCES EROFS", "EACCES"],
    ),
    (
        "press the keys that reboot",
        Both,
        "tell(lambda: write('/proc/sysrq-trigger', b'h'))",
        &["EROFS", "EACCES", "ENOENT"],
    ),
    (
        "read the kernel's memory",
        Both,
        "print(read('/proc/kcore') if os.path.exists('/proc/kcore') else b'')",
        &["b''"],
    ),
    (
        "read the kernel's symbols, keys and timers",
        Both,
        "print(b''.join(read(p) for p in ('/proc/kallsyms', '/proc/keys', '/proc/timer_list', '/proc/latency_stats', '/proc/sched_debug', '/proc/interrupts') if os.path.exists(p)))",
        &["b''"],
    ),
    (
        "read the kernel's log",
        Both,
        "tell_all([lambda: os.open('/proc/kmsg', os.O_RDONLY), lambda: call('syslog', 3, ctypes.create_string_buffer(64), 64)])",
        &["EPERM", "EACCES EPERM", "EACCES"],
    ),
    (
        "change what interrupts and buses do",
        Both,
        r#"
import glob
names = [p for p in glob.glob('/proc/irq/*') + glob.glob('/proc/irq/*/smp_affinity') + glob.glob('/proc/bus/*/*') + glob.glob('/proc/fs/*/*') if os.path.isfile(p)]
tell_all([lambda p=p: os.open(p, os.O_WRONLY) for p in names] or [lambda: os.open('/proc/sys/x', os.O_CREAT)])"#,
        &["EROFS", "EACCES EROFS", "EACCES", "ENOENT"],
    ),
    ("find the host's /sys", Both, "print(os.listdir('/sys') if os.path.isdir('/sys') else [])", &["[]"]),
    (
        "find cgroups and a release agent",
        Both,
        r#"
found = [line for line in open('/proc/self/mountinfo') if ' - cgroup' in line or ' - sysfs' in line or ' - securityfs' in line or ' - debugfs' in line]
found += [p for p in ('/sys/fs/cgroup', '/sys/kernel/security', '/sys/kernel/debug', '/sys/firmware') if os.path.exists(p)]
print(found)"#,
        &["[]"],
    ),
    (
        "see where in the host's cgroups it lives",
        Both,
        "print(sorted(set(line.strip().split(':', 2)[2] for line in open('/proc/self/cgroup'))))",
        &["['/']"],
    ),
    (
        "see processes of the host",
        Both,
        r#"
pids = [int(p) for p in os.listdir('/proc') if p.isdigit()]
print('few' if len(pids) < 8 and 1 in pids and b'envd' in read('/proc/1/cmdline') else pids)"#,
        &["few"],
    ),
    (
        "signal processes that are not here",
        Both,
        r#"
here = {int(p) for p in os.listdir('/proc') if p.isdigit()}
tell_all([lambda p=p: os.kill(p, 0) for p in range(2, 5000) if p not in here and p != os.getpid() and not os.path.exists(f'/proc/{p}')])"#,
        &["ESRCH"],
    ),
    (
        "make itself safe from the kernel's choice of victims",
        Both,
        "tell(lambda: write('/proc/self/oom_score_adj', b'-1000'))",
        &["EACCES"],
    ),
    (
        "see a mount that is not nosuid",
        Both,
        r#"
print([line.split()[4] for line in open('/proc/self/mountinfo') if 'nosuid' not in line.split()[5].split(',')])"#,
        &["[]"],
    ),
    (
        "see a mount with devices besides /dev",
        Both,
        r#"
print(sorted({line.split()[4] for line in open('/proc/self/mountinfo') if 'nodev' not in line.split()[5].split(',')} - {'/dev', '/dev/pts'} - {l.split()[4] for l in open('/proc/self/mountinfo') if l.split()[3] == '/null'}))"#,
        &["[]"],
    ),
];

const KERNEL: &[Row] = &[
    (
        "use keyrings",
        Both,
        r#"
tell_all([lambda: call('add_key', b'user', b'x', b'y', 1, -3), lambda: call('request_key', b'user', b'x', None, 0),
          lambda: call('keyctl', 0, -3, 0, 0, 0), lambda: call('keyctl', 1, None, 0, 0, 0)])"#,
        &["EPERM"],
    ),
    (
        "load a program into the kernel",
        Both,
        "tell_all([lambda c=c: call('bpf', c, ctypes.create_string_buffer(128), 128) for c in range(12)])",
        &["EPERM"],
    ),
    (
        "watch the processor",
        Both,
        "tell(lambda: call('perf_event_open', ctypes.create_string_buffer(struct.pack('II', 1, 128) + bytes(120)), 0, -1, -1, 0))",
        &["EPERM"],
    ),
    ("catch page faults", Both, "tell_all([lambda f=f: call('userfaultfd', f) for f in (0, 1)])", &["EPERM"]),
    (
        "use rings of requests",
        Both,
        r#"
tell_all([lambda: call('io_uring_setup', 4, ctypes.create_string_buffer(256)), lambda: call('io_uring_enter', 0, 0, 0, 0, None, 0), lambda: call('io_uring_register', 0, 0, None, 0)])"#,
        &["ENOSYS"],
    ),
    (
        "boot another kernel",
        Both,
        "tell_all([lambda: call('kexec_load', 0, 0, None, 0), lambda: call('kexec_file_load', 0, 0, 0, None, 4)])",
        &["EPERM"],
    ),
    (
        "load or remove a module",
        Both,
        r#"
tell_all([lambda: call('init_module', b'x', 1, b''), lambda: call('finit_module', 0, b'', 0), lambda: call('delete_module', b'overlay', 0)])"#,
        &["EPERM"],
    ),
    (
        "reboot",
        Both,
        "tell_all([lambda c=c: call('reboot', 0xfee1dead, 672274793, c, None) for c in (0x89abcdef, 0)])",
        &["EPERM"],
    ),
    ("swap", Both, "tell_all([lambda: call('swapon', b'/tmp', 0), lambda: call('swapoff', b'/tmp')])", &["EPERM"]),
    (
        "set the clock",
        Both,
        r#"
now = ctypes.create_string_buffer(struct.pack('qq', 1, 0))
tell_all([lambda: call('settimeofday', now, None), lambda: call('clock_settime', 0, now), lambda: call('clock_adjtime', 0, ctypes.create_string_buffer(struct.pack('I', 0x8000) + bytes(204)))])"#,
        &["EPERM"],
    ),
    (
        "tune the clock",
        Both,
        "tell(lambda: call('adjtimex', ctypes.create_string_buffer(struct.pack('I', 2) + bytes(204))))",
        &["EPERM"],
    ),
    (
        "reach ports of the processor",
        Both,
        "tell_all([lambda: call('iopl', 3), lambda: call('ioperm', 0, 1024, 1)])",
        &["EPERM"],
    ),
    (
        "change tables of the processor",
        Both,
        "tell(lambda: call('modify_ldt', 0, ctypes.create_string_buffer(64), 64))",
        &["EPERM"],
    ),
    (
        "set quotas",
        Both,
        "tell_all([lambda: call('quotactl', 0x800002, b'/dev/root', 0, None), lambda: call('quotactl_fd', 0, 0, 0, None)])",
        &["EPERM"],
    ),
    ("keep accounts of processes", Both, "tell(lambda: call('acct', None))", &["EPERM"]),
    (
        "open a file of the host by its number (shocker)",
        Both,
        r#"
handle = ctypes.create_string_buffer(struct.pack('II', 8, 1) + struct.pack('II', 2, 0))
tell_all([lambda d=d: call('open_by_handle_at', os.open(d, os.O_RDONLY), handle, 0) for d in ('/', '/usr', '/run/carrel', '/etc')])"#,
        &["EPERM"],
    ),
    (
        "learn the number of a file",
        Both,
        r#"
handle, mount = ctypes.create_string_buffer(256), ctypes.create_string_buffer(8)
handle[0] = b'\x80'
tell(lambda: call('name_to_handle_at', -100, b'/usr', handle, mount, 0))"#,
        &["EPERM"],
    ),
    (
        "look up cookies and old tables",
        Both,
        "tell_all([lambda: call('lookup_dcookie', 0, None, 0), lambda: call('sysfs', 3, 0, 0), lambda: call('uselib', b'/tmp/x')])",
        &["EPERM"],
    ),
    (
        "live as a program of another system",
        Both,
        "tell_all([lambda p=p: call('personality', p) for p in (0x0400000, 0x0100000, 0x0001, 0x0006, 0x4000000)])",
        &["EPERM"],
    ),
    (
        "live without random addresses, which is allowed",
        Both,
        "tell(lambda: call('personality', 0x40000))",
        &["EPERM", "ok 0"],
    ),
    (
        "hear of every file that is opened",
        Both,
        "tell_all([lambda f=f: call('fanotify_init', f, 0) for f in (0, 4, 0x200)])",
        &["EPERM"],
    ),
    (
        "move pages of others",
        Both,
        "tell_all([lambda: call('move_pages', 1, 0, None, None, None, 0), lambda: call('migrate_pages', 1, 0, None, None)])",
        &["EPERM"],
    ),
    ("hide memory from the kernel", Both, "tell(lambda: call('memfd_secret', 0))", &["EPERM"]),
    ("hang up the terminal", Both, "tell(lambda: call('vhangup'))", &["EPERM"]),
    (
        "raise a limit that was set",
        Both,
        r#"
import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (most + 1, most + 1))
    print('ok')
except (ValueError, PermissionError):
    print('refused')"#,
        &["refused"],
    ),
    (
        "become more urgent than others",
        Both,
        r#"
tell_all([lambda: os.setpriority(os.PRIO_PROCESS, 0, -20), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))])"#,
        &["EACCES EPERM", "EPERM"],
    ),
];

const SOCKETS: &[Row] = &[
    ("reach the hypervisor", Both, "tell_all([lambda t=t: socket.socket(40, t) for t in (1, 2, 5)])", &["EPERM"]),
    ("see packets", Both, "tell_all([lambda t=t: socket.socket(17, t, 0x300) for t in (2, 3, 10)])", &["EPERM"]),
    (
        "forge packets",
        Both,
        "tell_all([lambda f=f, p=p: socket.socket(f, 3, p) for f, p in ((2, 1), (2, 255), (2, 6), (10, 58), (10, 255))])",
        &["EPERM"],
    ),
    (
        "speak to the kernel other than of routes",
        Both,
        "tell_all([lambda p=p: socket.socket(16, 3, p) for p in range(1, 24)])",
        &["EPERM"],
    ),
    (
        "change routes and interfaces",
        Both,
        r#"
line = socket.socket(16, 3, 0)
line.bind((0, 0))
def ask(kind, flags, body):
    line.send(struct.pack('IHHII', 16 + len(body), kind, flags, 1, 0) + body)
    answer = line.recv(4096)
    code = -struct.unpack('i', answer[16:20])[0]
    if code:
        raise OSError(code, '')
dummy = struct.pack('HH', 10, 3) + b'dummy0' + bytes(2)
link = struct.pack('BBHiII', 0, 0, 0, 0, 0, 0) + dummy
route = struct.pack('8BI', 2, 0, 0, 0, 254, 3, 0, 1, 0)
tell_all([lambda: ask(16, 0x605, link), lambda: ask(24, 0x605, route)])"#,
        &["EPERM"],
    ),
    (
        "use the kernel's ciphers, radios, buses and clusters",
        Both,
        "tell_all([lambda f=f: socket.socket(f, 5 if f != 31 else 3) for f in (3, 4, 5, 9, 15, 21, 24, 26, 29, 30, 31, 33, 35, 37, 38, 39, 41, 42, 43, 44, 45)])",
        &["EPERM"],
    ),
    (
        "load protocols that nobody needs",
        Both,
        "tell_all([lambda f=f, t=t, p=p: socket.socket(f, t, p) for f in (2, 10) for t, p in ((1, 132), (5, 132), (6, 33), (2, 115), (1, 256))])",
        &["EPERM"],
    ),
    (
        "make pairs of other families",
        Both,
        r#"
pair = ctypes.create_string_buffer(8)
def socketpair(family):
    if libc.socketpair(family, 1, 0, pair) < 0:
        raise OSError(ctypes.get_errno(), '')
tell_all([lambda f=f: socketpair(f) for f in (2, 10, 30, 40)])"#,
        &["EPERM"],
    ),
    (
        "mark packets past the host's rules",
        Both,
        "s = socket.socket()\ntell_all([lambda: s.setsockopt(1, 36, 1), lambda: s.setsockopt(1, 33, 100 << 20)])",
        &["EPERM"],
    ),
];

const PRIVILEGES: &[Row] = &[
    (
        "gain by a setuid program of the host",
        User,
        r#"
import glob, stat, subprocess
found = [p for p in glob.glob('/usr/bin/*') + glob.glob('/usr/sbin/*') + glob.glob('/usr/lib/*/*') if os.path.isfile(p) and os.stat(p).st_mode & 0o6000]
# None of them says who it is; so one that gives a shell is asked.
done = subprocess.run(['su', 'root', '-c', 'id -u'], stdin=subprocess.DEVNULL, capture_output=True, text=True)
print('gained' if done.stdout.strip() == '0' else 'nothing')"#,
        &["nothing"],
    ),
    (
        "gain by a setuid program of its own",
        User,
        r#"
import subprocess
# Root inside has made it, see the suite: a copy of `id` that belongs to root.
print(subprocess.run(['/tmp/setuid-id', '-u'], capture_output=True, text=True).stdout.strip())"#,
        &["1000"],
    ),
    (
        "gain by a program with capabilities",
        User,
        r#"
import subprocess
print(subprocess.run(['/tmp/capable-cat', '/proc/self/status'], capture_output=True, text=True).stdout.split('CapEff:')[1].split()[0])"#,
        &["0000000000000000"],
    ),
    (
        "have more than the list of capabilities",
        Root,
        r#"
status = dict(line.strip().split(':', 1) for line in open('/proc/self/status'))
print(*[status[n].strip() for n in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp')])"#,
        &["0000000000000000 00000000800405fb 00000000800405fb 00000000800405fb 0000000000000000 1 2"],
    ),
    (
        "have capabilities as a plain user",
        User,
        r#"
status = dict(line.strip().split(':', 1) for line in open('/proc/self/status'))
print(*[status[n].strip() for n in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb', 'NoNewPrivs', 'Seccomp')])"#,
        &["0000000000000000 0000000000000000 0000000000000000 0000000000000000 1 2"],
    ),
    (
        "take back a capability",
        Both,
        r#"
def take(bit):
    header = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0))
    bits = 1 << bit
    halves = ctypes.create_string_buffer(struct.pack('6I', bits & 0xffffffff, bits & 0xffffffff, 0, bits >> 32, bits >> 32, 0))
    if libc.capset(header, halves) < 0:
        raise OSError(ctypes.get_errno(), '')
tell_all([lambda b=b: take(b) for b in (2, 12, 13, 16, 17, 19, 21, 22, 25, 27, 38, 39, 40)])"#,
        &["EPERM"],
    ),
    (
        "allow new privileges again",
        Both,
        r#"
if libc.prctl(38, 0, 0, 0, 0) < 0:
    print(errno.errorcode[ctypes.get_errno()])
else:
    print('ok')"#,
        &["EINVAL"],
    ),
    (
        "become root",
        User,
        "tell_all([lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.seteuid(0)])",
        &["EPERM"],
    ),
    (
        "become a user of the host that is not mapped",
        Root,
        "tell_all([lambda u=u: os.setuid(u) for u in (65536, 0x70000000, 4294967294)])",
        &["EINVAL"],
    ),
    (
        "give a file to a user of the host that is not mapped",
        Root,
        r#"
write('/tmp/mine', b'x')
tell_all([lambda u=u: os.chown('/tmp/mine', u, u) for u in (65536, 0x70000000)])"#,
        &["EINVAL"],
    ),
];

const FILES: &[Row] = &[
    (
        "set marks of the overlay",
        Both,
        r#"
write('/tmp/marked-' + str(os.getuid()), b'x')
tell_all([lambda n=n: os.setxattr('/tmp/marked-' + str(os.getuid()), n, b'y') for n in ('trusted.overlay.redirect', 'trusted.overlay.opaque', 'trusted.overlay.metacopy', 'trusted.x')])"#,
        &["EPERM"],
    ),
    (
        "set marks of the kernel's guards",
        Both,
        r#"
write('/tmp/guarded-' + str(os.getuid()), b'x')
tell_all([lambda n=n: os.setxattr('/tmp/guarded-' + str(os.getuid()), n, b'y') for n in ('security.ima', 'security.evm')])"#,
        &["EPERM", "EOPNOTSUPP", "EOPNOTSUPP EPERM"],
    ),
    (
        "set marks that no guard of the kernel reads",
        Both,
        // Linux before 6.11 with BPF among its guards lets everybody, outside too, set these on files of their own: it is not
        // asked. gVisor calls itself 4.4.
        r#"
write('/tmp/unguarded-' + str(os.getuid()), b'x')
version = tuple(int(part) for part in os.uname().release.split('-')[0].split('+')[0].split('.')[:2])
if (5, 0) <= version < (6, 11):
    print('EPERM')
else:
    tell_all([lambda n=n: os.setxattr('/tmp/unguarded-' + str(os.getuid()), n, b'y') for n in ('security.SMACK64', 'security.x')])"#,
        &["EPERM", "EOPNOTSUPP", "EOPNOTSUPP EPERM"],
    ),
    (
        "see marks of the overlay",
        Both,
        "print([n for p in ('/', '/etc', '/tmp', '/usr') for n in os.listxattr(p) if n.startswith('trusted.')])",
        &["[]"],
    ),
    (
        "write to the host's programs",
        Both,
        "tell_all([lambda: write('/usr/bin/x', b'x'), lambda: os.unlink('/usr/bin/env'), lambda: os.open('/usr/bin/env', os.O_RDWR), lambda: os.chmod('/usr/bin/env', 0o777), lambda: os.utime('/usr/bin/env')])",
        &["EROFS", "EACCES EROFS", "EACCES EPERM EROFS"],
    ),
    (
        "link a host's program to where it can be written",
        Both,
        "tell(lambda: os.link('/usr/bin/env', '/tmp/linked'))",
        &["EXDEV", "EPERM"],
    ),
    (
        "leave by chroot and an open folder",
        Root,
        r#"
os.makedirs('/tmp/pit', exist_ok=True)
before = os.stat('/')
outside = os.open('/', os.O_RDONLY)
os.chroot('/tmp/pit')
os.fchdir(outside)
for _ in range(64):
    os.chdir('..')
os.chroot('.')
after = os.stat('/')
print((before.st_dev, before.st_ino) == (after.st_dev, after.st_ino) and os.path.exists('/run/carrel/envd'))"#,
        &["True"],
    ),
    ("leave by chroot as a plain user", User, "tell(lambda: os.chroot('/tmp'))", &["EPERM"]),
    (
        "find a descriptor that leads elsewhere (CVE-2024-21626)",
        Both,
        r#"
odd = []
for name in os.listdir('/proc/self/fd'):
    try:
        leads = os.readlink('/proc/self/fd/' + name)
    except FileNotFoundError:
        continue
    if not (leads.startswith(('pipe:', '/dev/null', '/dev/pts/', '/proc/')) or leads.startswith('/tmp/')):
        odd.append(leads)
print(odd)"#,
        &["[]"],
    ),
    (
        "go up from its own folder",
        Both,
        r#"
place = '/proc/self/cwd' + '/..' * 64
print(os.path.samefile(place, '/'), os.path.samefile('/proc/self/root' + '/..' * 64, '/'), os.getcwd())"#,
        &["True True /"],
    ),
    (
        "read what only the host's root may read",
        Both,
        r#"
secrets = ['/etc/shadow', '/etc/gshadow', '/etc/ssh/ssh_host_rsa_key', '/etc/ssh/ssh_host_ed25519_key', '/etc/machine-id', '/root/.ssh', '/root/.bashrc', '/boot', '/var/lib/dpkg/status', '/var/log/dpkg.log', '/etc/apt/sources.list']
print([p for p in secrets if os.path.lexists(p)])"#,
        &["[]"],
    ),
];

const NEIGHBOURHOOD: &[Row] = &[
    (
        "see another network than its own",
        Both,
        "print(sorted(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))",
        &["['lo']"],
    ),
    ("find a route", Both, "print(len(open('/proc/net/route').read().splitlines()) - 1)", &["0"]),
    (
        "see unix sockets of others",
        Both,
        r#"
print(sorted({line.split()[7] for line in open('/proc/net/unix').read().splitlines()[1:] if len(line.split()) > 7}))"#,
        &["['@carrel-envd']"],
    ),
    (
        "see shared memory and queues of others",
        Both,
        "print([len(open('/proc/sysvipc/' + n).read().splitlines()) - 1 for n in ('shm', 'sem', 'msg') if os.path.exists('/proc/sysvipc/' + n)])",
        &["[0, 0, 0]", "[]"],
    ),
];
