//! Sleep on disk.
use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
#[ignore]
async fn hold() {
    let yard = Yard::open().await;
    let id = yard.create(&yard.spec().await).await;
    yard.run(&id, "i=0; (while sleep 0.1; do i=$((i+1)); echo $i > /count; done) >/dev/null 2>&1 & true").await;
    let envd = yard.envd(&id).await;
    eprintln!("{}", yard.folder.path().display());
    while !std::path::Path::new("/tmp/hold-night").exists() { tokio::time::sleep(std::time::Duration::from_millis(100)).await; }
    let _ = envd.hibernate(std::time::Duration::from_millis(20)).await;
    std::fs::write("/tmp/hold-night-done", "").unwrap();
    while !std::path::Path::new("/tmp/hold-end").exists() { tokio::time::sleep(std::time::Duration::from_millis(100)).await; }
    yard.close().await;
}
