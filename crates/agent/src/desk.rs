//! The desk as its agent is told of it: where it is, and what the rules are.

use std::fmt::Write as _;

use carrel_model::{Branch, RepoName, TaskId};

/// Where things are inside a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The working tree.
    pub workspace: String,
    /// The user's home.
    pub home: String,
    /// The gateway, without a slash at its end.
    pub gateway: String,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            workspace: "/workspace".to_owned(),
            home: "/home/user".to_owned(),
            gateway: "http://127.0.0.1:49980".to_owned(),
        }
    }
}

impl Place {
    /// What stands for a key. The gateway puts the real one in its place, outside.
    pub const KEY: &'static str = "carrel";

    /// Where Anthropic's interface answers; programs add `/v1/messages`.
    pub fn anthropic(&self) -> String {
        format!("{}/llm/anthropic", self.gateway)
    }

    /// Where OpenAI's interface answers; programs add `/chat/completions` or `/responses`.
    pub fn openai(&self) -> String {
        format!("{}/llm/openai/v1", self.gateway)
    }

    /// Where the house's MCP server answers.
    pub fn mcp(&self) -> String {
        format!("{}/mcp", self.gateway)
    }

    /// A file of ours in the user's home, outside of the working tree.
    pub(crate) fn own(&self, name: &str) -> String {
        format!("{}/.carrel/{name}", self.home)
    }
}

/// The rules of one desk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeskRules {
    /// The task, when the desk belongs to one.
    pub task: Option<TaskId>,
    /// The repository in the working tree, when there is one.
    pub repo: Option<RepoName>,
    /// The branch that is checked out, and the only one that may be pushed.
    pub branch: Option<Branch>,
    /// The branch that the work is to be merged into.
    pub base: Option<Branch>,
    /// The command that has to succeed before the work is merged.
    pub check_command: Option<String>,
    /// What the repository's people want every agent to know.
    pub house_rules: Option<String>,
    /// Hosts that can be reached beside the gateway. None: there is no network.
    pub reachable: Vec<String>,
}

/// How a line begins in which an agent asks a person.
pub(crate) const QUESTION: &str = "QUESTION:";

impl DeskRules {
    /// The rules as the agent reads them.
    pub fn text(&self) -> String {
        let mut text = String::from("# Rules of this desk\n\n");
        let mut rule = |line: String| {
            let _ = writeln!(text, "- {line}");
        };
        rule("You work alone in a sandbox of your own. Nobody watches a screen: nothing can be confirmed, so do not wait \
              for a confirmation. You may run any program and change any file here."
            .to_owned());
        if let Some(branch) = &self.branch {
            let repo = self.repo.as_ref().map(|repo| format!(" of the repository `{repo}`")).unwrap_or_default();
            rule(format!("The working tree is a checkout{repo} on the branch `{branch}`. Stay on this branch."));
            rule("Commit what you do, in small commits. A message is a conventional commit: `type(scope): summary` in at \
                  most 72 characters, where the type is one of feat, fix, docs, refactor, test, perf, build, ci, chore. \
                  Then a blank line and why, when that is not obvious."
                .to_owned());
            if let Some(task) = self.task {
                rule(format!("The last line of each commit message is the trailer `Carrel-Task: {task}`."));
            }
            rule(format!(
                "`git push origin HEAD:{branch}` is allowed, and needs no password. No other branch and no tag can be \
                 pushed. Do not rewrite commits that are pushed already."
            ));
            if let Some(base) = &self.base {
                rule(format!(
                    "The work will be merged into `{base}` by a pull request, which is opened for you. Do not merge \
                     yourself, and do not open one."
                ));
            }
            rule(
                "You are finished when the change is complete, the working tree is clean and everything is committed. \
                  Leave no temporary files. What is not committed counts as not done."
                    .to_owned(),
            );
        }
        if let Some(check) = &self.check_command {
            rule(format!("Before you finish, run this and make it succeed: `{check}`"));
        }
        rule(match self.reachable.as_slice() {
            [] => "There is no network, apart from the model, git and what is said here.".to_owned(),
            hosts => format!("Of the network only this can be reached: {}.", hosts.join(", ")),
        });
        rule("There are no secrets here and none are needed: keys are added outside. Do not look for any, do not ask for \
              any, and write none into a file or a message."
            .to_owned());
        rule(format!(
            "If you cannot go on without a person's decision, end your turn with a message whose last paragraph begins \
             with `{QUESTION}` and asks one clear question. The answer comes as your next message. Ask only what you \
             cannot find out and cannot sensibly decide yourself."
        ));
        rule("When you are finished, end with a short summary: what was changed, and how it was checked.".to_owned());
        if let Some(own) = self.house_rules.as_deref().map(str::trim).filter(|own| !own.is_empty()) {
            let _ = write!(text, "\n# Rules of this repository\n\n{own}\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_name_the_branch_the_trailer_and_how_to_ask() {
        let rules = DeskRules {
            task: Some(42.try_into().expect("a number")),
            repo: Some("hello".parse().expect("a name")),
            branch: Some("task-42".parse().expect("a branch")),
            base: Some("main".parse().expect("a branch")),
            check_command: Some("make test".into()),
            house_rules: Some("Tabs, not spaces.".into()),
            reachable: vec!["crates.io".into()],
        };
        insta::assert_snapshot!(rules.text());
    }

    #[test]
    fn a_desk_without_a_repository_speaks_of_no_branch() {
        let text = DeskRules::default().text();
        assert!(!text.contains("push") && text.contains("QUESTION:") && text.contains("no network"), "{text}");
    }
}
