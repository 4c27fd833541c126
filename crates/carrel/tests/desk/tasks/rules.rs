//! What may not be done at a desk: refused in words, written on the timeline with what would allow it, and gone when that
//! is done.

use carrel_model::public::SandboxView;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::COMMITS;
use crate::yard::Yard;

impl Yard {
    async fn execute(&self, desk: &str, body: Value) -> (StatusCode, Value) {
        let path = format!("/api/v1/sandboxes/{desk}/execute");
        self.house.ask(self.house.request(Method::POST, &path).json(&body)).await
    }

    /// Calls a tool of `/mcp` as whoever works at a desk does: from inside.
    pub(super) async fn tool_inside(&self, desk: &SandboxView, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let script = format!(
            "post() {{ curl -sS -D /tmp/head -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
             $session -d \"$1\" http://127.0.0.1:49980/mcp; }}
             post '{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"x\",\"version\":\"1\"}}}}}}' >/tmp/hello
             session=\"-H mcp-session-id:$(sed -n 's/^mcp-session-id: *//Ip' /tmp/head | tr -d '\\r')\"
             post '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}' >/dev/null
             post '{body}' | sed -n 's/^data: *//p' | grep jsonrpc"
        );
        serde_json::from_str(&self.sh(desk, &script).await).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_a_desk_may_talk_to_is_said_by_its_repository_and_its_agent_unless_the_card_says() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let change = async |path: &str, network: Value| {
        let request = yard.house.request(reqwest::Method::PATCH, path).json(&json!({"network": network}));
        yard.house.ask(request).await
    };
    let (repo, agent) = ("/api/v1/repos/hello", "/api/v1/agents/scribe");
    let headers = json!({"one.example": {"x-key": "Bearer ${e2b.secrets.one}"}});
    let rule = json!({"mode": "allow", "allow": ["one.example"], "headers": headers});
    let (status, changed) = change(repo, rule.clone()).await;
    assert_eq!((status, &changed["network"]), (StatusCode::OK, &rule), "{changed}");
    let (status, changed) = change(agent, json!({"mode": "allow", "allow": ["two.example"]})).await;
    assert_eq!((status, &changed["network"]["allow"]), (StatusCode::OK, &json!(["two.example"])), "{changed}");
    // A rule is shown: it writes down nothing that is secret.
    for secret in [
        json!({"mode": "allow", "allow": ["one.example"], "headers": {"one.example": {"x-key": "hunter2"}}}),
        json!({"mode": "open", "proxy": {"address": "proxy.example:1080", "username": "a", "password": "hunter2"}}),
    ] {
        for path in [repo, agent] {
            let (status, problem) = change(path, secret.clone()).await;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{problem}");
            assert!(!problem.to_string().contains("hunter2"), "{problem}");
        }
    }
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    assert_eq!(task["network"]["allow"], json!(["one.example", "two.example"]), "{task:#}");
    let desk = yard.look(&format!("/api/v1/sandboxes/{}", task["sandbox_id"].as_str().unwrap())).await;
    assert_eq!((&desk["network"]["mode"], &desk["network"]["allow"]), (&json!("allow"), &task["network"]["allow"]));
    assert_eq!(desk["network"]["headers"], headers, "{desk:#}");
    let closed = json!({"repo": "hello", "agent": "scribe", "title": "Alone", "network": {"mode": "none"}});
    let closed = yard.post("/api/v1/tasks", closed).await;
    assert_eq!((&closed["network"]["mode"], &closed["network"]["allow"]), (&json!("none"), &json!([])), "{closed:#}");
    let session = yard.post("/api/v1/sessions", json!({"agent": "scribe"})).await;
    let desk = yard.look(&format!("/api/v1/sandboxes/{}", session["sandbox_id"].as_str().unwrap())).await;
    assert_eq!(desk["network"]["allow"], json!(["two.example"]), "{desk:#}");
    let (_, changed) = change(repo, json!({"mode": "none"})).await;
    assert_eq!(changed["network"], Value::Null, "{changed}");
    yard.house
        .ask(
            yard.house
                .request(reqwest::Method::DELETE, &format!("/api/v1/sessions/{}", session["id"].as_str().unwrap())),
        )
        .await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_the_repository_does_not_allow_is_refused_and_told() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({"commands": {"allow": ["git", "cat **", "sh"], "deny": ["git ** push **"]}})).await;
    yard.agent("scribe", &format!("{COMMITS}; git push -q origin HEAD")).await;
    // What an agent does inside is its own affair: it pushes.
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let desk = task["sandbox_id"].as_str().unwrap().to_owned();
    for good in [
        json!({"command": "cd /workspace 2>/dev/null; git status"}),
        json!({"argv": ["git", "log"], "cwd": "/workspace"}),
    ] {
        let (status, ran) = yard.execute(&desk, good.clone()).await;
        let is_cd = good["command"].is_string();
        assert_eq!(status, if is_cd { StatusCode::FORBIDDEN } else { StatusCode::OK }, "{ran}");
    }
    for bad in [
        json!({"command": "git push origin HEAD", "cwd": "/workspace"}),
        json!({"argv": ["git", "-C", "/workspace", "push"]}),
        json!({"argv": ["sh", "-c", "cat x && git push"]}),
        json!({"argv": ["make", "test"]}),
        json!({"command": "$EDITOR x"}),
    ] {
        let (status, problem) = yard.execute(&desk, bad.clone()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{bad}: {problem}");
        assert!(problem["hint"].is_string(), "{problem}");
    }
    // The same refusal twice is told once.
    yard.execute(&desk, json!({"argv": ["make", "test"]})).await;
    let notes = yard.said(&task, "note", "house").await;
    let about = |text: &str| notes.iter().filter(|note| note.contains(text)).count();
    assert_eq!(
        about("Refused: `make test` may not be run: it is not on the list (rules of the repo `hello`)"),
        1,
        "{notes:#?}"
    );
    let way = "`carrel repo set hello --allow-command 'git' --allow-command 'cat **' --allow-command 'sh' --allow-command 'make test'` would allow it.";
    assert_eq!(about(way), 1, "{notes:#?}");
    assert_eq!(about("`git ** push **` is forbidden"), 3, "{notes:#?}");
    let audit = yard.look("/api/v1/audit?action=sandbox.exec&outcome=denied").await;
    assert!(
        audit["items"][0]["detail"].as_str().unwrap().contains("may not be run")
            || audit["items"][0]["detail"].as_str().unwrap().contains("cannot be seen"),
        "{audit}"
    );
    // Terminals are commands too.
    let path = format!("/api/v1/sandboxes/{desk}/terminal");
    let (status, _) = yard.house.ask(yard.house.request(Method::GET, &path)).await;
    assert!(status.is_client_error(), "{status}");

    let change = json!({"commands": {"allow": [], "deny": []}});
    let (status, repo) = yard.house.ask(yard.house.request(Method::PATCH, "/api/v1/repos/hello").json(&change)).await;
    assert_eq!((status, &repo["commands"]), (StatusCode::OK, &Value::Null), "{repo}");
    assert_eq!(yard.execute(&desk, json!({"argv": ["true"]})).await.0, StatusCode::OK);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_has_rules_of_its_own_and_tools_keep_to_them() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    yard.agent("scribe", COMMITS).await;
    let change = json!({"commands": {"deny": ["rm **"]}});
    let (status, agent) =
        yard.house.ask(yard.house.request(Method::PATCH, "/api/v1/agents/scribe").json(&change)).await;
    assert_eq!((status, &agent["commands"]["deny"]), (StatusCode::OK, &json!(["rm **"])), "{agent}");
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let (status, problem) = yard.execute(desk, json!({"argv": ["/bin/rm", "-rf", "x"]})).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{problem}");
    assert_eq!(problem["hint"], "`carrel agent set scribe --deny-command ''` would lift that.");
    for wrong in [json!({"commands": {"deny": [""]}}), json!({"commands": {"forbid": []}}), json!({"command": "x"})] {
        let request = yard.house.request(Method::PATCH, "/api/v1/agents/scribe").json(&wrong);
        assert!(yard.house.ask(request).await.0.is_client_error(), "{wrong}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_says_which_tools_are_for_whom() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    yard.agent("scribe", COMMITS).await;
    let task = yard.task("hello", "scribe", "Write down a wish", "in_review").await;
    let desk: SandboxView =
        serde_json::from_value(yard.look(&format!("/api/v1/sandboxes/{}", task["sandbox_id"].as_str().unwrap())).await)
            .unwrap();
    let names = async || {
        let listed = yard.tool_inside(&desk, "tools/list", json!({})).await;
        let names =
            listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert!(names().await.contains(&"task_ask".to_owned()));

    // The house takes one away from whoever sits at a desk; the repository, another from this agent.
    std::fs::write(yard.house.folder().join("tools.yaml"), "roles:\n  sandbox:\n    deny: [task_ask]\n").unwrap();
    std::fs::create_dir(upstream.join(".carrel")).unwrap();
    std::fs::write(upstream.join(".carrel/tools.yaml"), "agents:\n  scribe: { allow: [task_*, files_read] }\n")
        .unwrap();
    crate::yard::commit(&upstream, "chore: say which tools are for whom").await;
    yard.sync("hello").await;
    let left = names().await;
    assert!(left.contains(&"task_show".to_owned()) && left.contains(&"files_read".to_owned()), "{left:?}");
    assert!(left.iter().all(|name| name.starts_with("task_") || name == "files_read"), "{left:?}");
    assert!(!left.contains(&"task_ask".to_owned()), "{left:?}");
    let refused =
        yard.tool_inside(&desk, "tools/call", json!({"name": "task_ask", "arguments": {"question": "May I?"}})).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let notes = yard.said(&task, "note", "house").await;
    assert!(notes.iter().any(|note| note.contains("the tool `task_ask` is not for you")), "{notes:?}");

    // What nobody understands closes everything, and says so.
    std::fs::write(yard.house.folder().join("tools.yaml"), "roles: [").unwrap();
    assert_eq!(names().await, Vec::<String>::new());
    let refused = yard.tool_inside(&desk, "tools/call", json!({"name": "task_show", "arguments": {}})).await;
    assert!(refused.to_string().contains("cannot be understood"), "{refused}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_on_the_list_is_told_with_what_would_allow_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    let curl = "curl -sS -m 20 -x http://127.0.0.1:49980";
    let calls = format!("{curl} http://example.org/; {curl} http://example.org/; {curl} http://example.org:8080/");
    yard.agent("scribe", &format!("{calls}; {COMMITS}")).await;
    let body = json!({"repo": "hello", "agent": "scribe", "title": "Look outside", "start": true,
        "network": {"mode": "allow", "allow": ["example.net"]}});
    let task = yard.post("/api/v1/tasks?wait=in_review&timeout=300", body).await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let way = format!("`carrel sandbox network {desk} --allow example.org` would allow it.");
    let refused = loop {
        let seen = yard.look(&format!("/api/v1/sandboxes/{desk}/refused")).await;
        let times: u64 = seen["items"].as_array().unwrap().iter().map(|it| it["times"].as_u64().unwrap()).sum();
        let notes = yard.said(&task, "note", "house").await;
        if times == 3 && notes.iter().any(|note| note.contains(&way)) {
            assert_eq!(notes.iter().filter(|note| note.contains("example.org")).count(), 1, "once: {notes:#?}");
            break seen;
        }
    };
    let ports: Vec<_> = refused["items"].as_array().unwrap().iter().map(|it| (&it["port"], &it["times"])).collect();
    assert_eq!(ports, [(&json!(8080), &json!(1)), (&json!(80), &json!(2))], "the newest first: {refused}");
    let why = refused["items"][1]["why"].as_str().unwrap();
    assert!(why.contains("example.org:80 is not on the list"), "{refused}");
    let audit = yard.look("/api/v1/audit?action=sandbox.network&outcome=denied").await;
    let denied = audit["items"].as_array().unwrap();
    assert!(denied.len() == 1 && denied[0]["detail"].as_str().unwrap().contains("example.org"), "{audit}");
    let log = yard.look(&format!("/api/v1/sandboxes/{desk}/logs")).await;
    let told = |line: &Value| line["text"].as_str().unwrap().contains("example.org:80 is not on the list");
    assert_eq!(log["items"].as_array().unwrap().iter().filter(|line| told(line)).count(), 1, "once: {log}");
    let path = format!("/api/v1/sandboxes/{desk}/hosts");
    let allowed = yard.post(&path, json!({"allow": ["example.org", "example.net"]})).await;
    assert_eq!(allowed["network"]["allow"], json!(["example.net", "example.org"]), "{allowed}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_tried_without_a_network_is_told_with_what_would_allow_it() {
    let yard = Yard::open().await;
    yard.hosted("hello", json!({})).await;
    // An ordinary program, which is told of no proxy.
    yard.agent("scribe", &format!("curl -sS -m 20 http://example.org/; {COMMITS}")).await;
    let body = json!({"repo": "hello", "agent": "scribe", "title": "Look outside", "start": true});
    let task = yard.post("/api/v1/tasks?wait=in_review&timeout=300", body).await;
    let desk = task["sandbox_id"].as_str().unwrap();
    let way = format!("`carrel sandbox network {desk} --allow example.org` would allow it.");
    while !yard.said(&task, "note", "house").await.iter().any(|note| note.contains(&way)) {}
    let refused = yard.look(&format!("/api/v1/sandboxes/{desk}/refused")).await;
    assert_eq!((&refused["items"][0]["host"], &refused["items"][0]["times"]), (&json!("example.org"), &json!(1)));
    assert!(refused["items"][0]["why"].as_str().unwrap().contains("this sandbox has no network"), "{refused}");
    let audit = yard.look("/api/v1/audit?action=sandbox.network&outcome=denied").await;
    assert!(audit["items"][0]["detail"].as_str().unwrap().contains("example.org"), "{audit}");
    yard.close().await;
}
