//! What a gVisor sandbox looks like from inside.

use carrel_model::sandbox::{EnvName, EnvValue, NetworkMode};
use carrel_sandbox::Provider;
use futures::StreamExt;

use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_runs_the_hosts_programs_on_a_kernel_of_its_own() {
    let yard = Yard::open().await;
    let mut spec = yard.spec().await;
    let (name, value) = ("GREETING".to_owned(), "hello".to_owned());
    spec.env.insert(EnvName::try_from(name).unwrap(), EnvValue::try_from(value).unwrap());
    let id = yard.create(&spec).await;
    let ran = yard.run(&id, "dmesg").await;
    assert!(ran.out.contains("Starting gVisor"), "{ran:?}");
    let host = rustix::system::uname();
    let ran = yard.run(&id, "uname -rv; hostname").await;
    assert!(!ran.out.contains(host.release().to_str().unwrap()) && ran.out.ends_with("carrel\n"), "{ran:?}");
    let ran = yard.run_as(&id, "user", "id -un; pwd; echo $HOME $GREETING; git --version >/dev/null && echo git").await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "user\n/\n/home/user hello\ngit\n"), "{ran:?}");
    let ran = yard.run(&id, "touch /usr/x").await;
    assert!(ran.code == 1 && ran.err.contains("Read-only file system"), "{ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_in_and_out() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let envd = yard.envd(&id).await;
    let content: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    let sent = content.clone();
    envd.upload("/home/user/data", Some("user"), futures::stream::once(async { Ok(sent.into()) }).boxed())
        .await
        .unwrap();
    // Not `stat`: Debian 12's gVisor does not know how it asks.
    let ran = yard.run(&id, "wc -c < /home/user/data; find /home/user/data -user user").await;
    assert_eq!(ran.out, format!("{}\n/home/user/data\n", content.len()), "{ran:?}");
    let mut back = Vec::new();
    let mut body = envd.download("/home/user/data", Some("user")).await.unwrap().content;
    while let Some(chunk) = body.next().await {
        back.extend(chunk.unwrap());
    }
    assert!(back == content);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_host_is_reached_but_the_gateway() {
    let yard = Yard::open().await;
    let mut spec = yard.spec().await;
    let id = yard.create(&spec).await;
    let ran = yard.run(&id, "cat /proc/net/dev | grep -c :; ls /sys/class/net").await;
    assert!(!ran.out.contains("eth"), "{ran:?}");
    let ran = yard.run(&id, "curl -s --noproxy '*' $CARREL_GATEWAY/").await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "this is the gateway of the sandbox: use it as an HTTP proxy\n"),
        "{ran:?}"
    );
    let ran = yard.run(&id, "curl -s -x $CARREL_GATEWAY http://example.com/").await;
    assert!(ran.out.contains("network"), "{ran:?}");

    // The loopback of the host stays out of reach, however open the network is.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    spec.network.mode = NetworkMode::Open;
    let open = yard.create(&spec).await;
    let ran = yard.run(&open, &format!("curl -s --noproxy '*' http://127.0.0.1:{port}/")).await;
    assert_eq!(ran.code, 7, "{ran:?}");
    let ran = yard
        .run(
            &open,
            &format!(
                "curl -s -o /dev/null -w '%{{http_code}}' --noproxy '' -x $CARREL_GATEWAY http://127.0.0.1:{port}/"
            ),
        )
        .await;
    assert_eq!(ran.out, "403", "{ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_cannot_lead_the_host_to_another_socket() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let trap = yard.folder.path().join("trap");
    let listener = std::os::unix::net::UnixListener::bind(&trap).unwrap();
    listener.set_nonblocking(true).unwrap();
    let envd = yard.envd(&id).await;
    let ran =
        yard.run(&id, &format!("cd /run/carrel-host && rm envd.sock && ln -s {} envd.sock", trap.display())).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    envd.hang_up();
    assert!(envd.health().await.is_err());
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody called the trap");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_do_not_see_each_other() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (one, two) = (yard.create(&spec).await, yard.create(&spec).await);
    yard.run(&one, "echo mine > /tmp/secret").await;
    assert_eq!(yard.run(&two, "cat /tmp/secret").await.code, 1);
    let processes = yard.run(&two, "ls /proc | grep -c '^[0-9]'").await;
    assert!(processes.out.trim().parse::<u32>().unwrap() < 8, "{processes:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_seen_from_outside() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "head -c 3000000 /dev/zero > /big").await;
    let usage = yard.oci.usage(&id).await.unwrap();
    assert!(usage.disk_bytes.unwrap() >= 3_000_000, "{usage:?}");
    assert!(usage.pids.unwrap() >= 1 && usage.memory_bytes.unwrap() > 0 && usage.cpu_us.unwrap() > 0, "{usage:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_a_terminal() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let start = carrel_envd::Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "test -t 0 && stty size".into()],
        user: Some("root".into()),
        terminal: Some(carrel_envd::Size { rows: 33, cols: 99 }),
        ..carrel_envd::Start::default()
    };
    let mut events = yard.envd(&id).await.start(&start).await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        if let carrel_envd::Event::Terminal(bytes) = event.unwrap() {
            seen.extend(bytes);
        }
    }
    assert_eq!(String::from_utf8_lossy(&seen).trim(), "33 99");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_of_a_sandbox_is_root_outside() {
    for runtime in ["runsc", "runc"] {
        let yard = Yard::with(runtime).await;
        let id = yard.create(&yard.spec().await).await;
        yard.run(&id, "sleep 1000 >/dev/null 2>&1 & echo mine > /mine").await;
        let owners = yard.owners(&id);
        assert!(!owners.is_empty() && owners.iter().all(|(_, owner)| *owner != 0), "{runtime}: {owners:?}");
        // What is written inside belongs to root on disk, as in every layer.
        let ran = yard.run(&id, "find /mine -uid 0").await;
        assert_eq!(ran.out, "/mine\n", "{runtime}: {ran:?}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_keeps_to_its_root_is_not_read_inside() {
    use std::os::unix::fs::PermissionsExt;
    for runtime in ["runsc", "runc"] {
        let yard = Yard::with(runtime).await;
        // A file of the host in a folder that is shown, which only root may read.
        let secret = tempfile::Builder::new().prefix("carrel-test-").tempdir_in("/usr/local").unwrap();
        std::fs::set_permissions(secret.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let file = secret.path().join("key");
        std::fs::write(&file, "secret").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let id = yard.create(&yard.spec().await).await;
        let ran = yard.run(&id, &format!("cd {} && echo *; cat key", secret.path().display())).await;
        assert!(ran.out == "key\n" && ran.code == 1, "{runtime}: {ran:?}");
        yard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runc_sandbox_cannot_rearrange_its_walls() {
    let yard = Yard::with("runc").await;
    let id = yard.create(&yard.spec().await).await;
    for attempt in [
        "mount -t tmpfs none /mnt",
        "unshare --user true",
        "unshare --mount true",
        "mknod /dev/disk b 8 0",
        "echo x > /proc/sys/kernel/core_pattern",
        "dmesg",
        "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'",
        "cat /proc/kcore | head -c 1 | grep -q .",
    ] {
        let ran = yard.run(&id, attempt).await;
        assert_ne!(ran.code, 0, "{attempt}: {ran:?}");
        assert_ne!(ran.code, 127, "the attempt itself must be possible: {attempt}: {ran:?}");
    }
    let ran = yard.run(&id, "curl -s --noproxy '*' $CARREL_GATEWAY/").await;
    assert_eq!(ran.code, 0, "{ran:?}");
    yard.close().await;
}
