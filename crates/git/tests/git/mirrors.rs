//! Mirrors and their upstreams.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use carrel_git::{GitError, Held, Mirror, Move, Turn, Upstream};
use carrel_model::{CommitId, RefName, TaskId};

use crate::bench::{By, Door, DoorPlan, Room, Stumble};

fn task(number: i64) -> TaskId {
    TaskId::try_from(number).unwrap()
}

async fn put(mirror: &Mirror, name: RefName, to: &CommitId) {
    mirror.move_refs(&[Move { name, from: None, to: Some(to.clone()) }]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_who_ask_at_once_are_answered_by_one_fetch() {
    let room = Room::open().await;
    let work = room.work("work");
    let origin = room.mirror("origin").await;
    origin.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    let door = Door::open(&origin).await;
    let upstream = room.upstream(&door.url("person"));

    room.mirror("alone").await.sync(&upstream).await.unwrap();
    let of_one = door.asked.swap(0, Ordering::SeqCst);
    let mirror = room.mirror("crowd").await;
    let asks = (0..100).map(|_| {
        let (mirror, upstream) = (mirror.clone(), upstream.clone());
        tokio::spawn(async move { mirror.sync(&upstream).await.unwrap() })
    });
    for ask in asks.collect::<Vec<_>>() {
        assert_eq!(ask.await.unwrap().default_branch, Some("main".parse().unwrap()));
    }
    assert_eq!(door.asked.load(Ordering::SeqCst), of_one);
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_fetches_only_when_something_moved() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror("app").await;
    let upstream = room.upstream(work.folder.to_str().unwrap());
    assert!(mirror.sync(&upstream).await.unwrap().fetched);
    let again = mirror.sync(&upstream).await.unwrap();
    assert!(!again.fetched && again.moved.is_empty());
    work.write("more", "x");
    let head = work.commit("feat: more");
    let moved = mirror.sync(&upstream).await.unwrap();
    assert!(moved.fetched);
    assert_eq!(moved.moved[0].to, Some(head));
    assert!(!moved.moved[0].rewritten);
}

/// A turn that is ours for so many questions, and then somebody else's.
struct Slept {
    asked: Arc<AtomicUsize>,
    ours: usize,
}

impl Held for Slept {
    fn still_ours(&self) -> futures::future::BoxFuture<'_, Result<(), GitError>> {
        let is_ours = self.asked.fetch_add(1, Ordering::SeqCst) < self.ours;
        let lost = || GitError::Failed { what: "fetch", why: "the lane is in other hands by now".into() };
        Box::pin(async move { is_ours.then_some(()).ok_or_else(lost) })
    }
}

fn in_turn(upstream: &Upstream, ours: usize, asked: &Arc<AtomicUsize>) -> Upstream {
    let asked = Arc::clone(asked);
    let take = move || -> futures::future::BoxFuture<'static, Result<Box<dyn Held>, GitError>> {
        let held = Slept { asked: Arc::clone(&asked), ours };
        Box::pin(async move { Ok(Box::new(held) as Box<dyn Held>) })
    };
    Upstream { turn: Some(Turn(Arc::new(take))), ..upstream.clone() }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_slept_over_its_turn_to_fetch_moves_no_branch() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let upstream = room.upstream(work.folder.to_str().unwrap());
    let (main, old) = ("main".parse().unwrap(), work.head());
    work.write("more", "x");
    let new = work.commit("feat: more");
    // It is lost before the fetch, then after it, and then it is ours to the end.
    for (ours, fetched) in [(0, false), (1, true)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let error = mirror.sync(&in_turn(&upstream, ours, &asked)).await.unwrap_err();
        assert!(error.to_string().contains("in other hands"), "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), ours + 1);
        assert_eq!(mirror.has(&new).await.unwrap(), fetched);
        assert_eq!(mirror.head_of(&main).await.unwrap(), old, "a branch followed a fetch that was nobody's");
    }
    let asked = Arc::new(AtomicUsize::new(0));
    mirror.sync(&in_turn(&upstream, 9, &asked)).await.unwrap();
    assert_eq!(mirror.head_of(&main).await.unwrap(), new);
}

#[tokio::test(flavor = "multi_thread")]
async fn history_that_is_rewritten_upstream_is_noticed_and_the_old_commits_stay() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("file", "old");
    let old = work.commit("feat: old");
    let mirror = room.mirror_of(&work).await;
    work.git(&["commit", "-q", "--amend", "-m", "feat: new"]);
    let synced = mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    assert!(synced.moved[0].rewritten);
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());
    mirror.repack().await.unwrap();
    room.layers().prepare(&mirror, &old).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_that_go_are_renamed_or_become_folders_are_followed_and_ours_stay() {
    let room = Room::open().await;
    let work = room.work("work");
    work.git(&["branch", "a"]);
    let mirror = room.mirror_of(&work).await;
    let head = work.head();
    put(&mirror, "refs/heads/task-7".parse().unwrap(), &head).await;
    put(&mirror, RefName::wip(task(7)), &head).await;

    work.git(&["branch", "-D", "a"]);
    work.git(&["branch", "a/b"]);
    work.git(&["branch", "-m", "main", "trunk"]);
    work.git(&["branch", "task-8"]);
    let synced = mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    assert_eq!(synced.default_branch, Some("trunk".parse().unwrap()));
    assert_eq!(mirror.default_branch().await.unwrap(), Some("trunk".parse().unwrap()));
    let names: Vec<_> = mirror.refs().await.unwrap().into_keys().map(String::from).collect();
    assert_eq!(names, ["refs/heads/a/b", "refs/heads/task-7", "refs/heads/trunk"]);
    assert_eq!(mirror.wip(task(7)).await.unwrap(), Some(head));
    assert!(matches!(mirror.head_of(&"main".parse().unwrap()).await, Err(GitError::Missing { .. })));

    // A branch there that git has no room for beside ours keeps no other from being followed.
    work.git(&["branch", "task-7/x"]);
    work.write("more", "more");
    let moved = work.commit("feat: more");
    mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    assert_eq!(mirror.head_of(&"trunk".parse().unwrap()).await.unwrap(), moved);

    // Where branches of tasks are named otherwise, those are ours.
    let named =
        carrel_git::Upstream { format: "agents/{id}".parse().unwrap(), ..room.upstream(work.folder.to_str().unwrap()) };
    put(&mirror, "refs/heads/agents/9".parse().unwrap(), &work.head()).await;
    mirror.sync(&named).await.unwrap();
    assert!(mirror.find(&"refs/heads/agents/9".parse().unwrap()).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_stumbles_is_asked_again_and_one_that_is_down_is_said_to_be() {
    let room = Room::open().await;
    let work = room.work("work");
    let origin = room.mirror_of(&work).await;
    let door = Door::with(&origin, DoorPlan { stumbles: 2, ..DoorPlan::default() }).await;
    let copy = room.mirror("copy").await;
    copy.sync(&room.upstream(&door.url("person"))).await.unwrap();
    assert_eq!(copy.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());

    let down = Door::with(&origin, DoorPlan { stumbles: usize::MAX, ..DoorPlan::default() }).await;
    let error = room.mirror("down").await.sync(&room.upstream(&down.url("person"))).await.unwrap_err();
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
    assert!(down.asked.load(Ordering::SeqCst) > 2, "it was asked again");
    let nowhere = room.upstream("http://127.0.0.1:1/person/app.git");
    assert!(matches!(copy.sync(&nowhere).await, Err(GitError::Unreachable { .. })));
    let nothing = room.path("nothing");
    let missing = copy.sync(&room.upstream(nothing.to_str().unwrap())).await.unwrap_err();
    assert!(matches!(missing, GitError::Missing { .. }), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_upstream_says_instead_of_an_answer_it_is_asked_again_and_nothing_is_taken_away() {
    let room = Room::open().await;
    let work = room.work("work");
    let origin = room.mirror_of(&work).await;
    let main = "main".parse().unwrap();
    let known = room.mirror("known").await;
    known.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    let mut number = 0;
    for by in [By::Status(500), By::Status(502), By::Status(504), By::Status(429), By::Page, By::HangingUp] {
        // In the place of the first answer, and in the middle of a fetch.
        for at in ["/info/refs", "/git-upload-pack"] {
            number += 1;
            let stumble = Stumble { at, by };
            let door = Door::with(&origin, DoorPlan { stumbles: 2, stumble, ..DoorPlan::default() }).await;
            let copy = room.mirror(&format!("copy-{number}")).await;
            if stumble == (Stumble { at: "/info/refs", by: By::Page }) {
                // Nobody was ever met there: the address may be wrong, and no empty repository is made of it.
                let error = copy.sync(&room.upstream(&door.url("person"))).await.unwrap_err();
                assert!(error.to_string().contains("does not speak git"), "{error}");
            }
            copy.sync(&room.upstream(&door.url("person"))).await.unwrap_or_else(|error| panic!("{stumble:?}: {error}"));
            assert_eq!(copy.head_of(&main).await.unwrap(), work.head(), "{stumble:?}");

            let down = Door::with(&origin, DoorPlan { stumbles: usize::MAX, stumble, ..DoorPlan::default() }).await;
            let error = known.sync(&room.upstream(&down.url("person"))).await.unwrap_err();
            assert!(error.is_passing(), "{stumble:?}: {error:?}");
            assert_eq!(known.head_of(&main).await.unwrap(), work.head(), "{stumble:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_upstream_says_to_a_push_it_is_said_again_and_arrives_once() {
    let room = Room::open().await;
    let work = room.work("work");
    let origin = room.mirror("origin").await;
    let first = work.head();
    work.write("more", "more");
    let second = work.commit("feat: more");
    origin.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    let mirror = room.mirror_of(&work).await;
    let mut number = 0;
    for by in [By::Status(500), By::Status(502), By::Forgetting, By::Page, By::HangingUp] {
        for at in ["service=git-upload-pack", "service=git-receive-pack", "/git-receive-pack"] {
            number += 1;
            let (stumble, branch) = (Stumble { at, by }, format!("task-{number}").parse().unwrap());
            let well = Door::open(&origin).await;
            mirror.publish(&room.upstream(&well.url("person")), &branch, &first).await.unwrap();
            let door = Door::with(&origin, DoorPlan { stumbles: 1, stumble, ..DoorPlan::default() }).await;
            let upstream = room.upstream(&door.url("person"));
            // Either it is said that it may be tried again, or it is there.
            match mirror.publish(&upstream, &branch, &second).await {
                Ok(_) => assert_eq!(origin.head_of(&branch).await.unwrap(), second, "{stumble:?}"),
                Err(error) => assert!(error.is_passing(), "{stumble:?}: {error:?}"),
            }
            mirror.publish(&upstream, &branch, &second).await.unwrap_or_else(|error| panic!("{stumble:?}: {error}"));
            assert_eq!(origin.head_of(&branch).await.unwrap(), second, "{stumble:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_the_place_of_the_upstream_takes_nothing_away() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let page = axum::Router::new().fallback(|| async { axum::response::Html("<p>We are being repaired.</p>") });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let source = format!("http://{}/app.git", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, page).await.unwrap() });
    let error = mirror.sync(&room.upstream(&source)).await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error:?}");
    serving.abort();
    // The same from a repository out of which everything was taken.
    let empty = room.path("empty.git");
    work.git(&["init", "-q", "--bare", empty.to_str().unwrap()]);
    let error = mirror.sync(&room.upstream(empty.to_str().unwrap())).await.unwrap_err();
    assert!(error.to_string().contains("no branch at all"), "{error:?}");
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_upstream_is_followed_until_it_has_something() {
    let room = Room::open().await;
    let work = room.work("work");
    let empty = room.path("empty.git");
    work.git(&["init", "-q", "--bare", "-b", "trunk", empty.to_str().unwrap()]);
    let mirror = room.mirror("app").await;
    let upstream = room.upstream(empty.to_str().unwrap());
    assert_eq!(mirror.sync(&upstream).await.unwrap().default_branch, None);
    work.git(&["push", "-q", empty.to_str().unwrap(), "main:trunk"]);
    assert_eq!(mirror.sync(&upstream).await.unwrap().default_branch, Some("trunk".parse().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_mirror_is_made_anew_and_what_is_ours_is_saved() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("big", "x".repeat(100_000));
    work.commit("feat: big");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-7"), "sandbox", &[]);
    sandbox.write("ours", "ours");
    let ours = sandbox.commit("feat: ours");
    sandbox.git(&["push", "-q", "origin", "HEAD:refs/heads/task-7"]);
    mirror.check().await.unwrap();

    // The upstream's pack is damaged; what the task pushed is in a pack of its own.
    let (old, base) = (mirror.path(), work.head());
    let packs = std::fs::read_dir(old.join("objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let mut packs: Vec<_> = packs.filter(|path| path.extension().is_some_and(|end| end == "pack")).collect();
    packs.sort_by_key(|path| std::fs::metadata(path).unwrap().modified().unwrap());
    assert_eq!(packs.len(), 2);
    let mut bytes = std::fs::read(&packs[0]).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle..middle + 40].fill(0xaa);
    std::fs::set_permissions(&packs[0], std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&packs[0], bytes).unwrap();
    assert!(matches!(mirror.check().await, Err(GitError::Broken { .. })));
    let lost = mirror.rebuild(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    assert_ne!(mirror.path(), old, "those who borrow keep the old one");
    mirror.check().await.unwrap();
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), base);
    // Ours hangs on a commit that was damaged here and came anew from the upstream.
    assert_eq!(lost, [] as [RefName; 0]);
    assert_eq!(mirror.find(&"refs/heads/task-7".parse().unwrap()).await.unwrap(), Some(ours));
    assert_eq!(mirror.tidy(&[old.join("objects")]).unwrap(), 0, "it is borrowed");
    assert_eq!(mirror.tidy(&[]).unwrap(), 1);
    assert!(!old.exists());
}

/// Bends some bytes in the middle of every pack.
fn damage(mirror: &Mirror) {
    for entry in std::fs::read_dir(mirror.objects().join("pack")).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "pack") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 3;
            bytes[middle..middle + 40].fill(0xaa);
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_that_somebody_meets_is_mended_by_the_next_look_though_nothing_moved_upstream() {
    let room = Room::open().await;
    let work = room.work("work");
    let noise: String = (0..20_000u32).map(|number| format!("{:x}\n", number.wrapping_mul(2_654_435_761))).collect();
    work.write("big", noise);
    work.commit("feat: big");
    let mirror = room.mirror_of(&work).await;
    let upstream = room.upstream(work.folder.to_str().unwrap());
    let old = mirror.path();
    damage(&mirror);
    assert_eq!(mirror.sync(&upstream).await.unwrap().rebuilt, None, "nobody has met it yet");
    let error = room.layers().prepare(&mirror, &work.head()).await.unwrap_err();
    assert!(matches!(error, GitError::Broken { .. }), "{error:?}");
    assert_eq!(mirror.sync(&upstream).await.unwrap().rebuilt, Some(vec![]));
    assert_ne!(mirror.path(), old);
    room.layers().prepare(&mirror, &work.head()).await.unwrap();
    // Asking for what was never here is no damage, and nothing is made anew.
    let nothing: CommitId = "0123456789012345678901234567890123456789".parse().unwrap();
    mirror.changed_paths(&work.head(), &nothing).await.unwrap_err();
    assert_eq!(mirror.sync(&upstream).await.unwrap().rebuilt, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn packing_drops_nothing_that_a_sandbox_may_still_borrow() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-1"), "sandbox", &[]);
    let mut commits = Vec::new();
    for number in 0..45 {
        sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
        sandbox.write("file", format!("{number}"));
        commits.push(sandbox.commit("feat: again"));
        sandbox.git(&["push", "-q", "--force", "origin", "HEAD:refs/heads/task-1"]);
    }
    assert!(mirror.tend().await.unwrap(), "there are many packs");
    assert!(!mirror.tend().await.unwrap(), "and now there are few");
    let packs = std::fs::read_dir(mirror.objects().join("pack")).unwrap().flatten();
    assert!(packs.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count() < 5);
    for commit in &commits {
        assert_eq!(mirror.parent_of(commit).await.unwrap(), Some(work.head()), "{commit}");
    }
    mirror.check().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_checked_out_whole_is_refused_with_a_sentence() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("assets/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let lfs = work.commit("feat: large files");
    work.git(&["rm", "-q", "-r", "assets"]);
    work.write(".gitattributes", "# filter=lfs is not used here\n*.sh text eol=lf\n");
    let plain = work.commit("feat: none");
    let other = room.work("other");
    work.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        other.folder.to_str().unwrap(),
        "vendored",
    ]);
    let submodule = work.commit("feat: vendored");
    let mirror = room.mirror_of(&work).await;
    let said = |result: Result<(), GitError>| match result {
        Err(GitError::Unfit { why }) => why,
        other => panic!("{other:?}"),
    };
    assert!(said(mirror.check_fit(&lfs).await).contains("assets/.gitattributes"));
    assert!(said(mirror.check_fit(&submodule).await).contains("`vendored` is a submodule"));
    mirror.check_fit(&plain).await.unwrap();
    assert!(room.layers().prepare(&mirror, &lfs).await.is_err());

    let sha256 = room.path("sha256");
    work.git(&["init", "-q", "--object-format=sha256", sha256.to_str().unwrap()]);
    let there = crate::bench::Work { folder: sha256.clone(), home: work.home.clone() };
    there.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let error = room.mirror("sha").await.sync(&room.upstream(sha256.to_str().unwrap())).await.unwrap_err();
    assert!(matches!(error, GitError::Unfit { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_that_a_killed_git_left_do_not_stand_in_the_way_for_ever() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let lock = mirror.path().join("refs/heads/task-1.lock");
    std::fs::write(&lock, "").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    put(&mirror, "refs/heads/task-1".parse().unwrap(), &work.head()).await;
    assert_eq!(mirror.find(&"refs/heads/task-1".parse().unwrap()).await.unwrap(), Some(work.head()));
}
