//! `carrel backup`: the database first, then the repositories, so that every commit that a row names is there.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use carrel_git::Git;
use carrel_store::Database;
use rustix::fs::{FlockOperation, flock};

use super::{DATABASE, FORMAT, Kept, MANIFEST, MASTER_KEY, Manifest, PLAIN, Repository, Weighed, bundle_name};
use crate::{
    config::{Config, understand},
    data::DataDir,
    failure::{Exit, Failure},
    say, serve,
};

#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// Where to write it; it must not be there yet
    file: PathBuf,
    /// Put the master key into it: whoever has the file can then open every secret
    #[arg(long)]
    with_master_key: bool,
    /// The configuration file [default: carrel.toml in the data directory]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder that all nodes share, as `serve` has it [default: as configured, else in the data directory]
    #[arg(long, value_name = "DIR")]
    library: Option<String>,
}

/// What a backup leaves beside its target while it is made.
const DESK: &str = ".carrel-backup-";

/// Takes away what a backup that was killed left here: nobody holds it any more.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_desk = entry.file_name().to_string_lossy().starts_with(DESK);
        let Ok(held) = File::open(entry.path().join("held")) else { continue };
        if is_desk && flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

type Archive = tar::Builder<zstd::stream::write::Encoder<'static, File>>;

pub(crate) async fn backup(data: &DataDir, args: BackupArgs, json: bool) -> Result<(), Failure> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let config = understand(data, args.config.as_deref(), &[("nodes.library", args.library.clone())])?.config;
    if args.file.exists() {
        return Err(Failure::new(format!("{} is there already", args.file.display())).exit(Exit::Conflict));
    }
    let unwritable = |error: std::io::Error| {
        Failure::new(format!("the backup cannot be written to {}: {error}", args.file.display()))
    };
    let beside = args.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sweep(beside);
    // Everything on its way lies in one folder that goes away with this value, or with the next backup.
    let desk = tempfile::Builder::new().prefix(DESK).tempdir_in(beside).map_err(unwritable)?;
    let desk_path = desk.path().canonicalize().map_err(unwritable)?;
    let held = File::create_new(desk_path.join("held")).map_err(unwritable)?;
    flock(&held, FlockOperation::NonBlockingLockExclusive).map_err(|error| unwritable(error.into()))?;
    let draft = desk_path.join("archive");
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).map_err(unwritable)?;
    let encoder = zstd::stream::write::Encoder::new(file, 3).map_err(unwritable)?;
    let mut archive: Archive = tar::Builder::new(encoder);
    let mut manifest = Manifest {
        format: FORMAT,
        carrel: env!("CARGO_PKG_VERSION").into(),
        made_at: jiff::Timestamp::now(),
        schema: None,
        files: BTreeMap::new(),
        repos: BTreeMap::new(),
    };

    let progress = say::progress("copying the database");
    match serve::database_of(data, &config)? {
        Database::Sqlite(path) => {
            if !path.exists() {
                return Err(Failure::new(format!("there is no database at {}", path.display()))
                    .hint("name the data directory with --data")
                    .exit(Exit::NotFound));
            }
            let copy = desk_path.join(DATABASE);
            manifest.schema = Some(carrel_store::copy_sqlite(&path, &copy).await?);
            put(&mut archive, &mut manifest, DATABASE, &copy).map_err(unwritable)?;
            fs::remove_file(&copy).map_err(unwritable)?;
        }
        Database::Postgres(_) => say::aside(format_args!(
            "carrel: the PostgreSQL schema `{0}` is not in it; before each backup: pg_dump --schema={0} …",
            config.database.schema
        )),
    }
    for name in PLAIN.into_iter().chain(args.with_master_key.then_some(MASTER_KEY)) {
        match put(&mut archive, &mut manifest, name, &data.path().join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound || name == MASTER_KEY => return Err(unwritable(error)),
            _ => {}
        }
    }
    let trouble = |error: carrel_git::GitError| Failure::new(format!("the repositories cannot be copied: {error}"));
    let mirrors = carrel_git::mirrors_in(&mirrors_of(data, &config)?).map_err(trouble)?;
    if !mirrors.is_empty() {
        let git = Git::open(&desk_path.join("git")).await.map_err(trouble)?;
        for (repo, place) in mirrors {
            progress.set_message(format!("copying the repository {repo}"));
            let bundle = desk_path.join("bundle");
            let Some(bundled) = git.bundle(&place, &bundle).await.map_err(trouble)? else { continue };
            put(&mut archive, &mut manifest, &bundle_name(&repo), &bundle).map_err(unwritable)?;
            fs::remove_file(&bundle).map_err(unwritable)?;
            manifest.repos.insert(repo, Repository { head: bundled.head, refs: bundled.refs });
        }
    }
    finish(archive, &manifest).map_err(unwritable)?;
    fs::hard_link(&draft, &args.file).map_err(unwritable)?;
    File::open(beside).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    progress.finish_and_clear();
    report(&args, &manifest, json)
}

/// Where the repositories are. A house that has its checkouts here and no repositories has them elsewhere: a backup without
/// them would be found out when it is needed.
fn mirrors_of(data: &DataDir, config: &Config) -> Result<PathBuf, Failure> {
    let own = data.path().join("library");
    let library = config.shared_library().unwrap_or_else(|| own.clone());
    let mirrors = library.join("mirrors");
    if !mirrors.is_dir() && own.join("layers").is_dir() {
        return Err(Failure::new(format!("there are no repositories in {}", library.display()))
            .hint("name the folder that all nodes share with --library, as for `carrel serve`; is it mounted here?")
            .exit(Exit::NotFound));
    }
    Ok(mirrors)
}

fn put(archive: &mut Archive, manifest: &mut Manifest, name: &str, place: &Path) -> std::io::Result<()> {
    let file = File::open(place)?;
    let size = file.metadata()?.len();
    let mut content = Weighed::new(file);
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o600);
    archive.append_data(&mut header, name, &mut content)?;
    let kept: Kept = content.kept();
    manifest.files.insert(name.to_owned(), kept);
    Ok(())
}

fn finish(mut archive: Archive, manifest: &Manifest) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(manifest)?;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, MANIFEST, text.as_slice())?;
    let mut file = archive.into_inner()?.finish()?;
    file.flush()?;
    file.sync_all()
}

fn report(args: &BackupArgs, manifest: &Manifest, json: bool) -> Result<(), Failure> {
    let size = fs::metadata(&args.file).map_or(0, |about| about.len());
    let refs: usize = manifest.repos.values().map(|repo| repo.refs.len()).sum();
    if json {
        return say::json(&serde_json::json!({
            "file": args.file, "bytes": size, "schema": manifest.schema,
            "repos": manifest.repos.keys().collect::<Vec<_>>(), "refs": refs, "master_key": args.with_master_key,
        }));
    }
    let repos = manifest.repos.len();
    say::line(format_args!("{}  {size} bytes, {repos} repositories with {refs} refs", args.file.display()));
    if !args.with_master_key {
        say::aside(
            "carrel: the master key is not in it; keep `master.key` elsewhere, or no secret opens after a restore",
        );
    }
    Ok(())
}
