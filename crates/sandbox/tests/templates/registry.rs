//! A registry on loopback, and what it may answer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};
use carrel_sandbox::template::{Template, TemplateError, pull_image};
use futures::{StreamExt, stream};
use secrecy::SecretString;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Heard, House, needs_root,
    tarball::{Tarball, architecture, gzip, image_config, sum, zstd},
};

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

#[derive(Clone, Default)]
struct Registry(Arc<Mutex<Shelf>>);

#[derive(Default)]
struct Shelf {
    things: HashMap<String, (&'static str, Vec<u8>)>,
    asked: Vec<String>,
    login: Option<String>,
    /// What is begun, and never ended.
    stuck: Option<String>,
}

impl Registry {
    /// Serves on a port of its own; ends with the task that runs the test.
    async fn open(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        address.to_string()
    }

    fn put(&self, path: &str, kind: &'static str, content: &[u8]) {
        self.0.lock().unwrap().things.insert(path.to_owned(), (kind, content.to_vec()));
    }

    fn blob(&self, content: &[u8]) {
        self.put(&format!("/v2/team/tool/blobs/{}", sum(content)), "application/octet-stream", content);
    }

    fn manifest(&self, name: &str, kind: &'static str, content: &str) {
        self.put(&format!("/v2/team/tool/manifests/{name}"), kind, content.as_bytes());
    }

    /// Puts an image there under a tag, for two platforms.
    fn image(&self, tag: &str, layers: &[Vec<u8>], plain: &[&[u8]]) {
        let config = image_config(plain);
        self.blob(config.as_bytes());
        let mut entries = Vec::new();
        for layer in layers {
            self.blob(layer);
            entries.push(json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": sum(layer), "size": layer.len()}));
        }
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": sum(config.as_bytes()), "size": config.len()},
            "layers": entries,
        })
        .to_string();
        self.manifest(&sum(manifest.as_bytes()), IMAGE, &manifest);
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
            {"mediaType": IMAGE, "digest": sum(b"none"), "size": 4, "platform": {"os": "linux", "architecture": "s390x"}},
            {"mediaType": IMAGE, "digest": sum(manifest.as_bytes()), "size": manifest.len(),
             "platform": {"os": "linux", "architecture": architecture()}},
        ]})
        .to_string();
        self.manifest(tag, INDEX, &index);
    }

    fn asked_for_blobs(&self) -> usize {
        self.0.lock().unwrap().asked.iter().filter(|path| path.contains("/blobs/")).count()
    }
}

async fn answer(State(registry): State<Registry>, uri: Uri, headers: HeaderMap) -> Response {
    let mut shelf = registry.0.lock().unwrap();
    shelf.asked.push(uri.path().to_owned());
    let given = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default().to_owned());
    if shelf.login.is_some() && shelf.login != given {
        let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=\"test\"")];
        return (StatusCode::UNAUTHORIZED, challenge, r#"{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}"#)
            .into_response();
    }
    if uri.path() == "/v2/" {
        return StatusCode::OK.into_response();
    }
    match shelf.things.get(uri.path()) {
        Some((_, content)) if shelf.stuck.as_deref() == Some(uri.path()) => {
            let half = Ok::<_, std::convert::Infallible>(content[..content.len() / 2].to_vec());
            Body::from_stream(stream::once(async { half }).chain(stream::pending())).into_response()
        }
        Some((kind, content)) => ([(header::CONTENT_TYPE, *kind)], content.clone()).into_response(),
        None => (StatusCode::NOT_FOUND, r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"no"}]}"#).into_response(),
    }
}

async fn pull(
    house: &House,
    reference: &str,
    login: Option<&(String, SecretString)>,
    heard: &Heard,
) -> Result<Template, TemplateError> {
    let name = "tool".parse().unwrap();
    let template = Box::pin(pull_image(&house.shelves, &name, reference, login, &heard.progress())).await;
    assert_eq!(house.drafts(), 0);
    template
}

fn layers() -> [Vec<u8>; 2] {
    [
        Tarball::new().file("etc/motd", "below").file("gone", &"x".repeat(300_000)).done(),
        Tarball::new().file("etc/motd", "above").file(".wh.gone", "").done(),
    ]
}

#[tokio::test]
async fn an_image_is_pulled_once_and_its_layers_are_shared() {
    needs_root();
    let (house, registry) = (House::open(), Registry::default());
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    registry.image("1", &[gzip(&plain[0]), zstd(&plain[1])], &promised);
    let address = registry.open().await;
    let reference = format!("{address}/team/tool:1");
    let heard = Heard::default();
    let template = pull(&house, &reference, None, &heard).await.unwrap();
    assert_eq!(house.seen_through_overlay(&template.layers, "find . -type f; cat etc/motd"), "./etc/motd\nabove");
    assert_eq!(template.config.workdir.as_deref(), Some("/srv"));
    assert!(template.origin.contains(&reference) && template.origin.contains("would start"), "{}", template.origin);
    assert!(heard.has("layer 1/2: "), "{:?}", heard.all());
    assert_eq!(registry.asked_for_blobs(), 3);

    let heard = Heard::default();
    let again = pull(&house, &reference, None, &heard).await.unwrap();
    assert_eq!(again.layers, template.layers);
    assert!(heard.has("layer 1/2 (known)") && heard.has("layer 2/2 (known)"), "{:?}", heard.all());
    assert_eq!(registry.asked_for_blobs(), 4, "only the configuration is asked for again");

    // Another image on the same ground.
    let more = Tarball::new().file("more", "x").done();
    registry.image("2", &[gzip(&plain[0]), gzip(&more)], &[&plain[0], &more]);
    let other = pull(&house, &format!("{address}/team/tool:2"), None, &Heard::default()).await.unwrap();
    assert_eq!(other.layers[0], template.layers[0]);
    assert_eq!(house.layers(), 3);
}

