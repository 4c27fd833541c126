//! Files out.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Method, Response, StatusCode, header};
use rustix::fs::{Mode, OFlags};
use tokio::sync::mpsc;

use super::{
    super::{
        body::{Answer, Body, Refusal, status},
        paths,
        serve::Asked,
    },
    CHUNK, SMALL, WAITING, plain_file,
};

/// Gives a file, or a range of it. It is read to its end rather than to its size: files of procfs say they are empty.
pub(in crate::daemon) async fn download(asked: Asked) -> Result<Answer, Refusal> {
    let user = asked.named_user()?;
    let path = paths::resolve(&asked.parameter("path").unwrap_or_default(), &user, None)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| Refusal::of_io(&error.into(), &path))?;
    let mut file = plain_file(file.into(), &path)?;
    let found = file.metadata().map_err(|error| Refusal::of_io(&error, &path))?;
    let size = found.len();
    let modified = http_date(found.mtime());

    let coding = coding(asked.header(header::ACCEPT_ENCODING))?;
    if asked.header(header::IF_MODIFIED_SINCE) == Some(modified.as_str()) {
        return Ok(status(StatusCode::NOT_MODIFIED));
    }
    let same = asked.header(header::IF_RANGE).is_none_or(|since| since == modified);
    let range = asked.header(header::RANGE).filter(|_| coding == Coding::Identity && same && size > 0);
    let mut answer = Response::new(Body::empty());
    let mut length = size;
    match range.map(|range| understand_range(range, size)) {
        Some(Some((from, to))) => {
            length = to - from + 1;
            file.seek(SeekFrom::Start(from)).map_err(|error| Refusal::of_io(&error, &path))?;
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(&mut answer, header::CONTENT_RANGE, &format!("bytes {from}-{to}/{size}"));
        }
        Some(None) => {
            let mut answer = status(StatusCode::RANGE_NOT_SATISFIABLE);
            set(&mut answer, header::CONTENT_RANGE, &format!("bytes */{size}"));
            return Ok(answer);
        }
        None => {}
    }
    set(&mut answer, header::CONTENT_TYPE, "application/octet-stream");
    set(&mut answer, header::CONTENT_DISPOSITION, &disposition(&path));
    set(&mut answer, header::LAST_MODIFIED, &modified);
    set(&mut answer, header::VARY, "Accept-Encoding");
    if coding == Coding::Gzip {
        set(&mut answer, header::CONTENT_ENCODING, "gzip");
    } else {
        set(&mut answer, header::ACCEPT_RANGES, "bytes");
    }
    if *asked.request.method() == Method::HEAD {
        // As long as what would come, as far as that is known without reading.
        let known = Some(length).filter(|_| coding == Coding::Identity);
        *answer.body_mut() = Body::stream(stream::empty(), known);
        return Ok(answer);
    }
    *answer.body_mut() = content(file, size, length, coding).map_err(|error| Refusal::of_io(&error, &path))?;
    Ok(answer)
}

fn content(file: File, size: u64, length: u64, coding: Coding) -> io::Result<Body> {
    if coding == Coding::Identity && length <= SMALL {
        let mut bytes = Vec::new();
        // A file of unknown length (it says 0) is read here as long as it is small.
        let most = if size == 0 { SMALL } else { length };
        let mut reader = file.take(most);
        reader.read_to_end(&mut bytes)?;
        if size > 0 || (bytes.len() as u64) < most {
            return Ok(Body::Whole(Some(Bytes::from(bytes)).filter(|bytes| !bytes.is_empty())));
        }
        return Ok(Body::stream(beside(reader.into_inner(), None, coding, Some(bytes.into())), None));
    }
    let known = Some(length).filter(|_| coding == Coding::Identity && size > 0);
    Ok(Body::stream(beside(file, known, coding, None), known))
}

/// Reads on a thread beside, a few chunks ahead of the caller. When fewer bytes come than were promised the line breaks.
fn beside(
    file: File,
    length: Option<u64>,
    coding: Coding,
    first: Option<Bytes>,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(WAITING);
    tokio::task::spawn_blocking(move || {
        let result = match coding {
            Coding::Identity => read(file, length, |bytes| sender.blocking_send(Ok(bytes)).is_ok()),
            Coding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                let mut broken = None;
                let read = read(file, length, |bytes| {
                    broken = encoder.write_all(&bytes).err();
                    let ready = std::mem::take(encoder.get_mut());
                    broken.is_none() && (ready.is_empty() || sender.blocking_send(Ok(ready.into())).is_ok())
                });
                read.and(broken.map_or(Ok(()), Err)).and_then(|()| encoder.finish()).map(|rest| {
                    let _ = sender.blocking_send(Ok(rest.into()));
                })
            }
        };
        if let Err(error) = result {
            let _ = sender.blocking_send(Err(error));
        }
    });
    let rest = stream::unfold(receiver, |mut receiver| async move { Some((receiver.recv().await?, receiver)) });
    futures::StreamExt::chain(stream::iter(first.map(Ok)), rest)
}

