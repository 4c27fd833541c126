//! Merging in the mirror: forecasts, the ladder, and bases that only move forward.

use carrel_git::{
    GitError, Identity, Mirror,
    merge::{Clash, Forecaster, Head, Integrated, Ladder, MergeStyle, Mergiraf, Offer, Outcome, Rung, Whom},
};
use carrel_model::{CommitId, TaskId};

use crate::bench::{Room, Work};

const CODE: &str = "fn one() {\n    first();\n}\n\nfn two() {\n    second();\n}\n";

/// A branch from the first commit with some files on it.
fn branch(work: &Work, name: &str, files: &[(&str, &str)]) -> CommitId {
    work.git(&["checkout", "-q", "-B", name, "start"]);
    for (path, content) in files {
        work.write(path, content);
    }
    work.commit(&format!("feat: {name}"))
}

fn start(room: &Room, files: &[(&str, &str)]) -> Work {
    let work = room.work("work");
    for (path, content) in files {
        work.write(path, content);
    }
    work.commit("feat: start");
    work.git(&["branch", "start"]);
    work
}

fn task(number: i64) -> TaskId {
    TaskId::try_from(number).unwrap()
}

/// The program that the ladder's third rung needs; `make test` installs it.
fn mergiraf() -> Mergiraf {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let installed = home.join(".cache/carrel/bin/mergiraf");
    Mergiraf::find()
        .or_else(|| installed.is_file().then(|| Mergiraf::at(installed)))
        .expect("mergiraf is needed for this test: scripts/setup test, or `cargo install --locked mergiraf`")
}

