//! Passes: how a browser that is signed in here comes to a port that has an origin of its own.
//!
//! A page inside a sandbox must not share our origin, and so it does not see our cookie either. Whoever may reach a port gets a link
//! with a code that works once; opened under the port's own name, it becomes a cookie of that name alone, good for that port alone.
//! Passes are kept in memory: after a restart the link is asked for again. See `docs/decisions/0087-passes-to-ports.md`.
//!
//! A port that is shown in a frame of our page has a threshold: a page of ours under the port's name, which tells the page around it
//! whether the browser keeps the cookie there. See `docs/decisions/0143-a-preview-has-an-origin-of-its-own.md`.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use axum_extra::extract::CookieJar;
use carrel_model::{Grant, SandboxId};

/// The name of the cookie, and of the code in a link.
const NAME: &str = "carrel_pass";
/// Asked in place of a code: whether the browser shows its pass.
const HELD: &str = "held";
/// How long a link can be opened.
const CODE_LASTS: Duration = Duration::from_secs(120);
/// How long a browser may come back.
const PASS_LASTS: Duration = Duration::from_secs(12 * 3600);
/// As many as are remembered; the oldest go first.
const MOST: usize = 4096;

/// The passes that were given out.
#[derive(Default)]
pub(crate) struct Passes {
    held: Mutex<HashMap<String, Pass>>,
}

#[derive(Clone)]
struct Pass {
    grant: Grant,
    sandbox: SandboxId,
    port: u16,
    kind: Kind,
    shown: Shown,
    until: Instant,
}

/// Where the browser shows what it has a pass for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// In a tab of its own.
    Alone,
    /// In a frame of our page, which the browser calls by this host.
    Within(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Cookie,
}

impl Passes {
    /// A code for one port, to be put into a link.
    pub(crate) fn code(&self, grant: &Grant, sandbox: &SandboxId, port: u16, shown: Shown) -> String {
        let pass = Pass {
            grant: grant.clone(),
            sandbox: sandbox.clone(),
            port,
            kind: Kind::Code,
            shown,
            until: Instant::now() + CODE_LASTS,
        };
        self.keep(pass)
    }

    /// Turns a code into a cookie; once, and at the port that it is for.
    fn redeem(&self, code: &str, sandbox: &SandboxId, port: u16) -> Option<(String, Shown)> {
        let pass = self.held().remove(code)?;
        let fits = pass.kind == Kind::Code && pass.fits(sandbox, port);
        let shown = pass.shown.clone();
        fits.then(|| (self.keep(Pass { kind: Kind::Cookie, until: Instant::now() + PASS_LASTS, ..pass }), shown))
    }

    /// Whose cookie it is, at the port that it is for, and where it is shown.
    pub(crate) fn grant(
        &self,
        method: &Method,
        headers: &HeaderMap,
        sandbox: &SandboxId,
        port: u16,
    ) -> Option<(Grant, Shown)> {
        if is_from_elsewhere(method, headers) {
            return None;
        }
        let jar = CookieJar::from_headers(headers);
        let shown = jar.get(NAME)?.value();
        let pass = self.held().get(shown)?.clone();
        (pass.kind == Kind::Cookie && pass.fits(sandbox, port)).then_some((pass.grant, pass.shown))
    }

    /// The answer to an address with a code in it: the way on without the code, and a cookie. In a frame, the threshold. Nothing
    /// when the code is not known here.
    pub(crate) fn welcome(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
        sandbox: &SandboxId,
        port: u16,
        secure: bool,
    ) -> Option<Response> {
        let (code, rest) = code_in(uri)?;
        if code == HELD {
            let is_held = self.grant(method, headers, sandbox, port).is_some();
            let status = if is_held { StatusCode::NO_CONTENT } else { StatusCode::UNAUTHORIZED };
            return Some((status, [(header::CACHE_CONTROL, "no-store")]).into_response());
        }
        let (pass, shown) = self.redeem(&code, sandbox, port)?;
        let about = [
            (header::SET_COOKIE, set_cookie(&pass, Keeping::asked_by(headers, &shown), secure)),
            (header::CACHE_CONTROL, "no-store".to_owned()),
        ];
        Some(match shown {
            Shown::Alone => (StatusCode::SEE_OTHER, about, [(header::LOCATION, rest)]).into_response(),
            Shown::Within(page) => {
                let policy =
                    format!("default-src 'none'; script-src 'unsafe-inline'; connect-src 'self'; {}", ancestors(&page));
                (about, [(header::CONTENT_SECURITY_POLICY, policy)], Html(THRESHOLD)).into_response()
            }
        })
    }

