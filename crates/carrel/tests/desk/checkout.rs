//! A checkout in a real sandbox: there at once, and like an ordinary clone in everything that git does with it.

use serde_json::json;

use crate::yard::{Yard, engine, git};

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_is_ready_and_behaves_like_an_ordinary_clone() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    let desk = yard.sandbox(json!({"repo": "hello", "task_id": 7, "agent_id": "scout", "checkout": {}})).await;

    assert_eq!(
        yard.sh(&desk, "pwd; whoami; stat -c '%U %a' . .git README.md run.sh").await.replace('\n', " "),
        "/workspace user user 755 user 755 user 644 user 755"
    );
    assert_eq!(yard.sh(&desk, "git status --porcelain --branch; ./run.sh; cat link").await, "## task-7\nruns\n# Hello");
    assert_eq!(
        yard.sh(&desk, "git log --format=%s; git rev-parse --abbrev-ref origin/HEAD").await,
        "docs: notes\nfeat: begin\norigin/main"
    );
    assert_eq!(yard.sh(&desk, "git remote get-url origin").await, "http://127.0.0.1:49980/git/hello.git");
    // To the last fact: nothing would have to be read again even by whoever trusts nothing.
    let strict = "git -c core.checkStat=default -c core.trustctime=true diff-files";
    assert_eq!(yard.sh(&desk, strict).await, "");

    let work = "echo two >two.txt; sed -i s/1/2/ src/lib.rs; git mv NOTES.md notes.md; rm link
        git stash -q -u; test -z \"$(git status --porcelain)\"; git stash pop -q
        git diff --stat | tail -1; git add -A; git commit -qm 'feat: two'; git push -q 2>&1
        git log -1 --format='%an <%ae>%n%(trailers:key=Carrel-Task)'";
    let told = yard.sh(&desk, work).await;
    assert!(told.contains("scout <scout@carrel.localhost>\nCarrel-Task: 7"), "{told}");
    let head = yard.sh(&desk, "git rev-parse HEAD").await;
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, head);

    std::fs::write(upstream.join("more.txt"), "more\n").unwrap();
    let newer = crate::yard::commit(&upstream, "feat: more").await;
    yard.sync("hello").await;
    let rebase = "git fetch -q; git rebase -q origin/main; git push -q --force 2>&1; git rev-parse HEAD~1";
    assert_eq!(yard.sh(&desk, rebase).await, newer);
    let worktree = "git worktree add -q ../home/user/second -b second; cd ../home/user/second
        git status --porcelain; git rev-parse HEAD~1; cd -; git worktree remove ../home/user/second";
    assert!(yard.sh(&desk, worktree).await.starts_with(&newer));
    yard.sh(&desk, "git gc -q --prune=now; git fsck --connectivity-only --no-dangling; git status --porcelain").await;
    git(Some(&yard.mirror("hello")), &["repack", "-dq", "--geometric=2", "--write-midx"]).await;
    assert_eq!(yard.sh(&desk, "git log --oneline | wc -l; git fsck --full --no-dangling 2>&1").await, "4");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_reads_no_file_again() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    for number in 0..300 {
        std::fs::create_dir_all(upstream.join(format!("many/{}", number % 7))).unwrap();
        std::fs::write(upstream.join(format!("many/{}/{number}", number % 7)), format!("{number}\n")).unwrap();
    }
    crate::yard::commit(&upstream, "feat: many").await;
    yard.sync("hello").await;
    let desk = yard.sandbox(json!({"repo": "hello", "task_id": 7, "checkout": {}})).await;
    // Every file that git would have to look into makes it say so.
    let traced =
        "GIT_TRACE2_PERF=/tmp/trace git status --porcelain; grep -c 'read_object\\|index_fd' /tmp/trace || true
        git ls-files --debug many/0/0 | grep -c 'mtime: 0:0' || true";
    assert_eq!(yard.sh(&desk, traced).await, "0\n0");
    // The index is not written anew either: it was right as it came.
    let untouched =
        "before=$(stat -c %i%Y .git/index); git status --porcelain; test \"$before\" = \"$(stat -c %i%Y .git/index)\"";
    yard.sh(&desk, untouched).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sandboxes_stand_on_one_layer_and_none_sees_the_other() {
    let mut engine = engine();
    engine.pool = 1;
    let yard = Yard::with(engine).await;
    yard.repo("hello").await;
    let one = yard.sandbox(json!({"repo": "hello", "task_id": 1, "checkout": {}})).await;
    let two = yard.sandbox(json!({"repo": "hello", "task_id": 2, "checkout": {}})).await;
    yard.sh(&one, "echo mine >README.md; git commit -qam 'feat: mine'; rm -rf src").await;
    assert_eq!(yard.sh(&two, "cat README.md; ls src; git status --porcelain -b").await, "# Hello\nlib.rs\n## task-2");
    let layers = std::fs::read_dir(yard.house.folder().join("library/layers")).unwrap().count();
    assert_eq!(layers, 1);
    // Objects that are borrowed can be read and not written, by root neither.
    let write = "id; cd /run/carrel-objects && touch x";
    yard.fails(&one, write).await;
    let refused = yard.house.execute(&one, json!({"command": "touch /run/carrel-objects/x", "user": "root"})).await;
    assert_ne!(refused["exit_code"], 0, "{refused}");
    // A third one finds a slot that waited for it, with the checkout in it.
    let engine = yard.house.engine.as_ref().unwrap();
    while engine.local.pool_waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let (hits, _) = engine.local.pool_counts();
    let three = yard.sandbox(json!({"repo": "hello", "task_id": 3, "checkout": {}})).await;
    assert_eq!(engine.local.pool_counts().0, hits + 1);
    assert_eq!(yard.sh(&three, "cat README.md; git status --porcelain -b").await, "# Hello\n## task-3");
    yard.close().await;
}
