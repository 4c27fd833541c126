//! Making templates here: the shelves do the work, and recipes run their steps in sandboxes of this provider.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use carrel_envd::{Envd, EnvdError, Event, Init, Start};
use carrel_model::{
    TemplateName,
    sandbox::{Limits, Network, NetworkMode},
};
use futures::StreamExt;
use jiff::Timestamp;
use secrecy::SecretString;

use super::{
    Inner, Local, aside,
    desk::{Desk, Place},
    finish,
    slot::unavailable,
};
use crate::{
    ProviderError, Templating,
    providers::common::surroundings,
    template::{
        self, Config, LayerId, Progress, Source, Template, TemplateError,
        recipe::{self, Bench, Caching, Errand, Order, Shell, Workbench},
    },
};

#[async_trait]
impl Templating for Local {
    async fn templates(&self) -> Result<Vec<Template>, ProviderError> {
        self.inner.yard.shelves.templates().map_err(|error| unavailable("list the templates", &error))
    }

    async fn make(&self, name: &TemplateName, source: &Source, progress: &Progress) -> Result<Template, ProviderError> {
        let makings = &self.inner.makings;
        let (inner, name, source) = (Arc::clone(&self.inner), name.clone(), source.clone());
        let progress = makings.accompany(progress);
        finish(makings.spawn(async move { Ok(inner.make_template(&name, &source, &progress).await?) })).await
    }

    async fn forget(&self, name: &TemplateName) -> Result<(), ProviderError> {
        let trouble = |error: std::io::Error| unavailable("forget the template", &error);
        let known = self.inner.yard.shelves.find(name).map_err(trouble)?;
        self.inner.yard.shelves.forget(name).map_err(trouble)?;
        self.inner.let_go_of(name, known).await
    }
}

impl Inner {
    /// The host's own programs; made at the first use of each start.
    pub(crate) async fn host_template(&self) -> Result<Template, ProviderError> {
        let mut host = self.host.lock().await;
        if let Some(template) = &*host {
            return Ok(template.clone());
        }
        let made = template::make_host(&self.yard.shelves, &Progress::silent()).await?;
        self.yard.shelves.keep(&made).map_err(|error| unavailable("keep the template", &error))?;
        Ok(host.insert(made).clone())
    }

    async fn make_template(
        self: &Arc<Self>,
        name: &TemplateName,
        source: &Source,
        progress: &Progress,
    ) -> Result<Template, TemplateError> {
        let _one_at_a_time = self.making.lock().await;
        progress.go_on()?;
        let shelves = &self.yard.shelves;
        let mut made = match source {
            Source::Host => template::make_host(shelves, progress).await?,
            Source::Debian { suite, packages } => {
                template::make_debian(shelves, name, suite, packages, progress).await?
            }
            Source::Image { reference, login } => {
                template::pull_image(shelves, name, reference, login.as_ref(), progress).await?
            }
            Source::Archive { path } => template::import_archive(shelves, name, path, progress).await?,
            Source::Recipe { text, context } => {
                let order = Order {
                    name: name.clone(),
                    recipe: recipe::parse(text)?,
                    context: context.clone(),
                    login: None,
                    caching: Caching::Use,
                    shell: Shell::Plain,
                };
                recipe::build(shelves, &order, &Benches(Arc::clone(self)), progress).await?
            }
            Source::Steps { recipe, login, caching } => {
                let order = Order {
                    name: name.clone(),
                    recipe: recipe.clone(),
                    context: None,
                    login: login.clone(),
                    caching: *caching,
                    shell: Shell::Login,
                };
                recipe::build(shelves, &order, &Benches(Arc::clone(self)), progress).await?
            }
        };
        made.name = name.clone();
        made.made_at = Timestamp::now();
        let keep =
            |error: std::io::Error| TemplateError::Io { what: format!("keep the template {name}"), source: error };
        shelves.keep(&made).map_err(keep)?;
        if name.as_str() == super::HOST {
            *self.host.lock().await = Some(made.clone());
        }
        self.end_earlier(&made).await;
        Ok(made)
    }