async fn content(mirror: &Mirror, work: &Work, tree: &CommitId, path: &str) -> String {
    let there = Work { folder: mirror.path(), home: work.home.clone() };
    there.git(&["-c", "safe.directory=*", "show", &format!("{tree}:{path}")]) + "\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forecast_names_who_conflicts_with_whom_in_which_files() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let base = branch(&work, "main", &[("c.txt", "changed upstream\n")]);
    let mut heads = Vec::new();
    for (number, files) in [
        (1, &[("a.txt", "one\n"), ("c.txt", "mine\n")][..]),
        (2, &[("a.txt", "two\n")]),
        (3, &[("b.txt", "three\n")]),
        (4, &[("a.txt", "one\n")]),
        (5, &[("a.txt/folder", "x\n")]),
    ] {
        if number == 5 {
            work.git(&["checkout", "-q", "-B", "task-5", "start"]);
            std::fs::remove_file(work.folder.join("a.txt")).unwrap();
            work.write("a.txt/folder", "x\n");
            heads.push((number, work.commit("feat: a folder")));
            continue;
        }
        heads.push((number, branch(&work, &format!("task-{number}"), files)));
    }
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    // Branches of tasks are not taken from the upstream.
    let door = crate::bench::Door::open(&mirror).await;
    for (number, _) in &heads {
        work.git(&["push", "-q", &door.url(&format!("task-{number}")), &format!("task-{number}")]);
    }
    let live: Vec<Head> = heads
        .iter()
        .map(|(number, commit)| Head { task: task(*number), commit: commit.clone(), base: base.clone() })
        .collect();
    let forecaster = Forecaster::default();
    let clashes = forecaster.forecast(&mirror, &live[0], &live).await.unwrap();
    let clash = |whom, paths: &[&str]| Clash { whom, paths: paths.iter().map(|path| (*path).to_owned()).collect() };
    assert_eq!(clashes[..2], [clash(Whom::Base, &["c.txt"]), clash(Whom::Task(task(2)), &["a.txt"])]);
    assert!(clashes.iter().any(|clash| clash.whom == Whom::Task(task(5))), "a folder where a file is: {clashes:?}");
    assert!(!clashes.iter().any(|clash| matches!(clash.whom, Whom::Task(other) if [3, 4].map(task).contains(&other))));
    assert_eq!(forecaster.forecast(&mirror, &live[2], &live).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rung_of_the_ladder_is_tried_in_turn_and_recorded() {
    let room = Room::open().await;
    let work = start(&room, &[("src/lib.rs", CODE), ("Cargo.lock", "version = 1\n"), ("notes.txt", "notes\n")]);
    let ours = branch(
        &work,
        "main",
        &[
            ("src/lib.rs", &CODE.replace("first();", "first(1);")),
            ("Cargo.lock", "version = 2\n"),
            ("notes.txt", "ours\n"),
        ],
    );
    let theirs = branch(
        &work,
        "theirs",
        &[
            ("src/lib.rs", &CODE.replace("first();", "first();\n    third();")),
            ("Cargo.lock", "version = 3\n"),
            ("notes.txt", "theirs\n"),
        ],
    );
    let resolved = {
        work.git(&["checkout", "-q", "-B", "resolved", "main"]);
        let _ = work.try_git(&["merge", "-q", "theirs"]);
        work.write("notes.txt", "both\n");
        work.write("src/lib.rs", CODE);
        work.commit("feat: resolved by a person")
    };
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;

    let plain = Ladder::default().merge(&mirror, &ours, &theirs, None).await.unwrap();
    assert_eq!(plain.outcome, Outcome::Conflicted { paths: vec!["notes.txt".into(), "src/lib.rs".into()] });
    let rungs: Vec<_> = plain.records.iter().map(|record| (record.rung, record.settled.len())).collect();
    assert_eq!(rungs, [(Rung::Clean, 0), (Rung::Rerere, 0), (Rung::LockFile, 1)]);

    // Somebody resolved it; the next time nobody has to.
    assert!(mirror.learn(&ours, &theirs, &resolved).await.unwrap() >= 2);
    let again = Ladder::default().merge(&mirror, &ours, &theirs, None).await.unwrap();
    let Outcome::Merged { tree, regenerate } = &again.outcome else { panic!("{again:?}") };
    assert_eq!(content(&mirror, &work, tree, "notes.txt").await, "both\n");
    assert_eq!(content(&mirror, &work, tree, "Cargo.lock").await, "version = 2\n", "the base's, until it is made anew");
    assert_eq!(regenerate[0].command, ["cargo", "update", "--workspace"]);
    let rerere = again.records.iter().find(|record| record.rung == Rung::Rerere).unwrap();
    assert_eq!(rerere.settled, ["notes.txt", "src/lib.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_in_a_path_that_is_no_text_is_left_to_whoever_works_on_it() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let room = Room::open().await;
    let work = start(&room, &[("notes.txt", "notes\n")]);
    let odd = work.folder.join(OsStr::from_bytes(b"bad\xff\xfename"));
    let side = |name: &str| {
        work.git(&["checkout", "-q", "-B", name, "start"]);
        std::fs::write(&odd, format!("{name}\n")).unwrap();
        work.write("notes.txt", format!("{name}\n"));
        work.commit(&format!("feat: {name}"))
    };
    let (ours, theirs) = (side("main"), side("theirs"));
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    for _ in 0..2 {
        let tried = Ladder { mergiraf: Some(mergiraf()) };
        let tried = tried.merge(&mirror, &ours, &theirs, None).await.unwrap();
        let Outcome::Conflicted { paths } = &tried.outcome else { panic!("{tried:?}") };
        assert!(paths.iter().any(|path| path.starts_with("bad") && path.ends_with("name")), "{paths:?}");
        // What can be learnt of the rest is learnt, and changes nothing about it.
        mirror.learn(&ours, &theirs, &ours).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_git_cannot_merge_by_lines_is_merged_by_syntax() {
    let room = Room::open().await;
    let before = "use std::fmt;\n\nfn a() -> u8 {\n    1\n}\n";
    let work = start(&room, &[("lib.rs", before)]);
    let ours = branch(&work, "main", &[("lib.rs", &before.replace("use std::fmt;", "use std::fmt;\nuse std::io;"))]);
    let theirs =
        branch(&work, "theirs", &[("lib.rs", &before.replace("use std::fmt;", "use std::fmt;\nuse std::fs;"))]);
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    let without = Ladder::default().merge(&mirror, &ours, &theirs, None).await.unwrap();
    assert_eq!(without.outcome, Outcome::Conflicted { paths: vec!["lib.rs".into()] });
    let ladder = Ladder { mergiraf: Some(mergiraf()) };
    let merged = ladder.merge(&mirror, &ours, &theirs, None).await.unwrap();
    let Outcome::Merged { tree, .. } = &merged.outcome else { panic!("{merged:?}") };
    let text = content(&mirror, &work, tree, "lib.rs").await;
    assert!(text.contains("use std::io;") && text.contains("use std::fs;") && !text.contains("<<<<"), "{text}");
    assert_eq!(merged.records.last().unwrap().rung, Rung::Mergiraf);
    assert_eq!(merged.records.last().unwrap().settled, ["lib.rs"]);
}

fn offer<'a>(base: &'a CommitId, head: &'a CommitId, style: MergeStyle, who: &'a Identity) -> Offer<'a> {
    Offer {
        base,
        head,
        style,
        message: "feat: it all\n\nCarrel-Task: 1\n",
        author: who,
        committer: who,
        signer: None,
        since: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_merged_squashed_or_rebased_and_the_base_moves_forward_only() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let base = branch(&work, "main", &[("b.txt", "base\n")]);
    branch(&work, "topic", &[("a.txt", "one\n")]);
    work.write("new.txt", "new\n");
    let head = work.commit("feat: second\n\nWith a body.");
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    let (ladder, who) = (Ladder::default(), Identity::new("Scout", "scout@example.org").unwrap());
    let there = Work { folder: mirror.path(), home: work.home.clone() };
    let show =
        |format: &str, commit: &CommitId| there.git(&["-c", "safe.directory=*", "log", "-1", format, commit.as_str()]);
    let mut trees = Vec::new();
    for style in [MergeStyle::Merge, MergeStyle::Squash, MergeStyle::Rebase] {
        let Integrated::Ready { commit, .. } =
            ladder.integrate(&mirror, &offer(&base, &head, style, &who)).await.unwrap()
        else {
            panic!("{style:?}")
        };
        trees.push(show("--format=%T", &commit));
        match style {
            MergeStyle::Merge => assert_eq!(show("--format=%P", &commit), format!("{base} {head}")),
            MergeStyle::Squash => assert_eq!(show("--format=%P|%s|%an", &commit), format!("{base}|feat: it all|Scout")),
            MergeStyle::Rebase => {
                assert_eq!(show("--format=%an|%cn|%s|%b", &commit), "Ada|Scout|feat: second|With a body.");
                assert_eq!(mirror.commits_between(&base, &commit).await.unwrap().len(), 2);
            }
        }
        assert!(mirror.is_ancestor(&base, &commit).await.unwrap());
    }
    trees.dedup();
    assert_eq!(trees.len(), 1, "whatever the style, the files are the same");

    let main = "main".parse().unwrap();
    let Integrated::Ready { commit, .. } =
        ladder.integrate(&mirror, &offer(&base, &head, MergeStyle::Rebase, &who)).await.unwrap()
    else {
        panic!()
    };
    assert!(matches!(mirror.advance(&main, &base, &head).await, Err(GitError::Unfit { .. })), "it lacks the base");
    mirror.advance(&main, &base, &commit).await.unwrap();
    assert!(matches!(mirror.advance(&main, &base, &commit).await, Err(GitError::Moved { .. })), "it has moved");
    assert!(matches!(mirror.advance(&main, &commit, &base).await, Err(GitError::Unfit { .. })), "never back");
    let again = ladder.integrate(&mirror, &offer(&commit, &head, MergeStyle::Rebase, &who)).await.unwrap();
    assert_eq!(again, Integrated::Already, "rebased commits are recognised by what they change");
    let within = ladder.integrate(&mirror, &offer(&head, &base_of(&work), MergeStyle::Merge, &who)).await.unwrap();
    assert_eq!(within, Integrated::Already);
}

fn base_of(work: &Work) -> CommitId {
    work.git(&["rev-parse", "start"]).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_upstream_does_not_come_back_with_a_branch_that_began_at_it() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n")]);
    work.git(&["checkout", "-q", "-B", "old", "start"]);
    work.write("leaked.txt", "secret\n");
    let began = work.commit("feat: what should not be there");
    work.git(&["checkout", "-q", "-B", "theirs", "old"]);
    work.write("own.txt", "own\n");
    let head = work.commit("feat: work of a task");
    let base = branch(&work, "main", &[("b.txt", "b\n")]);
    let mirror = room.mirror_of(&work).await;
    let who = Identity::new("Scout", "scout@example.org").unwrap();
    for style in [MergeStyle::Squash, MergeStyle::Merge, MergeStyle::Rebase] {
        let offer = Offer { since: Some(&began), ..offer(&base, &head, style, &who) };
        let Integrated::Ready { commit, .. } = Ladder::default().integrate(&mirror, &offer).await.unwrap() else {
            panic!("{style:?} does not fit")
        };
        assert_eq!(content(&mirror, &work, &commit, "own.txt").await, "own\n");
        assert_eq!(content(&mirror, &work, &commit, "b.txt").await, "b\n");
        let there = Work { folder: mirror.path(), home: work.home.clone() };
        let all =
            there.git(&["-c", "safe.directory=*", "log", "--name-only", "--format=", &format!("start..{commit}")]);
        assert!(!all.contains("leaked.txt"), "{style:?}: {all}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_that_does_not_fit_names_the_commit_and_the_paths() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n")]);
    let base = branch(&work, "main", &[("a.txt", "base\n")]);
    branch(&work, "topic", &[("fine.txt", "x\n")]);
    work.write("a.txt", "topic\n");
    let head = work.commit("feat: clash");
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    let who = Identity::house();
    let came = Ladder::default().integrate(&mirror, &offer(&base, &head, MergeStyle::Rebase, &who)).await.unwrap();
    let Integrated::Conflicted { paths, at, records } = came else { panic!("{came:?}") };
    assert_eq!((paths, at), (vec!["a.txt".to_owned()], Some(head)));
    assert_eq!(records[0].rung, Rung::Clean);
}

/// A branch that merged its base, which says the opposite of it, and settled that; the merge brings a file of its own.
fn with_a_merge(work: &Work) -> (CommitId, CommitId) {
    let base = branch(work, "main", &[("a.txt", "base\n")]);
    branch(work, "topic", &[("a.txt", "topic\n")]);
    work.write("more.txt", "more\n");
    work.commit("feat: more");
    work.refused(&["merge", "main"]);
    work.write("a.txt", "both\n");
    work.write("evil.txt", "only the merge has it\n");
    let head = work.commit("Merge branch 'main' into topic");
    work.git(&["checkout", "-q", "main"]);
    (base, head)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_merge_in_the_branch_holds_survives_a_rebase() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let (base, head) = with_a_merge(&work);
    work.write("b.txt", "moved on\n");
    let later = work.commit("feat: meanwhile");
    let mirror = room.mirror_of(&work).await;
    let who = Identity::new("Scout", "scout@example.org").unwrap();
    // Whether or not the base moved since: nobody is asked again what the branch settled.
    for (base, b) in [(&base, "b\n"), (&later, "moved on\n")] {
        let came = Ladder::default().integrate(&mirror, &offer(base, &head, MergeStyle::Rebase, &who)).await.unwrap();
        let Integrated::Ready { commit, .. } = came else { panic!("{came:?}") };
        for (path, text) in
            [("a.txt", "both\n"), ("evil.txt", "only the merge has it\n"), ("more.txt", "more\n"), ("b.txt", b)]
        {
            assert_eq!(content(&mirror, &work, &commit, path).await, text, "{path}");
        }
        let there = Work { folder: mirror.path(), home: work.home.clone() };
        let told = there.git(&["-c", "safe.directory=*", "log", "-1", "--format=%P|%an|%cn|%s", commit.as_str()]);
        assert_eq!(told, format!("{base}|Ada|Scout|feat: it all"), "one commit, with the author's name");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_beside_a_merge_that_adds_nothing_stay_commits_when_they_are_rebased() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let base = branch(&work, "main", &[("b.txt", "base\n")]);
    branch(&work, "topic", &[("a.txt", "one\n")]);
    work.git(&["merge", "-q", "--no-edit", "main"]);
    work.write("new.txt", "new\n");
    let head = work.commit("feat: second");
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    let who = Identity::house();
    let came = Ladder::default().integrate(&mirror, &offer(&base, &head, MergeStyle::Rebase, &who)).await.unwrap();
    let Integrated::Ready { commit, .. } = came else { panic!("{came:?}") };
    assert_eq!(mirror.commits_between(&base, &commit).await.unwrap().len(), 2);
    assert_eq!(content(&mirror, &work, &commit, "a.txt").await, "one\n");
    assert_eq!(content(&mirror, &work, &commit, "new.txt").await, "new\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_who_merge_at_once_take_turns_and_nothing_is_lost() {
    let room = Room::open().await;
    let work = start(&room, &[("a.txt", "a\n")]);
    let mut heads = Vec::new();
    for number in 0..50 {
        let path = format!("file-{number}");
        heads.push(branch(&work, &format!("topic-{number}"), &[(&path, "x\n")]));
    }
    work.git(&["checkout", "-q", "main"]);
    let mirror = room.mirror_of(&work).await;
    let merges = heads.into_iter().map(|head| {
        let mirror = mirror.clone();
        tokio::spawn(async move {
            let (ladder, who, main) = (Ladder::default(), Identity::house(), "main".parse().unwrap());
            loop {
                let base = mirror.head_of(&main).await.unwrap();
                let offered = ladder.integrate(&mirror, &offer(&base, &head, MergeStyle::Squash, &who)).await.unwrap();
                let Integrated::Ready { commit, .. } = offered else { panic!("{offered:?}") };
                match mirror.advance(&main, &base, &commit).await {
                    Ok(()) => return,
                    Err(GitError::Moved { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        })
    });
    for merge in merges.collect::<Vec<_>>() {
        merge.await.unwrap();
    }
    let there = Work { folder: mirror.path(), home: work.home.clone() };
    let files = there.git(&["-c", "safe.directory=*", "ls-tree", "--name-only", "main"]);
    assert_eq!(files.lines().filter(|name| name.starts_with("file-")).count(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cargo_lock_that_two_changed_is_made_anew_by_cargo_itself_without_a_network() {
    let programs = std::env::var_os("CARGO").map(std::path::PathBuf::from).expect("cargo runs the tests");
    let programs = programs.parent().unwrap().to_owned();
    let room = Room::open().await;
    let work = room.work("work");
    let cargo = |words: &[String]| {
        let path = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        let path = std::env::join_paths(std::iter::once(programs.clone()).chain(path)).unwrap();
        let mut command = work.command(&words[0]);
        command.args(&words[1..]).env("PATH", path).env("CARGO_NET_OFFLINE", "true");
        let output = command.env("CARGO_HOME", room.path("cargo")).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let lock = || cargo(&words("cargo generate-lockfile"));
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    let app = |one: &str, two: &str| {
        format!("{}\n[dependencies]\n{one}# one\n# two\n# three\n# four\n\n[build-dependencies]\n{two}", package("app"))
    };
    work.write("Cargo.toml", "[workspace]\nmembers = [\"app\", \"one\", \"two\"]\nresolver = \"2\"\n");
    for (name, text) in [("app", app("", "")), ("one", package("one")), ("two", package("two"))] {
        work.write(&format!("{name}/Cargo.toml"), text);
        work.write(&format!("{name}/src/lib.rs"), "");
    }
    lock();
    let base = work.commit("feat: begin");
    let (one, two) = ("one = { path = \"../one\" }\n", "two = { path = \"../two\" }\n");
    work.write("app/Cargo.toml", app(one, ""));
    lock();
    let ours = work.commit("feat: one");
    work.git(&["checkout", "-q", "-b", "other", base.as_str()]);
    work.write("app/Cargo.toml", app("", two));
    lock();
    let theirs = work.commit("feat: two");
    let mirror = room.mirror_of(&work).await;
    let merged = Ladder::default().merge(&mirror, &ours, &theirs, None).await.unwrap();
    assert_eq!(merged.records.last().unwrap().rung, Rung::LockFile, "{:?}", merged.records);
    let Outcome::Merged { tree, regenerate } = &merged.outcome else { panic!("{merged:?}") };
    let [file] = &regenerate[..] else { panic!("{regenerate:?}") };
    assert_eq!((file.path.as_str(), file.folder.as_str()), ("Cargo.lock", ""));

    // As in the sandbox: the merged tree is laid out, and the rule's own command runs in the folder of the file.
    let objects = mirror.objects().display().to_string();
    std::fs::write(work.folder.join(".git/objects/info/alternates"), format!("{objects}\n")).unwrap();
    work.git(&["read-tree", "--reset", "-u", tree.as_str()]);
    assert_eq!(work.read("app/Cargo.toml"), app(one, two), "what people write is merged by git");
    cargo(&file.command);
    let text = work.read("Cargo.lock");
    assert!(text.contains("name = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"one\",\n \"two\",\n]"), "{text}");
    cargo(&words("cargo metadata --locked --offline --format-version 1"));
}
