//! `carrel df`: what this house takes on disk, and of what kind it is. It looks and changes nothing.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::{cli::FileArgs, config::understand, data::DataDir, failure::Failure, say};

/// One kind of thing.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Share {
    what: &'static str,
    /// How many there are, where they can be counted.
    items: Option<usize>,
    bytes: u64,
    /// What makes it smaller.
    smaller: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Disk {
    pub(crate) shares: Vec<Share>,
    pub(crate) total: u64,
    pub(crate) free: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DfArgs {
    #[command(flatten)]
    config: FileArgs,
    /// The folder that all nodes share, as `serve` has it [default: as configured, else in the data directory]
    #[arg(long, value_name = "DIR")]
    library: Option<String>,
}

pub(crate) fn df(data: &DataDir, args: DfArgs, json: bool) -> Result<(), Failure> {
    let config = understand(data, args.config.config.as_deref(), &[("nodes.library", args.library)])?.config;
    let disk = measure(data.path(), config.shared_library().as_deref())?;
    if json {
        return say::json(&disk);
    }
    let rows = disk.shares.iter().map(|share| {
        let items = share.items.map_or_else(String::new, |items| items.to_string());
        vec![share.what.to_owned(), items, readable(share.bytes), share.smaller.to_owned()]
    });
    say::table(&["WHAT", "ITEMS", "SIZE", "SMALLER BY"], rows);
    say::line(format_args!("{} in all, {} free beside it", readable(disk.total), readable(disk.free)));
    Ok(())
}

/// Sizes are those of the blocks that files take; what several names share is counted once.
pub(crate) fn measure(data: &Path, shared: Option<&Path>) -> Result<Disk, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("{} cannot be looked at: {error}", data.display()));
    fs::metadata(data).map_err(unreadable)?;
    let local = data.join("local");
    // In an image, or in the folder itself.
    let slots = if local.join("disk/slots").is_dir() { local.join("disk") } else { local.clone() };
    let library = data.join("library");
    let mut seen = HashSet::new();
    let mut share = |what, folders: Vec<PathBuf>, counted: bool, smaller| {
        let items = counted.then(|| folders.iter().map(|folder| count(folder)).sum());
        let bytes = folders.iter().map(|folder| weigh(folder, &mut seen)).sum();
        Share { what, items, bytes, smaller }
    };
    let database = ["carrel.db", "carrel.db-wal", "carrel.db-shm"].map(|name| data.join(name)).into();
    let oci = data.join("oci");
    let mut shares = vec![
        share("database", database, false, "retention.*"),
        share("repositories", vec![shared.unwrap_or(&library).join("mirrors")], true, "carrel repo rm"),
        share("checkouts", vec![library.join("layers")], true, "by themselves, when nobody stands on them"),
        share("sandboxes", vec![slots.join("slots"), oci.join("slots")], true, "carrel sandbox rm"),
        share("stored memory", vec![slots.join("memory")], true, "carrel sandbox resume, rm"),
        share("templates", vec![slots.join("templates")], true, "carrel template rm"),
        share("on its way out", vec![slots.join("trash"), slots.join("drafts"), oci.join("trash")], true, "a restart"),
        share("volumes", vec![data.join("volumes")], true, "Volume.destroy"),
    ];
    let image = share("disk of sandboxes", vec![local.join("disk.img")], false, "carrel sandbox rm");
    shares.push(share("the rest", vec![data.to_owned()], false, ""));
    // Where the image is mounted, what is in it was counted above.
    if !local.join("disk/slots").is_dir() && image.bytes > 0 {
        shares.push(image);
    }
    let total = shares.iter().map(|share| share.bytes).sum();
    let free = rustix::fs::statvfs(data).map_or(0, |about| about.f_bavail * about.f_frsize);
    Ok(Disk { shares, total, free })
}

fn count(folder: &Path) -> usize {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).count()
}

fn weigh(place: &Path, seen: &mut HashSet<(u64, u64)>) -> u64 {
    let mut bytes = 0;
    let mut waiting = vec![place.to_owned()];
    while let Some(place) = waiting.pop() {
        let Ok(about) = fs::symlink_metadata(&place) else { continue };
        if !seen.insert((about.dev(), about.ino())) {
            continue;
        }
        bytes += about.blocks() * 512;
        if about.is_dir() {
            waiting.extend(fs::read_dir(&place).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
    bytes
}

fn readable(bytes: u64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_counted_once_and_under_its_name() {
        let data = tempfile::tempdir().unwrap();
        let place = |name: &str| data.path().join(name);
        for folder in ["library/mirrors/own/1.git", "local/slots/a", "local/slots/b", "elsewhere"] {
            fs::create_dir_all(place(folder)).unwrap();
        }
        fs::write(place("carrel.db"), vec![1; 100_000]).unwrap();
        fs::write(place("local/slots/a/file"), vec![1; 300_000]).unwrap();
        fs::hard_link(place("local/slots/a/file"), place("local/slots/b/same")).unwrap();
        fs::write(place("elsewhere/file"), vec![1; 50_000]).unwrap();
        let disk = measure(data.path(), None).unwrap();
        let find = |what| disk.shares.iter().find(|share| share.what == what).unwrap();
        assert!((100_000..200_000).contains(&find("database").bytes), "{disk:?}");
        assert!((300_000..400_000).contains(&find("sandboxes").bytes), "{disk:?}");
        assert_eq!((find("sandboxes").items, find("repositories").items), (Some(2), Some(1)));
        assert!((50_000..100_000).contains(&find("the rest").bytes), "{disk:?}");
        assert_eq!(disk.total, disk.shares.iter().map(|share| share.bytes).sum::<u64>());
        let shared = tempfile::tempdir().unwrap();
        fs::create_dir_all(shared.path().join("mirrors/theirs/1.git")).unwrap();
        fs::write(shared.path().join("mirrors/theirs/1.git/pack"), vec![1; 700_000]).unwrap();
        let disk = measure(data.path(), Some(shared.path())).unwrap();
        let repos = disk.shares.iter().find(|share| share.what == "repositories").unwrap();
        assert!((700_000..800_000).contains(&repos.bytes) && repos.items == Some(1), "{disk:?}");
        assert_eq!((readable(999), readable(1_234_000)), ("999 B".to_owned(), "1.2 MB".to_owned()));
    }
}
