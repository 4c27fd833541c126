//! The templates desk: what sandboxes start from.
//!
//! ```text
//! Requested ─► Building ─► Ready
//!                  └─────► Failed     (also what was building when the server ended)
//! ```

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use carrel_envd::Content;
use carrel_model::{
    Action, Grant, ProviderName, Subject, TemplateName,
    audit::{AuditLine, Outcome},
    public::{From as MadeFrom, NewLimits, NewTemplate, TemplateView, limits_in},
    template::{SNAPSHOT, Template, TemplatePhase},
};
use carrel_sandbox::{
    ProviderError,
    template::{Progress, Source, Template as Made},
};
use carrel_store::Stream;
use futures::StreamExt;
use tokio::io::AsyncWriteExt;

use super::{chatter::chatter, see_request};
use crate::{Error, Idempotency, Reader, house::House, nearness, registry::Post, secret::new_exec_id};

/// Makes, shows and forgets templates.
pub struct TemplatesDesk<'h> {
    pub(crate) house: &'h Arc<House>,
}

/// What is uploaded for a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// An image, by `docker save` or in the OCI layout.
    Archive,
    /// A recipe with the files that it copies.
    Recipe,
}

/// A template that was asked for.
#[derive(Debug, Clone)]
pub struct Begun {
    /// As it is now.
    pub template: TemplateView,
    /// The request was made before; this is what it made then.
    pub repeated: bool,
}

/// The template that is always there.
const HOST: &str = "host";