fn read(mut file: File, length: Option<u64>, mut give: impl FnMut(Bytes) -> bool) -> io::Result<()> {
    let mut left = length.unwrap_or(u64::MAX);
    while left > 0 {
        let mut chunk = vec![0; CHUNK.min(left.min(usize::MAX as u64) as usize)];
        match file.read(&mut chunk) {
            Ok(0) if length.is_some() => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(0) => return Ok(()),
            Ok(count) => {
                chunk.truncate(count);
                left -= count as u64;
                if !give(chunk.into()) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
}

/// Chooses a coding. Plain bytes are best on a line inside one machine, so gzip is chosen only for those who ask for
/// nothing else: every HTTP library offers it, and few mean it.
fn coding(accepted: Option<&str>) -> Result<Coding, Refusal> {
    let Some(accepted) = accepted else { return Ok(Coding::Identity) };
    let (mut gzip, mut identity, mut star, mut others) = (None, None, None, 0);
    for one in accepted.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let (name, rest) = one.split_once(';').unwrap_or((one, ""));
        let weight = rest.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()).unwrap_or(1.0);
        match name.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight > 0.0),
            "identity" => identity = Some(weight > 0.0),
            "*" => star = Some(weight > 0.0),
            _ => others += 1,
        }
    }
    let identity_allowed = identity.or(star).unwrap_or(true);
    let gzip_allowed = gzip.or(star).unwrap_or(false);
    let only_gzip = gzip == Some(true) && identity.is_none() && star.is_none() && others == 0;
    match (identity_allowed, gzip_allowed) {
        (_, true) if only_gzip || !identity_allowed => Ok(Coding::Gzip),
        (true, _) => Ok(Coding::Identity),
        (false, _) => Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, "only identity and gzip can be had")),
    }
}

/// The first and last byte of a range; `None` when nothing of it is there. Several ranges are answered with all of it.
fn understand_range(range: &str, size: u64) -> Option<(u64, u64)> {
    let whole = Some((0, size - 1));
    let Some(range) = range.trim().strip_prefix("bytes=").filter(|range| !range.contains(',')) else { return whole };
    let Some((from, to)) = range.split_once('-') else { return whole };
    match (from.trim().parse::<u64>(), to.trim().parse::<u64>()) {
        (Ok(from), Ok(to)) if from <= to && from < size => Some((from, to.min(size - 1))),
        (Ok(from), Err(_)) if to.trim().is_empty() && from < size => Some((from, size - 1)),
        (Err(_), Ok(last)) if from.trim().is_empty() && last > 0 => Some((size.saturating_sub(last), size - 1)),
        _ => None,
    }
}

fn disposition(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.chars().all(|letter| letter.is_ascii_graphic() && letter != '"' && letter != '\\' || letter == ' ') {
        format!("inline; filename=\"{name}\"")
    } else {
        format!("inline; filename*=UTF-8''{}", crate::wire::percent_encode(&name))
    }
}

fn set(answer: &mut Answer, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}

/// A moment as HTTP writes it.
fn http_date(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = crate::wire::Timestamp { seconds, nanos: 0 }.to_rfc3339();
    let day = DAYS[seconds.div_euclid(86_400).rem_euclid(7) as usize];
    let month = text.get(5..7).and_then(|month| month.parse::<usize>().ok()).unwrap_or(1).clamp(1, 12);
    let (year, date, time) = (&text[..4], &text[8..10], &text[11..19]);
    format!("{day}, {date} {} {year} {time} GMT", MONTHS[month - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_chosen_by_those_who_ask_for_it_alone() {
        for (accepted, chosen) in [
            (None, Some(Coding::Identity)),
            (Some("gzip, deflate"), Some(Coding::Identity)),
            (Some("gzip"), Some(Coding::Gzip)),
            (Some("gzip;q=0"), Some(Coding::Identity)),
            (Some("identity;q=0, gzip"), Some(Coding::Gzip)),
            (Some("*;q=0"), None),
            (Some("br, identity;q=0"), None),
        ] {
            assert_eq!(coding(accepted).ok(), chosen, "{accepted:?}");
        }
    }

    #[test]
    fn ranges_are_cut_to_what_is_there() {
        for (range, expected) in [
            ("bytes=0-3", Some((0, 3))),
            ("bytes=8-", Some((8, 9))),
            ("bytes=-3", Some((7, 9))),
            ("bytes=-30", Some((0, 9))),
            ("bytes=5-100", Some((5, 9))),
            ("bytes=10-", None),
            ("bytes=3-1", None),
            ("bytes=-0", None),
            ("bytes=0-1,4-5", Some((0, 9))),
        ] {
            assert_eq!(understand_range(range, 10), expected, "{range}");
        }
    }

    #[test]
    fn dates_are_written_as_http_wants_them() {
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
