//! A terminal in a sandbox, through the door.

use carrel_model::public::SandboxView;
use carrel_testkit::{House, on_both_databases};
use futures::{SinkExt, StreamExt};
use reqwest::{Method, RequestBuilder, Upgraded};
use serde_json::{Value, json};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

use crate::refused;

pub(crate) struct Terminal {
    pub(crate) socket: WebSocketStream<Upgraded>,
    shown: String,
    started: Value,
}

fn request(house: &House, sandbox: &SandboxView, query: &str) -> RequestBuilder {
    house
        .request(Method::GET, &format!("/api/v1/sandboxes/{}/terminal{query}", sandbox.id))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}

impl Terminal {
    pub(crate) async fn open(house: &House, sandbox: &SandboxView, query: &str) -> Terminal {
        let response = request(house, sandbox, query).send().await.unwrap();
        assert_eq!(response.status(), 101);
        let line = response.upgrade().await.unwrap();
        let socket = WebSocketStream::from_raw_socket(line, Role::Client, None).await;
        let mut terminal = Terminal { socket, shown: String::new(), started: Value::Null };
        terminal.started = terminal.told().await;
        assert_eq!(terminal.started["type"], "started");
        terminal
    }

    /// The next thing that the server says; what is shown until then is kept.
    async fn told(&mut self) -> Value {
        loop {
            match self.socket.next().await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Binary(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                _ => {}
            }
        }
    }

    pub(crate) async fn until(&mut self, text: &str) {
        while !self.shown.contains(text) {
            match self.socket.next().await.unwrap().unwrap() {
                Message::Binary(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?} came before {text:?}: {:?}", self.shown),
            }
        }
    }

    pub(crate) async fn type_in(&mut self, text: &str) {
        self.socket.send(Message::binary(text.to_owned().into_bytes())).await.unwrap();
    }
}

on_both_databases! {
    async fn a_terminal_is_a_real_one(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let mut terminal = Terminal::open(&house, &sandbox, "?cols=91&rows=17&cmd=exec%20sh").await;
        assert!(terminal.started["exec_id"].as_str().unwrap().starts_with("exec_"));
        terminal.type_in("stty size; test -t 0 && echo is-a-$TERM\n").await;
        terminal.until("17 91").await;
        terminal.until("is-a-xterm-256color").await;
        terminal.socket.send(Message::text(json!({"type": "resize", "cols": 50, "rows": 10}).to_string())).await.unwrap();
        terminal.type_in("stty size\n").await;
        terminal.until("10 50").await;
        // Ctrl-C ends what runs, not the shell.
        terminal.type_in("echo going; cat\n").await;
        terminal.until("going\r\n").await;
        terminal.type_in("\u{3}").await;
        // Only when the shell asks again: what is typed before that may be read by `cat` on its way out.
        terminal.until("^C\r\n# ").await;
        terminal.type_in("echo still $((40 + 2))\n").await;
        terminal.until("still 42").await;
        terminal.type_in("exit 5\n").await;
        let exit = terminal.told().await;
        assert_eq!((&exit["type"], &exit["code"]), (&json!("exit"), &json!(5)));
        drop(terminal);
        house.close().await;
        database.drop().await;
    }

    async fn who_went_away_sits_down_at_the_same_terminal_again(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let mut first = Terminal::open(&house, &sandbox, "?cmd=exec%20sh").await;
        first.type_in("colour=blue; echo set $((1 + 1))\n").await;
        first.until("set 2").await;
        let exec = first.started["exec_id"].as_str().unwrap().to_owned();
        drop(first);
        let mut second = Terminal::open(&house, &sandbox, &format!("?exec_id={exec}")).await;
        second.until("set 2").await;
        let mut third = Terminal::open(&house, &sandbox, &format!("?exec_id={exec}")).await;
        second.type_in("echo it is $colour; exit\n").await;
        for terminal in [&mut second, &mut third] {
            terminal.until("it is blue").await;
            assert_eq!(terminal.told().await["code"], 0);
        }
        let plain = house.execute(&sandbox, json!({"argv": ["cat"], "background": true, "keep_stdin": true})).await;
        let query = format!("?exec_id={}", plain["exec_id"].as_str().unwrap());
        refused(409, request(&house, &sandbox, &query)).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_page_of_another_site_opens_no_terminal(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let sandbox = house.ready_sandbox().await;
        let link = house.control.keys().link(&house.admin).await.unwrap();
        let signed = house.bare_request(Method::POST, "/api/v1/sign-in").json(&json!({"code": link.code})).send().await.unwrap();
        let cookie = signed.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let path = format!("/api/v1/sandboxes/{}/terminal", sandbox.id);
        let upgrade = |origin: &str| {
            house
                .bare_request(Method::GET, &path)
                .header("cookie", &cookie)
                .header("origin", origin)
                .header("connection", "Upgrade")
                .header("upgrade", "websocket")
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        };
        refused(401, upgrade("https://evil.example")).await;
        assert_eq!(upgrade(&house.url).send().await.unwrap().status(), 101);
        refused(426, house.request(Method::GET, &path)).await;
        house.close().await;
        database.drop().await;
    }
}
