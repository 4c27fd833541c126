//! From steps to layers.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use carrel_model::TemplateName;
use jiff::Timestamp;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

use super::{
    Instruction, Recipe, Step, Word,
    context::{Context, Copying},
    trial::Trial,
};
use crate::template::{
    Config, DEBIAN_PACKAGES, Draft, LayerId, Progress, Shelves, Template, TemplateError,
    error::{Doing, aside, tidy},
    make_debian, make_host, pull_image,
};

/// Makes throw-away sandboxes for the steps of recipes.
#[async_trait]
pub trait Workbench: Send + Sync {
    /// Opens a bench on layers, lowest first. What is done there is written above them.
    async fn open(&self, layers: &[LayerId], config: &Config) -> Result<Box<dyn Bench>, TemplateError>;
}

/// A throw-away sandbox in which one step is done. Dropping it throws it away with all that was done.
#[async_trait]
pub trait Bench: Send {
    /// Runs a command in a shell, tells its output line by line, and gives its exit code.
    async fn run(&mut self, errand: &Errand<'_>, progress: &Progress) -> Result<i32, TemplateError>;

    /// Unpacks a plain tarball, which holds files, folders and links with permissions but without owners, into a folder
    /// (absolute, made where it is missing) as seen from inside, and gives all of it to `owner` (a name or a number,
    /// `:` and a group if it likes; root when nobody is named).
    async fn copy(&mut self, tarball: &Path, folder: &str, owner: Option<&str>) -> Result<(), TemplateError>;

    /// Ends it, and gives the folder with all that was written, ready to be adopted by the shelves.
    async fn finish(self: Box<Self>) -> Result<PathBuf, TemplateError>;
}

/// A command to run on a bench.
#[derive(Debug, Clone, Copy)]
pub struct Errand<'a> {
    /// For `/bin/sh -c`.
    pub command: &'a str,
    /// Who runs it; root when nobody is named.
    pub user: Option<&'a str>,
    /// The environment.
    pub env: &'a BTreeMap<String, String>,
    /// Where; `/` when it is not said.
    pub workdir: Option<&'a str>,
}

/// Whether steps that were done before are done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// A step with the same past and the same input is taken from the shelves.
    #[default]
    Use,
    /// Every step is done.
    Ignore,
}

/// What commands of a recipe are read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shell {
    /// `/bin/sh`.
    #[default]
    Plain,
    /// A login shell of bash where the template has one: what E2B's users write for.
    Login,
}

/// What is to be built.
#[derive(Debug, Clone)]
pub struct Order {
    /// The name of the template to be.
    pub name: TemplateName,
    /// The steps.
    pub recipe: Recipe,
    /// The folder that `COPY` copies from.
    pub context: Option<PathBuf>,
    /// Who asks the registry, when the recipe begins with an image and the registry wants to know.
    pub login: Option<(String, SecretString)>,
    /// Whether steps that were done before are done again.
    pub caching: Caching,
    /// What reads the commands.
    pub shell: Shell,
}

/// Builds a template. Each step that writes is a layer; those that were built before are reused, also from a build that
/// failed later on. Nothing is kept yet: that is [`Shelves::keep`].
pub async fn build(
    shelves: &Shelves,
    order: &Order,
    workbench: &dyn Workbench,
    progress: &Progress,
) -> Result<Template, TemplateError> {
    progress.say(tidy(&format!("FROM {}", order.recipe.from)));
    let base = base(shelves, order, progress).await?;
    let mut building =
        Building { shelves, order, workbench, progress, layers: base.layers, bytes: base.bytes, config: base.config };
    let count = order.recipe.steps.len();
    for (index, step) in order.recipe.steps.iter().enumerate() {
        let title: String = step.instruction.title().chars().take(160).collect();
        building.step(step, index + 1, &format!("step {}/{count} {title}", index + 1)).await?;
    }
    building.try_start().await?;
    Ok(Template {
        name: order.name.clone(),
        layers: building.layers,
        config: building.config,
        origin: tidy(&format!("a recipe of {count} steps on {}", order.recipe.from)),
        bytes: building.bytes,
        made_at: Timestamp::now(),
        memory: false,
    })
}

/// The template that a recipe begins with: a kept one, one that can be made at once, or an image.
async fn base(shelves: &Shelves, order: &Order, progress: &Progress) -> Result<Template, TemplateError> {
    let from = &order.recipe.from;
    if let Ok(name) = from.parse::<TemplateName>() {
        let found = {
            let (shelves, name) = (shelves.clone(), name.clone());
            aside(move || {
                let found = shelves.find(&name).doing(|| format!("look for the template {name}"))?;
                match &found {
                    Some(template) if !shelves.spare(&template.layers) => {
                        Err(TemplateError::unfit(format!("layers of the template {name} are missing: make it again")))
                    }
                    _ => Ok(found),
                }
            })
            .await?
        };
        if let Some(template) = found {
            return Ok(template);
        }
        match from.as_str() {
            "host" => return make_host(shelves, progress).await,
            "debian" => {
                let packages: Vec<String> = DEBIAN_PACKAGES.iter().map(ToString::to_string).collect();
                return make_debian(shelves, &name, "stable", &packages, progress).await;
            }
            _ => {}
        }
    }
    progress.say(tidy(&format!("there is no template {from}; looking for an image")));
    pull_image(shelves, &order.name, from, order.login.as_ref(), progress).await
}

