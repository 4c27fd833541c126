"""Whom sandboxes may talk to: by name, by range, changed while they run, and with headers that they never see."""

import threading
import time
import urllib.error
import urllib.request
import uuid

import pytest
from e2b import ALL_TRAFFIC, Sandbox, SandboxException, Secret, SecretException, SecretNotFoundException


def ask(sandbox, address, more=""):
    """What the gateway or the world says to one request."""
    return sandbox.commands.run(f"curl -sS -m 20 {more} http://{address}/ 2>&1; true").stdout


def test_a_network_is_replaced_while_a_sandbox_runs(make, world):
    sandbox = make()
    assert "hello from the world" in ask(sandbox, world.address)
    sandbox.update_network({"deny_out": [ALL_TRAFFIC]})
    assert "no network" in ask(sandbox, world.address)
    assert sandbox.get_info().network["deny_out"] == ["0.0.0.0/0"]
    sandbox.update_network({"allow_out": [world.address], "deny_out": [ALL_TRAFFIC]})
    assert "hello from the world" in ask(sandbox, world.address)
    assert "not on the list" in ask(sandbox, "example.net")
    sandbox.update_network({})
    assert sandbox.get_info().network["deny_out"] == [], "what is left out is cleared"
    sandbox.update_network({"allow_internet_access": False})
    assert sandbox.get_info().network["deny_out"] == ["0.0.0.0/0"]
    assert Sandbox.update_network(sandbox.sandbox_id, {"allow_out": ["example.org"], "deny_out": ["0.0.0.0/0"]}) is None


def test_what_has_no_network_can_be_given_one(make, world):
    sandbox = make(allow_internet_access=False)
    assert "this sandbox has no network" in ask(sandbox, world.address), "an ordinary program hears why"
    sandbox.update_network({})
    assert "hello from the world" in ask(sandbox, world.address)


def test_ranges_of_addresses_are_allowed_and_denied(make, world):
    sandbox = make(network={"allow_out": [world.range], "deny_out": [ALL_TRAFFIC]})
    assert "hello from the world" in ask(sandbox, world.address)
    assert "not on the list" in ask(sandbox, "8.8.8.8")
    assert sandbox.get_info().network["allow_out"] == [world.range]
    sandbox.update_network({"deny_out": [world.range, "8.8.0.0/16"]})
    assert "may not reach" in ask(sandbox, world.address)
    assert "may not reach" in ask(sandbox, "8.8.8.8")
    sandbox.update_network({"deny_out": [world.range], "allow_out": [world.address]})
    assert "hello from the world" in ask(sandbox, world.address), "what is allowed beats what is denied"
    for wrong in ({"allow_out": ["example.org"]}, {"allow_out": ["*.example.org"], "deny_out": ["10.0.0.0/8"]}):
        with pytest.raises(SandboxException, match="everything else would stay open"):
            sandbox.update_network(wrong)
        with pytest.raises(SandboxException, match="everything else would stay open"):
            Sandbox.create(network=wrong)
    for wrong in ({"deny_out": ["example.org"]}, {"deny_out": ["10.0.0.0/99"]}, {"allow_out": ["http://x"]}):
        with pytest.raises(SandboxException):
            sandbox.update_network(wrong)


def test_a_connection_that_is_not_allowed_any_more_is_cut(make, world):
    sandbox = make()
    heard = []
    handle = sandbox.commands.run(f"curl -sS -N http://{world.address}/forever 2>&1", background=True, timeout=0)
    reader = threading.Thread(target=lambda: heard.extend(out or err for out, err, _ in handle), daemon=True)
    reader.start()
    end = time.monotonic() + 30
    while not heard and time.monotonic() < end:
        time.sleep(0.05)
    assert heard and "tick" in heard[0]
    sandbox.update_network({"deny_out": [ALL_TRAFFIC]})
    reader.join(30)
    assert not reader.is_alive(), "it goes on although nobody may be reached"


def test_the_network_of_one_that_sleeps_stays(make):
    sandbox = make()
    sandbox.pause()
    with pytest.raises(SandboxException, match="paused"):
        sandbox.update_network({})
    with pytest.raises(SandboxException):
        Sandbox.update_network("i0000000000000000000", {})


def test_requests_to_ports_name_the_host_that_is_wanted(make, url):
    sandbox = make(network={"mask_request_host": "app.example.org:${PORT}"})
    assert sandbox.get_info().network["mask_request_host"] == "app.example.org:${PORT}"
    script = "import http.server as h\nclass A(h.BaseHTTPRequestHandler):\n  def do_GET(s):\n    b=s.headers['host'].encode(); s.send_response(200); s.send_header('content-length',str(len(b))); s.end_headers(); s.wfile.write(b)\nh.HTTPServer(('127.0.0.1',8000),A).serve_forever()"
    sandbox.files.write("serve.py", script)
    sandbox.commands.run("python3 serve.py", background=True, timeout=0)
    sandbox.commands.run("until curl -s localhost:8000 >/dev/null; do sleep 0.1; done")
    request = urllib.request.Request(url, headers={"Host": sandbox.get_host(8000)})
    assert urllib.request.urlopen(request).read() == b"app.example.org:8000"


