//! What was heard of an agent in a turn so far: moments on their way out, and what its ending depends on.

use serde_json::Value;

use crate::{Ending, Failure, Moment, Spending, desk::QUESTION, shorten, trouble};

/// How many moments a turn may have. An agent that goes round in circles fills nobody's disk.
const MOST: usize = 10_000;
/// How much is remembered of what went to standard error.
const ASIDE: usize = 8 * 1024;

/// What one turn has said so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    out: Vec<Moment>,
    told: usize,
    /// The last message, whole: it may end with a question.
    last: String,
    /// Pieces of a message or a thought that is still going on.
    open: Option<(Kind, String)>,
    conversation: Option<String>,
    failed: Option<(String, Failure)>,
    /// Whether the agent said in so many words that its turn is over.
    done: bool,
    aside: String,
}

/// What pieces are put together to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Said,
    Thought,
}

impl Heard {
    /// What has become known since the last time.
    pub(crate) fn take(&mut self) -> Vec<Moment> {
        std::mem::take(&mut self.out)
    }

    /// A whole message.
    pub(crate) fn said(&mut self, text: &str) {
        self.close();
        self.message(text);
    }

    /// A whole thought.
    pub(crate) fn thought(&mut self, text: &str) {
        self.close();
        if !text.trim().is_empty() {
            self.tell(Moment::Thought { text: shorten::middle(text.trim_end(), shorten::MESSAGE) });
        }
    }

    /// A piece of a message or a thought; it is told when something else follows.
    pub(crate) fn piece(&mut self, kind: Kind, text: &str) {
        if self.open.as_ref().is_some_and(|(open, so_far)| *open != kind || so_far.len() >= shorten::MESSAGE / 2) {
            self.close();
        }
        self.open.get_or_insert_with(|| (kind, String::new())).1.push_str(text);
    }

    /// How much there is of a message or a thought that is still going on; nothing of one that would not be told.
    pub(crate) fn grown(&self) -> usize {
        let is_told = |text: &str| self.told + 1 < MOST && !text.trim().is_empty();
        self.open.as_ref().filter(|(_, text)| is_told(text)).map_or(0, |(_, text)| text.len())
    }

    /// A message or a thought that is still going on, as it is so far.
    pub(crate) fn growing(&self) -> Option<Moment> {
        let (kind, text) = self.open.as_ref().filter(|_| self.grown() > 0)?;
        let text = shorten::middle(text.trim_end(), shorten::MESSAGE);
        Some(match kind {
            Kind::Said => Moment::Said { text },
            Kind::Thought => Moment::Thought { text },
        })
    }

    /// Ends what came in pieces.
    pub(crate) fn close(&mut self) {
        match self.open.take() {
            Some((Kind::Said, text)) => self.message(&text),
            Some((Kind::Thought, text)) => self.thought(&text),
            None => {}
        }
    }

    /// One line of an agent that speaks in plain lines: together they are one message.
    pub(crate) fn said_line(&mut self, line: &str) {
        self.close();
        if !self.last.is_empty() {
            self.last.push('\n');
        }
        self.last.push_str(line);
        if self.last.len() > 2 * shorten::MESSAGE {
            self.last = shorten::tail(&self.last, shorten::MESSAGE).to_owned();
        }
        if !line.trim().is_empty() {
            self.tell(Moment::Said { text: shorten::middle(line.trim_end(), shorten::MESSAGE) });
        }
    }

    pub(crate) fn tool_began(&mut self, id: &str, name: &str, title: &str, input: Value) {
        self.close();
        // Whatever was said before a tool is used is not the last word.
        self.last.clear();
        self.tell(Moment::ToolBegan {
            id: shorten::line(id),
            name: shorten::line(name),
            title: shorten::line(title),
            input: shorten::value(input),
        });
    }

    pub(crate) fn tool_ended(&mut self, id: &str, ok: bool, output: &str) {
        self.close();
        self.tell(Moment::ToolEnded {
            id: shorten::line(id),
            ok,
            output: shorten::middle(output.trim_end(), shorten::TOOL),
        });
    }

