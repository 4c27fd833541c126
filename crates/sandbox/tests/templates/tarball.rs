//! Tarballs by hand, with names that no honest library would write.

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::io::Write;
use tar::{EntryType, Header};

pub(crate) struct Tarball(Vec<u8>);

impl Tarball {
    pub(crate) fn new() -> Self {
        Tarball(Vec::new())
    }

    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, name, "", 0o644, (0, 0), content.as_bytes())
    }

    pub(crate) fn folder(self, name: &str, mode: u32) -> Self {
        self.entry(EntryType::Directory, name, "", mode, (0, 0), b"")
    }

    pub(crate) fn link(self, name: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, name, target, 0o777, (0, 0), b"")
    }

    pub(crate) fn hard(self, name: &str, target: &str) -> Self {
        self.entry(EntryType::Link, name, target, 0o644, (0, 0), b"")
    }

    /// Attributes for the entry that follows.
    pub(crate) fn attributes(self, pairs: &[(&str, &str)]) -> Self {
        let mut text = String::new();
        for (name, value) in pairs {
            let rest = format!(" {name}={value}\n");
            let mut length = rest.len() + 1;
            while length != rest.len() + length.to_string().len() {
                length = rest.len() + length.to_string().len();
            }
            text.push_str(&format!("{length}{rest}"));
        }
        self.entry(EntryType::XHeader, "pax", "", 0o644, (0, 0), text.as_bytes())
    }

    pub(crate) fn entry(
        mut self,
        kind: EntryType,
        name: &str,
        target: &str,
        mode: u32,
        owner: (u64, u64),
        content: &[u8],
    ) -> Self {
        if name.len() > 100 {
            self = self.entry(EntryType::GNULongName, "././@LongLink", "", 0o644, (0, 0), name.as_bytes());
        }
        let mut header = Header::new_gnu();
        let field = &mut header.as_gnu_mut().unwrap().name;
        let length = name.len().min(field.len());
        field[..length].copy_from_slice(&name.as_bytes()[..length]);
        let field = &mut header.as_gnu_mut().unwrap().linkname;
        field[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(owner.0);
        header.set_gid(owner.1);
        header.set_mtime(1_600_000_000);
        header.set_size(content.len() as u64);
        if matches!(kind, EntryType::Char | EntryType::Block) {
            header.set_device_major(1).unwrap();
            header.set_device_minor(3).unwrap();
        }
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    pub(crate) fn done(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

pub(crate) fn sum(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// This machine in the words of images.
pub(crate) fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// The configuration of an image whose layers expand to these.
pub(crate) fn image_config(plain_layers: &[&[u8]]) -> String {
    let sums: Vec<String> = plain_layers.iter().map(|layer| sum(layer)).collect();
    serde_json::json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/bin", "EQUATION=a=b"],
            "User": "1000:1000",
            "WorkingDir": "/srv",
            "Entrypoint": ["/bin/tool"],
            "Cmd": ["serve"],
        },
        "rootfs": {"type": "layers", "diff_ids": sums},
    })
    .to_string()
}
