//! `clone`: time to a working tree that is ready, against what git itself offers.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use carrel_git::{Git, Layers, Mirror, Mirrors, Plan, Upstream, WORKSPACE};
use carrel_model::{Branch, CommitId};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{backend, git, repository, timed};
use crate::{
    Outcome, desk,
    report::{self, Measure, Unit},
};

/// How often a working tree of ours is laid out in each round.
const TRIES: usize = 5;

/// Measures and reports, for a small repository and a large one, to see whether size matters.
pub(crate) async fn measure(quick: bool) -> Outcome<()> {
    if !rustix::process::geteuid().is_root() {
        return report::line("\nclone: not measured: mounting needs root").map_err(Into::into);
    }
    let sizes: &[(usize, usize)] = if quick { &[(500, 5 << 20)] } else { &[(1000, 10 << 20), (50_000, 500 << 20)] };
    for (files, bytes) in sizes {
        // A large one takes minutes by itself.
        one_size(*files, *bytes, if quick || *files > 10_000 { 1 } else { 3 }).await?;
    }
    Ok(())
}

async fn one_size(files: usize, bytes: usize, rounds: usize) -> Outcome<()> {
    let place = tempfile::Builder::new().prefix("carrel-bench-git.").tempdir()?;
    let folder = place.path();
    let work = repository(folder, files, bytes)?;
    git(folder, &["clone", "-q", "--bare", "work", "peer.git"])?;
    let program = Git::open(&folder.join("git")).await?;
    let mirror = Mirrors::open(program.clone(), &folder.join("mirrors"))?.get(&"bench".parse()?).await?;
    let upstream = Upstream::new(work.to_string_lossy().parse()?, None);
    mirror.sync(&upstream).await?;
    let layers = Layers::open(program, &folder.join("layers"), None)?;
    let commit = mirror.head_of(&"main".parse()?).await?;
    let began = Instant::now();
    layers.prepare(&mirror, &commit).await?;
    let prepared = began.elapsed();
    let server = backend::serve(folder.to_owned()).await?;

    let http = Measure::new("against git clone over http", Unit::Microseconds).aim("500× faster, under 20 ms");
    let shared = Measure::new("against git clone --shared", Unit::Microseconds);
    let tree = Measure::new("against git worktree add", Unit::Microseconds).aim("100× faster");
    let first = Measure::new("first git status, against a clone's", Unit::Microseconds).aim("1×");
    let second = Measure::new("second git status", Unit::Microseconds).aim("1×");
    // What the kernel takes for files that lie under an overlay, whoever laid them there.
    let overlaid = Measure::new("second git status, against a clone's under overlayfs", Unit::Microseconds).aim("1×");
    let (mut http, mut shared, mut tree, mut first, mut second) = (http, shared, tree, first, second);
    let mut overlaid = overlaid;
    let mut last = (0.0, 0.0);
    for round in 0..rounds {
        let url = format!("http://{server}/peer.git");
        let name = format!("clone-{round}");
        let cloned = tokio::task::block_in_place(|| timed(|| git(folder, &["clone", "-q", &url, &name])))?;
        let (borrowed, added) = (format!("shared-{round}"), format!("../tree-{round}"));
        let by_sharing = timed(|| git(folder, &["clone", "-q", "--shared", "peer.git", &borrowed]))?;
        let by_adding = timed(|| git(&folder.join("peer.git"), &["worktree", "add", "-q", "--detach", &added]))?;

        // It takes so little that one try says little: the middle one of several counts.
        let mut tries = Vec::new();
        for number in 0..TRIES {
            let place = folder.join(format!("ours-{round}-{number}"));
            tries.push(Laid::out(&layers, &mirror, &commit, &url, &place).await?);
        }
        tries.sort_by(|one, other| one.took.total_cmp(&other.took));
        let ready = tries[TRIES / 2].took;
        let looked = look(&tries[0].place.join(&WORKSPACE[1..]), &mirror.objects(), &folder.join(&name))?;
        last = (cloned, by_adding);
        http.note(ready, cloned);
        shared.note(ready, by_sharing);
        tree.note(ready, by_adding);
        first.note(looked[0].0, looked[0].1);
        second.note(looked[1].0, looked[1].1);
        let under = Laid::over(&folder.join(&name), &folder.join(format!("under-{round}")))?;
        let under = look(&under.place, &mirror.objects(), &under.place)?;
        overlaid.note(looked[1].0, under[1].1);
    }
    let title = format!(
        "clone: {files} files, {} MB: a ready working tree over a layer (made once, in {:.1} s)",
        bytes >> 20,
        prepared.as_secs_f64()
    );
    report::table(&title, &[http, shared, tree, first, second, overlaid])?;
    desk::checkout::measure(&work, if rounds == 1 { 10 } else { 20 }, last.0, last.1).await
}

/// A working tree as a sandbox gets it. It is taken away when it is dropped.
struct Laid {
    place: PathBuf,
    took: f64,
}

impl Laid {
    async fn out(layers: &Layers, mirror: &Mirror, commit: &CommitId, origin: &str, place: &Path) -> Outcome<Laid> {
        let began = Instant::now();
        let layer = layers.prepare(mirror, commit).await?;
        let plan = Plan {
            branch: Branch::of_task(1.try_into()?),
            commit: commit.clone(),
            task: Some(1.try_into()?),
            author: None,
            origin: origin.to_owned(),
        };
        let seed = mirror.seed(&plan).await?;
        for file in &seed.files {
            let place = place.join("upper").join(&WORKSPACE[1..]).join(&file.path);
            std::fs::create_dir_all(place.parent().ok_or("no folder")?)?;
            std::fs::write(place, &file.content)?;
        }
        let mut laid = Laid::over(&layer.folder, place)?;
        laid.took = began.elapsed().as_secs_f64() * 1e6;
        Ok(laid)
    }

    /// An overlay over a folder.
    fn over(lower: &Path, place: &Path) -> Outcome<Laid> {
        let (upper, over, merged) = (place.join("upper"), place.join("over"), place.join("merged"));
        for folder in [&upper, &over, &merged] {
            std::fs::create_dir_all(folder)?;
        }
        let (lower, upper, over) = (lower.display(), upper.display(), over.display());
        let options = format!("redirect_dir=on,lowerdir={lower},upperdir={upper},workdir={over}");
        mount("overlay", &merged, "overlay", MountFlags::empty(), Some(std::ffi::CString::new(options)?.as_c_str()))?;
        Ok(Laid { place: merged, took: 0.0 })
    }
}

impl Drop for Laid {
    fn drop(&mut self) {
        let _ = unmount(&self.place, UnmountFlags::DETACH);
    }
}

/// The first and the second look at both working trees.
fn look(ours: &Path, objects: &Path, theirs: &Path) -> Outcome<[(f64, f64); 2]> {
    let status = |folder: &Path| -> Outcome<f64> {
        timed(|| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "safe.directory=*", "status", "--porcelain"]).current_dir(folder);
            // Where the sandbox's own mount would show them.
            command.env("HOME", "/nonexistent").env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
            let output = command.output()?;
            match output.status.success() && output.stdout.is_empty() {
                true => Ok(()),
                false => Err(format!("git status: {}", String::from_utf8_lossy(&output.stderr)).into()),
            }
        })
    };
    Ok([(status(ours)?, status(theirs)?), (status(ours)?, status(theirs)?)])
}