#[tokio::test]
async fn a_registry_that_gives_something_else_is_not_believed() {
    let (house, registry) = (House::open(), Registry::default());
    let plain = layers();
    let promised: Vec<&[u8]> = plain.iter().map(Vec::as_slice).collect();
    let packed = [gzip(&plain[0]), gzip(&plain[1])];
    registry.image("1", &packed, &promised);
    let address = registry.open().await;
    let reference = format!("{address}/team/tool:1");
    let place = format!("/v2/team/tool/blobs/{}", sum(&packed[1]));

    let other = gzip(&Tarball::new().file("other", "x").done());
    let (mut short, mut long, mut spoilt) = (packed[1].clone(), packed[1].clone(), packed[1].clone());
    short.truncate(20);
    long.extend_from_slice(&[0; 100]);
    let middle = spoilt.len() / 2;
    spoilt[middle] ^= 0x55;
    for content in [other, short, long, spoilt, Vec::new()] {
        registry.put(&place, "application/octet-stream", &content);
        let error = pull(&house, &reference, None, &Heard::default()).await.unwrap_err();
        assert!(matches!(error, TemplateError::Invalid { .. }), "{error:?}");
        assert!(!house.shelves.templates().unwrap().iter().any(|template| template.name.as_str() == "tool"));
        assert_eq!(house.layers(), 1, "only the good layer stays");
    }

    // A manifest that is not the one that the index names.
    registry.image("2", &packed, &promised);
    for (path, (_, content)) in &mut registry.0.lock().unwrap().things {
        if path.contains("/manifests/sha256:") {
            content.extend_from_slice(b" ");
        }
    }
    let error = pull(&house, &format!("{address}/team/tool:2"), None, &Heard::default()).await.unwrap_err();
    assert!(error.to_string().to_lowercase().contains("digest"), "{error}");
}

#[tokio::test]
async fn a_missing_image_a_missing_login_and_a_missing_registry_are_told_apart() {
    let (house, registry) = (House::open(), Registry::default());
    let plain = Tarball::new().file("x", "x").done();
    registry.image("1", &[gzip(&plain)], &[&plain]);
    let address = registry.open().await;
    let error = pull(&house, &format!("{address}/team/tool:none"), None, &Heard::default()).await.unwrap_err();
    assert!(
        matches!(error, TemplateError::Invalid { .. }) && error.to_string().contains("there is no image"),
        "{error:?}"
    );

    // `reader:letmein` in base64.
    registry.0.lock().unwrap().login = Some("Basic cmVhZGVyOmxldG1laW4=".to_owned());
    let reference = format!("{address}/team/tool:1");
    let error = pull(&house, &reference, None, &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Unfit { .. }) && error.to_string().contains("give a login"), "{error:?}");
    let wrong = ("reader".to_owned(), SecretString::from("guess"));
    let error = pull(&house, &reference, Some(&wrong), &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Unfit { .. }), "{error:?}");
    assert!(!format!("{error:?}").contains("guess"));
    let right = ("reader".to_owned(), SecretString::from("letmein"));
    pull(&house, &reference, Some(&right), &Heard::default()).await.unwrap();

    // A port that nobody listens on: it was ours a moment ago.
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = pull(&house, &format!("{closed}/team/tool:1"), None, &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Unavailable { .. }), "{error:?}");
    let error = pull(&house, "NOT A NAME", None, &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn an_image_for_other_machines_says_which() {
    let (house, registry) = (House::open(), Registry::default());
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": IMAGE, "digest": sum(b"none"), "size": 4, "platform": {"os": "linux", "architecture": "s390x"}},
    ]});
    registry.manifest("1", INDEX, &index.to_string());
    let address = registry.open().await;
    let error = pull(&house, &format!("{address}/team/tool:1"), None, &Heard::default()).await.unwrap_err();
    assert!(matches!(error, TemplateError::Unfit { .. }), "{error:?}");
    assert!(error.to_string().contains("it has linux/s390x"), "{error}");
}

#[tokio::test]
async fn a_pull_that_is_called_off_hangs_up_and_leaves_nothing() {
    let (house, registry) = (House::open(), Registry::default());
    let plain = layers();
    let packed = gzip(&plain[0]);
    registry.image("1", std::slice::from_ref(&packed), &[&plain[0]]);
    let place = format!("/v2/team/tool/blobs/{}", sum(&packed));
    registry.0.lock().unwrap().stuck = Some(place.clone());
    let reference = format!("{}/team/tool:1", registry.open().await);
    let (name, end) = ("tool".parse().unwrap(), CancellationToken::new());
    let progress = Heard::default().progress().until(end.clone());
    let begun = async {
        while !registry.0.lock().unwrap().asked.contains(&place) {
            tokio::task::yield_now().await;
        }
        end.cancel();
    };
    let (pulled, ()) = tokio::join!(Box::pin(pull_image(&house.shelves, &name, &reference, None, &progress)), begun);
    let error = pulled.unwrap_err();
    assert!(error.to_string().contains("called off"), "{error}");
    assert_eq!((house.drafts(), house.layers()), (0, 0));
}
