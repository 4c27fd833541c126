//! Words with names in them that stand for values.

use std::{collections::BTreeMap, fmt};

/// A word of a recipe: text, and names of variables (`$NAME`, `${NAME}`) that are filled in when its step comes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Name(String),
}

impl Word {
    /// A word that is just text.
    pub fn plain(text: impl Into<String>) -> Self {
        Word(vec![Piece::Text(text.into())])
    }

    /// Text in which `$NAME` and `${NAME}` stand for values, and nothing else is special.
    pub fn filled(text: &str) -> Self {
        let mut word = Word::default();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter != '$' {
                word.push(letter);
                continue;
            }
            let rest: String = letters.clone().collect();
            let braced = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
            let plain = rest.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next();
            let is_name =
                |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let (name, length) = match (braced.filter(is_name), plain.filter(is_name)) {
                (Some(name), _) => (name, name.len() + 2),
                (None, Some(name)) => (name, name.len()),
                (None, None) => {
                    word.push('$');
                    continue;
                }
            };
            word.0.push(Piece::Name(name.to_owned()));
            letters.by_ref().take(length).for_each(drop);
        }
        word
    }

    /// The word with values for its names; a name without a value is nothing.
    pub fn fill(&self, values: &BTreeMap<String, String>) -> String {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::Name(name) => values.get(name).map_or("", String::as_str),
            })
            .collect()
    }

    fn push(&mut self, letter: char) {
        match self.0.last_mut() {
            Some(Piece::Text(text)) => text.push(letter),
            _ => self.0.push(Piece::Text(letter.into())),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Name(name) => write!(f, "${{{name}}}")?,
            }
        }
        Ok(())
    }
}

/// Splits a line into words as a shell would: spaces part them, quotes hold them together, `\` takes the next letter as
/// it is, and nothing is filled in between single quotes.
pub(super) fn split(line: &str) -> Result<Vec<Word>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut letters = line.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (' ' | '\t', None) => words.extend(word.take()),
            ('\'' | '"', None) => {
                quote = Some(letter);
                // Even `""` is a word.
                word.get_or_insert_default();
            }
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some('\'')) => word.get_or_insert_default().push(letter),
            ('\\', _) => {
                let next = letters.next().ok_or("a `\\` at the end has nothing to take as it is")?;
                // Between double quotes a `\` is only special before what it could protect.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$') {
                    word.get_or_insert_default().push('\\');
                }
                word.get_or_insert_default().push(next);
            }
            ('$', _) => {
                let braced = letters.next_if_eq(&'{').is_some();
                let mut name = String::new();
                while let Some(letter) = letters.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_') {
                    name.push(letter);
                }
                if braced && letters.next_if_eq(&'}').is_none() {
                    return Err("only `$NAME` and `${NAME}` are filled in");
                }
                let word = word.get_or_insert_default();
                match (name.is_empty(), braced) {
                    (false, _) => word.0.push(Piece::Name(name)),
                    (true, true) => return Err("`${}` names nothing"),
                    (true, false) => word.push('$'),
                }
            }
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

/// Splits a word at its first `=`; what lies before must be a plain name.
pub(super) fn assignment(word: &Word) -> Option<(String, Word)> {
    let Some((Piece::Text(first), rest)) = word.0.split_first() else { return None };
    let (name, value) = first.split_once('=')?;
    let mut pieces = Vec::new();
    if !value.is_empty() {
        pieces.push(Piece::Text(value.to_owned()));
    }
    pieces.extend(rest.iter().cloned());
    Some((name.to_owned(), Word(pieces)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_part_and_fill_as_in_a_shell() {
        let values = BTreeMap::from([("HOME".to_owned(), "/root".to_owned())]);
        let filled =
            |line: &str| -> Vec<String> { split(line).unwrap().iter().map(|word| word.fill(&values)).collect() };
        assert_eq!(filled("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(filled("\"a b\" '$HOME' \"$HOME/x\" ${HOME}y $NONE."), ["a b", "$HOME", "/root/x", "/rooty", "."]);
        assert_eq!(filled(r#"a\ b \$HOME "\$x\n" '' $"#), ["a b", "$HOME", r"$x\n", "", "$"]);
        let value = |text: &str| Word::filled(text).fill(&values);
        assert_eq!(value("it's $HOME/${HOME}: $5 \"${no}\" $ ${-}"), "it's /root//root:  \"\" $ ${-}");
        assert!(split("'open").is_err());
        assert!(split("${HOME:-x}").is_err());
        assert!(split("end\\").is_err());
    }
}
