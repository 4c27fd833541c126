//! Passing on: a request to us becomes a request to what listens inside, and its answer ours. WebSockets too.

use axum::{
    body::Body,
    extract::{OriginalUri, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, Version, header, uri::PathAndQuery},
    response::Response,
};
use carrel_control::PortLine;
use hyper_util::rt::TokioIo;

use super::{Foreign, is_our_key};
use crate::house::Doors;

/// How a request is passed on.
pub(crate) struct Passage<'a> {
    /// The host that it is told to be for: what is started by hand often answers to one name alone.
    pub(crate) host: String,
    /// What stands before the path that is passed on; nothing when the host says it all.
    pub(crate) prefix: Option<&'a str>,
}

/// What is between two neighbours on the way, and not for who comes after.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Passes a request on over a line of its own.
pub(crate) async fn pass_on(
    doors: &Doors,
    line: PortLine,
    passage: Passage<'_>,
    mut request: Request,
) -> Result<Response, hyper::Error> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(line)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a line to a port broke");
        }
    });
    let upgrade = upgrade_wanted(request.headers());
    let client = upgrade.as_ref().map(|_| hyper::upgrade::on(&mut request));
    rewrite(doors, &passage, &mut request, upgrade.clone());
    let mut response = sender.send_request(request).await?;
    let upgraded = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if let Some(client) = client.filter(|_| upgraded) {
        let inside = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            if let (Ok(client), Ok(inside)) = tokio::join!(client, inside) {
                let (mut client, mut inside) = (TokioIo::new(client), TokioIo::new(inside));
                let _ = tokio::io::copy_bidirectional(&mut client, &mut inside).await;
            }
        });
    }
    let mut response = response.map(Body::new);
    let kept = upgraded.then(|| response.headers().get(header::UPGRADE).cloned()).flatten();
    drop_hop_by_hop(response.headers_mut());
    drop_our_cookies(&doors.options.cookie, response.headers_mut());
    if let Some(protocol) = kept {
        response.headers_mut().insert(header::UPGRADE, protocol);
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
    response.extensions_mut().insert(Foreign);
    Ok(response)
}

/// The protocol that a request wants to go on with.
pub(crate) fn upgrade_wanted(headers: &HeaderMap) -> Option<HeaderValue> {
    let connection = headers.get(header::CONNECTION)?.to_str().ok()?;
    let asked = connection.split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    headers.get(header::UPGRADE).filter(|_| asked).cloned()
}

/// Makes a request to us a request to what listens inside. Our own secrets stay here.
fn rewrite(doors: &Doors, to: &Passage<'_>, request: &mut Request, upgrade: Option<HeaderValue>) {
    // A nested router shows its handlers only the rest of the path.
    let uri = request.extensions().get::<OriginalUri>().map_or(request.uri(), |OriginalUri(uri)| uri);
    let asked = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let path = to.prefix.and_then(|prefix| asked.strip_prefix(prefix)).unwrap_or(asked);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    *request.uri_mut() = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    drop_hop_by_hop(headers);
    keep_our_secrets(doors, headers);
    if let Some(host) = headers.get(header::HOST).cloned() {
        headers.insert(HeaderName::from_static("x-forwarded-host"), host);
        // A proxy before us knows better how it was called.
        let scheme = HeaderValue::from_static(if doors.options.secure { "https" } else { "http" });
        headers.entry(HeaderName::from_static("x-forwarded-proto")).or_insert(scheme);
    }
    if let Some(prefix) = to.prefix.and_then(|prefix| HeaderValue::from_str(prefix).ok()) {
        headers.insert(HeaderName::from_static("x-forwarded-prefix"), prefix);
    }
    if let Ok(host) = HeaderValue::from_str(&to.host) {
        headers.insert(header::HOST, host);
    }
    if let Some(protocol) = upgrade {
        headers.insert(header::UPGRADE, protocol);
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    }
}

/// Takes our keys and our cookie off a request that goes on to somebody else.
pub(crate) fn keep_our_secrets(doors: &Doors, headers: &mut HeaderMap) {
    for name in [header::AUTHORIZATION, HeaderName::from_static("x-api-key")] {
        if headers.get(&name).is_some_and(is_our_key) {
            headers.remove(name);
        }
    }
    let cookies: Vec<_> = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).collect();
    let is_ours = |cookie: &str| cookie.split('=').next().unwrap_or_default().trim() == doors.options.cookie;
    let rest: Vec<_> =
        cookies.iter().flat_map(|line| line.split(';')).map(str::trim).filter(|one| !is_ours(one)).collect();
    let rest = HeaderValue::from_str(&rest.join("; ")).ok().filter(|value| !value.is_empty());
    headers.remove(header::COOKIE);
    if let Some(rest) = rest {
        headers.insert(header::COOKIE, rest);
    }
}

pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// What runs inside signs nobody in or out: not by path, where it shares our origin, nor by a name below ours, from which a
/// cookie can be set for both.
fn drop_our_cookies(ours: &str, headers: &mut HeaderMap) {
    let lines = headers.get_all(header::SET_COOKIE).iter();
    let theirs: Vec<_> = lines.filter(|line| !sets(&String::from_utf8_lossy(line.as_bytes()), ours)).cloned().collect();
    headers.remove(header::SET_COOKIE);
    for line in theirs {
        headers.append(header::SET_COOKIE, line);
    }
}

/// Whether a browser would send the cookie of this line back under a name. It takes no account of spaces around a name,
/// and sends `=name=value`, which has none, as `name=value`.
fn sets(line: &str, name: &str) -> bool {
    let pair = line.split(';').next().unwrap_or_default();
    let pair = pair.trim_start_matches(|letter: char| letter == '=' || letter.is_whitespace());
    pair.split('=').next().unwrap_or_default().trim() == name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_of_ours_is_known_however_it_is_spelled() {
        for line in [
            "visit=a",
            " visit=a; Path=/",
            "visit =a",
            "\tvisit\t=a",
            "=visit=a",
            " = visit=a",
            "visit",
            "visit=\u{fffd}",
        ] {
            assert!(sets(line, "visit"), "{line:?}");
        }
        for line in ["", "visitor=a", "a=visit", "Visit=a", "a=b; visit=c", "a==visit=b"] {
            assert!(!sets(line, "visit"), "{line:?}");
        }
    }
}
