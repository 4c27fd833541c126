//! `demo`: an agent that is a script. It needs no key, no model and no network, and makes a small real change.

use super::{run, shell::asked};
use crate::{AgentSettings, Launch, Turn};

/// The agent itself.
pub(crate) const SCRIPT: &str = include_str!("demo.sh");

/// The script, in `sh`. How long it pauses between its steps is said by `CARREL_DEMO_PAUSE`, in seconds.
pub(crate) fn launch(settings: &AgentSettings, turn: &Turn) -> Launch {
    let argv = ["sh", "-c", SCRIPT, "carrel-demo"].map(str::to_owned).to_vec();
    let mut launch = run(settings, turn, argv, &asked(settings, turn));
    launch.stdin = Some(turn.prompt.clone().into_bytes());
    launch
}
