//! Pull requests through the door: real git, real HTTP, the embedded forge.

use carrel_testkit::{House, on_both_databases};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    refused,
    repos::{Work, add, address, sync, upstream},
};

/// A hosted repository with `main`, and a working tree of it.
async fn hosted(house: &House, rules: Value) -> Work {
    let mut new = json!({"new": true, "name": "own"});
    new.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
    add(house, new).await;
    let work = Work::new(house, "work");
    work.git(&["init", "-q", "-b", "main"]).await;
    work.commit("README", "one\ntwo\nthree\n").await;
    work.git(&["remote", "add", "origin", &address(house, &house.key, "own")]).await;
    work.git(&["push", "-q", "origin", "main"]).await;
    work
}

/// A branch with one commit, pushed.
async fn branch(work: &Work, name: &str, file: &str, content: &str) -> String {
    work.git(&["checkout", "-q", "-B", name, "origin/main"]).await;
    let commit = work.commit(file, content).await;
    work.git(&["push", "-q", "-f", "origin", name]).await;
    commit
}

async fn open(house: &House, head: &str) -> Value {
    let body = json!({"repo": "own", "head": head, "title": format!("feat: {head}"), "body": "Why."});
    let (status, pull) = house.ask(house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
    assert_eq!(status, StatusCode::CREATED, "{pull}");
    pull
}

async fn get(house: &House, path: &str) -> Value {
    let (status, body) = house.ask(house.request(Method::GET, &format!("/api/v1/pulls{path}"))).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body
}

async fn merge(house: &House, number: &Value) -> (StatusCode, Value) {
    house.ask(house.request(Method::POST, &format!("/api/v1/pulls/own/{number}/merge"))).await
}

on_both_databases! {
    async fn a_branch_becomes_a_pull_is_talked_about_and_merged_and_its_branch_goes(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({})).await;
        let head = branch(&work, "task-1", "new.txt", "hello\n").await;
        let mut events = house.events("?kind=pull,base").await;
        let pull = open(&house, "task-1").await;
        assert_eq!((&pull["number"], &pull["phase"], &pull["head_commit"]), (&json!(1), &json!("mergeable"), &json!(head)));
        assert_eq!((&pull["task_id"], &pull["forge"], &pull["base"]), (&json!(1), &json!("embedded"), &json!("main")));
        assert_eq!(open(&house, "task-1").await["number"], json!(1), "the same branch has one pull");
        let (_, mona) = house.mint(json!({"name": "mona", "role": "member"})).await;
        let say = json!({"body": "Greet by name.", "path": "new.txt", "line": 1});
        let (status, said) = house.ask(house.request_as(&mona, Method::POST, "/api/v1/pulls/own/1/comments").json(&say)).await;
        assert_eq!((status, &said["author"], &said["line"]), (StatusCode::CREATED, &json!("mona"), &json!(1)), "{said}");
        refused(422, house.request(Method::POST, "/api/v1/pulls/own/1/comments").json(&json!({"body": "x", "path": "new.txt", "line": 99}))).await;
        refused(422, house.request(Method::POST, "/api/v1/pulls/own/1/comments").json(&json!({"body": "x", "stamp": "No Stamp"}))).await;
        let review = json!({"verdict": "changes_requested", "body": "No."});
        let (status, _) = house.ask(house.request_as(&mona, Method::POST, "/api/v1/pulls/own/1/reviews").json(&review)).await;
        assert_eq!(status, StatusCode::CREATED);
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/1/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-not-approved"), "{problem}");
        let review = json!({"verdict": "approved"});
        house.ask(house.request_as(&mona, Method::POST, "/api/v1/pulls/own/1/reviews").json(&review)).await;
        let diff = house.request(Method::GET, "/api/v1/pulls/own/1/diff").send().await.unwrap();
        assert!(diff.headers()["content-type"].to_str().unwrap().starts_with("text/x-diff"));
        assert!(diff.text().await.unwrap().contains("+hello"));
        assert_eq!(get(&house, "/own/1/comments").await["items"].as_array().unwrap().len(), 1);
        assert_eq!(get(&house, "/own/1/reviews").await["items"].as_array().unwrap().len(), 2);

        let (status, merged) = merge(&house, &json!(1)).await;
        assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
        let (again, same) = merge(&house, &json!(1)).await;
        assert_eq!((again, &same["merge_commit"]), (StatusCode::OK, &merged["merge_commit"]));
        work.git(&["fetch", "-q", "--prune", "origin"]).await;
        assert_eq!(json!(work.git(&["rev-parse", "origin/main"]).await), merged["merge_commit"]);
        assert_eq!(work.git(&["log", "-1", "--format=%an %s", "origin/main"]).await, "Ada feat: task-1 (#1)");
        assert_eq!(work.git(&["branch", "-r", "--list", "origin/task-1"]).await, "", "its branch is gone");
        assert_eq!(get(&house, "?repo=own&state=open").await["items"], json!([]));
        assert_eq!(get(&house, "?state=merged").await["items"][0]["number"], json!(1));

        // Each word was told once, and the move of the base too.
        let (mut told, mut moved) = (Vec::new(), 0);
        loop {
            let entry = serde_json::to_value(events.entry().await).unwrap();
            for news in entry["news"].as_array().into_iter().flatten() {
                told.push(format!("{} {}", news["what"].as_str().unwrap(), news["head"] == json!(head)));
            }
            if entry["kind"] == "base" {
                assert_eq!(entry["base"]["commit"], merged["merge_commit"]);
                moved += 1;
                break;
            }
        }
        assert_eq!((told, moved), (vec!["comment true".into(), "review true".into(), "review true".into()], 1));
        house.close().await;
        database.drop().await;
    }

    async fn a_large_change_is_listed_file_by_file_and_its_lines_are_read_for_those_that_are_named(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({"merge": "merge"})).await;
        work.commit("old name.txt", "kept 1\nkept 2\nkept 3\nkept 4\n").await;
        work.commit("pic.bin", "\u{0}one").await;
        work.git(&["push", "-q", "origin", "main"]).await;
        work.git(&["checkout", "-q", "-B", "by-hand", "main"]).await;
        work.git(&["mv", "old name.txt", "näher.txt"]).await;
        work.git(&["rm", "-q", "README"]).await;
        work.commit("näher.txt", "kept 1\nkept 2\nkept 3\nkept 4\nand 5\n").await;
        work.commit("pic.bin", "\u{0}two").await;
        std::fs::create_dir(work.folder.join("many")).unwrap();
        for at in 0..300 {
            std::fs::write(work.folder.join(format!("many/{at}.txt")), format!("{at}\n")).unwrap();
        }
        work.commit(":(glob)*", "odd\n").await;
        work.git(&["push", "-q", "origin", "by-hand"]).await;
        let pull = open(&house, "by-hand").await;
        assert_eq!(pull["task_id"], Value::Null);

        let files = get(&house, "/own/1/diff/files").await["items"].as_array().unwrap().clone();
        assert_eq!(files.len(), 304);
        let file = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
        let counts = |path: &str| (file(path)["status"].clone(), file(path)["additions"].clone(), file(path)["deletions"].clone());
        assert_eq!(counts("README"), (json!("removed"), json!(0), json!(3)));
        assert_eq!(counts("many/299.txt"), (json!("added"), json!(1), json!(0)));
        assert_eq!(counts("näher.txt"), (json!("renamed"), json!(1), json!(0)));
        assert_eq!((&file("näher.txt")["old_path"], &file("pic.bin")["binary"]), (&json!("old name.txt"), &json!(true)));
        assert_eq!((&file("many/0.txt")["new_mode"], &file("many/0.txt")["old_id"]), (&json!("100644"), &Value::Null));

        let lines = async |query: &str| {
            let diff = house.request(Method::GET, &format!("/api/v1/pulls/own/1/diff?{query}")).send().await.unwrap();
            assert_eq!(diff.status(), StatusCode::OK);
            diff.text().await.unwrap()
        };
        let some = lines("path=many/7.txt&path=many/8.txt&renames=false").await;
        assert_eq!(some.matches("diff --git").count(), 2, "{some}");
        assert!(some.contains("+7\n") && some.contains(file("many/8.txt")["new_id"].as_str().unwrap()), "{some}");
        let moved = lines("path=n%C3%A4her.txt&path=old%20name.txt").await;
        assert!(moved.contains("rename from old name.txt") && moved.contains("+and 5"), "{moved}");
        let odd = lines("path=%3A(glob)*").await;
        assert_eq!((odd.matches("diff --git").count(), odd.contains("+odd")), (1, true), "a name is only a name: {odd}");
        assert_eq!(lines("path=nothing").await, "");
        let packed = house.request(Method::GET, "/api/v1/pulls/own/1/diff").header("accept-encoding", "gzip");
        assert_eq!(packed.send().await.unwrap().headers()["content-encoding"], "gzip");
        assert_eq!(lines("").await.matches("diff --git").count(), 304);
        refused(422, house.request(Method::GET, "/api/v1/pulls/own/1/diff?path=")).await;
        refused(422, house.request(Method::GET, &format!("/api/v1/pulls/own/1/diff?{}", "path=a&".repeat(101)))).await;
        refused(404, house.request(Method::GET, "/api/v1/pulls/own/9/diff/files")).await;

        // Its base has all of it now; what it changed is still known.
        assert_eq!(merge(&house, &json!(1)).await.0, StatusCode::OK);
        assert_eq!(get(&house, "/own/1/diff/files").await["items"].as_array().unwrap().len(), 304);
        assert!(lines("path=many/7.txt").await.contains("+7\n"));
        house.close().await;
        database.drop().await;
    }

    async fn a_draft_becomes_ready_and_what_is_to_be_merged_by_itself_is_and_its_commits_are_kept(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({})).await;
        let head = branch(&work, "task-1", "new.txt", "hello\n").await;
        let body = json!({"repo": "own", "head": "task-1", "title": "feat: one", "draft": true});
        let (_, pull) = house.ask(house.request(Method::POST, "/api/v1/pulls").json(&body)).await;
        assert_eq!((&pull["draft"], &pull["phase"]), (&json!(true), &json!("open")), "{pull}");
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/1/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-not-approved"), "{problem}");
        let act = async |method: Method, verb: &str, body: Value| {
            let path = format!("/api/v1/pulls/own/1/{verb}");
            let request = house.request(method, &path);
            let (status, pull) = house.ask(if body.is_null() { request } else { request.json(&body) }).await;
            assert_eq!(status, StatusCode::OK, "{verb}: {pull}");
            pull
        };
        let ready = act(Method::POST, "ready", Value::Null).await;
        assert_eq!((&ready["draft"], &ready["phase"]), (&json!(false), &json!("mergeable")), "{ready}");
        assert_eq!(act(Method::POST, "ready", Value::Null).await["revision"], ready["revision"], "a second time changes nothing");
        assert_eq!(act(Method::POST, "draft", Value::Null).await["draft"], json!(true));

        // A draft waits, and the wish can be taken back.
        assert_eq!(act(Method::POST, "auto_merge", Value::Null).await["auto_merge"], json!("squash"), "as the repository merges");
        assert_eq!(act(Method::DELETE, "auto_merge", Value::Null).await["auto_merge"], Value::Null);
        assert_eq!(act(Method::POST, "auto_merge", json!({"style": "rebase"})).await["auto_merge"], json!("rebase"));
        refused(422, house.request(Method::POST, "/api/v1/pulls/own/1/auto_merge").json(&json!({"style": "octopus"}))).await;
        branch(&work, "elsewhere", "other.txt", "other\n").await;
        work.git(&["push", "-q", "origin", "elsewhere:main"]).await;
        let mut events = house.events("?kind=pull").await;
        act(Method::POST, "ready", Value::Null).await;
        let merged = loop {
            let entry = serde_json::to_value(events.entry().await).unwrap();
            if entry["pull"]["phase"] == "merged" {
                break entry["pull"].clone();
            }
        };
        assert_eq!(merged["auto_merge"], Value::Null, "{merged}");
        // The branch goes last, and the commits that nobody else has are there by another name, for people.
        while get(&house, "/own/1").await["phase"] != "merged" || !work.git(&["ls-remote", "origin", "task-1"]).await.is_empty() {}
        work.git(&["fetch", "-q", "origin", "refs/carrel/pulls/embedded/1"]).await;
        assert_eq!(work.git(&["rev-parse", "FETCH_HEAD"]).await, head);
        for verb in ["ready", "draft", "auto_merge"] {
            let problem = refused(409, house.request(Method::POST, &format!("/api/v1/pulls/own/1/{verb}"))).await;
            assert!(problem["detail"].as_str().unwrap().contains("is merged"), "{problem}");
        }
        refused(404, house.request(Method::POST, "/api/v1/pulls/own/99/ready")).await;
        let (_, agent) = house.mint(json!({"name": "a", "role": "agent", "agent_id": "scout"})).await;
        refused(403, house.request_as(&agent, Method::POST, "/api/v1/pulls/own/1/auto_merge")).await;
        house.close().await;
        database.drop().await;
    }

    async fn a_pull_that_conflicts_is_refused_with_its_paths_and_a_head_that_moved_is_not_merged(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({"merge": "rebase"})).await;
        let first = branch(&work, "task-1", "README", "ONE\ntwo\nthree\n").await;
        branch(&work, "task-2", "README", "1\ntwo\nthree\n").await;
        open(&house, "task-1").await;
        open(&house, "task-2").await;
        let moved = branch(&work, "task-1", "README", "Uno\ntwo\nthree\n").await;
        let body = json!({"head": first});
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/1/merge").json(&body)).await;
        assert_eq!(problem["type"], json!("/problems/merge-head-moved"), "{problem}");
        let body = json!({"head": moved});
        let (status, _) = house.ask(house.request(Method::POST, "/api/v1/pulls/own/1/merge").json(&body)).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(get(&house, "/own/2").await["phase"], json!("conflicted"));
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/2/merge")).await;
        assert_eq!((&problem["type"], &problem["errors"][0]["detail"]), (&json!("/problems/merge-conflicts"), &json!("README")), "{problem}");
        let (_, closed) = house.ask(house.request(Method::POST, "/api/v1/pulls/own/2/close")).await;
        assert_eq!(closed["phase"], json!("closed"));
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/2/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-closed"), "{problem}");
        refused(404, house.request(Method::GET, "/api/v1/pulls/own/99")).await;
        refused(404, house.request(Method::GET, "/api/v1/pulls/own/0")).await;
        refused(404, house.request(Method::GET, "/api/v1/pulls/nobody/1")).await;
        house.close().await;
        database.drop().await;
    }

    async fn twelve_merges_at_once_go_one_after_another_and_the_base_never_goes_back(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({"merge": "merge"})).await;
        for number in 1..=12 {
            branch(&work, &format!("task-{number}"), &format!("file-{number}"), "x\n").await;
            open(&house, &format!("task-{number}")).await;
        }
        let mut events = house.events("?kind=base").await;
        let numbers: Vec<Value> = (1..=12).map(|number| json!(number)).collect();
        let merged = futures::future::join_all(numbers.iter().map(|number| merge(&house, number))).await;
        for (status, pull) in merged {
            assert_eq!((status, &pull["phase"]), (StatusCode::OK, &json!("merged")), "{pull}");
        }
        work.git(&["fetch", "-q", "origin"]).await;
        assert_eq!(work.git(&["log", "--merges", "--oneline", "origin/main"]).await.lines().count(), 12);
        assert_eq!(work.git(&["ls-tree", "--name-only", "origin/main"]).await.lines().count(), 13);
        let end = json!(work.git(&["rev-parse", "origin/main"]).await);
        loop {
            let entry = serde_json::to_value(events.entry().await).unwrap();
            assert_eq!(entry["base"]["rewritten"], json!(false));
            if entry["base"]["commit"] == end {
                break;
            }
        }
        house.close().await;
        database.drop().await;
    }

    async fn the_merged_result_is_checked_in_a_sandbox_and_what_fails_comes_back_with_its_log(database: TestDatabase) {
        let (house, _bare) = House::bare(&database).await;
        let network = json!({"mode": "allow", "allow": ["example.org"]});
        let work = hosted(&house, json!({"check_command": "echo looked at $(cat a b 2>/dev/null); test ! -e a -o ! -e b", "network": network})).await;
        branch(&work, "task-1", "a", "A\n").await;
        branch(&work, "task-2", "b", "B\n").await;
        open(&house, "task-1").await;
        open(&house, "task-2").await;
        let mut sandboxes = house.events("?kind=sandbox").await;
        let (status, merged) = merge(&house, &json!(1)).await;
        assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
        let checked = serde_json::to_value(sandboxes.entry().await).unwrap();
        let reached = &checked["sandbox"]["network"];
        assert_eq!((&reached["mode"], &reached["allow"]), (&network["mode"], &network["allow"]), "it is checked in the repository's own network");
        // Each alone is good, together they are not.
        let before = work.git(&["ls-remote", "origin", "refs/heads/main"]).await;
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/2/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-checks-failed"), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("looked at A B"), "{problem}");
        assert_eq!(work.git(&["ls-remote", "origin", "refs/heads/main"]).await, before, "the base did not move");
        let checks = get(&house, "/own/2/checks").await;
        assert_eq!((&checks["items"][0]["name"], &checks["items"][0]["state"]), (&json!("carrel/merge"), &json!("failed")));
        assert_eq!(get(&house, "/own/2").await["phase"], json!("mergeable"), "another base may suit it");
        let living = house.ask(house.request(Method::GET, "/api/v1/sandboxes")).await.1;
        let left = living["items"].as_array().unwrap().iter().filter(|sandbox| sandbox["want"] != "gone").count();
        assert_eq!(left, 0, "{living}");
        house.close().await;
        database.drop().await;
    }

    async fn a_folder_somebody_works_in_gets_the_branch_and_then_the_merge(database: TestDatabase) {
        let house = House::open(&database).await;
        let (theirs, _) = upstream(&house).await;
        add(&house, json!({"source": theirs.folder.to_str().unwrap(), "name": "own"})).await;
        sync(&house, "own").await;
        house.ask(house.request(Method::POST, "/api/v1/agents").json(&json!({"name": "nobody", "dialect": "shell", "command": "true"}))).await;
        let new = json!({"repo": "own", "title": "x", "agent": "nobody", "start": false});
        let (_, task) = house.ask(house.request(Method::POST, "/api/v1/tasks").json(&new)).await;
        assert_eq!(task["id"], json!(1), "{task}");
        let (_, sandbox) = house.ask(house.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({"repo": "own", "task_id": 1}))).await;
        let (_, grant) = house.mint(json!({"name": "inside", "role": "sandbox", "sandbox_id": sandbox["id"]})).await;
        let desk = Work::new(&house, "desk");
        desk.git(&["clone", "-q", &address(&house, &grant, "own"), "."]).await;
        let head = desk.commit("done.txt", "done\n").await;
        desk.git(&["push", "-q", "origin", "HEAD:task-1"]).await;
        let pull = open(&house, "task-1").await;
        assert_eq!((&pull["forge"], &pull["phase"]), (&json!("embedded"), &json!("mergeable")));
        assert_eq!(theirs.git(&["rev-parse", "task-1"]).await, head, "they can look at it");
        // What is not saved in their folder stands in the way; it is said, and nothing moves.
        let before = theirs.git(&["rev-parse", "main"]).await;
        std::fs::write(theirs.folder.join("README.md"), "unsaved\n").unwrap();
        let problem = refused(409, house.request(Method::POST, "/api/v1/pulls/own/1/merge")).await;
        assert_eq!(problem["type"], json!("/problems/merge-upstream"), "{problem}");
        assert_eq!(theirs.git(&["rev-parse", "main"]).await, before);
        theirs.git(&["checkout", "-q", "README.md"]).await;
        let (status, merged) = merge(&house, &json!(1)).await;
        assert_eq!((status, &merged["phase"]), (StatusCode::OK, &json!("merged")), "{merged}");
        assert_eq!(json!(theirs.git(&["rev-parse", "main"]).await), merged["merge_commit"]);
        assert_eq!(std::fs::read_to_string(theirs.folder.join("done.txt")).unwrap(), "done\n", "their folder followed");
        assert_eq!(theirs.git(&["branch", "--list", "task-1"]).await, "");
        let (_, repo) = house.ask(house.request(Method::GET, "/api/v1/repos/own")).await;
        assert_eq!(repo["head"], merged["merge_commit"]);
        house.close().await;
        database.drop().await;
    }

    async fn who_would_conflict_with_whom_is_foreseen_and_again_when_the_base_moves(database: TestDatabase) {
        use carrel_control::{ForeseenWith, Live, Moved};
        let house = House::open(&database).await;
        let work = hosted(&house, json!({})).await;
        branch(&work, "task-1", "README", "ONE\ntwo\nthree\n").await;
        branch(&work, "task-2", "README", "1\ntwo\nthree\n").await;
        branch(&work, "task-3", "other", "x\n").await;
        let task = |number: u32| serde_json::from_value(json!(number)).unwrap();
        let live: Vec<Live> = (1..=4)
            .map(|number| Live { task: task(number), branch: format!("task-{number}").parse().unwrap(), base: "main".parse().unwrap() })
            .collect();
        let repo = "own".parse().unwrap();
        let ask = async |moved: Moved| house.control.pulls().forecast(&house.admin, &repo, &live, &moved).await.unwrap();
        let foreseen = ask(Moved::Task(task(1))).await;
        assert_eq!(foreseen.len(), 1, "{foreseen:?}");
        assert_eq!((foreseen[0].with, foreseen[0].paths.clone()), (ForeseenWith::Task(task(2)), vec!["README".to_owned()]));
        assert_eq!(ask(Moved::Task(task(3))).await, vec![]);
        assert_eq!(ask(Moved::Base("main".parse().unwrap())).await, vec![]);
        open(&house, "task-1").await;
        assert_eq!(merge(&house, &json!(1)).await.0, StatusCode::OK);
        let foreseen = ask(Moved::Base("main".parse().unwrap())).await;
        assert_eq!(foreseen.len(), 1, "{foreseen:?}");
        assert_eq!((foreseen[0].task, foreseen[0].with), (task(2), ForeseenWith::Base));
        house.close().await;
        database.drop().await;
    }

    async fn agents_and_sandboxes_neither_merge_nor_speak(database: TestDatabase) {
        let house = House::open(&database).await;
        let work = hosted(&house, json!({})).await;
        branch(&work, "task-1", "a", "A\n").await;
        open(&house, "task-1").await;
        let (_, agent) = house.mint(json!({"name": "a", "role": "agent", "agent_id": "scout"})).await;
        let (status, _) = house.ask(house.request_as(&agent, Method::GET, "/api/v1/pulls/own/1")).await;
        assert_eq!(status, StatusCode::OK);
        refused(403, house.request_as(&agent, Method::POST, "/api/v1/pulls/own/1/merge")).await;
        refused(403, house.request_as(&agent, Method::POST, "/api/v1/pulls/own/1/close")).await;
        refused(403, house.request_as(&agent, Method::POST, "/api/v1/pulls/own/1/comments").json(&json!({"body": "x"}))).await;
        refused(401, house.bare_request(Method::GET, "/api/v1/pulls")).await;
        refused(422, house.request(Method::GET, "/api/v1/pulls?state=odd")).await;
        house.close().await;
        database.drop().await;
    }
}
