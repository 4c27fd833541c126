//! `carrel restore`: checks everything before anything is in its place, and puts the database there last.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

use carrel_git::{Bundled, Git, Mirrors};
use carrel_model::RepoName;

use super::{DATABASE, FORMAT, Kept, MANIFEST, MASTER_KEY, Manifest, PLAIN, Weighed, bundle_name};
use crate::{
    config::understand,
    data::DataDir,
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// What `carrel backup` wrote
    file: PathBuf,
    /// The folder that all nodes share, for the repositories [default: as its configuration says, else in the data directory]
    #[arg(long, value_name = "DIR")]
    library: Option<String>,
}

/// A manifest that is larger is none of ours.
const LARGEST_MANIFEST: u64 = 256 << 20;
const DRAFT: &str = ".restore";
/// What a shared library holds while its repositories are put in place.
const MIRRORS_DRAFT: &str = ".mirrors-restored";

pub(crate) async fn restore(data: &DataDir, args: RestoreArgs, json: bool) -> Result<(), Failure> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    refuse_unless_empty(data.path())?;
    let archive = File::open(&args.file).map_err(|error| {
        Failure::new(format!("{} cannot be read: {error}", args.file.display())).exit(Exit::NotFound)
    })?;
    data.make()?;
    let _lock = data.lock()?;
    let draft = data.path().join(DRAFT);
    let restored = put_in_place(data, &draft, archive, args.library).await;
    if restored.is_err() {
        let _ = fs::remove_dir_all(data.path().join("library"));
    }
    let _ = fs::remove_dir_all(&draft);
    let (manifest, shared) = restored?;
    if json {
        return say::json(&serde_json::json!({
            "made_at": manifest.made_at, "carrel": manifest.carrel, "repos": manifest.repos.keys().collect::<Vec<_>>(),
        }));
    }
    say::line(format_args!(
        "restored into {}: as of {}, {} repositories",
        data.path().display(),
        manifest.made_at,
        manifest.repos.len()
    ));
    if !manifest.files.contains_key(MASTER_KEY) {
        say::aside("carrel: put `master.key` back beside it before the first start, or set every secret again");
    }
    if let Some(shared) = shared {
        say::aside(format_args!("carrel: its repositories are in {0}: serve it with --library {0}", shared.display()));
    }
    if manifest.schema.is_none() {
        say::aside("carrel: its database is in PostgreSQL: restore the schema there first");
    }
    Ok(())
}

/// An unfinished restore of ours may be there: it is begun again.
fn refuse_unless_empty(data: &Path) -> Result<(), Failure> {
    let known = ["carrel.lock", DRAFT, MASTER_KEY];
    let entries = fs::read_dir(data).into_iter().flatten().flatten();
    // The database comes last: without it, what lies in the library is of a restore that was broken off.
    let is_begun = data.join(DRAFT).exists() && !data.join(DATABASE).exists();
    let foreign = entries.map(|entry| entry.file_name()).find(|name| !known.iter().any(|known| name == *known));
    match foreign {
        Some(name) if !is_begun => Err(Failure::new(format!("{} is not empty: it holds {name:?}", data.display()))
            .hint("restore into a new place with --data; nothing is ever written over a house")
            .exit(Exit::Conflict)),
        _ => Ok(()),
    }
}

async fn put_in_place(
    data: &DataDir,
    draft: &Path,
    archive: File,
    library: Option<String>,
) -> Result<(Manifest, Option<PathBuf>), Failure> {
    let unwritable = |error: std::io::Error| Failure::new(format!("the backup cannot be put in place: {error}"));
    let _ = fs::remove_dir_all(draft);
    let own = data.path().join("library");
    let _ = fs::remove_dir_all(&own);
    fs::create_dir_all(draft.join("mirrors")).map_err(unwritable)?;
    let progress = say::progress("reading the backup");
    let manifest = unpack(draft, archive)?;
    move_in(draft, &manifest).await?;
    // Its own configuration may say where the repositories are to be.
    let config = Some(draft.join("carrel.toml")).filter(|file| file.exists());
    let shared = understand(data, config.as_deref(), &[("nodes.library", library)])?.config.shared_library();
    if let Some(shared) = &shared {
        refuse_unless_free(shared)?;
    }
    let mirrors = shared.as_ref().map_or_else(|| own.join("mirrors"), |shared| shared.join(MIRRORS_DRAFT));
    let laid = lay_out(&own, &mirrors, draft, &manifest, |name| {
        progress.set_message(format!("restoring the repository {name}"));
    });
    if let Err(failure) = laid.await {
        let _ = fs::remove_dir_all(&mirrors);
        return Err(failure);
    }
    if let Some(shared) = &shared {
        // All of them at once: nobody ever sees half a library.
        fs::rename(&mirrors, shared.join("mirrors")).map_err(unwritable)?;
        File::open(shared).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    }
    let data = data.path();
    for name in PLAIN.into_iter().chain([MASTER_KEY, DATABASE]).filter(|name| manifest.files.contains_key(*name)) {
        fs::rename(draft.join(name), data.join(name)).map_err(unwritable)?;
    }
    File::open(data).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    progress.finish_and_clear();
    Ok((manifest, shared))
}

