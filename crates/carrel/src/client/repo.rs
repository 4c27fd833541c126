//! `carrel repo …`

use carrel_model::{
    Branch, BranchFormat, RepoName, RepoSource,
    number::Whole,
    public::{CommandRulesChange, NewRepo, Page, PullRulesChange, PushView, RepoChange, RepoView},
    repo::{MergeStyle, RepoPhase},
};
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;

use super::{Client, ago};
use crate::{
    failure::{Exit, Failure},
    say,
};

/// How often a person at a terminal is told how far a fetch is.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(700);

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Add a repository: a path, a URL, github:owner/name, or --new NAME for one that lives here
    Add(Add),
    /// List the repositories
    Ls,
    /// Show a repository and what was pushed to it lately
    Show {
        /// Its name
        name: RepoName,
    },
    /// Bring a repository up to date with its upstream now
    Sync {
        /// Its name
        name: RepoName,
    },
    /// Change what is wanted of a repository
    Set {
        /// Its name
        name: RepoName,
        #[command(flatten)]
        rules: Rules,
    },
    /// Remove repositories, with their mirrors
    Rm {
        /// Their names
        #[arg(required = true)]
        names: Vec<RepoName>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Where it comes from
    #[arg(required_unless_present = "new", conflicts_with = "new")]
    source: Option<String>,
    /// Make an empty one that lives here
    #[arg(long, value_name = "NAME")]
    new: Option<RepoName>,
    /// What to call it; from the source when left out
    #[arg(long, conflicts_with = "new")]
    name: Option<RepoName>,
    /// Do not wait until it was fetched
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    rules: Rules,
}

#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// The branch that tasks begin at
    #[arg(long, value_name = "BRANCH")]
    default_branch: Option<Branch>,
    /// What is run on the merged result before the base moves
    #[arg(long, value_name = "COMMAND")]
    check_command: Option<String>,
    /// How a branch is put onto its base
    #[arg(long, value_enum)]
    merge: Option<Style>,
    /// Where its pull requests are: embedded, github or gitea
    #[arg(long)]
    forge: Option<String>,
    /// The name of a task's branch, such as task-{id}
    #[arg(long, value_name = "NAME")]
    branch_format: Option<BranchFormat>,
    /// Whether branches stay after they were merged
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    keep_branches: Option<bool>,
    /// Only such paths may be changed by pushes, for example src/**
    #[arg(long = "allow-path", value_name = "PATTERN")]
    allow_paths: Option<Vec<String>>,
    /// Such paths may not be changed by pushes, for example .github/**
    #[arg(long = "deny-path", value_name = "PATTERN")]
    deny_paths: Option<Vec<String>>,
    /// Whether secrets in pushes are let by
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    allow_secrets: Option<bool>,
    /// The largest file that a push may bring, in MiB
    #[arg(long, value_name = "MIB")]
    largest_file_mb: Option<Whole<1, 4096>>,
    /// How many must approve a pull request before it is merged
    #[arg(long, value_name = "NUMBER")]
    approvals: Option<Whole<0, 20>>,
    /// A label that every pull request of a task gets
    #[arg(long = "pull-label", value_name = "LABEL")]
    pull_labels: Option<Vec<String>>,
    /// Somebody whose review is asked for, by login
    #[arg(long = "reviewer", value_name = "LOGIN")]
    reviewers: Option<Vec<String>>,
    /// Whether pull requests of tasks are opened as drafts
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    draft: Option<bool>,
    /// Whether pull requests of tasks are merged by themselves once nothing stands in the way
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    auto_merge: Option<bool>,
    #[command(flatten)]
    commands: super::commands::Commands,
    #[command(flatten)]
    hosts: super::hosts::Hosts,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Style {
    Merge,
    Squash,
    Rebase,
}

impl From<Style> for MergeStyle {
    fn from(style: Style) -> Self {
        match style {
            Style::Merge => MergeStyle::Merge,
            Style::Squash => MergeStyle::Squash,
            Style::Rebase => MergeStyle::Rebase,
        }
    }
}

