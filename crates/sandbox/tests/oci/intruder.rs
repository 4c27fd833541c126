//! The intruder behind a second kernel, and in a container: the same attempts as in a jail.

#[path = "../local/intruder/attempts.rs"]
mod attempts;

use attempts::attempts;
use carrel_sandbox::{Pausing, Provider};
use secrecy::ExposeSecret;

use crate::yard::Yard;

const PROBE: &str = include_str!("../local/intruder/probe.py");

const MANY: &str = include_str!("../local/intruder/many.py");

/// The command that runs a script after the probe.
fn command(script: &str) -> String {
    format!("/usr/bin/python3 - <<'INTRUDER'\n{PROBE}\n{script}\nINTRUDER")
}

/// The command that makes many attempts and prints what was said to each.
fn all(scripts: &[&str]) -> String {
    let scripts = serde_json::to_string(scripts).unwrap();
    command(&format!(
        "{MANY}\nscripts = json.loads({scripts:?})\nprint(json.dumps([made(script) for script in scripts]))"
    ))
}

/// An answer that is not a refusal, and not of interest on that level.
const ANYTHING: &[&str] = &["*"];

type Otherwise = &'static [(&'static str, &'static [&'static str])];

/// What gVisor's own kernel grants within itself: none of it reaches the host's. Its refusals have words of their own, so
/// any refusal is taken for one.
const GVISOR: Otherwise = &[
    // Namespaces, devices and urgency of its own.
    ("unshare a namespace of any kind", &["EPERM ok"]),
    ("unshare a namespace with high bits set", &["ok 0"]),
    ("clone into a namespace of any kind", &["EPERM ok"]),
    ("enter the namespaces of the first process", &["ENOENT ok"]),
    ("make a node in memory", &["EEXIST ok", "ok"]),
    ("make a node in /dev", &["ok"]),
    ("find a device that is not on the list", ANYTHING),
    ("replace or reopen a device", &["ok"]),
    ("change who may use a device", &["ok"]),
    ("become more urgent than others", &["EINVAL ok"]),
    ("make itself safe from the kernel's choice of victims", &["ok"]),
    // Its first process hides its memory and its descriptors, not how it was begun.
    (
        "read the environment of the first process",
        &["ok b'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bi'"],
    ),
    ("read where the first process keeps things", &["ENOENT ok", "EACCES ENOENT ok"]),
    ("walk the descriptors of the first process", &["ENOENT ENOTDIR ok"]),
    // Its envd listens at a file.
    ("call it by a child that is gone when the call is taken", &["ECONNREFUSED\nENOTCONN"]),
    ("take the name of its socket", &["ok"]),
    ("see unix sockets of others", &["['/run/carrel-host/envd.sock']"]),
    // Settings, log and /sys of its own kernel.
    ("write any of the kernel's settings", &["EIO ok"]),
    ("read the kernel's log", &["ENOENT ok"]),
    ("find the host's /sys", ANYTHING),
    ("find cgroups and a release agent", ANYTHING),
    ("see where in the host's cgroups it lives", &["[]"]),
    ("see a mount that is not nosuid", ANYTHING),
    ("see a mount with devices besides /dev", ANYTHING),
    ("use rings of requests", &["ENOSYS EPERM ok"]),
    ("speak to the kernel other than of routes", &["EPROTONOSUPPORT ok"]),
    ("mark packets past the host's rules", &["EPERM ok"]),
    // Which it has is looked at below: this kernel does not say all that the script asks for.
    ("have more than the list of capabilities", &["KeyError('CapAmb')"]),
    ("have capabilities as a plain user", &["KeyError('CapAmb')"]),
    ("take back a capability", &["EPERM ok"]),
    // Users are the second kernel's; outside, all of them are one.
    ("become a user of the host that is not mapped", &["EPERM ok"]),
    ("give a file to a user of the host that is not mapped", &["ok"]),
];

/// Capabilities that let root inside leave, whatever keeps it: changing the kernel, its devices, mounts and others' memory.
const DANGEROUS: u64 = 1 << 16 | 1 << 17 | 1 << 19 | 1 << 21 | 1 << 22 | 1 << 25 | 1 << 38 | 1 << 39 | 1 << 40;

