//! `kill -9` at random moments under load: nothing acknowledged is lost, nothing is done twice, nothing is left behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use carrel_model::public::{Entry, SandboxPage, SandboxView};
use carrel_testkit::{Server, Start, TestDatabase, on_both_databases};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use reqwest::{Client, Method, StatusCode};
use serde_json::json;
use tokio::sync::watch;

use crate::binary;

const KILLS: u32 = 50;
const WORKERS: u64 = 4;

/// Where the server is at the moment, if it is anywhere.
type Address = watch::Receiver<Option<String>>;

on_both_databases! {
    async fn a_server_that_is_killed_again_and_again_loses_nothing_and_leaves_nothing(database: TestDatabase) {
        survive(&database).await;
        database.drop().await;
    }
}

async fn survive(database: &TestDatabase) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let data = tempfile::tempdir().unwrap();
    let mut dice = Dice::new();
    println!("dice: {}", dice.0);
    let (told, address) = watch::channel(None);
    let first = start(database, data.path()).start().await;
    let key = first.key.clone();
    told.send_replace(Some(first.url.clone()));

    let stop = Arc::new(AtomicBool::new(false));
    let promises = Arc::new(Mutex::new(Promises::default()));
    let mut crew = tokio::task::JoinSet::new();
    for number in 0..WORKERS {
        let worker = Worker {
            address: address.clone(),
            key: key.clone(),
            stop: Arc::clone(&stop),
            promises: Arc::clone(&promises),
            dice: Dice(dice.next()),
            number,
            http: client(),
        };
        crew.spawn(worker.work());
    }
    let heard = Arc::new(AtomicU64::new(0));
    let reader = tokio::spawn(read_everything(address.clone(), key.clone(), Arc::clone(&heard)));

    let mut server = first;
    for round in 0..KILLS {
        // The random point: a real delay, not a wait for something.
        tokio::time::sleep(Duration::from_millis(dice.below(250))).await;
        server.kill().await;
        told.send_replace(None);
        if round % 5 == 4 {
            die_while_starting(database, data.path(), dice.below(60)).await;
        }
        server = start(database, data.path()).start().await;
        assert_eq!(server.key, key, "the admin key changed");
        told.send_replace(Some(server.url.clone()));
    }
    stop.store(true, Ordering::SeqCst);
    while let Some(done) = crew.join_next().await {
        done.unwrap();
    }

    let http = client();
    let rows = at_rest(&http, &server).await;
    judge(&promises.lock().unwrap(), &rows);
    assert!(promises.lock().unwrap().created.len() > 20, "there was no load");
    agree_with_provider(&rows, &data.path().join("fake"));

    // The end of everything: what is left is ended, and then nothing is left.
    for row in rows.values() {
        let gone =
            ask(&http, &server, Method::DELETE, &format!("/sandboxes/{}?wait=gone", row.id)).send().await.unwrap();
        assert_eq!(gone.status(), StatusCode::NO_CONTENT);
        assert_eq!(gone.headers()["carrel-waited"], "reached");
    }
    let left: Vec<_> = std::fs::read_dir(data.path().join("fake")).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");

    // The reader has heard every entry once, in order, across all deaths.
    let page: SandboxPage = ask(&http, &server, Method::GET, "/sandboxes").send().await.unwrap().json().await.unwrap();
    while heard.load(Ordering::SeqCst) < page.as_of.0 as u64 {
        assert!(!reader.is_finished(), "the reader gave up");
        tokio::task::yield_now().await;
    }
    reader.abort();
    assert!(server.terminate().await.success());
}

fn start<'a>(database: &TestDatabase, data: &Path) -> Start<'a> {
    let start = Server::with(binary(), data)
        .args(["--database", &database.url()])
        .env("CARREL_FAKE_CREATE_MS", "10")
        .env("CARREL_KEEPERS_SWEEP_S", "1")
        .env("CARREL_LIMITS_REQUESTS_PER_SECOND", "0")
        .env("CARREL_LOG_LEVEL", "error");
    start.env("CARREL_DATABASE_SCHEMA", database.options().schema.clone())
}

/// Killed before it could say that it is ready.
async fn die_while_starting(database: &TestDatabase, data: &Path, after_ms: u64) {
    let mut child = tokio::process::Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(["--database", &database.url()])
        .env("CARREL_DATABASE_SCHEMA", database.options().schema.clone())
        .env("CARREL_LOG_LEVEL", "error")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_millis(after_ms)).await;
    child.kill().await.unwrap();
}

/// What the server acknowledged.
#[derive(Default)]
struct Promises {
    /// Idempotency key to sandbox.
    created: BTreeMap<String, String>,
    destroyed: BTreeSet<String>,
}

struct Worker {
    address: Address,
    key: String,
    stop: Arc<AtomicBool>,
    promises: Arc<Mutex<Promises>>,
    dice: Dice,
    number: u64,
    http: Client,
}

