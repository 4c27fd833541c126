//! Images in registries.

use std::{io, time::Duration};

use carrel_model::TemplateName;
use futures::{StreamExt, TryStreamExt};
use oci_client::{
    Client, Reference,
    client::{ClientConfig, ClientProtocol},
    errors::{DigestError, OciDistributionError, OciErrorCode},
    manifest::{OciDescriptor, OciImageManifest, OciManifest},
    secrets::RegistryAuth,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc;

use super::super::{LayerId, Limits, Progress, Shelves, Template, TemplateError, arriving::Arriving, error::aside};
use super::{
    DOCUMENT, ImageConfig, architecture,
    blob::{Promise, Sum, shelve},
};

/// Layers that come at the same time.
const TOGETHER: usize = 3;
/// How often a layer is asked for whose line breaks.
const TRIES: usize = 3;

/// Makes a template of an image in a registry. Registries are asked over https; one on this machine (`localhost`,
/// `127.0.0.1`) over http. Layers that are on the shelves are not fetched again. Nothing is kept yet: that is
/// [`Shelves::keep`].
pub async fn pull_image(
    shelves: &Shelves,
    name: &TemplateName,
    reference: &str,
    login: Option<&(String, SecretString)>,
    progress: &Progress,
) -> Result<Template, TemplateError> {
    let image: Reference = reference
        .parse()
        .map_err(|error| TemplateError::invalid(format!("`{reference}` is not the name of an image: {error}")))?;
    progress.say(format!("asking {} for {}", image.resolve_registry(), image.repository()));
    let line = Line::open(image, login)?;
    let (manifest, digest) = progress.unless_called_off(line.manifest()).await?;
    let config = ImageConfig::read(&progress.unless_called_off(line.document(&manifest.config)).await?)?;
    config.fits()?;
    let count = manifest.layers.len();
    // Collected first: a stream of borrowing futures is not known to be `Send`.
    let fetching: Vec<_> = (manifest.layers.iter().enumerate())
        .map(|(index, layer)| line.layer(shelves, layer, format!("layer {}/{count}", index + 1), progress))
        .collect();
    let layers: Vec<(LayerId, u64)> = futures::stream::iter(fetching).buffered(TOGETHER).try_collect().await?;
    config.into_template(shelves, name, layers, &format!("image {} ({digest})", line.image.whole()))
}

/// A line to a registry, about one image.
struct Line {
    client: Client,
    image: Reference,
    auth: RegistryAuth,
}

impl Line {
    fn open(image: Reference, login: Option<&(String, SecretString)>) -> Result<Self, TemplateError> {
        // The server chose one for the whole process; a program without a server has not.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let registry = image.resolve_registry().to_owned();
        let config = ClientConfig {
            protocol: if is_here(&registry) {
                ClientProtocol::HttpsExcept(vec![registry])
            } else {
                ClientProtocol::Https
            },
            connect_timeout: Some(Duration::from_secs(30)),
            read_timeout: Some(Duration::from_secs(120)),
            user_agent: "carrel",
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(|error| TemplateError::unfit(error.to_string()))?;
        let auth = match login {
            Some((user, secret)) => RegistryAuth::Basic(user.clone(), secret.expose_secret().to_owned()),
            None => RegistryAuth::Anonymous,
        };
        Ok(Line { client, image, auth })
    }

    /// The manifest for this machine.
    async fn manifest(&self) -> Result<(OciImageManifest, String), TemplateError> {
        let here = architecture();
        let (manifest, digest) =
            self.client.pull_manifest(&self.image, &self.auth).await.map_err(|error| self.explain(error))?;
        let index = match manifest {
            OciManifest::Image(manifest) => return Ok((manifest, digest)),
            OciManifest::ImageIndex(index) => index,
        };
        let platform = |entry: &oci_client::manifest::ImageIndexEntry| {
            entry.platform.as_ref().map(|platform| format!("{}/{}", platform.os, platform.architecture))
        };
        let wanted = format!("linux/{here}");
        let Some(entry) = index.manifests.iter().find(|entry| platform(entry).as_deref() == Some(&wanted)) else {
            let offered: Vec<String> = index.manifests.iter().filter_map(platform).collect();
            return Err(TemplateError::unfit(format!(
                "{} has nothing for {wanted}; it has {}",
                self.image.whole(),
                offered.join(", ")
            )));
        };
        Sum::parse(&entry.digest)?;
        let image = self.image.clone_with_digest(entry.digest.clone());
        match self.client.pull_manifest(&image, &self.auth).await.map_err(|error| self.explain(error))? {
            (OciManifest::Image(manifest), digest) => Ok((manifest, digest)),
            _ => Err(TemplateError::invalid(format!("an index of {} leads to another index", self.image.whole()))),
        }
    }

    /// A small blob, whole.
    async fn document(&self, descriptor: &OciDescriptor) -> Result<Vec<u8>, TemplateError> {
        let sum = Sum::parse(&descriptor.digest)?;
        let stream =
            self.client.pull_blob_stream(&self.image, descriptor).await.map_err(|error| self.explain(error))?;
        let mut stream = stream.stream;
        let mut text = Vec::new();
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(piece) => text.extend_from_slice(&piece),
                Err(error) if is_wrong(&error) => break,
                Err(error) => return Err(self.broken(&error)),
            }
            if text.len() as u64 > DOCUMENT {
                return Err(TemplateError::invalid(format!("{sum} has more than {DOCUMENT} bytes")));
            }
        }
        let found = Sum::of(&text);
        if found != sum {
            return Err(TemplateError::invalid(format!("{sum} is not what it should be: its digest is {found}")));
        }
        Ok(text)
    }

    async fn layer(
        &self,
        shelves: &Shelves,
        descriptor: &OciDescriptor,
        step: String,
        progress: &Progress,
    ) -> Result<(LayerId, u64), TemplateError> {
        if descriptor.media_type.contains("encrypted") {
            return Err(TemplateError::unfit(format!("{step} is encrypted")));
        }
        let size = u64::try_from(descriptor.size).map_err(|_| TemplateError::invalid(format!("{step} has no size")))?;
        let promise = Promise::AsSent(Sum::parse(&descriptor.digest)?, size);
        if let Some(known) = shelves.recall(&promise.note()) {
            progress.say(format!("{step} (known)"));
            return Ok(known);
        }
        progress.say(format!("{step}: {size} bytes"));
        let mut tries = 1;
        loop {
            match self.fetch(shelves, descriptor, promise, progress).await {
                Err(TemplateError::Unavailable { why }) if tries < TRIES && progress.go_on().is_ok() => {
                    progress.say(format!("{step}: {why}; once more"));
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Unpacks a layer while it comes.
    async fn fetch(
        &self,
        shelves: &Shelves,
        descriptor: &OciDescriptor,
        promise: Promise,
        progress: &Progress,
    ) -> Result<(LayerId, u64), TemplateError> {
        let asking =
            async { self.client.pull_blob_stream(&self.image, descriptor).await.map_err(|error| self.explain(error)) };
        let mut stream = progress.unless_called_off(asking).await?.stream;
        let (pieces, arriving) = mpsc::channel(16);
        let unpacking = {
            let (shelves, progress) = (shelves.clone(), progress.clone());
            aside(move || shelve(&shelves, Arriving::new(arriving), promise, &Limits::default(), &progress))
        };
        let pump = async move {
            while let Some(piece) = stream.next().await {
                // Nobody listens when the unpacking gave up.
                if pieces.send(piece?).await.is_err() {
                    break;
                }
            }
            Ok(())
        };
        // Called off, the line goes; the unpacking hears of it by the end of its stream, and is waited for.
        let pump = async move {
            tokio::select! {
                pumped = pump => pumped,
                () = progress.is_called_off() => Ok(()),
            }
        };
        let (unpacked, pumped) = futures::join!(unpacking, pump);
        match pumped {
            Err(error) if !is_wrong(&error) => Err(self.broken(&error)),
            _ => unpacked,
        }
    }

    fn broken(&self, error: &io::Error) -> TemplateError {
        TemplateError::unavailable(format!("the line to {} broke: {error}", self.image.resolve_registry()))
    }

    fn explain(&self, error: OciDistributionError) -> TemplateError {
        use OciDistributionError as From;
        let (registry, image) = (self.image.resolve_registry(), self.image.whole());
        let missing = || TemplateError::invalid(format!("there is no image {image}"));
        let login = || {
            TemplateError::unfit(match self.auth {
                RegistryAuth::Anonymous => {
                    format!("{registry} wants to know who asks for {image}, or has no such image: give a login")
                }
                _ => format!("{registry} does not let this login have {image}"),
            })
        };
        match error {
            From::UnauthorizedError { .. } | From::AuthenticationFailure(_) => login(),
            From::ImageManifestNotFoundError(_) | From::ServerError { code: 404, .. } => missing(),
            From::ServerError { code: 401 | 403, .. } => login(),
            From::RegistryError { envelope, .. } => match envelope.errors.first().map(|error| &error.code) {
                Some(OciErrorCode::ManifestUnknown | OciErrorCode::NameUnknown | OciErrorCode::NotFound) => missing(),
                Some(OciErrorCode::Unauthorized | OciErrorCode::Denied) => login(),
                Some(OciErrorCode::Toomanyrequests) => {
                    TemplateError::unavailable(format!("{registry} has had too many requests; try later"))
                }
                _ => TemplateError::unavailable(format!("{registry} did not give {image}: {envelope}")),
            },
            From::RequestError(error) => {
                TemplateError::unavailable(format!("{registry} did not answer: {}", chain(&error)))
            }
            From::ServerError { code, .. } => {
                TemplateError::unavailable(format!("{registry} answered with status {code}"))
            }
            From::IoError(error) => self.broken(&error),
            other => TemplateError::invalid(format!("{registry} did not give {image} as it should: {other}")),
        }
    }
}

/// A digest that does not match ends a stream too; that is not the line's fault.
fn is_wrong(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<DigestError>())
}

/// An error with its causes; the outermost of an http client says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Whether a registry is on this machine.
fn is_here(registry: &str) -> bool {
    let host = match registry.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => registry,
    };
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
