//! Work in a checkout is looked at, saved, committed, pushed and gone on with, whatever the agent left there.

use carrel_model::{public::SandboxView, sandbox::Phase};
use serde_json::{Value, json};

use crate::yard::{Yard, git};

fn task(number: u32) -> Value {
    json!({"repo": "hello", "task_id": number, "agent_id": "scout", "checkout": {}})
}

async fn tree(yard: &Yard, commit: &str) -> String {
    git(Some(&yard.mirror("hello")), &["ls-tree", "-r", "--name-only", commit]).await.replace('\n', " ")
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_looked_at_committed_and_pushed() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let desk = yard.sandbox(task(7)).await;
    let (work, admin) = (yard.house.control.work(), &yard.house.admin);
    let seen = work.look(admin, &desk.id).await.unwrap();
    assert_eq!((seen.branch.unwrap().as_str(), seen.dirty, seen.ahead), ("task-7", false, 0));
    assert_eq!(work.commit(admin, &desk.id, "feat: nothing", &[]).await.unwrap(), None);

    yard.sh(&desk, "echo x >new.txt; echo noise >noise.log").await;
    assert!(work.look(admin, &desk.id).await.unwrap().dirty);
    let made = work.commit(admin, &desk.id, "add a file", &[("Reviewed-by", "nobody")]).await.unwrap().unwrap();
    let told = yard.sh(&desk, "git log -1 --format='%H%n%an <%ae>%n%B'; git status --porcelain").await;
    assert!(told.starts_with(&format!("{made}\nscout <scout@carrel.localhost>\n")), "{told}");
    assert!(told.contains("Reviewed-by: nobody") && told.contains("Carrel-Task: 7"), "{told}");
    assert_eq!(told.matches("Carrel-Task").count(), 1);
    let seen = work.look(admin, &desk.id).await.unwrap();
    assert_eq!((seen.dirty, seen.ahead, seen.head.as_ref()), (false, 1, Some(&made)));
    assert_eq!(work.push(admin, &desk.id).await.unwrap(), made);
    assert_eq!(work.push(admin, &desk.id).await.unwrap(), made, "a second time finds it pushed");
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, made.as_str());

    // Rewritten, it is pushed too; moved by somebody else, it is not run over.
    yard.sh(&desk, "git commit -q --amend -m 'feat: another'").await;
    let again = work.push(admin, &desk.id).await.unwrap();
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, again.as_str());
    let main = git(Some(&yard.mirror("hello")), &["rev-parse", "main"]).await;
    git(Some(&yard.mirror("hello")), &["update-ref", "refs/heads/task-7", &main]).await;
    yard.sh(&desk, "git commit -q --allow-empty -m 'feat: more'").await;
    let refused = work.push(admin, &desk.id).await.unwrap_err().to_string();
    assert!(refused.contains("could not push"), "{refused}");
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, main);

    // In the middle of a conflict nothing is committed by itself.
    let conflict = "git checkout -q -b side main 2>/dev/null || git checkout -q -b side origin/main
        echo one >README.md; git commit -qam 'feat: one'; git checkout -q task-7; echo two >README.md
        git commit -qam 'feat: two'; ! git merge -q side";
    yard.sh(&desk, conflict).await;
    let seen = work.look(admin, &desk.id).await.unwrap();
    assert_eq!((seen.in_progress.as_deref(), seen.dirty), (Some("merge"), true));
    let refused = work.commit(admin, &desk.id, "feat: x", &[]).await.unwrap_err().to_string();
    assert!(refused.contains("conflicts"), "{refused}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_sandbox_loses_nothing_that_was_saved() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let desk = yard.sandbox(task(7)).await;
    let (work, admin) = (yard.house.control.work(), &yard.house.admin);
    let scene = "echo done >done.txt; git add -A; git commit -qm 'feat: done, not pushed'
        echo changed >README.md; echo staged >staged.txt; git add staged.txt; rm NOTES.md
        mkdir -p deep; echo new >'deep/new file.txt'; echo noise >noise.log
        echo kept >kept.log; git add -f kept.log; git status --porcelain";
    let before = yard.sh(&desk, scene).await;
    let head = yard.sh(&desk, "git rev-parse HEAD").await;
    let saved = work.save(admin, &desk.id).await.unwrap().expect("something new");
    assert_eq!(yard.sh(&desk, "git status --porcelain").await, before, "nobody was disturbed");
    assert_eq!(work.save(admin, &desk.id).await.unwrap(), None, "nothing is new");
    assert_eq!(
        tree(&yard, saved.as_str()).await,
        ".gitignore README.md deep/new file.txt done.txt kept.log link run.sh src/lib.rs staged.txt"
    );
    yard.sh(&desk, "echo later >later.txt").await;
    let saved = work.save(admin, &desk.id).await.unwrap().expect("something new");
    // It is the task's own: its neighbour neither sees nor moves it.
    let other = yard.sandbox(task(8)).await;
    assert_eq!(yard.sh(&other, "git ls-remote origin 'refs/carrel/*'").await, "");
    yard.remove(&desk).await;

    let repo = "hello".parse().unwrap();
    let last = work.saved(admin, &repo, 7i64.try_into().unwrap()).await.unwrap().unwrap();
    assert_eq!((&last.commit, last.parent.as_ref().unwrap().as_str()), (&saved, head.as_str()));
    let next = yard.sandbox(task(7)).await;
    work.restore(admin, &next.id, &last.commit).await.unwrap();
    work.restore(admin, &next.id, &last.commit).await.unwrap();
    assert_eq!(yard.sh(&next, "git rev-parse HEAD; git branch --show-current").await, format!("{head}\ntask-7"));
    let status = yard.sh(&next, "git status --porcelain; cat README.md later.txt").await;
    assert_eq!(status, " D NOTES.md\n M README.md\n?? deep/\n?? later.txt\n?? staged.txt\nchanged\nlater");
    let made = work.commit(admin, &next.id, "feat: go on", &[]).await.unwrap().unwrap();
    assert_eq!(work.push(admin, &next.id).await.unwrap(), made);
    assert_eq!(yard.sh(&next, "git log --format=%s -3").await, "feat: go on\nfeat: done, not pushed\ndocs: notes");
    yard.close().await;
}

