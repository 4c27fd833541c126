//! A repository within the repository: its files are saved, and it never arrives as a name that nobody has. The same for
//! files that are elsewhere.

use carrel_git::{
    gateway::ContentRules,
    inside::{COMMIT, SAVE},
};
use carrel_model::TaskId;

use crate::bench::{Door, DoorPlan, Room, Work};

/// A repository in a folder of another one.
fn within(work: &Work, path: &str, files: &[(&str, &str)]) -> Work {
    let inner = Work { folder: work.folder.join(path), home: work.home.clone() };
    std::fs::create_dir_all(&inner.folder).unwrap();
    inner.git(&["init", "-q", "-b", "main", "."]);
    files.iter().for_each(|(name, text)| inner.write(name, text));
    inner
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_of_a_repository_within_the_repository_are_saved_and_its_name_alone_is_refused() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-5"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-5"]);
    sandbox.write(".gitignore", "vendored/\n");
    let began = sandbox.commit("chore: ignore what is vendored").to_string();
    sandbox.git(&["push", "-q", "origin", "task-5"]);
    within(
        &sandbox,
        "lib dir",
        &[("one.txt", "1"), (".gitignore", "*.log\n"), ("noise.log", "x"), ("deep/two.txt", "2")],
    )
    .commit("feat: a library");
    within(&sandbox, "lib dir/inner", &[("three.txt", "3")]).commit("feat: within");
    within(&sandbox, "empty of commits", &[("four.txt", "4")]);
    within(&sandbox, "vendored/thing", &[("five.txt", "5")]).commit("feat: ignored");

    let folder = sandbox.folder.to_str().unwrap();
    let url = door.url("task-5");
    let run =
        |script: &str, args: &[&str]| sandbox.command("sh").args(["-c", script, "sh"]).args(args).output().unwrap();
    let saved = run(SAVE, &[folder, "refs/carrel/wip/5", &url, &began, "51200"]);
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let commit = mirror.wip(TaskId::try_from(5).unwrap()).await.unwrap().unwrap();
    let mirrored = Work { folder: mirror.path(), home: sandbox.home.clone() };
    assert_eq!(
        mirrored.git(&["ls-tree", "-r", "--name-only", commit.as_str()]),
        ".gitignore\nREADME.md\nempty of commits/four.txt\nlib dir/.gitignore\nlib dir/deep/two.txt\n\
         lib dir/inner/three.txt\nlib dir/one.txt"
    );
    let again = run(SAVE, &[folder, "refs/carrel/wip/5", &url, &began, "51200"]);
    assert!(again.status.success() && again.stdout.is_empty(), "nothing is new");

    // The house commits nothing half, and says what to do; the tree is as it was.
    let before = sandbox.git(&["status", "--porcelain"]);
    let refused = run(COMMIT, &[folder, "task-5", &url, &began, "A", "a@b", "feat: all"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(67), "{said}");
    assert!(said.contains("a git repository stands within the repository: "), "{said}");
    assert!(["lib dir", "empty of commits"].iter().all(|name| said.contains(name)), "{said}");
    assert!(!said.contains("vendored"), "{said}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);

    // An agent that commits it by itself is told by the gateway.
    std::fs::remove_dir_all(sandbox.folder.join("empty of commits/.git")).unwrap();
    sandbox.commit("feat: a library");
    let said = sandbox.refused(&["push", "origin", "task-5"]);
    assert!(said.contains("remote: lib dir in commit"), "{said}");
    assert!(said.contains("is a git repository of its own") && said.contains("Remove lib dir/.git"), "{said}");
    for nested in ["lib dir", "lib dir/inner"] {
        std::fs::remove_dir_all(sandbox.folder.join(nested).join(".git")).unwrap();
    }
    sandbox.git(&["rm", "-q", "--cached", "lib dir"]);
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "-q", "--amend", "-m", "feat: a library"]);
    sandbox.git(&["push", "-q", "origin", "task-5"]);
    assert_eq!(mirrored.git(&["show", "task-5:lib dir/inner/three.txt"]), "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_has_nothing_in_common_with_this_one_does_not_come_in() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let rules = ContentRules::usual().with_root(work.head());
    let door = Door::with(&mirror, DoorPlan { rules, ..DoorPlan::default() }).await;
    let sandbox = room.clone(&door.url("task-5"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "--orphan", "task-5"]);
    sandbox.write("other.txt", "other\n");
    sandbox.commit("feat: begin anew");
    let said = sandbox.refused(&["push", "origin", "task-5"]);
    assert!(
        said.contains("has nothing in common with this repository's") && said.contains("git rebase --root"),
        "{said}"
    );
    assert!(said.contains("(another history)"), "{said}");
    // A stranger's history that is merged into ours is ours.
    sandbox.git(&["checkout", "-q", "-b", "joined", "origin/main"]);
    sandbox.git(&["merge", "-q", "--allow-unrelated-histories", "-s", "ours", "-m", "feat: join", "task-5"]);
    sandbox.git(&["push", "-q", "origin", "joined:task-5"]);
    assert_eq!(mirror.head_of(&"task-5".parse().unwrap()).await.unwrap(), sandbox.head());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_would_be_pointers_do_not_come_in_and_what_only_speaks_of_them_does() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let sandbox = room.clone(&door.url("task-5"), "sandbox", &[]);
    sandbox.git(&["checkout", "-q", "-b", "task-5"]);
    sandbox.write("docs/notes.md", "*.bin filter=lfs is what we do not use\n");
    sandbox.write(".gitattributes", "# filter=lfs is not used here\n*.sh text eol=lf\n");
    sandbox.commit("docs: notes");
    sandbox.git(&["push", "-q", "origin", "task-5"]);
    sandbox.write("assets/.gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.write("assets/large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    sandbox.commit("feat: an asset");
    let said = sandbox.refused(&["push", "origin", "task-5"]);
    assert!(said.contains("remote: assets/.gitattributes in commit") && said.contains("Git LFS"), "{said}");
    assert!(said.contains("(files in Git LFS)"), "{said}");
    // Taken out again by a later commit, there is nothing to miss.
    sandbox.git(&["rm", "-q", "-r", "assets"]);
    sandbox.commit("feat: none after all");
    sandbox.git(&["push", "-q", "origin", "task-5"]);
    assert_eq!(mirror.head_of(&"task-5".parse().unwrap()).await.unwrap(), sandbox.head());
}
