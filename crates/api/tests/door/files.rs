//! Files in a sandbox, through the door.

use carrel_testkit::{House, on_both_databases};
use futures::StreamExt;
use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::refused;

fn files(house: &House, method: Method, id: &str, query: &[(&str, &str)]) -> RequestBuilder {
    house.request(method, &format!("/api/v1/sandboxes/{id}/files")).query(query)
}

/// A tar archive with one small file for each name.
fn archive(names: &[&str]) -> Vec<u8> {
    let mut archive = Vec::new();
    for name in names {
        let mut head = [0_u8; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[100..108].copy_from_slice(b"0000644\0");
        head[108..116].copy_from_slice(b"0000000\0");
        head[116..124].copy_from_slice(b"0000000\0");
        head[124..136].copy_from_slice(b"00000000005\0");
        head[136..148].copy_from_slice(b"00000000000\0");
        head[148..156].copy_from_slice(b"        ");
        head[156] = b'0';
        head[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend(head);
        let mut body = [0_u8; 512];
        body[..5].copy_from_slice(b"hello");
        archive.extend(body);
    }
    archive.extend([0; 1024]);
    archive
}

on_both_databases! {
    async fn a_large_file_travels_both_ways_unchanged(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let path = bare.files(&sandbox.id).join("deep/down/large");
        let path = path.to_str().unwrap();
        const PIECE: usize = 1024 * 1024;
        let piece = |number: usize| -> Vec<u8> { (0..PIECE).map(|at| (at * 31 + number * 7) as u8).collect() };
        let pieces = futures::stream::iter((0..100).map(move |number| Ok::<_, std::io::Error>(piece(number))));
        let put = files(&house, Method::PUT, sandbox.id.as_str(), &[("path", path)]).body(Body::wrap_stream(pieces));
        assert_eq!(put.send().await.unwrap().status(), 204);
        let about = files(&house, Method::HEAD, sandbox.id.as_str(), &[("path", path)]).send().await.unwrap();
        assert_eq!((&about.headers()["carrel-file-kind"], &about.headers()["carrel-file-size"]), (&"file".parse().unwrap(), &"104857600".parse().unwrap()));

        let response = files(&house, Method::GET, sandbox.id.as_str(), &[("path", path)]).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.content_length()), (200, Some(104_857_600)));
        assert_eq!(response.headers()["content-type"], "application/octet-stream");
        assert!(response.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
        let (mut bytes, mut at) = (response.bytes_stream(), 0_usize);
        let mut expected = piece(0);
        while let Some(part) = bytes.next().await {
            for byte in part.unwrap() {
                if at.is_multiple_of(PIECE) {
                    expected = piece(at / PIECE);
                }
                assert_eq!(byte, expected[at % PIECE], "at {at}");
                at += 1;
            }
        }
        assert_eq!(at, 100 * PIECE);
        house.close().await;
        database.drop().await;
    }

    async fn odd_names_and_what_is_missing_are_told_apart(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let (id, root) = (sandbox.id.as_str(), bare.files(&sandbox.id));
        for name in ["plain", "with space", "new\nline", "ümläut ☃", "-rf", "a&b=c", "%2e%2e", "quote'\"", ".hidden"] {
            let path = root.join(name);
            let path = path.to_str().unwrap();
            let put = files(&house, Method::PUT, id, &[("path", path)]).body(name.to_owned());
            assert_eq!(put.send().await.unwrap().status(), 204, "{name}");
            assert_eq!(std::fs::read_to_string(path).unwrap(), name);
            let got = files(&house, Method::GET, id, &[("path", path)]).send().await.unwrap();
            assert_eq!(got.text().await.unwrap(), name);
            assert_eq!(files(&house, Method::DELETE, id, &[("path", path)]).send().await.unwrap().status(), 204);
            refused(404, files(&house, Method::GET, id, &[("path", path)])).await;
            refused(404, files(&house, Method::DELETE, id, &[("path", path)])).await;
        }
        refused(422, files(&house, Method::GET, id, &[("path", "")])).await;
        refused(422, files(&house, Method::GET, id, &[("path", "a\0b")])).await;
        refused(422, files(&house, Method::GET, id, &[])).await;
        refused(422, files(&house, Method::PUT, id, &[("path", "/x"), ("extract", "zip")])).await;
        house.close().await;
        database.drop().await;
    }

    async fn folders_travel_as_archives(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let (id, root) = (sandbox.id.as_str(), bare.files(&sandbox.id).join("tree"));
        let path = root.to_str().unwrap();
        let put = files(&house, Method::PUT, id, &[("path", path), ("extract", "tar")]).body(archive(&["one", "sub/two"]));
        assert_eq!(put.send().await.unwrap().status(), 204);
        assert_eq!(std::fs::read_to_string(root.join("sub/two")).unwrap(), "hello");

        let got = files(&house, Method::GET, id, &[("path", path)]).send().await.unwrap();
        assert_eq!((&got.headers()["content-type"], &got.headers()["carrel-file-kind"]), (&"application/x-tar".parse().unwrap(), &"directory".parse().unwrap()));
        let tar = got.bytes().await.unwrap();
        let back = bare.files(&sandbox.id).join("back");
        let put = files(&house, Method::PUT, id, &[("path", back.to_str().unwrap()), ("extract", "tar")]).body(tar);
        assert_eq!(put.send().await.unwrap().status(), 204);
        assert_eq!(std::fs::read_to_string(back.join("sub/two")).unwrap(), "hello");

        let list = house.request(Method::GET, &format!("/api/v1/sandboxes/{id}/files/list")).query(&[("path", path), ("depth", "2")]);
        let (status, list) = house.ask(list).await;
        let mut names: Vec<_> = list["items"].as_array().unwrap().iter().map(|entry| (entry["name"].as_str().unwrap(), entry["kind"].as_str().unwrap())).collect();
        names.sort_unstable();
        assert_eq!((status.as_u16(), names), (200, vec![("one", "file"), ("sub", "directory"), ("two", "file")]));
        // An archive that leads out of its folder leads nowhere.
        let put = files(&house, Method::PUT, id, &[("path", path), ("extract", "tar")]).body(archive(&["../escaped"]));
        let (_, _): (_, Value) = house.ask(put).await;
        assert!(!bare.files(&sandbox.id).join("escaped").exists());
        house.close().await;
        database.drop().await;
    }

    async fn what_was_written_is_in_the_log_of_the_sandbox(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        house.execute(&sandbox, json!({"command": "echo hi"})).await;
        files(&house, Method::PUT, sandbox.id.as_str(), &[("path", "noted")]).body("x").send().await.unwrap();
        let (_, log) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}/logs", sandbox.id))).await;
        let lines: Vec<_> = log["items"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
        assert!(lines[0].starts_with("Asked for"), "{lines:?}");
        for part in ["$ echo hi", "ended with 0", "wrote noted"] {
            assert!(lines.iter().any(|line| line.contains(part)), "{part}: {lines:?}");
        }
        house.close().await;
        database.drop().await;
    }
}