    fn keep(&self, pass: Pass) -> String {
        let name = carrel_control::new_uuid().replace('-', "") + &carrel_control::new_uuid().replace('-', "");
        let mut held = self.held();
        if held.len() >= MOST {
            let now = Instant::now();
            held.retain(|_, pass| pass.until > now);
        }
        if held.len() >= MOST
            && let Some(oldest) = held.iter().min_by_key(|(_, pass)| pass.until).map(|(name, _)| name.clone())
        {
            held.remove(&oldest);
        }
        held.insert(name.clone(), pass);
        name
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Pass>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    fn fits(&self, sandbox: &SandboxId, port: u16) -> bool {
        self.sandbox == *sandbox && self.port == port && self.until > Instant::now()
    }
}

/// What a frame sees first. Nothing of what anybody sent stands in it.
const THRESHOLD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Carrel</title><script>\
    fetch('/?carrel_pass=held',{cache:'no-store'}).then(it=>it.status===204,()=>false).then(held=>{\
    parent.postMessage({carrel:'pass',held},'*');\
    if(held){const at=new URL(location.href);at.searchParams.delete('carrel_pass');location.replace(at.href)}\
    })</script></html>\n";

/// Whether another page makes the browser ask: a neighbour's, whose cookies travel with ours where both names have one parent, or
/// where both stand in frames of one page. Going to the page by a link is no such thing; sending it a form is.
fn is_from_elsewhere(method: &Method, headers: &HeaderMap) -> bool {
    let is_visit = matches!(*method, Method::GET | Method::HEAD) && told(headers, "sec-fetch-mode") == Some("navigate");
    matches!(told(headers, "sec-fetch-site"), Some("cross-site" | "same-site")) && !is_visit
}

fn told<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// How a browser is asked to keep its pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// For itself, and for pages of the same site around it.
    Lax,
    /// In a frame of a page of another site, as `127.0.0.1` is to `localhost`: for frames in pages of that site alone.
    Apart,
}

impl Keeping {
    /// Browsers that say where a request comes from also keep cookies apart.
    fn asked_by(headers: &HeaderMap, shown: &Shown) -> Keeping {
        let is_foreign = told(headers, "sec-fetch-site") == Some("cross-site");
        if is_foreign && matches!(shown, Shown::Within(_)) { Keeping::Apart } else { Keeping::Lax }
    }
}

/// The host that a browser calls our page by, where it can stand in a policy.
pub(crate) fn host_of(headers: &HeaderMap) -> Option<String> {
    let host = told(headers, "host")?;
    is_plain(host).then(|| host.to_owned())
}

/// Whether a host can stand in a policy without saying something else there.
pub(crate) fn is_plain(host: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':' | '[' | ']');
    !host.is_empty() && host.chars().all(fits)
}

fn ancestors(page: &str) -> String {
    format!("frame-ancestors 'self' http://{page} https://{page}")
}