    /// Ends the slots that wait for sandboxes of earlier versions of a template: nobody will ask for them, and they hold
    /// layers. One that cannot be ended now is ended at the next start.
    async fn end_earlier(self: &Arc<Self>, now: &Template) {
        let _still = self.pool.stand_still().await;
        for record in self.pool.forget_earlier(now) {
            if let Err(error) = self.end_slot(record).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a slot of an earlier template was not ended");
            }
        }
    }

    /// Ends what waits on a template that was forgotten or replaced, and carries out what nobody needs any more.
    pub(crate) async fn let_go_of(
        self: &Arc<Self>,
        name: &TemplateName,
        known: Option<Template>,
    ) -> Result<(), ProviderError> {
        let _still = self.pool.stand_still().await;
        for record in self.pool.forget(name) {
            self.end_slot(record).await?;
        }
        if let Some(template) = known.filter(|template| template.memory) {
            let inner = Arc::clone(self);
            let forgotten = aside(move || inner.yard.forget_snapshot(&template)).await;
            forgotten.map_err(|error| unavailable("forget the template", &error))?;
        }
        self.collect_layers().await
    }

    /// Removes the layers that no template and no sandbox needs.
    pub(crate) async fn collect_layers(self: &Arc<Self>) -> Result<(), ProviderError> {
        let inner = Arc::clone(self);
        let collected = aside(move || {
            let in_use = inner.yard.layers_in_use()?;
            inner.yard.shelves.collect(&in_use).map(drop)
        });
        collected.await.map_err(|error| unavailable("carry out old layers", &error))
    }
}

/// Opens throw-away sandboxes for the steps of recipes.
struct Benches(Arc<Inner>);

/// A throw-away sandbox. It reaches the outside by the proxy: steps install things.
struct LocalBench {
    inner: Arc<Inner>,
    desk: Option<Desk>,
    envd: Envd,
    /// Keeps its gateway's counters.
    _place: Arc<Place>,
}

/// What a step may use.
fn bench_limits() -> Limits {
    let limits = serde_json::json!({"cpus": 64, "memory_mb": 8192, "disk_mb": 65536, "pids": 4096});
    serde_json::from_value(limits).expect("in range")
}

#[async_trait]
impl Workbench for Benches {
    async fn open(&self, layers: &[LayerId], config: &Config) -> Result<Box<dyn Bench>, TemplateError> {
        let template = Template {
            name: "bench".parse().expect("a good name"),
            layers: layers.to_vec(),
            config: config.clone(),
            origin: String::new(),
            bytes: 0,
            made_at: Timestamp::now(),
            memory: false,
        };
        let inner = Arc::clone(&self.0);
        let (mut record, held) = inner.make_bench(template, bench_limits()).await.map_err(out_of_order)?;
        record.network = Network { mode: NetworkMode::Open, ..Network::default() };
        let place = Place::empty();
        let mut desk = Desk::new(record);
        inner.hold(&mut desk, &place, held);
        let envd = desk.envd(&inner).map_err(out_of_order)?;
        let mut bench = LocalBench { inner, desk: Some(desk), envd, _place: place };
        bench.introduce().await?;
        Ok(Box::new(bench))
    }
}

impl LocalBench {
    async fn introduce(&mut self) -> Result<(), TemplateError> {
        let Some(desk) = &self.desk else { return Ok(()) };
        let init = Init {
            env: surroundings(desk.record.id.as_ref(), &desk.record.template, &desk.record.network)
                .into_iter()
                .collect(),
            token: Some(SecretString::from(desk.record.token.clone())),
            default_user: Some("root".into()),
            default_workdir: Some("/".into()),
            hostname: None,
        };
        self.envd.init(&init).await.map_err(broken)
    }

