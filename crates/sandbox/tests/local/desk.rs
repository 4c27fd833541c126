//! What a sandbox looks like from inside.

use carrel_model::sandbox::{EnvName, EnvValue};
use carrel_sandbox::Provider;

use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_runs_the_hosts_programs_as_its_own_users() {
    let yard = Yard::open().await;
    let mut spec = yard.spec().await;
    let (name, value) = ("GREETING".to_owned(), "hello".to_owned());
    spec.env.insert(EnvName::try_from(name).unwrap(), EnvValue::try_from(value).unwrap());
    let id = yard.create(&spec).await;
    let ran = yard.run_as(&id, "user", "id -un; pwd; echo $HOME $GREETING; git --version >/dev/null && echo git").await;
    assert_eq!((ran.code, ran.out.as_str()), (0, "user\n/\n/home/user hello\ngit\n"), "{ran:?}");
    let ran = yard.run(&id, "id -u; touch /usr/x; ls /root /home").await;
    assert!(ran.out.starts_with("0\n") && ran.err.contains("Read-only file system"), "{ran:?}");
    assert!(ran.out.contains("user"), "{ran:?}");
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
    let usage = yard.local.usage(&id).await.unwrap();
    assert!(usage.disk_bytes.unwrap() >= 3_000_000, "{usage:?}");
    assert!(usage.pids.unwrap() >= 1 && usage.memory_bytes.unwrap() > 0 && usage.cpu_us.unwrap() > 0, "{usage:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sandbox_lacks_is_its_own_account() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    let lacks = yard.local.lacks(&id).await.unwrap();
    assert!(
        lacks.iter().any(|sentence| sentence.contains("disk limit is watched")),
        "its folder is a plain one: {lacks:?}"
    );
    assert_eq!(yard.local.lacks(&carrel_model::SandboxId::from_random([3; 16])).await, None);
    yard.close().await;
}
