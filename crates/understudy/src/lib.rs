//! The understudy: a server that stands in for a model and plays from a script. For tests of real agent programs.
//!
//! It speaks Anthropic's messages, OpenAI's chat completions and OpenAI's responses, streamed or not, at the roots that
//! programs expect and below `/llm/anthropic` and `/llm/openai`, where the gateway has them.
//!
//! Which act of the script comes next is read from the request: as many acts have been played as the conversation has
//! answers. So the same question gets the same answer, an agent that tries again or continues tomorrow finds its place,
//! and any number of agents can be played to at once. A prompt that holds `[script NAME]` chooses among several.
#![forbid(unsafe_code)]

mod anthropic;
mod chat;
mod responses;
mod script;
mod server;
mod stage;
mod tools;

pub use script::{Act, Script, Scripts, Tool, Trouble};
pub use server::{Seen, Understudy};