/// What an agent may have done to its repository, from careless to hostile.
const MISCHIEF: [(&str, &str); 9] = [
    ("hooks that refuse", "for h in pre-commit commit-msg pre-push post-commit reference-transaction; do
        printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done"),
    ("settings for everything", "git config --global core.hooksPath /nowhere; git config --global commit.gpgSign true
        git config url.http://127.0.0.1:1/.insteadOf http://127.0.0.1:49980/ && git config --global user.useConfigOnly true
        git config core.fsmonitor /bin/false; git config --global core.excludesFile /etc/passwd"),
    ("settings that cannot be read", "echo '[[[' >.git/config"),
    ("a broken index and locks", "echo nonsense >.git/index; touch .git/index.lock .git/HEAD.lock"),
    ("no HEAD", "rm -f .git/HEAD; mkdir .git/HEAD"),
    ("no repository", "rm -rf .git"),
    ("a link for a repository", "rm -rf .git; ln -s /etc .git"),
    ("a file for a repository", "rm -rf .git; echo 'gitdir: /nowhere' >.git"),
    ("no objects but a link to nowhere", "rm -rf .git/objects; ln -s /nowhere .git/objects"),
];

async fn keeps_working(yard: &Yard, desk: &SandboxView, what: &str) {
    let (work, admin) = (yard.house.control.work(), &yard.house.admin);
    assert!(work.look(admin, &desk.id).await.unwrap().dirty, "{what}");
    let saved = work.save(admin, &desk.id).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let saved = saved.unwrap_or_else(|| panic!("{what}: nothing was saved"));
    let kept = tree(yard, saved.as_str()).await;
    assert!(kept.contains("mine.txt") && kept.contains("src/lib.rs"), "{what}: {kept}");
    let made = work.commit(admin, &desk.id, "feat: mine", &[]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let made = made.unwrap_or_else(|| panic!("{what}: nothing was committed"));
    let pushed = work.push(admin, &desk.id).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(pushed, made, "{what}");
    let kept = tree(yard, pushed.as_str()).await;
    assert!(kept.contains("mine.txt") && kept.contains("README.md"), "{what}: {kept}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_done_to_the_repository_the_work_gets_out_and_nobody_else_is_hurt() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let neighbour = yard.sandbox(task(99)).await;
    for (number, (what, mischief)) in MISCHIEF.iter().enumerate() {
        let desk = yard.sandbox(task(number as u32 + 1)).await;
        yard.sh(&desk, &format!("echo mine >mine.txt\n{mischief}")).await;
        keeps_working(&yard, &desk, what).await;
        yard.remove(&desk).await;
    }
    // Objects that are borrowed are nobody's to change.
    let tried = "for f in $(find /run/carrel-objects -type f | head -3); do
        chmod u+w $f; echo x >$f; rm -f $f; mv $f /tmp/x; done; ls -A /run/carrel-objects/pack | wc -l";
    let ran = yard.house.execute(&neighbour, json!({"command": tried, "user": "root"})).await;
    assert_ne!(ran["stdout"].as_str().unwrap().trim(), "0", "{ran}");
    assert_eq!(yard.sh(&neighbour, "git fsck --full --no-dangling 2>&1; git status --porcelain").await, "");
    git(Some(&yard.mirror("hello")), &["fsck", "--full"]).await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_survives_sleep_of_every_depth_and_is_copied_whole() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let desk = yard.sandbox(task(7)).await;
    yard.sh(&desk, "echo mine >mine.txt; git add mine.txt; git commit -qm 'feat: mine'; echo more >>mine.txt").await;
    let before = yard.sh(&desk, "git status --porcelain -b; git log --format=%H").await;
    for depth in ["frozen", "paged_out", "stored", "files"] {
        let post = |verb: &str, body: Value| {
            let path = format!("/api/v1/sandboxes/{}/{verb}", desk.id);
            yard.house.ask(yard.house.request(reqwest::Method::POST, &path).json(&body))
        };
        let (status, body) = post("pause?wait=paused", json!({"depth": depth})).await;
        assert!(status.is_success(), "{body}");
        let (status, body) = post("resume?wait=ready", json!({})).await;
        assert!(status.is_success(), "{body}");
        yard.house.until(&desk, Phase::Ready).await;
        assert_eq!(yard.sh(&desk, "git status --porcelain -b; git log --format=%H").await, before, "{depth}");
    }
    let path = format!("/api/v1/sandboxes/{}/fork?wait=ready", desk.id);
    let (status, forked) =
        yard.house.ask(yard.house.request(reqwest::Method::POST, &path).json(&json!({"count": 1}))).await;
    assert!(status.is_success(), "{forked}");
    let copy: SandboxView = serde_json::from_value(forked["items"][0].clone()).unwrap();
    yard.house.until(&copy, Phase::Ready).await;
    assert_eq!(yard.sh(&copy, "git status --porcelain -b; git log --format=%H").await, before);
    yard.sh(&copy, "git commit -qam 'feat: only here'; git fsck --full --no-dangling 2>&1").await;
    assert_eq!(yard.sh(&desk, "git status --porcelain -b; git log --format=%H").await, before);
    yard.remove(&desk).await;
    assert_eq!(yard.sh(&copy, "git status --porcelain; git log --format=%s -1").await, "feat: only here");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_that_nobody_stands_on_go_and_a_mirror_that_is_borrowed_stays() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    let desk = yard.sandbox(task(1)).await;
    let remove = || async {
        loop {
            let request = yard.house.request(reqwest::Method::DELETE, "/api/v1/repos/hello");
            let (status, body) = yard.house.ask(request).await;
            // Somebody else may be looking at who stands where, or be making a sandbox ready.
            if status.as_u16() != 503 {
                return (status, body);
            }
        }
    };
    let (status, refused) = remove().await;
    assert_eq!(status.as_u16(), 409, "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("remove them first"), "{refused}");

    let layers = yard.house.folder().join("library/layers");
    let count = || std::fs::read_dir(&layers).unwrap().count();
    for number in 2..10 {
        std::fs::write(upstream.join("counter"), number.to_string()).unwrap();
        crate::yard::commit(&upstream, "feat: count").await;
        yard.sync("hello").await;
        let other = yard.sandbox(task(number)).await;
        assert_eq!(yard.sh(&other, "cat counter").await, number.to_string());
        yard.remove(&other).await;
    }
    // The one that is stood on, and a few for whoever comes next.
    while count() > 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(yard.sh(&desk, "git status --porcelain; cat src/lib.rs | head -1").await, "pub fn one() -> u32 {");
    yard.remove(&desk).await;
    let (status, body) = remove().await;
    assert_eq!(status.as_u16(), 204, "{body}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_sandboxes_push_at_once_and_every_commit_arrives() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let main = git(Some(&yard.mirror("hello")), &["rev-parse", "main"]).await;
    let work = |number: u32| {
        let yard = &yard;
        async move {
            let desk = yard.sandbox(task(number)).await;
            let script = "for i in 1 2 3; do echo $i >f$CARREL_SANDBOX_ID$i; git add -A
                git commit -qm \"feat: $i\"; git push -q 2>&1; done; git rev-parse HEAD";
            // Git may say that a pack is being put away just then; the last word is the commit.
            let told = yard.sh(&desk, script).await;
            (number, told.lines().last().unwrap_or_default().to_owned())
        }
    };
    let heads = futures::future::join_all((1..=50).map(work)).await;
    for (number, head) in heads {
        let arrived = git(Some(&yard.mirror("hello")), &["rev-parse", &format!("task-{number}")]).await;
        assert_eq!(arrived, head);
        let count = git(Some(&yard.mirror("hello")), &["rev-list", "--count", &format!("main..task-{number}")]).await;
        assert_eq!(count, "3");
    }
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "main"]).await, main);
    git(Some(&yard.mirror("hello")), &["fsck", "--full"]).await;
    yard.close().await;
}
