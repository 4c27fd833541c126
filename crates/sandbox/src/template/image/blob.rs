//! One layer of an image, from the bytes that a registry or an archive gives, checked while they pass.

use std::{
    fmt,
    io::{self, Cursor, Read},
};

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::super::{LayerId, Limits, Progress, Shelves, TemplateError, error::Doing, unpack::unpack};

/// A SHA-256, as images name their parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sum([u8; 32]);

impl Sum {
    /// Understands `sha256:…`.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut sum = [0; 32];
        match text.strip_prefix("sha256:").map(|digits| hex::decode_to_slice(digits, &mut sum)) {
            Some(Ok(())) => Ok(Sum(sum)),
            _ => Err(TemplateError::unfit(format!(
                "`{}` is not a SHA-256 digest, the only kind that Carrel checks",
                text.chars().take(100).collect::<String>()
            ))),
        }
    }

    pub(super) fn of(bytes: &[u8]) -> Self {
        Sum(Sha256::digest(bytes).into())
    }

    pub(super) fn digits(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.digits())
    }
}

/// What the bytes of a layer were promised to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Promise {
    /// The sum and the size of the bytes as they come.
    AsSent(Sum, u64),
    /// The sum of the bytes after they were expanded.
    Expanded(Sum),
}

impl Promise {
    /// What the layer that came of it is noted under.
    pub(super) fn note(&self) -> String {
        match self {
            Promise::AsSent(sum, _) => format!("blob-1-{}", sum.digits()),
            Promise::Expanded(sum) => format!("diff-1-{}", sum.digits()),
        }
    }
}

/// Makes a layer of a stream that keeps its promise. Blocks.
pub(super) fn shelve(
    shelves: &Shelves,
    stream: impl Read,
    promise: Promise,
    limits: &Limits,
    progress: &Progress,
) -> Result<(LayerId, u64), TemplateError> {
    let stream = progress.reading(stream);
    let draft = shelves.draft().doing(|| "begin a layer".to_owned())?;
    let (unpacked, found, wanted) = match promise {
        Promise::AsSent(sum, size) => {
            let mut summed = Summed::new(stream, size);
            let unpacked = expand(&mut summed).and_then(|tar| unpack(tar, draft.folder(), limits, progress));
            (unpacked, summed.finish(), sum)
        }
        Promise::Expanded(sum) => {
            // Archives pad with zeros, and little of that.
            let mut summed = Summed::new(expand(stream)?, limits.bytes.saturating_mul(2));
            let unpacked = unpack(&mut summed, draft.folder(), limits, progress);
            (unpacked, summed.finish(), sum)
        }
    };
    progress.go_on()?;
    // A broken stream is told as such, whatever became of its inside.
    let found = found.map_err(|error| TemplateError::invalid(format!("layer {wanted} cannot be read: {error}")))?;
    if found != wanted {
        return Err(TemplateError::invalid(format!("layer {wanted} is not what it should be: its digest is {found}")));
    }
    unpacked?;
    let (id, bytes) = shelves.adopt(draft.folder().to_owned()).doing(|| format!("shelve layer {wanted}"))?;
    shelves.note(&promise.note(), &id, bytes).doing(|| format!("note down layer {wanted}"))?;
    Ok((id, bytes))
}

/// Undoes gzip or zstd, whichever the first bytes show; their names are less reliable.
pub(super) fn expand<'a>(mut stream: impl Read + 'a) -> Result<Box<dyn Read + 'a>, TemplateError> {
    let mut start = Vec::with_capacity(4);
    stream.by_ref().take(4).read_to_end(&mut start).map_err(unreadable)?;
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    let zstd = start == [0x28, 0xb5, 0x2f, 0xfd];
    let whole = Cursor::new(start).chain(stream);
    if gzip {
        Ok(Box::new(MultiGzDecoder::new(whole)))
    } else if zstd {
        Ok(Box::new(zstd::stream::read::Decoder::new(whole).map_err(unreadable)?))
    } else {
        Ok(Box::new(whole))
    }
}

fn unreadable(error: io::Error) -> TemplateError {
    TemplateError::invalid(format!("the layer cannot be read: {error}"))
}

/// Sums up what passes, and lets no more pass than was promised.
struct Summed<R> {
    inner: R,
    sum: Sha256,
    left: u64,
}

impl<R: Read> Summed<R> {
    fn new(inner: R, most: u64) -> Self {
        Summed { inner, sum: Sha256::new(), left: most }
    }

    /// Reads what is left and gives the sum of everything.
    fn finish(mut self) -> io::Result<Sum> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(Sum(self.sum.finalize().into()))
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is longer than was said"))?;
        self.sum.update(&buffer[..read]);
        Ok(read)
    }
}
