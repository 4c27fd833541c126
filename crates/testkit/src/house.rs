//! A house in this process: store, control and doors on a free port.

use std::{net::SocketAddr, num::NonZeroU32, path::Path, sync::Arc, time::Duration};

use carrel_control::{Control, KeysDesk, Patience, Retention, Settings};
use carrel_model::{
    Grant, KeyId,
    breaker::Rules,
    public::{Defaults, SandboxView},
    sandbox::{Lifetime, Limits, Phase},
};
use carrel_sandbox::{
    Provider, Reach, Sighting,
    providers::fake::{self, Fake, Weather},
};
use carrel_store::Store;
use carrel_vault::{Keychain, MasterKey};
use jiff::SignedDuration;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::{Bare, Engine, EngineSetup, EventStream, TestDatabase};

/// How a house is built.
pub struct Setup {
    /// How keepers wait. Short by default: tests do not have all day.
    pub patience: Patience,
    /// How long things are remembered.
    pub retention: Retention,
    /// How long the fake provider takes to create.
    pub create_takes: Duration,
    /// Requests per second and at once that one key may make.
    pub rate: Option<(u32, u32)>,
    /// What a sandbox gets of everything where a request is silent.
    pub limits: Limits,
    /// How work is given out.
    pub work: carrel_control::Workload,
    /// How many steps are taken at once.
    pub steps_at_once: usize,
    /// How many bytes of an exec's output are kept.
    pub transcript_cap: u64,
    /// Where the fake remembers; a folder of its own when absent. Shared by all nodes that are given the same.
    pub shared: Option<std::path::PathBuf>,
    /// Sandboxes in which something runs: then they are what is made where a request is silent.
    pub bare: Option<Arc<Bare>>,
    /// Real sandboxes: then they are what is made where a request is silent.
    pub engine: Option<EngineSetup>,
    /// Which node this is; a new one when absent.
    pub node: Option<carrel_model::NodeId>,
    /// Opens the secrets; the same for all houses of a test that are given none.
    pub keychain: Keychain,
    /// Whether hooks may be on this host.
    pub private_hooks: bool,
    /// How browsers are told.
    pub notices: carrel_control::Notices,
    /// The models that can be asked.
    pub models: carrel_control::Models,
    /// Stands between the house and its provider, to watch or to disturb.
    pub around: Box<dyn Fn(Arc<Fake>) -> Arc<dyn Provider>>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            patience: Patience {
                lease: Duration::from_secs(2),
                sweep: Duration::from_millis(150),
                step: Duration::from_secs(30),
                first_retry: Duration::from_millis(5),
                longest_retry: Duration::from_millis(50),
                tries: 10,
                breaker: Rules { failures: 5, rest: SignedDuration::from_millis(150) },
            },
            retention: Retention::default(),
            create_takes: Duration::ZERO,
            rate: None,
            limits: defaults().limits,
            work: carrel_control::Workload::default(),
            steps_at_once: 16,
            transcript_cap: Settings::TRANSCRIPT_CAP,
            shared: None,
            bare: None,
            engine: None,
            node: None,
            keychain: usual_keychain(),
            private_hooks: false,
            notices: carrel_control::Notices::default(),
            models: carrel_control::Models::default(),
            around: Box::new(|fake| fake),
        }
    }
}

fn usual_keychain() -> Keychain {
    static USUAL: std::sync::OnceLock<Keychain> = std::sync::OnceLock::new();
    USUAL.get_or_init(|| Keychain::new(vec![MasterKey::draw()]).unwrap()).clone()
}

/// A whole house.
pub struct House {
    /// The study.
    pub control: Control,
    /// The memory.
    pub store: Store,
    /// The provider under everything.
    pub fake: Arc<Fake>,
    /// Real sandboxes, where the house was built with them.
    pub engine: Option<Engine>,
    /// Where the doors are.
    pub url: String,
    /// The secret of the admin key.
    pub key: String,
    /// The grant of the admin key.
    pub admin: Grant,
    http: reqwest::Client,
    stop: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<()>,
    folder: tempfile::TempDir,
}

impl House {
    /// Opens a house as tests usually need it.
    pub async fn open(database: &TestDatabase) -> House {
        House::build(database, Setup::default()).await
    }

