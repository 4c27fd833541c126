//! Repositories and git itself, through the door: a real git client, a real house.

use std::{path::PathBuf, process::Output};

use carrel_testkit::{House, on_both_databases};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{denials, refused};

/// A person's working tree.
#[derive(Clone)]
pub(crate) struct Work {
    pub(crate) folder: PathBuf,
}

impl Work {
    pub(crate) fn new(house: &House, name: &str) -> Work {
        let work = Work { folder: house.folder().join(name) };
        std::fs::create_dir_all(&work.folder).unwrap();
        work
    }

    pub(crate) async fn try_git(&self, args: &[&str]) -> Output {
        let mut command = tokio::process::Command::new("git");
        command.current_dir(&self.folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        for (name, value) in [
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "Ada"),
            ("GIT_AUTHOR_EMAIL", "ada@example.org"),
            ("GIT_COMMITTER_NAME", "Ada"),
            ("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ] {
            command.env(name, value);
        }
        command.args(args).output().await.unwrap()
    }

    pub(crate) async fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args).await;
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(crate) async fn refused(&self, args: &[&str]) -> String {
        let output = self.try_git(args).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "git {args:?} was not refused: {said}");
        said
    }

    pub(crate) async fn commit(&self, file: &str, content: &str) -> String {
        std::fs::write(self.folder.join(file), content).unwrap();
        self.git(&["add", "--all"]).await;
        self.git(&["commit", "-q", "-m", &format!("feat: {file}")]).await;
        self.git(&["rev-parse", "HEAD"]).await
    }
}

/// An upstream on this machine with one commit.
pub(crate) async fn upstream(house: &House) -> (Work, String) {
    let work = Work::new(house, "upstream");
    work.git(&["init", "-q", "-b", "main"]).await;
    let head = work.commit("README.md", "hello\n").await;
    (work, head)
}

/// The address of a repository with a key as its password. Only a test writes one like this.
pub(crate) fn address(house: &House, secret: &str, repo: &str) -> String {
    format!("{}/git/{repo}.git", house.url.replace("http://", &format!("http://x:{secret}@")))
}

pub(crate) async fn add(house: &House, body: Value) -> Value {
    let (status, repo) = house.ask(house.request(Method::POST, "/api/v1/repos").json(&body)).await;
    assert_eq!(status.as_u16(), 201, "{repo}");
    repo
}

pub(crate) async fn sync(house: &House, name: &str) -> Value {
    let (status, repo) = house.ask(house.request(Method::POST, &format!("/api/v1/repos/{name}/sync"))).await;
    assert_eq!(status.as_u16(), 200, "{repo}");
    repo
}

