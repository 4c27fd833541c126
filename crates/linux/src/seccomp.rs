//! The system calls that a guest may make: a list of what is allowed, everything else is refused.
//!
//! Stricter than the usual profile where that leaks: only unix, internet and routing sockets (a virtual machine's
//! AF_VSOCK knows no namespaces), no keyrings, no namespaces inside, no io_uring, bpf, perf or userfaultfd.

mod calls;
mod tree;

use std::{collections::BTreeMap, io, sync::OnceLock};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule,
};
use serde_json::{Value, json};

use self::{
    calls::{ALLOWED, LEGACY, UNKNOWN, plain},
    tree::{Verdict, grow},
};

static PROGRAM: OnceLock<Result<BpfProgram, String>> = OnceLock::new();

/// Compiles the filter, so that the copies of this process need not.
pub(crate) fn prepare() -> io::Result<()> {
    program().map(drop)
}

/// Binds this process and all that come from it.
pub(crate) fn apply() -> io::Result<()> {
    seccompiler::apply_filter(program()?).map_err(|error| io::Error::other(error.to_string()))
}

fn program() -> io::Result<&'static BpfProgram> {
    let made = PROGRAM.get_or_init(|| compile().map_err(|error| error.to_string()));
    made.as_ref().map_err(|error| io::Error::other(error.clone()))
}

fn compile() -> Result<BpfProgram, BackendError> {
    let judged = judged();
    let allowed = ALLOWED.iter().chain(LEGACY).map(|(_, call)| (*call, Verdict::Allow));
    let unknown = UNKNOWN.iter().map(|(_, call)| (*call, Verdict::Refuse(libc::ENOSYS)));
    let verdicts = allowed.chain(unknown).chain(judged.iter().map(|judged| (judged.call, Verdict::Judge))).collect();
    let rules = judged.iter().map(|judged| Ok((judged.call, judged.rules()?)));
    let rules: BTreeMap<i64, Vec<Rule>> = rules.collect::<Result<_, BackendError>>()?;
    let arch = std::env::consts::ARCH.try_into()?;
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let judge: BpfProgram = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()?;
    Ok(grow(&verdicts, Verdict::Refuse(libc::EPERM), &judge))
}

/// The same list in the words of the OCI runtime specification, for runtimes that make their own filters.
pub fn oci_profile() -> Value {
    let names = |calls: &[(&'static str, i64)]| calls.iter().map(|(name, _)| plain(name)).collect::<Vec<_>>();
    let allow = "SCMP_ACT_ALLOW";
    let mut calls = vec![
        json!({"names": names(&[ALLOWED, LEGACY].concat()), "action": allow}),
        json!({"names": names(UNKNOWN), "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS}),
    ];
    for judged in judged() {
        for way in &judged.ways {
            let args: Vec<Value> = way.iter().map(|(index, test)| test.oci(*index)).collect();
            calls.push(json!({"names": [judged.name], "action": allow, "args": args}));
        }
    }
    json!({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": libc::EPERM, "syscalls": calls})
}

/// A call that is allowed with some arguments.
struct Judged {
    name: &'static str,
    call: i64,
    /// Any of these allows it; each is true of all the arguments it names.
    ways: Vec<Vec<(u8, Test)>>,
}

/// What must be true of an argument.
#[derive(Debug, Clone, Copy)]
enum Test {
    Is(u64),
    Not(u64),
    Lacks(u64),
}

impl Judged {
    fn rules(&self) -> Result<Vec<Rule>, BackendError> {
        let way = |way: &Vec<(u8, Test)>| {
            Rule::new(way.iter().map(|(index, test)| test.condition(*index)).collect::<Result<_, _>>()?)
        };
        self.ways.iter().map(way).collect()
    }
}

impl Test {
    fn condition(self, index: u8) -> Result<Condition, BackendError> {
        match self {
            Test::Is(value) => Condition::new(index, Len::Dword, Op::Eq, value),
            Test::Not(value) => Condition::new(index, Len::Dword, Op::Ne, value),
            Test::Lacks(bits) => Condition::new(index, Len::Qword, Op::MaskedEq(bits), 0),
        }
    }

    fn oci(self, index: u8) -> Value {
        let low = u64::from(u32::MAX);
        match self {
            Test::Is(value) => json!({"index": index, "op": "SCMP_CMP_MASKED_EQ", "value": low, "valueTwo": value}),
            // The kernel looks at the lower half alone and this at all of it: who fills the upper half passes.
            Test::Not(value) => json!({"index": index, "op": "SCMP_CMP_NE", "value": value}),
            Test::Lacks(bits) => json!({"index": index, "op": "SCMP_CMP_MASKED_EQ", "value": bits, "valueTwo": 0}),
        }
    }
}

/// What the internet sockets may speak; the raw ones among these ask for a capability that nobody has.
const PROTOCOLS: [i32; 7] = [
    libc::IPPROTO_IP,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMPV6,
    libc::IPPROTO_UDPLITE,
    libc::IPPROTO_MPTCP,
];

fn judged() -> Vec<Judged> {
    const NAMESPACES: u64 = (libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP) as u32 as u64;
    /// The lowest bits of `clone` are a signal; of `unshare` this one asks for a namespace of time.
    const NEW_TIME: u64 = 0x80;
    const PERSONALITIES: [u64; 5] = [0, 0x0008, 0x2_0000, 0x2_0008, 0xffff_ffff];
    let only = |name, call, index, test| Judged { name, call, ways: vec![vec![(index, test)]] };
    let unix = vec![(0, Test::Is(libc::AF_UNIX as u64))];
    let mut sockets = vec![unix.clone()];
    for family in [libc::AF_INET, libc::AF_INET6] {
        // Asking for any other protocol makes the kernel load it, whoever asks.
        let speaks = |protocol: i32| vec![(0, Test::Is(family as u64)), (2, Test::Is(protocol as u64))];
        sockets.extend(PROTOCOLS.map(speaks));
    }
    sockets.push(vec![(0, Test::Is(libc::AF_NETLINK as u64)), (2, Test::Is(libc::NETLINK_ROUTE as u64))]);
    // Pushing keys into somebody else's terminal.
    let keys = vec![(1, Test::Not(libc::TIOCSTI)), (1, Test::Not(libc::TIOCLINUX))];
    vec![
        only("clone", libc::SYS_clone, 0, Test::Lacks(NAMESPACES)),
        only("unshare", libc::SYS_unshare, 0, Test::Lacks(NAMESPACES | NEW_TIME)),
        Judged { name: "socket", call: libc::SYS_socket, ways: sockets },
        Judged { name: "socketpair", call: libc::SYS_socketpair, ways: vec![unix] },
        // Its own limits and nobody else's: whoever is root inside could leave the first process without descriptors.
        only("prlimit64", libc::SYS_prlimit64, 0, Test::Is(0)),
        Judged { name: "ioctl", call: libc::SYS_ioctl, ways: vec![keys] },
        Judged {
            name: "personality",
            call: libc::SYS_personality,
            ways: PERSONALITIES.map(|value| vec![(0, Test::Is(value))]).to_vec(),
        },
    ]
}
