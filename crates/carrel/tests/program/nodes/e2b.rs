//! Nodes whose sandboxes are at E2B: they belong to none of them, so a node that dies takes nothing with it.

use std::time::Duration;

use carrel_testkit::Server;
use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{Fleet, all_up, clear, commits, lines, signal};
use crate::{e2b::Cluster, pulls::ask};

/// Counts aloud. Commits and pushes at its beginning, when it finds the file `gap`, and when it finds the file `may-end`.
const COUNTS: &str = r#"keep() { echo $1 >$1; git add $1; git commit -qm "feat: step $1 of $CARREL_BRANCH"; git push -q origin HEAD; }
keep 1
n=0
until [ -e .git/may-end ]; do
  n=$((n+1)); echo "line $n"
  if [ -e .git/gap ]; then rm .git/gap; keep 2; touch .git/kept; fi
  sleep 0.2
done
keep 3
echo "line last""#;

/// A house whose sandboxes are at a cluster that speaks E2B's API.
struct Afar {
    fleet: Fleet,
    cluster: Cluster,
}

impl Afar {
    async fn new() -> Afar {
        Afar { fleet: Fleet::new().await, cluster: Cluster::open().await }
    }

    async fn start(&self, number: usize) -> Server {
        let url = &self.cluster.server.url;
        let start = self.fleet.prepare(number, &[]).env("CARREL_SANDBOXES_PROVIDER", "e2b");
        let start = start.env("CARREL_KEEPERS_SWEEP_S", "1").env("E2B_API_KEY", self.cluster.key());
        start.env("E2B_API_URL", url).env("E2B_SANDBOX_URL", url).start().await
    }

    /// The first node with so many tasks in the middle of their turns, each with the name of its desk.
    async fn at_work(&self, tasks: usize) -> (Server, Vec<String>) {
        let one = self.start(1).await;
        ask(&one, Method::POST, "/repos", Some(json!({"new": true, "name": "own"}))).await;
        let agent = json!({"name": "counts", "dialect": "shell", "command": COUNTS});
        assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
        for number in 0..tasks {
            let new = json!({"repo": "own", "agent": "counts", "title": format!("t{number}"), "start": true});
            assert!(ask(&one, Method::POST, "/tasks", Some(new)).await.0.is_success());
        }
        let mut desks = Vec::new();
        for task in 1..=tasks {
            while lines(&one, task).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let (_, view) = ask(&one, Method::GET, &format!("/tasks/{task}"), None).await;
            desks.push(view["sandbox_id"].as_str().unwrap().to_owned());
        }
        (one, desks)
    }

    /// Runs something in every sandbox, from where they are: no house is asked.
    async fn everywhere(&self, line: &str) {
        for id in self.cluster.ids().await {
            let run = json!({"command": line});
            let path = format!("/sandboxes/{id}/execute");
            let (status, ran) = ask(&self.cluster.server, Method::POST, &path, Some(run)).await;
            assert!(status.is_success() && ran["exit_code"] == 0, "{ran}");
        }
    }

    async fn close(self, nodes: impl IntoIterator<Item = Server>) {
        for node in nodes {
            clear(&node).await;
            assert!(node.terminate().await.success());
        }
        self.cluster.close().await;
        self.fleet.database.drop().await;
    }
}

