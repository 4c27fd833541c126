//! The intruder in a container: the same attempts as in a jail.

#[path = "../local/intruder/attempts.rs"]
mod attempts;

use attempts::attempts;

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
        let attempts: Vec<_> = attempts().into_iter().filter(|attempt| attempt.who.names().contains(&who)).collect();
        assert!(attempts.len() > 80, "{} attempts", attempts.len());
        let scripts: Vec<_> = attempts.iter().map(|attempt| attempt.script).collect();
        let ran = yard.run_as(&id, who, &all(&scripts)).await;
        let said: Vec<String> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        for (attempt, said) in attempts.iter().zip(said) {
            let others = otherwise.iter().filter(|(name, _)| *name == attempt.name).flat_map(|(_, answers)| *answers);
            if !attempt.answers.iter().chain(others).any(|answer| *answer == said || *answer == "*") {
                let expected = attempt.answers.join(" | ");
                holes.push(format!("{who} tried to {}: {said} (expected {expected})", attempt.name));
            }
        }
    }
    assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
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
