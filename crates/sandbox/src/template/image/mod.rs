//! Images, from a registry or from an archive: each of their layers becomes a layer of ours.
//!
//! What an image would start by itself is remembered in the template's origin and not started: a sandbox waits for its
//! owner's commands.

mod archive;
mod blob;
mod registry;

use std::collections::BTreeMap;

use carrel_model::TemplateName;
use jiff::Timestamp;
use serde::Deserialize;

use super::{Config, LayerId, Shelves, Template, TemplateError, tree::opaque_mark};

pub use archive::import_archive;
pub use registry::pull_image;

/// The documents of an image are small; a bigger one is not one.
const DOCUMENT: u64 = 8 << 20;

/// What an image says about itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ImageConfig {
    architecture: String,
    os: String,
    config: Option<Run>,
    rootfs: Option<RootFs>,
}

/// How an image wants to be run.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Run {
    env: Option<Vec<String>>,
    user: Option<String>,
    working_dir: Option<String>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RootFs {
    diff_ids: Vec<String>,
}

impl ImageConfig {
    fn read(text: &[u8]) -> Result<Self, TemplateError> {
        serde_json::from_slice(text)
            .map_err(|error| TemplateError::invalid(format!("the configuration of the image cannot be read: {error}")))
    }

    /// Refuses what this machine cannot run.
    fn fits(&self) -> Result<(), TemplateError> {
        let here = architecture();
        let os = if self.os.is_empty() { "linux" } else { &self.os };
        if os != "linux" || !(self.architecture.is_empty() || self.architecture == here) {
            return Err(TemplateError::unfit(format!(
                "the image is for {os}/{}, and this machine is linux/{here}",
                self.architecture
            )));
        }
        Ok(())
    }

    fn into_template(
        self,
        shelves: &Shelves,
        name: &TemplateName,
        layers: Vec<(LayerId, u64)>,
        from: &str,
    ) -> Result<Template, TemplateError> {
        let run = self.config.unwrap_or_default();
        let env: BTreeMap<String, String> = run
            .env
            .unwrap_or_default()
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let command: Vec<String> =
            run.entrypoint.unwrap_or_default().into_iter().chain(run.cmd.unwrap_or_default()).collect();
        let origin = if command.is_empty() {
            from.to_owned()
        } else {
            format!("{from}; by itself it would start `{}`", command.join(" "))
        };
        let mut kept: Vec<LayerId> = Vec::new();
        let mut bytes = 0;
        for (id, size) in layers {
            // Overlayfs does not look for the mark on the roots of its layers.
            if hides_all_below(shelves, &id) {
                kept.clear();
                bytes = 0;
            }
            kept.push(id);
            bytes += size;
        }
        Ok(Template {
            name: name.clone(),
            layers: kept,
            config: Config {
                env,
                user: run.user.filter(|user| !user.is_empty()),
                workdir: run.working_dir.filter(|folder| !folder.is_empty()),
                ..Config::default()
            },
            origin,
            bytes,
            made_at: Timestamp::now(),
            memory: false,
        })
    }
}

fn hides_all_below(shelves: &Shelves, id: &LayerId) -> bool {
    rustix::fs::getxattr(shelves.layer(id), opaque_mark(), &mut [0_u8; 8][..]).is_ok()
}

/// This machine's architecture in the words of images.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
