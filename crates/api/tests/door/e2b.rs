//! What E2B's clients are told when things go wrong, through the door. The SDKs themselves ask in `tests/sdk`.

use std::{sync::Arc, time::Duration};

use carrel_control::{Patience, Quotas, Workload};
use carrel_model::sandbox::Depth;
use carrel_sandbox::Provider as _;
use carrel_testkit::{Bare, House, Setup, on_both_databases};
use reqwest::{Method, RequestBuilder, header::HeaderMap};
use serde_json::{Value, json};

/// Sends a request that must be refused as E2B refuses: the code of the body is the status.
async fn refused(status: u16, request: RequestBuilder) -> (Value, HeaderMap) {
    let response = request.send().await.unwrap();
    let (found, headers) = (response.status(), response.headers().clone());
    let body: Value = response.json().await.unwrap();
    assert_eq!((found.as_u16(), &body["code"]), (status, &json!(status)), "{body}");
    (body, headers)
}

/// One page of a list: the names on it, and how the next is asked for.
async fn page(house: &House, path: &str, name: &str) -> (Vec<String>, Option<String>) {
    let response = house.request(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let next = response.headers().get("x-next-token").map(|next| next.to_str().unwrap().to_owned());
    let items: Vec<Value> = response.json().await.unwrap();
    (items.iter().map(|item| item[name].as_str().unwrap().to_owned()).collect(), next)
}

/// Asks for a template of this name, and returns the path of its build.
async fn begun(house: &House, name: &str) -> String {
    let (status, begun) = house.ask(house.request(Method::POST, "/v3/templates").json(&json!({"name": name}))).await;
    assert_eq!(status.as_u16(), 202, "{begun}");
    format!("/v2/templates/{name}/builds/{}", begun["buildID"].as_str().unwrap())
}

on_both_databases! {
    async fn a_snapshot_that_fails_leaves_the_one_before_it(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let origin = house.ready_sandbox().await;
        let write = |text: &str| std::fs::write(bare.files(&origin.id).join("file"), text).unwrap();
        let snapshots = format!("/sandboxes/{}/snapshots", origin.id);
        let keep = || house.request(Method::POST, &snapshots).json(&json!({"name": "kept"}));
        let listed = async || house.ask(house.request(Method::GET, "/snapshots")).await.1;
        let read = async || {
            let new = json!({"templateID": "snapshot/kept"});
            let (status, made) = house.ask(house.request(Method::POST, "/v2/sandboxes").json(&new)).await;
            assert_eq!(status.as_u16(), 201, "{made}");
            let id = made["sandboxID"].as_str().unwrap().parse().unwrap();
            std::fs::read_to_string(bare.files(&id).join("file")).unwrap()
        };
        write("one");
        let (status, first) = house.ask(keep()).await;
        assert_eq!((status.as_u16(), &first["names"]), (201, &json!(["snapshot/kept:default"])));
        assert_eq!(first["memory"], false, "it says what it could not keep");

        write("two");
        let fails = bare.files(&origin.id).join("FAIL");
        std::fs::write(&fails, "").unwrap();
        let (body, _) = refused(503, keep()).await;
        assert!(body["message"].as_str().unwrap().contains("from before is still there"), "{body}");
        assert_eq!(listed().await, json!([first]), "it is listed as it was");
        assert_eq!(read().await, "one", "and sandboxes start from it");

        std::fs::remove_file(&fails).unwrap();
        assert_eq!(house.ask(keep()).await.0, 201);
        assert_eq!(listed().await, json!([first]));
        assert_eq!(read().await, "two", "a new version takes its place");
        house.close().await;
        database.drop().await;
    }

    async fn a_first_snapshot_that_fails_does_not_keep_its_name(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let origin = house.ready_sandbox().await;
        let keep = || house.request(Method::POST, &format!("/sandboxes/{}/snapshots", origin.id)).json(&json!({"name": "kept"}));
        let fails = bare.files(&origin.id).join("FAIL");
        std::fs::write(&fails, "").unwrap();
        refused(503, keep()).await;
        std::fs::remove_file(&fails).unwrap();
        assert_eq!(house.ask(keep()).await.0, 201);
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_that_is_being_made_is_not_called_dead_and_can_be_killed(database: TestDatabase) {
        let house = House::build(&database, Setup { create_takes: Duration::from_secs(3600), ..Setup::default() }).await;
        let (status, made) = house.ask(house.request(Method::POST, "/api/v1/sandboxes").json(&json!({}))).await;
        assert_eq!(status.as_u16(), 201, "{made}");
        let place = format!("/sandboxes/{}", made["id"].as_str().unwrap());
        let ways = [
            house.request(Method::GET, &place),
            house.request(Method::POST, &format!("{place}/connect")).json(&json!({"timeout": 60})),
        ];
        for way in ways {
            let (body, _) = refused(409, way).await;
            assert_eq!(body["error_code"], "sandbox_start_in_flight", "{body}");
            assert!(!body["message"].as_str().unwrap().contains("timeout"), "{body}");
        }
        refused(503, house.request(Method::POST, &format!("{place}/pause")).json(&json!({}))).await;
        assert_eq!(house.request(Method::DELETE, &place).send().await.unwrap().status(), 204);
        let (body, _) = refused(404, house.request(Method::GET, &place)).await;
        assert!(body["message"].as_str().unwrap().contains("It was destroyed with the key"), "{body}");
        house.close().await;
        database.drop().await;
    }

    async fn whoever_connects_in_the_middle_of_a_pause_finds_it_awake(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let hold = bare.files(&sandbox.id).join("HOLD");
        std::fs::write(&hold, "").unwrap();
        let pause = house.request(Method::POST, &format!("/sandboxes/{}/pause", sandbox.id)).json(&json!({"memory": false}));
        let paused = tokio::spawn(pause.send());
        while bare.endpoint(&sandbox.id).await.is_ok() {
            tokio::task::yield_now().await;
        }
        // It sleeps already, and its row does not know yet.
        let connect = house.request(Method::POST, &format!("/sandboxes/{}/connect", sandbox.id)).json(&json!({"timeout": 60}));
        let connected = tokio::spawn(connect.send());
        let view = async || house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}", sandbox.id))).await.1;
        while view().await["want"] != "ready" && !connected.is_finished() {
            tokio::task::yield_now().await;
        }
        // Whoever asked for the pause is told at once that it was overtaken.
        let overtaken = paused.await.unwrap().unwrap();
        assert_eq!(overtaken.status(), 409);
        assert!(overtaken.text().await.unwrap().contains("somebody connected"), "it says why");
        std::fs::remove_file(&hold).unwrap();
        let connected = connected.await.unwrap().unwrap();
        assert_eq!(connected.status(), 201, "{}", connected.text().await.unwrap());
        assert_eq!(view().await["phase"], "ready");
        house.close().await;
        database.drop().await;
    }

    async fn whoever_connects_when_the_time_is_up_is_not_let_in_before_the_pause_is_over(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        let new = json!({"templateID": "base", "timeout": 1, "autoPause": true, "autoPauseMemory": false});
        let (status, made) = house.ask(house.request(Method::POST, "/v2/sandboxes").json(&new)).await;
        assert_eq!(status.as_u16(), 201, "{made}");
        let id = made["sandboxID"].as_str().unwrap().parse().unwrap();
        let files = bare.files(&id);
        std::fs::write(files.join("WAIT"), "").unwrap();
        while !files.join("WAITS").exists() {
            tokio::task::yield_now().await;
        }
        // A keeper has it in hand and is about to let it sleep. Its provider knows nothing of that yet.
        let view = async || house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{id}"))).await.1;
        let (_, shown) = house.ask(house.request(Method::GET, &format!("/sandboxes/{id}"))).await;
        assert_eq!(shown["state"], "paused", "{shown}");
        let ended = view().await["expires_at"].clone();
        let connect = house.request(Method::POST, &format!("/v2/sandboxes/{id}/connect")).json(&json!({"timeout": 60}));
        let connected = tokio::spawn(connect.send());
        while view().await["expires_at"] == ended && !connected.is_finished() {
            tokio::task::yield_now().await;
        }
        for _ in 0..20 {
            view().await;
            assert!(!connected.is_finished(), "what it began now would end with the pause");
        }
        std::fs::remove_file(files.join("WAIT")).unwrap();
        let connected = connected.await.unwrap().unwrap();
        assert_eq!(connected.status(), 201, "{}", connected.text().await.unwrap());
        assert_eq!(view().await["phase"], "ready");
        assert!(bare.endpoint(&id).await.is_ok(), "somebody answers inside");
        house.close().await;
        database.drop().await;
    }

    async fn a_request_that_a_pause_overtakes_wakes_what_was_made_to_wake_and_is_told_where_it_was_not(database: TestDatabase) {
        let (house, bare) = House::bare(&database).await;
        for wakes in [true, false] {
            let new = json!({"templateID": "base", "timeout": 60, "autoPause": true, "autoResume": {"enabled": wakes}});
            let (_, made) = house.ask(house.request(Method::POST, "/v2/sandboxes").json(&new)).await;
            let id = made["sandboxID"].as_str().unwrap().parse().unwrap();
            let kept = bare.files(&id).join("kept");
            // A file of which one half has come when the sandbox is put to sleep.
            let (say, said) = tokio::sync::mpsc::channel::<std::io::Result<&str>>(1);
            let said = futures::stream::unfold(said, async |mut said| Some((said.recv().await?, said)));
            let upload = house
                .request(Method::POST, &format!("/files?path={}", kept.display()))
                .header("e2b-sandbox-id", made["sandboxID"].as_str().unwrap())
                .header("content-type", "application/octet-stream")
                .body(reqwest::Body::wrap_stream(said));
            let uploaded = tokio::spawn(upload.send());
            say.send(Ok("one half")).await.unwrap();
            let paused = house.request(Method::POST, &format!("/sandboxes/{id}/pause")).json(&json!({})).send().await.unwrap();
            assert!([204, 409].contains(&paused.status().as_u16()), "409 when it was woken before we looked");
            let _ = say.send(Ok(", and the other")).await;
            drop(say);
            let uploaded = uploaded.await.unwrap().unwrap();
            let (status, text) = (uploaded.status().as_u16(), uploaded.text().await.unwrap());
            if wakes {
                assert_eq!((status, std::fs::read_to_string(&kept).unwrap().as_str()), (200, "one half, and the other"), "{text}");
            } else {
                assert!(status == 502 && text.contains("it is paused") && !kept.exists(), "{status} {text}");
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_pause_whose_end_nobody_wrote_down_is_found_out_by_whoever_connects(database: TestDatabase) {
        let bare = Bare::new();
        let patience = Patience { sweep: Duration::from_secs(3600), ..Setup::default().patience };
        let house = House::build(&database, Setup { bare: Some(Arc::clone(&bare)), patience, ..Setup::default() }).await;
        let sandbox = house.ready_sandbox().await;
        // As after a keeper that let it sleep and could not say so.
        bare.pausing().unwrap().pause(&sandbox.id, Depth::Files).await.unwrap();
        let connect = house.request(Method::POST, &format!("/sandboxes/{}/connect", sandbox.id)).json(&json!({"timeout": 60}));
        let connected = connect.send().await.unwrap();
        assert_eq!(connected.status(), 200, "{}", connected.text().await.unwrap());
        assert!(bare.endpoint(&sandbox.id).await.is_ok(), "somebody answers inside");
        house.close().await;
        database.drop().await;
    }

    async fn a_request_of_another_name_is_told_apart_from_one_that_is_repeated(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let ask = |key: &str, timeout: u64| {
            let new = json!({"templateID": "base", "timeout": timeout});
            house.request(Method::POST, "/v2/sandboxes").header("idempotency-key", key).json(&new)
        };
        let (status, first) = house.ask(ask("one-1", 60)).await;
        assert_eq!(status.as_u16(), 201, "{first}");
        assert_eq!(house.ask(ask("one-1", 60)).await.1["sandboxID"], first["sandboxID"]);
        let (body, headers) = refused(409, ask("one-1", 61)).await;
        assert_eq!((&body["error_code"], &headers["should-retry"]), (&json!("idempotency_request_mismatch"), &"false".parse().unwrap()));
        for odd in ["One", "a_b", "a b"] {
            refused(400, ask(odd, 60)).await;
        }
        let id = first["sandboxID"].as_str().unwrap();
        assert_eq!(house.request(Method::DELETE, &format!("/sandboxes/{id}")).send().await.unwrap().status(), 204);
        let (body, _) = refused(409, ask("one-1", 60)).await;
        assert!(body["message"].as_str().unwrap().contains("is not there any more"), "{body}");
        house.close().await;
        database.drop().await;
    }

    async fn a_quota_names_no_time_and_a_rate_does(database: TestDatabase) {
        let quotas = Quotas { member_sandboxes: Some(1), ..Quotas::default() };
        let work = Workload { quotas, ..Workload::default() };
        let setup = Setup { work, rate: Some((1, 20)), bare: Some(Bare::new()), ..Setup::default() };
        let house = House::build(&database, setup).await;
        let (_, member) = house.mint(json!({"name": "Ada", "role": "member"})).await;
        let make = || house.request_as(&member, Method::POST, "/v2/sandboxes").json(&json!({"templateID": "base"}));
        assert_eq!(house.ask(make()).await.0, 201);
        let (body, headers) = refused(429, make()).await;
        assert_eq!((&body["error_code"], &headers["should-retry"]), (&json!("quota_exceeded"), &"false".parse().unwrap()));
        assert!(!headers.contains_key("retry-after") && !headers.contains_key("ratelimit-remaining"), "{headers:?}");
        let headers = loop {
            let answer = house.request_as(&member, Method::GET, "/v2/sandboxes").send().await.unwrap();
            if answer.status() == 429 {
                break answer.headers().clone();
            }
        };
        let number = |name: &str| headers[name].to_str().unwrap().parse::<u64>().unwrap();
        assert_eq!((number("ratelimit-limit"), number("ratelimit-remaining")), (20, 0));
        assert!(number("retry-after") >= 1 && number("ratelimit-reset") == number("retry-after"), "{headers:?}");
        house.close().await;
        database.drop().await;
    }

    async fn a_page_has_one_to_a_hundred(database: TestDatabase) {
        let house = House::open(&database).await;
        for odd in ["0", "101"] {
            refused(400, house.request(Method::GET, &format!("/v2/sandboxes?limit={odd}"))).await;
        }
        assert_eq!(house.ask(house.request(Method::GET, "/v2/sandboxes?limit=100")).await.0, 200);
        house.close().await;
        database.drop().await;
    }

    async fn a_page_goes_on_where_the_last_ended_also_when_its_last_item_is_gone(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let mut made = Vec::new();
        for _ in 0..3 {
            let (status, sandbox) = house.ask(house.request(Method::POST, "/v2/sandboxes").json(&json!({"templateID": "base"}))).await;
            assert_eq!(status.as_u16(), 201, "{sandbox}");
            made.push(sandbox["sandboxID"].as_str().unwrap().to_owned());
        }
        for name in ["one", "two", "three"] {
            let keep = house.request(Method::POST, &format!("/sandboxes/{}/snapshots", made[0]));
            assert_eq!(house.ask(keep.json(&json!({"name": name}))).await.0, 201);
        }
        for (list, name, things) in [
            ("/snapshots?", "snapshotID", "templates"),
            ("/v2/sandboxes?order=asc&", "sandboxID", "sandboxes"),
        ] {
            let (all, end) = page(&house, list, name).await;
            assert_eq!((all.len(), end), (3, None), "{list}");
            let (first, next) = page(&house, &format!("{list}limit=1"), name).await;
            assert_eq!(first, all[..1], "{list}");
            let gone = first[0].replace('/', "%2F");
            assert_eq!(house.request(Method::DELETE, &format!("/{things}/{gone}")).send().await.unwrap().status(), 204);
            let (rest, end) = page(&house, &format!("{list}limit=2&nextToken={}", next.unwrap()), name).await;
            assert_eq!((&rest[..], end), (&all[1..], None), "{list}");
        }
        for list in ["/snapshots", "/v2/sandboxes", "/v2/sandboxes?order=asc"] {
            for odd in ["x", "12", "12.", "one.two"] {
                let with = if list.contains('?') { '&' } else { '?' };
                let (body, _) = refused(400, house.request(Method::GET, &format!("{list}{with}nextToken={odd}"))).await;
                assert!(body["message"].as_str().unwrap().contains("nextToken"), "{list} {odd}: {body}");
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn what_is_no_template_of_ours_is_not_looked_for_among_images(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let build = begun(&house, "mine").await;
        let (body, _) = refused(404, house.request(Method::POST, &build).json(&json!({"fromTemplate": "typo"}))).await;
        assert!(body["message"].as_str().unwrap().contains("'typo' not found: `fromTemplate`"), "{body}");
        let started = house.request(Method::POST, &build).json(&json!({"fromTemplate": "base"})).send().await.unwrap();
        assert_eq!(started.status(), 202, "the same build begins with one that there is");
        house.close().await;
        database.drop().await;
    }

    async fn what_is_chosen_when_a_sandbox_is_made_is_not_changed_in_silence(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let (_, made) = house.ask(house.request(Method::POST, "/v2/sandboxes").json(&json!({"templateID": "base"}))).await;
        let path = format!("/sandboxes/{}/network", made["sandboxID"].as_str().unwrap());
        for (field, value) in [("allowPublicTraffic", json!(false)), ("maskRequestHost", json!("app.example")), ("httpsPorts", json!([443]))] {
            let (body, _) = refused(400, house.request(Method::PUT, &path).json(&json!({field: value}))).await;
            assert!(body["message"].as_str().unwrap().contains(field), "{body}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn an_upload_that_is_no_archive_is_not_kept(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let place = format!("/templates/mine/files/{}", "a".repeat(64));
        let asked = async || house.ask(house.request(Method::GET, &place)).await.1;
        let put = async |bytes: Vec<u8>| {
            let link = asked().await["url"].as_str().unwrap().to_owned();
            let ticket = link.split_once('?').unwrap().1;
            house.bare_request(Method::PUT, &format!("{place}?{ticket}")).body(bytes)
        };
        let packed = std::process::Command::new("tar").args(["-cz", "-C", env!("CARGO_MANIFEST_DIR"), "Cargo.toml"]).output().unwrap().stdout;
        for broken in [b"no archive".to_vec(), Vec::new(), packed[..packed.len() - 4].to_vec()] {
            let (body, _) = refused(400, put(broken).await).await;
            assert!(body["message"].as_str().unwrap().contains("no archive"), "{body}");
            assert_eq!(asked().await["present"], false);
        }
        assert_eq!(put(packed).await.send().await.unwrap().status(), 200);
        assert_eq!(asked().await["present"], true);
        house.close().await;
        database.drop().await;
    }

    async fn tags_are_given_all_or_none_and_are_of_one_build(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let new = json!({"name": "tool:v0", "from": "recipe", "recipe": "FROM host\n"});
        assert_eq!(house.ask(house.request(Method::POST, "/api/v1/templates").json(&new)).await.0, 201);
        crate::templates::made(&house, "tool%3Av0").await;
        let tags = async || house.ask(house.request(Method::GET, "/templates/tool/tags")).await.1;
        let assign = |tags: Value| house.request(Method::POST, "/templates/tags").json(&json!({"target": "tool:v0", "tags": tags}));
        refused(400, assign(json!(["v1", "bad tag"]))).await;
        assert_eq!(tags().await.as_array().unwrap().len(), 1);

        let (status, assigned) = house.ask(assign(json!(["v1"]))).await;
        assert_eq!(status.as_u16(), 201, "{assigned}");
        let tags = tags().await;
        let builds: Vec<_> = tags.as_array().unwrap().iter().map(|tag| &tag["buildID"]).collect();
        assert_eq!(builds, [&assigned["buildID"]; 2], "{tags}");

        let (status, alias) = house.ask(house.request(Method::GET, "/templates/aliases/tool")).await;
        assert_eq!((status.as_u16(), &alias["templateID"]), (200, &json!("tool")));
        refused(404, house.request(Method::GET, "/templates/aliases/other")).await;
        refused(404, house.request(Method::GET, "/templates/aliases/tool%3Av2")).await;
        house.close().await;
        database.drop().await;
    }
}
