//! What can go wrong with git, by what the caller can do about it.

use std::{io, sync::Arc, time::Duration};

/// Why git did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum GitError {
    /// It can never be had like this.
    #[error("{why}")]
    Unfit {
        /// A sentence, with a way out where there is one.
        why: String,
    },
    /// There is no such thing.
    #[error("there is no {what}")]
    Missing {
        /// What was looked for.
        what: String,
    },
    /// The upstream does not answer; try later.
    #[error("the upstream cannot be reached: {why}")]
    Unreachable {
        /// What git said.
        why: String,
    },
    /// The upstream wants another credential.
    #[error("the upstream refuses the credential: {why}")]
    Denied {
        /// What git said.
        why: String,
    },
    /// A ref is not where it was expected: somebody else was faster. Look again.
    #[error("{name} has moved meanwhile")]
    Moved {
        /// The ref.
        name: String,
    },
    /// Objects are damaged or missing.
    #[error("the repository is damaged: {why}")]
    Broken {
        /// What git said.
        why: String,
    },
    /// It took too long, and was ended.
    #[error("`git {what}` did not finish in {} s", after.as_secs())]
    TimedOut {
        /// The git command.
        what: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// Git failed in another way.
    #[error("`git {what}` failed: {why}")]
    Failed {
        /// The git command.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// The file system or the kernel failed.
    #[error("could not {what}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why not.
        source: Arc<io::Error>,
    },
}

impl GitError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> GitError {
        move |source| GitError::Io { what, source: Arc::new(source) }
    }

    pub(crate) fn unfit(why: impl Into<String>) -> GitError {
        GitError::Unfit { why: why.into() }
    }

    /// Whether the same call may succeed by itself after a while.
    pub fn is_passing(&self) -> bool {
        match self {
            GitError::Unreachable { .. } | GitError::TimedOut { .. } => true,
            GitError::Failed { why, .. } => why.contains(".lock': File exists"),
            _ => false,
        }
    }

    /// Whether what git said may mean that objects are damaged or missing.
    pub(crate) fn speaks_of_damage(said: &str) -> bool {
        let lower = said.to_lowercase();
        DAMAGE.iter().any(|words| lower.contains(words))
    }

    /// Understands what git said when it failed.
    pub(crate) fn understand(what: &'static str, said: &str) -> GitError {
        let why = tidy(said);
        let lower = said.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        // What is damaged there is no reason to make anything anew here.
        let (theirs, ours): (Vec<&str>, Vec<&str>) =
            said.split(['\n', '\r']).partition(|line| line.trim_start().starts_with("remote:"));
        if GitError::speaks_of_damage(&ours.join("\n")) {
            return GitError::Broken { why };
        }
        if GitError::speaks_of_damage(&theirs.join("\n")) {
            return GitError::Failed { what, why: format!("the repository there is damaged ({why})") };
        }
        if says(&["host key verification failed"]) {
            // Git itself says only that it could not read.
            let why = "the host shows another key than when it was first met, or none; if that is right, take its line \
                       out of `known_hosts` in the data directory";
            return GitError::Failed { what, why: why.into() };
        }
        if says(&DENIALS) {
            return GitError::Denied { why };
        }
        if says(&ABSENCES) {
            return GitError::Missing { what: format!("repository there ({why})") };
        }
        if says(&OUTAGES) {
            return GitError::Unreachable { why };
        }
        GitError::Failed { what, why }
    }
}

const DAMAGE: [&str; 10] = [
    "repository corruption",
    "object file is empty",
    "loose object",
    "is corrupt",
    "inflate: data stream error",
    "did not send all necessary objects",
    "bad object",
    "unable to read tree",
    "packfile is truncated",
    "does not match index",
];
const DENIALS: [&str; 6] = [
    "authentication failed",
    "could not read username",
    "could not read password",
    "permission denied (",
    "returned error: 403",
    "returned error: 401",
];
const ABSENCES: [&str; 4] =
    ["repository not found", "returned error: 404", "does not appear to be a git repository", "' not found"];
