//! Reads the part of YAML that a tool map needs: maps and lists, in blocks or in brackets, plain and quoted words, comments.
//!
//! What it does not know (anchors, tags, texts over several lines, several documents, tabs) it refuses with the number of
//! the line: a file that closes doors is not guessed at. Every file that it reads means the same to any reader of YAML.

use serde_json::{Map, Value};

/// A line that says something: how far it is indented, and what it says.
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// Brackets within brackets are followed so deep.
const DEEPEST: u8 = 8;

/// Reads a document; nothing in it is an empty map.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let said = without_comment(line).trim_end();
        let indent = said.len() - said.trim_start_matches(' ').len();
        if said.trim().is_empty() || (number == 1 && said == "---") {
            continue;
        }
        if said.contains('\t') {
            return Err(format!("line {number}: a tab; indent with spaces"));
        }
        lines.push(Line { number, indent, text: said.trim_start() });
    }
    let Some(first) = lines.first() else { return Ok(Value::Object(Map::new())) };
    let (value, rest) = block(&lines, first.indent)?;
    match rest.first() {
        None => Ok(value),
        Some(line) => Err(format!("line {}: it is indented differently from what it belongs to", line.number)),
    }
}

/// A line up to its comment: a `#` at its beginning or after a space, outside of quotes.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (place, c) in line.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '#' && before == ' ' => return &line[..place],
            None => {}
        }
        before = c;
    }
    line
}

/// The map or list that begins here, and the lines after it.
fn block<'l, 'a>(lines: &'l [Line<'a>], indent: usize) -> Result<(Value, &'l [Line<'a>]), String> {
    let is_item = |line: &Line<'_>| line.text == "-" || line.text.starts_with("- ");
    let mut rest = lines;
    if rest.first().is_some_and(is_item) {
        let mut items = Vec::new();
        while let Some(line) = rest.first().filter(|line| line.indent == indent) {
            let item = line.text.strip_prefix('-').filter(|_| is_item(line)).map(str::trim);
            let item = item.filter(|item| !item.is_empty());
            let item = item.ok_or_else(|| format!("line {}: expected `- ` and a word", line.number))?;
            items.push(inline(item, line.number)?);
            rest = &rest[1..];
        }
        return Ok((Value::Array(items), rest));
    }
    let mut map = Map::new();
    while let Some(line) = rest.first().filter(|line| line.indent == indent) {
        let (name, value) = pair(line.text).ok_or_else(|| format!("line {}: expected `name: value`", line.number))?;
        let name = word(name, line.number)?;
        rest = &rest[1..];
        // A list may stand as far to the left as the name that it belongs to.
        let inner = rest.first().filter(|next| next.indent > indent || (next.indent == indent && is_item(next)));
        let value = match (value.is_empty(), inner) {
            (false, _) => inline(value, line.number)?,
            (true, None) => Value::Null,
            (true, Some(inner)) => {
                let (value, after) = block(rest, inner.indent)?;
                rest = after;
                value
            }
        };
        if map.insert(name.clone(), value).is_some() {
            return Err(format!("line {}: `{name}` stands there twice", line.number));
        }
    }
    Ok((Value::Object(map), rest))
}

/// A name and what follows its colon.
fn pair(text: &str) -> Option<(&str, &str)> {
    if let Some(name) = text.strip_suffix(':') {
        return Some((name, ""));
    }
    text.split_once(": ").map(|(name, value)| (name, value.trim()))
}

/// A value on one line.
fn inline(text: &str, number: usize) -> Result<Value, String> {
    let mut rest = text;
    let value = flow(&mut rest, number, 0)?;
    if rest.trim().is_empty() { Ok(value) } else { Err(format!("line {number}: `{}` is left over", rest.trim())) }
}

