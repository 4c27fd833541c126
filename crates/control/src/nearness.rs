//! What is near the server: itself, its link, and what tells secrets to whoever asks from there. A name that a member gives
//! must not lead the server to it; an admin may mean it.
//!
//! A name is judged by every address that it has at the moment, each time before somebody is called. Who is called then
//! speaks TLS under that name or is an SSH server, so a name that moves in between finds nobody to talk to.

use std::net::IpAddr;

use carrel_model::{Authority, Grant, git::is_near_address};
use carrel_sandbox::template::Source;

use crate::Error;

/// Refuses a host that leads to what is near, unless an admin asks. One that has no address is told of by who calls it.
pub(crate) async fn refuse(by: &Authority, field: &str, host: &str) -> Result<(), Error> {
    if *by == Authority::Admin {
        return Ok(());
    }
    match near_address(host).await {
        Some(address) => {
            let why = format!("`{host}` is {address}: an address of the server itself is given with an admin key only");
            Err(Error::field(field, why))
        }
        None => Ok(()),
    }
}

/// Refuses a template from a registry that is near.
pub(crate) async fn refuse_template(grant: &Grant, source: &Source) -> Result<(), Error> {
    match source {
        Source::Image { reference, .. } => refuse_image(grant, "reference", reference).await,
        Source::Steps { recipe, .. } => refuse_image(grant, "from", &recipe.from).await,
        Source::Recipe { text, .. } => {
            for image in text.lines().filter_map(begun_with) {
                refuse_image(grant, "recipe", image).await?;
            }
            Ok(())
        }
        Source::Host | Source::Debian { .. } | Source::Archive { .. } => Ok(()),
    }
}

async fn refuse_image(grant: &Grant, field: &str, image: &str) -> Result<(), Error> {
    match registry(image) {
        Some(host) => refuse(&grant.authority, field, host).await,
        None => Ok(()),
    }
}

/// What a line of a recipe begins with, if it is that line.
fn begun_with(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let is_first = words.next().is_some_and(|word| word.eq_ignore_ascii_case("from"));
    is_first.then(|| words.find(|word| !word.starts_with("--"))).flatten()
}

/// The registry that an image names; those without one are at the usual registry.
fn registry(image: &str) -> Option<&str> {
    let (first, _) = image.split_once('/')?;
    (first.contains(['.', ':']) || first.eq_ignore_ascii_case("localhost")).then_some(first)
}

/// An address of a host that is near, if it has one.
async fn near_address(host: &str) -> Option<IpAddr> {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    let found = tokio::net::lookup_host((name.trim_end_matches('.'), 0)).await.ok()?;
    found.map(|address| address.ip()).find(|address| is_near_address(*address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_is_judged_by_where_it_leads() {
        for near in ["localhost", "localhost:5000", "127.0.0.1:80", "[::1]:443", "169.254.169.254", "127.1", "0.0.0.0"]
        {
            assert!(refuse(&Authority::Member, "source", near).await.is_err(), "{near}");
            assert!(refuse(&Authority::Admin, "source", near).await.is_ok(), "{near}");
        }
        for far in ["192.0.2.7", "10.1.2.3:443", "[2001:db8::1]:443", "no-such-name.invalid"] {
            assert!(refuse(&Authority::Member, "source", far).await.is_ok(), "{far}");
        }
    }

    #[test]
    fn the_registry_of_an_image_is_found() {
        assert_eq!(registry("localhost:5000/tools:1"), Some("localhost:5000"));
        assert_eq!(registry("127.0.0.1/x"), Some("127.0.0.1"));
        assert_eq!(registry("LOCALHOST/x"), Some("LOCALHOST"));
        assert_eq!(registry("ghcr.io/a/b"), Some("ghcr.io"));
        assert_eq!((registry("debian:12"), registry("library/debian")), (None, None));
        assert_eq!(begun_with("  from --platform=linux/amd64 localhost:5000/x AS y"), Some("localhost:5000/x"));
        assert_eq!(begun_with("RUN echo FROM x/y"), None);
    }
}
