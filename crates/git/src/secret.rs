//! Credentials on their way to git: never on a command line, in an address, in an environment or in a file on disk.
//!
//! A secret lies in a file that exists only in our own memory. Git and ssh are told where our descriptor of it is
//! (`/proc/…/fd/…`), and read it there when they need it. It goes when the call ends.

use std::{
    fmt, io,
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use carrel_model::git::{Locator, RepoSource};
use rustix::fs::{MemfdFlags, Mode, fchmod, memfd_create};
use secrecy::{ExposeSecret, SecretString};

use crate::{GitError, owner::InFolder, program::Call};

/// What opens an upstream.
#[derive(Clone)]
pub enum Credential {
    /// A user and a token or password, for https.
    Token {
        /// The user; for tokens of GitHub `x-access-token`.
        user: String,
        /// The token.
        token: SecretString,
    },
    /// A private key, for ssh.
    DeployKey(SecretString),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Token { .. } => "Credential::Token(…)",
            Credential::DeployKey(_) => "Credential::DeployKey(…)",
        })
    }
}

impl Credential {
    /// A token of GitHub or another forge that takes any user beside a token.
    pub fn token(token: impl Into<SecretString>) -> Credential {
        Credential::Token { user: "x-access-token".into(), token: token.into() }
    }
}

/// A secret in a file that no folder names.
pub struct Secret {
    file: OwnedFd,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Keeps a secret for others of the same user to read by its path.
    pub fn keep(text: &str) -> io::Result<Secret> {
        let file = memfd_create("carrel", MemfdFlags::CLOEXEC)?;
        // ssh refuses a key that others could read.
        fchmod(&file, Mode::RUSR | Mode::WUSR)?;
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest)?;
            rest = &rest[written..];
        }
        Ok(Secret { file })
    }

    /// Where it can be read for as long as this lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// What ssh is told besides the key: no prompts, no configuration of a person, no agent, and a host that is met for the
/// first time is remembered and must be the same from then on.
fn ssh_command(known_hosts: &str, key: Option<&str>) -> String {
    let identity = match key {
        Some(path) => format!("-i {path} -o IdentitiesOnly=yes"),
        None => "-o IdentitiesOnly=yes -o IdentityFile=none".to_owned(),
    };
    format!(
        "ssh -F /dev/null {identity} -o IdentityAgent=none -o BatchMode=yes -o StrictHostKeyChecking=accept-new \
         -o UserKnownHostsFile='{known_hosts}' -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 \
         -o PermitLocalCommand=no -o ForwardAgent=no -o ClearAllForwardings=yes"
    )
}

/// Adds what a call to an upstream needs. The answer must live as long as the call does.
pub(crate) fn introduce(
    call: &mut Call,
    source: &RepoSource,
    credential: Option<&Credential>,
) -> Result<Option<Secret>, GitError> {
    if source.url().starts_with("http://") {
        // Only for this machine itself, and only when it was asked for: nobody is sent there from https.
        call.set_config("protocol.http.allow".into(), "always".into());
    }
    let keep = |text: &str| Secret::keep(text).map_err(GitError::io("keep a credential in memory"));
    match (source.locator(), credential) {
        (Locator::Path(path), _) => {
            let path = Path::new(&path);
            let start = if call.is_push() { Some(InFolder::write(path)?) } else { InFolder::read(path)? };
            start.into_iter().for_each(|start| call.set_arg(start));
            Ok(None)
        }
        (Locator::Ssh { .. }, Some(Credential::DeployKey(key))) => {
            let mut text = key.expose_secret().trim_end().to_owned();
            text.push('\n');
            let secret = keep(&text)?;
            call.set_env("GIT_SSH_COMMAND", ssh_command(&call.known_hosts(), Some(&secret.path())));
            Ok(Some(secret))
        }
        (Locator::Ssh { .. }, None) => {
            call.set_env("GIT_SSH_COMMAND", ssh_command(&call.known_hosts(), None));
            Ok(None)
        }
        (Locator::Http { .. } | Locator::GitHub { .. }, Some(Credential::Token { user, token })) => {
            let line = |text: &str| text.contains(['\n', '\r', '\0']);
            if line(user) || line(token.expose_secret()) {
                return Err(GitError::unfit("a user or token is one line"));
            }
            let secret = keep(&format!("username={user}\npassword={}\n", token.expose_secret()))?;
            // For this host alone: an upstream that sends git elsewhere is not given it.
            let url = source.url();
            let place: String = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            let helper = format!("!f() {{ test \"$1\" != get || cat {}; }}; f", secret.path());
            call.set_config(format!("credential.{place}.helper"), helper);
            Ok(Some(secret))
        }
        (Locator::Http { .. } | Locator::GitHub { .. }, None) => Ok(None),
        (Locator::Http { .. } | Locator::GitHub { .. }, Some(Credential::DeployKey(_))) => {
            Err(GitError::unfit("a deploy key opens only ssh addresses; this source is https"))
        }
        (Locator::Ssh { .. }, Some(Credential::Token { .. })) => {
            Err(GitError::unfit("a token opens only https addresses; this source is ssh and needs a deploy key"))
        }
    }
}