impl TemplatesDesk<'_> {
    /// All templates, by name: those that were made, and those that the providers brought along.
    pub async fn list(&self, grant: &Grant) -> Result<Vec<TemplateView>, Error> {
        self.house.admit(grant, Action::TemplateRead, Subject::House).await?;
        let mut all = BTreeMap::new();
        for post in self.posts() {
            for view in brought_along(post).await {
                all.entry(view.name.clone()).or_insert(view);
            }
        }
        for row in self.house.store.templates().list().await? {
            all.insert(row.name.clone(), TemplateView::from(&row));
        }
        Ok(all.into_values().collect())
    }

    /// Shows one.
    pub async fn get(&self, grant: &Grant, name: &TemplateName) -> Result<TemplateView, Error> {
        self.house.admit(grant, Action::TemplateRead, Subject::Template(name)).await?;
        if let Some(row) = self.house.store.templates().find(name).await? {
            return Ok(TemplateView::from(&row));
        }
        for post in self.posts() {
            if let Some(view) = brought_along(post).await.into_iter().find(|view| view.name == *name) {
                return Ok(view);
            }
        }
        Err(no_template(name))
    }

    /// How much a sandbox on it may use, as far as whoever made it said so.
    pub async fn limits(&self, name: &TemplateName) -> Result<NewLimits, Error> {
        // It is always there, for everybody, and nobody made it.
        if name.as_str() == HOST {
            return Ok(NewLimits::default());
        }
        let row = self.house.store.templates().find(name).await?;
        Ok(row.map(|row| limits_in(&row.source)).unwrap_or_default())
    }

    /// Whether sandboxes of the usual provider can start from it at once.
    pub fn is_ready(&self, name: &TemplateName) -> bool {
        let usual = self.house.providers.get(&self.house.settings.defaults.provider);
        usual.and_then(|post| post.fitness()).is_some_and(|fitness| fitness.templates.contains(name))
    }

    /// Reads how its making went, or goes.
    pub async fn log(&self, grant: &Grant, name: &TemplateName, from: i64) -> Result<Reader, Error> {
        self.house.admit(grant, Action::TemplateRead, Subject::Template(name)).await?;
        let row = self.house.store.templates().find(name).await?.ok_or_else(|| no_template(name))?;
        if self.house.store.transcripts().extent(&row.log).await?.is_none() {
            return Err(Error::NotFound { what: format!("log of the making of `{name}`") });
        }
        Ok(Reader::new(self.house.store.clone(), row.log, None, from))
    }

    /// Asks for a template. It is made whether or not the caller stays, and once for all requests of one name.
    pub async fn make(
        &self,
        grant: &Grant,
        new: NewTemplate,
        idempotency: Option<Idempotency>,
    ) -> Result<Begun, Error> {
        self.house.admit(grant, Action::TemplateMake, Subject::Template(&new.name)).await?;
        let (source, shown) = understand(&new)?;
        self.begin_once(grant, new.name, new.provider, source, shown, None, idempotency).await
    }

    /// Asks for a template from what is uploaded.
    pub async fn make_from(
        &self,
        grant: &Grant,
        name: TemplateName,
        provider: Option<ProviderName>,
        kind: ContentKind,
        recipe: &str,
        content: Content,
    ) -> Result<TemplateView, Error> {
        self.house.admit(grant, Action::TemplateMake, Subject::Template(&name)).await?;
        self.post_for(provider.as_ref())?;
        let folder = self.scratch()?;
        let archive = folder.path().join("content.tar");
        receive(&archive, content).await?;
        let (source, shown) = match kind {
            ContentKind::Archive => (Source::Archive { path: archive }, serde_json::json!({"from": "archive"})),
            ContentKind::Recipe => {
                let context = folder.path().join("context");
                let (from, into, file) = (archive.clone(), context.clone(), recipe.to_owned());
                let text = tokio::task::spawn_blocking(move || unpack(&from, &into, &file)).await;
                let text = text.map_err(|ended| Error::Internal(Box::new(ended)))??;
                let _ = tokio::fs::remove_file(&archive).await;
                let shown = serde_json::json!({"from": "recipe", "recipe": text});
                (Source::Recipe { text, context: Some(context) }, shown)
            }
        };
        self.begin(grant, name, provider, source, shown, Some(folder)).await
    }

    /// Forgets a template. Sandboxes that live on it are not disturbed.
    pub async fn remove(&self, grant: &Grant, name: &TemplateName) -> Result<(), Error> {
        self.house.admit(grant, Action::TemplateRemove, Subject::Template(name)).await?;
        if name.as_str() == HOST {
            return Err(Error::Conflict { why: "the template `host` is always there".into() });
        }
        let row = self.house.store.templates().find(name).await?;
        if row.as_ref().is_some_and(|row| !row.phase.is_settled()) {
            return Err(Error::Conflict { why: format!("the template `{name}` is being made; wait until it is done") });
        }
        let post = match &row {
            Some(row) => self.house.providers.get(&row.provider),
            None => {
                let has = |post: &&Arc<Post>| post.fitness().is_some_and(|fitness| fitness.templates.contains(name));
                Some(self.house.providers.values().find(has).ok_or_else(|| no_template(name))?)
            }
        };
        if let Some(post) = post {
            forget(self.house, post, name).await?;
        }
        let line = AuditLine::by(
            grant,
            Action::TemplateRemove.word(),
            Some(name.to_string()),
            Outcome::Done,
            self.house.store.now(),
        );
        self.house.scribe.audit(line).await;
        Ok(())
    }

    pub(super) async fn begin(
        &self,
        grant: &Grant,
        name: TemplateName,
        provider: Option<ProviderName>,
        source: Source,
        shown: serde_json::Value,
        folder: Option<tempfile::TempDir>,
    ) -> Result<TemplateView, Error> {
        Ok(self.begin_once(grant, name, provider, source, shown, folder, None).await?.template)
    }

    #[allow(clippy::too_many_arguments, reason = "each is a field of one request, and nobody else asks")]
    async fn begin_once(
        &self,
        grant: &Grant,
        name: TemplateName,
        provider: Option<ProviderName>,
        source: Source,
        shown: serde_json::Value,
        folder: Option<tempfile::TempDir>,
        idempotency: Option<Idempotency>,
    ) -> Result<Begun, Error> {
        if name.as_str().starts_with(SNAPSHOT) {
            return Err(Error::field("name", "names that begin with `snapshot/` are for snapshots"));
        }
        if name.as_str() == HOST && !matches!(source, Source::Host) {
            return Err(Error::field("name", "`host` is what this machine has; give yours another name"));
        }
        nearness::refuse_template(grant, &source).await?;
        let post = Arc::clone(self.post_for(provider.as_ref())?);
        let (house, grant) = (Arc::clone(self.house), grant.clone());
        let (provider, asker) = (post.name.clone(), grant.clone());
        let begun = self.house.store.change(move |tx| {
            Box::pin(async move {
                if let Some(earlier) = see_request(tx, &grant, idempotency, name.as_str()).await? {
                    return Ok(Err(earlier));
                }
                let before = tx.lock_template(&name).await?;
                if before.as_ref().is_some_and(|before| !before.phase.is_settled()) {
                    return Err(Error::Conflict { why: format!("the template `{name}` is being made already") });
                }
                let mut template = Template {
                    name,
                    provider,
                    phase: TemplatePhase::Building,
                    source: shown,
                    origin: None,
                    bytes: None,
                    layers: None,
                    memory: false,
                    note: None,
                    log: new_exec_id(),
                    created_by: grant.key.clone(),
                    node: house.settings.node.clone(),
                    created_at: tx.now(),
                    updated_at: tx.now(),
                    ready_at: None,
                    revision: before.map_or(0, |before| before.revision),
                };
                tx.put_template(&mut template).await?;
                let extent = carrel_store::Extent::new(house.settings.transcript_cap);
                tx.extend_transcript(&template.log, &[], extent, false).await?;
                let subject = Some(template.name.to_string());
                tx.audit(&AuditLine::by(&grant, Action::TemplateMake.word(), subject, Outcome::Done, tx.now())).await?;
                Ok::<_, Error>(Ok(template))
            })
        });
        let template = match begun.await? {
            Ok(template) => template,
            Err(earlier) => {
                let name = earlier.parse().map_err(|_| Error::NotFound { what: format!("template {earlier}") })?;
                return Ok(Begun { template: self.get(&asker, &name).await?, repeated: true });
            }
        };
        let view = TemplateView::from(&template);
        let house = Arc::clone(self.house);
        self.house.tasks().spawn(async move {
            let name = template.name.clone();
            let stop = house.stop().clone();
            // What the server's end cuts off is told at the next start.
            if let Some(Err(error)) = stop.run_until_cancelled(build(&house, &post, template, source)).await {
                tracing::warn!(template = %name, error = &error as &dyn std::error::Error, "the end of a making was not kept");
            }
            drop(folder);
        });
        Ok(Begun { template: view, repeated: false })
    }

    /// The providers, the usual one first: where several have a template of one name, it is that one's that is meant.
    fn posts(&self) -> impl Iterator<Item = &Arc<Post>> {
        let usual = &self.house.settings.defaults.provider;
        let others = self.house.providers.values().filter(move |post| post.name != *usual);
        self.house.providers.get(usual).into_iter().chain(others)
    }

    fn post_for(&self, provider: Option<&ProviderName>) -> Result<&Arc<Post>, Error> {
        let post = self.house.post(provider.unwrap_or(&self.house.settings.defaults.provider))?;
        if post.provider.templating().is_none() {
            return Err(Error::Conflict { why: format!("the provider `{}` cannot make templates", post.name) });
        }
        Ok(post)
    }

    pub(super) fn scratch(&self) -> Result<tempfile::TempDir, Error> {
        let made = std::fs::create_dir_all(&self.house.settings.scratch)
            .and_then(|()| tempfile::Builder::new().prefix("template-").tempdir_in(&self.house.settings.scratch));
        made.map_err(no_room)
    }
}

