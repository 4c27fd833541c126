//! Unwrapping: bytes from outside, of which nothing is believed before it was read by its type.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek},
    path::Path,
};

use carrel_model::{parcel::Parcel, session::Moment};
use futures::StreamExt;
use tokio::io::AsyncWriteExt;

use super::wrap::{CARD, TIMELINE, WORK};
use crate::{Content, Error};

/// The largest parcel.
const MOST_BYTES: u64 = 8 << 30;
/// The largest card.
const MOST_CARD: u64 = 16 << 20;
/// The longest timeline, in bytes and in moments.
const MOST_TIMELINE: u64 = 512 << 20;
const MOST_MOMENTS: usize = 100_000;

/// Reads a parcel from its bytes: the card, the moments in order, and the file with the commits.
pub(super) async fn unwrap(folder: &Path, content: Content) -> Result<(Parcel, Vec<Moment>, File), Error> {
    let place = folder.join("parcel.tar");
    receive(&place, content).await?;
    let folder = folder.to_owned();
    let read = tokio::task::spawn_blocking(move || read(&folder, File::open(place).map_err(super::broken)?));
    read.await.map_err(|ended| Error::Internal(Box::new(ended)))?
}

async fn receive(place: &Path, mut content: Content) -> Result<(), Error> {
    let mut file = tokio::fs::File::create(place).await.map_err(super::broken)?;
    let mut total = 0;
    while let Some(piece) = content.next().await {
        let piece = piece.map_err(|_| odd("the body broke off"))?;
        total += piece.len() as u64;
        if total > MOST_BYTES {
            return Err(odd(format!("a parcel has at most {} GiB", MOST_BYTES >> 30)));
        }
        file.write_all(&piece).await.map_err(super::broken)?;
    }
    file.flush().await.map_err(super::broken)
}

/// The three files, in their order, each as large as it may be, and nothing else.
fn read(folder: &Path, archive: impl Read) -> Result<(Parcel, Vec<Moment>, File), Error> {
    let no_archive = |error: io::Error| odd(format!("it is not a parcel: {error}"));
    let mut archive = tar::Archive::new(archive);
    let (mut card, mut moments, mut work) = (None, None, None);
    for entry in archive.entries().map_err(no_archive)? {
        let entry = entry.map_err(no_archive)?;
        let name = entry.path_bytes().into_owned();
        if !entry.header().entry_type().is_file() {
            return Err(odd("it is not a parcel: something in it is not a plain file"));
        }
        match name.as_slice() {
            name if name == CARD.as_bytes() && card.is_none() => card = Some(read_card(entry)?),
            name if name == TIMELINE.as_bytes() && moments.is_none() => moments = Some(read_moments(entry)?),
            name if name == WORK.as_bytes() && work.is_none() => work = Some(keep(folder, entry)?),
            other => {
                let name = String::from_utf8_lossy(other).chars().take(80).collect::<String>();
                return Err(odd(format!("it is not a parcel: nobody expects {name:?} in it")));
            }
        }
    }
    match (card, moments, work) {
        (Some(card), Some(moments), Some(work)) => Ok((card, moments, work)),
        _ => Err(odd(format!("it is not a parcel: it holds {CARD}, {TIMELINE} and {WORK}"))),
    }
}

fn read_card(entry: impl Read) -> Result<Parcel, Error> {
    serde_json::from_reader(entry.take(MOST_CARD)).map_err(|error| odd(format!("{CARD} cannot be understood: {error}")))
}

fn read_moments(entry: impl Read) -> Result<Vec<Moment>, Error> {
    let mut moments: Vec<Moment> = Vec::new();
    for line in BufReader::new(entry.take(MOST_TIMELINE)).lines() {
        let line = line.map_err(|error| odd(format!("{TIMELINE} cannot be read: {error}")))?;
        let number = moments.len() + 1;
        let moment: Moment = serde_json::from_str(&line)
            .map_err(|error| odd(format!("line {number} of {TIMELINE} cannot be understood: {error}")))?;
        if moment.seq <= moments.last().map_or(0, |before| before.seq) || moment.seq > i64::from(i32::MAX) {
            return Err(odd(format!("line {number} of {TIMELINE} is not in its place")));
        }
        if number > MOST_MOMENTS {
            return Err(odd(format!("a timeline has at most {MOST_MOMENTS} moments")));
        }
        moments.push(moment);
    }
    Ok(moments)
}

fn keep(folder: &Path, mut entry: impl Read) -> Result<File, Error> {
    let mut file = tempfile::tempfile_in(folder).map_err(super::broken)?;
    io::copy(&mut entry, &mut file).and_then(|_| file.rewind()).map_err(super::broken)?;
    Ok(file)
}

fn odd(why: impl Into<String>) -> Error {
    Error::field("body", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, name, *content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn what_is_no_parcel_is_refused_in_a_sentence_and_never_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let say = |bytes: &[u8]| read(folder.path(), bytes).unwrap_err().to_string();
        assert!(say(b"").contains("it holds task.json"), "{}", say(b""));
        assert!(say(&[7; 700]).contains("not a parcel"));
        let stranger = archive(&[("../../etc/passwd", b"x")].map(|_| ("etc/passwd", b"x".as_slice())));
        assert!(say(&stranger).contains("nobody expects \"etc/passwd\""), "{}", say(&stranger));
        assert!(say(&archive(&[(CARD, b"{}")])).contains("task.json cannot be understood"));
        assert!(say(&archive(&[(TIMELINE, b"{}\n")])).contains("line 1 of timeline.jsonl"));
        assert!(say(&archive(&[(WORK, b""), (WORK, b"")])).contains("nobody expects"));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_unwrapping_panic(bytes: Vec<u8>) {
            let folder = tempfile::tempdir().unwrap();
            let _ = read(folder.path(), bytes.as_slice());
            let _ = read(folder.path(), archive(&[(CARD, &bytes), (TIMELINE, &bytes), (WORK, &bytes)]).as_slice());
        }
    }
}
