//! What bad input gets: the right status, a sentence that names the field and what is allowed, and nothing changed.

use carrel_testkit::{House, on_both_databases};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use reqwest::{Method, RequestBuilder, header};
use serde_json::{Value, json};

use crate::{assert_problem, refused, send_raw, traces};

const LARGEST_BODY: usize = 1024 * 1024;

/// Sends each request and asserts that it is refused about this field, in a sentence with these words.
async fn refuse_each(house: &House, cases: Vec<(RequestBuilder, &str, &str)>) {
    let before = traces(house).await;
    for (request, field, words) in cases {
        let about = format!("{request:?}");
        let problem = refused(422, request).await;
        assert_eq!(problem["type"], "/problems/invalid");
        let errors = problem["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{about}: {problem}");
        assert_eq!(errors[0]["field"], field, "{about}: {problem}");
        assert!(errors[0]["detail"].as_str().unwrap().contains(words), "{about}: {words} is not in {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("`{field}`")), "{about}: {problem}");
        assert!(problem.to_string().len() < 3000, "{about}: a refusal does not throw everything back");
        assert!(!problem.to_string().contains("struct "), "{about}: a name from our code is in {problem}");
    }
    assert_eq!(traces(house).await, before);
}

fn post(house: &House, path: &str, body: &str) -> RequestBuilder {
    house.request(Method::POST, path).header(header::CONTENT_TYPE, "application/json").body(body.to_owned())
}

on_both_databases! {
    async fn every_field_of_a_sandbox_is_refused_by_name_with_what_is_allowed(database: TestDatabase) {
        let house = House::open(&database).await;
        let long = "x".repeat(100_000);
        let many = |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!("v"))).collect::<serde_json::Map<_, _>>().into() };
        let lifetime = "a whole number from 1 to 2592000";
        let task = "a whole number from 1 to 9223372036854775807";
        let cases = [
            (json!({"template": "UPPER"}), "template", "a template name is 1 to 127"),
            (json!({"template": "../etc"}), "template", "a template name is"),
            (json!({"template": long}), "template", "a template name is"),
            (json!({"template": "a\0b"}), "template", "a template name is"),
            (json!({"template": "nope"}), "template", "`host`, `base`"),
            (json!({"template": 5}), "template", "expected a string"),
            (json!({"provider": "nope"}), "provider", "`fake`"),
            (json!({"provider": "-rf"}), "provider", "a provider name is"),
            (json!({"isolation": "strong"}), "isolation", "`none`, `namespace`, `gvisor`, `microvm`, `e2b`"),
            (json!({"isolation": "microvm"}), "isolation", "`none`"),
            (json!({"agent_id": "Scout!"}), "agent_id", "an agent id is"),
            (json!({"task_id": 0}), "task_id", task),
            (json!({"task_id": -1}), "task_id", task),
            (json!({"task_id": 1u64 << 63}), "task_id", task),
            (json!({"task_id": 1.5}), "task_id", task),
            (json!({"task_id": "one"}), "task_id", task),
            (json!({"env": {"1X": "a"}}), "env.1X", "the name of an environment variable is"),
            (json!({"env": {"A\0B": "a"}}), "env.A\0B", "the name of an environment variable is"),
            (json!({"env": {"X": "a\0b"}}), "env.X", "holds no NUL"),
            (json!({"env": {"X": long}}), "env.X", "at most 32768 bytes"),
            (json!({"env": {"X": 5}}), "env.X", "expected a string"),
            (json!({"env": []}), "env", "expected a map"),
            (json!({"env": many(257)}), "env", "at most 256"),
            (json!({"metadata": {"": "x"}}), "metadata", "keys of 1 to 128 bytes"),
            (json!({"metadata": {"k": "a\0b"}}), "metadata", "no NUL"),
            (json!({"metadata": {"k": long}}), "metadata", "at most 4096 bytes"),
            (json!({"metadata": many(65)}), "metadata", "at most 64 entries"),
            (json!({"metadata": {"k": {}}}), "metadata.k", "expected a string"),
            (json!({"timeout_s": 0}), "timeout_s", lifetime),
            (json!({"timeout_s": -1}), "timeout_s", lifetime),
            (json!({"timeout_s": 2_592_001}), "timeout_s", lifetime),
            (json!({"timeout_s": 1u64 << 63}), "timeout_s", lifetime),
            (json!({"timeout_s": 1e308}), "timeout_s", lifetime),
            (json!({"timeout_s": 1.5}), "timeout_s", lifetime),
            (json!({"timeout_s": "soon"}), "timeout_s", lifetime),
            (json!({"timeout_s": true}), "timeout_s", lifetime),
            (json!({"auto_pause": "yes"}), "auto_pause", "expected a boolean"),
            (json!({"limits": {"cpus": 0}}), "limits.cpus", "a number from 0.1 to 64"),
            (json!({"limits": {"cpus": -1}}), "limits.cpus", "a number from 0.1 to 64"),
            (json!({"limits": {"cpus": 1e308}}), "limits.cpus", "a number from 0.1 to 64"),
            (json!({"limits": {"cpus": "two"}}), "limits.cpus", "a number from 0.1 to 64"),
            (json!({"limits": {"memory_mb": 15}}), "limits.memory_mb", "a whole number from 16 to 1048576"),
            (json!({"limits": {"disk_mb": 1u64 << 63}}), "limits.disk_mb", "a whole number from 16 to 16777216"),
            (json!({"limits": {"pids": 1}}), "limits.pids", "a whole number from 8 to 1048576"),
            (json!({"limits": {"cpu": 1}}), "limits.cpu", "`cpus`, `memory_mb`, `disk_mb`, `pids`"),
            (json!({"limits": 5}), "limits", "an object"),
            (json!({"limits": [2]}), "limits", "an object"),
            (json!({"network": {"mode": "wide"}}), "network.mode", "`none`, `allow`, `open`"),
            (json!({"network": {}}), "network.mode", "missing"),
            (json!({"network": ["open"]}), "network", "an object"),
            (json!({"network": {"mode": "open", "allow": ["example.org"]}}), "network.allow", "the mode `allow`"),
            (json!({"network": {"mode": "allow", "interface": true}}), "network.interface", "the mode `open`"),
            (json!({"network": {"mode": "open", "interface": true}}), "network.interface", "gives no sandbox"),
            (json!({"network": {"mode": "allow", "allow": ["http://x"]}}), "network.allow[0]", "an allowed host is"),
            (json!({"network": {"mode": "allow", "allow": vec!["x.org"; 257]}}), "network.allow", "at most 256 hosts"),
            (json!({"tempalte": "host"}), "tempalte", "`template`"),
            (json!({"timeout_s": long}), "timeout_s", lifetime),
            (json!([]), "body", "a JSON object"),
            (json!(["host"]), "body", "a JSON object"),
            (json!(null), "body", "a JSON object"),
            (json!("host"), "body", "a JSON object"),
            (json!(1e308), "body", "a JSON object"),
        ];
        refuse_each(&house, cases.map(|(body, field, words)| (post(&house, "/api/v1/sandboxes", &body.to_string()), field, words)).into()).await;

        let deep = format!(r#"{{"metadata": {{"k": {}{} }} }}"#, "[".repeat(60), "]".repeat(60));
        let odd = [
            (r#"{"template": "host", "template": "base"}"#, "template", "duplicate"),
            (r#"{"limits": {"cpus": 1, "cpus": 2}}"#, "limits.cpus", "duplicate"),
            (&*deep, "metadata.k", "expected a string"),
        ];
        let problem = refused(422, post(&house, "/api/v1/sandboxes", &json!({long: 1}).to_string())).await;
        assert!(problem.to_string().len() < 3000, "a refusal does not throw everything back");
        refuse_each(&house, odd.map(|(body, field, words)| (post(&house, "/api/v1/sandboxes", body), field, words)).into()).await;
        house.close().await;
        database.drop().await;
    }

    async fn every_field_of_the_other_bodies_is_refused_by_name_with_what_is_allowed(database: TestDatabase) {
        let house = House::open(&database).await;
        let sandbox = house.ready_sandbox().await;
        let timeout = format!("/api/v1/sandboxes/{}/timeout", sandbox.id);
        let lifetime = "a whole number from 1 to 2592000";
        let key = |more: Value| {
            let mut body = json!({"name": "x", "role": "member"});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            ("/api/v1/keys", body)
        };
        let cases = [
            ((&*timeout, json!({})), "timeout_s", "missing"),
            ((&*timeout, json!({"timeout_s": 0})), "timeout_s", lifetime),
            ((&*timeout, json!({"timeout_s": null})), "timeout_s", lifetime),
            ((&*timeout, json!({"timeout": 60})), "timeout", "`timeout_s`"),
            (("/api/v1/keys", json!({"role": "member"})), "name", "missing"),
            (("/api/v1/keys", json!({"name": "x"})), "role", "missing"),
            (key(json!({"name": ""})), "name", "1 to 64 printable characters"),
            (key(json!({"name": " \t "})), "name", "1 to 64 printable characters"),
            (key(json!({"name": "a\0b"})), "name", "1 to 64 printable characters"),
            (key(json!({"name": "é".repeat(65)})), "name", "1 to 64 printable characters"),
            (key(json!({"role": "king"})), "role", "`admin`, `member`, `agent`, `sandbox`"),
            (key(json!({"role": "agent"})), "role", "agent_id"),
            (key(json!({"role": "sandbox"})), "role", "sandbox_id"),
            (key(json!({"agent_id": "scout"})), "role", "agent_id"),
            (key(json!({"role": "agent", "agent_id": "A"})), "agent_id", "an agent id is"),
            (key(json!({"role": "sandbox", "sandbox_id": "x"})), "sandbox_id", "a sandbox id is"),
            (key(json!({"expires_in_s": 0})), "expires_in_s", lifetime),
            (key(json!({"admin": true})), "admin", "`name`, `role`, `agent_id`, `sandbox_id`, `expires_in_s`"),
            (("/api/v1/keys", json!(["x", "admin"])), "body", "a JSON object"),
            (("/api/v1/sign-in", json!({"password": "x"})), "password", "`code` or `key`"),
            (("/api/v1/sign-in", json!({"code": 5})), "code", "a string"),
            (("/api/v1/sign-in", json!({})), "body", "either a `code` or a `key`"),
            (("/api/v1/sign-in", json!({"code": "x", "key": "y"})), "body", "either a `code` or a `key`"),
        ];
        refuse_each(&house, cases.map(|((path, body), field, words)| (post(&house, path, &body.to_string()), field, words)).into()).await;
        house.close().await;
        database.drop().await;
    }

    async fn every_parameter_is_refused_by_name_with_what_is_allowed(database: TestDatabase) {
        let house = House::open(&database).await;
        let (limit, cursor) = ("a whole number from 1 to 1000", "the `next` of an earlier page");
        let after = "a whole number from 0 to 9223372036854775807";
        let task = "a whole number from 1 to 9223372036854775807";
        let wait = "a whole number from 1 to 600";
        let get = |path: &str| house.request(Method::GET, &format!("/api/v1/{path}"));
        let create = |query: &str| post(&house, &format!("/api/v1/sandboxes?{query}"), "{}");
        let once = |key: &[u8]| {
            let key = header::HeaderValue::from_bytes(key).unwrap();
            post(&house, "/api/v1/sandboxes", "{}").header("idempotency-key", key)
        };
        let cases = [
            (get("sandboxes?limit=0"), "limit", limit),
            (get("sandboxes?limit=1001"), "limit", limit),
            (get("sandboxes?limit=-1"), "limit", limit),
            (get("sandboxes?limit=many"), "limit", limit),
            (get("sandboxes?limit=1e308"), "limit", limit),
            (get("sandboxes?limit="), "limit", limit),
            (get("sandboxes?limit=1&limit=2"), "limit", "duplicate"),
            (get("sandboxes?cursor=x"), "cursor", cursor),
            (get("sandboxes?cursor=99999999999999999999.i0000000000000000000"), "cursor", cursor),
            (get("sandboxes?phase=asleep"), "phase", "`requested`, `preparing`, `ready`, `paused`, `closing`, `gone`, `failed`"),
            (get("sandboxes?task_id=0"), "task_id", task),
            (get("sandboxes?task_id=x"), "task_id", task),
            (get("sandboxes?agent_id=%00"), "agent_id", "an agent id is"),
            (get("sandboxes?provider=%FF"), "provider", "text in UTF-8"),
            (get("sandboxes?template=A"), "template", "a template name is"),
            (get("sandboxes?colour=red"), "colour", "`phase`"),
            (get("keys?limit=0"), "limit", limit),
            (get("keys?limit=x"), "limit", limit),
            (get("keys?cursor=0"), "cursor", cursor),
            (get("audit?limit=0"), "limit", limit),
            (get("audit?cursor=x"), "cursor", cursor),
            (get("audit?actor=me"), "actor", "a key id is"),
            (get("audit?outcome=maybe"), "outcome", "`done` or `denied`"),
            (get("audit?action=a%00b"), "action", "NUL"),
            (get("audit?subject=%00"), "subject", "NUL"),
            (get("events?after=-1"), "after", after),
            (get("events?after=now"), "after", after),
            (get("events?after=1e308"), "after", after),
            (get("events?kind=fish"), "kind", "`sandbox`, `key`, `provider`"),
            (get("events?kind="), "kind", "`sandbox`, `key`, `provider`"),
            (get("events?sandbox_id=x"), "sandbox_id", "a sandbox id is"),
            (get("events").header("last-event-id", "x"), "Last-Event-ID", "`id` of an event"),
            (get("events").header("last-event-id", "-1"), "Last-Event-ID", "`id` of an event"),
            (create("wait=awake"), "wait", "`ready`"),
            (create("wait=ready&timeout=0"), "timeout", wait),
            (create("wait=ready&timeout=601"), "timeout", wait),
            (create("wait=ready&timeout=x"), "timeout", wait),
            (create("hurry=1"), "hurry", "`wait`"),
            (once(b""), "Idempotency-Key", "1 to 255"),
            (once(&[b'x'; 256]), "Idempotency-Key", "1 to 255"),
            (once("é".as_bytes()), "Idempotency-Key", "1 to 255"),
        ];
        refuse_each(&house, cases.into()).await;
        house.close().await;
        database.drop().await;
    }

    async fn what_is_not_json_is_malformed(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        let deep = "[".repeat(100_000);
        let deep_in_an_object = format!(r#"{{"x": {}"#, "[".repeat(100_000));
        let bodies: [&[u8]; 17] = [
            b"{", b"}", b"nonsense", b" ", b"{'template': 'host'}", b"{\"template\": \"host\",}", b"{} {}", b"{}x", b"{}\0", b"\0", b"\xff\xfe",
            b"{\"template\": \"\xff\"}", br#"{"template": "\ud800"}"#, br#"{"timeout_s": 1e999}"#, br#"{"timeout_s": NaN}"#,
            deep.as_bytes(), b"[1, 2",
        ];
        for body in bodies {
            let request = post(&house, "/api/v1/sandboxes", "").body(body.to_vec());
            let problem = refused(400, request).await;
            assert_eq!(problem["type"], "/problems/malformed");
        }
        // The field is unknown before its depth is.
        let problem = refused(422, post(&house, "/api/v1/sandboxes", &deep_in_an_object)).await;
        assert_eq!(problem["errors"][0]["field"], "x");
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn a_body_of_another_content_type_is_refused(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json", ""] {
            for path in ["/api/v1/sandboxes", "/api/v1/keys", "/api/v1/sign-in"] {
                let request = house.request(Method::POST, path).header(header::CONTENT_TYPE, kind).body("{}");
                let problem = refused(415, request).await;
                assert!(problem["hint"].as_str().unwrap().contains("application/json"));
            }
        }
        refused(415, house.request(Method::POST, "/api/v1/sandboxes").body("{}")).await;
        assert_eq!(traces(&house).await, before);
        for kind in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/vnd.carrel+json"] {
            let request = house.request(Method::POST, "/api/v1/sandboxes").header(header::CONTENT_TYPE, kind).body("{}");
            assert_eq!(request.send().await.unwrap().status(), 201, "{kind}");
        }
        let nothing = house.request(Method::POST, "/api/v1/sandboxes").send().await.unwrap();
        assert_eq!(nothing.status(), 201, "a body that is left out asks for the defaults");
        house.close().await;
        database.drop().await;
    }

    async fn an_unknown_route_is_not_found_and_a_wrong_method_names_the_right_ones(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        for path in [
            "/nothing", "/api", "/api/v1", "/api/v2/sandboxes", "/api/v1/sandboxes/", "/api/v1/nothing", "/%00",
            "/app/assets/nothing.js", "/docs/nothing.js",
        ] {
            refused(404, house.request(Method::GET, path)).await;
        }
        refused(404, house.request(Method::POST, "/api/v1/sandboxes//pause")).await;
        for path in ["x", "%00", "..%2f..%2fetc", "iiiiiiiiiiiiiiiiiiii"] {
            refused(404, house.request(Method::GET, &format!("/api/v1/sandboxes/{path}"))).await;
            refused(404, house.request(Method::DELETE, &format!("/api/v1/sandboxes/{path}"))).await;
            refused(404, house.request(Method::GET, &format!("/api/v1/keys/{path}"))).await;
        }
        refused(400, house.request(Method::GET, "/api/v1/sandboxes/%FF")).await;
        for (method, path, allowed) in [
            (Method::PUT, "/api/v1/sandboxes", ["GET", "POST"]),
            (Method::POST, "/api/v1/events", ["GET", "HEAD"]),
            (Method::DELETE, "/api/v1/audit", ["GET", "HEAD"]),
            (Method::PUT, "/api/v1/keys/key_0000000000000000", ["GET", "DELETE"]),
            (Method::POST, "/healthz", ["GET", "HEAD"]),
        ] {
            let response = house.request(method.clone(), path).send().await.unwrap();
            let allow = response.headers().get("allow").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
            assert!(allowed.iter().all(|method| allow.contains(method)), "{method} {path}: {allow:?}");
            assert_problem(405, response).await;
        }
        assert_eq!(traces(&house).await, before);
        house.close().await;
        database.drop().await;
    }

    async fn a_body_that_is_too_large_is_refused_whether_it_says_so_or_not(database: TestDatabase) {
        let house = House::open(&database).await;
        let before = traces(&house).await;
        let head = |more: &str| {
            format!("POST /api/v1/sandboxes HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\nconnection: close\r\n{more}\r\n\r\n", house.key)
        };
        // It says so: refused before a byte of it was sent.
        for length in [LARGEST_BODY as u64 + 1, u64::MAX / 2] {
            let (status, answer) = send_raw(&house, head(&format!("content-length: {length}")).as_bytes()).await;
            assert_eq!(status, 413);
            assert!(answer.contains("application/problem+json") && answer.contains("/problems/too-large"), "{answer}");
        }
        // It does not.
        let size = LARGEST_BODY + 1;
        let chunked = format!("{}{size:x}\r\n{}\r\n", head("transfer-encoding: chunked"), " ".repeat(size));
        let (status, answer) = send_raw(&house, chunked.as_bytes()).await;
        assert_eq!(status, 413);
        assert!(answer.contains("application/problem+json") && answer.contains("1048576 bytes"), "{answer}");
        assert_eq!(traces(&house).await, before);

        // The largest that is allowed.
        let padded = format!("{}{{}}", " ".repeat(LARGEST_BODY - 2));
        assert_eq!(post(&house, "/api/v1/sandboxes", &padded).send().await.unwrap().status(), 201);
        house.close().await;
        database.drop().await;
    }

    async fn no_body_whatever_breaks_the_door(database: TestDatabase) {
        let house = House::open(&database).await;
        let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
        let tried = tokio::task::block_in_place(|| {
            TestRunner::new(config).run(&any_body(), |body| {
                tokio::runtime::Handle::current().block_on(async {
                    let request = post(&house, "/api/v1/sandboxes", "").body(body.clone());
                    let response = request.send().await.unwrap();
                    match response.status().as_u16() {
                        201 => {}
                        status @ (400 | 422) => drop(assert_problem(status, response).await),
                        other => panic!("{other} for {:?}", String::from_utf8_lossy(&body)),
                    }
                });
                Ok(())
            })
        });
        tried.unwrap();
        house.close().await;
        database.drop().await;
    }
}

/// Bytes, JSON, and JSON that is nearly right.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let fields = [
        "template",
        "provider",
        "isolation",
        "agent_id",
        "task_id",
        "env",
        "metadata",
        "timeout_s",
        "auto_pause",
        "limits",
        "network",
        "cpus",
        "memory_mb",
        "disk_mb",
        "pids",
        "mode",
        "allow",
    ];
    let words = ["host", "base", "fake", "none", "microvm", "allow", "open", "x.org", "", "\0", "é", "a b"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1i64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(words.to_vec()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let name = prop_oneof![4 => select(fields.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    let json = leaf.prop_recursive(4, 24, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name.clone(), inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    });
    prop_oneof![
        4 => json.prop_map(|value| value.to_string().into_bytes()),
        1 => vec(any::<u8>(), 1..64),
        1 => "[\\[\\]{}\":, a-z0-9.e+-]{1,40}".prop_map(String::into_bytes),
    ]
}
