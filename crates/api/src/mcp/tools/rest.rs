//! Tools that are one request each: sandboxes, tasks, pulls, usage.

use axum::http::Method;
use serde_json::{Value, json};

use super::{
    Audience::{Everybody, KeyHolders},
    Does, Gives, Nature, Row,
};

/// The id of a sandbox, as an argument.
pub(super) fn sandbox() -> Value {
    json!({"type": "string", "description": "The sandbox, as sandbox_list or sandbox_create shows it."})
}

fn task() -> Value {
    json!({"type": "integer", "minimum": 1, "description": "The number of the task."})
}

fn only_sandbox() -> Value {
    json!({"sandbox_id": sandbox()})
}

fn only_task() -> Value {
    json!({"task_id": task()})
}

fn a_pull() -> Value {
    json!({"repo": {"type": "string"}, "number": {"type": "integer", "minimum": 1}})
}

fn page() -> Value {
    json!({"limit": {"type": "integer", "minimum": 1, "maximum": 1000}, "cursor": {"type": "string", "description": "The `next` of the page before."}})
}

const fn asks(method: Method, path: &'static str) -> Does {
    Does::Asks { method, path, query: &[], always: "" }
}

pub(super) static ROWS: [Row; 34] = [
    Row {
        name: "sandbox_create",
        title: "Create a sandbox",
        about: "Creates an isolated Linux sandbox and waits until it is ready. With `repo` it works on that repository.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || {
            json!({
                "template": {"type": "string", "description": "What it starts from; the usual one when left out."},
                "repo": {"type": "string", "description": "The repository it works on."},
                "task_id": {"type": "integer", "minimum": 1, "description": "The task it belongs to: it may push to that branch."},
                "agent_id": {"type": "string"},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
                "timeout_s": {"type": "integer", "minimum": 1, "description": "How long it lives."},
                "auto_pause": {"type": "boolean"},
                "network": {"type": "object", "description": "`{\"mode\": \"none\" | \"allow\" | \"open\", \"allow\": [hosts]}`"},
            })
        },
        needs: &[],
        gives: Gives::Thing,
        does: Does::Asks { method: Method::POST, path: "/sandboxes", query: &[], always: "wait=ready" },
    },
    Row {
        name: "sandbox_list",
        title: "List sandboxes",
        about: "Lists the sandboxes that you may see, newest first.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: || {
            let mut takes = page();
            takes["phase"] = json!({"type": "string", "description": "Only those in this phase, such as `ready`."});
            takes
        },
        needs: &[],
        gives: Gives::List,
        does: Does::Asks { method: Method::GET, path: "/sandboxes", query: &["limit", "cursor", "phase"], always: "" },
    },
    Row {
        name: "sandbox_show",
        title: "Show a sandbox",
        about: "Shows a sandbox: its phase, its limits, when it ends.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_sandbox,
        needs: &["sandbox_id"],
        gives: Gives::Thing,
        does: asks(Method::GET, "/sandboxes/{sandbox_id}"),
    },
    Row {
        name: "sandbox_stats",
        title: "What a sandbox uses",
        about: "Shows the processors, memory and processes that a sandbox uses.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_sandbox,
        needs: &["sandbox_id"],
        gives: Gives::Thing,
        does: asks(Method::GET, "/sandboxes/{sandbox_id}/stats"),
    },
    Row {
        name: "sandbox_pause",
        title: "Pause a sandbox",
        about: "Freezes a sandbox as it is. It uses no processor until sandbox_resume.",
        nature: Nature::Sets,
        audience: KeyHolders,
        takes: only_sandbox,
        needs: &["sandbox_id"],
        gives: Gives::Thing,
        does: Does::Asks {
            method: Method::POST,
            path: "/sandboxes/{sandbox_id}/pause",
            query: &[],
            always: "wait=paused",
        },
    },
    Row {
        name: "sandbox_resume",
        title: "Resume a sandbox",
        about: "Lets a paused sandbox go on.",
        nature: Nature::Sets,
        audience: KeyHolders,
        takes: only_sandbox,
        needs: &["sandbox_id"],
        gives: Gives::Thing,
        does: Does::Asks {
            method: Method::POST,
            path: "/sandboxes/{sandbox_id}/resume",
            query: &[],
            always: "wait=ready",
        },
    },
    Row {
        name: "sandbox_fork",
        title: "Fork a sandbox",
        about: "Makes copies of a sandbox as it is now.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || json!({"sandbox_id": sandbox(), "count": {"type": "integer", "minimum": 1, "maximum": 100}}),
        needs: &["sandbox_id"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/sandboxes/{sandbox_id}/fork"),
    },
    Row {
        name: "sandbox_remove",
        title: "End a sandbox",
        about: "Ends a sandbox. Everything in it is gone.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: only_sandbox,
        needs: &["sandbox_id"],
        gives: Gives::Done,
        does: asks(Method::DELETE, "/sandboxes/{sandbox_id}"),
    },
    Row {
        name: "files_list",
        title: "List files",
        about: "Lists a directory in a sandbox.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: || {
            let depth = json!({"type": "integer", "minimum": 1, "maximum": 64});
            json!({"sandbox_id": sandbox(), "path": {"type": "string", "description": "From the user's home unless it begins with `/`."}, "depth": depth})
        },
        needs: &["sandbox_id", "path"],
        gives: Gives::List,
        does: Does::Asks {
            method: Method::GET,
            path: "/sandboxes/{sandbox_id}/files/list",
            query: &["path", "depth"],
            always: "",
        },
    },
    Row {
        name: "files_remove",
        title: "Remove a file",
        about: "Removes a file, or a directory with everything in it.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: || json!({"sandbox_id": sandbox(), "path": {"type": "string"}}),
        needs: &["sandbox_id", "path"],
        gives: Gives::Done,
        does: Does::Asks {
            method: Method::DELETE,
            path: "/sandboxes/{sandbox_id}/files",
            query: &["path"],
            always: "",
        },
    },
    Row {
        name: "usage_show",
        title: "What models cost",
        about: "Adds up what models were used for and what it cost.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: || {
            let by = json!({"type": "string", "enum": ["day", "task", "session", "agent", "model", "provider"]});
            json!({"task_id": task(), "agent": {"type": "string"}, "since": {"type": "string", "format": "date-time"}, "by": by})
        },
        needs: &[],
        gives: Gives::Thing,
        does: Does::Asks {
            method: Method::GET,
            path: "/usage",
            query: &["task_id", "agent", "since", "by"],
            always: "",
        },
    },
    Row {
        name: "task_create",
        title: "Create a task",
        about: "Writes a card: a change that is wanted in a repository. With `start` an agent begins at once.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || {
            json!({
                "repo": {"type": "string"}, "title": {"type": "string"}, "prompt": {"type": "string"},
                "agent": {"type": "string"}, "base": {"type": "string"}, "start": {"type": "boolean"},
                "priority": {"type": "integer"}, "labels": {"type": "array", "items": {"type": "string"}},
                "budget_usd": {"type": "number", "minimum": 0},
                "depends_on": {"type": "array", "items": {"type": "object"}, "description": "`[{\"task_id\": 1, \"until\": \"merged\"}]`"},
            })
        },
        needs: &["repo", "title"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks"),
    },
    Row {
        name: "task_list",
        title: "List tasks",
        about: "Lists the tasks that you may see.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: || {
            let mut takes = page();
            takes["repo"] = json!({"type": "string"});
            takes
        },
        needs: &[],
        gives: Gives::List,
        does: Does::Asks { method: Method::GET, path: "/tasks", query: &["limit", "cursor", "repo"], always: "" },
    },
    Row {
        name: "task_show",
        title: "Show a task",
        about: "Shows a task: its phase, branch, pull request, and what it needs from a person.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Thing,
        does: asks(Method::GET, "/tasks/{task_id}"),
    },
    Row {
        name: "task_start",
        title: "Start a task",
        about: "Puts a task into the queue; an agent takes it up.",
        nature: Nature::Sets,
        audience: KeyHolders,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/start"),
    },
    Row {
        name: "task_message",
        title: "Say something to a task",
        about: "Says something to the agent of a task. It reads it at its next turn.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || json!({"task_id": task(), "text": {"type": "string"}}),
        needs: &["task_id", "text"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/message"),
    },
    Row {
        name: "task_diff",
        title: "What a task changed",
        about: "Shows the change of a task against its base, as a diff.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Text,
        does: asks(Method::GET, "/tasks/{task_id}/diff"),
    },
    Row {
        name: "task_timeline",
        title: "The timeline of a task",
        about: "Lists what was said and done on a task, turn by turn.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::List,
        does: asks(Method::GET, "/tasks/{task_id}/timeline"),
    },
    Row {
        name: "task_retry",
        title: "Try a task again",
        about: "Lets a task go on that failed or needs somebody.",
        nature: Nature::Sets,
        audience: KeyHolders,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/retry"),
    },
    Row {
        name: "task_close",
        title: "Close a task",
        about: "Closes a task without merging it. Work that was not published is kept for a while.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/close"),
    },
    Row {
        name: "task_depend",
        title: "Let a task wait for others",
        about: "Says which tasks must be started, in review or merged before this one begins.",
        nature: Nature::Sets,
        audience: KeyHolders,
        takes: || {
            let until = json!({"type": "string", "enum": ["started", "in_review", "merged"]});
            let edge =
                json!({"type": "object", "properties": {"task_id": task(), "until": until}, "required": ["task_id"]});
            json!({"task_id": task(), "depends_on": {"type": "array", "items": edge}})
        },
        needs: &["task_id", "depends_on"],
        gives: Gives::Thing,
        does: asks(Method::PATCH, "/tasks/{task_id}"),
    },
    Row {
        name: "task_done",
        title: "Is anything missing?",
        about: "Looks whether anything is missing before the work can become a pull request: uncommitted changes, no \
                commit, a merge in progress. Nothing missing: end your turn, and the house publishes it.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: only_task,
        needs: &["task_id"],
        gives: Gives::Thing,
        does: asks(Method::GET, "/tasks/{task_id}/done"),
    },
    Row {
        name: "task_ask",
        title: "Ask a person",
        about: "Asks a person something that you cannot decide. End your turn afterwards: the answer is your next message.",
        nature: Nature::Adds,
        audience: Everybody,
        takes: || json!({"task_id": task(), "question": {"type": "string"}}),
        needs: &["task_id", "question"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/ask"),
    },
    Row {
        name: "task_judge",
        title: "Judge between attempts",
        about: "Runs a command on the head of each attempt at a task; the last number that it prints is the score. With \
                `promote` the best one is kept and the others are closed.",
        nature: Nature::Destroys,
        audience: KeyHolders,
        takes: || json!({"task_id": task(), "command": {"type": "string"}, "promote": {"type": "boolean"}}),
        needs: &["task_id", "command"],
        gives: Gives::List,
        does: asks(Method::POST, "/tasks/{task_id}/judge"),
    },
    Row {
        name: "task_fork",
        title: "Try a task several times",
        about: "Writes other attempts at a task, from its base or from a checkpoint of its timeline, and starts them.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || {
            json!({"task_id": task(), "count": {"type": "integer", "minimum": 1, "maximum": 20},
                "from": {"type": "integer", "description": "The place of a checkpoint on the timeline."}, "agent": {"type": "string"}})
        },
        needs: &["task_id"],
        gives: Gives::List,
        does: asks(Method::POST, "/tasks/{task_id}/fork"),
    },
    Row {
        name: "area_claim",
        title: "Claim files",
        about: "Claims files or directories for a task, for a time, so that others keep away. Refused when another task has \
                one of them. The `token` renews it (`renews`) and gives it up (area_release).",
        nature: Nature::Adds,
        audience: Everybody,
        takes: || {
            json!({"task_id": task(), "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 64},
                "for_s": {"type": "integer", "minimum": 1, "maximum": 86_400}, "renews": {"type": "integer"}})
        },
        needs: &["task_id", "paths"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/tasks/{task_id}/claims"),
    },
    Row {
        name: "area_release",
        title: "Give up a claim",
        about: "Gives up a claim before it ends.",
        nature: Nature::Sets,
        audience: Everybody,
        takes: || json!({"task_id": task(), "token": {"type": "integer"}}),
        needs: &["task_id", "token"],
        gives: Gives::Done,
        does: asks(Method::DELETE, "/tasks/{task_id}/claims/{token}"),
    },
    Row {
        name: "area_list",
        title: "Who has claimed what",
        about: "Lists the files and directories of a repository that tasks have claimed. Look before you begin.",
        nature: Nature::Reads,
        audience: Everybody,
        takes: || json!({"repo": {"type": "string"}}),
        needs: &["repo"],
        gives: Gives::List,
        does: Does::Asks { method: Method::GET, path: "/areas", query: &["repo"], always: "" },
    },
    Row {
        name: "pull_list",
        title: "List pull requests",
        about: "Lists pull requests.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: || {
            let mut takes = page();
            takes["repo"] = json!({"type": "string"});
            takes
        },
        needs: &[],
        gives: Gives::List,
        does: Does::Asks { method: Method::GET, path: "/pulls", query: &["limit", "cursor", "repo"], always: "" },
    },
    Row {
        name: "pull_open",
        title: "Open a pull request",
        about: "Opens a pull request for a branch that was pushed.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || {
            json!({"repo": {"type": "string"}, "head": {"type": "string"}, "base": {"type": "string"},
                "title": {"type": "string"}, "body": {"type": "string"}, "draft": {"type": "boolean"}})
        },
        needs: &["repo", "head", "title"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/pulls"),
    },
    Row {
        name: "pull_show",
        title: "Show a pull request",
        about: "Shows a pull request: whether it can be merged, its checks and its reviews in short.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: a_pull,
        needs: &["repo", "number"],
        gives: Gives::Thing,
        does: asks(Method::GET, "/pulls/{repo}/{number}"),
    },
    Row {
        name: "pull_comments",
        title: "Read the comments of a pull request",
        about: "Lists what people said about a pull request.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: a_pull,
        needs: &["repo", "number"],
        gives: Gives::List,
        does: asks(Method::GET, "/pulls/{repo}/{number}/comments"),
    },
    Row {
        name: "pull_comment",
        title: "Comment on a pull request",
        about: "Says something about a pull request.",
        nature: Nature::Adds,
        audience: KeyHolders,
        takes: || {
            let mut takes = a_pull();
            takes["body"] = json!({"type": "string"});
            takes
        },
        needs: &["repo", "number", "body"],
        gives: Gives::Thing,
        does: asks(Method::POST, "/pulls/{repo}/{number}/comments"),
    },
    Row {
        name: "pull_checks",
        title: "The checks of a pull request",
        about: "Lists the checks of a pull request and how they went.",
        nature: Nature::Reads,
        audience: KeyHolders,
        takes: a_pull,
        needs: &["repo", "number"],
        gives: Gives::List,
        does: asks(Method::GET, "/pulls/{repo}/{number}/checks"),
    },
];