/// Lets what runs inside be shown in a frame of our page, and of nobody else's, whatever it says of frames in the old way. What it
/// says in its own policy stays.
pub(crate) fn let_be_framed(page: &str, headers: &mut HeaderMap) {
    headers.remove(header::X_FRAME_OPTIONS);
    if let Ok(policy) = HeaderValue::from_str(&ancestors(page)) {
        headers.append(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// Whether a browser asks for a page to be put into a frame.
pub(crate) fn is_for_a_frame(headers: &HeaderMap) -> bool {
    matches!(told(headers, "sec-fetch-dest"), Some("iframe" | "frame"))
}

/// The code in the address, and the address without it.
fn code_in(uri: &Uri) -> Option<(String, String)> {
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(uri.query()?.as_bytes()).into_owned().collect();
    let at = pairs.iter().position(|(name, _)| name == NAME)?;
    let (_, code) = pairs.remove(at);
    let rest: String = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let path = uri.path();
    // `//host` would lead elsewhere.
    let path = if path.starts_with("//") { "/" } else { path };
    Some((code, if rest.is_empty() { path.to_owned() } else { format!("{path}?{rest}") }))
}

/// The query of a link that carries a code.
pub(crate) fn query(code: &str) -> String {
    format!("{NAME}={code}")
}

/// What makes a browser show its pass from now on.
fn set_cookie(pass: &str, keeping: Keeping, secure: bool) -> String {
    let kept = match keeping {
        Keeping::Lax if secure => "SameSite=Lax; Secure",
        Keeping::Lax => "SameSite=Lax",
        Keeping::Apart => "SameSite=None; Secure; Partitioned",
    };
    format!("{NAME}={pass}; Path=/; HttpOnly; {kept}; Max-Age={}", PASS_LASTS.as_secs())
}

/// A pass is between the browser and us: what runs inside does not see it.
pub(crate) fn keep_to_ourselves(headers: &mut HeaderMap) {
    let Some(shown) = headers.get(header::COOKIE).and_then(|value| value.to_str().ok()) else { return };
    let is_ours = |pair: &&str| pair.trim_start().strip_prefix(NAME).is_some_and(|rest| rest.starts_with('='));
    let rest: Vec<&str> = shown.split(';').filter(|pair| !is_ours(pair)).map(str::trim).collect();
    let rest = rest.join("; ");
    if rest.is_empty() {
        headers.remove(header::COOKIE);
    } else if let Ok(value) = HeaderValue::from_str(&rest) {
        headers.insert(header::COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use carrel_model::Authority;

    use super::*;

    fn grant() -> Grant {
        let key = "key_0123456789abcdef".parse().expect("a good id");
        Grant { key, name: "ada".into(), authority: Authority::Member, origin: None }
    }

    fn cookie(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("a=b; {NAME}={value}; c=d").parse().unwrap());
        headers
    }

    #[test]
    fn a_code_works_once_and_only_where_it_is_for() {
        let passes = Passes::default();
        let (here, there): (SandboxId, SandboxId) =
            ("i1234567890123456789".parse().unwrap(), "i0000000000000000000".parse().unwrap());
        assert!(passes.redeem("nonsense", &here, 80).is_none());
        let code = || passes.code(&grant(), &here, 80, Shown::Alone);
        let held = |pass: &str, at: &SandboxId, port| {
            passes.grant(&Method::GET, &cookie(pass), at, port).map(|(grant, _)| grant)
        };
        let elsewhere = code();
        assert!(passes.redeem(&elsewhere, &there, 80).is_none());
        assert!(passes.redeem(&elsewhere, &here, 80).is_none(), "a code that was tried is void");
        let once = code();
        assert!(held(&once, &here, 80).is_none(), "a code is no cookie");
        let (pass, _) = passes.redeem(&once, &here, 80).unwrap();
        assert!(passes.redeem(&once, &here, 80).is_none());
        assert!(passes.redeem(&pass, &here, 80).is_none(), "a cookie is no code");
        let (pass, _) = passes.redeem(&code(), &here, 80).unwrap();
        assert_eq!(held(&pass, &here, 80), Some(grant()));
        assert_eq!(held(&pass, &here, 81), None);
        assert_eq!(held(&pass, &there, 80), None);
        assert_eq!(passes.grant(&Method::GET, &HeaderMap::new(), &here, 80), None);
        let mut asked = cookie(&pass);
        asked.insert("sec-fetch-site", "same-site".parse().unwrap());
        assert_eq!(passes.grant(&Method::GET, &asked, &here, 80), None, "a neighbour's page asks");
        asked.insert("sec-fetch-mode", "navigate".parse().unwrap());
        assert!(passes.grant(&Method::GET, &asked, &here, 80).is_some(), "somebody follows a link");
        assert_eq!(passes.grant(&Method::POST, &asked, &here, 80), None, "a neighbour's page sends a form");
    }

    #[test]
    fn a_frame_in_a_page_of_another_site_keeps_its_pass_apart() {
        let from = |site: Option<&'static str>| {
            site.map(|site| (header::HeaderName::from_static("sec-fetch-site"), HeaderValue::from_static(site)))
                .into_iter()
                .collect::<HeaderMap>()
        };
        let kept = |site, shown: Shown| set_cookie("p", Keeping::asked_by(&from(site), &shown), false);
        let within = || Shown::Within("127.0.0.1:7070".into());
        assert!(kept(Some("cross-site"), within()).contains("SameSite=None; Secure; Partitioned"));
        for (site, shown) in [(Some("same-site"), within()), (None, within()), (Some("cross-site"), Shown::Alone)] {
            let cookie = kept(site, shown);
            assert!(cookie.contains("SameSite=Lax") && !cookie.contains("Secure"), "{cookie}");
        }
    }

    #[test]
    fn only_a_plain_host_stands_in_a_policy() {
        for host in ["localhost:7070", "[::1]:80", "a-b.example.org", "1.2.3.4"] {
            assert!(is_plain(host), "{host}");
        }
        for host in ["", "a b", "a;b", "a,b", "*", "'self'", "a/b"] {
            assert!(!is_plain(host), "{host}");
        }
    }

    #[test]
    fn the_house_forgets_the_oldest_before_it_is_full() {
        let passes = Passes::default();
        let here: SandboxId = "i1234567890123456789".parse().unwrap();
        let first = passes.code(&grant(), &here, 1, Shown::Alone);
        for _ in 0..MOST {
            passes.code(&grant(), &here, 1, Shown::Alone);
        }
        assert!(passes.held().len() <= MOST);
        assert!(passes.redeem(&first, &here, 1).is_none());
    }

    #[test]
    fn the_code_is_taken_out_of_the_address_and_the_pass_out_of_the_cookies() {
        let told = |text: &'static str| code_in(&Uri::from_static(text));
        assert_eq!(told("/x/y?a=1&carrel_pass=C&b=2"), Some(("C".into(), "/x/y?a=1&b=2".into())));
        assert_eq!(told("/?carrel_pass=C"), Some(("C".into(), "/".into())));
        assert_eq!(told("/?a=1"), None);
        let mut headers = cookie("secret");
        keep_to_ourselves(&mut headers);
        assert_eq!(headers[header::COOKIE], "a=b; c=d");
        let mut alone = HeaderMap::new();
        alone.insert(header::COOKIE, format!("{NAME}=x").parse().unwrap());
        keep_to_ourselves(&mut alone);
        assert!(!alone.contains_key(header::COOKIE));
    }
}
