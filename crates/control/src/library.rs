//! The library: where this node keeps the repositories, and git's part of the house.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use carrel_git::{Git, GitError, Layers, Mirror, Mirrors, Owner};
use carrel_model::{
    CommitId, RepoName,
    repo::{Repo, RepoRules},
};
use carrel_sandbox::{
    ProviderError,
    template::{LayerId, USER_ID},
};

use crate::{Error, house::House, pulls::Hold};

/// The repositories of this node, or why it has none.
pub(crate) struct Library {
    mirrors: Result<Mirrors, String>,
    layers: Result<Layers, String>,
    /// Which one it is, whatever it is called on this machine. It lies beside the mirrors.
    id: Option<String>,
    owner: Option<Owner>,
    /// Held by many who put sandboxes on layers and mirrors, and by one who carries out what nobody stands on.
    pub(crate) standing: tokio::sync::RwLock<()>,
}

impl Library {
    /// Opens it. A machine without git has everything else.
    pub(crate) async fn open(folder: &Path, shared: Option<&Path>) -> Library {
        // Without root there is one user inside, and files are its own as they are.
        let owner = is_root().then_some(Owner { user: USER_ID, group: USER_ID });
        let opened = async {
            let git = Git::open(&folder.join("git")).await?;
            let layers = Layers::open(git.clone(), &folder.join("layers"), owner)?;
            let mirrors = match shared {
                Some(shared) => Mirrors::open_shared(git, &shared.join("mirrors"))?,
                None => Mirrors::open(git, &folder.join("mirrors"))?,
            };
            Ok::<_, GitError>((mirrors, layers))
        };
        let opened = opened.await.map_err(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "there are no repositories on this node");
            format!("this node cannot keep repositories: {error}; install git 2.40 or newer")
        });
        let place = shared.unwrap_or(folder);
        let opened = opened.and_then(|(mirrors, layers)| {
            let named = name_of(place).map_err(|error| {
                tracing::warn!(error = &error as &dyn std::error::Error, "the library cannot be written to");
                format!("this node cannot keep repositories: {} cannot be written to: {error}", place.display())
            });
            named.map(|id| (mirrors, layers, id))
        });
        let (mirrors, layers, id) = match opened {
            Ok((mirrors, layers, id)) => (Ok(mirrors), Ok(layers), Some(id)),
            Err(why) => (Err(why.clone()), Err(why), None),
        };
        Library { mirrors, layers, id, owner, standing: tokio::sync::RwLock::default() }
    }

    /// Which library it is.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The checkouts that sandboxes stand on.
    pub(crate) fn layers(&self) -> Result<&Layers, Error> {
        self.layers.as_ref().map_err(|why| Error::Unavailable { why: why.clone(), source: None })
    }

    /// How providers call a checkout.
    pub(crate) fn layer_id(&self, tree: &CommitId) -> LayerId {
        LayerId::checkout(tree, self.owner.map(|owner| owner.user))
    }

    pub(crate) fn mirrors(&self) -> Result<&Mirrors, Error> {
        self.mirrors.as_ref().map_err(|why| Error::Unavailable { why: why.clone(), source: None })
    }

    pub(crate) async fn mirror(&self, name: &RepoName) -> Result<Mirror, Error> {
        Ok(self.mirrors()?.get(name).await?)
    }
}

/// The name of the library in a folder, drawn by whoever is there first.
fn name_of(folder: &Path) -> std::io::Result<String> {
    let place = folder.join("id");
    let drawn = crate::secret::new_life();
    let draft = folder.join(format!(".id-{drawn}"));
    // Linked into its place when it is whole: two nodes that start at once read the same name.
    let kept = std::fs::read_to_string(&place).or_else(|_| {
        std::fs::write(&draft, format!("{drawn}\n"))?;
        let linked = std::fs::hard_link(&draft, &place);
        let _ = std::fs::remove_file(&draft);
        match linked {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            _ => std::fs::read_to_string(&place),
        }
    })?;
    Ok(kept.trim().to_owned())
}

/// Puts the packs of a mirror together when there are many; one node at a time where several share it.
pub(crate) async fn tend(house: &Arc<House>, mirror: &Mirror) {
    let tended = async {
        let hold = match house.nodes.has_fellows() {
            true => match Hold::try_named(house, &format!("care {}", mirror.name())).await? {
                Some(hold) => Some(hold),
                None => return Ok(()),
            },
            false => None,
        };
        mirror.tend().await?;
        drop(hold);
        Ok::<_, Error>(())
    };
    if let Err(error) = tended.await {
        tracing::warn!(error = &error as &dyn std::error::Error, repo = %mirror.name(), "a mirror was not tended");
    }
}

