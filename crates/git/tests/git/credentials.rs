//! Secrets reach git, and nobody else.

use std::sync::{Arc, Mutex};

use carrel_git::{Credential, Draft, GitError, Identity, Secret, Signer, Upstream};

use crate::bench::{Door, DoorPlan, Room, below};

/// Put together here, so that it is in no file.
fn token() -> String {
    ["correct", "horse", "battery", "staple"].join("-")
}

/// Every command line and environment on this machine that holds a text.
pub(crate) fn seen_in_processes(text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let content = std::fs::read(entry.path().join(file)).unwrap_or_default();
            if content.windows(text.len()).any(|part| part == text.as_bytes()) {
                seen.push(format!("{}/{file}: {}", entry.path().display(), String::from_utf8_lossy(&content)));
            }
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_the_upstream_and_shows_in_no_process_list_file_or_configuration() {
    let room = Room::open().await;
    let work = room.work("work");
    let origin = room.mirror_of(&work).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (witness, secret) = (Arc::clone(&seen), token());
    let look = move || witness.lock().unwrap().extend(seen_in_processes(&secret));
    let plan = DoorPlan { password: Some(token()), witness: Some(Box::new(look)), ..DoorPlan::default() };
    let door = Door::with(&origin, plan).await;

    let copy = room.mirror("copy").await;
    let closed = room.upstream(&door.url("person"));
    assert!(matches!(copy.sync(&closed).await, Err(GitError::Denied { .. })));
    let wrong = Upstream { credential: Some(Credential::token("wrong")), ..closed.clone() };
    assert!(matches!(copy.sync(&wrong).await, Err(GitError::Denied { .. })));
    let right = Upstream { credential: Some(Credential::token(token())), ..closed };
    copy.sync(&right).await.unwrap();
    assert_eq!(copy.head_of(&"main".parse().unwrap()).await.unwrap(), work.head());

    assert_eq!(*seen.lock().unwrap(), [] as [String; 0]);
    for path in below(room.folder.path()) {
        let content = std::fs::read(&path).unwrap_or_default();
        assert!(!content.windows(token().len()).any(|part| part == token().as_bytes()), "{}", path.display());
    }
    assert!(!format!("{right:?}").contains(&token()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_of_the_wrong_kind_is_refused_before_anybody_is_asked() {
    let room = Room::open().await;
    let mirror = room.mirror("app").await;
    let with = |source: &str, credential| Upstream { credential: Some(credential), ..room.upstream(source) };
    let key = Credential::DeployKey("x".to_owned().into());
    let error = mirror.sync(&with("https://example.invalid/x", key)).await.unwrap_err();
    assert!(matches!(error, GitError::Unfit { .. }), "{error:?}");
    let error = mirror.sync(&with("git@example.invalid:x", Credential::token("t"))).await.unwrap_err();
    assert!(matches!(error, GitError::Unfit { .. }), "{error:?}");
    let error = mirror.sync(&with("https://example.invalid/x", Credential::token("a\nhost=evil"))).await.unwrap_err();
    assert!(matches!(error, GitError::Unfit { .. }), "{error:?}");
}

#[test]
fn a_secret_lies_in_memory_and_goes_with_its_keeper() {
    let secret = Secret::keep("open sesame").unwrap();
    let path = secret.path();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "open sesame");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "open sesame", "more than once");
    assert!(!format!("{secret:?}").contains("sesame"));
    drop(secret);
    assert!(std::fs::read_to_string(&path).map_or(true, |text| !text.contains("sesame")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deploy_key_is_what_ssh_is_given() {
    let room = Room::open().await;
    let work = room.work("work");
    let key = room.path("key");
    let made = work.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let private = std::fs::read_to_string(&key).unwrap();
    // The key as ssh reads it from where it is told to.
    let secret = Secret::keep(&private).unwrap();
    let shown = work.command("ssh-keygen").args(["-y", "-f", &secret.path()]).output().unwrap();
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.split(' ').nth(1), public.split(' ').nth(1));
    // Nobody listens there: the way to ssh is gone to its end, and the answer is that nobody answers.
    let upstream = Upstream {
        credential: Some(Credential::DeployKey(private.into())),
        ..room.upstream("ssh://git@127.0.0.1:1/app.git")
    };
    let error = room.mirror("app").await.sync(&upstream).await.unwrap_err();
    assert!(matches!(error, GitError::Unreachable { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_the_house_are_signed_with_the_key_that_it_was_given() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let key = room.path("key");
    let made = work.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).output().unwrap();
    assert!(made.status.success());
    let signer = Signer::Ssh(std::fs::read_to_string(&key).unwrap().into());
    let house = Identity::house();
    let (base, tree) = (work.head(), work.git(&["rev-parse", "HEAD^{tree}"]).parse().unwrap());
    let draft = Draft {
        tree: &tree,
        parents: std::slice::from_ref(&base),
        message: "chore: signed\n",
        author: &house,
        date: None,
        committer: &house,
        signer: Some(&signer),
    };
    let commit = mirror.commit(&draft).await.unwrap();
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = room.path("allowed");
    std::fs::write(&allowed, format!("carrel@localhost {public}")).unwrap();
    let there = crate::bench::Work { folder: mirror.path(), home: work.home.clone() };
    let trust = format!("gpg.ssh.allowedSignersFile={}", allowed.display());
    there.git(&["-c", &trust, "-c", "safe.directory=*", "verify-commit", commit.as_str()]);
}

/// A keyring of GPG in a folder of its own. Its agent ends with it.
struct Keyring(std::path::PathBuf);

impl Keyring {
    fn call(&self, program: &str, args: &[&str]) -> String {
        let mut command = std::process::Command::new(program);
        let said = command.args(args).env("GNUPGHOME", &self.0).output();
        let said = said.expect("gpg is needed for this test: scripts/setup test, or apt-get install gnupg");
        assert!(said.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        let _ = std::process::Command::new("gpgconf").args(["--kill", "all"]).env("GNUPGHOME", &self.0).output();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_the_house_are_signed_with_gpg_where_a_key_of_its_keyring_is_named() {
    let room = Room::open().await;
    let work = room.work("work");
    let mirror = room.mirror_of(&work).await;
    let ring = Keyring(room.path("gnupg"));
    std::fs::create_dir(&ring.0).unwrap();
    std::fs::set_permissions(&ring.0, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let who = "Carrel <carrel@localhost>";
    ring.call("gpg", &["--batch", "--quiet", "--passphrase", "", "--quick-gen-key", who, "ed25519", "sign", "never"]);
    let listed = ring.call("gpg", &["--batch", "--with-colons", "--list-secret-keys"]);
    let key =
        listed.lines().find_map(|line| line.strip_prefix("fpr:::::::::")).unwrap().trim_end_matches(':').to_owned();
    let house = Identity::house();
    let (base, tree) = (work.head(), work.git(&["rev-parse", "HEAD^{tree}"]).parse().unwrap());
    let signed = async |key: &str| {
        let signer = Signer::Gpg { key: key.to_owned(), home: ring.0.clone() };
        let draft = Draft {
            tree: &tree,
            parents: std::slice::from_ref(&base),
            message: "chore: signed\n",
            author: &house,
            date: None,
            committer: &house,
            signer: Some(&signer),
        };
        mirror.commit(&draft).await
    };
    let commit = signed(&key).await.unwrap();
    let git_dir = format!("--git-dir={}", mirror.path().display());
    ring.call("git", &[&git_dir, "-c", "safe.directory=*", "verify-commit", commit.as_str()]);
    // A key that is not there makes no commit that only looks signed, and what is no key is not given to gpg at all.
    assert!(signed("0123456789ABCDEF").await.is_err());
    assert!(matches!(signed("--yes").await, Err(GitError::Unfit { .. })));
}
