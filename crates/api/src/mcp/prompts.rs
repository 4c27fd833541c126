//! Prompts: how to begin what people often want.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::{Map, Value};

use super::desk::Trouble;

/// All of them.
pub(super) fn all() -> Vec<Prompt> {
    let argument = |name: &str, about: &str| PromptArgument::new(name).with_description(about).with_required(true);
    vec![
        Prompt::new("finish", Some("Finish the work at a desk so that it can be merged."), None::<Vec<PromptArgument>>)
            .with_title("Finish the work"),
        Prompt::new(
            "review",
            Some("Review what a task changed."),
            Some(vec![argument("task_id", "The number of the task.")]),
        )
        .with_title("Review a task"),
        Prompt::new(
            "delegate",
            Some("Have another agent make a change, at a desk of its own."),
            Some(vec![argument("repo", "The repository."), argument("wish", "What is to change.")]),
        )
        .with_title("Delegate a change"),
    ]
}

/// One of them, with its arguments in it.
pub(super) fn get(name: &str, args: &Map<String, Value>) -> Result<GetPromptResult, Trouble> {
    let given = |name: &str| {
        let value = args.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        value.filter(|value| !value.is_empty()).ok_or_else(|| Trouble(format!("The prompt needs `{name}`.")))
    };
    let text = match name {
        "finish" => "Bring the work in this sandbox to its end. Look at git_status and git_diff; run the tests of the \
                     repository with sandbox_exec and mend what fails; commit with git_commit, in the form \
                     `type(scope): summary`, and push with git_push. Done means: the tree is clean, the tests pass, \
                     and what you committed is pushed. Say what you changed and how you checked it."
            .to_owned(),
        "review" => {
            let task = given("task_id")?;
            format!(
                "Review task {task}. Read what was asked with task_show and what changed with task_diff. Look for \
                 mistakes, for what is missing, and for tests that assert nothing. Then say with task_message, in a \
                 few sentences and with file names, what must change; or that nothing must."
            )
        }
        "delegate" => format!(
            "Have this change made in the repository {}: {}\nWrite a card with task_create (a short title, the whole \
             wish as prompt, start = true), follow it with task_show until it is in review or needs somebody, answer \
             its questions with task_message, and report its pull request.",
            given("repo")?,
            given("wish")?
        ),
        other => return Err(Trouble(format!("There is no prompt `{other}`. Look at prompts/list."))),
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}
