//! What a piece of work changed can be told after its base took it in, in whichever way.

use carrel_model::{Branch, CommitId};

use crate::bench::Room;

#[tokio::test(flavor = "multi_thread")]
async fn where_work_left_its_base_is_found_before_and_after_it_was_merged() {
    let room = Room::open().await;
    for (name, how) in [
        ("open", &[][..]),
        ("merged", &["merge", "-q", "--no-ff", "task"]),
        ("forward", &["merge", "-q", "--ff-only", "task"]),
    ] {
        let work = room.work(name);
        work.git(&["checkout", "-q", "-b", "task"]);
        work.write("one", "1\n");
        work.commit("feat: one");
        work.write("two", "2\n");
        work.commit("feat: two");
        let head = work.head();
        let began: CommitId = work.git(&["rev-parse", "main"]).parse().unwrap();
        work.git(&["checkout", "-q", "main"]);
        if name == "merged" {
            work.write("meanwhile", "x\n");
            work.commit("feat: meanwhile");
        }
        if !how.is_empty() {
            work.git(how);
            for later in ["a", "b", "c"] {
                work.write(later, "later\n");
                work.commit("feat: later");
            }
        }
        let mirror = room.mirror_of(&work).await;
        let main: Branch = "main".parse().unwrap();
        assert_eq!(mirror.left_at(&main, &head, 2).await.unwrap(), Some(began), "{name}");
    }
}