async fn build(house: &Arc<House>, post: &Post, template: Template, source: Source) -> Result<(), Error> {
    let (teller, mut listener) = chatter();
    let progress = Progress::new(move |line| teller.say(line));
    let (store, log) = (house.store.clone(), template.log.clone());
    let writing = async {
        while let Some(text) = listener.next().await {
            let written = store.transcripts().append(&log, Stream::Stdout, text.as_bytes()).await;
            if let Err(error) = written {
                tracing::warn!(error = &error as &dyn std::error::Error, "how a making goes was not written down");
            }
        }
    };
    let making = async {
        let made = match post.provider.templating() {
            Some(templating) => templating.make(&template.name, &source, &progress).await,
            None => Err(ProviderError::Unfit { why: "it cannot make templates".into() }),
        };
        // The last listener goes, and with it the writing.
        drop(progress);
        made
    };
    let (made, ()) = tokio::join!(making, writing);
    match made {
        Ok(made) => finish(house, post, template, made).await.map(drop),
        Err(error) => fail(house, template, format!("It could not be made: {error}.")).await,
    }
}

/// Remembers a template that is made, and lets sandboxes start from it.
pub(crate) async fn finish(house: &House, post: &Post, template: Template, made: Made) -> Result<Template, Error> {
    // The provider says anew what it offers: whoever hears that it is ready may start from it.
    post.probe().await;
    become_ready(house, template, made).await
}

/// Remembers that a template is made.
pub(crate) async fn become_ready(house: &House, template: Template, made: Made) -> Result<Template, Error> {
    settle(house, template, move |template, now| is_made(template, made, now)).await
}