    pub(crate) fn spent(&mut self, spending: Spending) {
        if !spending.is_nothing() {
            self.close();
            self.out.push(Moment::Spent(spending));
        }
    }

    /// Tells once what continues this conversation.
    pub(crate) fn conversation(&mut self, id: &str) {
        // It becomes an argument one day: what could be taken for an option is no name of a conversation.
        let usable = !id.is_empty() && id.len() <= 300 && !id.starts_with('-') && !id.contains(char::is_control);
        if usable && self.conversation.as_deref() != Some(id) {
            self.conversation = Some(id.to_owned());
            self.out.push(Moment::Conversation { id: id.to_owned() });
        }
    }

    pub(crate) fn noted(&mut self, text: &str) {
        self.close();
        let text = shorten::line(text);
        if !text.is_empty() {
            self.tell(Moment::Noted { text });
        }
    }

    /// A moment that an agent wrote down as one; it is held to the same bounds.
    pub(crate) fn moment(&mut self, moment: Moment) {
        match moment {
            Moment::Said { text } => self.said(&text),
            Moment::Thought { text } => self.thought(&text),
            Moment::ToolBegan { id, name, title, input } => self.tool_began(&id, &name, &title, input),
            Moment::ToolEnded { id, ok, output } => self.tool_ended(&id, ok, &output),
            Moment::Spent(spending) => self.spent(spending),
            Moment::Conversation { id } => self.conversation(&id),
            Moment::Asked { question } => self.said(&format!("{QUESTION} {question}")),
            Moment::Noted { text } => self.noted(&text),
        }
    }

    /// The agent told of a failure that ends its turn. The first one counts: what follows is its echo.
    pub(crate) fn failed(&mut self, why: &str) {
        self.failed_as(why, trouble::judge(why));
    }

    pub(crate) fn failed_as(&mut self, why: &str, failure: Failure) {
        self.close();
        self.failed.get_or_insert_with(|| (shorten::line(why), failure));
    }

    /// The agent went on after what looked like its end.
    pub(crate) fn recovered(&mut self) {
        self.failed = None;
    }

    /// The agent said that its turn is over.
    pub(crate) fn done(&mut self) {
        self.close();
        self.done = true;
    }

    /// A line on standard error; only the last of them are remembered.
    pub(crate) fn aside(&mut self, line: &str) {
        self.aside.push_str(line);
        self.aside.push('\n');
        if self.aside.len() > 2 * ASIDE {
            self.aside = shorten::tail(&self.aside, ASIDE).to_owned();
        }
    }

    /// How it ended. `must_say` is for agents that say when they are done: without it they were cut off.
    pub(crate) fn ending(&mut self, exit: Option<i32>, must_say: bool, hint: &str) -> Ending {
        self.close();
        if let Some((why, failure)) = self.failed.take() {
            return Ending::Failed { why, failure };
        }
        if let Some(ending) = trouble::exit(exit, self.done, &self.aside, hint) {
            return ending;
        }
        if must_say && !self.done {
            let why = match trouble::last_line(&self.aside) {
                Some(line) => format!("It ended in the middle of its turn: {line}"),
                None => "It ended in the middle of its turn.".to_owned(),
            };
            return Ending::Failed { failure: trouble::judge_or(&self.aside, Failure::Transient), why };
        }
        match question(&self.last) {
            Some(question) => {
                self.out.push(Moment::Asked { question: question.clone() });
                Ending::Asked { question }
            }
            None => Ending::Finished,
        }
    }

    fn message(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.last = text.to_owned();
        self.tell(Moment::Said { text: shorten::middle(text.trim_end(), shorten::MESSAGE) });
    }

    fn tell(&mut self, moment: Moment) {
        self.told += 1;
        match self.told.cmp(&MOST) {
            std::cmp::Ordering::Less => self.out.push(moment),
            std::cmp::Ordering::Equal => self.out.push(Moment::Noted {
                text: format!("This turn has more than {MOST} moments; the rest is in the transcript only."),
            }),
            std::cmp::Ordering::Greater => {}
        }
    }
}

