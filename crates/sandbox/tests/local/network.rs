//! Whom a sandbox reaches, and whom it never does: asked from inside, by every spelling that is known.

use std::{
    fs,
    net::{IpAddr, TcpListener},
    process::Command,
};

use carrel_model::{
    SandboxId,
    sandbox::{Depth, HostRule, Network, NetworkMode},
};
use carrel_sandbox::Pausing;

use crate::yard::{Ran, Yard};

/// Asks the gateway for lines (`CONNECT`) and prints for each target what it answered: the status and its sentence.
const ASK: &str = r#"
import socket, sys
def ask(target):
    line = socket.create_connection(('127.0.0.1', 49980))
    line.sendall(f'CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n'.encode())
    head, _, body = b'', b'', b''
    while b'\r\n\r\n' not in head:
        piece = line.recv(4096)
        if not piece:
            break
        head += piece
    head, _, body = head.partition(b'\r\n\r\n')
    if b' 200 ' not in head.splitlines()[0] + b' ':
        length = [int(h.split(b':')[1]) for h in head.splitlines() if h.lower().startswith(b'content-length')]
        while length and len(body) < length[0]:
            body += line.recv(4096)
    print(target, head.split(b' ')[1].decode(), body.decode().strip(), sep='\t')
for target in sys.argv[1:]:
    ask(target)
"#;

fn python(script: &str, args: &[String]) -> String {
    let args: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    format!("/usr/bin/python3 - {} <<'ASK'\n{script}\nASK", args.join(" "))
}

async fn create(yard: &Yard, mode: NetworkMode, allow: &[&str]) -> SandboxId {
    let mut spec = yard.spec().await;
    let allow = allow.iter().map(|rule| HostRule::try_from((*rule).to_owned()).unwrap()).collect();
    spec.network = Network { mode, allow, ..Network::default() };
    yard.create(&spec).await
}

/// What the gateway answers to each target: status and sentence.
async fn ask(yard: &Yard, id: &SandboxId, targets: &[String]) -> Vec<(String, u16, String)> {
    let ran = yard.run_as(id, "user", &python(ASK, targets)).await;
    let answers: Vec<_> = ran.out.lines().map(|line| line.split('\t').collect::<Vec<_>>()).collect();
    assert_eq!(answers.len(), targets.len(), "{ran:?}");
    answers.iter().map(|line| (line[0].to_owned(), line[1].parse().unwrap(), line[2].to_owned())).collect()
}

/// Tries to call directly, and prints what the kernel said.
async fn call(yard: &Yard, id: &SandboxId, host: &str, port: u16) -> Ran {
    let script = format!(
        "import socket, errno\ntry:\n  socket.create_connection(({host:?}, {port}), timeout=20)\n  print('ok')\nexcept OSError as e:\n  print(errno.errorcode.get(e.errno, type(e).__name__))"
    );
    yard.run(id, &python(&script, &[])).await
}

/// The addresses of this machine that are not the loopback.
fn own_addresses() -> Vec<IpAddr> {
    let told = Command::new("hostname").arg("-I").output().expect("`hostname` is there");
    String::from_utf8(told.stdout).unwrap().split_whitespace().map(|address| address.parse().unwrap()).collect()
}

