//! Images in one file: what `docker save` writes, and the OCI layout in a tarball.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use carrel_model::TemplateName;
use serde::Deserialize;
use tar::{Archive as Tar, EntryType};

use super::super::{
    Draft, LayerId, Limits, Progress, Shelves, Template, TemplateError,
    error::{Doing, aside},
    meter::Meter,
};
use super::{
    DOCUMENT, ImageConfig, architecture,
    blob::{Promise, Sum, expand, shelve},
};

/// Names in an archive, at most; an image has a few per layer.
const NAMES: usize = 100_000;

/// Makes a template of a tarball by `docker save`, or one in the OCI layout; either may be packed with gzip or zstd.
/// Nothing is kept yet: that is [`Shelves::keep`].
pub async fn import_archive(
    shelves: &Shelves,
    name: &TemplateName,
    path: &Path,
    progress: &Progress,
) -> Result<Template, TemplateError> {
    let (shelves, name, path, progress) = (shelves.clone(), name.clone(), path.to_owned(), progress.clone());
    aside(move || import(&shelves, &name, path, &progress)).await
}

fn import(
    shelves: &Shelves,
    name: &TemplateName,
    path: PathBuf,
    progress: &Progress,
) -> Result<Template, TemplateError> {
    progress.say(format!("reading {}", path.display()));
    let draft = shelves.draft().doing(|| "begin a template".to_owned())?;
    let mut archive = Archive::open(&path, &draft, progress)?;
    let image = if archive.has("index.json") { oci(&mut archive)? } else { docker(&mut archive, progress)? };
    image.config.fits()?;
    let count = image.layers.len();
    let mut layers: Vec<(LayerId, u64)> = Vec::new();
    for (index, layer) in image.layers.iter().enumerate() {
        let step = format!("layer {}/{count}", index + 1);
        if let Some(known) = shelves.recall(&layer.promise.note()) {
            progress.say(format!("{step} (known)"));
            layers.push(known);
            continue;
        }
        progress.say(step);
        let stream = archive.stream(&layer.name)?;
        layers.push(shelve(shelves, stream, layer.promise, &Limits::default(), progress)?);
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    image.config.into_template(shelves, name, layers, &format!("archive {file}{}", image.about))
}

/// An image in an archive.
struct Image {
    config: ImageConfig,
    layers: Vec<Layer>,
    /// What it is called there.
    about: String,
}

struct Layer {
    name: String,
    promise: Promise,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    digest: String,
    size: u64,
    #[serde(default)]
    media_type: String,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    architecture: String,
    os: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

/// The OCI layout: everything is named by its digest.
fn oci(archive: &mut Archive) -> Result<Image, TemplateError> {
    let mut index: Index = parse("index.json", &archive.document("index.json")?)?;
    // An index may lead to another, once: one per name, then one per platform.
    for _ in 0..3 {
        let chosen = choose(index.manifests)?;
        let text = archive.blob(&chosen)?;
        if chosen.media_type.contains("index") || chosen.media_type.contains("manifest.list") {
            index = parse(&chosen.digest, &text)?;
            continue;
        }
        let manifest: Manifest = parse(&chosen.digest, &text)?;
        let config = ImageConfig::read(&archive.blob(&manifest.config)?)?;
        let layers = manifest
            .layers
            .iter()
            .map(|layer| {
                let sum = Sum::parse(&layer.digest)?;
                Ok(Layer { name: blob_name(&sum), promise: Promise::AsSent(sum, layer.size) })
            })
            .collect::<Result<_, TemplateError>>()?;
        return Ok(Image { config, layers, about: format!(" ({})", chosen.digest) });
    }
    Err(TemplateError::invalid("the indexes of the archive lead from one to another"))
}

/// The manifest for this machine, or the only one that does not say what it is for.
fn choose(manifests: Vec<Descriptor>) -> Result<Descriptor, TemplateError> {
    let here = architecture();
    let offered: Vec<String> = manifests
        .iter()
        .filter_map(|entry| entry.platform.as_ref())
        .map(|platform| format!("{}/{}", platform.os, platform.architecture))
        .collect();
    let mut unnamed = None;
    for entry in manifests {
        match &entry.platform {
            Some(platform) if platform.os == "linux" && platform.architecture == here => return Ok(entry),
            None if unnamed.is_none() => unnamed = Some(entry),
            _ => {}
        }
    }
    unnamed.ok_or_else(|| {
        TemplateError::unfit(format!("the archive has nothing for linux/{here}; it has {}", offered.join(", ")))
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// What `docker save` wrote before it wrote the OCI layout too.
fn docker(archive: &mut Archive, progress: &Progress) -> Result<Image, TemplateError> {
    if !archive.has("manifest.json") {
        return Err(TemplateError::invalid(
            "the archive is no image: it has neither `index.json` nor `manifest.json` (`docker export` writes such archives, `docker save` writes images)",
        ));
    }
    let mut saved: Vec<Saved> = parse("manifest.json", &archive.document("manifest.json")?)?;
    if saved.is_empty() {
        return Err(TemplateError::invalid("the archive has no image"));
    }
    let image = saved.swap_remove(0);
    if !saved.is_empty() {
        progress.say(format!("the archive has {} images; this is the first", saved.len() + 1));
    }
    let text = archive.document(&image.config)?;
    let named = image.config.trim_end_matches(".json").rsplit('/').next().unwrap_or_default();
    if let Ok(sum) = Sum::parse(&format!("sha256:{named}")) {
        sum.matches(&text)?;
    }
    let config = ImageConfig::read(&text)?;
    let sums = config.rootfs.as_ref().map(|rootfs| rootfs.diff_ids.as_slice()).unwrap_or_default();
    if sums.len() != image.layers.len() {
        return Err(TemplateError::invalid(format!(
            "the image has {} layers and {} digests of layers",
            image.layers.len(),
            sums.len()
        )));
    }
    let layers = image
        .layers
        .into_iter()
        .zip(sums)
        .map(|(name, sum)| Ok(Layer { name, promise: Promise::Expanded(Sum::parse(sum)?) }))
        .collect::<Result<_, TemplateError>>()?;
    let tag = image.repo_tags.into_iter().flatten().next();
    Ok(Image { config, layers, about: tag.map(|tag| format!(" ({tag})")).unwrap_or_default() })
}

impl Sum {
    fn matches(&self, bytes: &[u8]) -> Result<(), TemplateError> {
        let found = Sum::of(bytes);
        if found == *self {
            Ok(())
        } else {
            Err(TemplateError::invalid(format!("{self} is not what it should be: its digest is {found}")))
        }
    }
}

fn blob_name(sum: &Sum) -> String {
    format!("blobs/sha256/{}", sum.digits())
}

fn parse<T: for<'a> Deserialize<'a>>(name: &str, text: &[u8]) -> Result<T, TemplateError> {
    serde_json::from_slice(text).map_err(|error| TemplateError::invalid(format!("`{name}` cannot be read: {error}")))
}

/// A tarball whose files are read in place. Its names never become paths.
struct Archive {
    file: File,
    files: HashMap<String, (u64, u64)>,
    links: HashMap<String, String>,
}

impl Archive {
    fn open(path: &Path, draft: &Draft, progress: &Progress) -> Result<Self, TemplateError> {
        let mut file = File::open(path).doing(|| format!("open {}", path.display()))?;
        let mut start = [0; 4];
        let read = read_start(&mut file, &mut start).doing(|| format!("read {}", path.display()))?;
        let packed = start[..read].starts_with(&[0x1f, 0x8b]) || start[..read] == [0x28, 0xb5, 0x2f, 0xfd];
        if packed {
            let place = draft.scratch("archive.tar");
            let mut plain = File::create_new(&place).doing(|| "unpack the archive".to_owned())?;
            let most = Limits::default().bytes;
            let bytes = io::copy(&mut expand(progress.reading(&file))?.take(most), &mut plain)
                .map_err(|error| TemplateError::invalid(format!("the archive cannot be unpacked: {error}")))?;
            if bytes == most {
                return Err(TemplateError::invalid(format!("the archive unpacks to more than {most} bytes")));
            }
            file = File::open(&place).doing(|| "open the unpacked archive".to_owned())?;
        }
        let mut archive = Archive { file, files: HashMap::new(), links: HashMap::new() };
        archive.index()?;
        Ok(archive)
    }

    fn index(&mut self) -> Result<(), TemplateError> {
        let unreadable = |error: io::Error| TemplateError::invalid(format!("the archive cannot be read: {error}"));
        let header = Limits::default().header;
        let (meter, allowance) = Meter::new(&self.file, header);
        let mut tar = Tar::new(meter);
        let mut entries = tar.entries_with_seek().map_err(unreadable)?;
        loop {
            allowance.set(header);
            let Some(entry) = entries.next() else { return Ok(()) };
            let entry = entry.map_err(unreadable)?;
            let name = clean(&String::from_utf8_lossy(&entry.path_bytes()));
            match entry.header().entry_type() {
                EntryType::Regular => {
                    self.files.insert(name, (entry.raw_file_position(), entry.size()));
                }
                EntryType::Symlink | EntryType::Link => {
                    let target = entry.link_name_bytes().unwrap_or_default();
                    let target = String::from_utf8_lossy(&target);
                    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                    let target = if entry.header().entry_type() == EntryType::Link {
                        clean(&target)
                    } else {
                        clean(&format!("{folder}/{target}"))
                    };
                    self.links.insert(name, target);
                }
                _ => {}
            }
            if self.files.len() + self.links.len() > NAMES {
                return Err(TemplateError::invalid(format!("the archive has more than {NAMES} files")));
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// A small file, whole.
    fn document(&mut self, name: &str) -> Result<Vec<u8>, TemplateError> {
        let mut stream = self.stream(name)?;
        if stream.limit() > DOCUMENT {
            return Err(TemplateError::invalid(format!("`{name}` has more than {DOCUMENT} bytes")));
        }
        let mut text = Vec::new();
        stream.read_to_end(&mut text).doing(|| format!("read `{name}` in the archive"))?;
        Ok(text)
    }

    /// A small file that is named by its digest.
    fn blob(&mut self, descriptor: &Descriptor) -> Result<Vec<u8>, TemplateError> {
        let sum = Sum::parse(&descriptor.digest)?;
        let text = self.document(&blob_name(&sum))?;
        sum.matches(&text)?;
        Ok(text)
    }

    fn stream(&mut self, name: &str) -> Result<io::Take<&File>, TemplateError> {
        let mut wanted = clean(name);
        for _ in 0..8 {
            match self.links.get(&wanted) {
                Some(target) => wanted = target.clone(),
                None => break,
            }
        }
        let Some((offset, size)) = self.files.get(&wanted) else {
            return Err(TemplateError::invalid(format!("the archive has no `{name}`")));
        };
        (&self.file).seek(SeekFrom::Start(*offset)).doing(|| format!("read `{name}` in the archive"))?;
        Ok((&self.file).take(*size))
    }
}

/// A name as the index has it: no `.`, no `..`, no empty parts.
fn clean(name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn read_start(file: &mut File, start: &mut [u8; 4]) -> io::Result<usize> {
    let mut bytes = Vec::with_capacity(4);
    file.by_ref().take(4).read_to_end(&mut bytes)?;
    start[..bytes.len()].copy_from_slice(&bytes);
    file.seek(SeekFrom::Start(0))?;
    Ok(bytes.len())
}
