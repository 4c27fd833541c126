//! Building: images and recipes become templates of the team, by E2B's own builder.
//!
//! ```text
//! a name and a build ─► the files of each COPY, where E2B has not got them ─► the steps ─► asked until it is ready
//! ```

use std::{
    path::{Component, Path, PathBuf},
    time::Duration,
};

use carrel_model::{TemplateName, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Inner,
    api::percent,
    templates::where_there_are_any,
    wire::{BuildBegun, BuildStatus, FilesLink, Offered},
};
use crate::{
    ProviderError,
    providers::common::aside,
    template::{
        Progress, Source, Template,
        recipe::{self, Caching, Instruction, Recipe},
    },
};

/// How often E2B is asked how far it is. A build takes minutes.
const LOOKS_AGAIN: Duration = Duration::from_millis(500);

/// A build as E2B's builder takes it.
struct Plan {
    body: Value,
    /// The archives of its COPY steps, by their hash.
    files: Vec<(String, tempfile::NamedTempFile)>,
    origin: String,
}

impl Inner {
    pub(super) async fn build(
        &self,
        name: &TemplateName,
        source: &Source,
        progress: &Progress,
    ) -> Result<Template, ProviderError> {
        let plan = self.plan(source).await?;
        let explain = |trouble| self.explain(trouble);
        let begun = self.api.post("/v3/templates", &json!({ "name": name.as_str() })).await;
        let BuildBegun { template, build } = begun.and_then(|answer| answer.read()).map_err(explain)?;
        progress.say(format!("E2B has begun build {build} of {template}"));
        let template = percent(&template);
        for (hash, archive) in &plan.files {
            let asked = self.api.get(&format!("/templates/{template}/files/{hash}")).await;
            let FilesLink { present, url, headers } = asked.map_err(explain)?;
            if !present {
                let url = url.ok_or_else(|| unfit("E2B wants files and does not say where"))?;
                progress.say(format!("sending files {}", &hash[..12]));
                self.api.put_file(&url, &headers.unwrap_or_default(), archive.path()).await.map_err(explain)?;
            }
        }
        let build = percent(&build);
        self.api.post(&format!("/v2/templates/{template}/builds/{build}"), &plan.body).await.map_err(explain)?;
        self.watch(&template, &build, progress).await?;
        self.forget_offer().await;
        Ok(Template {
            name: name.clone(),
            layers: Vec::new(),
            config: Default::default(),
            origin: format!("built at E2B from {}", plan.origin),
            bytes: 0,
            made_at: Timestamp::now(),
            memory: false,
        })
    }

    /// Asks how far it is until it has ended, and tells what it says.
    async fn watch(&self, template: &str, build: &str, progress: &Progress) -> Result<(), ProviderError> {
        let mut told = 0;
        loop {
            let path = format!("/templates/{template}/builds/{build}/status?logsOffset={told}&limit=100");
            let status: BuildStatus = self.api.get(&path).await.map_err(|trouble| self.explain(trouble))?;
            for entry in &status.entries {
                progress.say(entry.message.trim_end());
            }
            told += status.entries.len();
            match status.status.as_str() {
                // What was said last may take one more page.
                "ready" | "error" if !status.entries.is_empty() => continue,
                "ready" => return Ok(()),
                "error" => {
                    let reason = status.reason.map(|reason| reason.message);
                    return Err(unfit(&reason.unwrap_or_else(|| "E2B does not say why".into())));
                }
                _ => tokio::time::sleep(LOOKS_AGAIN).await,
            }
        }
    }

    async fn plan(&self, source: &Source) -> Result<Plan, ProviderError> {
        match source {
            Source::Image { reference, login } => {
                let mut body = json!({ "fromImage": reference, "steps": [], "force": false });
                show_login(&mut body, login.as_ref());
                Ok(Plan { body, files: Vec::new(), origin: format!("image {reference}") })
            }
            Source::Recipe { text, context } => {
                self.plan_steps(recipe::parse(text)?, context.clone(), None, false).await
            }
            Source::Steps { recipe, login, caching } => {
                let anew = *caching == Caching::Ignore;
                self.plan_steps(recipe.clone(), None, login.as_ref(), anew).await
            }
            Source::Host => Err(unfit("this machine's own programs cannot be had at E2B; begin with `FROM base`")),
            Source::Debian { .. } => Err(unfit("E2B makes no Debian from packages; pull an image of it")),
            Source::Archive { .. } => Err(unfit("E2B takes no archives of images; push the image to a registry")),
        }
    }