SECURE = """
import http.server, ssl
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("content-length", "6"); self.end_headers(); self.wfile.write(b"secure")
server = http.server.HTTPServer(("127.0.0.1", 8443), Answer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def test_a_port_that_speaks_tls_itself_is_reached_and_one_that_does_not_says_so(make, url, world):
    sandbox = make(network={"https_ports": [8443, 8000]})
    assert sandbox.get_info().network["https_ports"] == [8443, 8000]
    for name in ("cert.pem", "key.pem"):
        with open(f"{world.folder}/{name}") as somebodys:
            sandbox.files.write(name, somebodys.read())
    sandbox.files.write("serve.py", SECURE)
    sandbox.commands.run("python3 serve.py", background=True, timeout=0)
    sandbox.commands.run("python3 -m http.server 8000 --bind 127.0.0.1", background=True, timeout=0)
    sandbox.commands.run("until curl -sk https://localhost:8443 >/dev/null && curl -s localhost:8000 >/dev/null; do sleep 0.1; done")
    request = urllib.request.Request(url, headers={"Host": sandbox.get_host(8443)})
    assert urllib.request.urlopen(request).read() == b"secure"
    request = urllib.request.Request(url, headers={"Host": sandbox.get_host(8000)})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 502 and b"does not speak TLS" in refused.value.read()
    with pytest.raises(SandboxException):
        Sandbox.create(network={"https_ports": [0]})


def carried(world):
    """How many connections the world's proxies have carried."""
    return int(urllib.request.urlopen(f"http://{world.address}/carried").read())


def test_everything_leaves_through_the_proxy_that_was_named_or_not_at_all(make, world):
    proxy = {"address": f"{world.address}:1080", "username": "me", "password": "word"}
    sandbox, before = make(network={"egress_proxy": proxy}), carried(world)
    assert "hello from the world" in ask(sandbox, world.address)
    assert carried(world) == before + 1
    fetched = sandbox.commands.run(f"curl -sS -k -m 20 https://{world.address}/")
    assert "hello from the world" in fetched.stdout and carried(world) == before + 2
    shown = sandbox.get_info().network["egress_proxy"]
    assert shown == {"address": proxy["address"], "username": "me"}, "its password is not told"
    everything = sandbox.commands.run("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true").stdout
    assert proxy["address"] not in everything, "what runs inside knows nothing of it"
    for wrong, why in (
        ({**proxy, "password": "wrong"}, "does not take"),
        ({"address": proxy["address"]}, "wants a name"),
        ({"address": f"{world.address}:9"}, "is not reached"),
        ({"address": "127.0.0.1:1080"}, "the host itself"),
        ({"address": "10.77.77.77:1080"}, "private network"),
    ):
        sandbox.update_network({"egress_proxy": wrong})
        said = ask(sandbox, world.address)
        assert why in said and "hello from the world" not in said, (wrong, said)
    assert carried(world) == before + 2
    sandbox.update_network({"egress_proxy": proxy, "deny_out": [world.address]})
    assert "may not reach" in ask(sandbox, world.address), "who may not be reached is not reached through it either"
    sandbox.update_network({})
    assert "hello from the world" in ask(sandbox, world.address) and carried(world) == before + 2


def test_a_proxy_is_called_by_tls_and_must_be_believed(make, world, secret):
    sandbox, before = make(), carried(world)
    proxy = {"address": f"{world.address}:1081", "tls": True}
    headers = {world.address: [{"transform": {"headers": {"X-Key": Secret.fill(secret)}}}]}
    sandbox.update_network({"egress_proxy": proxy, "rules": headers})
    said = sandbox.commands.run(f"curl -sS -m 20 https://{world.address}/headers").stdout.lower()
    assert "x-key: hunter2" in said and carried(world) == before + 1, "headers are put in before, for one call"
    with open(f"{world.folder}/ca.pem") as authority:
        believed = authority.read()
    sandbox.update_network({"egress_proxy": {**proxy, "tls": {"ca_cert": believed}}})
    assert "hello from the world" in ask(sandbox, world.address)
    assert sandbox.get_info().network["egress_proxy"] == {"address": proxy["address"], "tls": {}}
    for wrong in ({"server_name": "another.example.org"}, {"ca_cert": sandbox_authority(make, world)}):
        sandbox.update_network({"egress_proxy": {**proxy, "tls": wrong}})
        said = ask(sandbox, world.address)
        assert "is not believed" in said, said
    assert carried(world) == before + 2


def sandbox_authority(make, world):
    """An authority that nobody else believes."""
    other = make(network={"rules": {world.address: [{"transform": {"headers": {"X-Key": "x"}}}]}})
    return other.files.read("/etc/carrel/ca.pem")


@pytest.mark.parametrize("address", ["proxy", "socks5://proxy:1080", "proxy:0", ""])
def test_a_proxy_that_is_none_is_refused(address):
    with pytest.raises(SandboxException, match="address"):
        Sandbox.create(network={"egress_proxy": {"address": address}})