/// What `runc` does otherwise.
const RUNC: Otherwise = &[
    ("call the first process as if from the host", &["ECONNREFUSED"]),
    ("call it by a child that is gone when the call is taken", &["ECONNREFUSED\nENOTCONN"]),
    ("claim to be somebody else while calling it", &["ECONNREFUSED"]),
    ("take the name of its socket", &["ok"]),
    ("see unix sockets of others", &["['/run/carrel-host/envd.sock']"]),
    // The program is ended for it.
    ("go by the 32-bit spelling of the calls", &[""]),
    (
        "find a device that is not on the list",
        &["fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"],
    ),
    ("make a node in /dev", &["EPERM"]),
    ("replace or reopen a device", &["EBUSY", "EACCES EBUSY"]),
    // It covers files with the host's `null`, and its devices and covers are mounts of its own: which, the kernel decides.
    ("see a mount that is not nosuid", ANYTHING),
    ("see a mount with devices besides /dev", ANYTHING),
    // The second of the two calls is only for consoles, and there is none.
    ("type into a terminal", &["ENOTTY EPERM"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_of_gvisor_is_known() {
    expect_no_way_out("runsc", GVISOR).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_way_out_of_runc_is_known() {
    expect_no_way_out("runc", RUNC).await;
}

async fn expect_no_way_out(runtime: &str, otherwise: Otherwise) {
    let yard = Yard::with(runtime).await;
    let mut spec = yard.spec().await;
    // A second kernel needs some of it for itself.
    spec.limits =
        serde_json::from_value(serde_json::json!({"cpus": 2, "memory_mb": 1024, "disk_mb": 256, "pids": 256})).unwrap();
    let id = yard.create(&spec).await;
    let prepared = yard.run(&id, &command(PREPARED)).await;
    assert_eq!((prepared.code, prepared.out.as_str()), (0, "ready\n"), "{prepared:?}");
    let mut holes = Vec::new();
    for who in ["root", "user"] {
        let attempts: Vec<_> = attempts()
            .into_iter()
            .filter(|attempt| attempt.who.names().contains(&who))
            .filter(|attempt| runtime != "runsc" || !ENDS_GVISOR.contains(&attempt.name))
            .collect();
        assert!(attempts.len() > 80, "{} attempts", attempts.len());
        let scripts: Vec<_> = attempts.iter().map(|attempt| attempt.script).collect();
        let ran = yard.run_as(&id, who, &all(&scripts)).await;
        let said: Vec<String> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        for (attempt, said) in attempts.iter().zip(said) {
            let others = otherwise.iter().filter(|(name, _)| *name == attempt.name).flat_map(|(_, answers)| *answers);
            let is_refused = runtime == "runsc" && is_refusal(&said);
            if !is_refused && !attempt.answers.iter().chain(others).any(|answer| *answer == said || *answer == "*") {
                let expected = attempt.answers.join(" | ");
                holes.push(format!("{who} tried to {}: {said} (expected {expected})", attempt.name));
            }
        }
    }
    assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
    let held = yard.run_as(&id, "root", "grep -E 'CapEff|CapPrm|CapBnd' /proc/self/status").await;
    let sets: Vec<u64> = held.out.split_whitespace().filter_map(|word| u64::from_str_radix(word, 16).ok()).collect();
    assert!(sets.len() == 3 && sets.iter().all(|set| set & DANGEROUS == 0), "{held:?}");
    expect_no_token(&yard, &id).await;
    yard.close().await;
}

/// Whether everything that was tried in a row was refused.
fn is_refusal(said: &str) -> bool {
    let is_error = |word: &str| {
        word.starts_with('E') && word.chars().all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit())
    };
    !said.is_empty() && said.split_whitespace().all(is_error)
}

/// What envd is shown by the host is in none of the files that root inside can read.
async fn expect_no_token(yard: &Yard, id: &carrel_model::SandboxId) {
    let endpoint = yard.oci.endpoint(id).await.unwrap();
    let token = endpoint.token.unwrap().expose_secret().to_owned();
    assert!(token.len() > 20);
    // Spelled so that whoever looks does not find himself.
    let (first, rest) = token.split_at(1);
    let search = format!(
        "grep -rlsaE '[{first}]{rest}' /run /tmp /etc /root /home /var /dev/shm /proc/1/environ /proc/1/cmdline \
         /proc/1/maps /proc/1/mem; echo searched"
    );
    assert_eq!(yard.run_as(id, "root", &search).await.out, "searched\n");
}

/// The first process behind gVisor is not safe from root inside, who thereby ends its own sandbox: nobody else's.
const ENDS_GVISOR: [&str; 2] = ["kill the first process", "choose the limits of the first process"];

#[tokio::test(flavor = "multi_thread")]
async fn root_behind_gvisor_ends_its_own_sandbox_and_nothing_else() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (id, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    yard.run(&id, "echo kept > /kept").await;
    let start = carrel_envd::Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "kill -9 1; kill -9 -1".into()],
        user: Some("root".into()),
        ..carrel_envd::Start::default()
    };
    // The line may break before anything is said.
    if let Ok(events) = yard.envd(&id).await.start(&start).await {
        futures::StreamExt::collect::<Vec<_>>(events).await;
    }
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    yard.oci.resume(&id).await.unwrap();
    assert_eq!(yard.run(&id, "cat /kept").await.out, "kept\n");
    yard.close().await;
}

/// Programs that would give a plain user more, if marks on files counted inside.
const PREPARED: &str = r"
import shutil
shutil.copy('/usr/bin/id', '/tmp/setuid-id')
os.chmod('/tmp/setuid-id', 0o6755)
shutil.copy('/usr/bin/cat', '/tmp/capable-cat')
everything = struct.pack('<IIIII', 0x02000001, 0xffffffff, 0, 0x1ff, 0)
try:
    os.setxattr('/tmp/capable-cat', 'security.capability', everything)
except OSError:
    pass
print('ready')
";
