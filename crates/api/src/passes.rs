//! Passes: how a browser that is signed in here comes to a port that has an origin of its own.
//!
//! A page inside a sandbox must not share our origin, and so it does not see our cookie either. Whoever may reach a port gets a link
//! with a code that works once; opened under the port's own name, it becomes a cookie of that name alone, good for that port alone.
//! Passes are kept in memory: after a restart the link is asked for again. See `docs/decisions/0087-passes-to-ports.md`.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum_extra::extract::CookieJar;
use carrel_model::{Grant, SandboxId};

/// The name of the cookie, and of the code in a link.
const NAME: &str = "carrel_pass";
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
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Cookie,
}

impl Passes {
    /// A code for one port, to be put into a link.
    pub(crate) fn code(&self, grant: &Grant, sandbox: &SandboxId, port: u16) -> String {
        let pass = Pass {
            grant: grant.clone(),
            sandbox: sandbox.clone(),
            port,
            kind: Kind::Code,
            until: Instant::now() + CODE_LASTS,
        };
        self.keep(pass)
    }

    /// Turns a code into a cookie; once, and at the port that it is for.
    pub(crate) fn redeem(&self, code: &str, sandbox: &SandboxId, port: u16) -> Option<String> {
        let pass = self.held().remove(code)?;
        let fits = pass.kind == Kind::Code && pass.fits(sandbox, port);
        fits.then(|| self.keep(Pass { kind: Kind::Cookie, until: Instant::now() + PASS_LASTS, ..pass }))
    }

    /// Whose cookie it is, at the port that it is for.
    pub(crate) fn grant(&self, headers: &HeaderMap, sandbox: &SandboxId, port: u16) -> Option<Grant> {
        if is_from_elsewhere(headers) {
            return None;
        }
        let jar = CookieJar::from_headers(headers);
        let shown = jar.get(NAME)?.value();
        let pass = self.held().get(shown)?.clone();
        (pass.kind == Kind::Cookie && pass.fits(sandbox, port)).then_some(pass.grant)
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

/// Whether another page makes the browser ask: a neighbour's, whose cookies travel with ours where both names have one parent.
/// Going to the page by a link is no such thing.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    matches!(told("sec-fetch-site"), Some("cross-site" | "same-site")) && told("sec-fetch-mode") != Some("navigate")
}

/// The code in the address, and the address without it.
pub(crate) fn code_in(uri: &Uri) -> Option<(String, String)> {
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
pub(crate) fn set_cookie(pass: &str, secure: bool) -> String {
    let secure = if secure { "; Secure" } else { "" };
    format!("{NAME}={pass}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{secure}", PASS_LASTS.as_secs())
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
        let elsewhere = passes.code(&grant(), &here, 80);
        assert!(passes.redeem(&elsewhere, &there, 80).is_none());
        assert!(passes.redeem(&elsewhere, &here, 80).is_none(), "a code that was tried is void");
        let code = passes.code(&grant(), &here, 80);
        assert!(passes.grant(&cookie(&code), &here, 80).is_none(), "a code is no cookie");
        let pass = passes.redeem(&code, &here, 80).unwrap();
        assert!(passes.redeem(&code, &here, 80).is_none());
        assert!(passes.redeem(&pass, &here, 80).is_none(), "a cookie is no code");
        let pass = passes.redeem(&passes.code(&grant(), &here, 80), &here, 80).unwrap();
        assert_eq!(passes.grant(&cookie(&pass), &here, 80), Some(grant()));
        assert_eq!(passes.grant(&cookie(&pass), &here, 81), None);
        assert_eq!(passes.grant(&cookie(&pass), &there, 80), None);
        assert_eq!(passes.grant(&HeaderMap::new(), &here, 80), None);
        let mut asked = cookie(&pass);
        asked.insert("sec-fetch-site", "same-site".parse().unwrap());
        assert_eq!(passes.grant(&asked, &here, 80), None, "a neighbour's page asks");
        asked.insert("sec-fetch-mode", "navigate".parse().unwrap());
        assert_eq!(passes.grant(&asked, &here, 80), Some(grant()), "somebody follows a link");
    }

    #[test]
    fn the_house_forgets_the_oldest_before_it_is_full() {
        let passes = Passes::default();
        let here: SandboxId = "i1234567890123456789".parse().unwrap();
        let first = passes.code(&grant(), &here, 1);
        for _ in 0..MOST {
            passes.code(&grant(), &here, 1);
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
