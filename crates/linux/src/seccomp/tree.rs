//! A filter that finds a call's verdict by halves.
//!
//! The kernel tries a filter on every call that exists when it is loaded, and runs it on many calls after: asking for one
//! number after the other made loading take a millisecond.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is made.
    Allow,
    /// It fails with this number.
    Refuse(i32),
    /// Another filter looks at its arguments.
    Judge,
}

const LOAD: u16 = 0x20;
const GO: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Where the call's number and the kind of machine stand.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;

#[cfg(target_arch = "x86_64")]
const THIS_MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_MACHINE: u32 = 0xc000_00b7;

/// Grows a filter from verdicts by number, one for all other numbers, and the filter that judges arguments.
pub(super) fn grow(verdicts: &BTreeMap<i64, Verdict>, otherwise: Verdict, judge: &[sock_filter]) -> BpfProgram {
    let mut program = vec![
        step(LOAD, MACHINE),
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: THIS_MACHINE },
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER),
    ];
    branch(&stretches(verdicts, otherwise), &mut program);
    // The judge stands at the end; who goes there learns only now how far it is.
    let end = program.len();
    for (place, step) in program.iter_mut().enumerate() {
        if *step == TO_THE_JUDGE {
            step.k = (end - place - 1) as u32;
        }
    }
    program.extend_from_slice(judge);
    program
}

/// Stands for the way to the judge until it is known how far that is.
const TO_THE_JUDGE: sock_filter = sock_filter { code: GO, jt: 0, jf: 0, k: u32::MAX };

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Where each stretch of numbers with one verdict begins; the last has no end.
fn stretches(verdicts: &BTreeMap<i64, Verdict>, otherwise: Verdict) -> Vec<(u32, Verdict)> {
    let mut found: Vec<(u32, Verdict)> = Vec::new();
    let mut add = |from: u32, verdict: Verdict| {
        if found.last().is_none_or(|(_, last)| *last != verdict) {
            found.push((from, verdict));
        }
    };
    let mut next = 0;
    for (number, verdict) in verdicts {
        let number = *number as u32;
        if number > next {
            add(next, otherwise);
        }
        add(number, *verdict);
        next = number + 1;
    }
    add(next, otherwise);
    found
}

fn branch(stretches: &[(u32, Verdict)], program: &mut BpfProgram) {
    if let [(_, verdict)] = stretches {
        return program.push(match verdict {
            Verdict::Allow => step(RETURN, libc::SECCOMP_RET_ALLOW),
            Verdict::Refuse(errno) => step(RETURN, libc::SECCOMP_RET_ERRNO | *errno as u32),
            Verdict::Judge => TO_THE_JUDGE,
        });
    }
    let (below, above) = stretches.split_at(stretches.len() / 2);
    let mut lower = Vec::new();
    branch(below, &mut lower);
    // A step forward by choice reaches 255 steps; further ones need one more.
    match u8::try_from(lower.len()) {
        Ok(far) => program.push(sock_filter { code: IF_AT_LEAST, jt: far, jf: 0, k: above[0].0 }),
        Err(_) => program
            .extend([sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: above[0].0 }, step(GO, lower.len() as u32)]),
    }
    program.append(&mut lower);
    branch(above, program);
}

#[cfg(test)]
mod tests {
    use super::{super::*, *};

    /// Runs a filter as the kernel would.
    fn run(program: &[sock_filter], number: u32, args: [u64; 6]) -> u32 {
        let mut seen = vec![number, THIS_MACHINE, 0, 0];
        seen.extend(args.iter().flat_map(|arg| [*arg as u32, (*arg >> 32) as u32]));
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let choice = match code {
                LOAD => {
                    loaded = seen[k as usize / 4];
                    continue;
                }
                0x54 => {
                    loaded &= k;
                    continue;
                }
                GO => {
                    at += k as usize;
                    continue;
                }
                RETURN => return k,
                IF_EQUAL => loaded == k,
                0x25 => loaded > k,
                IF_AT_LEAST => loaded >= k,
                other => panic!("no filter of ours has the step {other:#x}"),
            };
            at += usize::from(if choice { jt } else { jf });
        }
    }

    #[test]
    fn every_number_finds_its_own_verdict() {
        let judge = [step(RETURN, 77)];
        // Dense, sparse and alternating stretches, long enough that some ways are further than 255 steps.
        let verdicts: BTreeMap<i64, Verdict> = (0..2000)
            .filter(|number| number % 7 != 3 && !(500..600).contains(number))
            .map(|number| {
                let verdict = match number % 5 {
                    0 => Verdict::Judge,
                    1 => Verdict::Refuse(38),
                    _ => Verdict::Allow,
                };
                (number, verdict)
            })
            .collect();
        let program = grow(&verdicts, Verdict::Refuse(1), &judge);
        for number in (0..2100).chain([0x4000_0000, 0x4000_0001, u32::MAX]) {
            let expected = match verdicts.get(&i64::from(number)).unwrap_or(&Verdict::Refuse(1)) {
                Verdict::Allow => libc::SECCOMP_RET_ALLOW,
                Verdict::Refuse(errno) => libc::SECCOMP_RET_ERRNO | *errno as u32,
                Verdict::Judge => 77,
            };
            assert_eq!(run(&program, number, [0; 6]), expected, "call {number}");
        }
    }

    #[test]
    fn the_filter_of_the_house_allows_what_its_lists_allow_and_nothing_else() {
        let program = program().unwrap();
        let (allow, refuse) = (libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
        let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        for number in 0..1200_i64 {
            let has = |calls: &[(&str, i64)]| calls.iter().any(|(_, call)| *call == number);
            let expected = if has(UNKNOWN) {
                unknown
            } else if has(ALLOWED) || has(LEGACY) {
                allow
            } else if judged().iter().any(|judged| judged.call == number) {
                continue;
            } else {
                refuse
            };
            assert_eq!(run(program, number as u32, [0; 6]), expected, "call {number}");
        }
        let call = |number: i64, args: [u64; 6]| run(program, number as u32, args);
        let socket = |family: i32, protocol: i32| call(libc::SYS_socket, [family as u64, 1, protocol as u64, 0, 0, 0]);
        assert_eq!(socket(libc::AF_UNIX, 0), allow);
        assert_eq!(socket(libc::AF_INET6, libc::IPPROTO_TCP), allow);
        assert_eq!(socket(libc::AF_INET, libc::IPPROTO_SCTP), refuse);
        assert_eq!(socket(libc::AF_VSOCK, 0), refuse);
        assert_eq!(socket(libc::AF_NETLINK, libc::NETLINK_NETFILTER), refuse);
        assert_eq!(call(libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0]), allow);
        assert_eq!(call(libc::SYS_clone, [libc::CLONE_NEWNET as u64, 0, 0, 0, 0, 0]), refuse);
        assert_eq!(call(libc::SYS_unshare, [0x80, 0, 0, 0, 0, 0]), refuse);
        assert_eq!(call(libc::SYS_prlimit64, [0; 6]), allow);
        assert_eq!(call(libc::SYS_prlimit64, [1, 0, 0, 0, 0, 0]), refuse);
        assert_eq!(call(libc::SYS_ioctl, [0, libc::TIOCSTI, 0, 0, 0, 0]), refuse);
        assert!(program.len() < 600, "it has {} steps", program.len());
    }
}
