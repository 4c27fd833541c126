//! `carrel secret …`

use std::io::{self, IsTerminal, Read, Write};

use carrel_model::{
    RepoName, SecretName,
    public::{NewSecret, Page, SecretText, SecretView},
};
use clap::Subcommand;
use reqwest::Method;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{Client, ago};
use crate::{
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Set a secret; its value is read from standard input, never from the command line
    Set {
        /// What it is called, such as github-token
        name: SecretName,
        /// The repository it is for [default: the whole house]
        #[arg(long)]
        repo: Option<RepoName>,
    },
    /// List the secrets by name; values are never shown
    Ls,
    /// Remove a secret
    Rm {
        /// What it is called
        name: SecretName,
        /// The repository it is for [default: the whole house]
        #[arg(long)]
        repo: Option<RepoName>,
    },
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Set { name, repo } => {
                let value = read_value(&name)?;
                let value = SecretText::new(value).map_err(|why| Failure::new(why).exit(Exit::Usage))?;
                let new = NewSecret { name, repo, value };
                let secret: SecretView = client.fetch(client.request(Method::POST, "/secrets")?.json(&new)).await?;
                if client.json() {
                    return say::json(&secret);
                }
                say::line(&secret.name);
                Ok(())
            }
            Verb::Ls => {
                let page: Page<SecretView> = client.get("/secrets").await?;
                if client.json() {
                    return say::json(&page.items);
                }
                if client.quiet() {
                    page.items.iter().for_each(|secret| say::line(&secret.name));
                    return Ok(());
                }
                let row = |secret: &SecretView| {
                    let repo = secret.repo.as_ref().map(ToString::to_string).unwrap_or_default();
                    let changes = secret.revision.to_string();
                    vec![secret.name.to_string(), repo, ago(secret.updated_at), changes, secret.updated_by.to_string()]
                };
                say::table(&["NAME", "REPO", "SET", "VALUES", "BY"], page.items.iter().map(row));
                Ok(())
            }
            Verb::Rm { name, repo } => {
                let query: Vec<_> = repo.iter().map(|repo| ("repo", repo.as_str())).collect();
                client.send(client.request(Method::DELETE, &format!("/secrets/{name}"))?.query(&query)).await?;
                if !client.json() {
                    say::line(&name);
                }
                Ok(())
            }
        }
    }
}

/// From a terminal one line without an echo; otherwise everything, without the line end that `echo` adds.
fn read_value(name: &SecretName) -> Result<String, Failure> {
    let wrong = |error: io::Error| Failure::new(format!("standard input cannot be read: {error}"));
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut text = String::new();
        let most = SecretText::MOST_BYTES as u64 + 2;
        stdin.lock().take(most).read_to_string(&mut text).map_err(wrong)?;
        let ending = if text.ends_with("\r\n") { 2 } else { usize::from(text.ends_with('\n')) };
        // A key in several lines keeps its last line end.
        if text.trim_end().lines().count() == 1 {
            text.truncate(text.len() - ending);
        }
        return Ok(text);
    }
    let _ = write!(io::stderr(), "{name}: ");
    let before = tcgetattr(&stdin).map_err(|error| wrong(error.into()))?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(|error| wrong(error.into()))?;
    let mut line = String::new();
    let read = stdin.read_line(&mut line);
    let _ = tcsetattr(&stdin, OptionalActions::Flush, &before);
    read.map_err(wrong)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}
