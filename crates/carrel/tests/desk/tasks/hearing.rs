//! What an agent says is heard while it is said: in the middle of a sentence, and while its work is saved.

use serde_json::{Value, json};

use super::PATIENCE;
use crate::yard::{Yard, git};

/// An agent that speaks the Agent Client Protocol, and waits in the middle of a sentence until somebody lets it go on.
const SPEAKS: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
piece() { update '{"sessionUpdate":"agent_'"$1"'_chunk","content":{"type":"text","text":"'"$2"'"}}'; }
read -r line; answer 1 '{"protocolVersion":1,"agentCapabilities":{}}'
read -r line; answer 2 '{"sessionId":"s"}'
read -r line
piece thought 'Let me '; piece thought 'see.'
piece message 'Half a '
until [ -e /tmp/go ]; do sleep 0.1; done
piece message 'sentence.'
echo x >x; git add -A; git commit -qm 'feat: x'
answer 4 '{"stopReason":"end_turn"}'
"#;

impl Yard {
    async fn told(&self, task: &Value, kind: &str) -> Vec<Value> {
        let items = self.timeline(task).await;
        let fits = |item: &&Value| item["kind"] == kind && item["role"] == "agent";
        items.as_array().unwrap().iter().filter(fits).cloned().collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_in_pieces_is_shown_while_it_is_being_said() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.post("/api/v1/agents", json!({"name": "speaker", "dialect": "acp", "command": SPEAKS})).await;
    let task = yard.task("hello", "speaker", "Say it", "working").await;
    let half = loop {
        if let [half] = &yard.told(&task, "message").await[..] {
            break half.clone();
        }
    };
    assert_eq!((&half["text"], &half["unfinished"]), (&json!("Half a"), &json!(true)));
    let thought = yard.told(&task, "thought").await;
    assert_eq!(thought.len(), 1, "{thought:?}");
    assert_eq!((&thought[0]["text"], &thought[0]["unfinished"]), (&json!("Let me see."), &Value::Null));

    yard.inside(task["sandbox_id"].as_str().unwrap(), "touch /tmp/go").await;
    yard.wait(&task, "in_review").await;
    let whole = yard.told(&task, "message").await;
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!((&whole[0]["text"], &whole[0]["unfinished"]), (&json!("Half a sentence."), &Value::Null));
    assert_eq!((&whole[0]["seq"], &whole[0]["at"]), (&half["seq"], &half["at"]), "it stands where it began");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_heard_while_its_work_is_saved() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    // It holds up the save: whoever saves waits for that lock. It speaks when somebody does, and lets go when it is told to.
    let command = r#"
mkdir -p .git/carrel/save && exec 9>.git/carrel/save/turn && flock 9
saved() { for name in /proc/[0-9]*/comm; do read -r comm <"$name" && [ "$comm" = flock ] && return 0; done 2>/dev/null; return 1; }
until saved; do sleep 0.1; done
echo "It is being saved."
until [ -e /tmp/go ]; do sleep 0.1; done
exec 9>&-
echo x >x; git add -A; git commit -qm 'feat: x'"#;
    yard.agent("holder", command).await;
    let task = yard.task("hello", "holder", "Speak up", "working").await;
    while yard.said(&task, "message", "agent").await != ["It is being saved."] {}
    let saves = git(Some(&yard.mirror("hello")), &["for-each-ref", "refs/carrel/wip"]).await;
    assert_eq!(saves, "", "it was heard before the save came to its end");
    yard.inside(task["sandbox_id"].as_str().unwrap(), "touch /tmp/go").await;
    let path = format!("/api/v1/tasks/{}?wait=in_review&timeout={PATIENCE}", task["id"]);
    let task = yard.look(&path).await;
    yard.expect(&task, "in_review").await;
    assert_eq!(yard.told(&task, "message").await.len(), 1);
    yard.close().await;
}
