//! Pushes over real HTTP, good ones and bad ones.

use carrel_git::gateway::ContentRules;
use carrel_model::push::PushLimits;

use crate::bench::{Door, DoorPlan, Room, Work, below};

/// A room with a mirror of one commit, and its door.
async fn scene() -> (Room, carrel_git::Mirror, Door) {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    (room, mirror, door)
}

fn nothing_left_of(mirror: &carrel_git::Mirror) {
    let left = below(&mirror.path()).into_iter().filter(|path| {
        let text = path.to_string_lossy();
        text.contains("quarantine") || text.contains("tmp_") || text.ends_with(".lock")
    });
    assert_eq!(left.collect::<Vec<_>>(), [] as [std::path::PathBuf; 0]);
}

fn task_of(room: &Room, door: &Door, number: u32) -> Work {
    let work = room.clone(&door.url(&format!("task-{number}")), &format!("sandbox-{number}"), &[]);
    work.git(&["checkout", "-q", "-b", &format!("task-{number}")]);
    work
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_pushes_to_its_own_branch_and_may_rewrite_it() {
    let (room, mirror, door) = scene().await;
    let sandbox = task_of(&room, &door, 42);
    sandbox.write("file", "one");
    let first = sandbox.commit("feat: one");
    sandbox.git(&["push", "-q", "origin", "task-42"]);
    assert_eq!(mirror.head_of(&"task-42".parse().unwrap()).await.unwrap(), first);
    sandbox.git(&["commit", "-q", "--amend", "-m", "feat: other"]);
    sandbox.refused(&["push", "-q", "origin", "task-42"]);
    sandbox.git(&["push", "-q", "--force", "origin", "task-42"]);
    assert_eq!(mirror.head_of(&"task-42".parse().unwrap()).await.unwrap(), sandbox.head());
    sandbox.git(&[
        "push",
        "-q",
        "--atomic",
        "--force",
        "origin",
        "HEAD~1:refs/heads/task-42",
        "HEAD:refs/carrel/wip/42",
    ]);
    nothing_left_of(&mirror);
    mirror.check().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_tasks_own_is_refused_in_words_that_its_agent_can_read() {
    let (room, mirror, door) = scene().await;
    let before = mirror.refs().await.unwrap();
    let sandbox = task_of(&room, &door, 42);
    sandbox.write("file", "one");
    sandbox.commit("feat: one");
    let said = sandbox.refused(&["push", "origin", "HEAD:main"]);
    assert!(
        said.contains("remote: This sandbox works on task 42 and may push only to its branch `task-42`."),
        "{said}"
    );
    assert!(said.contains("remote: Try: git push origin HEAD:refs/heads/task-42"), "{said}");
    assert!(said.contains("! [remote rejected] HEAD -> main (not this task's branch)"), "{said}");
    for other in ["HEAD:task-43", "HEAD:refs/tags/v1", "HEAD:refs/carrel/wip/7", "HEAD:refs/heads/task-042"] {
        sandbox.refused(&["push", "origin", other]);
    }
    let both = sandbox.refused(&["push", "origin", "HEAD:task-42", "HEAD:main"]);
    assert!(both.contains("task-42 (refused together with the others)"), "{both}");
    assert_eq!(mirror.refs().await.unwrap(), before);
    sandbox.git(&["push", "-q", "origin", "task-42"]);
    assert!(sandbox.refused(&["push", "origin", ":task-42"]).contains("branches of tasks are not deleted"));
    nothing_left_of(&mirror);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_pushes_to_a_repository_that_lives_here_and_main_only_moves_forward() {
    let room = Room::open().await;
    let mirror = room.mirror("new").await;
    let door = Door::open(&mirror).await;
    let work = room.work("work");
    work.git(&["remote", "add", "origin", &door.url("person")]);
    work.git(&["push", "-q", "origin", "main"]);
    work.git(&["tag", "v1"]);
    work.git(&["push", "-q", "--tags", "origin"]);
    let head = work.head();
    work.git(&["commit", "-q", "--amend", "-m", "feat: rewritten"]);
    let said = work.refused(&["push", "--force", "origin", "main"]);
    assert!(said.contains("only moves forward here"), "{said}");
    assert!(work.refused(&["push", "origin", ":main"]).contains("the default branch stays"));
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), head);
    work.git(&["push", "-q", "origin", "HEAD:topic"]);
    work.git(&["push", "-q", "origin", ":topic"]);
    let again = room.clone(&door.url("person"), "again", &[]);
    assert_eq!(again.head(), head);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tag_says_and_names_is_looked_at_too() {
    let room = Room::open().await;
    let mirror = room.mirror("new").await;
    let door = Door::open(&mirror).await;
    let work = room.work("work");
    work.git(&["remote", "add", "origin", &door.url("person")]);
    work.git(&["push", "-q", "origin", "main"]);
    let secret = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
    work.git(&["tag", "-a", "v1", "-m", &format!("tried out with {secret}")]);
    work.git(&["tag", "-a", "v2", "-m", "a tag of a tag", "v1"]);
    for tag in ["v1", "v2"] {
        let said = work.refused(&["push", "origin", tag]);
        assert!(said.contains("an access key of AWS") && said.contains("(it holds a secret)"), "{said}");
        assert!(!said.contains(&secret));
    }
    // A file or a folder that only a tag names would be read by nobody.
    work.write("key.env", format!("KEY={secret}\n"));
    let blob = work.git(&["hash-object", "-w", "key.env"]);
    work.git(&["tag", "file", &blob]);
    work.git(&["tag", "folder", "HEAD^{tree}"]);
    for (tag, kind) in [("file", "blob"), ("folder", "tree")] {
        let said = work.refused(&["push", "origin", tag]);
        assert!(said.contains(&format!("is a {kind}: a tag names a commit here")), "{said}");
    }
    work.git(&["tag", "-a", "v3", "-m", "the third"]);
    work.git(&["tag", "-a", "v4", "-m", "of the third", "v3"]);
    work.git(&["push", "-q", "origin", "v3", "v4"]);
    let names: Vec<_> = mirror.refs().await.unwrap().into_keys().map(String::from).collect();
    assert_eq!(names, ["refs/heads/main", "refs/tags/v3", "refs/tags/v4"]);
    nothing_left_of(&mirror);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_large_files_and_forbidden_paths_do_not_come_in() {
    let (room, mirror, _door) = scene().await;
    let text = |text: &str| vec![text.to_owned()];
    let rules = ContentRules::usual().with_paths(&[], &text(".github/**")).unwrap();
    let limits = PushLimits { file_bytes: 1 << 20, pack_bytes: 8 << 20, ..PushLimits::default() };
    let door = Door::with(&mirror, DoorPlan { rules, limits, ..DoorPlan::default() }).await;
    let sandbox = task_of(&room, &door, 1);
    let push = ["push", "origin", "task-1"];

    let secret = format!("AKIA{}", "Z7QXM3RTPLK2WV5N");
    sandbox.write("config/prod.env", format!("a=1\nKEY={secret}\n"));
    sandbox.commit("feat: configure");
    sandbox.write("config/prod.env", "a=1\n");
    sandbox.commit("fix: remove it again");
    let said = sandbox.refused(&push);
    assert!(said.contains("remote: config/prod.env:2 in commit"), "a secret in history is one: {said}");
    assert!(said.contains("an access key of AWS") && said.contains("(it holds a secret)"), "{said}");
    assert!(!said.contains(&secret));

    sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    sandbox.write("fine", "fine");
    sandbox.commit(&format!("feat: fine\n\nIt was tried out with {secret}.\n"));
    let said = sandbox.refused(&push);
    assert!(said.contains("remote: The message in commit") && said.contains("an access key of AWS"), "{said}");
    assert!(!said.contains(&secret));

    sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    let noise: Vec<u8> = (0..2_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    sandbox.write("model.bin", &noise);
    sandbox.commit("feat: a model");
    let said = sandbox.refused(&push);
    assert!(said.contains("remote: model.bin is larger than 1 MiB."), "{said}");

    sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    let mut state = 88_172_645_463_325_252u64;
    for number in 0..12 {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        let random: Vec<u8> = (0..1_000_000).map(|_| next()).collect();
        sandbox.write(&format!("part-{number}"), random);
    }
    sandbox.commit("feat: parts");
    let said = sandbox.refused(&push);
    assert!(said.contains("remote: The pack is larger than 8 MiB"), "{said}");

    sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    sandbox.write(".github/workflows/ci.yml", "on: push\n");
    sandbox.commit("ci: take over");
    assert!(sandbox.refused(&push).contains("remote: .github/workflows/ci.yml may not be changed"));

    sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    sandbox.write("fine", "fine");
    sandbox.commit("feat: fine");
    sandbox.git(&push);
    nothing_left_of(&mirror);
    let mirrored = below(&mirror.objects().join("pack"));
    let size: u64 = mirrored.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum();
    assert!(size < 1 << 20, "nothing of what was refused is kept: {size}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_found_far_into_a_line_in_what_looks_binary_and_in_a_merge_of_many() {
    let (room, mirror, _door) = scene().await;
    let rules = ContentRules::usual().with_paths(&[], &[".github/**".to_owned()]).unwrap();
    let door = Door::with(&mirror, DoorPlan { rules, ..DoorPlan::default() }).await;
    let sandbox = task_of(&room, &door, 1);
    let push = ["push", "--force", "origin", "task-1"];
    let key = format!("KEY=AKIA{}", "Z7QXM3RTPLK2WV5N");
    let again = || sandbox.git(&["reset", "-q", "--hard", "origin/main"]);
    let refused = |what: &str, at: &str| {
        sandbox.commit("feat: add it");
        let said = sandbox.refused(&push);
        assert!(said.contains(at) && said.contains("(it holds a secret)"), "{what}: {said}");
        assert!(!said.contains("AKIA"), "{what}: {said}");
        again();
    };
    let mebibyte = 1 << 20;
    // Behind the first piece of a line; across the cut between two; behind what looks like the heading of a hunk.
    sandbox.write("far.js", format!("{} {key};\nnext\n", "a".repeat(mebibyte)));
    refused("far into a line", "far.js:1");
    sandbox.write("cut.js", format!("{} {key};\n", "a".repeat(mebibyte - 12)));
    refused("across a cut", "cut.js:1");
    sandbox.write("sly.js", format!("{}@@ -0,0 +1,0 @@\n{key}\n", "a".repeat(mebibyte - 1)));
    refused("after a heading that is none", "sly.js:2");
    sandbox.write("blob.bin", format!("\0\n{key}\n"));
    refused("beside a NUL", "blob.bin in commit");
    let wide: Vec<u8> = format!("one\n{key}\n").bytes().flat_map(|byte| [byte, 0]).collect();
    sandbox.write("windows.txt", wide);
    refused("in UTF-16", "windows.txt in commit");
    sandbox.write(".gitattributes", "*.env -diff\n");
    sandbox.write("prod.env", format!("{key}\n"));
    refused("where the repository asks for no diff", "prod.env");

    // What was in such a file before is nothing new; another kind of it is.
    let old = format!("\0\n{key}\n");
    let upstream = room.clone(&door.url("person"), "upstream", &[]);
    upstream.write("old.bin", &old);
    let sinned = upstream.commit("feat: an old sin");
    upstream.git(&["push", "-q", mirror.path().to_str().unwrap(), "HEAD:refs/heads/main"]);
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), sinned);
    sandbox.git(&["fetch", "-q", "origin"]);
    again();
    sandbox.write("old.bin", format!("{old}more\0\n"));
    sandbox.commit("feat: beside it");
    sandbox.git(&["push", "-q", "--force", "origin", "task-1"]);
    sandbox.write("old.bin", format!("{old}more\0\nnpm_{}\n", "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"));
    refused("another kind beside an old one", "old.bin in commit");

    // A merge of three is not merged again by git; what it adds of its own is looked at all the same.
    let many = |file: &str, text: &str| {
        for side in ["one", "two", "three"] {
            sandbox.git(&["checkout", "-q", "-B", side, "origin/main"]);
            sandbox.write(side, side);
            sandbox.commit("feat: a side");
        }
        sandbox.git(&["checkout", "-q", "-B", "task-1", "origin/main"]);
        sandbox.git(&["merge", "-q", "-m", "merge: three", "one", "two", "three"]);
        sandbox.write(file, text);
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "-q", "--amend", "-m", "merge: three"]);
    };
    many("hidden.env", &key);
    let said = sandbox.refused(&push);
    assert!(said.contains("hidden.env:1 in commit") && said.contains("(it holds a secret)"), "{said}");
    many(".github/ci.yml", "on: push\n");
    let said = sandbox.refused(&push);
    assert!(said.contains("remote: .github/ci.yml may not be changed"), "{said}");
    many("fine", "fine");
    sandbox.git(&push);
    nothing_left_of(&mirror);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_of_a_closed_task_was_not_looked_through_and_is_when_it_is_pushed() {
    let (room, mirror, door) = scene().await;
    let sandbox = task_of(&room, &door, 1);
    sandbox.write("prod.env", format!("KEY=AKIA{}\n", "Z7QXM3RTPLK2WV5N"));
    let commit = sandbox.commit("feat: configure");
    sandbox.git(&["push", "-q", "origin", "HEAD:refs/carrel/wip/1"]);
    for name in ["refs/carrel/kept/task-1", "refs/carrel/other/1"] {
        mirror.hold(&name.parse().unwrap(), &commit).await.unwrap();
        let said = sandbox.refused(&["push", "origin", "task-1"]);
        assert!(said.contains("prod.env:1 in commit") && said.contains("(it holds a secret)"), "{name}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_there_before_does_not_stop_the_work() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("old.env", format!("KEY=AKIA{}\nnext\n", "Z7QXM3RTPLK2WV5N"));
    work.commit("feat: an old sin");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = task_of(&room, &door, 1);
    sandbox.write("old.env", format!("KEY=AKIA{}\nchanged\n", "Z7QXM3RTPLK2WV5N"));
    sandbox.commit("feat: beside it");
    sandbox.git(&["push", "-q", "origin", "task-1"]);
    // Merging what is in the mirror already brings nothing new either.
    work.write("more.env", format!("OTHER=AKIA{}\n", "Q3MWZ7PLXKTRV25N"));
    work.commit("feat: another sin upstream");
    mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    sandbox.git(&["pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]);
    sandbox.git(&["push", "-q", "origin", "task-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_agents_push_at_the_same_moment_and_every_commit_arrives() {
    let (room, mirror, door) = scene().await;
    let works: Vec<Work> = (1..=50)
        .map(|number| {
            let work = task_of(&room, &door, number);
            work.write(&format!("file-{number}"), format!("{number}"));
            work.commit("feat: mine");
            work
        })
        .collect();
    let main = mirror.head_of(&"main".parse().unwrap()).await.unwrap();
    let pushes = works.iter().cloned().enumerate().map(|(index, work)| {
        tokio::task::spawn_blocking(move || {
            work.git(&["push", "-q", "origin", &format!("task-{}", index + 1)]);
            work.head()
        })
    });
    for (index, push) in pushes.collect::<Vec<_>>().into_iter().enumerate() {
        let head = push.await.unwrap();
        assert_eq!(mirror.head_of(&format!("task-{}", index + 1).parse().unwrap()).await.unwrap(), head);
    }
    assert_eq!(mirror.head_of(&"main".parse().unwrap()).await.unwrap(), main);
    mirror.check().await.unwrap();
    nothing_left_of(&mirror);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_move_one_branch_from_the_same_place_one_is_told_to_look_again() {
    let room = Room::open().await;
    let mirror = room.mirror("new").await;
    let door = Door::open(&mirror).await;
    let work = room.work("work");
    work.git(&["push", "-q", &door.url("person"), "main"]);
    let clones: Vec<Work> = (0..8)
        .map(|number| {
            let clone = room.clone(&door.url("person"), &format!("clone-{number}"), &[]);
            clone.write(&format!("file-{number}"), "x");
            clone.commit("feat: mine");
            clone
        })
        .collect();
    let pushes = clones.iter().cloned().map(|clone| {
        tokio::task::spawn_blocking(move || clone.try_git(&["push", "-q", "origin", "main"]).status.success())
    });
    let mut won = 0;
    for push in pushes.collect::<Vec<_>>() {
        won += usize::from(push.await.unwrap());
    }
    assert_eq!(won, 1, "a base has one next commit");
    assert!(mirror.is_ancestor(&work.head(), &mirror.head_of(&"main".parse().unwrap()).await.unwrap()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_protocols_shallow_and_blobless_clones_work() {
    let (room, mirror, door) = scene().await;
    let url = door.url("task-9");
    let old = room.clone(&url, "v0", &["-c", "protocol.version=0"]);
    let new = room.clone(&url, "v2", &["-c", "protocol.version=2"]);
    assert_eq!(old.head(), new.head());
    let shallow = room.clone(&url, "shallow", &["--depth", "1"]);
    shallow.write("from-shallow", "x");
    shallow.commit("feat: from a shallow clone");
    shallow.git(&["push", "-q", "origin", "HEAD:refs/heads/task-9"]);
    assert_eq!(mirror.head_of(&"task-9".parse().unwrap()).await.unwrap(), shallow.head());
    let blobless = room.clone(&url, "blobless", &["--filter=blob:none"]);
    assert_eq!(blobless.read("README.md"), "hello\n");
    let hidden = new.git(&["ls-remote", "origin", "refs/carrel/*"]);
    assert_eq!(hidden, "", "the house's own refs are for nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_come_compressed_in_pieces_and_after_a_try_of_the_door() {
    let (room, mirror, door) = scene().await;
    let sandbox = task_of(&room, &door, 3);
    for number in 0..3000 {
        sandbox.write(&format!("files/{number}"), format!("{number}"));
    }
    sandbox.commit("feat: many");
    // A small buffer makes git try the door with an empty push, then send the pack in chunks.
    sandbox.git(&["-c", "http.postBuffer=4096", "push", "-q", "origin", "task-3"]);
    assert_eq!(mirror.head_of(&"task-3".parse().unwrap()).await.unwrap(), sandbox.head());
    // A fetch with many haves is sent with gzip.
    for number in 0..100 {
        sandbox.commit(&format!("feat: {number}"));
    }
    sandbox.git(&["-c", "protocol.version=0", "fetch", "-q", "origin"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_broken_off_damaged_or_nonsense_changes_nothing() {
    use carrel_git::gateway::Service;
    let (room, mirror, door) = scene().await;
    let before = mirror.refs().await.unwrap();
    let sandbox = task_of(&room, &door, 1);
    sandbox.write("file", "content");
    let commit = sandbox.commit("feat: one");
    let pack =
        sandbox.command("sh").args(["-c", "echo HEAD | git pack-objects --revs --stdout -q"]).output().unwrap().stdout;
    let line = format!("{} {commit} refs/heads/task-1\0 report-status side-band-64k", "0".repeat(40));
    let mut push = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
    push.extend(&pack);
    let (cut, mut damaged) = (push[..push.len() - 30].to_vec(), push.clone());
    let middle = push.len() - 40;
    damaged[middle] ^= 0xff;
    let mut orphan = format!("{:04x}{line}0000", line.len() + 4).replace(commit.as_str(), &"e".repeat(40)).into_bytes();
    orphan.extend(&pack);
    let curl = |body: Vec<u8>| {
        let path = room.path("body");
        std::fs::write(&path, body).unwrap();
        let url = format!("{}/git-receive-pack", door.url("task-1"));
        let data = format!("@{}", path.display());
        let output = sandbox.command("curl").args(["-s", "--data-binary", &data, &url]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(Service::from_name("git-receive-pack"), Some(Service::ReceivePack));
    for (what, body) in [("cut short", cut), ("damaged", damaged), ("naming what is not there", orphan)] {
        let said = curl(body);
        assert!(said.contains("ng refs/heads/task-1"), "{what}: {said}");
    }
    assert_eq!(curl(b"0000".to_vec()), "", "a try of the door");
    curl(b"nonsense".to_vec());
    curl(Vec::new());
    assert_eq!(mirror.refs().await.unwrap(), before);
    nothing_left_of(&mirror);
    curl(push);
    assert_eq!(mirror.head_of(&"task-1".parse().unwrap()).await.unwrap(), commit);
}
