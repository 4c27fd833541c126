//! The intruder in a jail that a plain user made: the same attempts, by the only user that there is inside.

#[path = "../local/intruder/attempts.rs"]
mod attempts;

use std::{collections::BTreeSet, fs, os::unix::net::UnixListener};

use attempts::attempts;

use crate::yard::as_plain_user;

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

/// What comes out otherwise than in a jail that root made. Devices are mounts of their own, and envd's socket lies among
/// the host's files and has no name in here that could be called or taken.
const OTHERWISE: &[(&str, &[&str])] = &[
    (
        "see a mount with devices besides /dev",
        &["['/dev/full', '/dev/random', '/dev/tty', '/dev/urandom', '/dev/zero']"],
    ),
    ("replace or reopen a device", &["EBUSY EROFS"]),
    ("see unix sockets of others", &["['envd.sock']"]),
    ("take the name of its socket", &["ok"]),
    ("call the first process as if from the host", &["ECONNREFUSED"]),
    ("call it by a child that is gone when the call is taken", &["ECONNREFUSED\nENOTCONN"]),
    ("claim to be somebody else while calling it", &["ECONNREFUSED"]),
];

#[test]
fn no_way_out_is_known_for_a_plain_user_either() {
    as_plain_user("intruder::no_way_out_is_known_for_a_plain_user_either", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        let ready = yard.run(&id, "/usr/bin/python3 -c 'import ctypes, fcntl' && echo ready").await;
        assert_eq!(ready.out, "ready\n", "the attempts are written in Python, and there is none inside: {ready:?}");
        let attempts: Vec<_> = attempts().into_iter().filter(|attempt| attempt.who.names().contains(&"root")).collect();
        assert!(attempts.len() > 90, "{} attempts", attempts.len());
        let scripts: Vec<_> = attempts.iter().map(|attempt| attempt.script).collect();
        let ran = yard.run(&id, &all(&scripts)).await;
        let said: Vec<String> = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
        let mut holes = Vec::new();
        for (attempt, said) in attempts.iter().zip(said) {
            let others = OTHERWISE.iter().filter(|(name, _)| *name == attempt.name).flat_map(|(_, answers)| *answers);
            if !attempt.answers.iter().chain(others).any(|answer| *answer == said) {
                let expected = attempt.answers.join(" | ");
                holes.push(format!("tried to {}: {said} (expected {expected})", attempt.name));
            }
        }
        assert!(holes.is_empty(), "{} holes:\n{}", holes.len(), holes.join("\n"));
    });
}

#[test]
fn no_path_leads_to_what_the_plain_user_has() {
    as_plain_user("intruder::no_path_leads_to_what_the_plain_user_has", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        // Root inside is this very user outside: only the walls are between them and this file.
        let secret = yard.folder.join("secret");
        fs::write(&secret, "of the host").unwrap();
        let path = yard.folder.join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let (secret, socket) = (secret.to_str().unwrap(), path.to_str().unwrap());
        let script = format!(
            r"
secret = {secret:?}
up = '/..' * 40
ways = [secret, up + secret, '/proc/1/root' + secret, '/proc/self/root' + up + secret, '/proc/1/cwd' + up + secret,
        '/usr' + up + secret, '/run/carrel' + up + secret, '/dev' + up + secret, '/dev/pts' + up + secret,
        '/dev/null' + up + secret, '/proc/sys' + up + secret]
ways += [f'/proc/{{who}}/fd/{{number}}{{up}}{{secret}}' for who in (1, 'self') for number in range(64)]
tell_all([lambda w=w: read(w) for w in ways])
tell(lambda: socket.socket(socket.AF_UNIX).connect({socket:?}))
"
        );
        let ran = yard.run(&id, &command(&script)).await;
        let said: BTreeSet<_> = ran.out.split_whitespace().collect();
        assert!(!said.is_empty() && said.is_subset(&BTreeSet::from(["EACCES", "ENOENT", "ENOTDIR"])), "{ran:?}");
    });
}

#[test]
fn the_token_of_a_plain_users_envd_is_nowhere_to_be_read() {
    as_plain_user("intruder::the_token_of_a_plain_users_envd_is_nowhere_to_be_read", async |yard| {
        let id = yard.create(&yard.spec().await).await;
        let token = yard.record(&id)["token"].as_str().unwrap().to_owned();
        let backwards: String = token.chars().rev().collect();
        let script = format!(
            r"
wanted = {backwards:?}[::-1].encode()
found, closed = [], []
for name in ('environ', 'cmdline', 'maps', 'mem'):
    try:
        if wanted in read('/proc/1/' + name, 1 << 20):
            found.append(name)
    except OSError:
        closed.append(name)
for top in ('/etc', '/home', '/root', '/run', '/tmp', '/var', '/dev/shm', '/srv', '/opt', '/mnt'):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path) and wanted in open(path, 'rb').read():
                    found.append(path)
            except OSError:
                pass
print(found, sorted(closed))
"
        );
        let ran = yard.run(&id, &command(&script)).await;
        assert_eq!(ran.out, "[] ['environ', 'maps', 'mem']\n", "{ran:?}");
        // What lies on the host is for that user alone.
        use std::os::unix::fs::PermissionsExt;
        for name in ["slots", "trash", "drafts", "templates", "memory"] {
            let mode = fs::metadata(yard.folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{name} is open to everybody");
        }
    });
}
