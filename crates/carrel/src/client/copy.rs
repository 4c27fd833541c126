//! `carrel sandbox cp`: files and folders, in, out and across. Folders travel as tar archives.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use reqwest::{Body, Method, Response};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{Client, exec::stdin, sandbox::resolve};
use crate::{
    failure::{Exit, Failure},
    say::{self, Transfer},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to copy: PATH, ID:PATH, or `-` for standard input
    from: String,
    /// Where to: PATH, ID:PATH, or `-` for standard output
    to: String,
    /// As whom, inside
    #[arg(long, short)]
    user: Option<String>,
}

/// One end of a copy.
enum End {
    Here(PathBuf),
    Pipe,
    Inside { id: String, path: String },
}

impl Args {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        let (from, to) = (end(client, &self.from).await?, end(client, &self.to).await?);
        let user = self.user.as_deref();
        match (from, to) {
            (End::Here(from), End::Inside { id, path }) => upload(client, &from, &id, path, user).await,
            (End::Pipe, End::Inside { id, path }) => {
                let body = Body::wrap_stream(watched(None, ReceiverStream::new(stdin()).map(Ok)));
                put(client, &id, &path, user, false, body).await
            }
            (End::Inside { id, path }, End::Here(to)) => download(client, &id, &path, to, user).await,
            (End::Inside { id, path }, End::Pipe) => {
                let mut bytes = get(client, &id, &path, user).await?.bytes_stream();
                while let Some(piece) = bytes.next().await {
                    if !say::bytes(&piece.map_err(|error| client.unreachable(&error))?) {
                        break;
                    }
                }
                Ok(())
            }
            (End::Inside { id, path }, End::Inside { id: other, path: to }) => {
                let found = get(client, &id, &path, user).await?;
                let folder = is_folder(&found);
                let body = Body::wrap_stream(watched(
                    found.content_length(),
                    found.bytes_stream().map(|piece| piece.map_err(io::Error::other)),
                ));
                put(client, &other, &to, user, folder, body).await
            }
            (End::Here(_) | End::Pipe, End::Here(_) | End::Pipe) => {
                Err(Failure::new("one side must be in a sandbox").hint("write it as ID:PATH").exit(Exit::Usage))
            }
        }
    }
}

async fn end(client: &Client, text: &str) -> Result<End, Failure> {
    if text == "-" {
        return Ok(End::Pipe);
    }
    match text.split_once(':') {
        Some((id, path)) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) => {
            let path = if path.is_empty() { "." } else { path };
            Ok(End::Inside { id: resolve(client, id).await?, path: path.to_owned() })
        }
        _ => Ok(End::Here(text.into())),
    }
}

async fn upload(client: &Client, from: &Path, id: &str, path: String, user: Option<&str>) -> Result<(), Failure> {
    let about = std::fs::metadata(from).map_err(|error| trouble(from, &error))?;
    let name =
        from.canonicalize().ok().and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    // Into a folder that is there, under its own name; else under the name that was given.
    let path = match name {
        Some(name) if path.ends_with('/') || is_folder_inside(client, id, &path, user).await? => {
            format!("{}/{name}", path.trim_end_matches('/'))
        }
        _ => path,
    };
    let body = if about.is_dir() { packed(from)? } else { read(from).await? };
    put(client, id, &path, user, about.is_dir(), body).await
}

async fn download(client: &Client, id: &str, path: &str, to: PathBuf, user: Option<&str>) -> Result<(), Failure> {
    let found = get(client, id, path, user).await?;
    let name = Path::new(path).file_name().map(|name| name.to_owned());
    let to = match name {
        Some(name) if to.is_dir() => to.join(name),
        _ => to,
    };
    let folder = is_folder(&found);
    let bytes = watched(found.content_length(), found.bytes_stream().map(|piece| piece.map_err(io::Error::other)));
    let (told, hears) = mpsc::channel::<io::Result<Bytes>>(16);
    let writing = tokio::task::spawn_blocking({
        let to = to.clone();
        move || write(&to, folder, Incoming { pieces: hears, rest: Bytes::new() })
    });
    let mut bytes = std::pin::pin!(bytes);
    while let Some(piece) = bytes.next().await {
        if told.send(piece).await.is_err() {
            break;
        }
    }
    drop(told);
    let written = writing.await.map_err(|error| Failure::new(error.to_string()))?;
    written.map_err(|error| trouble(&to, &error))
}