/// What a row says of a template that is made.
pub(super) fn is_made(template: &mut Template, made: Made, now: carrel_model::Timestamp) {
    template.phase = TemplatePhase::Ready;
    template.origin = Some(made.origin);
    template.bytes = Some(made.bytes);
    template.layers = u32::try_from(made.layers.len()).ok();
    template.memory = made.memory;
    template.note = None;
    template.ready_at = Some(now);
}

/// Remembers why a template could not be made.
pub(crate) async fn fail(house: &House, template: Template, why: String) -> Result<(), Error> {
    let line = format!("[carrel: {why}]\n");
    let written = house.store.transcripts().append(&template.log, Stream::Carrel, line.as_bytes()).await;
    if let Err(error) = written {
        tracing::debug!(error = &error as &dyn std::error::Error, "a making has no log");
    }
    let before = still_there(house, &template).await;
    settle(house, template, move |template, _| match before {
        Some(before) => {
            template.phase = TemplatePhase::Ready;
            template.note = Some(format!("The last build failed; the one before it is still there. {why}"));
            template.origin = Some(before.origin);
            template.bytes = Some(before.bytes);
            template.layers = u32::try_from(before.layers.len()).ok();
            template.memory = before.memory;
            template.ready_at = Some(before.made_at);
        }
        None => {
            template.phase = TemplatePhase::Failed;
            template.note = Some(why);
        }
    })
    .await
    .map(drop)
}

/// What the provider still has of an earlier making: sandboxes start from it as before.
async fn still_there(house: &House, template: &Template) -> Option<Made> {
    let templating = house.providers.get(&template.provider)?.provider.templating()?;
    match templating.templates().await {
        Ok(made) => made.into_iter().find(|made| made.name == template.name),
        Err(error) => {
            tracing::warn!(template = %template.name, %error, "whether an earlier one is there is not known");
            None
        }
    }
}

async fn settle(
    house: &House,
    template: Template,
    edit: impl FnOnce(&mut Template, carrel_model::Timestamp) + Send + 'static,
) -> Result<Template, Error> {
    let settled = house.store.change(move |tx| {
        Box::pin(async move {
            let mut template = tx.lock_template(&template.name).await?.unwrap_or(template);
            edit(&mut template, tx.now());
            tx.put_template(&mut template).await?;
            Ok::<_, Error>(template)
        })
    });
    let template = settled.await?;
    if house.store.transcripts().extent(&template.log).await?.is_some() {
        house.store.transcripts().close(&template.log).await?;
    }
    Ok(template)
}

/// Has the provider forget a template, then forgets it too.
pub(crate) async fn forget(house: &House, post: &Post, name: &TemplateName) -> Result<(), Error> {
    if let Some(templating) = post.provider.templating() {
        templating.forget(name).await.map_err(|error| match error {
            ProviderError::Lost => no_template(name),
            other => Error::of_provider(&other, other.to_string()),
        })?;
    } else if house.store.templates().find(name).await?.is_none() {
        return Err(Error::Conflict { why: format!("the template `{name}` belongs to the provider `{}`", post.name) });
    }
    // Providers that share their templates say anew what they offer, too.
    for other in house.providers.values() {
        let had = other.fitness().is_some_and(|fitness| fitness.templates.contains(name));
        if other.name == post.name || had {
            other.probe().await;
        }
    }
    let name = name.clone();
    let forgotten = house.store.change(move |tx| {
        Box::pin(async move {
            if let Some(template) = tx.lock_template(&name).await? {
                tx.remove_template(&template).await?;
            }
            Ok::<_, Error>(())
        })
    });
    forgotten.await
}

/// What was being made when the server ended has failed, and says so.
pub(crate) async fn take_up_former_lives(house: &Arc<House>) -> Result<(), Error> {
    if let Err(error) = std::fs::remove_dir_all(&house.settings.scratch)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "what was uploaded for templates is left behind");
    }
    for template in house.store.templates().unfinished(&house.settings.node).await? {
        fail(house, template, "The server ended while it was being made. Make it again.".into()).await?;
    }
    Ok(())
}