    /// Runs a command to its end, tells its output line by line, and gives its exit code.
    async fn wait_for(&mut self, start: &Start, progress: &Progress) -> Result<i32, TemplateError> {
        let mut events = self.envd.start(start).await.map_err(broken)?;
        let mut lines = Lines::default();
        while let Some(event) = events.next().await {
            match event.map_err(broken)? {
                Event::Stdout(bytes) | Event::Stderr(bytes) | Event::Terminal(bytes) => lines.take(&bytes, progress),
                Event::Ended(ended) => {
                    lines.end(progress);
                    return Ok(ended.exit_code);
                }
                Event::Started { .. } => {}
            }
        }
        Err(TemplateError::unavailable("the line to the sandbox broke"))
    }
}

#[async_trait]
impl Bench for LocalBench {
    async fn run(&mut self, errand: &Errand<'_>, progress: &Progress) -> Result<i32, TemplateError> {
        let start = Start {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), errand.command.into()],
            env: errand.env.clone(),
            cwd: Some(errand.workdir.unwrap_or("/").into()),
            user: Some(errand.user.unwrap_or("root").into()),
            ..Start::default()
        };
        self.wait_for(&start, progress).await
    }

    async fn copy(&mut self, tarball: &Path, folder: &str, owner: Option<&str>) -> Result<(), TemplateError> {
        let doing = |source| TemplateError::Io { what: "read what is copied".into(), source };
        let file = tokio::fs::File::open(tarball).await.map_err(doing)?;
        let content = tokio_util::io::ReaderStream::with_capacity(file, 256 * 1024).boxed();
        let owner = owner.unwrap_or("root");
        let (user, group) = owner.split_once(':').map_or((owner, None), |(user, group)| (user, Some(group)));
        self.envd.upload_tar(folder, Some(user), content).await.map_err(broken)?;
        if group.is_none() {
            return Ok(());
        }
        let args = ["-R", owner, folder].map(str::to_owned).to_vec();
        let start = Start { program: "chown".into(), args, user: Some("root".into()), ..Start::default() };
        match self.wait_for(&start, &Progress::silent()).await? {
            0 => Ok(()),
            _ => Err(TemplateError::invalid(format!("`{owner}` is nobody that the template knows"))),
        }
    }

    async fn finish(mut self: Box<Self>) -> Result<PathBuf, TemplateError> {
        let Some(mut desk) = self.desk.take() else {
            return Err(TemplateError::unavailable("the bench is closed"));
        };
        desk.let_go();
        let inner = Arc::clone(&self.inner);
        let finished = aside(move || inner.yard.finish_bench(&desk.record));
        finished.await.map_err(|source| TemplateError::Io { what: "end a step".into(), source })
    }
}

impl Drop for LocalBench {
    fn drop(&mut self) {
        if let Some(mut desk) = self.desk.take() {
            desk.let_go();
            let inner = Arc::clone(&self.inner);
            self.inner.makings.spawn(async move {
                if let Err(error) = inner.end_slot(desk.record).await {
                    tracing::warn!(%error, "the bench of a making was not ended; the next start ends it");
                }
            });
        }
    }
}

/// Cuts what a command prints into lines; a line that is redrawn with carriage returns is told once.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn take(&mut self, bytes: &[u8], progress: &Progress) {
        const LONGEST: usize = 4096;
        for byte in bytes {
            match byte {
                b'\n' => self.end(progress),
                b'\r' => self.0.clear(),
                _ if self.0.len() < LONGEST => self.0.push(*byte),
                _ => {}
            }
        }
    }

    fn end(&mut self, progress: &Progress) {
        if !self.0.is_empty() {
            progress.say(String::from_utf8_lossy(&self.0));
            self.0.clear();
        }
    }
}

fn broken(error: EnvdError) -> TemplateError {
    match error {
        EnvdError::NotFound(why) | EnvdError::Invalid(why) | EnvdError::Refused(why) => TemplateError::invalid(why),
        other => TemplateError::unavailable(other.to_string()),
    }
}

fn out_of_order(error: ProviderError) -> TemplateError {
    TemplateError::unavailable(error.to_string())
}
