//! `/files`: files in and out over plain HTTP, of any size in constant memory.

mod compose;
mod download;
mod draft;
mod multipart;
mod sink;
mod upload;

pub(super) use compose::compose;
pub(super) use download::download;
pub(super) use draft::UNNAMED;
pub(super) use sink::Inflater;
pub(super) use upload::upload;

use std::{
    fs::{File, Metadata},
    path::Path,
};

use super::body::Refusal;
use http::StatusCode;

/// Chunks that move between the network and the disk.
pub(super) const CHUNK: usize = 256 << 10;
/// What is small is done at once; what is larger gets a thread for its disk work, so that nobody waits for a slow disk.
pub(super) const SMALL: u64 = 64 << 10;
/// Chunks that wait between the two.
pub(super) const WAITING: usize = 4;

/// Takes a form apart as it arrives in two pieces. How many bytes of content were in it.
#[cfg(feature = "fuzz")]
pub(super) fn fuzz(boundary: &str, bytes: &[u8], cut: usize) -> usize {
    let Some(mut form) = multipart::Multipart::of(&format!("multipart/form-data; boundary={boundary}")) else {
        return 0;
    };
    let (one, two) = bytes.split_at(cut.min(bytes.len()));
    let mut content = 0;
    for piece in [one, two] {
        form.push(piece);
        loop {
            match form.next_piece() {
                Ok(Some(multipart::Piece::Content(bytes))) => content += bytes.len(),
                Ok(Some(multipart::Piece::Part { .. })) => {}
                Ok(Some(multipart::Piece::End)) | Err(_) => return content,
                Ok(None) => break,
            }
        }
    }
    content
}

/// Refuses what is not a plain file: pipes and devices have no end, and some never begin.
fn plain_file(file: File, path: &Path) -> Result<File, Refusal> {
    only_plain(&file.metadata().map_err(|error| Refusal::of_io(&error, path))?, path)?;
    Ok(file)
}

fn only_plain(found: &Metadata, path: &Path) -> Result<(), Refusal> {
    let what = match found.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a directory",
        _ => "not a plain file",
    };
    Err(Refusal::new(StatusCode::BAD_REQUEST, format!("path '{}' is {what}", path.display())))
}

/// Takes what a caller still sends after it was refused, and throws it away: the refusal is answered meanwhile, and the
/// line stays usable unless there is too much of it.
pub(super) fn drain(mut body: hyper::body::Incoming) {
    use http_body_util::BodyExt;
    tokio::spawn(async move {
        let mut left: usize = 64 << 20;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, bytes::Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    });
}
