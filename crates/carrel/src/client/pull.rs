//! `carrel pull …`

use carrel_model::{
    Branch, CommitId, RepoName,
    public::{
        CheckView, CommentView, NewAutoMerge, NewMerge, NewPull, NewPullComment, NewPullReview, Page, PullPhase,
        PullView, ReviewView, Side, Verdict,
    },
    repo::MergeStyle,
};
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Method;

use super::{Client, ago};
use crate::{failure::Failure, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// List pull requests
    Ls {
        /// Of this repository
        #[arg(long)]
        repo: Option<RepoName>,
        /// Which ones
        #[arg(long, value_enum, default_value = "open")]
        state: State,
    },
    /// Open a pull request for a branch
    Open(Open),
    /// Show a pull request with its checks, reviews and comments
    Show {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Print what a pull request changes
    Diff {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Merge a pull request, after the check of its repository passed on the merged result
    Merge {
        /// Which one, as REPO/NUMBER
        pull: Which,
        /// How it is put onto its base; as the repository says when left out
        #[arg(long, value_enum)]
        style: Option<super::repo::Style>,
        /// Only if its head is this commit
        #[arg(long, value_name = "COMMIT")]
        head: Option<CommitId>,
    },
    /// Close a pull request without merging it
    Close {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Open a pull request again that was closed
    Reopen {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Say that a draft is ready to be reviewed and merged
    Ready {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Say that a pull request is still being worked on: nobody merges a draft
    Draft {
        /// Which one, as REPO/NUMBER
        pull: Which,
    },
    /// Judge a pull request: approve it, ask for changes, or only remark something
    Review(Review),
    /// Let a pull request be merged by itself once nothing stands in the way
    AutoMerge {
        /// Which one, as REPO/NUMBER
        pull: Which,
        /// How it is put onto its base; as the repository says when left out
        #[arg(long, value_enum)]
        style: Option<super::repo::Style>,
        /// Take it back
        #[arg(long, conflicts_with = "style")]
        off: bool,
    },
    /// Say something at a pull request, or to a line of its diff
    Comment(Comment),
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// The repository
    repo: RepoName,
    /// The branch that is to be merged
    head: Branch,
    /// The branch it is to be merged into; the default branch when left out
    #[arg(long)]
    base: Option<Branch>,
    /// What it is called
    #[arg(long)]
    title: String,
    /// What it says of itself
    #[arg(long, default_value = "")]
    body: String,
    /// It is still being worked on
    #[arg(long)]
    draft: bool,
    /// A label that it gets
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// Somebody whose review is asked for, by login
    #[arg(long = "reviewer", value_name = "LOGIN")]
    reviewers: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Review {
    /// Which one, as REPO/NUMBER
    pull: Which,
    /// It may be merged
    #[arg(long, conflicts_with = "request_changes")]
    approve: bool,
    /// Something has to change first
    #[arg(long, requires = "message")]
    request_changes: bool,
    /// What to say; only an approval may say nothing
    #[arg(short, long, value_name = "TEXT", required_unless_present = "approve")]
    message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Comment {
    /// Which one, as REPO/NUMBER
    pull: Which,
    /// What to say
    body: String,
    /// The file it is about
    #[arg(long, requires = "line")]
    path: Option<String>,
    /// The line of that file
    #[arg(long, requires = "path")]
    line: Option<u32>,
    /// The line is counted as it was before
    #[arg(long, requires = "line")]
    old: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum State {
    Open,
    Merged,
    Closed,
    All,
}

/// A pull request: `REPO/NUMBER`, or `REPO#NUMBER`.
#[derive(Debug, Clone)]
pub(crate) struct Which {
    repo: RepoName,
    number: u64,
}

impl std::str::FromStr for Which {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = "expected REPO/NUMBER, such as app/12";
        let (repo, number) = text.rsplit_once(['/', '#']).ok_or(rule)?;
        Ok(Which { repo: repo.parse().map_err(|_| rule)?, number: number.parse().map_err(|_| rule)? })
    }
}

impl Which {
    fn path(&self) -> String {
        format!("/pulls/{}/{}", self.repo, self.number)
    }
}

impl Verb {
    pub(crate) async fn run(self, client: &Client) -> Result<(), Failure> {
        match self {
            Verb::Ls { repo, state } => list(client, repo, state).await,
            Verb::Open(open) => open.run(client).await,
            Verb::Show { pull } => show_one(client, &pull).await,
            Verb::Diff { pull } => {
                let response = client.send(client.request(Method::GET, &format!("{}/diff", pull.path()))?).await?;
                let text =
                    response.text().await.map_err(|error| Failure::new(format!("the diff broke off: {error}")))?;
                if client.json() {
                    return say::json(&text);
                }
                say::bytes(text.as_bytes());
                Ok(())
            }
            Verb::Merge { pull, style, head } => {
                let body = NewMerge { style: style.map(MergeStyle::from), head };
                let waiting = say::progress(format!("merging {}/{}", pull.repo, pull.number));
                let merged =
                    client.fetch(client.request(Method::POST, &format!("{}/merge", pull.path()))?.json(&body)).await;
                waiting.finish_and_clear();
                show(client, &[merged?], false)
            }
            Verb::Close { pull } => act(client, &pull, "close").await,
            Verb::Reopen { pull } => act(client, &pull, "reopen").await,
            Verb::Ready { pull } => act(client, &pull, "ready").await,
            Verb::Draft { pull } => act(client, &pull, "draft").await,
            Verb::Review(review) => review.run(client).await,
            Verb::AutoMerge { pull, style, off } => {
                let method = if off { Method::DELETE } else { Method::POST };
                let mut request = client.request(method, &format!("{}/auto_merge", pull.path()))?;
                if !off {
                    request = request.json(&NewAutoMerge { style: style.map(MergeStyle::from) });
                }
                show(client, &[client.fetch(request).await?], false)
            }
            Verb::Comment(comment) => comment.run(client).await,
        }
    }
}

impl Open {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let new = NewPull {
            repo: self.repo,
            head: self.head,
            base: self.base,
            title: self.title,
            body: self.body,
            draft: self.draft,
            labels: self.labels,
            reviewers: self.reviewers,
        };
        let pull = client.fetch(client.request(Method::POST, "/pulls")?.json(&new)).await?;
        show(client, &[pull], false)
    }
}

impl Review {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let verdict = match (self.approve, self.request_changes) {
            (true, _) => Verdict::Approved,
            (_, true) => Verdict::ChangesRequested,
            _ => Verdict::Commented,
        };
        let new = NewPullReview { verdict, body: self.message.unwrap_or_default() };
        let request = client.request(Method::POST, &format!("{}/reviews", self.pull.path()))?.json(&new);
        let given: ReviewView = client.fetch(request).await?;
        if client.json() {
            return say::json(&given);
        }
        if client.quiet() {
            say::line(&given.id);
            return Ok(());
        }
        show(client, &[client.get(&self.pull.path()).await?], false)
    }
}

impl Comment {
    async fn run(self, client: &Client) -> Result<(), Failure> {
        let side = self.line.map(|_| if self.old { Side::Old } else { Side::New });
        let new = NewPullComment { body: self.body, path: self.path, line: self.line, side, stamp: None };
        let request = client.request(Method::POST, &format!("{}/comments", self.pull.path()))?.json(&new);
        let said: CommentView = client.fetch(request).await?;
        if client.json() {
            return say::json(&said);
        }
        say::line(&said.id);
        Ok(())
    }
}

async fn list(client: &Client, repo: Option<RepoName>, state: State) -> Result<(), Failure> {
    let word = match state {
        State::Open => "open",
        State::Merged => "merged",
        State::Closed => "closed",
        State::All => "all",
    };
    let repo = repo.map(|repo| format!("&repo={repo}")).unwrap_or_default();
    let page: Page<PullView> = client.get(&format!("/pulls?state={word}{repo}&limit=1000")).await?;
    show(client, &page.items, true)
}

async fn act(client: &Client, pull: &Which, verb: &str) -> Result<(), Failure> {
    let pull = client.fetch(client.request(Method::POST, &format!("{}/{verb}", pull.path()))?).await?;
    show(client, &[pull], false)
}

async fn show_one(client: &Client, which: &Which) -> Result<(), Failure> {
    let pull: PullView = client.get(&which.path()).await?;
    if client.json() || client.quiet() {
        return show(client, &[pull], false);
    }
    show(client, std::slice::from_ref(&pull), false)?;
    if !pull.body.trim().is_empty() {
        say::line(format_args!("\n{}\n", pull.body.lines().map(say::printable).collect::<Vec<_>>().join("\n")));
    }
    let checks: Page<CheckView> = client.get(&format!("{}/checks", which.path())).await?;
    let row = |check: &CheckView| {
        let summary = check.summary.as_deref().unwrap_or_default();
        vec![say::printable(&check.name), check.state.word().to_owned(), say::printable(summary)]
    };
    if !checks.items.is_empty() {
        say::table(&["CHECK", "STATE", "SUMMARY"], checks.items.iter().map(row));
    }
    let reviews: Page<ReviewView> = client.get(&format!("{}/reviews", which.path())).await?;
    let row = |review: &ReviewView| {
        let verdict = review.verdict.word().to_owned();
        vec![say::printable(&review.author), ago(review.at), verdict, say::printable(&review.body)]
    };
    if !reviews.items.is_empty() {
        say::table(&["REVIEWER", "AGE", "VERDICT", "SAYS"], reviews.items.iter().map(row));
    }
    let comments: Page<CommentView> = client.get(&format!("{}/comments", which.path())).await?;
    let row = |comment: &CommentView| {
        let line = comment.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = comment.path.as_ref().map(|path| format!("{path}{line}")).unwrap_or_default();
        let (author, body) = (say::printable(&comment.author), say::printable(&comment.body));
        vec![author, ago(comment.created_at), say::printable(&place), body]
    };
    if !comments.items.is_empty() {
        say::table(&["AUTHOR", "AGE", "PLACE", "SAYS"], comments.items.iter().map(row));
    }
    Ok(())
}

/// Shows pulls; one by itself is an object and not a list, where JSON is wanted.
fn show(client: &Client, pulls: &[PullView], as_list: bool) -> Result<(), Failure> {
    if client.json() {
        return match pulls {
            [one] if !as_list => say::json(one),
            all => say::json(&all),
        };
    }
    if client.quiet() {
        pulls.iter().for_each(|pull| say::line(format_args!("{}/{}", pull.repo, pull.number)));
        return Ok(());
    }
    let row = |pull: &PullView| {
        let draft = if pull.draft && pull.phase != PullPhase::Closed { " (draft)" } else { "" };
        vec![
            format!("{}/{}", pull.repo, pull.number),
            format!("{}{draft}", pull.phase.word()),
            format!("{} → {}", pull.head, pull.base),
            pull.checks.map(|state| state.word().to_owned()).unwrap_or_default(),
            pull.verdict.map(|verdict| verdict.word().to_owned()).unwrap_or_default(),
            ago(pull.updated_at),
            say::printable(&pull.title),
        ]
    };
    say::table(&["PULL", "PHASE", "BRANCH", "CHECKS", "REVIEWS", "CHANGED", "TITLE"], pulls.iter().map(row));
    Ok(())
}
