//! Git through the gateway of a sandbox, as whoever works there uses it: with nothing to show.

use serde_json::json;

use crate::yard::{Yard, git};

const HOUSE: &str = "http://127.0.0.1:49980";

#[tokio::test(flavor = "multi_thread")]
async fn git_inside_clones_fetches_and_pushes_its_own_branch_without_a_secret() {
    let yard = Yard::open().await;
    let upstream = yard.repo("hello").await;
    let sandbox = yard.sandbox(json!({"repo": "hello", "task_id": 7})).await;

    yard.sh(&sandbox, &format!("git clone -q {HOUSE}/git/hello.git work 2>&1")).await;
    assert_eq!(yard.sh(&sandbox, "whoami; cd work; git log --format=%s").await, "user\ndocs: notes\nfeat: begin");
    let script = "cd work; git config user.name Ada; git config user.email ada@example.org
        git switch -qc task-7; echo two >two.txt; git add -A; git commit -qm 'feat: two'
        git push -q origin HEAD 2>&1; git rev-parse HEAD";
    let head = yard.sh(&sandbox, script).await;
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, head);

    // What the upstream gets meanwhile comes by a fetch.
    std::fs::write(upstream.join("more.txt"), "more\n").unwrap();
    let newer = crate::yard::commit(&upstream, "feat: more").await;
    yard.sync("hello").await;
    assert_eq!(yard.sh(&sandbox, "cd work; git fetch -q; git rev-parse origin/main").await, newer);

    // A body that is compressed, and one that is large: both go through as they come.
    let large = "cd work; head -c 6000000 /dev/urandom >large.bin; git add -A; git commit -qm 'feat: large'
        git push -q 2>&1 origin HEAD; git rev-parse HEAD";
    let head = yard.sh(&sandbox, large).await;
    assert_eq!(git(Some(&yard.mirror("hello")), &["rev-parse", "task-7"]).await, head);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sandbox_may_not_do_is_refused_in_words() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    yard.repo("secret").await;
    let sandbox = yard.sandbox(json!({"repo": "hello", "task_id": 7})).await;
    let other = yard.sandbox(json!({"repo": "hello", "task_id": 8})).await;
    let idle = yard.sandbox(json!({})).await;
    let clone = format!(
        "git clone -q {HOUSE}/git/hello.git work 2>&1; cd work
        git config user.name Ada; git config user.email ada@example.org; git commit -q --allow-empty -m 'feat: x'"
    );
    yard.sh(&sandbox, &clone).await;

    for (push, said) in [
        ("HEAD:refs/heads/task-8", "may push only to its branch `task-7`"),
        ("HEAD:refs/heads/main", "may push only to its branch `task-7`"),
        ("HEAD:refs/carrel/wip/8", "may push only to its branch `task-7`"),
    ] {
        let refused = yard.fails(&sandbox, &format!("cd work; git push origin {push}")).await;
        assert!(refused.lines().any(|line| line.starts_with("remote:") && line.contains(said)), "{refused}");
    }
    let refused = yard.fails(&sandbox, "cd work; git push origin HEAD:task-7; git push origin :task-7").await;
    assert!(refused.contains("remote: The house tidies `task-7` up itself."), "{refused}");

    // Another repository, a sandbox without any, and what a key that is shown would change: nothing.
    let refused = yard.fails(&sandbox, &format!("git ls-remote {HOUSE}/git/secret.git")).await;
    assert!(refused.contains("remote: ") && refused.contains("may not"), "{refused}");
    let refused = yard.fails(&idle, &format!("git ls-remote {HOUSE}/git/hello.git")).await;
    assert!(refused.contains("remote: "), "{refused}");
    let with_key = format!("http://x:{}@127.0.0.1:49980/git/secret.git", yard.house.key);
    yard.fails(&sandbox, &format!("git ls-remote {with_key}")).await;

    // Nothing else of the house is behind the hatch.
    for path in ["/", "/api/v1/sandboxes", "/healthz", "/metrics", "/git/../api/v1/keys", "/gitx/hello.git/info/refs"] {
        let script = format!("curl -s -o /dev/null -w '%{{http_code}}' --path-as-is {HOUSE}{path}");
        assert_eq!(yard.sh(&sandbox, &script).await, "404", "{path}");
    }
    // A client that sends everything through a proxy reaches the same doors.
    let proxied = format!("git -c http.proxy={HOUSE} ls-remote {HOUSE}/git/hello.git refs/heads/main");
    assert!(yard.sh(&other, &proxied).await.contains("refs/heads/main"));
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_is_to_go_has_no_grant_any_more() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    let sandbox = yard.sandbox(json!({"repo": "hello", "task_id": 7})).await;
    let id = sandbox.id.clone();
    assert!(yard.house.control.gateway().grant_of(&id).await.unwrap().is_some());
    yard.remove(&sandbox).await;
    assert_eq!(yard.house.control.gateway().grant_of(&id).await.unwrap(), None);
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_outside_comes_to_the_gateway_by_its_port() {
    let yard = Yard::open().await;
    yard.repo("hello").await;
    // As the E2B door makes them: whoever knows the name may come to a port.
    let sandbox = yard.sandbox(json!({"repo": "hello", "task_id": 7, "ports": "public"})).await;
    yard.sh(&sandbox, "cd /tmp; echo mine >mine; (python3 -m http.server 3000 >/dev/null 2>&1 &)").await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |port: u16, path: &str, by_name: bool| {
        let url = &yard.house.url;
        let request = match by_name {
            true => {
                let place = url.rsplit(':').next().unwrap();
                let named = http.get(format!("{url}{path}"));
                named.header("host", format!("{port}-{}.localhost:{place}", sandbox.id))
            }
            false => yard
                .house
                .request(reqwest::Method::GET, &format!("/api/v1/sandboxes/{}/ports/{port}{path}", sandbox.id)),
        };
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    for by_name in [false, true] {
        // It takes a moment to listen.
        while ask(3000, "/mine", by_name).await != (200, "mine\n".into()) {}
        for path in ["/git/hello.git/info/refs?service=git-upload-pack", "/mcp", "/llm/openai/v1/models", "/"] {
            let (status, text) = ask(49980, path, by_name).await;
            assert_eq!(status, 502, "{path}: {text}");
            assert!(!text.contains("refs/heads"), "{text}");
        }
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_not_let_through_to_is_in_the_log_of_the_sandbox() {
    let yard = Yard::open().await;
    let sandbox = yard.sandbox(json!({"network": {"mode": "allow", "allow": ["example.net"]}})).await;
    let neighbour = yard.sandbox(json!({})).await;
    yard.sh(&sandbox, &format!("for i in 1 2 3; do curl -sS -m 60 -x {HOUSE} http://example.org:8080/; done")).await;
    let blocked = |log: &serde_json::Value| {
        let lines = log["items"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap());
        lines.filter(|line| line.contains("example.org:8080 is not on the list")).count()
    };
    let log = |id: String| {
        let house = &yard.house;
        async move { house.ask(house.request(reqwest::Method::GET, &format!("/api/v1/sandboxes/{id}/logs"))).await.1 }
    };
    // The house is told beside what the guest is told.
    while blocked(&log(sandbox.id.to_string()).await) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(blocked(&log(sandbox.id.to_string()).await), 1, "a host is told of once");
    assert_eq!(blocked(&log(neighbour.id.to_string()).await), 0);
    yard.close().await;
}
