//! Who may ask: the host always, others who show the token, and for single files whoever holds a signed address.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{Method, StatusCode};

use super::{Asked, Refusal};
use crate::wire::{Operation, sign};

pub(super) fn check(asked: &Asked) -> Result<(), Refusal> {
    let Some(token) = asked.guest.settings().token.clone() else { return Ok(()) };
    let (method, path) = (asked.request.method(), asked.request.uri().path());
    if path == "/health" {
        return Ok(());
    }
    if matches!(path, "/init" | "/hibernate") && asked.caller.is_host {
        return Ok(());
    }
    let signable = path == "/files" && matches!(*method, Method::GET | Method::HEAD | Method::POST);
    match asked.header("x-access-token") {
        Some(shown) if same(shown, &token) => Ok(()),
        Some(_) if signable => Err(refuse("access token present in header but does not match")),
        None if signable => {
            let operation = if *method == Method::POST { Operation::Write } else { Operation::Read };
            check_signature(asked, operation, &token)
        }
        _ => Err(refuse("unauthorized access, please provide a valid access token or method signing if supported")),
    }
}

fn check_signature(asked: &Asked, operation: Operation, token: &str) -> Result<(), Refusal> {
    let shown = asked.parameter("signature").filter(|shown| !shown.is_empty());
    let shown = shown.ok_or_else(|| refuse("missing signature query parameter"))?;
    let until = match asked.parameter("signature_expiration") {
        Some(until) => Some(until.parse::<i64>().map_err(|_| refuse("invalid signature"))?),
        None => None,
    };
    let path = asked.parameter("path").unwrap_or_default();
    let user = asked.parameter("username").unwrap_or_default();
    if !same(&shown, &sign(&path, operation, &user, token, until)) {
        return Err(refuse("invalid signature"));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    if until.is_some_and(|until| until < now) {
        return Err(refuse("signature is already expired"));
    }
    Ok(())
}

/// Compares without telling by its time where they differ.
fn same(shown: &str, expected: &str) -> bool {
    let (shown, expected) = (shown.as_bytes(), expected.as_bytes());
    let differences = shown.iter().zip(expected).fold(0, |differences, (a, b)| differences | (a ^ b));
    shown.len() == expected.len() && std::hint::black_box(differences) == 0
}

fn refuse(message: &str) -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, message)
}