impl Rules {
    fn change(self) -> Result<RepoChange, Failure> {
        let (commands, network) = (self.commands.change()?, self.hosts.change()?);
        let pulls = PullRulesChange {
            approvals: self.approvals,
            labels: self.pull_labels,
            reviewers: self.reviewers,
            draft: self.draft,
            auto_merge: self.auto_merge,
        };
        Ok(RepoChange {
            commands: (commands != CommandRulesChange::default()).then_some(commands),
            pulls: (pulls != PullRulesChange::default()).then_some(pulls),
            default_branch: self.default_branch,
            forge: self.forge,
            check_command: self.check_command,
            merge: self.merge.map(MergeStyle::from),
            branch_format: self.branch_format,
            keep_branches: self.keep_branches,
            allow_paths: self.allow_paths,
            deny_paths: self.deny_paths,
            allow_secrets: self.allow_secrets,
            largest_file_mb: self.largest_file_mb,
            network,
        })
    }
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Add(add) => add.run(client).await,
            Verb::Ls => {
                let page: Page<RepoView> = client.get("/repos").await?;
                show(client, &page.items, true)
            }
            Verb::Show { name } => show_one(client, &name).await,
            Verb::Sync { name } => {
                let repo = sync(client, &name).await?;
                show(client, &[repo], false)
            }
            Verb::Set { name, rules } => {
                let request = client.request(Method::PATCH, &format!("/repos/{name}"))?.json(&rules.change()?);
                let repo = client.fetch(request).await?;
                show(client, &[repo], false)
            }
            Verb::Rm { names } => {
                for name in &names {
                    client.send(client.request(Method::DELETE, &format!("/repos/{name}"))?).await?;
                    if !client.json() {
                        say::line(name);
                    }
                }
                if client.json() { say::json(&names) } else { Ok(()) }
            }
        }
    }
}

impl Add {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let source = self.source.as_deref().map(read_source).transpose()?;
        let (is_new, rules) = (self.new.is_some(), self.rules.change()?);
        let new = NewRepo {
            name: self.new.or(self.name),
            source,
            new: is_new,
            default_branch: rules.default_branch,
            forge: rules.forge,
            check_command: rules.check_command,
            merge: rules.merge,
            branch_format: rules.branch_format,
            keep_branches: rules.keep_branches,
            allow_paths: rules.allow_paths,
            deny_paths: rules.deny_paths,
            allow_secrets: rules.allow_secrets,
            largest_file_mb: rules.largest_file_mb,
            pulls: rules.pulls,
            commands: rules.commands,
            network: rules.network,
        };
        let mut repo: RepoView = client.fetch(client.request(Method::POST, "/repos")?.json(&new)).await?;
        if !is_new && !self.no_wait {
            repo = sync(client, &repo.name).await?;
        }
        show(client, &[repo], false)
    }
}

/// A source as it was typed; a path is this machine's, as it is seen from here.
pub(crate) fn read_source(typed: &str) -> Result<RepoSource, Failure> {
    let path = std::path::Path::new(typed);
    let looks_like_one = typed.starts_with('.') || typed.starts_with('/') || path.is_dir();
    let text = if looks_like_one {
        let found = path
            .canonicalize()
            .map_err(|error| Failure::new(format!("there is nothing at {typed}: {error}")).exit(Exit::NotFound))?;
        found.to_string_lossy().into_owned()
    } else {
        typed.to_owned()
    };
    let malformed = |error| Failure::new(format!("`{}` is no source: {error}", repeatable(typed))).exit(Exit::Usage);
    text.parse().map_err(malformed)
}

/// What was typed, without what may be a secret in it: whatever stands before the last `@`, or after a question mark.
fn repeatable(typed: &str) -> String {
    let typed = typed.split(['?', '#']).next().unwrap_or_default();
    let Some((before, after)) = typed.rsplit_once('@') else { return typed.to_owned() };
    let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://")).unwrap_or_default();
    format!("{scheme}…@{after}")
}