struct Building<'a> {
    shelves: &'a Shelves,
    order: &'a Order,
    workbench: &'a dyn Workbench,
    progress: &'a Progress,
    layers: Vec<LayerId>,
    bytes: u64,
    config: Config,
}

impl Building<'_> {
    async fn step(&mut self, step: &Step, number: usize, title: &str) -> Result<(), TemplateError> {
        self.progress.go_on()?;
        let fill = |word: &Word, config: &Config| word.fill(&config.env);
        match &step.instruction {
            Instruction::Run { command, user } => {
                let user = user.clone().or_else(|| self.config.user.clone());
                let workdir = self.config.workdir.clone();
                self.run(step, number, title, command, user, workdir).await
            }
            Instruction::Workdir(folder) => {
                let folder = beneath(self.config.workdir.as_deref(), &fill(folder, &self.config));
                let quoted = quoted(&folder);
                let owner = self.config.user.as_deref().map(self::quoted);
                let give = owner.map(|owner| format!(" && chown {owner} {quoted}")).unwrap_or_default();
                let command = format!("[ -d {quoted} ] || {{ mkdir -p {quoted}{give}; }}");
                self.run(step, number, title, &command, None, None).await?;
                self.config.workdir = Some(folder);
                Ok(())
            }
            Instruction::Copy { sources, destination, owner, mode, context } => {
                let copying = Copying {
                    sources: sources.iter().map(|source| fill(source, &self.config)).collect(),
                    destination: fill(destination, &self.config),
                    mode: *mode,
                };
                let owner = owner.as_ref().map(|owner| fill(owner, &self.config)).or_else(|| self.config.user.clone());
                let context = context.clone().or_else(|| self.order.context.clone());
                let at = |error| at_line(step.line, error);
                let context =
                    context.ok_or_else(|| at(TemplateError::invalid("COPY needs a context, a folder to copy from")))?;
                self.copy(title, copying, owner, context).await.map_err(at)
            }
            Instruction::Env(pairs) => {
                // All values are those of before the line, as in a shell.
                let values: Vec<String> = pairs.iter().map(|(_, value)| fill(value, &self.config)).collect();
                let names = pairs.iter().map(|(name, _)| name.clone());
                self.config.env.extend(names.zip(values));
                self.say(title)
            }
            Instruction::User(user) => {
                self.config.user = Some(fill(user, &self.config));
                self.say(title)
            }
            Instruction::Start(command) => {
                self.config.start_command = Some(command.clone());
                self.say(title)
            }
            Instruction::Ready(command) => {
                self.config.ready_command = Some(command.clone());
                self.say(title)
            }
        }
    }

    /// Has the start command tried, unless the very same was tried before.
    async fn try_start(&self) -> Result<(), TemplateError> {
        let Some(trial) = Trial::of(&self.order.recipe, &self.config) else { return Ok(()) };
        let user = self.config.user.as_deref().unwrap_or_default();
        let workdir = self.config.workdir.as_deref().unwrap_or_default();
        let key = self.key(&[&trial.input()[..], &[user, workdir]].concat());
        let last = self.layers.last().cloned();
        if self.order.caching == Caching::Use {
            let (shelves, key) = (self.shelves.clone(), key.clone());
            if aside(move || Ok(shelves.recall(&key))).await?.is_some() {
                return Ok(());
            }
        }
        let bench = self.workbench.open(&self.layers, &self.config).await?;
        self.progress.unless_called_off(trial.run(bench, &self.config, self.progress)).await?;
        let Some(layer) = last else { return Ok(()) };
        let (shelves, bytes) = (self.shelves.clone(), self.bytes);
        aside(move || shelves.note(&key, &layer, bytes).doing(|| "note down that it starts".to_owned())).await
    }

    async fn run(
        &mut self,
        step: &Step,
        number: usize,
        title: &str,
        command: &str,
        user: Option<String>,
        workdir: Option<String>,
    ) -> Result<(), TemplateError> {
        let key = self.key(&["run", command, user.as_deref().unwrap_or(""), workdir.as_deref().unwrap_or("")]);
        if self.reuse(&key, title).await? {
            return Ok(());
        }
        self.say(title)?;
        let mut bench = self.workbench.open(&self.layers, &self.config).await?;
        let command_line = match self.order.shell {
            Shell::Plain => command.to_owned(),
            Shell::Login => format!(
                "if [ -x /bin/bash ]; then exec /bin/bash -l -c {0}; else exec /bin/sh -c {0}; fi",
                quoted(command)
            ),
        };
        let errand = Errand {
            command: &command_line,
            user: user.as_deref(),
            env: &self.config.env,
            workdir: workdir.as_deref(),
        };
        let code = self.progress.unless_called_off(bench.run(&errand, self.progress)).await?;
        if code != 0 {
            return Err(TemplateError::Step { step: number, line: step.line, command: tidy(command), code });
        }
        self.finish(bench, key).await
    }

    async fn copy(
        &mut self,
        title: &str,
        copying: Copying,
        owner: Option<String>,
        context: PathBuf,
    ) -> Result<(), TemplateError> {
        // Read once to know what it is; the copy itself is made only when it is new.
        let workdir = self.config.workdir.clone();
        let (context, copying, folder, sum) = aside(move || {
            let context = Context::open(&context)?;
            let sum = context.pack(&copying, io::sink())?;
            let folder = beneath(workdir.as_deref(), &copying.folder(&context)?);
            Ok((context, copying, folder, sum))
        })
        .await?;
        let destination = copying.destination.clone();
        let owner_text = owner.clone().unwrap_or_default();
        let key = |building: &Self, sum: &[u8; 32]| {
            building.key(&["copy", &hex::encode(sum), &folder, &destination, &owner_text])
        };
        if self.reuse(&key(self, &sum), title).await? {
            return Ok(());
        }
        self.say(title)?;
        let shelves = self.shelves.clone();
        let (draft, sum): (Draft, [u8; 32]) = aside(move || {
            let draft = shelves.draft().doing(|| "begin a layer".to_owned())?;
            let tarball = File::create_new(draft.scratch("copy.tar")).doing(|| "pack the files to copy".to_owned())?;
            // Summed up again: it may have changed since.
            let sum = context.pack(&copying, BufWriter::with_capacity(1 << 18, tarball))?;
            Ok((draft, sum))
        })
        .await?;
        let mut bench = self.workbench.open(&self.layers, &self.config).await?;
        let tarball = draft.scratch("copy.tar");
        self.progress.unless_called_off(bench.copy(&tarball, &folder, owner.as_deref())).await?;
        let key = key(self, &sum);
        self.finish(bench, key).await?;
        aside(move || {
            drop(draft);
            Ok(())
        })
        .await
    }

    /// Takes a step from the shelves, if it was done before.
    async fn reuse(&mut self, key: &str, title: &str) -> Result<bool, TemplateError> {
        if self.order.caching == Caching::Ignore {
            return Ok(false);
        }
        let (shelves, key) = (self.shelves.clone(), key.to_owned());
        let Some((layer, bytes)) = aside(move || Ok(shelves.recall(&key))).await? else { return Ok(false) };
        self.say(&format!("{title} (cached)"))?;
        self.push(layer, bytes);
        Ok(true)
    }

    async fn finish(&mut self, bench: Box<dyn Bench>, key: String) -> Result<(), TemplateError> {
        let folder = bench.finish().await?;
        let shelves = self.shelves.clone();
        let (layer, bytes) = aside(move || {
            let (layer, bytes) = shelves.adopt(folder).doing(|| "shelve the layer".to_owned())?;
            shelves.note(&key, &layer, bytes).doing(|| "note down the layer".to_owned())?;
            Ok((layer, bytes))
        })
        .await?;
        self.push(layer, bytes);
        Ok(())
    }

    fn push(&mut self, layer: LayerId, bytes: u64) {
        // A step that wrote nothing need not weigh on every sandbox.
        let is_empty = fs::read_dir(self.shelves.layer(&layer)).is_ok_and(|mut entries| entries.next().is_none());
        if !is_empty {
            self.layers.push(layer);
            self.bytes += bytes;
        }
    }

    /// Names a step by all that can make its outcome another one.
    fn key(&self, input: &[&str]) -> String {
        let mut sum = Sha256::new();
        let mut piece = |bytes: &str| {
            sum.update((bytes.len() as u64).to_le_bytes());
            sum.update(bytes);
        };
        piece("carrel step 1");
        let count = |length: usize| length.to_string();
        piece(&count(self.layers.len()));
        self.layers.iter().for_each(|layer| piece(layer.as_str()));
        piece(&count(self.config.env.len()));
        for (name, value) in &self.config.env {
            piece(name);
            piece(value);
        }
        piece(&count(self.config.host_folders.len()));
        self.config.host_folders.iter().for_each(|folder| piece(&folder.to_string_lossy()));
        input.iter().for_each(|bytes| piece(bytes));
        format!("step-{}", hex::encode(sum.finalize()))
    }

    fn say(&self, line: &str) -> Result<(), TemplateError> {
        self.progress.say(line);
        Ok(())
    }
}

fn at_line(line: usize, error: TemplateError) -> TemplateError {
    match error {
        TemplateError::Invalid { why } => TemplateError::Invalid { why: format!("line {line}: {why}") },
        other => other,
    }
}

/// A path as seen from a folder, absolute and without detours.
fn beneath(folder: Option<&str>, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", folder.unwrap_or("/")) };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A word as a shell takes it for one.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