def test_servers_for_names_are_refused_with_a_sentence():
    with pytest.raises(SandboxException, match="not supported"):
        Sandbox.create(network={"dns_servers": ["1.1.1.1"]})


def test_tokens_of_identity_are_refused():
    with pytest.raises(SandboxException, match="not supported"):
        Sandbox.create(iam={"tokens": {"cloud": Secret.iam_token(audience="x", token_type="JWT-SVID")}})
    with pytest.raises(SandboxException, match="not supported"):
        Sandbox.create("base", mcp={"browserbase": {}})


@pytest.fixture
def secret():
    name = f"token-{uuid.uuid4().hex[:8]}"
    Secret.create(name, "hunter2", metadata={"for": "the world"})
    yield name
    Secret.destroy(name)


def test_a_secret_is_set_shown_without_its_value_and_removed():
    name = f"secret-{uuid.uuid4().hex[:8]}"
    made = Secret.create(name, "hunter2", metadata={"a": "b"})
    assert (made.name, made.version, made.metadata) == (name, 1, {"a": "b"})
    assert Secret.exists(name) and Secret.exists(made.secret_id)
    updated = Secret.update(name, "hunter3")
    assert (updated.version, updated.metadata) == (2, {"a": "b"})
    assert Secret.get_info(made.secret_id).version == 2
    others = [Secret.create(f"{name}-{number}", "x") for number in range(3)]
    pages, seen = Secret.list(limit=2), []
    while pages.has_next:
        seen += [it.name for it in pages.next_items()]
    assert {name, *(it.name for it in others)} <= set(seen)
    with pytest.raises(SecretException, match="already"):
        Secret.create(name, "x")
    for it in (made, *others):
        assert Secret.destroy(it.secret_id) is True
    assert Secret.destroy(name) is False and not Secret.exists(name)
    with pytest.raises(SecretNotFoundException):
        Secret.get_info(name)
    with pytest.raises(SecretNotFoundException):
        Secret.update(name, "x")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_headers_with_secrets_are_put_in_on_the_way_out(make, world, secret, scheme):
    headers = {"Authorization": f"Bearer {Secret.fill(secret)}", "X-Plain": "plain"}
    sandbox = make(
        network={
            "rules": {world.address: [{"transform": {"headers": headers}}]},
            "allow_out": lambda ctx: list(ctx.rules.keys()),
            "deny_out": [ALL_TRAFFIC],
        }
    )
    fetch = f"curl -sS -m 20 -H 'authorization: Bearer mine' {scheme}://{world.address}/headers"
    said = sandbox.commands.run(fetch).stdout.lower()
    assert "authorization: bearer hunter2" in said and "x-plain: plain" in said, said
    assert "bearer mine" not in said, "what is put in replaces what was there"
    Secret.update(secret, "hunter4")
    assert "bearer hunter4" in sandbox.commands.run(fetch).stdout.lower(), "a new value counts from the next request on"
    python = f"import urllib.request as u; print(u.urlopen('{scheme}://{world.address}/headers').read().decode())"
    assert "hunter4" in sandbox.commands.run(f'python3 -c "{python}"').stdout
    inside = sandbox.commands.run("env; cat /etc/carrel/* 2>/dev/null; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true")
    assert "hunter" not in inside.stdout, "the secret is nowhere inside"
    assert "PRIVATE KEY" not in inside.stdout
    shown = sandbox.get_info().network["rules"][world.address][0]["transform"]["headers"]
    assert shown["authorization"] == f"Bearer {Secret.fill(secret)}" and shown["x-plain"] == "…"
    sandbox.update_network({"allow_out": [world.address], "deny_out": [ALL_TRAFFIC]})
    assert "hunter" not in sandbox.commands.run(f"curl -sS -k -m 20 {scheme}://{world.address}/headers").stdout


def test_headers_can_be_given_to_one_that_runs(make, world, secret):
    sandbox = make()
    rules = {world.address: [{"transform": {"headers": {"X-Key": Secret.fill(secret)}}}]}
    sandbox.update_network({"rules": rules})
    said = sandbox.commands.run(f"curl -sS -m 20 https://{world.address}/headers").stdout.lower()
    assert "x-key: hunter2" in said, said
    missing = {world.address: [{"transform": {"headers": {"X-Key": Secret.fill("nobody-set-this")}}}]}
    sandbox.update_network({"rules": missing})
    assert "none of that name" in ask(sandbox, world.address)
    with pytest.raises(SandboxException):
        sandbox.update_network({"rules": {world.address: [{"transform": {"headers": {"Host": "x"}}}]}})


def test_an_authority_is_one_sandboxs_own(make, world, secret):
    rules = {world.address: [{"transform": {"headers": {"X-Key": Secret.fill(secret)}}}]}
    one, two = make(network={"rules": rules}), make(network={"rules": rules})
    certificates = [it.files.read("/etc/carrel/ca.pem") for it in (one, two)]
    assert certificates[0] != certificates[1]
    two.files.write("other.pem", certificates[0])
    refused = two.commands.run(f"curl -sS -m 20 --cacert other.pem https://{world.address}/headers 2>&1; true").stdout
    assert "certificate" in refused and "hunter" not in refused
