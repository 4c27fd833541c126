//! `carrel node …`

use carrel_model::{
    NodeId,
    node::NodeState,
    public::{NewDrain, NodeView, Page},
};
use clap::Subcommand;
use reqwest::Method;

use super::Client;
use crate::{failure::Failure, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List the servers that are this house
    Ls,
    /// Empty a node: nothing new is put on it, and tasks that are on it go on elsewhere
    Drain {
        /// Which
        id: NodeId,
        /// Take it back
        #[arg(long)]
        off: bool,
    },
    /// Forget a node that does not come back, and what lived on it
    Rm {
        /// Which
        id: NodeId,
    },
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Ls => {
                let page: Page<NodeView> = client.get("/nodes").await?;
                if client.json() {
                    return say::json(&page.items);
                }
                if client.quiet() {
                    page.items.iter().for_each(|node| say::line(&node.id));
                    return Ok(());
                }
                let head = ["ID", "STATE", "SANDBOXES", "CPUS", "FREE", "VERSION", "SEEN", "ADDRESS"];
                say::table(&head, page.items.iter().map(row));
                Ok(())
            }
            Verb::Drain { id, off } => {
                let request = client.request(Method::POST, &format!("/nodes/{id}/drain"))?;
                let node: NodeView = client.fetch(request.json(&NewDrain { on: !off })).await?;
                if client.json() {
                    return say::json(&node);
                }
                say::line(&node.id);
                if !client.quiet() && node.state == NodeState::Draining && node.sandboxes > 0 {
                    say::aside(format_args!(
                        "{} sandboxes are on it; desks of tasks move as their turns end, others stay until they end",
                        node.sandboxes
                    ));
                }
                Ok(())
            }
            Verb::Rm { id } => {
                client.send(client.request(Method::DELETE, &format!("/nodes/{id}"))?).await?;
                if !client.json() {
                    say::line(&id);
                }
                Ok(())
            }
        }
    }
}

fn row(node: &NodeView) -> Vec<String> {
    let free = format!("{} of {} MB", node.free_mb, node.memory_mb);
    let here = if node.answers { " (answers)" } else { "" };
    vec![
        node.id.to_string(),
        format!("{}{here}", node.state.word()),
        node.sandboxes.to_string(),
        node.cpus.to_string(),
        free,
        node.version.clone(),
        node.seen_at.to_string(),
        node.address.clone(),
    ]
}
