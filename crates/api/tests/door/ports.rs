//! Ports of a sandbox, through the door: HTTP and WebSockets, by path and by host.

use axum::{
    Router,
    extract::{WebSocketUpgrade, ws::Message},
    http::HeaderMap,
    response::IntoResponse,
    routing::{any, get},
};
use carrel_testkit::{House, on_both_databases};
use futures::{SinkExt, StreamExt};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::{WebSocketStream, tungstenite};

use crate::refused;

/// Something that listens, as a program inside would: a bare sandbox shares the host's ports.
async fn listening() -> u16 {
    let echo = |method: axum::http::Method, uri: axum::http::Uri, headers: HeaderMap, body: String| async move {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
        let seen = format!(
            "{method} {uri} host={} proto={} key={} auth={} cookie={} {body}",
            header("host"),
            header("x-forwarded-proto"),
            header("x-api-key"),
            header("authorization"),
            header("cookie")
        );
        let about = [
            ("x-inside", "yes"),
            ("set-cookie", "carrel_visit_test=stolen"),
            ("clear-site-data", "*"),
            ("x-frame-options", "DENY"),
        ];
        (about, seen)
    };
    let socket = |upgrade: WebSocketUpgrade| async {
        upgrade.on_upgrade(|mut socket| async move {
            while let Some(Ok(message)) = socket.next().await {
                if let Message::Text(text) = message
                    && socket.send(Message::Text(format!("echo {text}").into())).await.is_err()
                {
                    return;
                }
            }
        })
    };
    let app = Router::new()
        .route("/socket", get(socket))
        .route("/away", get(|| async { ([("location", "/there")], axum::http::StatusCode::FOUND) }))
        .route("/bare", get(|| async { axum::http::StatusCode::NOT_FOUND.into_response() }))
        .fallback(any(echo));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    port
}

