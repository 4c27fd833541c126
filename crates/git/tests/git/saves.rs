//! Work in progress is saved, and nobody is disturbed.

use carrel_git::{
    Mirror,
    inside::{RESTORE, SAVE},
    wip::save_folder,
};
use carrel_model::TaskId;

use crate::bench::{Door, Room, Work};

fn sh(work: &Work, script: &str, args: &[&str]) -> String {
    let output = work.command("sh").args(["-c", script, "sh"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
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

fn tree_of(work: &Work, commit: &str) -> String {
    work.git(&["ls-tree", "-r", "--name-only", commit])
}

/// The same, as the mirror has it.
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
async fn work_with_a_secret_or_a_huge_file_is_saved_and_still_not_let_into_a_branch() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-8"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-8"]);
    sandbox.write("prod.env", format!("KEY=AKIA{}\n", "Z7QXM3RTPLK2WV5N"));
    sandbox.commit("feat: configure");
    sandbox.write("later.txt", "later\n");
    std::fs::File::create(sandbox.folder.join("huge.bin")).unwrap().set_len(60 << 20).unwrap();
    let saved =
        sh(&sandbox, SAVE, &[sandbox.folder.to_str().unwrap(), "refs/carrel/wip/8", &door.url("task-8"), "", "51200"]);
    assert_eq!(tree_in(&sandbox, &mirror, &saved), "README.md\nlater.txt\nprod.env");
    let said = sandbox.refused(&["push", "origin", "task-8"]);
    assert!(said.contains("(it holds a secret)"), "what was saved was not looked through: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_the_host_is_saved_the_same_way() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let task = TaskId::try_from(6).unwrap();
    disarray(&work);
    let (status, index) =
        (work.git(&["status", "--porcelain"]), std::fs::read(work.folder.join(".git/index")).unwrap());
    let saved = save_folder(&room.git, &work.folder, &mirror, task).await.unwrap().unwrap();
    assert_eq!(mirror.wip(task).await.unwrap(), Some(saved.clone()));
    assert_eq!(std::fs::read(work.folder.join(".git/index")).unwrap(), index);
    assert_eq!(work.git(&["status", "--porcelain"]), status);
    assert_eq!(tree_of(&work, saved.as_str()), SAVED);
    assert_eq!(save_folder(&room.git, &work.folder, &mirror, task).await.unwrap(), None);
    work.write("later", "x");
    assert!(save_folder(&room.git, &work.folder, &mirror, task).await.unwrap().is_some());
    mirror.check().await.unwrap();
    mirror.forget_wip(task).await.unwrap();
    mirror.forget_wip(task).await.unwrap();
    assert_eq!(mirror.wip(task).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_in_the_middle_of_a_conflict_is_saved_too() {
    let room = Room::open().await;
    let work = room.work("work");
    work.git(&["checkout", "-q", "-b", "other"]);
    work.write("README.md", "theirs\n");
    work.commit("feat: theirs");
    work.git(&["checkout", "-q", "main"]);
    work.write("README.md", "ours\n");
    work.commit("feat: ours");
    let mirror = room.mirror_of(&work).await;
    assert!(!work.try_git(&["merge", "other"]).status.success());
    let task = TaskId::try_from(7).unwrap();
    let saved = save_folder(&room.git, &work.folder, &mirror, task).await.unwrap().unwrap();
    assert!(work.git(&["show", &format!("{saved}:README.md")]).contains("<<<<<<<"));
    assert!(work.git(&["status", "--porcelain"]).starts_with("UU README.md"), "the merge goes on");
}
