//! Templates from steps that somebody else's builder wrote, and the files that they copy.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use carrel_envd::Content;
use carrel_model::{
    Action, Grant, Malformed, ProviderName, Subject, TemplateName,
    public::{NewLimits, TemplateView},
};
use carrel_sandbox::template::{
    Source,
    recipe::{Caching, Instruction, Recipe, Step, Word},
};
use secrecy::SecretString;

use super::templates::{TemplatesDesk, no_room, receive};
use crate::{Error, house::House};

/// What a template is made of.
#[derive(Debug, Clone)]
pub struct Steps {
    /// The template or the image that it begins with.
    pub from: String,
    /// Who asks the registry, when it begins with an image and the registry wants to know.
    pub login: Option<(String, SecretString)>,
    /// Whether everything is done again, also what was done before.
    pub anew: bool,
    /// What is done, in order.
    pub steps: Vec<BuildStep>,
    /// What runs in the background from the start.
    pub start: Option<String>,
    /// What says by exit code 0 that it is ready.
    pub ready: Option<String>,
    /// How much a sandbox on it may use, as far as anybody says.
    pub limits: NewLimits,
    /// What whoever asks calls this making.
    pub build: Option<String>,
}

/// One thing that is done.
#[derive(Debug, Clone)]
pub enum BuildStep {
    /// Runs a command, as this user.
    Run(String, Option<String>),
    /// Copies files that were uploaded before.
    Copy {
        /// The name of what was uploaded.
        files: FilesHash,
        /// What of it.
        source: String,
        /// Where it goes.
        destination: String,
        /// Who owns it.
        owner: Option<String>,
        /// Its permissions.
        mode: Option<u32>,
    },
    /// Writes files that are given here.
    Given {
        /// Their names below the destination, and what is in them.
        files: Vec<(String, Given)>,
        /// The folder that they go to.
        destination: String,
    },
    /// Sets variables of the environment.
    Env(Vec<(String, String)>),
    /// Where what follows is done.
    Workdir(String),
    /// Who does what follows.
    User(String),
}

/// What is in a file that is given.
#[derive(Debug, Clone)]
pub enum Given {
    /// Text.
    Text(String),
    /// A program of the host.
    Program(PathBuf),
}

/// The name of an upload: what its sender says is the sum of it, 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FilesHash(String);

impl std::str::FromStr for FilesHash {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(is_hex) {
            return Ok(FilesHash(text.to_owned()));
        }
        Err(Malformed { rule: "the name of an upload is 64 hexadecimal digits" })
    }
}

/// Uploads that nobody has used for so long are thrown away.
const KEPT: Duration = Duration::from_secs(24 * 3600);