/// A library that holds repositories is somebody's: they may be serving from it.
fn refuse_unless_free(shared: &Path) -> Result<(), Failure> {
    let unwritable = |error: std::io::Error| Failure::new(format!("{} cannot be used: {error}", shared.display()));
    fs::create_dir_all(shared).map_err(unwritable)?;
    let _ = fs::remove_dir_all(shared.join(MIRRORS_DRAFT));
    // An empty folder may be taken away, one with something in it may not.
    match fs::remove_dir(shared.join("mirrors")) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            Err(Failure::new(format!("{} holds repositories already", shared.display()))
                .hint("restore into a new one with --library; nothing is ever written over a house")
                .exit(Exit::Conflict))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// Makes the repositories from their bundles.
async fn lay_out(
    own: &Path,
    mirrors: &Path,
    draft: &Path,
    manifest: &Manifest,
    tell: impl Fn(&RepoName),
) -> Result<(), Failure> {
    let trouble = |error: carrel_git::GitError| damaged(format!("a repository cannot be restored: {error}"));
    fs::create_dir_all(mirrors).map_err(|error| damaged(error.to_string()))?;
    if manifest.repos.is_empty() {
        return Ok(());
    }
    let git = Git::open(&own.join("git")).await.map_err(trouble)?;
    let mirrors = Mirrors::open(git, mirrors).map_err(trouble)?;
    let draft = draft.canonicalize().map_err(|error| damaged(error.to_string()))?;
    for (name, repo) in &manifest.repos {
        tell(name);
        let bundled = Bundled { refs: repo.refs.clone(), head: repo.head.clone() };
        let mirror = mirrors.get(name).await.map_err(trouble)?;
        mirror.unbundle(&draft.join(bundle_name(name)), &bundled).await.map_err(trouble)?;
    }
    Ok(())
}

/// Gives the house a name of its own: the one it was copied from may still be alive, on this machine even, and a name
/// is whose sandboxes they are. What stood at home there stands at home here, and is not found.
async fn move_in(draft: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let Some(schema) = manifest.schema else { return Ok(()) };
    if schema > carrel_store::newest_schema() {
        let hint = format!("restore it with the Carrel that made it ({}), or a newer one", manifest.carrel);
        return Err(Failure::new("the backup was made by a newer Carrel").hint(hint));
    }
    let place = draft.join("node");
    let former = fs::read_to_string(&place).ok().and_then(|text| text.trim().parse().ok());
    let Some(former) = former else { return Err(damaged("it does not say which node it is".into())) };
    let node = carrel_control::new_node_id();
    let found = carrel_store::rehome_sqlite(&draft.join(DATABASE), &former, &node).await;
    let found = found.map_err(|error| damaged(format!("its database cannot be opened: {error}")))?;
    if found != schema {
        return Err(damaged("its database is not the one that its manifest names".into()));
    }
    fs::write(&place, format!("{node}\n")).map_err(|error| damaged(error.to_string()))
}

fn damaged(why: String) -> Failure {
    Failure::new(format!("this is no whole backup: {why}")).hint("nothing was put in place; try another copy")
}

/// Takes the files out, and compares them with the manifest, which is the last.
fn unpack(draft: &Path, archive: File) -> Result<Manifest, Failure> {
    // Only what comes from the archive is the archive's fault.
    let read = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::PermissionDenied => {
            Failure::new(format!("the backup cannot be put in place: {error}"))
                .hint("the backup may well be whole; make room, or restore elsewhere with --data")
        }
        _ => damaged(error.to_string()),
    };
    let plain = zstd::stream::read::Decoder::new(BufReader::new(archive)).map_err(read)?;
    let mut archive = tar::Archive::new(plain);
    let mut found: BTreeMap<String, Kept> = BTreeMap::new();
    for entry in archive.entries().map_err(read)? {
        let mut entry = entry.map_err(read)?;
        let name = entry.path().map_err(read)?.to_str().unwrap_or_default().to_owned();
        if name == MANIFEST {
            let mut text = Vec::new();
            entry.take(LARGEST_MANIFEST).read_to_end(&mut text).map_err(read)?;
            let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
            if manifest.format != FORMAT {
                let sentence = format!("the backup has the format {}; this Carrel reads {FORMAT}", manifest.format);
                return Err(Failure::new(sentence).hint("restore it with the Carrel that made it, or a newer one"));
            }
            let has_bundles = manifest.repos.keys().all(|repo| found.contains_key(&bundle_name(repo)));
            if found != manifest.files || !has_bundles || manifest.schema.is_some() != found.contains_key(DATABASE) {
                return Err(damaged("its content is not what its manifest says".into()));
            }
            return Ok(manifest);
        }
        if !is_ours(&name) || !entry.header().entry_type().is_file() {
            return Err(damaged(format!("it holds `{}`", say::printable(&name))));
        }
        let file = File::create_new(draft.join(&name)).map_err(read)?;
        let mut file = Weighed::new(file);
        std::io::copy(&mut entry, &mut file).and_then(|_| file.flush()).map_err(read)?;
        file.inner.sync_all().map_err(read)?;
        found.insert(name, file.kept());
    }
    Err(damaged("its end is missing".into()))
}

fn is_ours(name: &str) -> bool {
    let repo = name.strip_prefix("mirrors/").and_then(|name| name.strip_suffix(".bundle"));
    repo.is_some_and(|name| name.parse::<RepoName>().is_ok())
        || PLAIN.contains(&name)
        || [DATABASE, MASTER_KEY].contains(&name)
}
