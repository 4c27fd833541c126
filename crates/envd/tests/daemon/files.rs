use std::{io::Write, os::unix::fs::MetadataExt};

use bytes::Bytes;
use carrel_envd::{EnvdError, wire::percent_encode};
use futures::StreamExt;
use http::{HeaderValue, StatusCode};

use crate::guest::{Guest, all, content, get, is_root, post};

fn target(path: &str) -> String {
    format!("/files?path={}", percent_encode(path))
}

#[tokio::test]
async fn a_file_of_any_size_comes_back_as_it_went() {
    let guest = Guest::new();
    for size in [0, 1, 65_535, 65_536, 65_537, 5_000_000] {
        let path = guest.path(&format!("deep/er/{size}"));
        let bytes: Vec<u8> = (0..size).map(|byte| (byte * 31 % 251) as u8).collect();
        guest.envd.upload(&path, None, content(bytes.clone())).await.unwrap();
        let download = guest.envd.download(&path, None).await.unwrap();
        assert_eq!(download.size, Some(size as u64));
        assert_eq!(all(download.content).await, bytes, "{size} bytes");
    }
}

#[tokio::test]
async fn a_shorter_file_over_a_longer_one_leaves_nothing_of_it() {
    let guest = Guest::new();
    let path = guest.path("file");
    guest.envd.upload(&path, None, content("a long beginning")).await.unwrap();
    guest.envd.upload(&path, None, content("short")).await.unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "short");
}

#[tokio::test]
async fn a_file_that_says_it_is_empty_is_read_to_its_end() {
    let guest = Guest::new();
    let id = all(guest.envd.download("/proc/sys/kernel/random/boot_id", None).await.unwrap().content).await;
    assert_eq!(String::from_utf8(id).unwrap(), std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap());
    // Longer than what is read at once.
    let long = all(guest.envd.download("/proc/kallsyms", None).await.unwrap().content).await;
    assert!(long.len() > 65_536, "{}", long.len());
}

#[tokio::test]
async fn what_is_not_a_file_is_refused_and_never_waited_for() {
    let guest = Guest::new();
    let fifo = guest.path("fifo");
    guest.run(&format!("mkfifo {fifo}")).await;
    assert!(matches!(guest.envd.download(&guest.path("none"), None).await.map(drop), Err(EnvdError::NotFound(_))));
    for path in [guest.path(""), fifo.clone(), "/dev/zero".into()] {
        assert!(matches!(guest.envd.download(&path, None).await.map(drop), Err(EnvdError::Invalid(_))), "{path}");
    }
    assert!(guest.envd.upload(&guest.path(""), None, content("x")).await.is_err());
    assert!(guest.envd.upload(&fifo, None, content("x")).await.is_err());
    assert!(matches!(guest.envd.upload("/dev/null/x", None, content("x")).await, Err(EnvdError::Invalid(_))));
    assert!(matches!(guest.envd.upload("/a\0b", None, content("x")).await, Err(EnvdError::Invalid(_))));
    assert!(matches!(guest.envd.download("/etc/hostname", Some("nosuch")).await.map(drop), Err(EnvdError::Refused(_))));
}