on_both_databases! {
    async fn a_repo_that_lives_here_lacks_nothing(database: TestDatabase) {
        let house = House::open(&database).await;
        add(&house, json!({"name": "here", "new": true})).await;
        let (status, told) = house.ask(house.request(Method::POST, "/api/v1/repos/here/test")).await;
        assert_eq!(status.as_u16(), 200, "{told}");
        assert_eq!((&told["forge"], &told["reached"], &told["missing"]), (&json!("embedded"), &json!(true), &json!([])));
        refused(404, house.request(Method::POST, "/api/v1/repos/nowhere/test")).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_repo_is_added_fetched_changed_and_removed(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, head) = upstream(&house).await;
        let mut events = house.events("?kind=repo").await;
        let source = work.folder.to_str().unwrap();
        let added = add(&house, json!({"source": source, "name": "app", "merge": "rebase"})).await;
        assert_eq!((&added["phase"], &added["merge"]), (&json!("cloning"), &json!("rebase")));
        loop {
            let entry = serde_json::to_value(events.entry().await).unwrap();
            if entry["repo"]["phase"] == "ready" {
                assert_eq!((&entry["repo"]["head"], &entry["repo"]["default_branch"]), (&json!(head), &json!("main")));
                break;
            }
        }
        // The same one again is the same one; another of that name is not.
        add(&house, json!({"source": source, "name": "app"})).await;
        refused(409, house.request(Method::POST, "/api/v1/repos").json(&json!({"new": true, "name": "app"}))).await;

        let next = work.commit("more", "x").await;
        assert_eq!(sync(&house, "app").await["head"], json!(next));
        let change = json!({"check_command": "make test", "deny_paths": [".github/**"], "branch_format": "agents/{id}"});
        let (status, changed) = house.ask(house.request(Method::PATCH, "/api/v1/repos/app").json(&change)).await;
        assert_eq!((status.as_u16(), &changed["check_command"], &changed["merge"]), (200, &json!("make test"), &json!("rebase")));
        for bad in [
            json!({"branch_format": "no id"}), json!({"branch_format": "x..{id}"}), json!({"deny_paths": ["a["]}), json!({"forge": "svn"}),
            json!({"merge": "octopus"}), json!({"default_branch": "--evil"}), json!({"largest_file_mb": 0}), json!({"colour": "red"}),
        ] {
            refused(422, house.request(Method::PATCH, "/api/v1/repos/app").json(&bad)).await;
        }
        let (_, list) = house.ask(house.request(Method::GET, "/api/v1/repos")).await;
        assert_eq!(list["items"][0]["name"], "app");
        assert_eq!(house.request(Method::DELETE, "/api/v1/repos/app").send().await.unwrap().status(), 204);
        refused(404, house.request(Method::GET, "/api/v1/repos/app")).await;
        assert!(!house.folder().join("library/mirrors/app").exists());
        house.close().await;
        database.drop().await;
    }

    async fn what_cannot_be_a_repo_is_refused_with_a_sentence(database: TestDatabase) {
        let house = House::open(&database).await;
        for bad in [
            json!({}), json!({"new": true}), json!({"source": "ext::sh -c evil", "name": "x"}), json!({"source": "https://u:p@example.org/x"}),
            json!({"source": "http://example.org/x"}), json!({"source": "--upload-pack=evil"}), json!({"source": "/a", "new": true}),
            json!({"source": "/tmp/x\n", "name": "x"}), json!({"new": true, "name": "../up"}), json!({"new": true, "name": "a.git"}),
        ] {
            refused(422, house.request(Method::POST, "/api/v1/repos").json(&bad)).await;
        }
        // A refusal repeats no secret.
        for source in ["https://ada:hunter2@example.org/x", "https://hunter2@example.org/x", "git:hunter2@example.org:x",
            "https://example.org/x?token=hunter2"] {
            let problem = refused(422, house.request(Method::POST, "/api/v1/repos").json(&json!({"source": source}))).await;
            assert!(!problem.to_string().contains("hunter2"), "{problem}");
        }
        let nowhere = house.folder().join("nowhere");
        add(&house, json!({"source": nowhere.to_str().unwrap()})).await;
        refused(404, house.request(Method::POST, "/api/v1/repos/nowhere/sync")).await;
        let (_, repo) = house.ask(house.request(Method::GET, "/api/v1/repos/nowhere")).await;
        assert_eq!(repo["phase"], "failed");
        assert!(repo["note"].as_str().unwrap().starts_with("It could not be brought up to date"), "{repo}");
        house.close().await;
        database.drop().await;
    }

    async fn a_repo_with_lfs_or_submodules_fails_with_a_sentence_that_names_the_path(database: TestDatabase) {
        let house = House::open(&database).await;
        let lfs = Work::new(&house, "with-lfs");
        lfs.git(&["init", "-q", "-b", "main"]).await;
        lfs.commit(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n").await;
        let linked = Work::new(&house, "with-submodule");
        linked.git(&["init", "-q", "-b", "main"]).await;
        let other = lfs.folder.to_str().unwrap().to_owned();
        linked.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &other, "vendored"]).await;
        linked.commit("README", "x").await;
        for (work, said) in [(&lfs, "`.gitattributes` keeps files in Git LFS"), (&linked, "`vendored` is a submodule")] {
            let name = work.folder.file_name().unwrap().to_str().unwrap().to_owned();
            add(&house, json!({"source": work.folder.to_str().unwrap(), "name": name})).await;
            let (status, problem) = house.ask(house.request(Method::POST, &format!("/api/v1/repos/{name}/sync"))).await;
            assert!(status.is_client_error() && problem["detail"].as_str().unwrap().contains(said), "{problem}");
            let (_, repo) = house.ask(house.request(Method::GET, &format!("/api/v1/repos/{name}"))).await;
            assert_eq!(repo["phase"], "failed");
            assert!(repo["note"].as_str().unwrap().contains(said), "{repo}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn a_repo_that_gets_lfs_or_submodules_later_says_so_until_they_are_gone(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, _) = upstream(&house).await;
        add(&house, json!({"source": work.folder.to_str().unwrap(), "name": "app"})).await;
        assert_eq!(sync(&house, "app").await["note"], Value::Null);
        let other = work.folder.to_str().unwrap().to_owned();
        for said in ["`.gitattributes` keeps files in Git LFS", "`vendored` is a submodule"] {
            let before = work.git(&["rev-parse", "HEAD"]).await;
            if said.contains("submodule") {
                work.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &other, "vendored"]).await;
            }
            let content = if said.contains("LFS") { "*.bin filter=lfs diff=lfs merge=lfs -text\n" } else { "* text\n" };
            let head = work.commit(".gitattributes", content).await;
            // It is said again when nothing has moved since.
            for _ in 0..2 {
                let repo = sync(&house, "app").await;
                assert_eq!((&repo["phase"], &repo["head"]), (&json!("ready"), &json!(head)), "{repo}");
                assert!(repo["note"].as_str().is_some_and(|note| note.contains(said)), "{repo}");
            }
            work.git(&["reset", "-q", "--hard", &before]).await;
            assert_eq!(sync(&house, "app").await["note"], Value::Null);
        }
        house.close().await;
        database.drop().await;
    }

    async fn an_upstream_whose_branch_is_named_like_a_tasks_says_what_to_do(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, head) = upstream(&house).await;
        work.git(&["branch", "-m", "main", "task-5"]).await;
        add(&house, json!({"source": work.folder.to_str().unwrap(), "name": "app"})).await;
        let repo = sync(&house, "app").await;
        assert!(repo["note"].as_str().is_some_and(|note| note.contains("`task-5`") && note.contains("--branch-format")), "{repo}");
        let change = json!({"branch_format": "agents/{id}"});
        house.ask(house.request(Method::PATCH, "/api/v1/repos/app").json(&change)).await;
        let repo = sync(&house, "app").await;
        assert_eq!((&repo["note"], &repo["head"]), (&Value::Null, &json!(head)), "{repo}");
        house.close().await;
        database.drop().await;
    }

    async fn people_clone_and_push_with_a_key_as_password_or_bearer(database: TestDatabase) {
        let house = House::open(&database).await;
        let created = add(&house, json!({"new": true, "name": "own"})).await;
        assert_eq!((&created["phase"], &created["source"]), (&json!("ready"), &Value::Null));
        let (work, head) = upstream(&house).await;
        work.git(&["push", "-q", &address(&house, &house.key, "own"), "main"]).await;
        let (_, repo) = house.ask(house.request(Method::GET, "/api/v1/repos/own")).await;
        assert_eq!((&repo["head"], &repo["default_branch"]), (&json!(head), &json!("main")));

        let bearer = format!("http.extraHeader=Authorization: Bearer {}", house.key);
        let plain = format!("{}/git/own.git", house.url);
        work.git(&["-c", &bearer, "clone", "-q", &plain, "../clone"]).await;
        let clone = Work::new(&house, "clone");
        assert_eq!(clone.git(&["rev-parse", "HEAD"]).await, head);
        let said = clone.refused(&["fetch", &plain]).await;
        assert!(said.contains("could not read Username"), "git is asked for a password: {said}");
        clone.refused(&["fetch", &address(&house, "crl_0000000000000000000000000000000000000000", "own")]).await;
        clone.refused(&["fetch", &address(&house, &house.key, "none")]).await;

        let (_, pushes) = house.ask(house.request(Method::GET, "/api/v1/repos/own/pushes")).await;
        assert_eq!(pushes["items"].as_array().unwrap().len(), 1);
        let push = &pushes["items"][0];
        assert_eq!((&push["accepted"], &push["refs"][0]["name"], &push["refs"][0]["new"]), (&json!(true), &json!("refs/heads/main"), &json!(head)));
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_pushes_to_its_tasks_branch_and_the_verdict_is_told(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, head) = upstream(&house).await;
        add(&house, json!({"source": work.folder.to_str().unwrap(), "name": "app"})).await;
        add(&house, json!({"new": true, "name": "other"})).await;
        sync(&house, "app").await;
        house.ask(house.request(Method::POST, "/api/v1/agents").json(&json!({"name": "nobody", "dialect": "shell", "command": "true"}))).await;
        let new = json!({"repo": "app", "title": "x", "agent": "nobody"});
        let (_, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&new)).await;
        let (task, own_branch) = (&task["id"], format!("task-{}", task["id"]));
        let body = json!({"repo": "app", "task_id": task});
        let (_, sandbox) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&body)).await;
        assert_eq!((&sandbox["phase"], &sandbox["repo"]), (&json!("ready"), &json!("app")));
        let (_, grant) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let mut events = house.events("?kind=push").await;

        let own = address(&house, &grant, "app");
        work.git(&["clone", "-q", &own, "../desk"]).await;
        let desk = Work::new(&house, "desk");
        let commit = desk.commit("done", "done").await;
        let said = desk.refused(&["push", "origin", "HEAD:main"]).await;
        let words = format!("remote: This sandbox works on task {task} and may push only to its branch `{own_branch}`.");
        assert!(said.contains(&words), "{said}");
        desk.git(&["push", "-q", "origin", &format!("HEAD:{own_branch}")]).await;
        let refusal = serde_json::to_value(events.entry().await).unwrap();
        assert_eq!((&refusal["push"]["accepted"], &refusal["push"]["task_id"]), (&json!(false), task));
        let accepted = serde_json::to_value(events.entry().await).unwrap();
        assert_eq!((&accepted["push"]["accepted"], &accepted["push"]["sandbox_id"]), (&json!(true), &sandbox["id"]));
        assert_eq!(accepted["push"]["refs"][0]["new"], json!(commit));
        assert_eq!(denials(&house).await[0].action, "repo.push");

        // Another repository is not its own, and nothing of the API is.
        desk.refused(&["fetch", &address(&house, &grant, "other")]).await;
        desk.refused(&["push", &address(&house, &grant, "other"), &format!("HEAD:{own_branch}")]).await;
        refused(403, house.request_as(&grant, Method::GET, "/api/v1/repos/app")).await;
        refused(403, house.request_as(&grant, Method::POST, "/api/v1/repos/app/sync")).await;
        // When the sandbox is gone, so is its way in.
        let place = format!("/api/v1/sandboxes/{}?wait=gone", sandbox["id"].as_str().unwrap());
        assert_eq!(house.request(Method::DELETE, &place).send().await.unwrap().status(), 204);
        desk.refused(&["fetch", "origin"]).await;

        // The upstream was left as it was, and what follows it cannot be pushed to by people either.
        assert_eq!(work.git(&["rev-parse", "main"]).await, head);
        let said = desk.refused(&["push", &address(&house, &house.key, "app"), "HEAD:main"]).await;
        assert!(said.contains("this branch is the upstream's"), "{said}");
        house.close().await;
        database.drop().await;
    }

    async fn a_sandbox_of_a_task_is_for_those_who_may_drive_it(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, _) = upstream(&house).await;
        add(&house, json!({"source": work.folder.to_str().unwrap(), "name": "app"})).await;
        add(&house, json!({"new": true, "name": "other"})).await;
        sync(&house, "app").await;
        for name in ["scout", "stranger"] {
            let new = json!({"name": name, "dialect": "shell", "command": "true"});
            assert!(house.ask(house.request(Method::POST, "/api/v1/agents").json(&new)).await.0.is_success());
        }
        let new = json!({"repo": "app", "title": "x", "agent": "scout"});
        let (_, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&new)).await;
        let (_, scout) = house.mint(json!({"name": "scout", "role": "agent", "agent_id": "scout"})).await;
        let (_, stranger) = house.mint(json!({"name": "stranger", "role": "agent", "agent_id": "stranger"})).await;
        let ask = |key: &str, body: Value| house.request_as(key, Method::POST, "/api/v1/sandboxes").json(&body);

        let own = json!({"repo": "app", "task_id": task["id"]});
        refused(403, ask(&stranger, own.clone())).await;
        assert_eq!(denials(&house).await[0].action, "task.drive");
        // Nor does it spend what the task may.
        refused(403, ask(&stranger, json!({"task_id": task["id"]}))).await;
        for key in [&scout, &house.key] {
            let (status, sandbox) = house.ask(ask(key, own.clone())).await;
            assert_eq!((status.as_u16(), &sandbox["task_id"]), (201, &task["id"]), "{sandbox}");
            let elsewhere = refused(422, ask(key, json!({"repo": "other", "task_id": task["id"]}))).await;
            assert_eq!(elsewhere["errors"][0]["field"], json!("task_id"), "{elsewhere}");
        }
        for nowhere in [json!({"repo": "app", "task_id": 999_999}), json!({"task_id": 999_999})] {
            let nowhere = refused(422, ask(&scout, nowhere)).await;
            assert_eq!(nowhere["errors"][0]["field"], json!("task_id"), "{nowhere}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn what_a_sandbox_was_granted_ends_with_its_task(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, _) = upstream(&house).await;
        add(&house, json!({"source": work.folder.to_str().unwrap(), "name": "app"})).await;
        sync(&house, "app").await;
        let post = async |path: &str, body: Value| {
            let (status, answer) = house.ask(house.request(Method::POST, path).json(&body)).await;
            assert!(status.is_success(), "{path}: {answer}");
            answer
        };
        post("/api/v1/agents", json!({"name": "nobody", "dialect": "shell", "command": "true"})).await;
        let task = post("/api/v1/tasks", json!({"repo": "app", "title": "x", "agent": "nobody"})).await;
        let body = json!({"repo": "app", "task_id": task["id"]});
        let sandbox = post("/api/v1/sandboxes?wait=ready", body).await;
        let (_, grant) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let own = address(&house, &grant, "app");
        work.git(&["clone", "-q", &own, "../desk"]).await;
        let desk = Work::new(&house, "desk");
        desk.commit("done", "done").await;
        let branch = format!("HEAD:task-{}", task["id"]);
        desk.git(&["push", "-q", "origin", &branch]).await;
        post(&format!("/api/v1/tasks/{}/close?wait=closed&timeout=300", task["id"]), json!({})).await;
        desk.commit("more", "more").await;
        for attempt in [vec!["push", "origin", branch.as_str()], vec!["fetch", "origin"]] {
            let said = desk.refused(&attempt).await;
            assert!(said.contains("is closed: its desk can neither fetch nor push any more"), "{said}");
        }
        house.close().await;
        database.drop().await;
    }

    async fn an_upstream_with_a_damaged_pack_is_told_in_a_sentence(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, _) = upstream(&house).await;
        for number in 0..20 {
            work.commit("large.txt", &format!("{number} {}\n", "noise ".repeat(500 + number))).await;
        }
        work.git(&["repack", "-adq"]).await;
        let packs = work.folder.join(".git/objects/pack");
        let pack = std::fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
        let mut bytes = std::fs::read(&pack).unwrap();
        let length = bytes.len();
        bytes[length / 3..length / 3 * 2].fill(0x5a);
        std::fs::remove_file(&pack).unwrap();
        std::fs::write(&pack, bytes).unwrap();
        let body = json!({"name": "app", "source": work.folder.to_str().unwrap()});
        let (_, added) = house.ask(house.request(Method::POST, "/api/v1/repos").json(&body)).await;
        assert_eq!(added["name"], "app", "{added}");
        let response = house.request(Method::POST, "/api/v1/repos/app/sync").send().await.unwrap();
        let status = response.status().as_u16();
        let problem: Value = response.json().await.unwrap();
        assert_eq!(status, 409, "what is broken there is no fault of ours: {problem}");
        let why = problem["detail"].as_str().unwrap();
        assert!(why.contains("damaged") && !why.contains("Enumerating objects"), "{why}");
        let (_, repo) = house.ask(house.request(Method::GET, "/api/v1/repos/app")).await;
        assert_eq!(repo["phase"], "failed", "{repo}");
        assert!(repo["note"].as_str().is_some_and(|note| note.contains("damaged")), "{repo}");
        house.close().await;
        database.drop().await;
    }

    async fn only_an_admin_adds_a_path_of_the_server_and_an_agent_adds_nothing(database: TestDatabase) {
        let house = House::open(&database).await;
        let (work, _) = upstream(&house).await;
        let (_, member) = house.mint(json!({"name": "m", "role": "member"})).await;
        let (_, agent) = house.mint(json!({"name": "a", "role": "agent", "agent_id": "scout"})).await;
        let body = json!({"source": work.folder.to_str().unwrap(), "name": "app"});
        refused(422, house.request_as(&member, Method::POST, "/api/v1/repos").json(&body)).await;
        let body = json!({"source": format!("{}/git/own.git", house.url), "name": "app"});
        refused(422, house.request_as(&member, Method::POST, "/api/v1/repos").json(&body)).await;
        refused(403, house.request_as(&agent, Method::POST, "/api/v1/repos").json(&json!({"new": true, "name": "mine"}))).await;
        add(&house, json!({"new": true, "name": "own"})).await;
        let (status, _) = house.ask(house.request_as(&agent, Method::GET, "/api/v1/repos/own")).await;
        assert_eq!(status.as_u16(), 200);
        let said = work.refused(&["push", &address(&house, &agent, "own"), "main"]).await;
        assert!(said.contains("may not push to the repo own"), "git shows why: {said}");
        house.close().await;
        database.drop().await;
    }
}