    /// Opens a house with sandboxes in which something runs.
    pub async fn bare(database: &TestDatabase) -> (House, Arc<Bare>) {
        let bare = Bare::new();
        let setup = Setup { bare: Some(Arc::clone(&bare)), ..Setup::default() };
        (House::build(database, setup).await, bare)
    }

    /// Opens a house as this test needs it.
    pub async fn build(database: &TestDatabase, setup: Setup) -> House {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let reach = if setup.shared.is_some() { Reach::Anywhere } else { Reach::Node };
        let place = setup.shared.clone().unwrap_or_else(|| folder.path().join("fake"));
        let fake = fake::Config { folder: place, create_takes: setup.create_takes, reach };
        let fake = Arc::new(fake.build().unwrap());
        let store = Store::open(database.options()).await.unwrap();
        let mut usual = Defaults { limits: setup.limits, ..defaults() };
        if setup.bare.is_some() {
            usual.provider = "bare".parse().unwrap();
        }
        let engine = match setup.engine {
            Some(how) => {
                usual.provider = "local".parse().unwrap();
                Some(Engine::open(folder.path(), how).await)
            }
            None => None,
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let settings = Settings {
            node: setup.node.unwrap_or_else(carrel_control::new_node_id),
            address: url.clone(),
            defaults: usual,
            patience: setup.patience,
            retention: setup.retention,
            work: setup.work,
            steps_at_once: setup.steps_at_once,
            transcript_cap: setup.transcript_cap,
            library: folder.path().join("library"),
            shared_library: None,
            scratch: folder.path().join("scratch"),
            tools: folder.path().join("tools.yaml"),
            keychain: setup.keychain,
            private_hooks: setup.private_hooks,
            models: setup.models,
            notices: setup.notices,
        };
        // Houses on one database are nodes of one house: they say that they have one library, though none looks into another's.
        std::fs::create_dir_all(&settings.library).unwrap();
        std::fs::write(settings.library.join("id"), &database.options().schema).unwrap();
        let provider = (setup.around)(Arc::clone(&fake));
        let mut providers = vec![("fake".parse().unwrap(), provider)];
        if let Some(bare) = &setup.bare {
            providers.push(("bare".parse().unwrap(), Arc::clone(bare) as Arc<dyn Provider>));
        }
        if let Some(engine) = &engine {
            providers.push(("local".parse().unwrap(), Arc::new(engine.local.clone())));
        }
        let control = Control::open(store.clone(), providers, settings).await.unwrap();
        let secret = KeysDesk::draw_secret();
        let admin = control.keys().adopt_admin(&secret, "admin").await.unwrap().unwrap();

        let (rate, burst) = setup.rate.map_or((None, 1), |(rate, burst)| (NonZeroU32::new(rate), burst));
        let options = carrel_api::Options {
            requests_per_second: rate,
            burst: NonZeroU32::new(burst).unwrap(),
            cookie: "carrel_visit_test".into(),
            secure: false,
            public_authority: None,
            sandbox_domain: None,
            interpreter: None,
            node_authority: None,
            metrics: None,
        };
        if let Some(engine) = &engine {
            engine.hatch.open(carrel_api::hatch(control.clone(), options.clone()));
        }
        let app = carrel_api::router(control.clone(), options).into_make_service_with_connect_info::<SocketAddr>();
        let (stop, stopped) = oneshot::channel();
        let serving = axum::serve(listener, app).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        let served = tokio::spawn(async move { serving.await.unwrap() });
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        House { control, store, fake, engine, url, key: secret.reveal(), admin, http, stop, served, folder }
    }

    /// A request with the admin key. The path begins with `/`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare_request(method, path).bearer_auth(&self.key)
    }

    /// A request with another key.
    pub fn request_as(&self, secret: &str, method: Method, path: &str) -> RequestBuilder {
        self.bare_request(method, path).bearer_auth(secret)
    }

