//! The intruder: everything that is known to have led out of a sandbox is tried, and must fail for the reason we think.

mod attempts;

use std::{collections::BTreeSet, fs, os::unix::net::UnixListener, path::Path};

use attempts::{Attempt, attempts};
use carrel_envd::Start;
use carrel_model::{SandboxId, sandbox::Depth};
use carrel_sandbox::{Pausing, Provider, template::Shelves};

use crate::yard::{Ran, Yard};

/// What every attempt begins with.
const PROBE: &str = include_str!("intruder/probe.py");
/// The capabilities of a guest, as the kernel prints them: owning files, changing users, signalling, low ports, chroot.
const CAPABILITIES: &str = "00000000800405fb";
/// Those of its first process: one more, which allows nothing and keeps the others out of its memory.
const FIRST_CAPABILITIES: &str = "00000008800405fb";

/// The command that makes an attempt.
fn command(script: &str) -> String {
    format!("/usr/bin/python3 - <<'INTRUDER'\n{PROBE}\n{script}\nINTRUDER")
}

/// Makes every attempt by a way to run commands, and says which came out otherwise than they must.
async fn holes(attempts: &[Attempt], run: impl AsyncFn(&str, &str) -> Ran) -> Vec<String> {
    let ready =
        run("root", "test -x /usr/bin/python3 && /usr/bin/python3 -c 'import ctypes, fcntl' && echo ready").await;
    assert_eq!(ready.out, "ready\n", "the attempts are written in Python, and there is none inside: {ready:?}");
    let mut holes = Vec::new();
    for attempt in attempts {
        for who in attempt.who.names() {
            let ran = run(who, &command(attempt.script)).await;
            let said = ran.out.trim_end();
            if !attempt.answers.contains(&said) {
                let why = ran.err.lines().last().unwrap_or_default().to_owned();
                let expected = attempt.answers.join(" | ");
                holes.push(format!("{who} tried to {}: {said} {why} (expected {expected})", attempt.name));
            }
        }
    }
    holes
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_is_known() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    expect_no_way_out(&yard, &id).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_is_known_after_a_night_on_disk_either() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    assert_eq!(yard.local.pause(&id, Depth::Stored).await, Ok(Depth::Stored), "{}", yard.record(&id)["unfit"]);
    assert_eq!(yard.local.resume(&id).await, Ok(Depth::Stored), "{}", yard.record(&id)["unfit"]);
    expect_no_way_out(&yard, &id).await;
    yard.close().await;
}

async fn expect_no_way_out(yard: &Yard, id: &SandboxId) {
    let prepared = yard.run(id, &command(PREPARED)).await;
    assert_eq!((prepared.code, prepared.out.as_str()), (0, "ready\n"), "{prepared:?}");
    let attempts = attempts();
    assert!(attempts.len() > 100, "{} attempts", attempts.len());
    let holes = holes(&attempts, async |who, command| yard.run_as(id, who, command).await).await;
    assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
}

/// Programs that would give a plain user more, if marks on files counted inside.
const PREPARED: &str = r"
import shutil
shutil.copy('/usr/bin/id', '/tmp/setuid-id')
os.chmod('/tmp/setuid-id', 0o6755)
shutil.copy('/usr/bin/cat', '/tmp/capable-cat')
everything = struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0x1ff, 0)
os.setxattr('/tmp/capable-cat', 'security.capability', everything)
print('ready')
";

