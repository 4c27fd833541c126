//! Files in.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use serde::Serialize;

use super::{
    super::{
        body::{Answer, Refusal, json},
        filesystem::{metadata_of, note_name},
        paths,
        serve::Asked,
        users::User,
    },
    Inflater,
    draft::Target,
    drain,
    multipart::{Multipart, Piece},
    sink::Sink,
};

const LONGEST_NOTE_NAME: usize = 246;
const MOST_NOTES: usize = 4096;

/// A file that was written.
#[derive(Serialize)]
struct Written {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// Takes one file as it is, or several as a form.
pub(in crate::daemon) async fn upload(mut asked: Asked) -> Result<Answer, Refusal> {
    let result = take(&mut asked).await;
    if result.is_err() {
        drain(asked.request.into_body());
    }
    Ok(json(StatusCode::OK, &result?))
}

async fn take(asked: &mut Asked) -> Result<Vec<Written>, Refusal> {
    let user = asked.named_user()?;
    let notes = notes(asked.request.headers())?;
    let path = asked.parameter("path").filter(|path| !path.is_empty());
    let coding = asked.header(header::CONTENT_ENCODING);
    let inflater =
        Inflater::of(coding).ok_or_else(|| bad(format!("coding {} is not understood", coding.unwrap_or(""))))?;
    let kind = asked.header(header::CONTENT_TYPE).unwrap_or("").to_owned();
    let essence = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let mut upload = Upload { user, notes, written: Vec::new(), seen: HashSet::new(), open: None };
    let mut source = Source { asked, inflater, ready: Vec::new(), over: false };
    match essence.as_str() {
        "application/octet-stream" => {
            let path = path.ok_or_else(|| bad("a path is needed to write a file as it is"))?;
            upload.open(&path)?;
            while let Some(bytes) = source.next().await? {
                upload.write(bytes).await?;
            }
            upload.close().await?;
        }
        "multipart/form-data" => {
            let mut form = Multipart::of(&kind).ok_or_else(|| bad("the form has no boundary"))?;
            'form: loop {
                while let Some(piece) = form.next_piece().map_err(bad)? {
                    match piece {
                        Piece::Part { name, filename } => {
                            upload.close().await?;
                            if name == "file" {
                                let target = path.clone().or(filename).filter(|target| !target.is_empty());
                                upload.open(&target.ok_or_else(|| bad("a file of the form has no name"))?)?;
                            }
                        }
                        Piece::Content(bytes) => upload.write(bytes).await?,
                        Piece::End => break 'form,
                    }
                }
                match source.next().await? {
                    Some(bytes) => form.push(&bytes),
                    None => return Err(bad("the form broke off")),
                }
            }
            upload.close().await?;
            while source.next().await?.is_some() {}
        }
        other => return Err(bad(format!("content type '{other}' is not understood"))),
    }
    Ok(upload.written)
}

struct Upload {
    user: User,
    notes: BTreeMap<String, String>,
    written: Vec<Written>,
    seen: HashSet<PathBuf>,
    open: Option<Sink>,
}

impl Upload {
    fn open(&mut self, path: &str) -> Result<(), Refusal> {
        let path = paths::resolve(path, &self.user, None)?;
        if !self.seen.insert(path.clone()) {
            return Err(bad(format!("path '{}' is written twice", path.display())));
        }
        self.open = Some(Sink::new(Target::find(&path, &self.user)?));
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), Refusal> {
        match &mut self.open {
            Some(sink) => match sink.write(bytes).await {
                Ok(()) => Ok(()),
                Err(error) => Err(Refusal::of_io(&error, sink.path())),
            },
            // A part that is not a file.
            None => Ok(()),
        }
    }

    async fn close(&mut self) -> Result<(), Refusal> {
        let Some(sink) = self.open.take() else { return Ok(()) };
        let (path, notes) = (sink.path().to_owned(), self.notes.clone());
        let about = path.clone();
        sink.finish(move |file| note(file, &about, &notes)).await?;
        self.written.push(Written {
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            kind: "file",
            path: path.to_string_lossy().into_owned(),
            metadata: self.notes.clone(),
        });
        Ok(())
    }
}

/// The body, with its coding undone.
struct Source<'a> {
    asked: &'a mut Asked,
    inflater: Inflater,
    /// Pieces that wait, the next one last.
    ready: Vec<Bytes>,
    over: bool,
}

impl Source<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        let broken = |error: std::io::Error| bad(format!("the content is not gzip: {error}"));
        loop {
            if let Some(piece) = self.ready.pop() {
                let bytes = self.inflater.inflate(piece).map_err(broken)?;
                if bytes.is_empty() {
                    continue;
                }
                return Ok(Some(bytes));
            }
            if self.over {
                return Ok(None);
            }
            match self.asked.request.body_mut().frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.ready = self.inflater.pieces(data);
                        self.ready.reverse();
                    }
                }
                Some(Err(error)) => return Err(bad(format!("the upload broke off: {error}"))),
                None => {
                    self.over = true;
                    let rest = self.inflater.finish().map_err(broken)?;
                    return Ok(Some(rest).filter(|rest| !rest.is_empty()));
                }
            }
        }
    }
}

/// What the caller wants noted with the file.
fn notes(headers: &HeaderMap) -> Result<BTreeMap<String, String>, Refusal> {
    let mut notes = BTreeMap::new();
    let mut total = 0;
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix("x-metadata-").filter(|key| !key.is_empty()) else { continue };
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        if key.len() > LONGEST_NOTE_NAME {
            return Err(bad(format!("the name of a note is longer than {LONGEST_NOTE_NAME} bytes")));
        }
        total += key.len() + value.len();
        notes.insert(key.to_owned(), value);
    }
    if total > MOST_NOTES {
        return Err(bad(format!("the notes are longer than {MOST_NOTES} bytes")));
    }
    Ok(notes)
}

/// Replaces all notes of a file.
fn note(file: &File, path: &Path, notes: &BTreeMap<String, String>) -> Result<(), Refusal> {
    for old in metadata_of(path).keys().filter(|old| !notes.contains_key(*old)) {
        let _ = rustix::fs::fremovexattr(file, note_name(old));
    }
    for (key, value) in notes {
        rustix::fs::fsetxattr(file, note_name(key), value.as_bytes(), rustix::fs::XattrFlags::empty())
            .map_err(|error| bad(format!("note '{key}' cannot be kept with '{}': {error}", path.display())))?;
    }
    Ok(())
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, message)
}
