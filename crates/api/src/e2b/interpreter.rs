//! The template `code-interpreter-v1`: made the first time that somebody asks for it, or ahead when the operator wants it.
//!
//! It stands on the host's own programs. Kernels come from Python's package index, into a folder of their own that belongs
//! to the user, so that cells can install more; what drives them is this same program under another verb.

use std::time::Duration;

use carrel_control::{BuildStep, Control, Error, Given, Steps};
use carrel_model::{Grant, TemplateName, public::NewLimits, template::TemplatePhase};

use super::{Refusal, names};
use crate::house::Doors;

/// How long whoever asks first waits with us. The SDKs give up after sixty seconds.
const PATIENCE: Duration = Duration::from_secs(50);
/// Where everything lies.
const FOLDER: &str = "/opt/interpreter";
/// What E2B's users expect to import, without asking for it.
const PACKAGES: &str = "ipykernel bash_kernel matplotlib pandas numpy e2b_charts requests pillow";

/// What the door knows about the interpreter.
#[derive(Debug, Clone)]
pub struct Interpreter {
    /// This program, which runs inside as well.
    pub program: std::path::PathBuf,
    /// The verb that makes it the interpreter.
    pub verb: String,
    /// What Python kernels read first.
    pub startup: String,
}

/// Has the template made ahead of the first who asks for it. What comes of it is told where templates are shown, and is
/// never a reason not to serve.
pub async fn prepare_ahead(control: &Control, interpreter: &Interpreter) {
    let name: TemplateName = names::INTERPRETER.parse().expect("a good name");
    let desk = control.templates();
    if desk.is_ready(&name) {
        return;
    }
    match desk.make_ahead(name, steps(interpreter)).await {
        Ok(_) => tracing::info!(template = names::INTERPRETER, "it is being made; `carrel template log` shows how"),
        Err(error) => tracing::warn!(template = names::INTERPRETER, %error, "it is not made ahead"),
    }
}

/// Makes sure that the template is there; says so when it takes longer than a caller waits.
pub(super) async fn prepare(doors: &Doors, grant: &Grant, name: &TemplateName) -> Result<(), Refusal> {
    let Some(interpreter) = &doors.options.interpreter else {
        return Err(Refusal::new(404, format!("template '{}' not found", names::INTERPRETER)));
    };
    let desk = doors.control.templates();
    match desk.make_of(grant, name.clone(), None, steps(interpreter)).await {
        // Somebody else asked a moment ago: we wait together.
        Ok(_) | Err(Error::Conflict { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let made = async {
        let mut log = desk.log(grant, name, 0).await?;
        while log.next().await?.is_some() {}
        desk.get(grant, name).await
    };
    match tokio::time::timeout(PATIENCE, made).await {
        Ok(made) => {
            let made = made?;
            match made.phase {
                TemplatePhase::Failed => {
                    let why = made.note.unwrap_or_else(|| "it could not be made".into());
                    Err(Refusal::new(500, format!("template '{}': {why}", names::INTERPRETER)))
                }
                _ => Ok(()),
            }
        }
        Err(_) => Err(Refusal::new(
            503,
            format!(
                "template '{}' is being made for the first time, which takes a minute or two; ask again \
                 (`carrel template log {}` shows how it goes)",
                names::INTERPRETER,
                names::INTERPRETER
            ),
        )
        .with_retry_after(20)),
    }
}

fn steps(interpreter: &Interpreter) -> Steps {
    let kernel = |module: &str, more: &str| {
        format!(r#"["{FOLDER}/bin/python", "-m", "{module}", "-f", "{{connection_file}}"{more}]"#)
    };
    let startup = format!(r#", "--IPKernelApp.exec_files={FOLDER}/startup.py""#);
    let python = format!(r#"{{"argv": {}, "language": "python"}}"#, kernel("ipykernel_launcher", &startup));
    let bash = format!(r#"{{"argv": {}, "language": "bash"}}"#, kernel("bash_kernel", ""));
    let install = format!(
        "python3 -m venv {FOLDER} && \
         {{ [ ! -r /etc/ssl/certs/ca-certificates.crt ] || export PIP_CERT=/etc/ssl/certs/ca-certificates.crt; }} && \
         {FOLDER}/bin/pip install --no-cache-dir --disable-pip-version-check --progress-bar off {PACKAGES} && \
         chown -R user:user {FOLDER}"
    );
    let files = vec![
        ("carrel".to_owned(), Given::Program(interpreter.program.clone())),
        ("startup.py".to_owned(), Given::Text(interpreter.startup.clone())),
        ("kernels/python/kernel.json".to_owned(), Given::Text(python)),
        ("kernels/bash/kernel.json".to_owned(), Given::Text(bash)),
    ];
    Steps {
        from: "host".into(),
        login: None,
        anew: false,
        steps: vec![
            BuildStep::Run(install, Some("root".into())),
            BuildStep::Given { files, destination: format!("{FOLDER}/") },
            BuildStep::Env(vec![("PATH".into(), format!("{FOLDER}/bin:$PATH"))]),
        ],
        start: Some(format!("exec {FOLDER}/carrel {} {FOLDER}/kernels", interpreter.verb)),
        ready: Some("curl -sf http://127.0.0.1:49999/health || python3 -c 'import urllib.request as r; r.urlopen(\"http://127.0.0.1:49999/health\")'".into()),
        limits: NewLimits::default(),
        build: None,
    }
}
