# What every attempt begins with. An attempt ends by printing what the kernel said: the name of an error, or `ok`.
import ctypes, errno, fcntl, os, platform, socket, struct, sys

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # x86-64, the others
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "chroot": (161, 51),
    "clock_adjtime": (305, 266), "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None),
    "iopl": (172, None), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "listmount": (458, 458), "lookup_dcookie": (212, 18), "memfd_secret": (447, 447),
    "migrate_pages": (256, 238), "modify_ldt": (154, None), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "move_pages": (279, 239), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pivot_root": (155, 41), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "request_key": (249, 218), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "statmount": (457, 457), "swapoff": (168, 225), "swapon": (167, 224),
    "sysfs": (139, None), "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97), "uselib": (134, None),
    "userfaultfd": (323, 282), "vhangup": (153, 58),
}


def number(name):
    return NUMBERS[name][0 if platform.machine() == "x86_64" else 1]


def call(name, *args):
    """Makes a system call and gives its answer; raises what the kernel said instead."""
    if number(name) is None:
        raise OSError(errno.EPERM, "this processor has no such call")
    plain = [a if isinstance(a, (bytes, type(None))) or hasattr(a, "_obj") or isinstance(a, ctypes.Array)
             else ctypes.c_long(a) for a in args]
    ctypes.set_errno(0)
    answer = libc.syscall(ctypes.c_long(number(name)), *plain)
    if answer < 0:
        raise OSError(ctypes.get_errno(), name)
    return answer


def tell(attempt):
    """Prints what came of an attempt."""
    try:
        answer = attempt()
        print("ok" if answer is None else f"ok {answer!r}")
    except OSError as error:
        print(errno.errorcode.get(error.errno, str(error.errno)))


def tell_all(attempts):
    """Prints each answer once: attempts that are alike are expected to be answered alike."""
    answers = []
    for attempt in attempts:
        try:
            attempt()
            answers.append("ok")
        except OSError as error:
            answers.append(errno.errorcode.get(error.errno, str(error.errno)))
    print(" ".join(sorted(set(answers))))


def write(path, what):
    with open(path, "wb", buffering=0) as file:
        file.write(what)


def read(path, most=64):
    with open(path, "rb", buffering=0) as file:
        return file.read(most)
