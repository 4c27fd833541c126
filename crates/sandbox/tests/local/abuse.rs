//! Bad luck and bad intent: the host keeps working, and the neighbour does not notice.

use crate::yard::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_at_its_limit_and_the_neighbour_goes_on() {
    let yard = Yard::open().await;
    let spec = yard.spec().await;
    let (bomb, neighbour) = (yard.create(&spec).await, yard.create(&spec).await);
    let ran = yard.run(&bomb, "i=0; while [ $i -lt 500 ]; do sleep 100 >/dev/null 2>&1 & i=$((i+1)); done; echo done").await;
    assert!(ran.err.contains("fork") || ran.err.contains("Resource"), "{ran:?}");
    assert_eq!(yard.run(&neighbour, "echo fine").await.out, "fine\n");
    yard.close().await;
}