/// The templates that a provider has, whether or not anybody asked for them here.
async fn brought_along(post: &Post) -> Vec<TemplateView> {
    let plain = |name: TemplateName| TemplateView {
        name,
        provider: post.name.clone(),
        phase: TemplatePhase::Ready,
        source: None,
        origin: None,
        bytes: None,
        layers: None,
        memory: false,
        note: None,
        created_by: None,
        created_at: None,
        updated_at: None,
        ready_at: None,
        removed: false,
        revision: 0,
    };
    let mut views: Vec<_> = post
        .fitness()
        .into_iter()
        .flat_map(|fitness| fitness.templates)
        .map(|name| (name.clone(), plain(name)))
        .collect();
    if let Some(templating) = post.provider.templating() {
        match templating.templates().await {
            Ok(made) => {
                for made in made {
                    let view = TemplateView {
                        origin: Some(made.origin),
                        bytes: Some(made.bytes),
                        layers: u32::try_from(made.layers.len()).ok(),
                        memory: made.memory,
                        ready_at: Some(made.made_at),
                        ..plain(made.name.clone())
                    };
                    views.retain(|(name, _)| *name != made.name);
                    views.push((made.name, view));
                }
            }
            Err(error) => tracing::warn!(provider = %post.name, %error, "the provider cannot list its templates"),
        }
    }
    views.into_iter().map(|(_, view)| view).collect()
}

fn understand(new: &NewTemplate) -> Result<(Source, serde_json::Value), Error> {
    let given = |field: &str, text: &Option<String>| {
        let text = text.as_ref().filter(|text| !text.trim().is_empty() && !text.contains('\0'));
        text.cloned().ok_or_else(|| Error::field(field, "expected with what the template is made from"))
    };
    let odd =
        |word: &String| word.is_empty() || word.starts_with('-') || word.contains(|c: char| !c.is_ascii_graphic());
    Ok(match new.from {
        MadeFrom::Host => (Source::Host, serde_json::json!({"from": "host"})),
        MadeFrom::Debian => {
            let suite = new.suite.clone().unwrap_or_else(|| "bookworm".into());
            if odd(&suite) {
                return Err(Error::field("suite", "expected the name of a suite, such as `bookworm`"));
            }
            if new.packages.iter().any(odd) {
                return Err(Error::field("packages", "expected names of packages"));
            }
            let shown = serde_json::json!({"from": "debian", "suite": suite, "packages": new.packages});
            (Source::Debian { suite, packages: new.packages.clone() }, shown)
        }
        MadeFrom::Image => {
            let reference = given("reference", &new.reference)?;
            let login = match (&new.username, &new.password) {
                (Some(user), Some(password)) => Some((user.clone(), password.clone().into())),
                (None, None) => None,
                _ => return Err(Error::field("username", "expected both `username` and `password`, or neither")),
            };
            let shown = serde_json::json!({"from": "image", "reference": reference});
            (Source::Image { reference, login }, shown)
        }
        MadeFrom::Archive => {
            let detail = "an archive is uploaded: `PUT /api/v1/templates/{name}/content?kind=archive`";
            return Err(Error::field("from", detail));
        }
        MadeFrom::Recipe => {
            let text = given("recipe", &new.recipe)?;
            let shown = serde_json::json!({"from": "recipe", "recipe": text});
            (Source::Recipe { text, context: None }, shown)
        }
    })
}

pub(super) async fn receive(place: &PathBuf, mut content: Content) -> Result<(), Error> {
    let mut file = tokio::fs::File::create(place).await.map_err(no_room)?;
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|_| Error::field("body", "the body broke off"))?;
        file.write_all(&piece).await.map_err(no_room)?;
    }
    file.flush().await.map_err(no_room)
}

/// Unpacks a recipe's folder, and reads the recipe. Nothing in it may lead out of the folder.
fn unpack(archive: &PathBuf, context: &PathBuf, recipe: &str) -> Result<String, Error> {
    std::fs::create_dir_all(context).map_err(no_room)?;
    let mut archive = tar::Archive::new(std::fs::File::open(archive).map_err(no_room)?);
    archive.set_preserve_permissions(true);
    let odd =
        |error: std::io::Error| Error::field("body", format!("it is no tar archive that can be unpacked: {error}"));
    archive.unpack(context).map_err(odd)?;
    let inside = std::path::Path::new(recipe);
    let plain = inside.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let text = plain.then(|| context.join(inside)).filter(|path| {
        let (path, root) = (path.canonicalize(), context.canonicalize());
        matches!((path, root), (Ok(path), Ok(root)) if path.starts_with(&root))
    });
    let text = text.and_then(|path| std::fs::read_to_string(path).ok());
    text.ok_or_else(|| Error::field("file", format!("there is no readable `{recipe}` in the archive")))
}

pub(super) fn no_room(error: std::io::Error) -> Error {
    Error::Unavailable { why: format!("what was uploaded cannot be kept: {error}"), source: None }
}

fn no_template(name: &TemplateName) -> Error {
    Error::NotFound { what: format!("template `{name}`") }
}
