//! Cuts what is too long, and says so.

use serde_json::Value;

/// The longest message that is kept whole.
pub(crate) const MESSAGE: usize = 64 * 1024;
/// The longest thing a tool was given or has answered that is kept whole.
pub(crate) const TOOL: usize = 16 * 1024;
/// The longest line for people.
pub(crate) const LINE: usize = 300;

/// The text when it is short enough; else its beginning and its end, with how much is missing between them.
pub(crate) fn middle(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = floor(text, most / 2);
    let tail = ceil(text, text.len() - most / 2);
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

/// One line for people: the first that says something, cut with an ellipsis.
pub(crate) fn line(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let clean: String = first.chars().map(|any| if any.is_control() { ' ' } else { any }).collect();
    if clean.len() <= LINE { clean } else { format!("{}…", &clean[..floor(&clean, LINE)]) }
}

/// The end of a text.
pub(crate) fn tail(text: &str, most: usize) -> &str {
    &text[ceil(text, text.len().saturating_sub(most))..]
}

/// A value of any shape: long texts in it are cut first; when that is not enough it becomes a text.
pub(crate) fn value(value: Value) -> Value {
    if size(&value) <= TOOL {
        return value;
    }
    let shorter = strings(value, TOOL / 8);
    let text = shorter.to_string();
    if text.len() <= TOOL * 2 { shorter } else { Value::String(middle(&text, TOOL)) }
}

fn strings(value: Value, most: usize) -> Value {
    match value {
        Value::String(text) => Value::String(middle(&text, most)),
        Value::Array(items) => Value::Array(items.into_iter().map(|item| strings(item, most)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(name, field)| (name, strings(field, most))).collect())
        }
        other => other,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + size(field) + 4).sum(),
        _ => 8,
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_says_what_is_missing() {
        let text = format!("begin{}end", "é".repeat(1000));
        let cut = middle(&text, 100);
        assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.contains("bytes left out"), "{cut}");
        assert!(cut.len() < 160);
    }

    #[test]
    fn a_line_for_people_is_one_line() {
        assert_eq!(line("\n\n  ls -la\n rm"), "ls -la");
        assert_eq!(line("a\u{1b}[31mb"), "a [31mb");
        assert!(line(&"ü".repeat(1000)).len() <= LINE + 3);
    }

    #[test]
    fn a_large_input_keeps_its_shape() {
        let given = serde_json::json!({"path": "a.rs", "content": "x".repeat(100_000)});
        let kept = value(given);
        assert_eq!(kept["path"], "a.rs");
        assert!(kept.to_string().len() <= TOOL * 2);
        let many = Value::Array(vec![Value::String("y".repeat(100)); 10_000]);
        assert!(matches!(value(many), Value::String(text) if text.len() < TOOL + 100));
    }
}