/// What a client may do on the wire, at the door as it is: its layers, its limits, its way with bodies.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_come_compressed_in_pieces_after_a_probe_and_after_a_question_whether_they_may() {
    let database = carrel_testkit::TestDatabase::sqlite();
    let house = House::open(&database).await;
    add(&house, json!({"name": "here", "new": true})).await;
    let work = Work::new(&house, "work");
    let url = address(&house, &house.key, "here");
    work.git(&["clone", "-q", &url, "."]).await;
    for number in 0..400 {
        std::fs::write(work.folder.join(format!("file-{number}")), format!("{number}\n")).unwrap();
    }
    work.commit("last", "x").await;
    // A small buffer makes git try the door with an empty push, then send the pack in chunks.
    work.git(&["-c", "http.postBuffer=2048", "push", "-q", "origin", "HEAD:main"]).await;
    // Many haves make a question long enough to be compressed.
    for number in 0..120 {
        work.git(&["commit", "-q", "--allow-empty", "-m", &format!("feat: {number}")]).await;
    }
    work.git(&["-c", "protocol.version=0", "fetch", "-q", "origin"]).await;

    // The same by hand, each fact by itself and together, so that nothing depends on what this git does.
    let commit = work.git(&["rev-parse", "HEAD"]).await;
    let pack = house.folder().join("pack");
    let made =
        format!("git rev-list --objects HEAD --not origin/main | git pack-objects --stdout -q >{}", pack.display());
    let made = tokio::process::Command::new("sh").args(["-c", &made]).current_dir(&work.folder).status().await.unwrap();
    assert!(made.success());
    let body = |branch: &str| {
        let line = format!("{} {commit} refs/heads/{branch}\0 report-status side-band-64k agent=x", "0".repeat(40));
        let mut body = format!("{:04x}{line}0000", line.len() + 4).into_bytes();
        body.extend(std::fs::read(&pack).unwrap());
        body
    };
    let send = async |name: &str, body: Vec<u8>, gzip: bool, args: &[&str]| -> (String, String) {
        let file = house.folder().join(format!("body-{name}"));
        std::fs::write(&file, body).unwrap();
        let mut path = file.display().to_string();
        let mut command = tokio::process::Command::new("curl");
        if gzip {
            let squeezed = tokio::process::Command::new("gzip").arg(&path).status().await.unwrap();
            assert!(squeezed.success());
            path += ".gz";
            command.args(["-H", "Content-Encoding: gzip"]);
        }
        let address = format!("{url}/git-receive-pack");
        command.args(["-s", "-v", "--http1.1", "--max-time", "120", "--data-binary", &format!("@{path}")]);
        command.args(["-H", "Content-Type: application/x-git-receive-pack-request"]).args(args).arg(&address);
        let output = command.output().await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (chunked, asking, silent) = ("Transfer-Encoding: chunked", "Expect: 100-continue", "Expect:");
    let (said, _) = send("probe", b"0000".to_vec(), false, &["-H", silent]).await;
    assert_eq!(said, "", "a try of the door is answered with nothing");
    for (name, gzip, args) in [
        ("plain", false, &["-H", silent][..]),
        ("gzip", true, &["-H", silent]),
        ("chunked", false, &["-H", silent, "-H", chunked]),
        ("gzip-chunked", true, &["-H", silent, "-H", chunked]),
        ("asking", false, &["-H", asking]),
        ("asking-gzip", true, &["-H", asking]),
        ("asking-gzip-chunked", true, &["-H", asking, "-H", chunked]),
    ] {
        let (said, wire) = send(name, body(name), gzip, args).await;
        assert!(said.contains(&format!("ok refs/heads/{name}")), "{name}: {said} {wire}");
        let asked = args.contains(&asking);
        assert_eq!(wire.contains("100 Continue"), asked, "{name}: {wire}");
        let there = work.git(&["ls-remote", "origin", &format!("refs/heads/{name}")]).await;
        assert!(there.starts_with(&commit), "{name}: {there}");
    }
    // A refusal comes by the side band, whichever way the push came.
    let (said, _) = send("refused", body("main"), true, &["-H", asking, "-H", chunked]).await;
    assert!(said.contains("ng refs/heads/main"), "{said}");
    // What says that it is compressed and is not, and what is compressed in a way that nobody asked for.
    let (said, wire) = send("nonsense", body("nonsense"), false, &["-H", silent, "-H", "Content-Encoding: gzip"]).await;
    assert!(!said.contains("ok refs/heads/nonsense"), "{said} {wire}");
    let (said, wire) = send("odd", body("odd"), false, &["-H", silent, "-H", "Content-Encoding: br"]).await;
    assert!(wire.contains("415") && !said.contains("ok refs/heads/odd"), "{said} {wire}");
    assert_eq!(work.git(&["ls-remote", "origin", "refs/heads/nonsense", "refs/heads/odd"]).await, "");
    house.close().await;
    database.drop().await;
}