#[tokio::test]
async fn a_full_disk_is_called_one() {
    let guest = Guest::new();
    let refused = guest.envd.upload("/dev/full", None, content("x")).await;
    // A device is no file; a small filesystem is the real thing.
    assert!(matches!(refused, Err(EnvdError::Invalid(_))));
    assert!(is_root(), "this test needs root: it mounts a small filesystem");
    let small = guest.path("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = guest.run(&format!("mount -t tmpfs -o size=1m none {small}")).await;
    assert_eq!(mounted.code(), 0, "{}", mounted.stderr);
    let refused = guest.envd.upload(&format!("{small}/file"), None, content(vec![0; 3 << 20])).await;
    let unmounted = guest.run(&format!("umount {small}")).await;
    assert_eq!(unmounted.code(), 0, "{}", unmounted.stderr);
    assert!(matches!(refused, Err(EnvdError::DiskFull(_))), "{refused:?}");
}

#[tokio::test]
async fn a_form_brings_several_files_to_the_paths_they_name() {
    let guest = Guest::new();
    let (one, two) = (guest.path("one"), guest.path("new/two \"2\""));
    let form = format!(
        "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{one}\"\r\nContent-Type: text/plain\r\n\r\nfirst\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nignored\r\n\
         --XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\r\nsecond\r\n--XX--\r\n",
        two.replace('"', "%22"),
    );
    let response = guest.http(post("/files", "multipart/form-data; boundary=XX", form)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let written: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(
        written,
        serde_json::json!([
            {"name": "one", "type": "file", "path": one},
            {"name": "two \"2\"", "type": "file", "path": two},
        ])
    );
    assert_eq!(std::fs::read_to_string(one).unwrap(), "first");
    assert_eq!(std::fs::read_to_string(two).unwrap(), "second");
}

#[tokio::test]
async fn a_form_that_is_wrong_is_refused_with_the_reason() {
    let guest = Guest::new();
    let path = guest.path("twice");
    let part = format!("--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{path}\"\r\n\r\nx\r\n");
    for (kind, body) in [
        ("multipart/form-data; boundary=XX", format!("{part}{part}--XX--\r\n")),
        ("multipart/form-data; boundary=XX", part.clone()),
        ("multipart/form-data", part.clone()),
        ("text/plain", "x".to_owned()),
        ("application/octet-stream", "x".to_owned()),
    ] {
        let response = guest.http(post("/files", kind, body)).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{kind}");
        let refusal: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(refusal["code"], 400);
    }
}

#[tokio::test]
async fn gzip_is_undone_on_the_way_in_and_done_for_those_who_ask() {
    let guest = Guest::new();
    let plain = vec![b'a'; 3 << 20];
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&plain).unwrap();
    let path = guest.path("zipped");
    let mut request = post(&target(&path), "application/octet-stream", encoder.finish().unwrap());
    request.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
    assert_eq!(guest.http(request).await.status(), StatusCode::OK);
    assert_eq!(std::fs::read(&path).unwrap(), plain);

    let mut request = get(&target(&path));
    request.headers_mut().insert("accept-encoding", HeaderValue::from_static("gzip"));
    let response = guest.http(request).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let mut unzipped = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&response.body()[..]), &mut unzipped).unwrap();
    assert_eq!(unzipped, plain);

    let mut request = post(&target(&path), "application/octet-stream", "not gzip");
    request.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
    assert_eq!(guest.http(request).await.status(), StatusCode::BAD_REQUEST);
    let mut request = get(&target(&path));
    request.headers_mut().insert("accept-encoding", HeaderValue::from_static("br, identity;q=0"));
    assert_eq!(guest.http(request).await.status(), StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn a_part_of_a_file_can_be_asked_for() {
    let guest = Guest::new();
    let path = guest.path("digits");
    std::fs::write(&path, "0123456789").unwrap();
    let mut request = get(&target(&path));
    request.headers_mut().insert("range", HeaderValue::from_static("bytes=2-4"));
    let response = guest.http(request).await;
    assert_eq!((response.status(), response.body()), (StatusCode::PARTIAL_CONTENT, &Bytes::from("234")));
    assert_eq!(response.headers()["content-range"], "bytes 2-4/10");
    let mut request = get(&target(&path));
    request.headers_mut().insert("range", HeaderValue::from_static("bytes=10-"));
    assert_eq!(guest.http(request).await.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    let whole = guest.http(get(&target(&path))).await;
    assert_eq!(whole.headers()["content-disposition"], "inline; filename=\"digits\"");
    let mut request = get(&target(&path));
    request.headers_mut().insert("if-modified-since", whole.headers()["last-modified"].clone());
    assert_eq!(guest.http(request).await.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn whoever_asks_about_a_file_is_told_how_long_it_is() {
    let guest = Guest::new();
    let path = guest.path("digits");
    std::fs::write(&path, "0123456789").unwrap();
    let mut request = get(&target(&path));
    *request.method_mut() = http::Method::HEAD;
    let response = guest.http(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-length"], "10");
    assert_eq!(response.body(), &Bytes::new());
    let mut request = get(&target(&path));
    *request.method_mut() = http::Method::HEAD;
    request.headers_mut().insert("accept-encoding", HeaderValue::from_static("gzip"));
    assert!(!guest.http(request).await.headers().contains_key("content-length"), "nobody packs it to know");
}

#[tokio::test]
async fn notes_stay_with_a_file_until_it_is_written_again() {
    let guest = Guest::new();
    let path = guest.path("noted");
    let mut request = post(&target(&path), "application/octet-stream", "x");
    request.headers_mut().insert("x-metadata-author", HeaderValue::from_static("me"));
    let response = guest.http(request).await;
    let written: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(written[0]["metadata"], serde_json::json!({"author": "me"}), "{written}");
    let stat = |body: Bytes| serde_json::from_slice::<serde_json::Value>(&body).unwrap()["entry"]["metadata"].clone();
    let ask =
        || post("/filesystem.Filesystem/Stat", "application/json", serde_json::json!({ "path": path }).to_string());
    assert_eq!(stat(guest.http(ask()).await.into_body()), serde_json::json!({"author": "me"}));
    guest.envd.upload(&path, None, content("y")).await.unwrap();
    assert_eq!(stat(guest.http(ask()).await.into_body()), serde_json::Value::Null);
    let mut request = post(&target(&path), "application/octet-stream", "x");
    request.headers_mut().insert("x-metadata-long", HeaderValue::from_str(&"v".repeat(5000)).unwrap());
    assert_eq!(guest.http(request).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_file_and_the_folders_made_for_it_belong_to_the_user() {
    assert!(is_root(), "this test needs root: only root can give files away");
    let guest = Guest::new();
    let path = guest.path("theirs/file");
    guest.envd.upload(&path, Some("nobody"), content("x")).await.unwrap();
    for path in [path.as_str(), guest.path("theirs").as_str()] {
        assert_eq!(std::fs::metadata(path).unwrap().uid(), 65_534, "{path}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
}

#[tokio::test]
async fn pieces_are_joined_and_go_away() {
    let guest = Guest::new();
    let (one, two, whole) = (guest.path("1"), guest.path("2"), guest.path("sub/whole"));
    std::fs::write(&one, "first ").unwrap();
    std::fs::write(&two, "second").unwrap();
    let body = serde_json::json!({"source_paths": [one, two], "destination": whole}).to_string();
    let response = guest.http(post("/files/compose", "application/json", body.clone())).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), "first second");
    assert!(!std::path::Path::new(&one).exists());
    assert_eq!(guest.http(post("/files/compose", "application/json", body)).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(std::fs::read_to_string(&whole).unwrap(), "first second");
}

#[tokio::test]
async fn an_upload_of_any_size_needs_little_memory() {
    let guest = Guest::new();
    let path = guest.path("large");
    let chunk = Bytes::from(vec![0; 1 << 20]);
    let chunks = futures::stream::iter((0..300).map(move |_| Ok(chunk.clone())));
    guest.envd.upload(&path, None, chunks.boxed()).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 300 << 20);
    let memory = crate::measure::private_kib(guest.child.id());
    assert!(memory < 16 << 10, "{memory} KiB after an upload of 300 MiB");
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_what_was_there_and_nothing_else() {
    let guest = Guest::new();
    std::fs::create_dir(guest.path("in")).unwrap();
    let (old, new) = (guest.path("in/old"), guest.path("in/new"));
    std::fs::write(&old, "as it was").unwrap();
    for pieces in [1, 3000] {
        for path in [&old, &new] {
            let half = (0..pieces).map(|_| Ok(Bytes::from(vec![7; 1000])));
            let broken = half.chain([Err(std::io::Error::other("the cat came by"))]);
            let refused = guest.envd.upload(path, None, futures::stream::iter(broken).boxed()).await;
            assert!(refused.is_err(), "{path} with {pieces} pieces");
            guest.envd.health().await.unwrap();
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "as it was", "with {pieces} pieces");
        let there: Vec<_> =
            std::fs::read_dir(guest.path("in")).unwrap().map(|each| each.unwrap().file_name()).collect();
        assert_eq!(there, ["old"], "with {pieces} pieces");
    }
}

#[tokio::test]
async fn a_daemon_that_is_killed_in_an_upload_leaves_what_was_there_and_nothing_else() {
    let mut guest = Guest::new();
    std::fs::create_dir(guest.path("in")).unwrap();
    let path = guest.path("in/old");
    std::fs::write(&path, "as it was").unwrap();
    let (sender, receiver) = futures::channel::mpsc::channel(1);
    let (envd, place) = (guest.envd.clone(), path.clone());
    let upload = tokio::spawn(async move { envd.upload(&place, None, receiver.boxed()).await });
    let mut sender = sender;
    for _ in 0..40 {
        futures::SinkExt::send(&mut sender, Ok(Bytes::from(vec![7; 100_000]))).await.unwrap();
    }
    guest.child.kill().unwrap();
    guest.child.wait().unwrap();
    drop(sender);
    assert!(upload.await.unwrap().is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "as it was");
    let there: Vec<_> = std::fs::read_dir(guest.path("in")).unwrap().map(|each| each.unwrap().file_name()).collect();
    assert_eq!(there, ["old"]);
}

#[tokio::test]
async fn a_large_file_takes_the_place_of_another_as_it_was() {
    use std::os::unix::fs::PermissionsExt;
    let guest = Guest::new();
    let (path, link, dangling) = (guest.path("program"), guest.path("link"), guest.path("dangling"));
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("program", &link).unwrap();
    std::os::unix::fs::symlink("named", &dangling).unwrap();
    let large = vec![b'x'; 300_000];
    for place in [&link, &dangling] {
        guest.envd.upload(place, None, content(large.clone())).await.unwrap();
        assert!(std::fs::symlink_metadata(place).unwrap().is_symlink(), "{place} is what it was");
    }
    assert_eq!(std::fs::read(&path).unwrap(), large);
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o750, "it may still be run");
    assert_eq!(std::fs::read(guest.path("named")).unwrap(), large);
    assert_eq!(std::fs::metadata(guest.path("named")).unwrap().mode() & 0o7777, 0o644);
    // Somebody who has it open reads on in what they opened.
    let mut held = std::fs::File::open(&path).unwrap();
    guest.envd.upload(&path, None, content(vec![b'y'; 200_000])).await.unwrap();
    let mut read = Vec::new();
    std::io::Read::read_to_end(&mut held, &mut read).unwrap();
    assert_eq!(read, large);
}

#[tokio::test]
async fn a_place_that_something_is_mounted_on_is_written_all_the_same() {
    assert!(is_root(), "this test needs root: it mounts");
    let guest = Guest::new();
    let (path, other) = (guest.path("mounted"), guest.path("other"));
    std::fs::write(&path, "").unwrap();
    std::fs::write(&other, "old").unwrap();
    let mounted = guest.run(&format!("mount --bind {other} {path}")).await;
    assert_eq!(mounted.code(), 0, "{}", mounted.stderr);
    let sent = guest.envd.upload(&path, None, content(vec![b'x'; 300_000])).await;
    let unmounted = guest.run(&format!("umount {path}")).await;
    assert_eq!(unmounted.code(), 0, "{}", unmounted.stderr);
    sent.unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), vec![b'x'; 300_000]);
}

#[tokio::test]
async fn whoever_is_refused_hears_it_at_once_however_much_is_still_to_come() {
    let guest = Guest::new();
    // A folder cannot be written; ten gigabytes want to be.
    for _ in 0..3 {
        let chunks = futures::stream::repeat_with(|| Ok(Bytes::from_static(&[0; 1 << 16]))).take(163_840);
        let refused = guest.envd.upload(&guest.path(""), None, chunks.boxed()).await;
        assert!(matches!(&refused, Err(EnvdError::Invalid(why)) if why.contains("is a directory")), "{refused:?}");
    }
    guest.envd.upload(&guest.path("file"), None, content("fine")).await.unwrap();
    assert_eq!(std::fs::read_to_string(guest.path("file")).unwrap(), "fine");
}
