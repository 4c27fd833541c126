//! `carrel serve`: opens the house, opens the doors, and closes both without cutting anybody off.

use std::{io::IsTerminal, net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use carrel_control::{Control, KeysDesk, Settings};
use carrel_model::ProviderName;
use carrel_sandbox::{
    Provider, Reach,
    egress::Hatch,
    providers::{fake, local, oci},
};
use carrel_store::{Database, Options, Store};
use futures::future::BoxFuture;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tracing_subscriber::{EnvFilter, Layer};

use crate::{
    cli::ServeArgs,
    config::{Config, Understood, understand},
    data::DataDir,
    failure::{Exit, Failure},
    say,
    spans::Spans,
    tls,
};

/// The verb that makes this program the launcher of a server. It is for the server alone.
pub(crate) const LAUNCHER: &str = "launcher";

/// The verb that makes this program the code interpreter inside a sandbox. It is for templates alone.
pub(crate) const INTERPRETER: &str = "interpreter";

/// What is to be done in a house that is opened for nothing else. It is given the address.
pub(crate) type Errand = Box<dyn FnOnce(String) -> BoxFuture<'static, Result<(), Failure>> + Send>;

/// Serves until somebody ends it, or until the errand is done.
pub(crate) async fn serve(data: DataDir, args: ServeArgs, errand: Option<Errand>) -> Result<(), Failure> {
    let flags = [
        ("server.listen", args.listen),
        ("database.url", args.database),
        ("nodes.redis", args.redis),
        ("nodes.library", args.library),
        ("nodes.url", args.node_url),
        ("server.tls_cert", args.tls_cert),
        ("server.tls_key", args.tls_key),
    ];
    let Understood { mut config, warnings, .. } = understand(&data, args.config.as_deref(), &flags)?;
    if errand.is_some() && config.log.level == "info" {
        config.log.level = "warn".into();
    }
    let ahead = match config.local.interpreter.as_str() {
        "ahead" => true,
        "asked" => false,
        other => {
            let sentence = format!("local.interpreter: `{other}` is no time to make a template");
            return Err(Failure::new(sentence).hint("write `asked` or `ahead`").exit(Exit::Usage));
        }
    };
    let spans = start_log(&config)?;
    // Whatever is made from here on is for this user alone.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    for warning in warnings.into_iter().chain(crate::e2b::warnings(&config)) {
        tracing::warn!("{warning}");
    }
    data.make()?;
    data.warn_if_open_to_others();
    let _lock = data.lock()?;
    let _alone = data.alone(&data.node()?)?;
    // From here on an end is an orderly one, also before anybody was greeted.
    let mut ends = Ends::listen()?;
    let metrics = record_numbers()?;
    let tls = tls::config(&config.server.tls_cert, &config.server.tls_key)?;
    let (listener, address) = listen(&config.server.listen).await?;
    let front = front_address(&config, address);
    let options = doors(&config, address, &front, metrics)?;
    let opening = say::progress("opening the house");
    let patience = Duration::from_secs(config.server.drain_s.get());
    let Some((store, control, engines)) = open_unless_ended(&data, &config, &front, &mut ends, patience).await? else {
        return Ok(());
    };
    opening.finish_and_clear();

    if let Err(failure) = greet(&data, &config, &control, &front, errand.is_some(), args.open).await {
        put_away(store, control, engines, patience).await;
        return Err(failure);
    }
    if let (true, Some(interpreter)) = (ahead && errand.is_none(), options.interpreter.clone()) {
        let control = control.clone();
        tokio::spawn(async move { carrel_api::prepare_ahead(&control, &interpreter).await });
    }
    engines.hatch.open(carrel_api::hatch(control.clone(), options.clone()));
    let app = carrel_api::router(control.clone(), options);
    let entrance = carrel_api::Entrance::new(listener, control.draining());
    let entrance = entrance.map_err(|error| Failure::new(format!("the entrance cannot be opened: {error}")))?;
    let entrance = match tls {
        Some(tls) => entrance.with_tls(tls),
        None => entrance,
    };
    let drain = control.clone();
    let notice = Duration::from_millis(config.server.notice_ms.get());
    let (told, mut was_told) = tokio::sync::watch::channel(false);
    let headers_within = Duration::from_secs(config.server.headers_s.get());
    let errands = errand.is_some();
    let (report, reported) = tokio::sync::oneshot::channel();
    let serving = carrel_api::attend(entrance, app, headers_within, async move {
        let errand = async {
            match errand {
                Some(errand) => drop(report.send(errand(front).await)),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = ends.first() => say::aside("carrel: finishing what is in flight; once more to stop at once"),
            () = errand => {}
        }
        drain.drain();
        let _ = told.send(true);
        // Connections that are open now hear of it with their next answer, and are not cut in the middle of a question.
        tokio::time::sleep(notice).await;
        tokio::spawn(async move {
            ends.first().await;
            std::process::exit(130);
        });
    });
    let too_long = async {
        let _ = was_told.wait_for(|told| *told).await;
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        () = serving => {}
        () = too_long => tracing::warn!("some requests did not end in {patience:?}; they are cut"),
    }
    put_away(store, control, engines, patience).await;
    spans.close().await;
    match (errands, reported.await) {
        (false, _) => Ok(()),
        (true, Ok(done)) => done,
        (true, Err(_)) => {
            Err(Failure::new("it was interrupted; the same command goes on with it").exit(Exit::Interrupted))
        }
    }
}

/// Opens the house, unless somebody ends it meanwhile. What is half open then is opened before it is closed, unless that
/// takes too long or somebody insists: a filesystem may be mounted by now.
async fn open_unless_ended(
    data: &DataDir,
    config: &Config,
    front: &str,
    ends: &mut Ends,
    patience: Duration,
) -> Result<Option<(Store, Control, Engines)>, Failure> {
    let mut house = pin!(open_house(data, config, front));
    tokio::select! {
        opened = &mut house => return opened.map(Some),
        () = ends.first() => {}
    }
    let opened = tokio::select! {
        opened = tokio::time::timeout(patience, house) => opened,
        () = ends.first() => return Ok(None),
    };
    if let Ok(Ok((store, control, engines))) = opened {
        put_away(store, control, engines, patience).await;
    }
    Ok(None)
}

/// Closes a house that nobody comes to any more.
async fn put_away(store: Store, control: Control, engines: Engines, patience: Duration) {
    if tokio::time::timeout(patience, control.close()).await.is_err() {
        tracing::warn!("some steps did not end in {patience:?}; the next start takes them up");
    }
    engines.close().await;
    store.close().await;
}

/// Where the database of a house is.
pub(crate) fn database_of(data: &DataDir, config: &Config) -> Result<Database, Failure> {
    Ok(match config.database.url.as_str() {
        "" => Database::Sqlite(data.path().join("carrel.db")),
        url => Database::parse(url)?,
    })
}

async fn open_house(data: &DataDir, config: &Config, front: &str) -> Result<(Store, Control, Engines), Failure> {
    if !["local", "oci", "e2b", "fake"].contains(&config.sandboxes.provider.as_str()) {
        let sentence = format!("there is no provider `{}`", config.sandboxes.provider);
        let hint = "sandboxes.provider: this build has `local`, `oci`, `e2b` and `fake`";
        return Err(Failure::new(sentence).hint(hint).exit(Exit::Usage));
    }
    let database = database_of(data, config)?;
    let options = Options {
        schema: config.database.schema.clone(),
        connections: config.database.connections.get() as u32,
        redis: config.nodes.redis.reveal().map(str::to_owned),
        ..Options::new(database)
    };
    let store = Store::open(&options).await?;
    let settings = Settings {
        node: data.node()?,
        address: node_address(config, front)?,
        defaults: config.defaults(),
        patience: config.patience(),
        retention: config.retention(),
        work: config.work(),
        steps_at_once: config.keepers.at_once.get() as usize,
        transcript_cap: Settings::TRANSCRIPT_CAP,
        library: data.path().join("library"),
        shared_library: config.shared_library(),
        scratch: data.path().join("scratch"),
        tools: data.path().join("tools.yaml"),
        keychain: data.keychain()?,
        private_hooks: config.hooks.private,
        models: crate::models::understood(config)?,
        notices: notices(config),
    };
    let name = |name: &str| name.parse::<ProviderName>().expect("a good name");
    let fake: Arc<dyn Provider> = Arc::new(open_fake(data, config)?);
    let mut providers = vec![(name("fake"), fake)];
    let hatch = Hatch::default();
    let local = match open_local(data, config, hatch.clone()).await {
        Ok(local) => {
            providers.push((name("local"), Arc::new(local.clone())));
            Some(local)
        }
        Err(error) if config.sandboxes.provider.as_str() == "local" => return Err(error),
        Err(error) => {
            tracing::warn!("{error}");
            None
        }
    };
    let mut engines = Engines { local, oci: None, hatch };
    let control = async {
        if let Some(local) = &engines.local {
            engines.oci = open_oci(data, config, local, engines.hatch.clone()).await?;
        }
        let oci = engines.oci.iter().map(|oci| (name("oci"), Arc::new(oci.clone()) as Arc<dyn Provider>));
        providers.extend(oci);
        let e2b = crate::e2b::open(config, store.mark().await?, front)?;
        providers.push((name("e2b"), Arc::new(e2b)));
        Ok::<_, Failure>(Control::open(store.clone(), providers, settings).await?)
    };
    match control.await {
        Ok(control) => Ok((store, control, engines)),
        Err(failure) => {
            // What was opened before the trouble is put away again.
            engines.close().await;
            store.close().await;
            Err(failure)
        }
    }
}

/// The providers that have something to put away at the end.
struct Engines {
    local: Option<local::Local>,
    oci: Option<oci::Oci>,
    /// Leads from their sandboxes to our doors.
    hatch: Hatch,
}

impl Engines {
    async fn close(self) {
        self.hatch.close();
        if let Some(oci) = self.oci {
            oci.close().await;
        }
        if let Some(local) = self.local {
            local.close().await;
        }
    }
}

/// A container runtime, when there is one and nobody said otherwise. It shares the templates of the local provider.
async fn open_oci(
    data: &DataDir,
    config: &Config,
    local: &local::Local,
    hatch: Hatch,
) -> Result<Option<oci::Oci>, Failure> {
    let runtime = match config.oci.runtime.as_str() {
        "none" => return Ok(None),
        // Without root there is nothing to be had, and without gVisor nothing that the local provider has not.
        "auto" if !rustix::process::geteuid().is_root() || !crate::doctor::in_path("runsc") => return Ok(None),
        "auto" => None,
        path => Some(PathBuf::from(path)),
    };
    let settings = oci::Config {
        folder: data.path().join("oci"),
        house: format!("{}-oci", data.node()?),
        runtime,
        shelves: local.shelves(),
        disk: local::DiskChoice::Folder,
        hatch,
    };
    let opened = settings.build().await;
    opened.map(Some).map_err(|error| {
        Failure::new(format!("the container runtime's sandboxes cannot be opened: {error}"))
            .hint("`CARREL_OCI_RUNTIME=none` goes without")
    })
}

async fn open_local(data: &DataDir, config: &Config, hatch: Hatch) -> Result<local::Local, Failure> {
    let disk = match (config.local.disk.as_str(), config.local.disk_gb.get()) {
        ("auto", 0) => local::DiskChoice::Auto,
        ("folder", _) => local::DiskChoice::Folder,
        // Whoever says how large an image may be wants one.
        ("auto" | "image", size) => local::DiskChoice::Image((size > 0).then_some(size << 30)),
        (other, _) => {
            let sentence = format!("local.disk: `{other}` is not a kind of disk");
            return Err(Failure::new(sentence).hint("write `auto`, `folder` or `image`").exit(Exit::Usage));
        }
    };
    let program = std::env::current_exe();
    let program = program.map_err(|error| Failure::new(format!("this program cannot find itself: {error}")))?;
    let settings = local::Config {
        folder: data.path().join("local"),
        // Cgroups are the machine's: the node's name keeps those of two houses apart.
        house: data.node()?.to_string(),
        launcher: (program, vec![LAUNCHER.into()]),
        pool: local::PoolSize {
            target: config.local.pool.get() as usize,
            cap: config.local.pool_cap.get() as usize,
            shells: config.local.shells.get() as usize,
        },
        disk,
        hatch,
    };
    settings.build().await.map_err(|error| {
        Failure::new(format!("sandboxes cannot be made on this machine: {error}"))
            .hint("`carrel doctor` says what is missing; `CARREL_SANDBOXES_PROVIDER=fake` goes without")
    })
}

fn open_fake(data: &DataDir, config: &Config) -> Result<fake::Fake, Failure> {
    let folder = match config.fake.folder.as_str() {
        "" => data.path().join("fake"),
        folder => PathBuf::from(folder),
    };
    let reach = if config.fake.shared { Reach::Anywhere } else { Reach::Node };
    let settings = fake::Config { folder, create_takes: Duration::from_millis(config.fake.create_ms.get()), reach };
    settings.build().map_err(|error| Failure::new(format!("the fake provider has no folder: {error}")))
}

/// Where other nodes reach this one.
fn node_address(config: &Config, front: &str) -> Result<String, Failure> {
    let address = if config.nodes.url.is_empty() { front } else { config.nodes.url.trim_end_matches('/') };
    match reqwest::Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() && url.path() == "/" => {
            Ok(address.to_owned())
        }
        _ => Err(Failure::new(format!("nodes.url: `{address}` is not an address of a server"))
            .hint("write it like http://10.0.0.5:7070")
            .exit(Exit::Usage)),
    }
}

