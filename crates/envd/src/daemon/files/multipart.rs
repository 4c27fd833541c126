//! `multipart/form-data`, read as it arrives.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem::Finder;

const LONGEST_HEAD: usize = 16 << 10;

/// Takes a form apart.
pub(super) struct Multipart {
    delimiter: Finder<'static>,
    held: BytesMut,
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Preamble,
    AfterDelimiter,
    Head,
    Content,
    End,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A part begins.
    Part { name: String, filename: Option<String> },
    /// Some of its content.
    Content(Bytes),
    /// The form is over.
    End,
}

impl Multipart {
    /// For a form with this content type.
    pub(super) fn of(content_type: &str) -> Option<Multipart> {
        let boundary = parameters(content_type).into_iter().find(|(name, _)| name == "boundary")?.1;
        if boundary.is_empty() || boundary.len() > 200 {
            return None;
        }
        let delimiter = Finder::new(format!("\r\n--{boundary}").as_bytes()).into_owned();
        // The first delimiter has no line before it that ends.
        Some(Multipart { delimiter, held: BytesMut::from("\r\n"), at: At::Preamble })
    }

    /// Takes in what arrived.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next piece, when enough has arrived for one.
    pub(super) fn next_piece(&mut self) -> Result<Option<Piece>, String> {
        loop {
            match self.at {
                At::Preamble => {
                    let Some(at) = self.delimiter.find(&self.held) else {
                        let keep = self.held.len().min(self.delimiter.needle().len() - 1);
                        self.held.advance(self.held.len() - keep);
                        return Ok(None);
                    };
                    self.held.advance(at + self.delimiter.needle().len());
                    self.at = At::AfterDelimiter;
                }
                At::AfterDelimiter => {
                    if self.held.starts_with(b"--") {
                        self.at = At::End;
                        return Ok(Some(Piece::End));
                    }
                    let Some(line) = memchr::memmem::find(&self.held, b"\r\n") else {
                        return if self.held.len() > LONGEST_HEAD { Err(unreadable()) } else { Ok(None) };
                    };
                    // Blanks may stand here; the end of the line stays, as the line before the first header.
                    self.held.advance(line);
                    self.at = At::Head;
                }
                At::Head => {
                    let Some(end) = memchr::memmem::find(&self.held, b"\r\n\r\n") else {
                        return if self.held.len() > LONGEST_HEAD { Err(unreadable()) } else { Ok(None) };
                    };
                    let head = self.held.split_to(end + 4);
                    self.at = At::Content;
                    return Ok(Some(part(&String::from_utf8_lossy(&head))));
                }
                At::Content => {
                    if let Some(at) = self.delimiter.find(&self.held) {
                        let content = self.held.split_to(at).freeze();
                        self.held.advance(self.delimiter.needle().len());
                        self.at = At::AfterDelimiter;
                        if !content.is_empty() {
                            return Ok(Some(Piece::Content(content)));
                        }
                        continue;
                    }
                    // The last bytes may be the beginning of a delimiter.
                    let sure = self.held.len().saturating_sub(self.delimiter.needle().len() - 1);
                    if sure == 0 {
                        return Ok(None);
                    }
                    return Ok(Some(Piece::Content(self.held.split_to(sure).freeze())));
                }
                At::End => return Ok(Some(Piece::End)),
            }
        }
    }
}

fn unreadable() -> String {
    "the form is not understood".to_owned()
}

