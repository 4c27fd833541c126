//! Templates that E2B builds for us.

use std::{
    io::Read,
    sync::{Arc, Mutex},
};

use carrel_model::TemplateName;
use carrel_sandbox::{
    ProviderError, Templating,
    template::{Progress, Source},
};
use serde_json::json;

use crate::cluster::Cluster;

fn listening() -> (Progress, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    (Progress::new(move |line| told.lock().unwrap().push(line.to_owned())), heard)
}

fn name() -> TemplateName {
    "tools:v2".parse().unwrap()
}

#[tokio::test]
async fn a_recipe_is_built_with_its_files_and_its_log() {
    let (cluster, folder) = (Cluster::open().await, tempfile::tempdir().unwrap());
    std::fs::create_dir(folder.path().join("tools")).unwrap();
    std::fs::write(folder.path().join("tools/run"), "#!/bin/sh\n").unwrap();
    let text = "FROM host\nRUN apt-get update\nENV A=1 B=${A}\nUSER user\nWORKDIR /app\n\
                COPY --chmod=755 --chown=user tools /opt/tools/\nSTART ./serve\nREADY true\n";
    let source = Source::Recipe { text: text.into(), context: Some(folder.path().to_owned()) };
    let (progress, heard) = listening();
    let made = cluster.provider().make(&name(), &source, &progress).await.unwrap();
    assert_eq!((made.name, made.origin.as_str()), (name(), "built at E2B from a recipe on host"));
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard[heard.len() - 3..], ["one", "two", "three"], "{heard:?}");

    let ledger = cluster.ledger();
    let (hash, archive) = ledger.files.iter().next().unwrap();
    let expected = json!({
        "fromTemplate": "base", "force": false, "startCmd": "./serve", "readyCmd": "true",
        "steps": [
            {"type": "RUN", "args": ["apt-get update"]},
            {"type": "ENV", "args": ["A", "1", "B", "${A}"]},
            {"type": "USER", "args": ["user"]},
            {"type": "WORKDIR", "args": ["/app"]},
            {"type": "COPY", "args": ["tools", "/opt/tools/", "user", "755"], "filesHash": hash},
        ],
    });
    assert_eq!(ledger.builds["tools:v2"], expected);
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive.as_slice()));
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        found.push((entry.path().unwrap().display().to_string().trim_end_matches('/').to_owned(), text));
    }
    assert_eq!(found, [("tools".to_owned(), String::new()), ("tools/run".to_owned(), "#!/bin/sh\n".to_owned())]);
}

#[tokio::test]
async fn files_that_e2b_has_are_not_sent_again() {
    let (cluster, folder) = (Cluster::open().await, tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let source = Source::Recipe { text: "FROM base\nCOPY file /\n".into(), context: Some(folder.path().to_owned()) };
    for _ in 0..2 {
        cluster.provider().make(&name(), &source, &Progress::silent()).await.unwrap();
    }
    assert_eq!(cluster.asked("PUT "), 1);
}

#[tokio::test]
async fn an_image_is_built_and_a_build_that_fails_says_why() {
    let cluster = Cluster::open().await;
    let login = Some(("me".to_owned(), "hunter2".to_owned().into()));
    let image = Source::Image { reference: "registry.example/tool:1".into(), login };
    cluster.provider().make(&name(), &image, &Progress::silent()).await.unwrap();
    let registry = json!({"type": "registry", "username": "me", "password": "hunter2"});
    assert_eq!(cluster.ledger().builds["tools:v2"]["fromImageRegistry"], registry);
    assert_eq!(cluster.ledger().builds["tools:v2"]["fromImage"], "registry.example/tool:1");

    let broken = Source::Recipe { text: "FROM debian:12\nRUN false\n".into(), context: None };
    let (progress, heard) = listening();
    let failed = cluster.provider().make(&name(), &broken, &progress).await;
    assert!(matches!(&failed, Err(ProviderError::Unfit { why }) if why.contains("exit code 1")), "{failed:?}");
    assert!(heard.lock().unwrap().contains(&"three".to_owned()), "what it said is told all the same");
    assert_eq!(cluster.ledger().builds["tools:v2"]["fromImage"], "debian:12", "what is no template is an image");
}

#[tokio::test]
async fn what_leads_out_of_the_folder_is_not_sent() {
    let (cluster, folder) = (Cluster::open().await, tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
    for line in ["COPY ../x /", "COPY /etc/hostname /", "COPY link/hostname /", "COPY * /", "COPY nowhere /"] {
        let source = Source::Recipe { text: format!("FROM base\n{line}\n"), context: Some(folder.path().to_owned()) };
        let refused = cluster.provider().make(&name(), &source, &Progress::silent()).await;
        assert!(matches!(&refused, Err(ProviderError::Unfit { why }) if why.contains("line 2")), "{line}: {refused:?}");
    }
    assert!(cluster.ledger().files.is_empty() && cluster.asked("POST /v3") == 0, "nothing is begun that cannot end");
    for source in [Source::Host, Source::Archive { path: "/x".into() }] {
        let refused = cluster.provider().make(&name(), &source, &Progress::silent()).await;
        assert!(matches!(refused, Err(ProviderError::Unfit { .. })));
    }
}