#[tokio::test(flavor = "multi_thread")]
async fn a_program_built_for_the_older_processor_mode_is_ended() {
    // The list of calls has numbers of one mode: in another one the same numbers mean other calls.
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let script = r"
import mmap
if platform.machine() != 'x86_64':
    print('no such mode')
    sys.exit()
# mov eax, 20 (getpid, in the older mode); int 0x80; ret
code = bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3])
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print('ok', entry())
";
    let ran = yard.run(&id, &command(script)).await;
    assert!(ran.out == "no such mode\n" || (ran.code == 128 + 31 && ran.out.is_empty()), "{ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_to_the_hosts_files() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let secret = yard.folder.path().join("secret");
    fs::write(&secret, "of the host").unwrap();
    let secret = secret.to_str().unwrap();
    let script = format!(
        r"
secret = {secret:?}
up = '/..' * 40
ways = [secret, up + secret, '/proc/1/root' + secret, '/proc/1/root' + up + secret, '/proc/self/root' + up + secret,
        '/proc/1/cwd' + up + secret, '/proc/self/cwd' + up + secret, '/usr' + up + secret, '/run/carrel' + up + secret,
        '/dev' + up + secret, '/dev/pts' + up + secret, '/proc/sys' + up + secret]
ways += [f'/proc/{{who}}/fd/{{number}}{{up}}{{secret}}' for who in (1, 'self') for number in range(64)]
ways += [f'/proc/{{who}}/task/{{who}}/root{{up}}{{secret}}' for who in (1, os.getpid())]
tell_all([lambda w=w: read(w) for w in ways])
"
    );
    for who in ["root", "user"] {
        let ran = yard.run_as(&id, who, &command(&script)).await;
        let said: BTreeSet<_> = ran.out.split_whitespace().collect();
        assert!(said.is_subset(&BTreeSet::from(["EACCES", "ENOENT", "ENOTDIR"])), "{who}: {ran:?}");
        assert!(!said.is_empty(), "{who}: {ran:?}");
    }
    // A working folder that was a descriptor of the one who starts it (CVE-2024-21626).
    for number in 0..24 {
        let start = Start {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), format!("cat ./{}{secret}", "../".repeat(40))],
            cwd: Some(format!("/proc/self/fd/{number}")),
            user: Some("root".into()),
            ..Start::default()
        };
        if let Ok(ran) = yard.start(&id, &start).await {
            assert!(ran.code != 0 && ran.out.is_empty(), "descriptor {number}: {ran:?}");
        }
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_root_of_the_host_may_read_stays_closed_where_the_host_is_shown() {
    use std::os::unix::fs::PermissionsExt;
    let yard = Yard::open().await;
    let mut spec = yard.spec().await;
    // Made once, so that there is a template of the host to begin from.
    let first = yard.create(&spec).await;
    yard.local.destroy(&first).await.unwrap();
    let shown = yard.folder.path().join("shown");
    fs::create_dir(&shown).unwrap();
    fs::write(shown.join("open"), "for everybody").unwrap();
    fs::write(shown.join("closed"), "for root").unwrap();
    fs::set_permissions(shown.join("closed"), fs::Permissions::from_mode(0o600)).unwrap();
    let shelves = Shelves::open(yard.folder.path().join("templates")).unwrap();
    let mut template = shelves.find(&spec.template).unwrap().unwrap();
    template.name = "shown".parse().unwrap();
    template.config.host_folders.push(shown.clone());
    shelves.keep(&template).unwrap();
    spec.template = template.name;
    let id = yard.create(&spec).await;
    for who in ["root", "user"] {
        let ran = yard.run_as(&id, who, &format!("cd {} && cat open closed", shown.display())).await;
        assert_eq!((ran.code, ran.out.as_str()), (1, "for everybody"), "{who}: {ran:?}");
        assert!(ran.err.contains("Permission denied"), "{who}: {ran:?}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_of_envd_is_nowhere_to_be_read() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let token = yard.record(&id)["token"].as_str().unwrap().to_owned();
    assert_eq!(token.len(), 40);
    // Written backwards, so that the search does not find itself.
    let backwards: String = token.chars().rev().collect();
    let script = format!(
        r"
wanted = {backwards:?}[::-1].encode()
me, seen, found, closed = os.getpid(), 0, [], []
for pid in filter(str.isdigit, os.listdir('/proc')):
    if int(pid) == me:
        continue
    for name in ('environ', 'cmdline'):
        try:
            if wanted in read(f'/proc/{{pid}}/{{name}}', 1 << 20):
                found.append((pid, name))
        except OSError:
            closed.append((pid, name))
    try:
        maps, memory = open(f'/proc/{{pid}}/maps').read(), open(f'/proc/{{pid}}/mem', 'rb', buffering=0)
    except OSError:
        closed.append((pid, 'mem'))
        continue
    for line in maps.splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split('-'))
        try:
            memory.seek(start)
            if wanted in memory.read(end - start):
                found.append((pid, line))
        except (OSError, OverflowError, ValueError):
            pass
for top in ('/etc', '/home', '/root', '/run', '/tmp', '/var', '/dev/shm', '/srv', '/opt', '/mnt'):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path):
                    seen += 1
                    if wanted in open(path, 'rb').read():
                        found.append(path)
            except OSError:
                pass
print(found, ('1', 'mem') in closed, ('1', 'environ') in closed, seen > 10)
"
    );
    for who in ["root", "user"] {
        let ran = yard.run_as(&id, who, &command(&script)).await;
        assert_eq!(ran.out, "[] True True True\n", "{who}: {ran:?}");
    }
    // Whoever has the token and is not the host is hung up on all the same.
    let with_token = format!(
        r"
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect('\0carrel-envd')
try:
    line.sendall(b'GET /metrics HTTP/1.1\r\nHost: envd\r\nX-Access-Token: {token}\r\n\r\n')
    print('ok' if line.recv(64) else 'hung up')
except (BrokenPipeError, ConnectionResetError):
    print('hung up')
"
    );
    assert_eq!(yard.run(&id, &command(&with_token)).await.out, "hung up\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_of_the_host_are_not_reached() {
    use std::os::linux::net::SocketAddrExt;
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let name = format!("carrel-intruder-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let path = yard.folder.path().join("socket");
    let _other = UnixListener::bind(&path).unwrap();
    let script = format!(
        "
tell(lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))
tell(lambda: socket.socket(socket.AF_UNIX).connect({path:?}))
"
    );
    for who in ["root", "user"] {
        assert_eq!(yard.run_as(&id, who, &command(&script)).await.out, "ECONNREFUSED\nENOENT\n", "{who}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernel_itself_says_that_a_sandbox_is_confined() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (one, two) = (yard.create(&spec).await, yard.create(&spec).await);
    yard.run(&one, "sleep 1000 >/dev/null 2>&1 & echo x > /tmp/by-root; chmod 4755 /tmp/by-root").await;
    let first = |id: &SandboxId| yard.record(id)["first"]["pid"].as_i64().unwrap();
    let mut ranges = BTreeSet::new();
    for id in [&one, &two] {
        let pid = first(id);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(&format!("{name}:")));
            line.unwrap_or_else(|| panic!("{name} is not in {status}")).split_once(':').unwrap().1.trim().to_owned()
        };
        for (name, value) in [
            ("CapInh", "0000000000000000"),
            ("CapPrm", FIRST_CAPABILITIES),
            ("CapEff", FIRST_CAPABILITIES),
            ("CapBnd", CAPABILITIES),
            ("CapAmb", "0000000000000000"),
            ("NoNewPrivs", "1"),
            ("Seccomp", "2"),
            ("Groups", ""),
        ] {
            assert_eq!(field(name), value, "{name}");
        }
        assert!(field("Seccomp_filters").parse::<u32>().unwrap() >= 1);
        let user: u32 = field("Uid").split_whitespace().next().unwrap().parse().unwrap();
        assert!(user >= 0x7000_0000 && user.is_multiple_of(65_536), "root inside is {user} of the host");
        assert!(field("Uid").split_whitespace().all(|each| each == user.to_string()));
        ranges.insert(user);
        let map = |file: &str| {
            let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
            text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let expected = ["0".to_owned(), user.to_string(), "65536".to_owned()];
        assert_eq!((map("uid_map"), map("gid_map")), (expected.to_vec(), expected.to_vec()));
        for kind in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
            let of = |who: &str| fs::read_link(format!("/proc/{who}/ns/{kind}")).unwrap();
            assert_ne!(of(&pid.to_string()), of("self"), "it shares `{kind}` with the host");
            let other = first(if id == &one { &two } else { &one });
            assert_ne!(of(&pid.to_string()), of(&other.to_string()), "it shares `{kind}` with its neighbour");
        }
        // Nothing that the server had open came along.
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
            // It may be closed by now.
            let Ok(leads) = fs::read_link(entry.unwrap().path()) else { continue };
            let leads = leads.to_str().unwrap();
            let own = ["socket:", "pipe:", "anon_inode:", "/dev/null"].iter().any(|kind| leads.starts_with(kind));
            assert!(own, "a descriptor of the host is open inside: {leads}");
        }
    }
    assert_eq!(ranges.len(), 2, "two sandboxes have the same users");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_sandboxes_write_is_out_of_reach_for_the_hosts_users() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    // A program that belongs to root inside belongs to root on disk: whoever of the host could run it would be root.
    yard.run(&id, "cp /usr/bin/id /tmp/trap && chmod 4755 /tmp/trap && touch /tmp/trap").await;
    let slots = yard.folder.path().join("slots");
    let trap = slots.join(yard.record(&id)["name"].as_str().unwrap()).join("upper/tmp/trap");
    let found = fs::metadata(&trap).unwrap();
    assert_eq!((found.uid(), found.mode() & 0o7777), (0, 0o4755));
    for name in ["slots", "trash", "drafts", "templates"] {
        let folder = yard.folder.path().join(name);
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0, "{name} is open to everybody");
    }
    assert!(reads_as_nobody(&trap).is_err(), "somebody of the host walked to it");
    yard.close().await;
}

/// Tries to run a program as a user of the host that is nobody.
fn reads_as_nobody(program: &Path) -> std::io::Result<()> {
    use std::os::unix::process::CommandExt;
    // Only the folders of the yard are in question, not the temporary one above them.
    let above = program.ancestors().nth(5).unwrap();
    let beneath = program.strip_prefix(above).unwrap();
    let mut command = std::process::Command::new(Path::new(".").join(beneath));
    command.current_dir(above).uid(65_534).gid(65_534);
    command.output().map(drop)
}
