//! `carrel key …`

use carrel_model::{
    AgentId, Role, SandboxId,
    key::KeySecret,
    public::{Bearer, KeyView, Minted, NewKey, Page},
    sandbox::Lifetime,
};
use clap::Subcommand;
use reqwest::Method;

use super::{Client, ago, only_match};
use crate::{
    data::DataDir,
    failure::{Exit, Failure},
    say,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Mint a key; its secret is printed once
    Create {
        /// What people will call it
        name: String,
        /// What it may do: admin, member, agent or sandbox
        #[arg(long, default_value = "member", value_parser = |text: &str| Role::from_word(text).ok_or("expected admin, member, agent or sandbox"))]
        role: Role,
        /// The agent it is bound to, with --role agent
        #[arg(long)]
        agent: Option<AgentId>,
        /// The sandbox it is bound to, with --role sandbox
        #[arg(long)]
        sandbox: Option<SandboxId>,
        /// After how many seconds it is void; never when left out
        #[arg(long, value_name = "SECONDS")]
        expires: Option<Lifetime>,
    },
    /// List the keys, newest first
    Ls,
    /// Give a key a new secret; the old one is void at once
    Rotate {
        /// Its id, or the beginning of it
        id: String,
    },
    /// End a key at once
    Revoke {
        /// Its id, or the beginning of it
        id: String,
    },
}

impl Verb {
    pub(crate) async fn run(self, client: &Client, data: &DataDir) -> Result<(), Failure> {
        match self {
            Verb::Create { name, role, agent, sandbox, expires } => {
                let new = NewKey { name, role, agent_id: agent, sandbox_id: sandbox, expires_in_s: expires };
                show(client, &client.fetch(client.request(Method::POST, "/keys")?.json(&new)).await?)
            }
            Verb::Ls => {
                let keys = all(client).await?;
                if client.json() {
                    return say::json(&keys);
                }
                if client.quiet() {
                    keys.iter().for_each(|key| say::line(&key.id));
                    return Ok(());
                }
                say::table(
                    &["ID", "NAME", "ROLE", "BOUND TO", "BEGINS", "MADE", "USED", "STATE"],
                    keys.iter().map(row),
                );
                Ok(())
            }
            Verb::Rotate { id } => {
                let id = resolve(client, &id).await?;
                let me: Bearer = client.get("/me").await?;
                let minted: Minted = client.fetch(client.request(Method::POST, &format!("/keys/{id}/rotate"))?).await?;
                keep_own_key(data, &me, &minted)?;
                show(client, &minted)
            }
            Verb::Revoke { id } => {
                let id = resolve(client, &id).await?;
                client.send(client.request(Method::DELETE, &format!("/keys/{id}"))?).await?;
                if !client.json() {
                    say::line(&id);
                }
                Ok(())
            }
        }
    }
}

/// Whoever rotates the key in `admin.key` with that very key goes on with the new one.
fn keep_own_key(data: &DataDir, me: &Bearer, minted: &Minted) -> Result<(), Failure> {
    let fresh = minted.secret.as_deref().and_then(|text| KeySecret::parse(text).ok());
    let by_file = std::env::var_os("CARREL_KEY").is_none();
    if let Some(fresh) = fresh.filter(|_| by_file && me.key_id == minted.key.id) {
        data.write_admin_key(&fresh)?;
        say::aside("carrel: admin.key holds the new key");
    }
    Ok(())
}

async fn all(client: &Client) -> Result<Vec<KeyView>, Failure> {
    let (mut keys, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let query: Vec<_> = cursor.map(|cursor| ("cursor", cursor)).into_iter().collect();
        let page: Page<KeyView> = client.fetch(client.request(Method::GET, "/keys")?.query(&query)).await?;
        keys.extend(page.items);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(keys),
        }
    }
}

async fn resolve(client: &Client, typed: &str) -> Result<String, Failure> {
    let keys = all(client).await?;
    let named: Vec<_> = keys.iter().filter(|key| key.name == typed && key.revoked_at.is_none()).collect();
    match named[..] {
        [] => {}
        [only] => return Ok(only.id.to_string()),
        [..] => {
            let ids: Vec<_> = named.iter().map(|key| key.id.to_string()).collect();
            let sentence = format!("several keys are called `{typed}`: {}", ids.join(", "));
            return Err(Failure::new(sentence).hint("use the id").exit(Exit::Conflict));
        }
    }
    only_match("key", typed, keys.into_iter().map(|key| key.id.to_string()))
}

fn show(client: &Client, minted: &Minted) -> Result<(), Failure> {
    if client.json() {
        return say::json(minted);
    }
    let secret = minted.secret.as_deref().unwrap_or("(shown before)");
    if client.quiet() {
        say::line(secret);
        return Ok(());
    }
    say::line(format_args!("{}  {} ({})", minted.key.id, say::printable(&minted.key.name), minted.key.role.word()));
    say::line(secret);
    say::aside("This is the only time the key is shown.");
    Ok(())
}

fn row(key: &KeyView) -> Vec<String> {
    let bound =
        key.agent_id.as_ref().map(ToString::to_string).or_else(|| key.sandbox_id.as_ref().map(ToString::to_string));
    let state = match (key.revoked_at, key.expires_at) {
        (Some(_), _) => "revoked",
        (None, Some(end)) if end <= jiff::Timestamp::now() => "expired",
        _ => "good",
    };
    vec![
        key.id.to_string(),
        key.name.clone(),
        key.role.word().to_owned(),
        bound.unwrap_or_default(),
        format!("{}…", key.prefix),
        ago(key.created_at),
        key.last_used_at.map(ago).unwrap_or_default(),
        state.to_owned(),
    ]
}
