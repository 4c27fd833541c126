//! What a visitor hears where there is nobody: programs get E2B's JSON, people a page with the same words.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use carrel_control::TurnedAway;
use serde_json::json;

use super::{Refusal, plane::Place, refusal::tombstone};

/// What is said instead of an answer from inside.
#[derive(Debug, Clone)]
pub(super) struct Nobody {
    status: u16,
    sandbox: String,
    message: String,
    port: Option<u16>,
}

impl Nobody {
    /// There is no such sandbox, as far as anybody remembers.
    pub(super) fn known_as(id: &str) -> Self {
        Nobody { status: 502, sandbox: id.to_owned(), message: "The sandbox was not found".to_owned(), port: None }
    }

    /// The sandbox works, and its port does not.
    pub(super) fn at_port(place: &Place, message: &str) -> Self {
        Nobody { port: Some(place.port), ..Nobody::of(place, 502, message) }
    }

    fn of(place: &Place, status: u16, message: &str) -> Self {
        Nobody { status, sandbox: place.id.to_string(), message: message.to_owned(), port: None }
    }
}

/// How E2B's proxy says that there is nobody.
pub(super) fn turned_away(place: &Place, turned: TurnedAway) -> Response {
    let nobody = match turned {
        TurnedAway::Unknown => Nobody::known_as(place.id.as_str()),
        TurnedAway::Ended(view) => Nobody::of(place, 502, &format!("The sandbox was not found: {}", tombstone(&view))),
        TurnedAway::Asleep(_) => {
            Nobody::of(place, 502, "The sandbox was not found: it is paused; connect to it to wake it")
        }
        TurnedAway::NotReady(_) => Nobody::of(place, 409, "The sandbox is not ready yet"),
        TurnedAway::Closed => Nobody::at_port(place, "The sandbox is running but port is not open"),
        TurnedAway::KeyWanted | TurnedAway::TokenWanted => {
            let wanted =
                "This sandbox's ports are not public: send its traffic access token in `E2B-Traffic-Access-Token`";
            Nobody { status: 403, ..Nobody::at_port(place, wanted) }
        }
        TurnedAway::Failed(error) => return Refusal::of_sandbox(&place.id, error).into_response(),
    };
    nobody.into_response()
}

impl IntoResponse for Nobody {
    fn into_response(self) -> Response {
        let mut body = json!({ "sandboxId": self.sandbox, "message": self.message, "code": self.status });
        if let Some(port) = self.port {
            body["port"] = port.into();
        }
        let mut response = (self.status(), axum::Json(body)).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl Nobody {
    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_GATEWAY)
    }

    fn page(&self) -> Response {
        let port = self.port.map(|port| format!(", port {port}")).unwrap_or_default();
        let (sandbox, message) = (escaped(&self.sandbox), escaped(&self.message));
        let page = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
             <title>{status}</title><style>body{{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:20vh auto;\
             padding:0 1rem;color-scheme:light dark}}small{{opacity:.7}}</style>\
             <h1>Nobody answers</h1><p>{message}</p><small>Sandbox {sandbox}{port}</small></html>\n",
            status = self.status(),
        );
        let mut response = (self.status(), Html(page)).into_response();
        // Nothing in it runs, whatever is written in it.
        let nothing = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, nothing);
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// Whether somebody wants to look at a page.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok()).unwrap_or_default();
    accepts.split(',').any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}

/// The same answer as a page, where it says that there is nobody.
pub(super) fn as_page(mut response: Response) -> Response {
    response.extensions_mut().remove::<Nobody>().map_or(response, |nobody| nobody.page())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_browser_gets_a_page_and_what_is_in_it_is_text() {
        let answer = as_page(Nobody::known_as("<script>").into_response());
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
        assert!(answer.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with("text/html"));
        let page = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
        let page = String::from_utf8(page.to_vec()).unwrap();
        assert!(page.contains("The sandbox was not found") && page.contains("Sandbox &lt;script&gt;"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }

    #[test]
    fn only_who_asks_for_html_wants_a_page() {
        let wants = |accepts: &'static str| {
            let accepts = [(header::ACCEPT, HeaderValue::from_static(accepts))];
            wants_page(&HeaderMap::from_iter(accepts))
        };
        assert!(wants("text/html,application/xhtml+xml;q=0.9,*/*;q=0.8") && wants("text/plain, text/html;q=0.5"));
        assert!(!wants("*/*") && !wants("application/json") && !wants_page(&HeaderMap::new()));
    }
}