on_both_databases! {
    async fn a_request_reaches_what_listens_inside_and_our_secrets_stay_outside(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let port = listening().await;
        let path = format!("/api/v1/sandboxes/{}/ports/{port}", sandbox.id);
        let request = house.request(Method::POST, &format!("{path}/a/b?c=d")).header("cookie", "mine=1; carrel_visit_test=secret").body("hello");
        let response = request.send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["x-inside"]), (200, &"yes".parse().unwrap()));
        // What comes from our origin must not act as our page.
        let policy: Vec<_> = response.headers().get_all("content-security-policy").iter().map(|value| value.to_str().unwrap().to_owned()).collect();
        assert!(policy.iter().any(|policy| policy.starts_with("sandbox ")), "{policy:?}");
        assert!(!response.headers().contains_key("set-cookie") && !response.headers().contains_key("clear-site-data"));
        assert_eq!(response.text().await.unwrap(), format!("POST /a/b?c=d host=localhost:{port} proto=http key=- auth=- cookie=mine=1 hello"));
        let (_, ada) = house.mint(serde_json::json!({"name": "Ada", "role": "member"})).await;
        for (user, password) in [("anybody", ada.as_str()), (ada.as_str(), "")] {
            let shown = house.bare_request(Method::GET, &path).basic_auth(user, Some(password)).send().await.unwrap();
            assert!(shown.text().await.unwrap().contains(" auth=- "), "a key stays outside, also as user or password");
        }
        let response = house.request(Method::GET, &path).header("x-api-key", "their-own").send().await.unwrap();
        assert!(response.text().await.unwrap().contains("GET / host=") , "the root, also without a slash");
        let response = house.request(Method::GET, &format!("{path}/bare")).send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.text().await.unwrap()), (404, String::new()), "its own 404");

        let (_, stats) = house.ask(house.request(Method::GET, &format!("/api/v1/sandboxes/{}/stats", sandbox.id))).await;
        assert!(stats["activity"]["last_active_at"].is_string());
        let problem = refused(502, house.request(Method::GET, &format!("/api/v1/sandboxes/{}/ports/1/", sandbox.id))).await;
        assert!(problem["detail"].as_str().unwrap().contains("port 1"), "{problem}");
        refused(404, house.request(Method::GET, &format!("/api/v1/sandboxes/{}/ports/0/", sandbox.id))).await;
        refused(401, house.bare_request(Method::GET, &format!("{path}/"))).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_browser_comes_to_a_port_by_a_link_that_works_once(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let port = listening().await;
        let place = format!("/api/v1/sandboxes/{}/port_link", sandbox.id);
        let named = |path: &str| house.bare_request(Method::GET, path).header("host", format!("{port}-{}.localhost:7070", sandbox.id));
        let (id, ada) = house.mint(serde_json::json!({"name": "Ada", "role": "member"})).await;
        let asked = || house.request_as(&ada, Method::POST, &place).header("host", "127.0.0.1:7070");
        let (status, link) = house.ask(asked().json(&serde_json::json!({"port": port}))).await;
        assert_eq!(status.as_u16(), 201, "{link}");
        let url = link["url"].as_str().unwrap();
        let path = url.strip_prefix(&format!("http://{port}-{}.localhost:7070", sandbox.id)).unwrap();
        refused(502, asked().json(&serde_json::json!({"port": 1}))).await;
        refused(422, asked().json(&serde_json::json!({"port": 0}))).await;

        refused(401, named("/")).await;
        let quiet = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let opened = quiet.execute(named(path).build().unwrap()).await.unwrap();
        assert_eq!((opened.status().as_u16(), &opened.headers()["location"]), (303, &"/".parse().unwrap()));
        let cookie = opened.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && !cookie.contains("Domain"), "{cookie}");
        let pass = cookie.split(';').next().unwrap();
        let shown = named("/a?b=c").header("cookie", format!("theirs=1; {pass}")).send().await.unwrap();
        assert_eq!((shown.status().as_u16(), shown.headers().get("set-cookie")), (200, None), "it signs nobody in");
        let seen = shown.text().await.unwrap();
        assert!(seen.starts_with("GET /a?b=c ") && seen.contains("cookie=theirs=1 ") , "what runs inside does not see the pass: {seen}");
        refused(401, named(path)).await;
        let other = listening().await;
        let elsewhere = house.bare_request(Method::GET, "/").header("host", format!("{other}-{}.localhost", sandbox.id));
        refused(401, elsewhere.header("cookie", pass)).await;
        refused(401, named("/").header("cookie", pass).header("sec-fetch-site", "same-site").header("sec-fetch-mode", "cors")).await;

        assert_eq!(house.request(Method::DELETE, &format!("/api/v1/keys/{id}")).send().await.unwrap().status(), 204);
        refused(401, named("/").header("cookie", pass)).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_frame_of_the_board_shows_a_port_under_its_own_name(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let port = listening().await;
        let named = |method: Method, path: &str| house.bare_request(method, path).header("host", format!("{port}-{}.localhost:7070", sandbox.id));
        let framed = |method: Method, path: &str| named(method, path).header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "iframe");
        let policies = |response: &reqwest::Response| {
            let lines = response.headers().get_all("content-security-policy").iter();
            lines.map(|line| line.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for (host, frames) in [("127.0.0.1:7070", Some("http://*.localhost:7070")), ("carrel.example", Some("http://*.carrel.example")), ("192.0.2.1", None)] {
            let board = house.bare_request(Method::GET, "/app/tasks/1").header("host", host).send().await.unwrap();
            let policy = policies(&board).join(" and ");
            assert_eq!(policy.split("frame-src 'self' ").nth(1), frames, "{policy}");
            assert!(policy.starts_with("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        }

        let place = format!("/api/v1/sandboxes/{}/port_link", sandbox.id);
        let asked = house.request(Method::POST, &place).header("host", "127.0.0.1:7070");
        let (status, link) = house.ask(asked.json(&serde_json::json!({"port": port, "frame": true}))).await;
        assert_eq!(status.as_u16(), 201, "{link}");
        let path = link["url"].as_str().unwrap().strip_prefix(&format!("http://{port}-{}.localhost:7070", sandbox.id)).unwrap();
        let threshold = framed(Method::GET, path).send().await.unwrap();
        assert_eq!((threshold.status().as_u16(), threshold.headers().get("location")), (200, None));
        let policy = policies(&threshold).join(" and ");
        assert!(policy.contains("frame-ancestors 'self' http://127.0.0.1:7070 https://127.0.0.1:7070"), "{policy}");
        let cookie = threshold.headers()["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.contains("HttpOnly; SameSite=None; Secure; Partitioned") && !cookie.contains("Domain"), "{cookie}");
        assert!(threshold.text().await.unwrap().contains("carrel_pass=held"), "it asks whether the cookie was kept");
        let pass = cookie.split(';').next().unwrap();

        let held = |site: &str| named(Method::GET, "/?carrel_pass=held").header("sec-fetch-site", site).header("sec-fetch-mode", "cors");
        assert_eq!(held("same-origin").send().await.unwrap().status(), 401, "a browser that kept no cookie");
        assert_eq!(held("same-origin").header("cookie", pass).send().await.unwrap().status(), 204);
        assert_eq!(held("cross-site").header("cookie", pass).send().await.unwrap().status(), 401, "nobody else finds out");

        let page = framed(Method::GET, "/").header("cookie", pass).send().await.unwrap();
        assert_eq!((page.status().as_u16(), page.headers().get("x-frame-options")), (200, None));
        assert_eq!(policies(&page), ["frame-ancestors 'self' http://127.0.0.1:7070 https://127.0.0.1:7070"]);
        let own = named(Method::GET, "/style.css").header("cookie", pass).header("sec-fetch-site", "same-origin").header("sec-fetch-mode", "no-cors");
        let own = own.send().await.unwrap();
        assert_eq!((own.status().as_u16(), policies(&own).len()), (200, 0), "what it loads is its own affair");
        refused(401, framed(Method::POST, "/").header("cookie", pass)).await;
        refused(401, named(Method::GET, "/").header("cookie", pass).header("sec-fetch-site", "cross-site").header("sec-fetch-mode", "cors")).await;
        // What opens our port opens nothing of ours.
        refused(401, house.bare_request(Method::GET, "/api/v1/me").header("cookie", pass)).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_host_name_says_where_a_request_goes(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let port = listening().await;
        let host = format!("{port}-{}.sandboxes.example", sandbox.id);
        let response = house.request(Method::GET, "/api/v1/me").header("host", &host).send().await.unwrap();
        assert!(!response.headers().contains_key("content-security-policy"), "it has an origin of its own");
        assert!(response.text().await.unwrap().starts_with(&format!("GET /api/v1/me host=localhost:{port}")), "not our own route");
        refused(401, house.bare_request(Method::GET, "/").header("host", &host)).await;
        let ours = house.request(Method::GET, "/api/v1/me").header("host", "sandboxes.example").send().await.unwrap();
        assert_eq!(ours.status(), 200);
        house.close().await;
        database.drop().await;
    }

    async fn a_tunnel_carries_bytes_that_are_not_http(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // It speaks first, as ssh does, and answers each word backwards.
        tokio::spawn(async move {
            while let Ok((mut caller, _)) = listener.accept().await {
                tokio::spawn(async move {
                    caller.write_all(b"\0hello\xff").await.unwrap();
                    let mut word = [0; 4];
                    while caller.read_exact(&mut word).await.is_ok() {
                        word.reverse();
                        caller.write_all(&word).await.unwrap();
                    }
                });
            }
        });
        let path = |port: u16| format!("/api/v1/sandboxes/{}/tunnel?port={port}", sandbox.id);
        refused(426, house.request(Method::GET, &path(port))).await;
        refused(422, house.request(Method::GET, &path(0))).await;
        let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        refused(502, house.request(Method::GET, &path(nobody))).await;
        refused(401, house.bare_request(Method::GET, &path(port))).await;
        let asked = house.request(Method::GET, &path(port)).header("connection", "Upgrade").header("upgrade", "carrel-tunnel");
        let response = asked.send().await.unwrap();
        assert_eq!((response.status().as_u16(), &response.headers()["upgrade"]), (101, &"carrel-tunnel".parse().unwrap()));
        let mut line = response.upgrade().await.unwrap();
        let mut greeting = [0; 7];
        line.read_exact(&mut greeting).await.unwrap();
        assert_eq!(&greeting, b"\0hello\xff");
        for word in [b"abcd", b"\0\x01\x02\xff"] {
            line.write_all(word).await.unwrap();
            let mut heard = [0; 4];
            line.read_exact(&mut heard).await.unwrap();
            heard.reverse();
            assert_eq!(&heard, word);
        }
        drop(line);
        house.close().await;
        database.drop().await;
    }

    async fn a_websocket_goes_all_the_way(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let port = listening().await;
        let path = format!("/api/v1/sandboxes/{}/ports/{port}/socket", sandbox.id);
        let request = house
            .request(Method::GET, &path)
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 101);
        let line = response.upgrade().await.unwrap();
        let mut socket = WebSocketStream::from_raw_socket(line, tungstenite::protocol::Role::Client, None).await;
        for text in ["one", "two"] {
            socket.send(tungstenite::Message::text(text)).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap().into_text().unwrap(), format!("echo {text}"));
        }
        drop(socket);
        house.close().await;
        database.drop().await;
    }
}