async fn sync(client: &Client, name: &RepoName) -> Result<RepoView, Failure> {
    let waiting = say::progress(format!("fetching {name}"));
    let mut syncing = std::pin::pin!(client.fetch(client.request(Method::POST, &format!("/repos/{name}/sync"))?));
    let synced = loop {
        tokio::select! {
            synced = &mut syncing => break synced,
            () = tokio::time::sleep(LOOK_EVERY), if !waiting.is_hidden() => {}
        }
        // How far it is stands in its note.
        let seen: Result<RepoView, Failure> = client.get(&format!("/repos/{name}")).await;
        if let Some(note) = seen.ok().filter(|repo| repo.phase == RepoPhase::Cloning).and_then(|repo| repo.note) {
            waiting.set_message(format!("fetching {name}. {note}"));
        }
    };
    waiting.finish_and_clear();
    synced
}

async fn show_one(client: &Client, name: &RepoName) -> Result<(), Failure> {
    let repo: RepoView = client.get(&format!("/repos/{name}")).await?;
    if client.json() {
        return say::json(&repo);
    }
    show(client, std::slice::from_ref(&repo), false)?;
    let page: Page<PushView> = client.get(&format!("/repos/{name}/pushes?limit=10")).await?;
    if client.quiet() || page.items.is_empty() {
        return Ok(());
    }
    let row = |push: &PushView| {
        let refs: Vec<_> = push.refs.iter().map(|pushed| pushed.name.as_str()).collect();
        let verdict = push.refusal.clone().map_or_else(|| "accepted".to_owned(), |why| format!("refused: {why}"));
        vec![push.id.to_string(), ago(push.at), say::printable(&refs.join(" ")), say::printable(&verdict)]
    };
    say::table(&["PUSH", "AGE", "REFS", "VERDICT"], page.items.iter().map(row));
    Ok(())
}

/// Shows repositories; one by itself is an object and not a list, where JSON is wanted.
fn show(client: &Client, repos: &[RepoView], as_list: bool) -> Result<(), Failure> {
    if client.json() {
        return match repos {
            [one] if !as_list => say::json(one),
            all => say::json(&all),
        };
    }
    if client.quiet() {
        repos.iter().for_each(|repo| say::line(&repo.name));
        return Ok(());
    }
    let row = |repo: &RepoView| {
        vec![
            repo.name.to_string(),
            repo.phase.word().to_owned(),
            repo.default_branch.as_ref().map(ToString::to_string).unwrap_or_default(),
            repo.head.as_ref().map(|head| head.short().to_owned()).unwrap_or_default(),
            repo.synced_at.map(ago).unwrap_or_default(),
            repo.source.as_ref().map_or_else(|| "lives here".to_owned(), ToString::to_string),
            say::printable(repo.note.as_deref().unwrap_or_default()),
        ]
    };
    say::table(&["NAME", "PHASE", "BRANCH", "HEAD", "SYNCED", "FROM", "NOTE"], repos.iter().map(row));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_source_repeats_no_secret() {
        for (typed, told) in [
            ("https://ada:hunter2@example.org/x", "https://…@example.org/x"),
            ("https://ada:hun@ter2@example.org/x", "https://…@example.org/x"),
            ("https://hunter2@example.org/x", "https://…@example.org/x"),
            ("ssh://git:hunter2@example.org/x", "ssh://…@example.org/x"),
            ("git:hunter2@example.org:x", "…@example.org:x"),
            ("https://example.org/x?token=hunter2", "https://example.org/x"),
            ("https://example.org/x#hunter2", "https://example.org/x"),
            ("git://example.org/x", "git://example.org/x"),
        ] {
            let said = read_source(typed).unwrap_err().to_string();
            assert!(said.starts_with(&format!("`{told}` is no source")) && !said.contains("hunter2"), "{said}");
        }
    }
}
