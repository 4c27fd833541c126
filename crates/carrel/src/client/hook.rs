//! `carrel hook …`

use carrel_model::{
    HookId,
    hook::{Delivery, HookUrl, Topic},
    public::{HookAdded, HookView, NewHook, NewReplay, Page},
};
use clap::Subcommand;
use reqwest::Method;

use super::Client;
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Add an address that hears what happens; prints the secret that deliveries are signed with, this once
    Add {
        /// Where it is called
        url: HookUrl,
        /// What it wants to hear: `task`, `task.needs_you`, `pull`, …; may be given several times [default: task, pull]
        #[arg(long = "event", value_name = "TOPIC")]
        events: Vec<Topic>,
        /// The place in the journal after which it begins [default: now]
        #[arg(long, value_name = "CURSOR")]
        after: Option<i64>,
    },
    /// List the hooks, and how each stands
    Ls,
    /// Remove a hook and its secret
    Rm {
        /// Which
        id: HookId,
    },
    /// Deliver a letter that tells of nothing, once and now
    Test {
        /// Which
        id: HookId,
    },
    /// Deliver everything after a place of the journal once more, or try now what is stuck
    Replay {
        /// Which
        id: HookId,
        /// The place in the journal [default: where it is stuck]
        #[arg(long, value_name = "CURSOR")]
        after: Option<i64>,
    },
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Add { url, events, after } => {
                let new = NewHook { url, events, after };
                let added: HookAdded = client.fetch(client.request(Method::POST, "/hooks")?.json(&new)).await?;
                if client.json() {
                    return say::json(&added);
                }
                say::line(&added.hook.id);
                if !client.quiet() {
                    say::line(&added.secret);
                }
                Ok(())
            }
            Verb::Ls => {
                let page: Page<HookView> = client.get("/hooks").await?;
                if client.json() {
                    return say::json(&page.items);
                }
                if client.quiet() {
                    page.items.iter().for_each(|hook| say::line(&hook.id));
                    return Ok(());
                }
                say::table(&["ID", "STATUS", "AT", "DELIVERED", "EVENTS", "URL", "LAST"], page.items.iter().map(row));
                Ok(())
            }
            Verb::Rm { id } => {
                client.send(client.request(Method::DELETE, &format!("/hooks/{id}"))?).await?;
                if !client.json() {
                    say::line(&id);
                }
                Ok(())
            }
            Verb::Test { id } => {
                let went: Delivery = client.fetch(client.request(Method::POST, &format!("/hooks/{id}/test"))?).await?;
                if client.json() {
                    say::json(&went)?;
                }
                match went.error {
                    Some(error) => Err(Failure::new(format!("the hook was not reached: {error}")).exit(Exit::Failed)),
                    None if client.json() => Ok(()),
                    None => {
                        say::line(format!("{} in {} ms", went.status.unwrap_or_default(), went.took_ms));
                        Ok(())
                    }
                }
            }
            Verb::Replay { id, after } => {
                let request = client.request(Method::POST, &format!("/hooks/{id}/replay"))?;
                let hook: HookView = client.fetch(request.json(&NewReplay { after })).await?;
                if client.json() {
                    return say::json(&hook);
                }
                say::line(&hook.id);
                Ok(())
            }
        }
    }
}

fn row(hook: &HookView) -> Vec<String> {
    let events: Vec<&str> = hook.events.iter().map(Topic::as_str).collect();
    let last = hook.last.as_ref().map(|last| match &last.error {
        Some(error) => error.clone(),
        None => last.status.map(|status| status.to_string()).unwrap_or_default(),
    });
    vec![
        hook.id.to_string(),
        hook.status.word().to_owned(),
        hook.cursor.to_string(),
        hook.delivered.to_string(),
        events.join(", "),
        hook.url.to_string(),
        hook.note.clone().or(last).unwrap_or_default(),
    ]
}