fn write(to: &Path, folder: bool, mut incoming: Incoming) -> io::Result<()> {
    if !folder {
        let mut file = std::fs::File::create(to)?;
        io::copy(&mut incoming, &mut file)?;
        return Ok(());
    }
    std::fs::create_dir_all(to)?;
    let mut archive = tar::Archive::new(incoming);
    // Not as they are: a guest's programs must not run here with the rights of whoever copies them.
    archive.set_preserve_permissions(false);
    archive.set_preserve_ownerships(false);
    archive.unpack(to)
}

async fn get(client: &Client, id: &str, path: &str, user: Option<&str>) -> Result<Response, Failure> {
    client.send(client.request(Method::GET, &format!("/sandboxes/{id}/files"))?.query(&place(path, user))).await
}

async fn put(client: &Client, id: &str, path: &str, user: Option<&str>, tar: bool, body: Body) -> Result<(), Failure> {
    let mut query = place(path, user);
    if tar {
        query.push(("extract", "tar"));
    }
    let request = client.request(Method::PUT, &format!("/sandboxes/{id}/files"))?.query(&query);
    client.send(request.body(body)).await.map(drop)
}

fn place<'p>(path: &'p str, user: Option<&'p str>) -> Vec<(&'static str, &'p str)> {
    let mut query = vec![("path", path)];
    query.extend(user.map(|user| ("user", user)));
    query
}

fn is_folder(found: &Response) -> bool {
    found.headers().get("carrel-file-kind").is_some_and(|kind| kind == "directory")
}

async fn is_folder_inside(client: &Client, id: &str, path: &str, user: Option<&str>) -> Result<bool, Failure> {
    let request = client.request(Method::HEAD, &format!("/sandboxes/{id}/files"))?.query(&place(path, user));
    let answer = request.send().await.map_err(|error| client.unreachable(&error))?;
    Ok(answer.status().is_success() && is_folder(&answer))
}

/// A file here, bit by bit.
pub(super) async fn read(path: &Path) -> Result<Body, Failure> {
    let mut file = std::fs::File::open(path).map_err(|error| trouble(path, &error))?;
    let size = file.metadata().ok().map(|about| about.len());
    let pieces =
        from_thread(move |told| io::copy(&mut file, &mut io::BufWriter::with_capacity(256 * 1024, told)).map(drop));
    Ok(Body::wrap_stream(watched(size, pieces)))
}

/// A folder here, as a tar archive, bit by bit.
pub(super) fn packed(path: &Path) -> Result<Body, Failure> {
    std::fs::read_dir(path).map_err(|error| trouble(path, &error))?;
    let path = path.to_owned();
    let pieces = from_thread(move |told| {
        let mut archive = tar::Builder::new(io::BufWriter::with_capacity(256 * 1024, told));
        archive.follow_symlinks(false);
        archive.append_dir_all(".", &path)?;
        archive.into_inner()?.flush()
    });
    Ok(Body::wrap_stream(watched(None, pieces)))
}

/// What a thread writes, as a stream.
fn from_thread(
    write: impl FnOnce(Outgoing) -> io::Result<()> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (told, hears) = mpsc::channel(8);
    std::thread::spawn(move || {
        if let Err(error) = write(Outgoing(told.clone())) {
            let _ = told.blocking_send(Err(error));
        }
    });
    ReceiverStream::new(hears)
}

/// Shows how far a stream has come.
fn watched(
    size: Option<u64>,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let mut transfer = Transfer::new(size);
    pieces.inspect(move |piece| {
        if let Ok(piece) = piece {
            transfer.add(piece.len());
        }
    })
}

struct Outgoing(mpsc::Sender<io::Result<Bytes>>);

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Incoming {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let size = self.rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&self.rest.split_to(size));
        Ok(size)
    }
}

fn trouble(path: &Path, error: &io::Error) -> Failure {
    let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Failed };
    Failure::new(format!("{}: {error}", path.display())).exit(exit)
}