fn part(head: &str) -> Piece {
    let mut name = String::new();
    let mut filename = None;
    for line in head.split("\r\n") {
        let Some((header, value)) = line.split_once(':') else { continue };
        if !header.trim().eq_ignore_ascii_case("content-disposition") {
            continue;
        }
        for (parameter, value) in parameters(value) {
            match parameter.as_str() {
                "name" => name = value,
                // Browsers and SDKs write these three so.
                "filename" if filename.is_none() => {
                    filename = Some(value.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"));
                }
                "filename*" => {
                    let encoded = value.splitn(3, '\'').nth(2).unwrap_or("").replace('+', "%2B");
                    filename = crate::wire::percent_decode(&encoded).or(filename);
                }
                _ => {}
            }
        }
    }
    Piece::Part { name, filename }
}

/// The parameters after the first word: `name=value` or `name="quoted"`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim().trim_start_matches(';').trim().to_ascii_lowercase();
        let after = after.trim_start();
        if let Some(quoted) = after.strip_prefix('"') {
            let mut value = String::new();
            let mut letters = quoted.char_indices().peekable();
            let mut end = quoted.len();
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '"' => {
                        end = at + 1;
                        break;
                    }
                    '\\' if letters.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                        value.extend(letters.next().map(|(_, next)| next));
                    }
                    other => value.push(other),
                }
            }
            found.push((name, value));
            rest = quoted[end..].split_once(';').map_or("", |(_, rest)| rest);
        } else {
            let (value, after) = after.split_once(';').unwrap_or((after, ""));
            found.push((name, value.trim().to_owned()));
            rest = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All pieces of a form that arrives in chunks of a size, content joined.
    fn pieces(body: &[u8], chunk: usize) -> Vec<Piece> {
        let Some(mut form) = Multipart::of("multipart/form-data; boundary=B") else { panic!("no boundary") };
        let mut pieces: Vec<Piece> = Vec::new();
        for bytes in body.chunks(chunk) {
            form.push(bytes);
            while let Ok(Some(piece)) = form.next_piece() {
                match (pieces.last_mut(), piece) {
                    (Some(Piece::End), Piece::End) => break,
                    (Some(Piece::Content(before)), Piece::Content(more)) => {
                        *before = [before.as_ref(), more.as_ref()].concat().into();
                    }
                    (_, piece) => pieces.push(piece),
                }
            }
        }
        pieces
    }

    #[test]
    fn a_form_is_the_same_in_pieces_of_any_size() {
        let body = b"--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/tmp/a\"\r\nContent-Type: text/plain\r\n\r\none\r\n--Bx\r\ntwo\r\n--B  \r\nContent-Disposition: form-data; name=\"file\"; filename=\"b/c \\\"d\\\".txt\"\r\n\r\n\r\n--B--\r\n";
        let expected = [
            Piece::Part { name: "file".into(), filename: Some("/tmp/a".into()) },
            Piece::Content(Bytes::from_static(b"one\r\n--Bx\r\ntwo")),
            Piece::Part { name: "file".into(), filename: Some("b/c \"d\".txt".into()) },
            Piece::End,
        ];
        // `--Bx` begins like the boundary: as the rules have it, it is one.
        let body = String::from_utf8_lossy(body).replace("--Bx", "--Ax").into_bytes();
        let expected: Vec<Piece> = expected
            .into_iter()
            .map(|piece| match piece {
                Piece::Content(_) => Piece::Content(Bytes::from_static(b"one\r\n--Ax\r\ntwo")),
                other => other,
            })
            .collect();
        for chunk in [1, 2, 3, 7, 64, 4096] {
            assert_eq!(pieces(&body, chunk), expected, "in chunks of {chunk}");
        }
    }

    #[test]
    fn names_of_files_are_read_in_every_spelling() {
        for (spelled, name) in [
            ("filename=\"a.txt\"", "a.txt"),
            ("filename=a.txt", "a.txt"),
            ("filename=\"say %22hi%22\"", "say \"hi\""),
            ("filename=\"x\"; filename*=UTF-8''%D0%BA", "к"),
            ("filename=\"/home/user/100%\"", "/home/user/100%"),
        ] {
            let head = format!("\r\nContent-Disposition: form-data; name=\"file\"; {spelled}\r\n\r\n");
            assert_eq!(part(&head), Piece::Part { name: "file".into(), filename: Some(name.into()) });
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it_and_none_are_held_for_ever(
            body in prop::collection::vec(prop_oneof![4 => any::<u8>(), 1 => Just(b'\r'), 1 => Just(b'\n'), 1 => Just(b'-'), 1 => Just(b'B')], 0..4000),
            chunk in 1usize..700,
        ) {
            let Some(mut form) = Multipart::of("multipart/form-data; boundary=B") else { panic!("no boundary") };
            'arriving: for bytes in body.chunks(chunk) {
                form.push(bytes);
                loop {
                    match form.next_piece() {
                        Ok(None) => break,
                        Ok(Some(Piece::End)) | Err(_) => break 'arriving,
                        Ok(Some(_)) => {}
                    }
                }
                prop_assert!(form.held.len() <= LONGEST_HEAD + chunk + form.delimiter.needle().len());
            }
        }

        #[test]
        fn what_was_sent_comes_out_whole(
            files in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..6),
            chunk in 1usize..300,
        ) {
            // A content that holds the delimiter is none: whoever sends it chooses another one.
            prop_assume!(files.iter().all(|file| memchr::memmem::find(file, b"--B").is_none()));
            let mut body = Vec::new();
            let mut expected = Vec::new();
            for (number, file) in files.iter().enumerate() {
                body.extend(format!("--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{number}\"\r\n\r\n").bytes());
                body.extend(file);
                body.extend(b"\r\n");
                expected.push(Piece::Part { name: "file".into(), filename: Some(number.to_string()) });
                if !file.is_empty() {
                    expected.push(Piece::Content(file.clone().into()));
                }
            }
            body.extend(b"--B--\r\n");
            expected.push(Piece::End);
            prop_assert_eq!(pieces(&body, chunk), expected);
        }

        #[test]
        fn no_head_and_no_content_type_break_it(text in "\\PC{0,400}") {
            let _ = Multipart::of(&text);
            let _ = part(&text);
            let head = format!("\r\nContent-Disposition: {text}\r\n\r\n");
            let found = part(&head);
            let is_part = matches!(found, Piece::Part { .. });
            prop_assert!(is_part);
        }
    }
}
