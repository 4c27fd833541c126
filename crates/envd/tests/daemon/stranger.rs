//! An envd that is not ours: what it lacks is done another way.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use carrel_envd::{Dial, Envd, EnvdError, Line};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::guest::{Guest, all, content};

/// Leads to a guest whose own ways are hidden.
struct Stranger(PathBuf);

#[async_trait]
impl Dial for Stranger {
    async fn dial(&self) -> std::io::Result<Box<dyn Line>> {
        let (near, far) = tokio::io::duplex(16 * 1024);
        let path = self.0.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| pass_on(path.clone(), request));
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(far), service).await;
        });
        Ok(Box::new(near))
    }
}

type Answer = Response<BoxBody<Bytes, hyper::Error>>;

async fn pass_on(path: PathBuf, request: Request<Incoming>) -> Result<Answer, Infallible> {
    if request.uri().path() == "/tar" {
        let body = Full::from("404 page not found").map_err(|never| match never {}).boxed();
        return Ok(Response::builder().status(StatusCode::NOT_FOUND).body(body).unwrap());
    }
    let line = TokioIo::new(UnixStream::connect(path).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(line).await.unwrap();
    tokio::spawn(connection);
    let mut answer = sender.send_request(request).await.unwrap().map(|body| body.boxed());
    answer.headers_mut().remove("x-carrel-envd");
    Ok(answer)
}

fn stranger(guest: &Guest) -> Envd {
    Envd::new(Arc::new(Stranger(guest.socket.path.clone())), None)
}

#[tokio::test]
async fn a_folder_comes_back_as_it_went_also_from_a_stranger() {
    let guest = Guest::new();
    let envd = stranger(&guest);
    let script =
        "mkdir -p tree/sub; echo hi > tree/sub/file; chmod 751 tree/sub/file; head -c 300000 /dev/zero > tree/big";
    assert_eq!(guest.run(&format!("cd {} && {script}", guest.path(""))).await.code(), 0);
    let archive = all(envd.download_tar(&guest.path("tree"), None).await.unwrap().content).await;
    envd.upload_tar(&guest.path("copy/here"), None, content(archive)).await.unwrap();
    assert_eq!(std::fs::read_to_string(guest.path("copy/here/sub/file")).unwrap(), "hi\n");
    assert_eq!(std::fs::metadata(guest.path("copy/here/big")).unwrap().len(), 300_000);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(guest.path("copy/here/sub/file")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o751);
}

#[tokio::test]
async fn what_goes_wrong_at_a_stranger_is_said_and_leaves_nothing() {
    let guest = Guest::new();
    let envd = stranger(&guest);
    let missing = envd.download_tar(&guest.path("nowhere"), None).await.err();
    assert!(matches!(missing, Some(EnvdError::NotFound(_))), "{missing:?}");
    let refused = envd.upload_tar(&guest.path("in"), None, content("this is no archive")).await;
    assert!(matches!(&refused, Err(EnvdError::Invalid(why)) if why.contains("tar")), "{refused:?}");
    let drafts = std::fs::read_dir("/tmp").unwrap().filter_map(|file| file.ok()?.file_name().into_string().ok());
    let ours = format!("-{}-", std::process::id());
    let left: Vec<_> = drafts.filter(|name| name.starts_with(".carrel-") && name.contains(&ours)).collect();
    assert!(left.is_empty(), "{left:?}");
}