/// What is in brackets, or a word.
fn flow(rest: &mut &str, number: usize, depth: u8) -> Result<Value, String> {
    let open = |rest: &&str| format!("line {number}: a bracket that is not closed before `{}`", rest.trim());
    *rest = rest.trim_start();
    let Some(closing) = rest.chars().next().and_then(|c| match c {
        '[' => Some(']'),
        '{' => Some('}'),
        _ => None,
    }) else {
        let end = end_of_word(rest, depth);
        let (text, after) = rest.split_at(end);
        *rest = after;
        return word(text, number).map(Value::String);
    };
    if depth >= DEEPEST {
        return Err(format!("line {number}: brackets within brackets within brackets"));
    }
    *rest = &rest[1..];
    let (mut items, mut map) = (Vec::new(), Map::new());
    loop {
        *rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(closing) {
            *rest = after;
            return Ok(if closing == ']' { Value::Array(items) } else { Value::Object(map) });
        }
        if closing == '}' {
            let end = rest.find(':').ok_or_else(|| open(rest))?;
            let name = word(rest[..end].trim(), number)?;
            *rest = &rest[end + 1..];
            if map.insert(name.clone(), flow(rest, number, depth + 1)?).is_some() {
                return Err(format!("line {number}: `{name}` stands there twice"));
            }
        } else {
            items.push(flow(rest, number, depth + 1)?);
        }
        *rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => *rest = after,
            None if rest.starts_with(closing) => {}
            None => return Err(open(rest)),
        }
    }
}

/// Where a word ends: behind its quote, or before what ends it within brackets.
fn end_of_word(text: &str, depth: u8) -> usize {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) {
        return text[1..].find(quote).map_or(text.len(), |end| end + 2);
    }
    let ends = |c: char| depth > 0 && matches!(c, ',' | ']' | '}');
    text.find(ends).unwrap_or(text.len())
}

/// A word, out of its quotes.
fn word(text: &str, number: usize) -> Result<String, String> {
    let text = text.trim();
    for quote in ['\'', '"'] {
        if let Some(inner) = text.strip_prefix(quote) {
            let inner = inner.strip_suffix(quote).filter(|inner| !inner.contains([quote, '\\']));
            return inner.map(str::to_owned).ok_or_else(|| format!("line {number}: a quote that is not understood"));
        }
    }
    // A plain word is one of ours: anything else means something in YAML that is not known here.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | '/');
    if text.is_empty() || text.starts_with(['*', '-']) || !text.chars().all(plain) {
        return Err(format!("line {number}: `{text}` is not understood; put it in quotes"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_brackets_quotes_and_comments_are_read() {
        let text = "---\n# who may what\nroles:\n  sandbox: { deny: [task_ask, \"area_*\"] } # not these\n  member:\n    allow:\n    - files_*\n    - 'git_log'\nagents:\n  reviewer:\n    allow: []\n    deny:\n      - git_push\n  scribe:\n";
        let wanted = json!({
            "roles": {"sandbox": {"deny": ["task_ask", "area_*"]}, "member": {"allow": ["files_*", "git_log"]}},
            "agents": {"reviewer": {"allow": [], "deny": ["git_push"]}, "scribe": null},
        });
        assert_eq!(read(text), Ok(wanted));
        assert_eq!(read("# nothing\n\n"), Ok(json!({})));
        assert_eq!(read("- a\n- b"), Ok(json!(["a", "b"])));
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_line() {
        for (odd, line) in [
            ("roles: [", 1),
            ("roles: [a, b", 1),
            ("roles: {a: b", 1),
            ("roles: {a}", 1),
            ("a: &x [b]", 1),
            ("a: *x", 1),
            ("a: !tag b", 1),
            ("a: |\n  text", 1),
            ("a: b\na: c", 2),
            ("a:\n\tb: c", 2),
            ("a:\n  b: c\n d: e", 3),
            ("a: b\n---\nc: d", 2),
            ("a: 'open", 1),
            ("a: \"x\\n\"", 1),
            ("just words", 1),
            ("a: b c", 1),
            ("- a\nb: c", 2),
            ("a: [[[[[[[[[[b]]]]]]]]]]", 1),
        ] {
            let refused = read(odd).expect_err(odd);
            assert!(refused.starts_with(&format!("line {line}: ")), "{odd:?}: {refused}");
        }
    }

    proptest::proptest! {
        #[test]
        fn reading_never_panics(text in "[ -~\n\t]{0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn brackets_never_panic(text in "[\\[\\]{},:a'\" \n-]{0,60}") {
            let _ = read(&text);
        }
    }
}