/// Fetches by an ordinary client, which finds the proxy in its environment.
fn fetch(host: &str, port: u16, path: &str) -> String {
    let script = format!(
        r"
import urllib.request, urllib.error
try:
    print(urllib.request.urlopen('http://{host}:{port}{path}', timeout=60).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode().strip())
"
    );
    python(&script, &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_network_nobody_is_reached_and_the_gateway_says_why() {
    let yard = Yard::open().await;
    let id = create(&yard, NetworkMode::None, &[]).await;
    for address in ["192.0.2.1", "198.51.100.1", "10.0.0.1", "8.8.8.8"] {
        assert_eq!(call(&yard, &id, address, 80).await.out, "ENETUNREACH\n", "{address}");
    }
    for (target, status, sentence) in ask(&yard, &id, &["example.org:80".into(), "127.0.0.1:80".into()]).await {
        assert_eq!(status, 403, "{target}");
        assert!(sentence.contains("this sandbox has no network"), "{target}: {sentence}");
    }
    // An ordinary program hears it, too: it finds the proxy in its environment.
    let ran = yard.run(&id, &fetch("example.org", 80, "/")).await;
    assert!(ran.out.starts_with("403 this sandbox has no network"), "{ran:?}");
    // What is inside is called without it.
    let serve = "python3 -m http.server 8000 >/dev/null 2>&1 & until python3 -c 'import socket; \
                 socket.create_connection((\"127.0.0.1\", 8000))' 2>/dev/null; do sleep 0.05; done";
    let own = ["localhost", "127.0.0.1", "0.0.0.0"].map(|host| fetch(host, 8000, "/")).join("\n");
    let ran = yard.run(&id, &format!("{serve}\n{own}\nkill %1")).await;
    assert_eq!(ran.out, "200\n200\n200\n", "{ran:?}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_is_never_reached_however_it_is_spelled() {
    let yard = Yard::open().await;
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    // The same port on every address of the host, so that no spelling misses.
    let wide = TcpListener::bind(("::1", port)).ok();
    let own = own_addresses();
    let others: Vec<TcpListener> = own.iter().filter_map(|address| TcpListener::bind((*address, port)).ok()).collect();
    assert_eq!(others.len(), own.len(), "the test listens on every address");
    let mut spellings: Vec<String> = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "0",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0177.0.0.1",
        "127.9.9.9",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "255.255.255.255",
        "224.0.0.1",
        "[fe80::1]",
    ]
    .map(str::to_owned)
    .into();
    spellings
        .extend(own.iter().map(|address| if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }));
    // Every name that this machine itself gives to the loopback.
    let hosts = fs::read_to_string("/etc/hosts").unwrap();
    let names = hosts.lines().filter(|line| line.starts_with("127.") || line.starts_with("::1"));
    spellings.extend(names.flat_map(|line| line.split_whitespace().skip(1)).map(str::to_owned));
    let targets: Vec<String> = spellings.iter().map(|host| format!("{host}:{port}")).collect();

    // Not even when somebody writes it on the list.
    let open = create(&yard, NetworkMode::Open, &[]).await;
    let listed =
        create(&yard, NetworkMode::Allow, &["localhost", "127.0.0.1", "0.0.0.0", "169.254.169.254", "2130706433"])
            .await;
    let none = create(&yard, NetworkMode::None, &[]).await;
    for id in [&open, &listed, &none] {
        for (target, status, sentence) in ask(&yard, id, &targets).await {
            // What is no address and no name of anything is told so; a wrong request is told so.
            assert!(matches!(status, 400 | 403 | 502), "{target}: {status} {sentence}");
        }
        assert_eq!(call(&yard, id, "127.0.0.1", port).await.out, "ECONNREFUSED\n");
        for address in &own {
            assert_eq!(call(&yard, id, &address.to_string(), port).await.out, "ENETUNREACH\n");
        }
    }
    let plain = yard.run(&open, &fetch("localhost.", port, "/")).await;
    assert!(plain.out.starts_with("403 ") && plain.out.contains("the host itself"), "{plain:?}");
    for listener in [&service].into_iter().chain(&wide).chain(&others) {
        listener.set_nonblocking(true).unwrap();
        let seen = listener.accept().map(|(_, from)| from);
        assert!(seen.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "{seen:?}");
    }
    yard.close().await;
}

#[test]
fn a_list_is_kept_to_the_port() {
    World::around("a_list_is_kept_to_the_port", list_to_the_port);
}

async fn list_to_the_port() {
    let yard = Yard::open().await;
    let host = World::NAME;
    let id = create(&yard, NetworkMode::Allow, &[host]).await;
    let ran = yard.run_as(&id, "user", &fetch(host, 80, "/")).await;
    assert_eq!(ran.out, "200\n", "{ran:?}");
    let other = ask(&yard, &id, &["unlisted.example:80".into(), format!("x.{host}:80"), "203.0.113.9:80".into()]).await;
    for (target, status, sentence) in other {
        assert_eq!(status, 403, "{target}");
        assert!(sentence.contains("is not on the list"), "{target}: {sentence}");
    }
    let id = create(&yard, NetworkMode::Allow, &[&format!("{host}:443")]).await;
    let ran = yard.run_as(&id, "user", &fetch(host, 80, "/")).await;
    assert!(ran.out.starts_with("403 ") && ran.out.contains("is not on the list"), "{ran:?}");
    yard.close().await;
}

#[test]
fn an_open_network_reaches_the_public_and_not_the_private() {
    World::around("an_open_network_reaches_the_public_and_not_the_private", public_and_not_private);
}

async fn public_and_not_private() {
    let yard = Yard::open().await;
    let id = create(&yard, NetworkMode::Open, &[]).await;
    let ran = yard.run_as(&id, "user", &fetch(World::NAME, 80, "/")).await;
    assert_eq!(ran.out, "200\n", "{ran:?}");
    let private =
        ["10.0.0.1:80", "192.168.1.1:80", "172.16.0.1:80", "100.64.0.1:80", "[fd00::1]:80"].map(str::to_owned);
    for (target, status, sentence) in ask(&yard, &id, &private).await {
        assert_eq!(status, 403, "{target}");
        assert!(sentence.contains("private network"), "{target}: {sentence}");
    }
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_do_not_reach_each_others_ports() {
    let yard = Yard::open().await;
    let (one, two) = (create(&yard, NetworkMode::Open, &[]).await, create(&yard, NetworkMode::Open, &[]).await);
    let serve = "/usr/bin/python3 -m http.server 8123 --bind 0.0.0.0 >/dev/null 2>&1 &";
    yard.run(&one, serve).await;
    while call(&yard, &one, "127.0.0.1", 8123).await.out != "ok\n" {}
    assert_eq!(call(&yard, &two, "127.0.0.1", 8123).await.out, "ECONNREFUSED\n");
    let (_, status, _) = ask(&yard, &two, &["127.0.0.1:8123".into()]).await.remove(0);
    assert_eq!(status, 403);
    yard.close().await;
}

/// A world outside: a network namespace with a cable to this host, in which somebody serves.
struct World {
    name: String,
    server: std::process::Child,
}

impl World {
    const HOST: &str = "203.0.113.1";
    const SERVER: &str = "203.0.113.2";
    /// How the server is called, where `/etc/hosts` knows it.
    const NAME: &str = "world.example.org";

    /// Runs a test beside a world that is its own: this program again, with a network and names that nobody else sees.
    fn around<F: Future<Output = ()>>(name: &str, test: fn() -> F) {
        if std::env::var_os("CARREL_TEST_WORLD").is_some() {
            let _world = World::build();
            tokio::runtime::Runtime::new().unwrap().block_on(test());
            return;
        }
        let hosts = tempfile::NamedTempFile::new().unwrap();
        fs::write(&hosts, format!("127.0.0.1 localhost\n{} {}\n", World::SERVER, World::NAME)).unwrap();
        let enter = "mount --bind \"$1\" /etc/hosts && ip link set lo up && exec \"$2\" --exact \"$3\" --nocapture";
        let told = Command::new("unshare")
            .args(["--mount", "--net", "sh", "-c", enter, "sh"])
            .arg(hosts.path())
            .arg(std::env::current_exe().unwrap())
            .arg(format!("network::{name}"))
            .env("CARREL_TEST_WORLD", "1")
            .output()
            .unwrap();
        let said = [told.stdout, told.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(told.status.success() && said[0].contains("1 passed"), "{}\n{}", said[0], said[1]);
    }

    fn build() -> World {
        let name = format!("world-{}", std::process::id());
        let ip = |args: &str| {
            let told = Command::new("ip").args(args.split_whitespace()).output().expect("`ip` is there");
            assert!(told.status.success(), "ip {args}: {}", String::from_utf8_lossy(&told.stderr));
        };
        ip(&format!("netns add {name}"));
        ip(&format!("link add world0 type veth peer name eth0 netns {name}"));
        ip(&format!("addr add {}/24 dev world0", World::HOST));
        ip("link set world0 up");
        ip(&format!("-n {name} addr add {}/24 dev eth0", World::SERVER));
        ip(&format!("-n {name} link set eth0 up"));
        // Port 80 speaks HTTP; port 81 tells who calls.
        let script = r"
import http.server, socket, threading
who = socket.create_server(('0.0.0.0', 81))
def tell():
    while True:
        line, caller = who.accept()
        line.sendall(caller[0].encode())
        line.close()
threading.Thread(target=tell, daemon=True).start()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header('content-length', '0')
        self.end_headers()
web = http.server.ThreadingHTTPServer(('0.0.0.0', 80), Answer)
print('up', flush=True)
web.serve_forever()
";
        let mut server = Command::new("ip")
            .args(["netns", "exec", &name, "python3", "-c", script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut up = [0; 3];
        std::io::Read::read_exact(server.stdout.as_mut().unwrap(), &mut up).unwrap();
        World { name, server }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("ip").args(["link", "del", "world0"]).status();
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interface_of_its_own_reaches_the_world_and_nobody_close() {
    let world = World::build();
    let forwarded = fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap();
    let yard = Yard::open().await;
    let mut spec = yard.spec().await;
    spec.network = Network { mode: NetworkMode::Open, interface: true, ..Network::default() };
    let (one, two) = (yard.create(&spec).await, yard.create(&spec).await);

    let script = format!(
        "import socket\nprint(socket.create_connection(({:?}, 81), timeout=20).recv(99).decode())",
        World::SERVER
    );
    let ran = yard.run(&one, &python(&script, &[])).await;
    assert_eq!(ran.out.trim(), World::HOST, "the world sees the host's address: {ran:?}");
    let env = yard.run(&one, "env | grep -ci proxy").await;
    assert_eq!(env.out.trim(), "0", "programs go straight");

    // The host listens on all its addresses; a sandbox serves its neighbour.
    let service = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let address = yard.run(&two, "ip -4 -o addr show eth0 | grep -o '198[0-9.]*'").await.out.trim().to_owned();
    yard.run(&two, "python3 -m http.server 8000 --bind 0.0.0.0 >/dev/null 2>&1 &").await;
    let gateway = yard.run(&one, "ip route | grep -o 'via [0-9.]*' | cut -c5-").await.out.trim().to_owned();
    let mut closed = vec![World::HOST.to_owned(), gateway, "169.254.169.254".into(), "10.1.2.3".into()];
    closed.extend(own_addresses().iter().filter(|address| address.is_ipv4()).map(ToString::to_string));
    let closed: Vec<_> = closed.into_iter().map(|host| (host, port)).chain([(address, 8000)]).collect();
    let script = "import socket, sys\nfor host, port in zip(sys.argv[1::2], sys.argv[2::2]):\n  try:\n    socket.create_connection((host, int(port)), timeout=1); print('reached', host, port)\n  except OSError: pass";
    let args: Vec<String> = closed.iter().flat_map(|(host, port)| [host.clone(), port.to_string()]).collect();
    let ran = yard.run(&one, &python(script, &args)).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");

    // Nobody inside changes it, and it comes back after a night.
    assert_ne!(yard.run(&one, "ip link set eth0 down").await.code, 0);
    yard.local.pause(&one, Depth::Files).await.unwrap();
    yard.local.resume(&one).await.unwrap();
    let script = format!("import socket; socket.create_connection(({:?}, 80), timeout=20)", World::SERVER);
    assert_eq!(yard.run(&one, &python(&script, &[])).await.code, 0);
    yard.close().await;

    drop(world);
    let left = Command::new("nft").args(["list", "tables"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&left.stdout).contains("carrel"), "the rules are gone");
    let cables = fs::read_dir("/sys/class/net").unwrap().flatten().map(|entry| entry.file_name());
    assert!(!cables.into_iter().any(|name| name.to_string_lossy().starts_with("crl")), "the cables are gone");
    assert_eq!(fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap(), forwarded);
}