/// The question at the end of a message: from the first line that begins with the mark to the end of the message. Who asks
/// twice wants both to be answered.
fn question(message: &str) -> Option<String> {
    let mut at = None;
    let mut start = 0;
    for line in message.split_inclusive('\n') {
        // Models like to make such words bold, or to quote them.
        let bare = line.trim_start_matches(|any: char| any.is_whitespace() || "*_>#`-".contains(any));
        if bare.get(..QUESTION.len()).is_some_and(|mark| mark.eq_ignore_ascii_case(QUESTION)) {
            at.get_or_insert(start + (line.len() - bare.len()) + QUESTION.len());
        }
        start += line.len();
    }
    let asked = message[at?..].trim_start_matches(|any: char| any.is_whitespace() || "*_`".contains(any)).trim_end();
    (!asked.is_empty()).then(|| shorten::middle(asked, shorten::TOOL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_the_end_of_the_last_message() {
        assert_eq!(question("All done.").as_deref(), None);
        assert_eq!(
            question("I looked.\n\nQUESTION: Tabs or spaces?\nBoth occur.").as_deref(),
            Some("Tabs or spaces?\nBoth occur.")
        );
        assert_eq!(question("QUESTION: A or B?\nQUESTION: C?").as_deref(), Some("A or B?\nQUESTION: C?"));
        assert_eq!(question("**QUESTION:** Which one?").as_deref(), Some("Which one?"));
        assert_eq!(question("question: lower?").as_deref(), Some("lower?"));
        assert_eq!(question("There is no QUESTION: inside a line").as_deref(), None);
        assert_eq!(question("QUESTION:").as_deref(), None);
        assert_eq!(question("Größe ß\n").as_deref(), None);
    }

    #[test]
    fn what_was_asked_before_a_tool_was_used_is_no_question_any_more() {
        let mut heard = Heard::default();
        heard.said("QUESTION: May I?");
        heard.tool_began("1", "bash", "ls", Value::Null);
        assert_eq!(heard.ending(Some(0), false, ""), Ending::Finished);
    }

    #[test]
    fn an_agent_that_goes_round_in_circles_is_bounded() {
        let mut heard = Heard::default();
        for n in 0..3 * MOST {
            heard.said(&format!("again {n}"));
        }
        let told = heard.take();
        assert_eq!(told.len(), MOST);
        assert!(matches!(told.last(), Some(Moment::Noted { .. })));
        heard.spent(Spending { input_tokens: 1, ..Spending::default() });
        assert_eq!(heard.take().len(), 1, "what is spent is always told");
    }

    #[test]
    fn a_message_in_pieces_can_be_seen_before_it_is_whole_and_is_told_once() {
        let mut heard = Heard::default();
        let said = |text: &str| Moment::Said { text: text.into() };
        assert_eq!((heard.grown(), heard.growing()), (0, None));
        heard.piece(Kind::Said, "  \n");
        assert_eq!((heard.grown(), heard.growing()), (0, None), "nothing was said yet");
        heard.piece(Kind::Said, "Half a ");
        assert_eq!((heard.grown(), heard.growing()), (10, Some(said("  \nHalf a"))));
        assert_eq!(heard.take(), [], "it is not told before it is whole");
        heard.piece(Kind::Said, "sentence.");
        heard.piece(Kind::Thought, "Hm");
        assert_eq!(heard.take(), [said("  \nHalf a sentence.")]);
        assert_eq!(heard.growing(), Some(Moment::Thought { text: "Hm".into() }));
        heard.done();
        assert_eq!((heard.grown(), heard.growing()), (0, None));
        for n in 0..2 * MOST {
            heard.said(&n.to_string());
        }
        heard.piece(Kind::Said, "one too many");
        assert_eq!(heard.growing(), None, "what will not be told is not shown");
    }

    #[test]
    fn a_name_of_a_conversation_is_never_an_option() {
        let mut heard = Heard::default();
        heard.conversation("--dangerous");
        heard.conversation("a\nb");
        heard.conversation("ses_1");
        heard.conversation("ses_1");
        assert_eq!(heard.take(), [Moment::Conversation { id: "ses_1".into() }]);
    }
}
