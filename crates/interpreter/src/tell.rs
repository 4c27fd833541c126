//! What a kernel says, as the lines that the SDKs read.

use jupyter_protocol::{JupyterMessageContent, Media, Stdio};
use serde_json::{Map, Value, json};

/// The forms that have a name of their own; all others are `extra`.
const FORMS: [(&str, &str); 12] = [
    ("text/plain", "text"),
    ("text/html", "html"),
    ("text/markdown", "markdown"),
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpeg"),
    ("application/pdf", "pdf"),
    ("text/latex", "latex"),
    ("application/json", "json"),
    ("application/javascript", "javascript"),
    ("e2b/data", "data"),
    ("e2b/chart", "chart"),
];

/// A message of a kernel as a line; nothing when it is not for the reader.
pub(crate) fn line(content: &JupyterMessageContent) -> Option<Value> {
    match content {
        JupyterMessageContent::ExecuteInput(input) => {
            Some(json!({ "type": "number_of_executions", "execution_count": input.execution_count.0 }))
        }
        JupyterMessageContent::StreamContent(stream) => {
            let kind = match stream.name {
                Stdio::Stdout => "stdout",
                Stdio::Stderr => "stderr",
            };
            Some(json!({ "type": kind, "text": stream.text, "timestamp": jiff::Timestamp::now().to_string() }))
        }
        JupyterMessageContent::ExecuteResult(result) => Some(shown(&result.data, true)),
        JupyterMessageContent::DisplayData(display) => Some(shown(&display.data, false)),
        JupyterMessageContent::ErrorOutput(error) => Some(json!({
            "type": "error",
            "name": error.ename,
            "value": error.evalue,
            "traceback": error.traceback.join("\n"),
        })),
        _ => None,
    }
}

fn shown(media: &Media, is_main: bool) -> Value {
    let forms = serde_json::to_value(media).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let mut line = Map::new();
    let mut extra = Map::new();
    for (kind, value) in forms {
        match FORMS.iter().find(|(known, _)| *known == kind) {
            Some((_, "chart" | "data")) if value.as_object().is_some_and(Map::is_empty) => {}
            Some((_, name @ "json")) => drop(line.insert((*name).to_owned(), value)),
            Some((_, name)) => drop(line.insert((*name).to_owned(), joined(value))),
            None => drop(extra.insert(kind, value)),
        }
    }
    if let Some(Value::String(text)) = line.get_mut("text") {
        *text = unquoted(text);
    }
    line.insert("type".into(), "result".into());
    line.insert("is_main_result".into(), is_main.into());
    line.insert("extra".into(), extra.into());
    line.into()
}

/// Kernels may send a text as a list of lines.
fn joined(value: Value) -> Value {
    match value {
        Value::Array(lines) if lines.iter().all(Value::is_string) => {
            lines.iter().filter_map(Value::as_str).collect::<String>().into()
        }
        other => other,
    }
}

/// A text that is nothing but a quoted string is shown without its quotes.
fn unquoted(text: &str) -> String {
    for quote in ['\'', '"'] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|_| text.len() > 1) {
            return inner.to_owned();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use jupyter_protocol::{ExecuteResult, StreamContent};

    use super::*;

    #[test]
    fn results_are_told_in_every_form() {
        let data = json!({"text/plain": "'quoted'", "text/html": "<b>", "x/y": "z", "e2b/chart": {"type": "line"}});
        let media: Media = serde_json::from_value(data).unwrap();
        let result = ExecuteResult { data: media, ..ExecuteResult::default() };
        let told = line(&JupyterMessageContent::ExecuteResult(result)).unwrap();
        assert_eq!((&told["text"], &told["html"]), (&json!("quoted"), &json!("<b>")));
        assert_eq!((&told["extra"]["x/y"], &told["chart"]["type"]), (&json!("z"), &json!("line")));
        assert_eq!(told["is_main_result"], true);
    }

    #[test]
    fn what_is_printed_is_told_with_its_time() {
        let told = line(&JupyterMessageContent::StreamContent(StreamContent::stdout("hi\n"))).unwrap();
        assert_eq!((&told["type"], &told["text"]), (&json!("stdout"), &json!("hi\n")));
        assert!(told["timestamp"].as_str().unwrap().ends_with('Z'));
    }
}
