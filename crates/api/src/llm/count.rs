//! Counting: reads over the shoulder what a provider says it took. Text in, tokens out.
//!
//! Both dialects, as one answer or as a stream. What is cut or does not count is guessed by its length, so that nobody saves
//! money by hanging up early.

use std::io::Write;

use carrel_model::usage::Tokens;
use flate2::write::MultiGzDecoder;
use serde_json::Value;

/// What is remembered of an answer at most: a line of a stream, or all of it.
const LONGEST: usize = 32 * 1024 * 1024;
/// About so many bytes are one token.
const BYTES_PER_TOKEN: u64 = 4;
/// No answer takes more, whatever it says.
const MOST_TOKENS: u64 = 1_000_000_000;

/// How an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Server-sent events.
    Stream,
    /// One JSON document.
    Whole,
}

/// A count that grows while an answer passes.
pub(super) struct Tally {
    shape: Shape,
    packed: Option<MultiGzDecoder<Vec<u8>>>,
    /// The line that is not at its end yet, or the whole.
    held: Vec<u8>,
    /// More came than is remembered.
    spilled: bool,
    tokens: Option<Tokens>,
    model: Option<String>,
    /// Whether the last word was said about tokens.
    is_final: bool,
    /// How many bytes of text the model wrote.
    written: u64,
}

/// What an answer took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    /// The model, as the answer names it.
    pub(super) model: Option<String>,
    /// What it took.
    pub(super) tokens: Tokens,
    /// Whether that was guessed.
    pub(super) is_estimated: bool,
}

impl Tally {
    pub(super) fn new(shape: Shape, is_packed: bool) -> Tally {
        let packed = is_packed.then(|| MultiGzDecoder::new(Vec::new()));
        let (held, spilled, is_final) = (Vec::new(), false, false);
        Tally { shape, packed, held, spilled, tokens: None, model: None, is_final, written: 0 }
    }

    /// Reads a piece of the answer.
    pub(super) fn read(&mut self, piece: &[u8]) {
        let Some(packed) = &mut self.packed else { return self.read_plain(piece) };
        // What does not unpack is not counted but guessed.
        if packed.write_all(piece).and_then(|()| packed.flush()).is_ok() {
            let plain = std::mem::take(packed.get_mut());
            self.read_plain(&plain);
        }
    }

    fn read_plain(&mut self, piece: &[u8]) {
        if self.shape == Shape::Whole {
            self.written += piece.len() as u64;
            return self.hold(piece);
        }
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.hold(&rest[..end]);
            rest = &rest[end + 1..];
            let (line, spilled) = (std::mem::take(&mut self.held), std::mem::take(&mut self.spilled));
            if !spilled {
                self.read_line(&line);
            }
        }
        self.hold(rest);
    }

    fn hold(&mut self, piece: &[u8]) {
        if self.spilled || self.held.len() + piece.len() > LONGEST {
            self.spilled = true;
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(piece);
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        let Some(said) = data_of(line) else { return };
        let Ok(said) = serde_json::from_slice::<Value>(said) else { return };
        self.written += length(&said["delta"]);
        for choice in said["choices"].as_array().into_iter().flatten() {
            self.written += length(&choice["delta"]);
        }
        let kind = said["type"].as_str().unwrap_or_default();
        let is_final = match kind {
            // Anthropic counts what it read at the beginning, and what it wrote at the end.
            "message_start" => false,
            "message_delta" | "response.completed" | "response.incomplete" | "response.failed" => true,
            // Chat completions have no types.
            _ => kind.is_empty(),
        };
        for part in [&said, &said["message"], &said["response"]] {
            self.take(part, is_final);
        }
    }

    fn take(&mut self, part: &Value, is_final: bool) {
        if let Some(model) = part["model"].as_str().filter(|model| !model.is_empty()) {
            self.model = Some(model.to_owned());
        }
        if part["usage"].is_object() {
            self.tokens = Some(tokens(&part["usage"], self.tokens.unwrap_or_default()));
            self.is_final |= is_final;
        }
    }

    /// What it took all in all. `question` is the length of what was asked.
    pub(super) fn end(mut self, question: u64) -> Counted {
        if self.shape == Shape::Whole
            && !self.spilled
            && let Ok(said) = serde_json::from_slice::<Value>(&self.held)
        {
            self.take(&said, true);
        }
        let guessed = Tokens {
            input: question / BYTES_PER_TOKEN,
            output: self.written.div_ceil(BYTES_PER_TOKEN),
            ..Tokens::default()
        };
        let tokens = match self.tokens {
            Some(tokens) if self.is_final => tokens,
            Some(tokens) => Tokens { output: tokens.output.max(guessed.output), ..tokens },
            None => guessed,
        };
        Counted { model: self.model, tokens, is_estimated: !self.is_final }
    }
}

/// What stands after `data:`.
pub(super) fn data_of(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(b"data:").map(<[u8]>::trim_ascii).filter(|data| data.first() == Some(&b'{'))
}

/// How much text a piece of an answer holds.
fn length(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(length).sum(),
        // Roles, types and names are few: they may count as text.
        Value::Object(fields) => fields.values().map(length).sum(),
        _ => 0,
    }
}

