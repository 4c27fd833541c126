//! Work in progress is saved, and nobody is disturbed.

use std::os::unix::fs::PermissionsExt;

use carrel_git::{
    Mirror,
    inside::{CLONE, RESTORE, SAVE},
};
use carrel_model::{TaskId, push::PushLimits};

use crate::bench::{By, Door, DoorPlan, Room, Stumble, Work};

fn sh(work: &Work, script: &str, args: &[&str]) -> String {
    let output = work.command("sh").args(["-c", script, "sh"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Bytes that do not compress, and are like no others.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..length).map(next).collect()
}

/// A working tree with something of everything: changed, staged, new, removed, ignored.
fn disarray(work: &Work) {
    work.write(".gitignore", "*.log\n");
    work.write("kept.txt", "kept\n");
    work.write("gone.txt", "gone\n");
    work.commit("feat: files");
    work.write("kept.txt", "changed\n");
    work.write("staged.txt", "staged\n");
    work.git(&["add", "staged.txt"]);
    work.write("staged.txt", "and changed again\n");
    std::fs::remove_file(work.folder.join("gone.txt")).unwrap();
    work.write("deep/new file.txt", "new\n");
    work.write("noise.log", "noise\n");
}

/// The files of a commit, as the mirror has it.
fn tree_in(work: &Work, mirror: &Mirror, commit: &str) -> String {
    work.git(&["--git-dir", mirror.path().to_str().unwrap(), "ls-tree", "-r", "--name-only", commit])
}

const SAVED: &str = ".gitignore\nREADME.md\ndeep/new file.txt\nkept.txt\nstaged.txt";

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_saves_its_working_tree_through_the_gateway_and_another_goes_on_from_it() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let task = TaskId::try_from(5).unwrap();
    let sandbox = room.clone(&door.url("task-5"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-5"]);
    disarray(&sandbox);
    let status = sandbox.git(&["status", "--porcelain"]);
    let index = std::fs::read(sandbox.folder.join(".git/index")).unwrap();
    let folder = sandbox.folder.to_str().unwrap();
    let (url, began) = (door.url("task-5"), sandbox.head().to_string());
    let save = [folder, "refs/carrel/wip/5", &url, &began, "51200"];
    let saved = sh(&sandbox, SAVE, &save);
    assert_eq!(mirror.wip(task).await.unwrap().unwrap().as_str(), saved);
    assert_eq!(std::fs::read(sandbox.folder.join(".git/index")).unwrap(), index, "the agent's index is its own");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), status);
    assert_eq!(tree_in(&sandbox, &mirror, &saved), SAVED);
    assert_eq!(sh(&sandbox, SAVE, &save), "", "nothing is new");
    assert!(!sandbox.folder.join(".git/carrel/save/lock").exists());

    // The sandbox is lost before it pushed its branch. Another begins at the commit that the saved one stands on.
    let commit = mirror.wip(task).await.unwrap().unwrap();
    let head = mirror.parent_of(&commit).await.unwrap().unwrap();
    std::fs::remove_dir_all(&sandbox.folder).unwrap();
    let next = room.clone(&door.url("task-5"), "next", &[]);
    let folder = next.folder.to_str().unwrap();
    sh(&next, RESTORE, &[folder, commit.as_str(), "refs/carrel/wip/5", &url, "task-5"]);
    assert_eq!(next.read("kept.txt"), "changed\n");
    assert_eq!(next.read("staged.txt"), "and changed again\n");
    assert_eq!(next.git(&["status", "--porcelain"]), " D gone.txt\n M kept.txt\n?? deep/\n?? staged.txt");
    assert_eq!(next.head(), head);
}