/// Every task ends in review, at its own desk, with each commit and each line once.
async fn all_whole(afar: &Afar, server: &Server, desks: &[String]) {
    for (number, desk) in desks.iter().enumerate() {
        let task = number + 1;
        let (_, view) = ask(server, Method::GET, &format!("/tasks/{task}?wait=in_review&timeout=300"), None).await;
        let found = (&view["phase"], &view["ahead"], &view["attempts"]);
        assert_eq!(found, (&json!("in_review"), &json!(3), &json!(0)), "{view}");
        assert_eq!(view["sandbox_id"], desk.as_str(), "it was begun anew at another desk");
        let said = lines(server, task).await;
        let wanted = (1..said.len()).map(|number| format!("line {number}")).chain(["line last".to_owned()]);
        assert_eq!(said, wanted.collect::<Vec<_>>());
    }
    let mut found = commits(&afar.fleet.library());
    found.retain(|commit| commit.contains(" of task-"));
    found.sort();
    let steps = |task| (1..=3).map(move |step| format!("feat: step {step} of task-{task}"));
    let mut wanted: Vec<_> = (1..=desks.len()).flat_map(steps).collect();
    wanted.sort();
    assert_eq!(found, wanted, "every commit once");
    assert_eq!(afar.cluster.ids().await.len(), desks.len(), "no other sandbox was made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_dies_leaves_its_tasks_at_e2b_where_they_are_and_another_goes_on_with_them() {
    let afar = Afar::new().await;
    let (one, desks) = afar.at_work(2).await;
    let two = afar.start(2).await;
    all_up(&two, 2).await;
    // Somebody's own command runs there as well.
    let line = "until [ -e /tmp/enough ]; do echo on; sleep 0.1; done; echo enough; exit 7";
    let run = json!({"command": line, "background": true});
    let (status, exec) = ask(&one, Method::POST, &format!("/sandboxes/{}/execute", desks[0]), Some(run)).await;
    assert!(status.is_success(), "{exec}");
    let exec = exec["exec_id"].as_str().unwrap().to_owned();
    one.kill().await;
    // They go on while nobody listens.
    afar.everywhere("touch /workspace/.git/gap; until [ -e /workspace/.git/kept ]; do sleep 0.05; done").await;
    // Somebody listens again before they end.
    for task in 1..=desks.len() {
        let before = lines(&two, task).await.len();
        while lines(&two, task).await.len() <= before {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    afar.everywhere("touch /workspace/.git/may-end /tmp/enough").await;
    all_whole(&afar, &two, &desks).await;
    let ended = loop {
        let (_, ended) = ask(&two, Method::GET, &format!("/sandboxes/{}/execs/{exec}", desks[0]), None).await;
        if ended["status"] != "running" {
            break ended;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("ended"), &json!(7)), "{ended}");

    // Back again, it finds that nothing of this is its own, and is as good as the other for what comes next.
    let one = afar.start(1).await;
    all_up(&two, 2).await;
    all_whole(&afar, &one, &desks).await;
    for task in 1..=desks.len() {
        let (_, view) = ask(&one, Method::POST, &format!("/tasks/{task}/merge?wait=merged&timeout=300"), None).await;
        assert_eq!(view["phase"], "merged", "{view}");
    }
    afar.close([one, two]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_slept_while_its_task_at_e2b_went_on_elsewhere_says_nothing_twice() {
    let afar = Afar::new().await;
    let (one, desks) = afar.at_work(1).await;
    let two = afar.start(2).await;
    all_up(&two, 2).await;
    signal(&one, Signal::STOP);
    let is_taken_up = async || {
        let (_, page) = ask(&two, Method::GET, "/tasks/1/timeline?limit=1000", None).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .any(|item: &Value| item["text"].as_str().is_some_and(|text| text.contains("lost sight of the agent")))
    };
    while !is_taken_up().await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // The other reads on, while this one wakes with all that was said to it in its hands.
    let more = async |count: usize| {
        let before = lines(&two, 1).await.len();
        while lines(&two, 1).await.len() < before + count {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    more(1).await;
    signal(&one, Signal::CONT);
    all_up(&two, 2).await;
    more(20).await;
    afar.everywhere("touch /workspace/.git/gap; until [ -e /workspace/.git/kept ]; do sleep 0.05; done").await;
    afar.everywhere("touch /workspace/.git/may-end").await;
    all_whole(&afar, &two, &desks).await;
    // Whoever asks the one that slept is told the same.
    all_whole(&afar, &one, &desks).await;
    afar.close([one, two]).await;
}

async fn metrics(server: &Server) -> String {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    http.get(format!("{}/metrics", server.url)).send().await.unwrap().text().await.unwrap()
}

/// Whether a node took the step of a task that publishes it.
async fn published(server: &Server) -> bool {
    metrics(server).await.contains("carrel_task_step_seconds_count{step=\"publish\"")
}

/// Waits until a node knows that it is to be emptied: it looks with every heartbeat.
async fn drained(server: &Server) {
    while !metrics(server).await.contains("carrel_nodes{state=\"draining\"} 1") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_drains_takes_up_nothing_at_e2b_and_what_it_left_in_the_middle_goes_on() {
    let afar = Afar::new().await;
    let (one, desks) = afar.at_work(1).await;
    let two = afar.start(2).await;
    all_up(&one, 2).await;
    all_up(&two, 2).await;
    let leaving = afar.fleet.node(1);
    let (status, view) = ask(&one, Method::POST, &format!("/nodes/{leaving}/drain"), Some(json!({}))).await;
    assert!(status.is_success() && view["state"] == "draining", "{view}");
    // What is new is for the other, though this one is asked for it.
    let command = "echo q >q; git add q; git commit -qm 'feat: q'; git push -q origin HEAD";
    let agent = json!({"name": "quick", "dialect": "shell", "command": command});
    assert!(ask(&one, Method::POST, "/agents", Some(agent)).await.0.is_success());
    drained(&one).await;
    let new = json!({"repo": "own", "agent": "quick", "title": "q", "start": true});
    let (_, view) = ask(&one, Method::POST, "/tasks?wait=in_review&timeout=300", Some(new)).await;
    assert_eq!(view["phase"], "in_review", "{view}");
    assert_eq!((published(&one).await, published(&two).await), (false, true));
    let (_, view) = ask(&two, Method::POST, "/tasks/2/close?wait=closed&timeout=300", None).await;
    assert_eq!(view["phase"], "closed", "{view}");
    while afar.cluster.ids().await.len() > desks.len() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Stopped in good order and removed at once: whoever removes it listens from then on.
    assert!(one.terminate().await.success());
    let (status, why) = ask(&two, Method::DELETE, &format!("/nodes/{leaving}"), None).await;
    assert!(status.is_success(), "{why}");
    afar.everywhere("touch /workspace/.git/gap; until [ -e /workspace/.git/kept ]; do sleep 0.05; done").await;
    afar.everywhere("touch /workspace/.git/may-end").await;
    all_whole(&afar, &two, &desks).await;
    afar.close([two]).await;
}