impl Worker {
    async fn work(mut self) {
        let mut mine: Vec<String> = Vec::new();
        for count in 0.. {
            if self.stop.load(Ordering::SeqCst) {
                return;
            }
            let name = format!("worker-{}-{count}", self.number);
            let body = json!({"metadata": {"name": name}});
            let created = self.until_answered(|worker, url| {
                let request = worker.http.post(format!("{url}/api/v1/sandboxes")).header("Idempotency-Key", &name);
                request.json(&body)
            });
            let Some(created) = created.await else { return };
            let view: SandboxView = serde_json::from_str(&created).unwrap();
            let id = view.id.to_string();
            let known = self.promises.lock().unwrap().created.insert(name, id.clone());
            assert!(known.is_none());
            mine.push(id);
            match self.dice.below(4) {
                0 => self.act(&mine, Method::POST, "/pause").await,
                1 => self.act(&mine, Method::POST, "/resume").await,
                2 => {
                    let pick = self.dice.below(mine.len() as u64) as usize;
                    let id = mine.remove(pick);
                    let path = format!("/api/v1/sandboxes/{id}");
                    if self.until_answered(|worker, url| worker.http.delete(format!("{url}{path}"))).await.is_some() {
                        self.promises.lock().unwrap().destroyed.insert(id);
                    }
                }
                _ => {}
            }
        }
    }

    async fn act(&mut self, mine: &[String], method: Method, verb: &str) {
        let id = &mine[self.dice.below(mine.len() as u64) as usize];
        let path = format!("/api/v1/sandboxes/{id}{verb}");
        self.until_answered(|worker, url| worker.http.request(method.clone(), format!("{url}{path}"))).await;
    }

    /// Asks again and again, as a careful client does, until there is an answer; nothing once the test is over.
    async fn until_answered(&mut self, request: impl Fn(&Worker, &str) -> reqwest::RequestBuilder) -> Option<String> {
        loop {
            let url = self.address.wait_for(Option::is_some).await.ok()?.clone()?;
            match request(self, &url).bearer_auth(&self.key).send().await {
                Ok(answer) if answer.status().is_success() => {
                    if let Ok(text) = answer.text().await {
                        return Some(text);
                    }
                }
                Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => {}
                Ok(answer) => panic!("{} {}", answer.status(), answer.text().await.unwrap_or_default()),
                // It was killed. The same address again would only be refused: wait for news of the server.
                Err(_) if *self.address.borrow() == Some(url.clone()) => {
                    if self.stop.load(Ordering::SeqCst) {
                        continue;
                    }
                    let _ = tokio::time::timeout(Duration::from_millis(20), self.address.changed()).await;
                }
                Err(_) => {}
            }
        }
    }
}

/// Follows the journal from its beginning across all restarts, and asserts that no cursor is missed or repeated.
async fn read_everything(mut address: Address, key: String, heard: Arc<AtomicU64>) {
    let http = client();
    loop {
        let Ok(url) = address.wait_for(Option::is_some).await.map(|url| url.clone().unwrap()) else { return };
        let after = heard.load(Ordering::SeqCst);
        let request = http.get(format!("{url}/api/v1/events?after=0")).header("Last-Event-ID", after.to_string());
        let Ok(response) = request.bearer_auth(&key).send().await else {
            let _ = tokio::time::timeout(Duration::from_millis(20), address.changed()).await;
            continue;
        };
        let mut events = response.bytes_stream().eventsource();
        while let Some(Ok(event)) = events.next().await {
            assert_ne!(event.event, "reset", "nothing was forgotten");
            if let Ok(entry) = serde_json::from_str::<Entry>(&event.data) {
                let before = heard.swap(entry.cursor.0 as u64, Ordering::SeqCst);
                assert_eq!(entry.cursor.0 as u64, before + 1, "an entry was missed or repeated");
            }
        }
    }
}

/// Waits until no row has anything left to be done, and gives them all.
async fn at_rest(http: &Client, server: &Server) -> BTreeMap<String, SandboxView> {
    loop {
        let mut rows = BTreeMap::new();
        for filter in ["", "&phase=gone"] {
            let mut cursor = String::new();
            loop {
                let path = format!("/sandboxes?limit=1000{filter}{cursor}");
                let page: SandboxPage =
                    ask(http, server, Method::GET, &path).send().await.unwrap().json().await.unwrap();
                rows.extend(page.items.into_iter().map(|view| (view.id.to_string(), view)));
                match page.next {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
        }
        if rows.values().all(|row| row.phase.step_towards(row.want).is_none()) {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn judge(promises: &Promises, rows: &BTreeMap<String, SandboxView>) {
    let mut names = BTreeSet::new();
    for row in rows.values() {
        assert!(names.insert(row.metadata["name"].clone()), "{} was made twice", row.metadata["name"]);
        assert_ne!(row.phase.word(), "failed", "{:?}", row.note);
    }
    for (name, id) in &promises.created {
        assert_eq!(rows.get(id).map(|row| &row.metadata["name"]), Some(name), "an acknowledged sandbox was lost");
    }
    for id in &promises.destroyed {
        assert_eq!(rows[id].phase.word(), "gone", "an acknowledged end was forgotten");
    }
}

fn agree_with_provider(rows: &BTreeMap<String, SandboxView>, folder: &Path) {
    let expected: BTreeMap<_, _> = rows
        .values()
        .filter(|row| matches!(row.phase.word(), "ready" | "paused"))
        .map(|row| (row.id.to_string(), if row.phase.word() == "paused" { "paused" } else { "running" }.to_owned()))
        .collect();
    let seen: BTreeMap<_, _> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap())
        .filter(|file| !file.file_name().to_string_lossy().starts_with('.'))
        .map(|file| (file.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(file.path()).unwrap()))
        .collect();
    assert_eq!(seen, expected, "rows and provider do not agree");
}

fn ask(http: &Client, server: &Server, method: Method, path: &str) -> reqwest::RequestBuilder {
    http.request(method, format!("{}/api/v1{path}", server.url)).bearer_auth(&server.key)
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

/// Small, seeded, good enough to pick moments.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        Dice(jiff::Timestamp::now().as_microsecond() as u64 | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }
}
