//! Pausing, waking, snapshots, restarts, and the ends nobody asked for.

use carrel_model::sandbox::Depth;
use carrel_sandbox::{Forking, Pausing, Provider, Sighting};

use crate::yard::{Yard, new_id};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_server_finds_what_runs() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "sleep 1000 >/dev/null 2>&1 & echo $! > /pid").await;
    yard.reopen().await;
    assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Running));
    assert_eq!(yard.run(&id, "kill -0 $(cat /pid)").await.code, 0, "what ran before runs on");
    let ran = yard.run(&id, "curl -s --noproxy '*' $CARREL_GATEWAY/").await;
    assert_eq!(ran.code, 0, "and its gateway is open again: {ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_loses_its_runtime_keeps_its_files() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "echo work > /home/user/work; echo more > /tmp/more").await;
    yard.kill_runtime(&id).await;
    yard.reopen().await;
    assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Paused));
    assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Files));
    assert_eq!(yard.run(&id, "cat /home/user/work /tmp/more").await.out, "work\nmore\n");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn naps_lose_nothing() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(
        &id,
        "head -c 1000000 /dev/urandom > /data; sha256sum /data > /sum; sleep 1000 >/dev/null 2>&1 & echo $! > /pid",
    )
    .await;
    for round in 0..20 {
        assert_eq!(yard.oci.pause(&id, Depth::Frozen).await, Ok(Depth::Frozen));
        assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Paused));
        assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Frozen));
        let ran = yard.run(&id, "kill -0 $(cat /pid) && sha256sum -c /sum && echo x >> /count").await;
        assert_eq!(ran.code, 0, "round {round}: {ran:?}");
    }
    assert_eq!(yard.oci.pause(&id, Depth::Files).await, Ok(Depth::Files));
    assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Files));
    assert_eq!(yard.run(&id, "sha256sum -c /sum >/dev/null && wc -l < /count").await.out.trim(), "20");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_goes_on_where_it_was() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let counts = "i=0; while :; do i=$((i+1)); echo $i > /new; mv /new /count; sleep 0.05; done";
    yard.run(&id, &format!("sh -c '{counts}' >/dev/null 2>&1 & echo $! > /pid")).await;
    while yard.run(&id, "cat /count").await.code != 0 {}
    for _ in 0..3 {
        // From a light sleep, too.
        yard.oci.pause(&id, Depth::Frozen).await.unwrap();
        assert_eq!(yard.oci.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
        let frozen: u64 = std::fs::read_to_string(upper(&yard, &id).join("count")).unwrap().trim().parse().unwrap();
        // Nothing of it runs any more; another life of the server brings it back.
        assert!(yard.record(&id)["first"].is_null());
        yard.reopen().await;
        assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Paused));
        assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Stored));
        assert_eq!(yard.run(&id, "kill -0 $(cat /pid)").await.code, 0, "the very same process");
        while yard.run(&id, "cat /count").await.out.trim().parse::<u64>().unwrap_or_default() <= frozen {}
        let ran = yard.run(&id, "curl -s --noproxy '*' $CARREL_GATEWAY/").await;
        assert_eq!(ran.code, 0, "and its gateway is open again: {ran:?}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_that_nobody_wants_any_more_is_given_up() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "echo kept > /kept; sleep 1000 >/dev/null 2>&1 & echo $! > /pid").await;
    assert_eq!(yard.oci.pause(&id, Depth::Stored).await, Ok(Depth::Stored));
    assert_eq!(yard.oci.pause(&id, Depth::Files).await, Ok(Depth::Files));
    assert!(!upper(&yard, &id).with_file_name("memory").exists());
    assert_eq!(yard.oci.resume(&id).await, Ok(Depth::Files));
    let ran = yard.run(&id, "cat /kept; kill -0 $(cat /pid) || echo gone").await;
    assert_eq!(ran.out, "kept\ngone\n", "{ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_a_template_and_leaves_its_source_alone() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let source = yard.create(&spec).await;
    yard.run(
        &source,
        "echo one > /state; rm /etc/motd; mkdir /d; ln -s /state /d/link; sleep 1000 >/dev/null 2>&1 & echo $! > /pid",
    )
    .await;
    let name = "snapshot/first".parse().unwrap();
    let taken = yard.oci.snapshot(&source, &name, true).await.unwrap();
    assert_eq!((taken.name.clone(), taken.memory), (name.clone(), false));
    assert_eq!(yard.run(&source, "kill -0 $(cat /pid) && echo two > /state; cat /state").await.out, "two\n");
    let mut forked = spec.clone();
    forked.template = name;
    for _ in 0..2 {
        let id = new_id();
        yard.oci.create(&id, &forked).await.unwrap();
        assert_eq!(yard.run(&id, "cat /d/link; echo three > /state").await.out, "one\n");
    }
    // Layers that a sandbox stands on are not carried out with their template.
    yard.config.shelves.forget(&forked.template).unwrap();
    assert_eq!(yard.config.shelves.collect(&Default::default()).unwrap(), []);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_while_it_launches_leaves_nothing_that_cannot_be_taken_up() {
    let mut yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "echo work > /work").await;
    // As if the server had died before it could write down which process it had started, with the root still mounted.
    let mut record = yard.record(&id);
    let name = record["name"].as_str().unwrap().to_owned();
    let first: carrel_linux::Living = serde_json::from_value(record["first"].clone()).unwrap();
    record["first"] = serde_json::Value::Null;
    record["ready"] = false.into();
    let slots = yard.folder.path().join("slots");
    std::fs::write(slots.join(format!("{name}.json")), record.to_string()).unwrap();
    let root = std::path::Path::new("/run/carrel").join(format!("{}-oci", yard.config.house)).join(&name).join("root");
    std::fs::create_dir_all(&root).unwrap();
    rustix::mount::mount("none", &root, "tmpfs", rustix::mount::MountFlags::empty(), None).unwrap();

    yard.reopen().await;
    assert!(!first.is_alive(), "what nobody knows is ended");
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(root.to_str().unwrap()), "and nothing is mounted");
    assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Paused));
    yard.oci.create(&id, &yard.spec().await).await.unwrap();
    assert_eq!(yard.oci.inspect(&id).await, Ok(Sighting::Running));
    assert_eq!(yard.run(&id, "cat /work").await.out, "work\n");
    yard.close().await;
}

fn upper(yard: &Yard, id: &carrel_model::SandboxId) -> std::path::PathBuf {
    let record = yard.record(id);
    yard.folder.path().join("slots").join(record["name"].as_str().unwrap()).join("upper")
}
