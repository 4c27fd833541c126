//! Sleep on disk.
use carrel_model::sandbox::Depth;
use carrel_sandbox::{Pausing, Provider, Sighting};
use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn first_try() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "i=0; (while sleep 0.1; do i=$((i+1)); echo $i > /count; done) >/dev/null 2>&1 & true").await;
    tokio::time::sleep(std::time::Duration::from_millis(1000)).await;
    let t = std::time::Instant::now();
    let d = yard.local.pause(&id, Depth::Stored).await;
    eprintln!("{d:?} {:?}", t.elapsed());
    std::process::Command::new("sh").arg("-c").arg(format!("cd {}; cat slots/*.json; ls memory/*; cat slots/*/upper/count", yard.folder.path().display())).status().unwrap();
    let t = std::time::Instant::now();
    std::process::Command::new("sh").arg("-c").arg(format!("cp -a {}/memory /tmp/x/", yard.folder.path().display())).status().unwrap();
    let d = yard.local.resume(&id).await;
    eprintln!("{d:?} {:?}", t.elapsed());
    std::process::Command::new("sh").arg("-c").arg(format!("cd {}; cat slots/*.json;cat trash/*/criu.log memory/*/criu.log", yard.folder.path().display())).status().unwrap();
    eprintln!("{:?}", yard.run(&id, "cat /count; ps ax || ls /proc; cat /proc/self/mountinfo; cat /proc/self/cgroup").await);
    yard.close().await;
}
