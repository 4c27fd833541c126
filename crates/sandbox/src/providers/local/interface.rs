//! A network interface of its own, for a sandbox that asks for one: a pair of virtual cables and the host's NAT.
//!
//! ```text
//! inside  eth0 198.18.x.y+1 ══════ crlNAME 198.18.x.y  the host ── forwarded and disguised ──► the world
//! ```
//!
//! Rules of the host stand between: the host itself, its neighbours, private networks and other sandboxes are not
//! reached. Nobody inside may change an interface or a rule. The cables end with the sandbox's network; the rules and the
//! host's forwarding are taken back when the last cable is gone.

use std::{
    fs,
    io::{self, Write},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use carrel_linux::{Living, Mapping};

use super::slot::FIRST_BASE;

/// What the host's ends of all cables are called at the beginning.
const CABLE: &str = "crl";
/// A range that nobody routes; each sandbox has two addresses of it.
const FIRST: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const NETWORKS: &str = "/sys/class/net";
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// Whom nobody reaches from a sandbox: this host, what is close to it, private networks, other sandboxes, nobody at all.
const CLOSED: &str = "0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 168.63.129.16, 169.254.0.0/16, 172.16.0.0/12, \
                      192.0.0.0/24, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3";

/// Gives interfaces, and takes back what they needed.
#[derive(Debug)]
pub(crate) struct Interfaces {
    /// Says, while it is there, that the host did not forward before we came.
    note: PathBuf,
}

impl Interfaces {
    pub(crate) fn new(folder: &Path) -> Interfaces {
        Interfaces { note: folder.join("forwarding") }
    }

    /// Why this host gives none.
    pub(crate) fn missing() -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("an interface of its own needs a server that runs as root".into());
        }
        let lacks = [("ip", "iproute2"), ("nft", "nftables"), ("nsenter", "util-linux")];
        let lacks = lacks.iter().find(|(program, _)| !is_installed(program));
        lacks.map(|(program, package)| {
            format!("an interface of its own needs `{program}`, which is missing (apt-get install {package})")
        })
    }

    /// Gives an interface to the network of a process. May be repeated.
    pub(crate) fn attach(&self, name: &str, base: u32, first: Living) -> io::Result<()> {
        let cable = cable(name);
        let _alone = alone()?;
        // The host's end is raised last: what is up is whole.
        if is_up(&cable) {
            return Ok(());
        }
        remove(&cable)?;
        self.forward()?;
        feed(Command::new("nft").args(["-f", "-"]), &rules())?;
        self.lay(&cable, addresses(base), first.pid).inspect_err(|_| {
            let _ = remove(&cable);
        })
    }

    fn lay(&self, cable: &str, (outside, inside): (Ipv4Addr, Ipv4Addr), pid: i32) -> io::Result<()> {
        let batch = || {
            let mut ip = Command::new("ip");
            ip.args(["-batch", "-"]);
            ip
        };
        feed(&mut batch(), &format!("link add {cable} type veth peer name eth0 netns {pid}\n"))?;
        let quiet = format!("/proc/sys/net/ipv6/conf/{cable}/disable_ipv6");
        if Path::new(&quiet).exists() {
            fs::write(quiet, "1")?;
        }
        let script = "v6=/proc/sys/net/ipv6/conf/eth0/disable_ipv6; [ ! -e $v6 ] || echo 1 > $v6; exec ip -batch -";
        feed(
            Command::new("nsenter").args([&format!("--net=/proc/{pid}/ns/net"), "sh", "-c", script]),
            &format!("addr add {inside}/31 dev eth0\nlink set eth0 up\nroute add default via {outside}\n"),
        )?;
        feed(&mut batch(), &format!("addr add {outside}/31 dev {cable}\nlink set {cable} up\n"))
    }

    /// Takes an interface away, content to find none. It would go by itself, when the kernel likes.
    pub(crate) fn detach(&self, name: &str) -> io::Result<()> {
        remove(&cable(name))
    }

    /// Takes the rules and the forwarding back when no cable is left.
    pub(crate) fn tidy(&self) -> io::Result<()> {
        if !self.note.exists() && !rules_are_here() {
            return Ok(());
        }
        let _alone = alone()?;
        let names = fs::read_dir(NETWORKS)?.flatten().map(|entry| entry.file_name());
        if names.into_iter().any(|name| name.to_string_lossy().starts_with(CABLE)) {
            return Ok(());
        }
        if rules_are_here() {
            feed(Command::new("nft").args(["delete", "table", "ip", "carrel"]), "")?;
        }
        if self.note.exists() {
            fs::write(FORWARDING, "0")?;
            fs::remove_file(&self.note)?;
        }
        Ok(())
    }

    fn forward(&self) -> io::Result<()> {
        if fs::read_to_string(FORWARDING)?.trim() != "0" {
            return Ok(());
        }
        fs::write(&self.note, "the host did not forward before sandboxes had interfaces\n")?;
        fs::write(FORWARDING, "1")
    }
}

/// The host's end of a sandbox's cable. The kernel takes 15 letters.
fn cable(name: &str) -> String {
    let short: String = name.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
    format!("{CABLE}{short}")
}

/// The addresses of the two ends: nobody else has the base, so nobody else has these.
fn addresses(base: u32) -> (Ipv4Addr, Ipv4Addr) {
    let outside = u32::from(FIRST) + (base - FIRST_BASE) / Mapping::WIDTH * 2;
    (outside.into(), (outside + 1).into())
}

fn is_up(cable: &str) -> bool {
    let flags = fs::read_to_string(Path::new(NETWORKS).join(cable).join("flags")).unwrap_or_default();
    u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).is_ok_and(|flags| flags & 1 == 1)
}

/// Removes a cable, content to find none: the kernel may be faster.
fn remove(cable: &str) -> io::Result<()> {
    let place = Path::new(NETWORKS).join(cable);
    if !place.exists() {
        return Ok(());
    }
    let gone = feed(Command::new("ip").args(["link", "del", cable]), "");
    if place.exists() { gone } else { Ok(()) }
}

/// Rules and forwarding belong to the whole host, on which other houses may stand: one at a time changes them.
fn alone() -> io::Result<fs::File> {
    let networks = fs::File::open(NETWORKS)?;
    rustix::fs::flock(&networks, rustix::fs::FlockOperation::LockExclusive)?;
    Ok(networks)
}

/// The same rules for all cables, put in place at once and in one piece.
fn rules() -> String {
    format!(
        "table ip carrel\ndelete table ip carrel\ntable ip carrel {{
            chain input {{
                type filter hook input priority -10; policy accept;
                iifname \"{CABLE}*\" drop
            }}
            chain forward {{
                type filter hook forward priority -10; policy accept;
                iifname \"{CABLE}*\" ip daddr {{ {CLOSED} }} reject with icmp type admin-prohibited
                iifname \"{CABLE}*\" oifname \"{CABLE}*\" drop
                oifname \"{CABLE}*\" ct state established,related accept
                oifname \"{CABLE}*\" drop
            }}
            chain postrouting {{
                type nat hook postrouting priority 100; policy accept;
                iifname \"{CABLE}*\" masquerade
            }}
        }}\n"
    )
}

fn rules_are_here() -> bool {
    let asked = Command::new("nft").args(["list", "table", "ip", "carrel"]).stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| answer.status.success())
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Runs a program with a text as its input.
fn feed(command: &mut Command, text: &str) -> io::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    let ended = child.wait_with_output()?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(io::Error::other(format!("{name}: {}", said.lines().next().unwrap_or("it failed without a word"))))
}
