//! Packet lines: how git's protocol cuts a stream into pieces. Four hexadecimal digits say how long a piece is.

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::GitError;

/// The longest piece, with its four digits.
const LONGEST: usize = 65_520;

/// One piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packet {
    /// Something.
    Line(Vec<u8>),
    /// The end of a list.
    Flush,
    /// The stream ended where a piece could have begun.
    End,
}

/// Reads one piece.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Packet, GitError> {
    let mut digits = [0; 4];
    match stream.read(&mut digits[..1]).await.map_err(GitError::io("read a push"))? {
        0 => return Ok(Packet::End),
        _ => stream.read_exact(&mut digits[1..]).await.map_err(GitError::io("read a push"))?,
    };
    let length = std::str::from_utf8(&digits).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
    match length.filter(|_| digits.iter().all(u8::is_ascii_hexdigit)) {
        Some(0) => Ok(Packet::Flush),
        Some(length @ 4..=LONGEST) => {
            let mut line = vec![0; length - 4];
            stream.read_exact(&mut line).await.map_err(GitError::io("read a push"))?;
            Ok(Packet::Line(line))
        }
        _ => Err(GitError::unfit("this is not git's protocol")),
    }
}

/// Appends one piece.
pub(crate) fn write(out: &mut Vec<u8>, line: &[u8]) {
    debug_assert!(line.len() + 4 <= LONGEST);
    out.extend_from_slice(format!("{:04x}", line.len() + 4).as_bytes());
    out.extend_from_slice(line);
}

/// Appends the end of a list.
pub(crate) fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0000");
}

/// Appends text on a band of a stream that has several: 1 is the answer, 2 is for people.
pub(crate) fn write_band(out: &mut Vec<u8>, band: u8, bytes: &[u8]) {
    for piece in bytes.chunks(LONGEST - 5) {
        let mut line = vec![band];
        line.extend_from_slice(piece);
        write(out, &line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn all(mut bytes: &[u8]) -> Result<Vec<Packet>, GitError> {
        let mut packets = Vec::new();
        loop {
            match read(&mut bytes).await? {
                Packet::End => return Ok(packets),
                packet => packets.push(packet),
            }
        }
    }

    #[tokio::test]
    async fn pieces_are_read_as_they_were_written() {
        let mut out = Vec::new();
        write(&mut out, b"one\n");
        flush(&mut out);
        write_band(&mut out, 2, &[b'x'; 70_000]);
        let packets = all(&out).await.unwrap();
        assert_eq!(packets[..2], [Packet::Line(b"one\n".to_vec()), Packet::Flush]);
        assert_eq!(packets.len(), 4);
    }

    #[tokio::test]
    async fn what_is_cut_short_or_no_length_is_refused() {
        for bad in [&b"00"[..], b"0009ab", b"zzzz", b"0001", b"0003", b"ffff", b"+00a123456", b"-001"] {
            assert!(all(bad).await.is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(all(&bytes));
        }
    }
}