/// How many layers that nobody stands on are kept for whoever comes next.
const SPARE_LAYERS: usize = 4;

/// Carries out layers and old generations of mirrors that no sandbox and no template needs. Another time when somebody is
/// about to stand on one.
pub(crate) async fn tidy(house: &House) -> Result<(), Error> {
    carry_out(house, SPARE_LAYERS).await.map(drop)
}

/// The same, and says how many went. Nothing when somebody is about to stand on one.
pub(crate) async fn carry_out(house: &House, spare: usize) -> Result<Option<usize>, Error> {
    let (Ok(layers), Ok(mirrors)) = (house.library.layers(), house.library.mirrors()) else { return Ok(Some(0)) };
    let Ok(_alone) = house.library.standing.try_write() else { return Ok(None) };
    // Who stands where is known to the providers alone: without an answer nothing goes.
    let Some(borrowed) = borrowed(house).await? else { return Ok(Some(0)) };
    let (layers, mirrors, alone) = (layers.clone(), mirrors.clone(), house.settings.shared_library.is_none());
    let tidied = tokio::task::spawn_blocking(move || {
        let gone = layers.collect(&borrowed, spare)?;
        // Who stands on a mirror elsewhere is not known here.
        let own = if alone { mirrors.opened() } else { Vec::new() };
        let old = own.iter().map(|mirror| mirror.tidy(&borrowed)).sum::<Result<usize, GitError>>()?;
        Ok::<_, GitError>((gone, old))
    });
    let (gone, old) = tidied.await.map_err(|ended| Error::Internal(Box::new(ended)))??;
    if gone + old > 0 {
        tracing::info!(layers = gone, mirrors = old, "nobody stood on them; carried out");
    }
    Ok(Some(gone + old))
}

/// Every folder that somebody stands on; nothing when there is no provider that could tell.
pub(crate) async fn borrowed(house: &House) -> Result<Option<Vec<PathBuf>>, Error> {
    let mut borrowed = None;
    for post in house.providers.values() {
        if let Some(furnishing) = post.provider.furnishing() {
            let more = furnishing.borrowed().await;
            let away = |error: ProviderError| Error::Unavailable { why: error.to_string(), source: None };
            borrowed.get_or_insert_with(Vec::new).extend(more.map_err(away)?);
        }
    }
    Ok(borrowed)
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// What a push to a repository may bring.
pub(crate) fn content_rules(rules: &RepoRules) -> Result<carrel_git::gateway::ContentRules, Error> {
    use carrel_git::gateway::ContentRules;
    let usual = if rules.allow_secrets { ContentRules::default() } else { ContentRules::usual() };
    Ok(usual.with_paths(&rules.allow_paths, &rules.deny_paths)?)
}

/// How large a push to a repository may be.
pub(crate) fn push_limits(rules: &RepoRules) -> carrel_model::push::PushLimits {
    let usual = carrel_model::push::PushLimits::default();
    let file_bytes = rules.largest_file_mb.map_or(usual.file_bytes, |most| most.get() << 20);
    carrel_model::push::PushLimits { file_bytes, pack_bytes: usual.pack_bytes.max(file_bytes * 2), ..usual }
}

/// Where the default branch of a repository is, as its mirror has it.
pub(crate) async fn look(mirror: &Mirror, repo: &mut Repo) -> Result<(), GitError> {
    let own = mirror.default_branch().await?;
    repo.default_branch = repo.rules.pinned_branch.clone().or(own);
    repo.head = match &repo.default_branch {
        Some(branch) => mirror.find(&branch.full()).await?,
        None => None,
    };
    Ok(())
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Unfit { why } => Error::Conflict { why },
            GitError::Missing { what } => Error::NotFound { what },
            error @ (GitError::Unreachable { .. } | GitError::TimedOut { .. }) => {
                Error::Unavailable { why: error.to_string(), source: None }
            }
            error @ (GitError::Denied { .. }
            | GitError::Moved { .. }
            | GitError::Failed { .. }
            | GitError::Broken { .. }) => Error::Conflict { why: error.to_string() },
            error @ GitError::Io { .. } => Error::Internal(Box::new(error)),
        }
    }
}

impl From<Arc<GitError>> for Error {
    fn from(error: Arc<GitError>) -> Self {
        GitError::clone(&error).into()
    }
}