impl TemplatesDesk<'_> {
    /// Asks for a template from steps. It is made whether or not the caller stays.
    pub async fn make_of(
        &self,
        grant: &Grant,
        name: TemplateName,
        provider: Option<ProviderName>,
        steps: Steps,
    ) -> Result<TemplateView, Error> {
        self.house.admit(grant, Action::TemplateMake, Subject::Template(&name)).await?;
        let folder = self.scratch()?;
        let mut understood = Vec::new();
        for (index, step) in steps.steps.iter().enumerate() {
            let instruction = self.instruction(step, &folder.path().join(index.to_string())).await?;
            understood.push(Step { line: index + 1, instruction });
        }
        let last = understood.len() + 1;
        understood.extend(steps.start.clone().map(|start| Step { line: last, instruction: Instruction::Start(start) }));
        understood.extend(steps.ready.clone().map(|ready| Step { line: last, instruction: Instruction::Ready(ready) }));
        let mut shown = serde_json::json!({"from": "recipe", "recipe": format!("FROM {}\n# and {} steps", steps.from, steps.steps.len())});
        if steps.limits != NewLimits::default() {
            shown["limits"] = serde_json::json!(steps.limits);
        }
        if let Some(build) = steps.build {
            shown["build_id"] = build.into();
        }
        let source = Source::Steps {
            recipe: Recipe { from: steps.from, steps: understood },
            login: steps.login,
            caching: if steps.anew { Caching::Ignore } else { Caching::Use },
        };
        self.begin(grant, name, provider, source, shown, Some(folder)).await
    }

    /// The same by the house itself, before anybody asks.
    pub async fn make_ahead(&self, name: TemplateName, steps: Steps) -> Result<TemplateView, Error> {
        self.make_of(&crate::pulls::house_grant(), name, None, steps).await
    }

    async fn instruction(&self, step: &BuildStep, folder: &Path) -> Result<Instruction, Error> {
        Ok(match step {
            BuildStep::Run(command, user) => Instruction::Run { command: command.clone(), user: user.clone() },
            BuildStep::Copy { files, source, destination, owner, mode } => {
                let archive = upload(self.house, files);
                if !archive.is_file() {
                    return Err(Error::field("filesHash", format!("nothing was uploaded as {}", files.0)));
                }
                let (from, into) = (archive, folder.to_owned());
                let unpacked = tokio::task::spawn_blocking(move || unpack(&from, &into)).await;
                unpacked.map_err(|ended| Error::Internal(Box::new(ended)))??;
                Instruction::Copy {
                    sources: vec![Word::plain(source)],
                    destination: Word::filled(destination),
                    owner: owner.clone().map(Word::plain),
                    mode: *mode,
                    context: Some(folder.to_owned()),
                }
            }
            BuildStep::Given { files, destination } => {
                for (name, given) in files {
                    let place = folder.join(name);
                    // Everybody inside may look at them, whatever we usually keep to ourselves.
                    let mut made = std::fs::DirBuilder::new();
                    made.recursive(true).create(place.parent().unwrap_or(folder)).map_err(no_room)?;
                    for above in place.ancestors().skip(1).take_while(|above| above.starts_with(folder)) {
                        std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o755)).map_err(no_room)?;
                    }
                    let written = match given {
                        Given::Text(text) => tokio::fs::write(&place, text).await,
                        Given::Program(path) => tokio::fs::copy(path, &place).await.map(drop),
                    };
                    written.map_err(no_room)?;
                    let mode = if matches!(given, Given::Program(_)) { 0o755 } else { 0o644 };
                    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(mode)).map_err(no_room)?;
                }
                Instruction::Copy {
                    sources: vec![Word::plain(".")],
                    destination: Word::plain(destination),
                    owner: Some(Word::plain("root")),
                    mode: None,
                    context: Some(folder.to_owned()),
                }
            }
            BuildStep::Env(pairs) => {
                Instruction::Env(pairs.iter().map(|(name, value)| (name.clone(), Word::filled(value))).collect())
            }
            BuildStep::Workdir(folder) => Instruction::Workdir(Word::filled(folder)),
            BuildStep::User(user) => Instruction::User(Word::plain(user)),
        })
    }

    /// Whether something of this name was uploaded.
    pub async fn has_files(&self, grant: &Grant, name: &TemplateName, files: &FilesHash) -> Result<bool, Error> {
        self.house.admit(grant, Action::TemplateMake, Subject::Template(name)).await?;
        Ok(upload(self.house, files).is_file())
    }

    /// Keeps what is uploaded for a while, for templates to be made of it.
    pub async fn keep_files(
        &self,
        grant: &Grant,
        name: &TemplateName,
        files: &FilesHash,
        content: Content,
    ) -> Result<(), Error> {
        self.house.admit(grant, Action::TemplateMake, Subject::Template(name)).await?;
        let place = upload(self.house, files);
        let shelf = place.parent().unwrap_or(Path::new("/")).to_owned();
        std::fs::create_dir_all(&shelf).map_err(no_room)?;
        forget_old(&shelf);
        let arriving = tempfile::Builder::new().prefix("arriving-").tempdir_in(&shelf).map_err(no_room)?;
        let draft = arriving.path().join("content");
        receive(&draft, content).await?;
        let arrived = draft.clone();
        let read = tokio::task::spawn_blocking(move || read_through(&arrived)).await;
        read.map_err(|ended| Error::Internal(Box::new(ended)))??;
        // By one rename: half an upload is none.
        std::fs::rename(&draft, &place).map_err(no_room)
    }
}

fn upload(house: &Arc<House>, files: &FilesHash) -> PathBuf {
    house.settings.scratch.join("uploads").join(format!("{}.tar.gz", files.0))
}

fn forget_old(shelf: &Path) {
    let now = SystemTime::now();
    for entry in std::fs::read_dir(shelf).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|then| now.duration_since(then).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

type Archive = tar::Archive<flate2::read::GzDecoder<std::io::BufReader<std::fs::File>>>;

fn open(archive: &Path) -> Result<Archive, Error> {
    let file = std::fs::File::open(archive).map_err(no_room)?;
    Ok(tar::Archive::new(flate2::read::GzDecoder::new(std::io::BufReader::new(file))))
}

fn no_archive(error: std::io::Error) -> Error {
    Error::field("filesHash", format!("what was uploaded is no archive that can be unpacked: {error}"))
}

/// Reads an upload to its end. What is broken is not kept: under the same name the whole of it is sent again.
fn read_through(archive: &Path) -> Result<(), Error> {
    let mut archive = open(archive)?;
    for entry in archive.entries().map_err(no_archive)? {
        std::io::copy(&mut entry.map_err(no_archive)?, &mut std::io::sink()).map_err(no_archive)?;
    }
    // What is broken behind the last file is broken too.
    std::io::copy(&mut archive.into_inner(), &mut std::io::sink()).map_err(no_archive).map(drop)
}

/// Unpacks an upload. Nothing in it may lead out of the folder.
fn unpack(archive: &Path, folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(no_room)?;
    let mut archive = open(archive)?;
    archive.set_preserve_permissions(true);
    archive.unpack(folder).map_err(no_archive)
}
