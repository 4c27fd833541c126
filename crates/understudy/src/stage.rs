//! What is played to one question: the act, with the agent's own tools, and what goes wrong.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Mutex,
};

use crate::{
    Scripts, Trouble,
    tools::{Offered, Use},
};

/// A question to a model, whatever the language.
pub(crate) struct Question {
    /// How many answers the conversation has already.
    pub(crate) answers: usize,
    /// What was said by whoever asks.
    pub(crate) words: String,
    /// What the agent can do.
    pub(crate) tools: Vec<Offered>,
    pub(crate) model: String,
    pub(crate) stream: bool,
}

/// The answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) tool: Option<Use>,
    /// Names the answer, and the use of the tool in it.
    pub(crate) id: String,
    pub(crate) model: String,
    /// It breaks off in the middle.
    pub(crate) cut: bool,
}

/// Tokens of every question and of every answer: a number that is easily recognised in a sum.
pub(crate) const TOKENS: (u64, u64) = (100, 10);

/// The scripts, and how often each question was asked.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) scripts: Mutex<Scripts>,
    pub(crate) workspace: String,
    asked: Mutex<HashMap<u64, usize>>,
}

impl Stage {
    pub(crate) fn new(scripts: Scripts, workspace: String) -> Stage {
        Stage { scripts: Mutex::new(scripts), workspace, asked: Mutex::default() }
    }

    /// What to answer, or what goes wrong.
    pub(crate) fn play(&self, question: &Question) -> Result<Answer, Trouble> {
        let id = format!("{:x}", self.key(question));
        let answer = |text: &str| Answer {
            text: text.to_owned(),
            tool: None,
            id: id.clone(),
            model: question.model.clone(),
            cut: false,
        };
        // Agents have their conversations named and summed up beside; those questions come without tools.
        if question.tools.is_empty() {
            return Ok(answer("A small change"));
        }
        let act = self.scripts.lock().expect("nobody panics with it").choose(&question.words).act(question.answers);
        let mut cut = false;
        if let Some(trouble) = act.trouble {
            let mut asked = self.asked.lock().expect("nobody panics with it");
            let times = asked.entry(self.key(question)).or_default();
            if *times < trouble.times {
                *times += 1;
                if trouble.status != 0 {
                    return Err(trouble);
                }
                cut = true;
            }
        }
        let mut answer = answer(act.say.as_deref().unwrap_or_default());
        answer.cut = cut;
        answer.tool = act.tool.and_then(|tool| tool.with(&question.tools, &self.workspace));
        if answer.text.is_empty() && answer.tool.is_none() {
            answer.text = "(The script wants a tool that this agent does not offer.)".to_owned();
        }
        Ok(answer)
    }

    fn key(&self, question: &Question) -> u64 {
        let mut hasher = DefaultHasher::new();
        (question.answers, &question.words).hash(&mut hasher);
        hasher.finish()
    }
}