async fn listen(address: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let trouble = |error: std::io::Error| {
        let sentence = format!("cannot listen on {address}: {error}");
        Failure::new(sentence).hint("give another address with --listen, such as 127.0.0.1:7071").exit(Exit::Conflict)
    };
    let listener = TcpListener::bind(address).await.map_err(trouble)?;
    let bound = listener.local_addr().map_err(trouble)?;
    Ok((listener, bound))
}

/// What browsers and clients see.
fn front_address(config: &Config, address: SocketAddr) -> String {
    if !config.server.public_url.is_empty() {
        return config.server.public_url.trim_end_matches('/').to_owned();
    }
    let mut shown = address;
    if address.ip().is_unspecified() {
        shown.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let scheme = if config.server.tls_cert.is_empty() { "http" } else { "https" };
    format!("{scheme}://{shown}")
}

fn doors(
    config: &Config,
    address: SocketAddr,
    front: &str,
    metrics: PrometheusHandle,
) -> Result<carrel_api::Options, Failure> {
    let (requests_per_second, burst) = config.request_rate();
    let secure = front.starts_with("https://");
    // With this beginning a browser takes the cookie from nobody but us, not from a sandbox with a name below ours either.
    let before = if secure { "__Host-" } else { "" };
    let node_authority = match config.nodes.ca.as_str() {
        "" => None,
        file => Some(
            std::fs::read(file)
                .map_err(|error| Failure::new(format!("nodes.ca: {file} cannot be read: {error}")).exit(Exit::Usage))?,
        ),
    };
    Ok(carrel_api::Options {
        requests_per_second,
        burst,
        cookie: format!("{before}carrel_visit_{}", address.port()),
        secure,
        public_authority: front.split_once("://").map(|(_, authority)| authority.to_owned()),
        sandbox_domain: Some(config.server.sandbox_domain.clone()).filter(|domain| !domain.is_empty()),
        interpreter: std::env::current_exe().ok().map(|program| carrel_api::Interpreter {
            program,
            verb: INTERPRETER.to_owned(),
            startup: carrel_interpreter::PYTHON_STARTUP.to_owned(),
        }),
        node_authority,
        metrics: Some(metrics),
    })
}

/// Makes sure this user has a key, and tells where everything is.
async fn greet(
    data: &DataDir,
    config: &Config,
    control: &Control,
    front: &str,
    silent: bool,
    open: bool,
) -> Result<(), Failure> {
    let secret = match data.admin_key()? {
        Some(secret) => secret,
        None => {
            // The file first: a key that is in the house but with nobody would be lost for good.
            let secret = KeysDesk::draw_secret();
            data.write_admin_key(&secret)?;
            secret
        }
    };
    if silent {
        control.keys().adopt_admin(&secret, "admin").await?;
        return Ok(());
    }
    say::line(format_args!("Carrel is ready at {front}"));
    match control.keys().adopt_admin(&secret, "admin").await? {
        Some(grant) => {
            let link = control.keys().link(&grant).await?;
            let link = format!("{front}/app/sign-in#code={}", link.code);
            say::line(format_args!("  Sign in   {link}"));
            say::line("            works once, within an hour; `carrel sign-in` prints another");
            if open {
                open_browser(&link);
            }
        }
        None => say::line("  Sign in   the key in admin.key was revoked or rotated; use another with CARREL_KEY"),
    }
    say::line(format_args!("  Key       {}", data.path().join("admin.key").display()));
    let database = match config.database.url.as_str() {
        "" => data.path().join("carrel.db").display().to_string(),
        url => Database::parse(url)?.to_string(),
    };
    say::line(format_args!("  Database  {database}"));
    say::line(format_args!("  API       {front}/docs"));
    Ok(())
}

pub(crate) fn open_browser(link: &str) {
    let opened = std::process::Command::new("xdg-open")
        .arg(link)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if opened.is_err() {
        say::aside("carrel: no browser could be opened; use the link above");
    }
}

fn start_log(config: &Config) -> Result<Spans, Failure> {
    let level = &config.log.level;
    // A lone word that is no level would be taken for the name of a module, and silence all others.
    let is_word = !level.contains(['=', ',']);
    let known = !is_word || level.parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    let filter = if is_word { format!("{level},sqlx=warn,rmcp=warn") } else { level.clone() };
    let filter = EnvFilter::try_new(filter).map_err(|error| error.to_string());
    let filter = filter.and_then(|filter| if known { Ok(filter) } else { Err(format!("`{level}` is not a level")) });
    let filter = filter.map_err(|error| {
        Failure::new(format!("log.level: {error}"))
            .hint("write `info`, `debug` or `carrel_control=debug`")
            .exit(Exit::Usage)
    })?;
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    match config.log.format.as_str() {
        "json" => Spans::beside(lines.json().with_filter(filter).boxed()),
        "text" => Spans::beside(lines.with_filter(filter).boxed()),
        other => {
            let sentence = format!("log.format: `{other}` is not a format");
            Err(Failure::new(sentence).hint("write `text` or `json`").exit(Exit::Usage))
        }
    }
}

/// A carrier of notices wants to know whom to write to: the address of the house, where it has one that others can open.
fn notices(config: &Config) -> carrel_control::Notices {
    let usual = carrel_control::Notices::default();
    let public = config.server.public_url.trim_end_matches('/');
    if public.starts_with("https://") { carrel_control::Notices { contact: public.to_owned(), ..usual } } else { usual }
}

fn record_numbers() -> Result<PrometheusHandle, Failure> {
    let steps = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
    let recorder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &steps)
        .and_then(|builder| builder.install_recorder());
    let handle = recorder.map_err(|error| Failure::new(format!("numbers cannot be recorded: {error}")))?;
    let upkeep = handle.clone();
    tokio::spawn(async move {
        let mut round = tokio::time::interval(Duration::from_secs(5));
        loop {
            round.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(handle)
}

/// The signals that end a server.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    fn listen() -> Result<Self, Failure> {
        let trouble = |error| Failure::new(format!("signals cannot be heard: {error}"));
        Ok(Ends {
            terminate: signal(SignalKind::terminate()).map_err(trouble)?,
            interrupt: signal(SignalKind::interrupt()).map_err(trouble)?,
        })
    }

    async fn first(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
