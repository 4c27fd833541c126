//! One turn of a conversation with an agent.

use crate::{DeskRules, Place};

/// What an agent is asked in one turn, and what it has to know for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// What it is asked now: the wish on the card, a message, an answer, a failed check.
    pub prompt: String,
    /// The rules of the desk.
    pub rules: DeskRules,
    /// What continues an earlier conversation, as [`Moment::Conversation`](crate::Moment) told it.
    pub conversation: Option<String>,
    /// What was said before, oldest first. It is told again when there is no conversation to continue.
    pub earlier: Vec<Exchange>,
    /// The model for this turn; it wins over the agent's own.
    pub model: Option<String>,
    /// Whether nothing was asked at this desk before.
    pub first: bool,
    /// Where things are in the sandbox.
    pub place: Place,
}

/// Something that was said earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Who said it.
    pub who: Voice,
    /// What was said.
    pub text: String,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Whoever asks.
    Person,
    /// Whoever answers.
    Agent,
}

/// How much of the past is told again.
const LONGEST_PAST: usize = 48 * 1024;

impl Turn {
    /// The first turn of a desk.
    pub fn first(prompt: impl Into<String>, rules: DeskRules) -> Turn {
        Turn { prompt: prompt.into(), rules, first: true, ..Turn::default() }
    }

    /// A later turn of the same conversation.
    pub fn next(prompt: impl Into<String>, rules: DeskRules, conversation: Option<String>) -> Turn {
        Turn { prompt: prompt.into(), rules, conversation, ..Turn::default() }
    }

    /// Wraps a person's answer, so that an agent that forgot its question understands it.
    pub fn answer(question: &str, answer: &str) -> String {
        format!("You asked: {}\n\nThe answer: {}\n\nGo on with the work.", question.trim(), answer.trim())
    }

    /// What to say to an agent that ended and left work uncommitted, or did nothing.
    pub fn nudge(what_is_missing: &str) -> String {
        format!(
            "You ended your turn, but the work is not finished: {}\n\nFinish it now. If you cannot, say why in a line \
             that begins with `QUESTION:`.",
            what_is_missing.trim()
        )
    }

    /// The prompt, and the past where the agent does not remember it. For programs that get the rules another way.
    pub(crate) fn prompt_with_past(&self) -> String {
        if self.conversation.is_some() || self.earlier.is_empty() {
            return self.prompt.clone();
        }
        let mut told = Vec::new();
        let mut room = LONGEST_PAST;
        for Exchange { who, text } in self.earlier.iter().rev() {
            let who = match who {
                Voice::Person => "Asked",
                Voice::Agent => "You said",
            };
            let entry = format!("## {who}\n\n{}\n", crate::shorten::middle(text.trim(), 8 * 1024));
            if entry.len() > room {
                told.push("(What came before is left out.)\n".to_owned());
                break;
            }
            room -= entry.len();
            told.push(entry);
        }
        told.reverse();
        format!("# What happened at this desk before\n\n{}\n# What is asked now\n\n{}", told.join("\n"), self.prompt)
    }

    /// Rules, past and prompt in one text, for programs that take only one.
    pub(crate) fn everything(&self) -> String {
        let asked = self.prompt_with_past();
        if self.conversation.is_some() {
            return asked;
        }
        let heading = if asked.starts_with("# ") { "" } else { "# What is asked\n\n" };
        format!("{}\n{heading}{asked}", self.rules.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(who: Voice, text: &str) -> Exchange {
        Exchange { who, text: text.to_owned() }
    }

    #[test]
    fn the_past_is_told_only_to_those_who_forgot_it() {
        let mut turn = Turn::next("and now?", DeskRules::default(), None);
        turn.earlier = vec![said(Voice::Person, "one"), said(Voice::Agent, "two")];
        let told = turn.everything();
        let places: Vec<_> = ["Rules of this desk", "one", "two", "and now?"].map(|word| told.find(word)).into();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
        turn.conversation = Some("c-1".into());
        assert_eq!(turn.everything(), "and now?");
    }

    #[test]
    fn a_long_past_is_cut_at_its_beginning() {
        let mut turn = Turn::next("go on", DeskRules::default(), None);
        turn.earlier = (0..100).map(|n| said(Voice::Agent, &format!("{n} {}", "x".repeat(4000)))).collect();
        let told = turn.prompt_with_past();
        assert!(told.len() < 64 * 1024 && told.contains("99 x") && !told.contains("\n3 x"));
        assert!(told.contains("left out"));
    }
}
