//! Layers, and life in a working tree that is an overlay over one.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use carrel_git::{BORROWED, GitError, Identity, Layers, Mirror, Owner, Plan, WORKSPACE, inside::SAVE};
use carrel_model::{Branch, CommitId, TaskId};

use crate::{
    bench::{Door, Room, Work},
    extremes::{COMMIT, import},
};

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Says loudly that a test did not run.
#[allow(clippy::print_stderr, reason = "whoever reads the tests must see it")]
fn needs_root(what: &str) -> bool {
    if !is_root() {
        eprintln!("NOT TESTED without root: {what}");
    }
    is_root()
}

/// A sandbox as far as git is concerned: a mount namespace with the layer under an overlay and the objects beside it.
struct Overlay<'a> {
    room: &'a Room,
    work: Work,
}

impl<'a> Overlay<'a> {
    async fn over(room: &'a Room, mirror: &Mirror, layers: &Layers, commit: &CommitId, origin: &str) -> Overlay<'a> {
        let layer = layers.prepare(mirror, commit).await.unwrap();
        let task = TaskId::try_from(42).unwrap();
        let plan = Plan {
            branch: Branch::of_task(task),
            commit: commit.clone(),
            task: Some(task),
            author: Some(Identity::new("Scout", "scout@example.org").unwrap()),
            origin: origin.to_owned(),
        };
        let seed = mirror.seed(&plan).await.unwrap();
        for name in ["upper", "overlay-work", "merged", "home"] {
            fs::create_dir_all(room.path(name)).unwrap();
        }
        for file in &seed.files {
            let place = room.path("upper").join(&WORKSPACE[1..]).join(&file.path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(&place, &file.content).unwrap();
            if file.runs {
                fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            }
        }
        let mounts = room.path("mounts.sh");
        let lower = layer.folder.display();
        let script = format!(
            "set -eu\nmount -t tmpfs none /run\nmkdir -p {BORROWED}\nmount --bind -o ro {objects} {BORROWED}\n\
             mount -t overlay overlay -o redirect_dir=on,lowerdir={lower},upperdir={up},workdir={work} {merged}\n\
             cd {merged}{WORKSPACE}\nexec \"$@\"\n",
            objects = mirror.objects().display(),
            up = room.path("upper").display(),
            work = room.path("overlay-work").display(),
            merged = room.path("merged").display(),
        );
        fs::write(&mounts, script).unwrap();
        Overlay { room, work: Work { folder: room.path("home"), home: room.path("home") } }
    }

    fn run(&self, program: &[&str]) -> String {
        let mut command = self.work.command("unshare");
        command.args(["--mount", "sh"]).arg(self.room.path("mounts.sh")).args(program);
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn git(&self, args: &[&str]) -> String {
        self.run(&[&["git"], args].concat())
    }

    fn sh(&self, script: &str) -> String {
        self.run(&["sh", "-euc", script])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_behaves_like_an_ordinary_clone() {
    if !needs_root("an overlay over a layer") {
        return;
    }
    let room = Room::open().await;
    let work = room.work("work");
    for number in 0..50 {
        work.write(&format!("src/{number}/file.txt"), format!("{number}\n"));
    }
    std::os::unix::fs::symlink("../README.md", work.folder.join("src/link")).unwrap();
    work.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(work.folder.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let base = work.commit("feat: many files");
    work.git(&["tag", "-a", "v1", "-m", "one"]);
    let mirror = room.mirror_of(&work).await;
    let door = Door::open(&mirror).await;
    let layers = room.layers();
    let desk = Overlay::over(&room, &mirror, &layers, &base, &door.url("task-42")).await;

    // The index is right as it is: nothing has to be read again.
    assert_eq!(desk.git(&["diff-files"]), "");
    assert_eq!(desk.git(&["status", "--porcelain", "--branch"]), "## task-42");
    assert_eq!(
        desk.git(&["-c", "core.checkStat=default", "-c", "core.trustctime=true", "diff-files"]),
        "",
        "to the last fact"
    );
    assert_eq!(desk.git(&["log", "--oneline", "-1", "--format=%s"]), "feat: many files");
    assert_eq!(desk.git(&["rev-parse", "origin/main"]), base.as_str());
    assert_eq!(desk.git(&["rev-parse", "origin/HEAD"]), base.as_str());
    assert_eq!(desk.git(&["describe"]), "v1");

    desk.sh("echo changed > src/7/file.txt; git mv src/8 src/eight; echo new > new.txt; rm run.sh");
    assert_eq!(
        desk.git(&["status", "--porcelain"]),
        "D  run.sh\n M src/7/file.txt\nR  src/8/file.txt -> src/eight/file.txt\n?? new.txt".replace("D  run", " D run")
    );
    desk.git(&["stash", "-q", "-u"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    desk.git(&["stash", "pop", "-q"]);
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "feat: change"]);
    let told = desk.git(&["log", "-1", "--format=%an <%ae>%n%(trailers:key=Carrel-Task)"]);
    assert_eq!(told, "Scout <scout@example.org>\nCarrel-Task: 42");
    desk.git(&["push", "-q"]);
    assert_eq!(mirror.head_of(&"task-42".parse().unwrap()).await.unwrap().as_str(), desk.git(&["rev-parse", "HEAD"]));

    work.write("upstream.txt", "moved on\n");
    let moved = work.commit("feat: moved on");
    mirror.sync(&room.upstream(work.folder.to_str().unwrap())).await.unwrap();
    desk.git(&["fetch", "-q"]);
    assert_eq!(desk.git(&["rev-parse", "origin/main"]), moved.as_str());
    desk.git(&["rebase", "-q", "origin/main"]);
    desk.git(&["push", "-q", "--force"]);
    desk.sh("git worktree add -q ../second -b second && cd ../second && git status --porcelain && git rev-parse HEAD && cd - && git worktree remove ../second");
    desk.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(desk.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
    mirror.repack().await.unwrap();
    assert_eq!(desk.git(&["fsck", "--connectivity-only", "--no-dangling"]), "", "the mirror was packed meanwhile");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    // The layer is as it was.
    assert_eq!(layers.prepare(&mirror, &base).await.unwrap().tree.as_str(), work.git(&["rev-parse", "HEAD~1^{tree}"]));
}

/// `CARREL_TEST_FILES=500000` asks for as many as the worst that we promise to survive: some minutes, and 4 GB of disk. A slow
/// disk takes longer to let go of them than a test has; `TMPDIR=/dev/shm` does not.
#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::print_stdout, reason = "how long it took is written down for docs/reliability.md")]
async fn a_checkout_of_very_many_files_is_laid_out_looked_at_worked_in_and_saved() {
    if !needs_root("a checkout of very many files") {
        return;
    }
    let files: usize = std::env::var("CARREL_TEST_FILES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let room = Room::open().await;
    let work = room.work("work");
    let before = work.head();
    import(&work, |out| {
        writeln!(out, "blob\nmark :1\ndata 2\nx\n").unwrap();
        writeln!(out, "{COMMIT}from {before}").unwrap();
        for number in 0..files {
            writeln!(out, "M 100644 :1 d{}/e{}/f{number}", number / 5000, number / 100).unwrap();
        }
        writeln!(out).unwrap();
    });
    let mirror = room.mirror_of(&work).await;
    let base = mirror.head_of(&"main".parse().unwrap()).await.unwrap();
    let door = Door::open(&mirror).await;
    let (layers, url) = (room.layers(), door.url("task-42"));
    let timed = |what: &str, began: std::time::Instant| {
        println!("{files} files: {what} took {:.2} s", began.elapsed().as_secs_f64());
    };
    let began = std::time::Instant::now();
    let desk = Overlay::over(&room, &mirror, &layers, &base, &url).await;
    timed("the first checkout", began);
    let began = std::time::Instant::now();
    layers.prepare(&mirror, &base).await.unwrap();
    timed("the next one", began);
    let began = std::time::Instant::now();
    assert_eq!(desk.git(&["status", "--porcelain", "--branch"]), "## task-42");
    timed("git status", began);
    desk.sh("echo y >d0/e0/f0; echo new >new.txt; rm d0/e0/f1");
    assert_eq!(desk.git(&["status", "--porcelain"]), " M d0/e0/f0\n D d0/e0/f1\n?? new.txt");

    let folder = format!("{}{WORKSPACE}", room.path("merged").display());
    let save = || desk.run(&["sh", "-c", SAVE, "sh", &folder, "refs/carrel/wip/42", &url, base.as_str(), "51200"]);
    for (what, is_new) in [("the first save", true), ("a save of nothing new", false)] {
        let began = std::time::Instant::now();
        assert_eq!(!save().is_empty(), is_new, "{what}");
        timed(what, began);
    }
    let saved = mirror.wip(TaskId::try_from(42).unwrap()).await.unwrap().unwrap();
    assert_eq!(mirror.changed_files(&base, &saved).await.unwrap(), ["d0/e0/f0", "d0/e0/f1", "new.txt"]);
    let began = std::time::Instant::now();
    desk.sh("git add --all && git commit -qm 'feat: among many' && git push -q origin task-42");
    timed("commit and push", began);
    let head = mirror.head_of(&"task-42".parse().unwrap()).await.unwrap();
    assert_eq!(mirror.changed_files(&base, &head).await.unwrap(), ["d0/e0/f0", "d0/e0/f1", "new.txt"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_is_made_once_for_everybody_and_named_by_its_tree() {
    let room = Room::open().await;
    let work = room.work("work");
    let first = work.head();
    let same = work.commit("chore: the same files");
    let mirror = room.mirror_of(&work).await;
    let layers = room.layers();
    let asks = (0..20).map(|number| {
        let (layers, mirror) = (layers.clone(), mirror.clone());
        let commit = if number % 2 == 0 { first.clone() } else { same.clone() };
        tokio::spawn(async move { layers.prepare(&mirror, &commit).await.unwrap() })
    });
    let mut folders = Vec::new();
    for ask in asks.collect::<Vec<_>>() {
        folders.push(ask.await.unwrap().folder);
    }
    folders.dedup();
    assert_eq!(folders.len(), 1);
    assert_eq!(fs::read_to_string(folders[0].join("workspace/README.md")).unwrap(), "hello\n");
    assert!(matches!(layers.prepare(&mirror, &"0".repeat(40).parse().unwrap()).await, Err(GitError::Missing { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_that_nobody_stands_on_are_collected_oldest_first() {
    let room = Room::open().await;
    let work = room.work("work");
    let mut commits = vec![work.head()];
    for number in 0..3 {
        work.write("file", format!("{number}"));
        commits.push(work.commit("feat: next"));
    }
    let mirror = room.mirror_of(&work).await;
    let layers = room.layers();
    let mut folders = Vec::new();
    for (number, commit) in commits.iter().enumerate() {
        let folder = layers.prepare(&mirror, commit).await.unwrap().folder;
        let used = fs::File::options().write(true).open(folder.parent().unwrap().join("used")).unwrap();
        used.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + number as u64)).unwrap();
        folders.push(folder);
    }
    assert_eq!(layers.collect(&[folders[0].clone()], 1).unwrap(), 2);
    let left: Vec<bool> = folders.iter().map(|folder| folder.exists()).collect();
    assert_eq!(left, [true, false, false, true], "the one in use, and the newest");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_made_layer_of_a_former_life_is_swept() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let tree = work.git(&["rev-parse", "HEAD^{tree}"]);
    let draft = room.path("layers").join(format!("{tree}.draft"));
    fs::create_dir_all(draft.join("root/workspace")).unwrap();
    let layers = room.layers();
    assert!(!draft.exists());
    let layer = layers.prepare(&mirror, &work.head()).await.unwrap();
    assert!(layer.folder.join("workspace/README.md").exists());
}

fn stranger(work: &Work, entries: &str) -> CommitId {
    let mut child = work
        .command("git")
        .arg("mktree")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), entries.as_bytes()).unwrap();
    let tree = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let commit = work.git(&["commit-tree", tree.trim(), "-m", "feat: strange"]);
    work.git(&["branch", "-f", &format!("strange-{}", &commit[..8]), &commit]);
    commit.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_trees_are_refused_or_checked_out_and_nothing_outside_is_touched() {
    let room = Room::open().await;
    let work = room.work("work");
    let outside = room.path("outside");
    fs::write(&outside, "mine").unwrap();
    fs::create_dir(room.path("folder")).unwrap();
    let blob = work.git(&["rev-parse", "HEAD:README.md"]);
    let link = |target: &Path| {
        work.write("target", target.to_str().unwrap());
        work.git(&["hash-object", "-w", "target"])
    };
    let (to_file, to_folder) = (link(&outside), link(&room.path("folder")));
    let dot_git = stranger(&work, &format!("100644 blob {blob}\t.git\n"));
    let fine = stranger(
        &work,
        &format!(
            "100644 blob {blob}\tCASE\n100644 blob {blob}\tcase\n100644 blob {blob}\t-rf\n100644 blob {blob}\t\"new\\nline\"\n\
             120000 blob {to_file}\tlink\n120000 blob {to_folder}\tfolder\n100644 blob {blob}\t\\x\n"
        ),
    );
    let mirror = room.mirror_of(&work).await;
    let before = fs::metadata(&outside).unwrap();
    let owner = is_root().then_some(Owner { user: 4242, group: 4242 });
    let layers = Layers::open(room.git.clone(), &room.path("owned"), owner).unwrap();
    let error = layers.prepare(&mirror, &dot_git).await.unwrap_err();
    assert!(error.to_string().contains(".git"), "{error}");
    assert!(fs::read_dir(room.path("owned")).unwrap().next().is_none(), "nothing is left of it");

    let layer = layers.prepare(&mirror, &fine).await.unwrap();
    let there = layer.folder.join("workspace");
    for name in ["CASE", "case", "-rf", "new\nline", "\\x"] {
        assert_eq!(fs::read_to_string(there.join(name)).unwrap(), "hello\n", "{name:?}");
    }
    assert!(fs::symlink_metadata(there.join("link")).unwrap().is_symlink());
    let after = fs::metadata(&outside).unwrap();
    assert_eq!((before.uid(), before.mtime(), before.ctime()), (after.uid(), after.mtime(), after.ctime()));
    assert_eq!(fs::metadata(room.path("folder")).unwrap().uid(), before.uid());
    if let Some(owner) = owner {
        assert_eq!(fs::symlink_metadata(there.join("link")).unwrap().uid(), owner.user);
        assert_eq!(fs::metadata(there.join(".git/index")).unwrap().uid(), owner.user);
    }
}