const OUTAGES: [&str; 26] = [
    "could not resolve host",
    "network is unreachable",
    "no route to host",
    "couldn't connect",
    "could not connect",
    "failed to connect",
    "connection refused",
    "connection reset",
    "connection closed by",
    "connection timed out",
    "operation timed out",
    "early eof",
    "empty reply from server",
    "the remote end hung up",
    "unexpected disconnect",
    "transfer closed with",
    "not closed cleanly",
    "unexpected eof while reading",
    "expected flush after ref listing",
    "rpc failed",
    "operation too slow",
    "returned error: 5",
    "returned error: 429",
    // Somebody else answers in its place, with a page for people: git takes it for an older kind of server.
    "no dav locking support",
    "git-http-push failed",
    "bad line length character",
];

/// The lines that matter: what git said last and worst, without progress and hints.
fn tidy(said: &str) -> String {
    let lines =
        || said.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let is_progress = |line: &&str| {
        let said = line.trim_start_matches("remote:").trim_start();
        ["Enumerating objects", "Counting objects", "Compressing objects", "Total "]
            .iter()
            .any(|it| said.starts_with(it))
    };
    let lines = || lines().filter(|line| !is_progress(line));
    let grave = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with("remote:");
    let mut kept: Vec<&str> = lines().filter(grave).collect();
    if kept.is_empty() {
        kept = lines().collect();
    }
    let start = kept.len().saturating_sub(4);
    let text = kept[start..].join("; ");
    text.strip_prefix("fatal: ").unwrap_or(&text).chars().take(600).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_becomes_what_the_caller_can_do() {
        let understand = |said| GitError::understand("fetch", said);
        type Fits = fn(&GitError) -> bool;
        let cases: [(&str, Fits); 13] = [
            ("fatal: unable to access 'https://x/': Could not resolve host: x", |e| {
                matches!(e, GitError::Unreachable { .. })
            }),
            ("fatal: unable to access 'http://x/': The requested URL returned error: 503", GitError::is_passing),
            (
                "error: no DAV locking support on http://x/\nerror: failed to push some refs to 'http://x/'",
                GitError::is_passing,
            ),
            (
                "error: RPC failed; HTTP 500 curl 22 x returned error: 500\nfatal: expected flush after ref listing",
                GitError::is_passing,
            ),
            ("error: RPC failed; curl 18 transfer closed with 132 bytes remaining to read", GitError::is_passing),
            ("fatal: remote-curl: bad line length character: <h1>", GitError::is_passing),
            ("error: RPC failed; HTTP 403 curl 22 The requested URL returned error: 403", |e| {
                matches!(e, GitError::Denied { .. })
            }),
            ("fatal: could not read Username for 'https://x': terminal prompts disabled", |e| {
                matches!(e, GitError::Denied { .. })
            }),
            ("git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.", |e| {
                matches!(e, GitError::Denied { .. })
            }),
            ("remote: Repository not found.\nfatal: repository 'https://x/' not found", |e| {
                matches!(e, GitError::Missing { .. })
            }),
            ("error: inflate: data stream error (incorrect header check)", |e| matches!(e, GitError::Broken { .. })),
            (
                "remote: error: inflate: data stream error\nremote: aborting due to possible repository corruption on the \
                 remote side.\nfatal: protocol error: bad pack header",
                |e| matches!(e, GitError::Failed { why, .. } if why.contains("there is damaged")) && !e.is_passing(),
            ),
            ("fatal: something else", |e| matches!(e, GitError::Failed { .. }) && !e.is_passing()),
        ];
        for (said, fits) in cases {
            let error = understand(said);
            assert!(fits(&error), "{said}: {error:?}");
        }
    }

    #[test]
    fn progress_and_hints_are_left_out_of_a_sentence() {
        let said = "Receiving objects: 10%\rReceiving objects: 20%\rhint: try again\nfatal: early EOF\n";
        assert_eq!(tidy(said), "early EOF");
        let said = "remote: Enumerating objects: 15, done.\nremote: fatal: no\nfatal: protocol error\n";
        assert_eq!(tidy(said), "remote: fatal: no; fatal: protocol error");
    }
}