#[tokio::test(flavor = "multi_thread")]
async fn work_with_a_secret_is_saved_and_still_not_let_into_a_branch() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-8"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-8"]);
    sandbox.write("prod.env", format!("KEY=AKIA{}\n", "Z7QXM3RTPLK2WV5N"));
    sandbox.commit("feat: configure");
    sandbox.write("later.txt", "later\n");
    let saved =
        sh(&sandbox, SAVE, &[sandbox.folder.to_str().unwrap(), "refs/carrel/wip/8", &door.url("task-8"), "", "51200"]);
    assert_eq!(tree_in(&sandbox, &mirror, &saved), "README.md\nlater.txt\nprod.env");
    let said = sandbox.refused(&["push", "origin", "task-8"]);
    assert!(said.contains("(it holds a secret)"), "what was saved was not looked through: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_too_large_are_named_and_everything_else_is_saved() {
    let room = Room::open().await;
    let work = room.work("work");
    let huge = |work: &Work, name: &str| {
        std::fs::File::create(work.folder.join(name)).unwrap().set_len(60 << 20).unwrap();
    };
    work.write("grows.bin", "small\n");
    work.write(".gitignore", "*.log\n");
    huge(&work, "old.bin");
    work.commit("feat: files");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-8"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-8"]);
    let (url, began) = (door.url("task-8"), sandbox.head().to_string());
    let save = [sandbox.folder.to_str().unwrap(), "refs/carrel/wip/8", &url, &began, "51200"];

    // New, grown, ignored by themselves, and as it was before they came.
    sandbox.write("later.txt", "later\n");
    for name in ["new [1].bin", "grows.bin", "noise.log"] {
        huge(&sandbox, name);
    }
    let said = sh(&sandbox, SAVE, &save);
    let (large, saved) = said.rsplit_once('\n').unwrap();
    assert_eq!(large, "large grows.bin\nlarge new [1].bin");
    assert_eq!(tree_in(&sandbox, &mirror, saved), ".gitignore\nREADME.md\ngrows.bin\nlater.txt\nold.bin");
    let place = mirror.path();
    let show = ["--git-dir", place.to_str().unwrap(), "show"];
    let grown = sandbox.git(&[&show[..], &[&format!("{saved}:grows.bin")]].concat());
    assert_eq!(grown, "small", "it is saved as it was committed");
    assert_eq!(sh(&sandbox, SAVE, &save), large, "nothing is new, and they are still not there");

    // What the agent commits itself is a part of its commit, and saved with it.
    sandbox.commit("feat: too much");
    sandbox.write("later.txt", "later still\n");
    let saved = sh(&sandbox, SAVE, &save);
    assert_eq!(saved.lines().count(), 1, "{saved}");
    let all = ".gitignore\nREADME.md\ngrows.bin\nlater.txt\nnew [1].bin\nold.bin";
    assert_eq!(tree_in(&sandbox, &mirror, &saved), all);
    assert_eq!(sandbox.git(&[&show[..], &[&format!("{saved}:later.txt")]].concat()), "later still");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_saved_without_the_agents_own_commits_where_the_gateway_does_not_take_those() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let plan = DoorPlan { limits: PushLimits { file_bytes: 1 << 20, ..PushLimits::default() }, ..DoorPlan::default() };
    let door = Door::with(&mirror, plan).await;
    let (task, url) = (TaskId::try_from(9).unwrap(), door.url("task-9"));
    let sandbox = room.clone(&url, "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-9"]);
    let began = sandbox.head();
    let save = [sandbox.folder.to_str().unwrap(), "refs/carrel/wip/9", &url, began.as_str(), "1024"];

    // A file that the house takes from nobody is in a commit of the agent, and so it would come with every save.
    sandbox.write("huge.bin", noise(2 << 20));
    sandbox.write("good.txt", "good\n");
    let head = sandbox.commit("feat: too much");
    sandbox.write("later.txt", "later\n");
    let index = std::fs::read(sandbox.folder.join(".git/index")).unwrap();
    let said = sh(&sandbox, SAVE, &save);
    let (large, saved) = said.rsplit_once('\n').unwrap();
    assert_eq!(large, "large huge.bin", "whoever reads the timeline hears what is missing");
    assert_eq!(tree_in(&sandbox, &mirror, saved), "README.md\ngood.txt\nlater.txt");
    let commit = mirror.wip(task).await.unwrap().unwrap();
    assert_eq!(commit.as_str(), saved);
    assert_eq!(mirror.parent_of(&commit).await.unwrap(), Some(began.clone()), "it stands where the work began");
    assert_eq!(sandbox.head(), head, "the agent keeps its commits");
    assert_eq!(std::fs::read(sandbox.folder.join(".git/index")).unwrap(), index, "and its index");
    assert!(!sh(&sandbox, SAVE, &save).contains(saved), "nothing is new");
    assert_eq!(mirror.wip(task).await.unwrap(), Some(commit.clone()));

    // What comes later is saved the same way, and another sandbox has all of it.
    sandbox.write("later.txt", "later still\n");
    sh(&sandbox, SAVE, &save);
    let commit = mirror.wip(task).await.unwrap().unwrap();
    let next = room.clone(&url, "next", &[]);
    sh(&next, RESTORE, &[next.folder.to_str().unwrap(), commit.as_str(), "refs/carrel/wip/9", &url, "task-9"]);
    assert_eq!((next.read("good.txt"), next.read("later.txt")), ("good\n".to_owned(), "later still\n".to_owned()));
    assert_eq!(next.head(), began);

    // Once the agent has taken it out of its commits, they are saved again as they are.
    std::fs::remove_file(sandbox.folder.join("huge.bin")).unwrap();
    sandbox.git(&["reset", "-q", "--soft", began.as_str()]);
    let head = sandbox.commit("feat: enough");
    let saved = sh(&sandbox, SAVE, &save);
    let commit = mirror.wip(task).await.unwrap().unwrap();
    assert_eq!((saved.as_str(), mirror.parent_of(&commit).await.unwrap()), (commit.as_str(), Some(head)));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_saved_although_the_agents_own_commits_are_damaged_and_without_a_beginning_it_says_so() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let (task, url) = (TaskId::try_from(9).unwrap(), door.url("task-9"));
    let sandbox = room.clone(&url, "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-9"]);
    let began = sandbox.head();
    sandbox.write("notes.txt", "one\n");
    sandbox.commit("docs: one");
    let blob = sandbox.git(&["rev-parse", "HEAD:notes.txt"]);
    sandbox.write("notes.txt", "two\n");
    sandbox.commit("docs: two");
    let (folder, file) = blob.split_at(2);
    std::fs::remove_file(sandbox.folder.join(".git/objects").join(folder).join(file)).unwrap();

    let here = sandbox.folder.to_str().unwrap();
    let script = [SAVE, "sh", here, "refs/carrel/wip/9", &url, "", "1024"];
    let lost = sandbox.command("sh").arg("-c").args(script).output().unwrap();
    assert!(!lost.status.success() && !lost.stderr.is_empty(), "nobody takes this for saved: {lost:?}");
    assert_eq!(mirror.wip(task).await.unwrap(), None);

    let saved = sh(&sandbox, SAVE, &[here, "refs/carrel/wip/9", &url, began.as_str(), "1024"]);
    let commit = mirror.wip(task).await.unwrap().unwrap();
    assert_eq!((commit.as_str(), mirror.parent_of(&commit).await.unwrap()), (saved.as_str(), Some(began)));
    let place = mirror.path();
    let shown = sandbox.git(&["--git-dir", place.to_str().unwrap(), "show", &format!("{saved}:notes.txt")]);
    assert_eq!(shown, "two");
}

