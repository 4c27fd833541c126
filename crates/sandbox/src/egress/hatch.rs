//! The hatch: what a sandbox asks of the house itself is passed through to doors on the host's side.
//!
//! Whoever asks shows nothing: a listener belongs to one sandbox, so that is who asks. No secret is needed inside, and
//! none that is shown there counts. What stands behind is put there when the house is open.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use carrel_model::SandboxId;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use secrecy::SecretString;
use tokio::sync::watch;

use super::proxy::sentence;

/// What is passed through, in both directions, as it comes.
pub type Passed = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Whatever answers what sandboxes ask of the house.
#[async_trait]
pub trait Behind: Send + Sync {
    /// Answers one sandbox. That it was this one is certain; what it may do is decided behind the hatch.
    async fn answer(&self, sandbox: &SandboxId, request: Request<Passed>) -> Response<Passed>;

    /// The value of a secret that is put into a header on its way out.
    async fn reveal(&self, name: &str) -> Option<SecretString> {
        let _ = name;
        None
    }

    /// Hears of a host that a sandbox was not let through to, and why. Without a port when only its name was asked for.
    async fn turned_back(&self, sandbox: &SandboxId, host: &str, port: Option<u16>, why: &str) {
        let _ = (sandbox, host, port, why);
    }
}

/// The hatch of a house. Clones share it.
#[derive(Clone, Default)]
pub struct Hatch(Arc<watch::Sender<Option<Arc<dyn Behind>>>>);

/// How long a sandbox waits for a house that is still opening.
const OPENS: Duration = Duration::from_secs(15);

impl std::fmt::Debug for Hatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hatch")
    }
}

impl Hatch {
    /// Puts somebody behind it.
    pub fn open(&self, behind: Arc<dyn Behind>) {
        self.0.send_replace(Some(behind));
    }

    /// Nobody is behind it any more.
    pub fn close(&self) {
        self.0.send_replace(None);
    }

    /// Who is behind it; waits a while for a house that is still opening.
    async fn behind(&self) -> Option<Arc<dyn Behind>> {
        let mut open = self.0.subscribe();
        let opened = tokio::time::timeout(OPENS, open.wait_for(Option::is_some)).await;
        opened.ok()?.ok()?.clone()
    }

    /// The same for one sandbox.
    pub(crate) fn of(&self, sandbox: SandboxId) -> Through {
        Through { hatch: self.clone(), sandbox }
    }
}

/// The hatch, as one sandbox uses it.
#[derive(Debug, Clone)]
pub struct Through {
    hatch: Hatch,
    sandbox: SandboxId,
}

impl Through {
    /// Whether a path leads to the house: git, models and tools.
    pub(super) fn leads_to(path: &str) -> bool {
        let first = path.strip_prefix('/').unwrap_or(path).split('/').next();
        matches!(first, Some("git" | "llm" | "mcp"))
    }

    /// The value of a secret that is put into a header on its way out.
    pub(super) async fn reveal(&self, name: &str) -> Option<SecretString> {
        self.hatch.behind().await?.reveal(name).await
    }

    /// Tells the house of a host that was refused, beside: nobody waits for it.
    pub(super) fn turned_back(&self, host: &str, port: Option<u16>, why: &str) {
        // A house that is still opening, or closed, is not told.
        let Some(behind) = self.hatch.0.borrow().clone() else { return };
        let (sandbox, host, why) = (self.sandbox.clone(), host.to_owned(), why.to_owned());
        tokio::spawn(async move { behind.turned_back(&sandbox, &host, port, &why).await });
    }

    /// Passes a request on and the answer back.
    pub(super) async fn pass(&self, request: Request<Passed>) -> Response<Passed> {
        let Some(behind) = self.hatch.behind().await else {
            let mut closed = sentence(StatusCode::SERVICE_UNAVAILABLE, "the house is closed; try again in a moment");
            closed.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            return closed;
        };
        behind.answer(&self.sandbox, request).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_three_doors_are_behind_it() {
        for path in ["/git/hello.git/info/refs", "/llm/v1/messages", "/mcp", "/mcp/"] {
            assert!(Through::leads_to(path), "{path}");
        }
        for path in ["/", "", "/api/v1/sandboxes", "/gitx", "//git", "/mcpx", "/v1/git", "/metrics"] {
            assert!(!Through::leads_to(path), "{path}");
        }
    }
}