    /// A request without any key.
    pub fn bare_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Sends a request; the status, and the JSON of the answer (`null` when it has none).
    pub async fn ask(&self, request: RequestBuilder) -> (StatusCode, Value) {
        let response = request.send().await.unwrap();
        let status = response.status();
        let body = response.bytes().await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// Runs something in a sandbox, and shows how it went.
    pub async fn execute(&self, sandbox: &SandboxView, body: Value) -> Value {
        let path = format!("/api/v1/sandboxes/{}/execute", sandbox.id);
        let (status, answer) = self.ask(self.request(Method::POST, &path).json(&body)).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    }

    /// A sandbox that is ready.
    pub async fn ready_sandbox(&self) -> SandboxView {
        let request = self.request(Method::POST, "/api/v1/sandboxes?wait=ready").json(&json!({}));
        let (status, body) = self.ask(request).await;
        assert_eq!((status, &body["phase"]), (StatusCode::CREATED, &json!("ready")), "{body}");
        serde_json::from_value(body).unwrap()
    }

    /// A new key with this role; its id and its secret.
    pub async fn mint(&self, body: Value) -> (KeyId, String) {
        let (status, minted) = self.ask(self.request(Method::POST, "/api/v1/keys").json(&body)).await;
        assert_eq!(status, StatusCode::CREATED, "{minted}");
        let id = serde_json::from_value(minted["key"]["id"].clone()).unwrap();
        (id, minted["secret"].as_str().unwrap().to_owned())
    }

    /// Follows the events with the admin key. `query` begins with `?` or is empty.
    pub async fn events(&self, query: &str) -> EventStream {
        EventStream::open(self.request(Method::GET, &format!("/api/v1/events{query}"))).await
    }

    /// Waits until a sandbox is in a phase, however long it takes, and shows it.
    pub async fn until(&self, sandbox: &SandboxView, phase: Phase) -> SandboxView {
        self.until_it(sandbox, |view| view.phase == phase).await
    }

    /// Waits until something is true of a sandbox.
    pub async fn until_it(&self, sandbox: &SandboxView, is_so: impl Fn(&SandboxView) -> bool) -> SandboxView {
        let journal = self.store.journal();
        let mut follower = journal.follow(journal.head());
        loop {
            let row = self.store.sandboxes().find(&sandbox.id).await.unwrap().unwrap();
            let view = SandboxView::from(&row);
            if is_so(&view) {
                return view;
            }
            follower.next().await.unwrap();
        }
    }

    /// Changes the weather over the fake provider.
    pub fn weather(&self, weather: Weather) {
        *self.fake.weather().lock().unwrap() = weather;
    }

    /// The folder of this house.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Closes the house and asserts that rows and provider agree, and that nothing half made is left.
    pub async fn close(self) {
        let House { control, store, fake, engine, stop, served, http, folder, .. } = self;
        let _ = stop.send(());
        control.drain();
        drop(http);
        served.await.unwrap();
        control.close().await;
        if let Some(engine) = engine {
            engine.close().await;
        }
        *fake.weather().lock().unwrap() = Weather::Clear;
        let mut seen: Vec<_> = fake.list().await.unwrap();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        let mut expected: Vec<_> = living(&store)
            .await
            .into_iter()
            .filter(|row| row.spec.provider.as_str() == "fake")
            .filter_map(|row| match row.phase {
                Phase::Ready => Some((row.id, Sighting::Running)),
                Phase::Paused => Some((row.id, Sighting::Paused)),
                _ => None,
            })
            .collect();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(seen, expected, "rows and provider do not agree");
        let files: Vec<_> = std::fs::read_dir(fake.folder()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(files.iter().all(|name| !name.to_string_lossy().starts_with('.')), "half made: {files:?}");
        drop(folder);
    }
}

async fn living(store: &Store) -> Vec<carrel_model::sandbox::Sandbox> {
    let (mut all, mut filter) = (Vec::new(), carrel_store::Filter::default());
    loop {
        let (page, _) = store.sandboxes().list(&filter, 500).await.unwrap();
        let Some(last) = page.last() else { return all };
        filter.before = Some((last.created_at, last.id.clone()));
        all.extend(page);
    }
}

/// What a sandbox gets in tests.
pub fn defaults() -> Defaults {
    Defaults {
        template: "host".parse().unwrap(),
        provider: "fake".parse().unwrap(),
        lifetime: Lifetime::new(3600).unwrap(),
        limits: serde_json::from_value(json!({"cpus": 1, "memory_mb": 256, "disk_mb": 512, "pids": 128})).unwrap(),
    }
}