/// Reads a count in either dialect. What it does not say stays as it was said before.
fn tokens(usage: &Value, before: Tokens) -> Tokens {
    let number = |value: &Value| value.as_u64().map(|number| number.min(MOST_TOKENS));
    let said = |name: &str| number(&usage[name]);
    let hour = number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
    // OpenAI counts what came from the cache among what was read.
    let details = [&usage["prompt_tokens_details"], &usage["input_tokens_details"]];
    let cached = details.iter().find_map(|details| number(&details["cached_tokens"]));
    let input = said("input_tokens").or(said("prompt_tokens"));
    Tokens {
        input: input.map_or(before.input, |input| input.saturating_sub(cached.unwrap_or(0))),
        output: said("output_tokens").or(said("completion_tokens")).unwrap_or(before.output),
        cache_read: said("cache_read_input_tokens").or(cached).unwrap_or(before.cache_read),
        cache_write: said("cache_creation_input_tokens").unwrap_or(before.cache_write),
        cache_write_hour: hour.unwrap_or(before.cache_write_hour),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn stream(events: &[Value]) -> String {
        events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect()
    }

    fn counted(shape: Shape, text: &str) -> Counted {
        let mut tally = Tally::new(shape, false);
        tally.read(text.as_bytes());
        tally.end(400)
    }

    fn claude() -> Vec<Value> {
        let usage = json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 500,
            "cache_creation_input_tokens": 70, "cache_creation": {"ephemeral_1h_input_tokens": 20}});
        vec![
            json!({"type": "message_start", "message": {"model": "claude-sonnet-4-5", "usage": usage}}),
            json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x".repeat(390)}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 99}}),
            json!({"type": "message_stop"}),
        ]
    }

    #[test]
    fn a_stream_of_messages_is_counted_from_its_beginning_and_its_end() {
        let counted = counted(Shape::Stream, &stream(&claude()));
        let tokens = Tokens { input: 10, output: 99, cache_read: 500, cache_write: 70, cache_write_hour: 20 };
        assert_eq!(counted, Counted { model: Some("claude-sonnet-4-5".into()), tokens, is_estimated: false });
    }

    #[test]
    fn a_stream_that_was_cut_is_guessed_from_what_was_written() {
        let counted = counted(Shape::Stream, &stream(&claude()[..2]));
        assert!(counted.is_estimated);
        assert_eq!((counted.tokens.input, counted.tokens.output), (10, 100));
    }

    #[test]
    fn completions_count_in_their_last_piece_and_responses_when_they_are_complete() {
        let usage =
            json!({"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}});
        let chat = [
            json!({"model": "gpt-5", "choices": [{"delta": {"content": "hi"}}], "usage": null}),
            json!({"model": "gpt-5", "choices": [], "usage": usage}),
        ];
        let expected = Tokens { input: 36, output: 7, cache_read: 64, ..Tokens::default() };
        let found = counted(Shape::Stream, &format!("{}data: [DONE]\n\n", stream(&chat)));
        assert_eq!((found.tokens, found.is_estimated), (expected, false));
        let usage = json!({"input_tokens": 100, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 64}});
        let response = [
            json!({"type": "response.created", "response": {"model": "gpt-5", "usage": null}}),
            json!({"type": "response.output_text.delta", "delta": "hello"}),
            json!({"type": "response.completed", "response": {"model": "gpt-5", "usage": usage}}),
        ];
        let found = counted(Shape::Stream, &stream(&response));
        assert_eq!((found.tokens, found.is_estimated, found.model.as_deref()), (expected, false, Some("gpt-5")));
    }

    #[test]
    fn one_document_is_counted_and_one_that_does_not_count_is_guessed() {
        let found =
            counted(Shape::Whole, &json!({"model": "m", "usage": {"prompt_tokens": 5, "total_tokens": 5}}).to_string());
        assert_eq!((found.tokens.input, found.is_estimated), (5, false));
        let found = counted(Shape::Whole, &json!({"text": "x".repeat(100)}).to_string());
        assert_eq!((found.tokens.input, found.is_estimated), (100, true));
        assert!(found.tokens.output > 20);
    }

    #[test]
    fn what_comes_packed_is_counted_too() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(stream(&claude()).as_bytes()).unwrap();
        let mut tally = Tally::new(Shape::Stream, true);
        for piece in packer.finish().unwrap().chunks(7) {
            tally.read(piece);
        }
        assert_eq!(tally.end(0).tokens.output, 99);
    }

    proptest! {
        #[test]
        fn the_count_is_the_same_however_the_answer_is_cut_into_pieces(size in 1_usize..64) {
            let mut tally = Tally::new(Shape::Stream, false);
            for piece in stream(&claude()).as_bytes().chunks(size) {
                tally.read(piece);
            }
            prop_assert_eq!(tally.end(400), counted(Shape::Stream, &stream(&claude())));
        }

        #[test]
        fn nothing_that_a_provider_says_breaks_the_count(text in ".*", lines in prop::collection::vec("data: .*", 0..5)) {
            counted(Shape::Whole, &text);
            counted(Shape::Stream, &lines.join("\n"));
        }
    }
}
