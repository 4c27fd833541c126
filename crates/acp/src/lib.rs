//! The client's side of the Agent Client Protocol for one turn, and a small program that runs it inside a sandbox.
//!
//! The protocol goes both ways: the agent asks for permissions and waits for answers. Whoever answers has to live as long
//! as the turn, and a server outside does not. So the one who answers sits beside the agent, in the sandbox: the program
//! `carrel-acp`, which gets an [`Order`], starts the agent, leads the [`Conversation`], and prints every line that the
//! agent says. The house reads those lines from the transcript whenever it likes.
//!
//! Absent on purpose: any idea of Carrel, files and terminals for the agent (it has the sandbox's own), and what the lines
//! mean for people.
#![forbid(unsafe_code)]

mod conversation;
mod order;

pub use conversation::{Conversation, PROMPT, SESSION};
pub use order::Order;
