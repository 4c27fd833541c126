//! Finds an agent's own tool for what a script wants done.

use serde_json::{Map, Value, json};

use crate::Tool;

/// A tool that an agent offers: its name, and the properties that it takes.
#[derive(Debug, Clone)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) properties: Map<String, Value>,
}

/// A use of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) input: Value,
}

const SHELLS: [&str; 6] = ["bash", "shell", "exec_command", "shell_command", "local_shell", "run_shell_command"];

impl Tool {
    /// How this agent does it. Who has no tool for files does it in the shell.
    pub(crate) fn with(&self, offered: &[Offered], workspace: &str) -> Option<Use> {
        let named = |names: &[&str]| {
            names.iter().find_map(|name| offered.iter().find(|tool| tool.name.eq_ignore_ascii_case(name)))
        };
        let full = |path: &str| format!("{workspace}/{path}");
        let (tool, given) = match self {
            Tool::Run(line) => {
                let tool = named(&SHELLS)?;
                let line = match tool.properties.get("command").and_then(|kind| kind.get("type")) {
                    Some(kind) if kind == "array" => json!(["sh", "-c", line]),
                    _ => json!(line),
                };
                (tool, vec![(&["command", "cmd"][..], line), (&["description"][..], json!("as the script has it"))])
            }
            Tool::Read(path) => match named(&["read", "read_file"]) {
                Some(tool) => (tool, vec![(PATH, json!(full(path)))]),
                None => return Tool::Run(format!("cat {}", quote(path))).with(offered, workspace),
            },
            Tool::Write { path, content } => match named(&["write", "write_file"]) {
                Some(tool) => (tool, vec![(PATH, json!(full(path))), (&["content"][..], json!(content))]),
                None => {
                    let line = format!("printf %s {} > {}", quote(content), quote(path));
                    return Tool::Run(line).with(offered, workspace);
                }
            },
            Tool::Edit { path, old, new } => match named(&["edit", "replace"]) {
                Some(tool) => (
                    tool,
                    vec![
                        (PATH, json!(full(path))),
                        (&["old_string", "oldString"][..], json!(old)),
                        (&["new_string", "newString"][..], json!(new)),
                    ],
                ),
                None => {
                    let script = r"s/\Q$ENV{OLD}\E/$ENV{NEW}/";
                    let (old, new, path) = (quote(old), quote(new), quote(path));
                    let line = format!("OLD={old} NEW={new} perl -0777 -pi -e '{script}' {path}");
                    return Tool::Run(line).with(offered, workspace);
                }
            },
        };
        let mut input = Map::new();
        for (names, value) in given {
            if let Some(name) = names.iter().find(|name| tool.properties.contains_key(**name)) {
                input.insert((*name).to_owned(), value);
            }
        }
        Some(Use { name: tool.name.clone(), input: Value::Object(input) })
    }
}

const PATH: &[&str] = &["file_path", "filePath", "path", "absolute_path"];

/// A text as one word of the shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