    async fn plan_steps(
        &self,
        recipe: Recipe,
        context: Option<PathBuf>,
        login: Option<&(String, SecretString)>,
        anew: bool,
    ) -> Result<Plan, ProviderError> {
        let (mut steps, mut files) = (Vec::new(), Vec::new());
        let (mut start, mut ready) = (None, None);
        for step in recipe.steps {
            let step_of = |kind: &str, args: Vec<String>| json!({ "type": kind, "args": args });
            match step.instruction {
                Instruction::Run { command, user } => {
                    steps.push(step_of("RUN", [Some(command), user].into_iter().flatten().collect()));
                }
                Instruction::Env(pairs) => {
                    let pairs = pairs.into_iter().flat_map(|(name, value)| [name, value.to_string()]);
                    steps.push(step_of("ENV", pairs.collect()));
                }
                Instruction::User(user) => steps.push(step_of("USER", vec![user.to_string()])),
                Instruction::Workdir(folder) => steps.push(step_of("WORKDIR", vec![folder.to_string()])),
                Instruction::Copy { sources, destination, owner, mode, context: own } => {
                    let line = step.line;
                    let folder = own.or_else(|| context.clone());
                    let folder =
                        folder.ok_or_else(|| unfit(&format!("line {line}: there is no folder to COPY from")))?;
                    for source in sources {
                        let source = source.to_string();
                        let (hash, archive) = pack(folder.clone(), source.clone(), line).await?;
                        let owner = owner.as_ref().map(ToString::to_string).unwrap_or_default();
                        let mode = mode.map(|mode| format!("{mode:o}")).unwrap_or_default();
                        let mut step = step_of("COPY", vec![source, destination.to_string(), owner, mode]);
                        step["filesHash"] = hash.clone().into();
                        steps.push(step);
                        files.push((hash, archive));
                    }
                }
                Instruction::Start(command) => start = Some(command),
                Instruction::Ready(command) => ready = Some(command),
            }
        }
        let mut body = json!({ "steps": steps, "force": anew });
        match self.template_named(&recipe.from).await? {
            Some(template) => body["fromTemplate"] = template.into(),
            None => {
                body["fromImage"] = recipe.from.clone().into();
                show_login(&mut body, login);
            }
        }
        for (name, command) in [("startCmd", start), ("readyCmd", ready)] {
            if let Some(command) = command {
                body[name] = command.into();
            }
        }
        Ok(Plan { body, files, origin: format!("a recipe on {}", recipe.from) })
    }

    /// What a recipe begins with, if it is a template at E2B. Everything else is an image.
    async fn template_named(&self, from: &str) -> Result<Option<String>, ProviderError> {
        if let Some(name) = from.parse::<TemplateName>().ok().filter(|name| self.renamed.contains_key(name)) {
            return self.template(&name).await.map(Some);
        }
        let all: Vec<Offered> =
            where_there_are_any(self.api.get("/templates").await).map_err(|trouble| self.explain(trouble))?;
        let has = |told: &Offered| told.id == from || told.names.iter().chain(&told.aliases).any(|name| name == from);
        Ok((super::templates::ALWAYS.contains(&from) || all.iter().any(has)).then(|| from.to_owned()))
    }
}

fn show_login(body: &mut Value, login: Option<&(String, SecretString)>) {
    if let Some((username, password)) = login {
        body["fromImageRegistry"] =
            json!({ "type": "registry", "username": username, "password": password.expose_secret() });
    }
}

/// What one source of a COPY names, packed as E2B's builder wants it: paths below the folder, in a gzipped tar.
async fn pack(
    folder: PathBuf,
    source: String,
    line: usize,
) -> Result<(String, tempfile::NamedTempFile), ProviderError> {
    let wrong = move |why: &str| unfit(&format!("line {line}: {why}"));
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !Path::new(&source).components().all(plain) || source.contains(['*', '?', '[']) {
        return Err(wrong(&format!("at E2B, COPY takes plain paths below the folder, and `{source}` is none")));
    }
    let packed = aside(move || {
        let root = folder.canonicalize()?;
        let inside = root.join(&source).canonicalize()?;
        if !inside.starts_with(&root) {
            return Err(std::io::Error::other(format!("`{source}` leads out of the folder")));
        }
        let file = tempfile::NamedTempFile::new()?;
        let gzip = flate2::write::GzEncoder::new(file.reopen()?, flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        // A link is kept as one, and never followed out of the folder.
        archive.follow_symlinks(false);
        // The same files make the same archive, whenever they were written.
        archive.mode(tar::HeaderMode::Deterministic);
        let name = inside.strip_prefix(&root).map_err(std::io::Error::other)?.to_owned();
        match (inside.is_dir(), name.as_os_str().is_empty()) {
            (true, true) => archive.append_dir_all(".", &inside)?,
            (true, false) => archive.append_dir_all(&name, &inside)?,
            (false, _) => archive.append_path_with_name(&inside, &name)?,
        }
        archive.into_inner()?.finish()?;
        let mut sum = Sha256::new();
        std::io::copy(&mut file.reopen()?, &mut HashWriter(&mut sum))?;
        Ok((hex::encode(sum.finalize()), file))
    });
    packed.await.map_err(|error| wrong(&format!("what is copied cannot be packed: {error}")))
}

struct HashWriter<'a>(&'a mut Sha256);

impl std::io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn unfit(why: &str) -> ProviderError {
    ProviderError::Unfit { why: why.trim_end_matches('.').to_owned() }
}
