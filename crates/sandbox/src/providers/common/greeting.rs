//! What a fresh sandbox is told: its surroundings, and the start command of its template.

use std::time::Duration;

use carrel_envd::{Envd, EnvdError, Event, Start};
use carrel_model::{SandboxId, TemplateName, sandbox::Network};
use futures::StreamExt;

use crate::ProviderError;

/// The port of the loopback inside on which the host listens.
pub const GATEWAY_PORT: u16 = 49_980;

/// What is called inside without the proxy: the sandbox itself, as programs spell it.
const OWN: &str = "localhost,127.0.0.1,::1,0.0.0.0,carrel";

/// The template that E2B's users know by another name.
const HOST: &str = "host";

/// What every sandbox finds in its environment.
pub(crate) fn surroundings(
    id: Option<&SandboxId>,
    template: &TemplateName,
    network: &Network,
) -> Vec<(String, String)> {
    let gateway = format!("http://127.0.0.1:{GATEWAY_PORT}");
    let mut env = vec![("CARREL_GATEWAY".to_owned(), gateway.clone())];
    if let Some(id) = id {
        env.push(("CARREL_SANDBOX_ID".into(), id.to_string()));
        // What code that was written for E2B looks for.
        env.push(("E2B_SANDBOX".into(), "true".into()));
        env.push(("E2B_SANDBOX_ID".into(), id.to_string()));
        let told = if template.as_str() == HOST { "base" } else { template.as_str() };
        env.push(("E2B_TEMPLATE_ID".into(), told.into()));
    }
    // Also without a network: the proxy refuses then, and who asks hears why.
    if !network.interface {
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
            env.push((name.into(), gateway.clone()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            env.push((name.into(), OWN.into()));
        }
    }
    env
}

/// Runs the start command in the background and asks until it is ready.
pub(crate) async fn start(envd: &Envd, command: &str, ready: Option<&str>) -> Result<(), ProviderError> {
    /// A start command that is not ready after so long never will be.
    const PATIENCE: Duration = Duration::from_secs(120);
    let shell = |command: &str, tag: Option<&str>| Start {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        tag: tag.map(str::to_owned),
        ..Start::default()
    };
    let mut events = envd.start(&shell(command, Some("start"))).await.map_err(silent)?;
    // Nobody reads what it prints: the reader keeps it going until it ends.
    tokio::spawn(async move { while events.next().await.is_some() {} });
    let Some(ready) = ready else { return Ok(()) };
    let asked = async {
        let mut pause = Duration::from_millis(20);
        loop {
            let mut events = envd.start(&shell(ready, None)).await?;
            while let Some(event) = events.next().await {
                if let Event::Ended(ended) = event?
                    && ended.exit_code == 0
                {
                    return Ok::<_, EnvdError>(());
                }
            }
            // The check is a command of the template's author: there is no bell to wait for.
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(done) => done.map_err(silent),
        Err(_) => Err(ProviderError::Unfit {
            why: format!("its start command was not ready after {PATIENCE:?}; it was asked with `{ready}`"),
        }),
    }
}

/// An envd that does not do what the provider asks of it is not there yet, or no more.
pub(crate) fn silent(error: EnvdError) -> ProviderError {
    ProviderError::Unavailable { why: error.to_string() }
}
