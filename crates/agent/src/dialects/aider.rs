//! `aider`: Aider with one message. It prints for people; what it says of money is understood.

use serde_json::Value;

use super::{Grammar, model, plain::without_colours, program, run};
use crate::{AgentSettings, File, Launch, Place, Spending, Turn, heard::Heard};

/// `aider --message-file`. It commits by itself, with conventional messages.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Launch {
    let (message, rules) = (turn.place.own("prompt.md"), turn.place.own("rules.md"));
    let mut arguments: Vec<String> = [
        "--yes-always",
        "--no-pretty",
        "--no-stream",
        "--no-fancy-input",
        "--no-check-update",
        "--no-show-release-notes",
        "--no-show-model-warnings",
        "--analytics-disable",
        "--no-gitignore",
        "--no-detect-urls",
        "--message-file",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend([message.clone(), "--read".to_owned(), rules.clone()]);
    // Its memory of the conversation would lie in the working tree, and be taken for work.
    for (option, file) in [
        ("--chat-history-file", "aider-chat.md"),
        ("--input-history-file", "aider-input"),
        ("--llm-history-file", "aider-model"),
    ] {
        arguments.extend([option.to_owned(), turn.place.own(file)]);
    }
    if !turn.first {
        arguments.push("--restore-chat-history".to_owned());
    }
    if let Some(model) = model(settings, turn) {
        arguments.extend(["--model".to_owned(), model.to_owned()]);
    }
    let env = [
        ("OPENAI_API_BASE", turn.place.openai()),
        ("OPENAI_API_KEY", Place::KEY.to_owned()),
        ("ANTHROPIC_API_BASE", turn.place.anthropic()),
        ("ANTHROPIC_API_KEY", Place::KEY.to_owned()),
    ];
    let mut launch = run(settings, turn, program(settings, "aider", arguments), &env);
    launch.files = vec![File::text(message, turn.prompt.clone()), File::text(rules, turn.rules.text())];
    launch
}

/// Lines for people.
#[derive(Default)]
pub(crate) struct Talk;

impl Grammar for Talk {
    fn object(&mut self, _value: &Value, line: &str, heard: &mut Heard) {
        self.text(line, heard);
    }

    fn text(&mut self, line: &str, heard: &mut Heard) {
        let line = without_colours(line);
        if let Some(spending) = tokens(&line) {
            heard.spent(spending);
        } else if let Some(trouble) = line.strip_prefix("litellm.") {
            // It tries again by itself for as long as it thinks that helps.
            heard.aside(trouble);
            heard.noted(&line);
        } else {
            heard.said_line(&line);
        }
    }

    fn says_when_it_is_done(&self) -> bool {
        false
    }
}

/// `Tokens: 2.5k sent, 120 received. Cost: $0.01 message, $0.02 session.`
fn tokens(line: &str) -> Option<Spending> {
    let rest = line.trim().strip_prefix("Tokens: ")?;
    let (counts, costs) = rest.split_once("Cost: ").unwrap_or((rest, ""));
    let mut spending = Spending::default();
    for part in counts.trim_end_matches(['.', ' ']).split(", ") {
        let (number, word) = part.trim().split_once(' ')?;
        let number = amount(number)?;
        match word {
            "sent" => spending.input_tokens = number,
            "received" => spending.output_tokens = number,
            "cache hit" => spending.cache_read_tokens = number,
            "cache write" => spending.cache_write_tokens = number,
            _ => {}
        }
    }
    spending.cost_usd =
        costs.split(" message").next().and_then(|cost| cost.trim().trim_start_matches('$').parse().ok());
    Some(spending)
}

fn amount(text: &str) -> Option<u64> {
    let (number, times) = match text.strip_suffix('k') {
        Some(thousands) => (thousands, 1000.0),
        None => (text, 1.0),
    };
    number.replace(',', "").parse::<f64>().ok().map(|number| (number * times).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_aider_says_of_money_is_understood() {
        let spent = tokens("Tokens: 2.5k sent, 120 received. Cost: $0.01 message, $0.02 session.");
        let expected = Spending { input_tokens: 2500, output_tokens: 120, cost_usd: Some(0.01), ..Spending::default() };
        assert_eq!(spent, Some(expected));
        let cached = tokens("Tokens: 1,024 sent, 8k cache write, 7 received.").expect("tokens");
        assert_eq!((cached.input_tokens, cached.cache_write_tokens, cached.output_tokens), (1024, 8000, 7));
        assert_eq!(tokens("Tokens are nice"), None);
    }
}
