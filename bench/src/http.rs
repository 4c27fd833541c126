//! A lean HTTP/1.1 client, so that the measuring costs little beside what is measured.
//!
//! It knows just what our servers say: answers with a `content-length`, and streams in chunks of whole frames.

use std::{
    io::{self, BufRead, ErrorKind},
    net::SocketAddr,
    time::Instant,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A request, written once and sent often.
#[derive(Clone)]
pub(crate) struct Request(Vec<u8>);

/// A connection that is kept alive; opened again when the server hung up on it while nobody asked anything.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer that never ends.
pub(crate) struct Stream {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str, key: &str, body: Option<&str>) -> Self {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n");
        if let Some(body) = body {
            text.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        text.push_str(body.unwrap_or_default());
        Request(text.into_bytes())
    }

    /// The same request, with events for an answer.
    pub(crate) fn for_events(mut self) -> Self {
        let line = self.0.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.0.splice(line..line, *b"accept: text/event-stream\r\n");
        self
    }

    /// The head of a request whose body, of so many bytes, follows.
    pub(crate) fn head(method: &str, path: &str, key: &str, length: u64) -> Vec<u8> {
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\ncontent-length: {length}\r\n\r\n"
        );
        text.into_bytes()
    }
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Connection { address, stream: connect(address).await?, buffer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends a request and reads the whole answer. Anything but a success is an error.
    pub(crate) async fn ask(&mut self, request: &Request) -> io::Result<&[u8]> {
        let head = self.send(request).await?;
        let length = match self.buffer.get(9..12) {
            Some(b"204") => 0,
            _ => content_length(&self.buffer[..head]).ok_or_else(|| broken("an answer without a length"))?,
        };
        while self.buffer.len() < head + length {
            fill(&mut self.stream, &mut self.buffer).await?;
        }
        Ok(&self.buffer[head..head + length])
    }

    /// Sends a request whose answer comes in chunks, and says when the first of these words had come. The answer is read
    /// to its end, so that the connection can be used again.
    pub(crate) async fn ask_for_words(&mut self, request: &Request, words: &[u8]) -> io::Result<Instant> {
        const END: &[u8] = b"\r\n0\r\n\r\n";
        self.send(request).await?;
        let mut heard = None;
        loop {
            if heard.is_none() && self.buffer.windows(words.len()).any(|part| part == words) {
                heard = Some(Instant::now());
            }
            if self.buffer.ends_with(END) {
                return heard.ok_or_else(|| broken(&String::from_utf8_lossy(&self.buffer)));
            }
            fill(&mut self.stream, &mut self.buffer).await?;
        }
    }

    /// Where what the last request made is.
    pub(crate) fn place(&self) -> Option<&str> {
        let mut rest = self.buffer.as_slice();
        while !rest.is_empty() {
            if let Some(place) = take_line(&mut rest).strip_prefix(b"location: ") {
                return std::str::from_utf8(place).ok().map(str::trim);
            }
        }
        None
    }

    /// Sends a request whose answer goes on.
    pub(crate) async fn follow(mut self, request: &Request) -> io::Result<Stream> {
        let head = self.send(request).await?;
        self.buffer.drain(..head);
        Ok(Stream { stream: self.stream, buffer: self.buffer })
    }

    /// Sends a request and says how long the head of its answer is.
    async fn send(&mut self, request: &Request) -> io::Result<usize> {
        self.buffer.clear();
        if self.begin(request).await.is_err() {
            self.stream = connect(self.address).await?;
            self.begin(request).await?;
        }
        let head = loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            fill(&mut self.stream, &mut self.buffer).await?;
        };
        if self.buffer.get(9) != Some(&b'2') {
            return Err(broken(&String::from_utf8_lossy(&self.buffer)));
        }
        Ok(head)
    }

    /// Sends a request and reads the first bytes of its answer.
    async fn begin(&mut self, request: &Request) -> io::Result<()> {
        self.stream.write_all(&request.0).await?;
        fill(&mut self.stream, &mut self.buffer).await
    }
}

impl Stream {
    /// Waits for the next chunks. May be called off and called again: nothing is lost.
    pub(crate) async fn more(&mut self) -> io::Result<()> {
        fill(&mut self.stream, &mut self.buffer).await
    }

    /// Hands out the whole chunks that have come.
    pub(crate) fn take_chunks(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut rest = self.buffer.as_slice();
        while let Some((chunk, after)) = first_chunk(rest)? {
            take(chunk)?;
            rest = after;
        }
        let used = self.buffer.len() - rest.len();
        self.buffer.drain(..used);
        Ok(())
    }
}

/// The first chunk and what follows it, when all of it is there.
fn first_chunk(bytes: &[u8]) -> io::Result<Option<(&[u8], &[u8])>> {
    let Some(line) = bytes.iter().take(20).position(|&byte| byte == b'\n') else { return Ok(None) };
    let size =
        std::str::from_utf8(&bytes[..line]).ok().and_then(|text| usize::from_str_radix(text.trim_end(), 16).ok());
    let size = size.ok_or_else(|| broken("not a chunk"))?;
    if size == 0 {
        return Err(broken("the stream ended"));
    }
    let rest = &bytes[line + 1..];
    if rest.len() < size + 2 {
        return Ok(None);
    }
    Ok(Some((&rest[..size], &rest[size + 2..])))
}

/// Takes the first line off, with the standard library's quick search for its end.
pub(crate) fn take_line<'b>(bytes: &mut &'b [u8]) -> &'b [u8] {
    let all = *bytes;
    let length = bytes.skip_until(b'\n').expect("bytes in memory can be read");
    all[..length].strip_suffix(b"\n").unwrap_or(&all[..length])
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<()> {
    if buffer.capacity() - buffer.len() < 4096 {
        buffer.reserve(16 * 1024);
    }
    match stream.read_buf(buffer).await? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length: ";
    let mut rest = head;
    while !rest.is_empty() {
        if let Some(value) = take_line(&mut rest).strip_prefix(NAME) {
            return std::str::from_utf8(value).ok()?.trim().parse().ok();
        }
    }
    None
}

pub(crate) fn broken(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_whole_or_not_yet() {
        assert_eq!(first_chunk(b"5\r\nhello\r\n3\r\nab").unwrap(), Some((&b"hello"[..], &b"3\r\nab"[..])));
        for part in [&b""[..], b"5", b"5\r\n", b"5\r\nhello", b"5\r\nhello\r"] {
            assert_eq!(first_chunk(part).unwrap(), None);
        }
        assert!(first_chunk(b"0\r\n\r\n").is_err());
    }

    #[test]
    fn a_head_tells_the_length_of_its_body() {
        assert_eq!(content_length(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\nx: y\r\n\r\n"), Some(12));
        assert_eq!(content_length(b"HTTP/1.1 200 OK\r\nx: y\r\n\r\n"), None);
    }
}