/// A push to a house that ends in the middle of it, and is back when the next one comes.
#[tokio::test(flavor = "multi_thread")]
async fn no_commit_is_left_behind_because_the_house_was_away_for_a_moment() {
    let (asking, pushing) = ("service=git-receive-pack", "app.git/git-receive-pack");
    for (at, by) in [(asking, By::Status(503)), (pushing, By::Status(503)), (pushing, By::HangingUp)] {
        let room = Room::open().await;
        let work = room.work("work");
        let mirror = room.mirror_of(&work).await;
        let sandbox = room.clone(&Door::open(&mirror).await.url("task-9"), "sandbox", &[]);
        let door =
            Door::with(&mirror, DoorPlan { stumbles: 1, stumble: Stumble { at, by }, ..DoorPlan::default() }).await;
        let (task, url) = (TaskId::try_from(9).unwrap(), door.url("task-9"));
        sandbox.git(&["checkout", "-q", "-b", "task-9"]);
        let began = sandbox.head();
        sandbox.write("one.txt", "one\n");
        let head = sandbox.commit("feat: one");
        sandbox.write("two.txt", "two\n");

        let save = [sandbox.folder.to_str().unwrap(), "refs/carrel/wip/9", &url, began.as_str(), "1024"];
        let first = sandbox.command("sh").args(["-c", SAVE, "sh"]).args(save).output().unwrap();
        let parent = match mirror.wip(task).await.unwrap() {
            // git itself may have asked again.
            Some(saved) => mirror.parent_of(&saved).await.unwrap(),
            None => {
                assert!(!first.status.success(), "nobody takes this for saved: {first:?}");
                let saved = sh(&sandbox, SAVE, &save).parse().unwrap();
                mirror.parent_of(&saved).await.unwrap()
            }
        };
        assert_eq!(parent, Some(head), "{by:?} at {at}: {first:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_shut_to_its_owner_keeps_nothing_else_from_being_saved() {
    let room = Room::open().await;
    let work = room.work("work");
    work.write("shut/kept.txt", "kept\n");
    work.commit("feat: a folder");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let url = door.url("task-9");
    let sandbox = room.clone(&url, "sandbox", &[]);
    sandbox.write("shut/new.txt", "new\n");
    sandbox.write("beside.txt", "beside\n");
    let shut = sandbox.folder.join("shut");
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o000)).unwrap();

    // Root would look into it all the same.
    let may_not = ["--bounding-set=-dac_override,-dac_read_search", "sh", "-c", SAVE, "sh"];
    let mut command = match rustix::process::geteuid().is_root() {
        true => sandbox.command("setpriv"),
        false => sandbox.command("sh"),
    };
    let words = if rustix::process::geteuid().is_root() { &may_not[..] } else { &may_not[2..] };
    let began = sandbox.head();
    let here = sandbox.folder.to_str().unwrap();
    command.args(words).args([here, "refs/carrel/wip/9", &url, began.as_str(), "51200"]);
    let saved = command.output().unwrap();
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let commit = mirror.wip(TaskId::try_from(9).unwrap()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&saved.stdout);
    assert_eq!(said.trim_end(), format!("shut shut\n{commit}"), "and it is said that it is missing");
    let tree = tree_in(&sandbox, &mirror, commit.as_str());
    assert_eq!(tree, "README.md\nbeside.txt\nshut/kept.txt", "what was known of it stays, what is beside it comes");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_saved_is_not_replaced_by_a_desk_whose_repository_is_gone() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let (task, url) = (TaskId::try_from(9).unwrap(), door.url("task-9"));
    let sandbox = room.clone(&url, "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-9"]);
    let began = sandbox.head();
    sandbox.write("precious.txt", "precious\n");
    let head = sandbox.commit("feat: precious");
    let save = [sandbox.folder.to_str().unwrap(), "refs/carrel/wip/9", &url, began.as_str(), "1024"];
    sh(&sandbox, SAVE, &save);

    // Without its repository what is new is saved on top of the commits that were saved before.
    std::fs::remove_dir_all(sandbox.folder.join(".git")).unwrap();
    sandbox.write("later.txt", "later\n");
    let later = sh(&sandbox, SAVE, &save);
    let commit = mirror.wip(task).await.unwrap().unwrap();
    assert_eq!((commit.as_str(), mirror.parent_of(&commit).await.unwrap()), (later.as_str(), Some(head)));
    assert_eq!(tree_in(&sandbox, &mirror, &later), "README.md\nlater.txt\nprecious.txt");

    // Without its files either there is nothing to save.
    for name in ["README.md", "later.txt", "precious.txt"] {
        std::fs::remove_file(sandbox.folder.join(name)).unwrap();
    }
    assert_eq!(sh(&sandbox, SAVE, &save), "");
    assert_eq!(mirror.wip(task).await.unwrap(), Some(commit));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_in_the_middle_of_a_conflict_is_saved_too_and_what_was_saved_can_be_forgotten() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let (url, task) = (door.url("task-7"), TaskId::try_from(7).unwrap());
    let sandbox = room.clone(&url, "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.write("README.md", "theirs\n");
    sandbox.commit("feat: theirs");
    sandbox.git(&["checkout", "-q", "-b", "task-7", "main"]);
    sandbox.write("README.md", "ours\n");
    sandbox.commit("feat: ours");
    assert!(!sandbox.try_git(&["merge", "other"]).status.success());
    let began = work.head().to_string();
    let save = [sandbox.folder.to_str().unwrap(), "refs/carrel/wip/7", &url, &began, "51200"];
    let saved = sh(&sandbox, SAVE, &save);
    assert_eq!(mirror.wip(task).await.unwrap().unwrap().as_str(), saved);
    let file = format!("{saved}:README.md");
    let shown = sandbox.git(&["--git-dir", mirror.path().to_str().unwrap(), "show", &file]);
    assert!(shown.contains("<<<<<<<"), "{shown}");
    assert!(sandbox.git(&["status", "--porcelain"]).starts_with("UU README.md"), "the merge goes on");
    for _ in 0..2 {
        mirror.forget_wip(task).await.unwrap();
        assert_eq!(mirror.wip(task).await.unwrap(), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_repository_is_cloned_without_its_old_files_and_worked_in_like_any_other() {
    let room = Room::open().await;
    let work = room.work("work");
    for number in 0..5 {
        work.write("file.txt", format!("version {number}\n"));
        work.commit(&format!("feat: version {number}"));
    }
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let (url, head) = (door.url("task-9"), work.head().to_string());
    let missing = |much: &str| {
        let desk = Work { folder: room.path(much), home: room.path("home") };
        std::fs::create_dir_all(&desk.folder).unwrap();
        let folder = desk.folder.to_str().unwrap().to_owned();
        sh(&desk, CLONE, &[&folder, &url, "task-9", &head, "Scout", "scout@example.org", "9", much]);
        sh(&desk, CLONE, &[&folder, &url, "task-9", &head, "Scout", "scout@example.org", "9", much]);
        assert_eq!((desk.read("file.txt").as_str(), desk.head().as_str()), ("version 4\n", head.as_str()));
        assert_eq!(desk.git(&["status", "--porcelain"]), "");
        let told = desk.git(&["rev-list", "--objects", "--all", "--missing=print"]);
        (desk, told.lines().filter(|line| line.starts_with('?')).count())
    };
    assert_eq!(missing("whole").1, 0);
    let (desk, without) = missing("blobless");
    assert_eq!(without, 4, "the older versions are not there");
    // They come when somebody asks for them, and work goes on as in any clone.
    assert_eq!(desk.git(&["show", "HEAD~4:file.txt"]), "version 0");
    desk.write("file.txt", "mine\n");
    desk.write("new.txt", "new\n");
    let save = [desk.folder.to_str().unwrap(), "refs/carrel/wip/9", &url, &head, "51200"];
    let saved = sh(&desk, SAVE, &save);
    assert_eq!(tree_in(&desk, &mirror, &saved), "README.md\nfile.txt\nnew.txt");
    let commit = desk.commit("feat: mine");
    desk.git(&["push", "-q", "origin", "task-9"]);
    assert_eq!(mirror.head_of(&"task-9".parse().unwrap()).await.unwrap(), commit);
    mirror.check().await.unwrap();
}
