"""E2B's own way to reach sandboxes: a domain, a name for each port below it, and TLS. Nothing else is set.

Names below a domain lead nowhere by themselves on a machine without DNS for them. So the clients run where `/etc/hosts` is
another file, and write the names into it that DNS would know.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

CARREL = os.environ["CARREL_BIN"]

PYTHON = """
import os, sys, urllib.request
from e2b import Sandbox

domain = os.environ["E2B_DOMAIN"]
if sys.argv[1] == "create":
    # One of its clients reads the names once, when it is made: who uses the sandbox is another process.
    sandbox = Sandbox.create(timeout=120)
    assert sandbox.get_host(8000) == f"8000-{sandbox.sandbox_id}.{domain}", sandbox.get_host(8000)
    with open("/etc/hosts", "a") as hosts:
        for port in (49983, 8000):
            hosts.write(f"127.0.0.1 {sandbox.get_host(port).rsplit(':', 1)[0]}\\n")
    print(sandbox.sandbox_id)
    sys.exit()
sandbox = Sandbox.connect(sys.argv[1])
try:
    assert sandbox.commands.run("echo hi").stdout == "hi\\n"
    sandbox.files.write("a.txt", "content" * 100_000)
    assert sandbox.files.read("a.txt") == "content" * 100_000
    sandbox.commands.run("echo served > index.html; python3 -m http.server 8000", background=True, timeout=0)
    sandbox.commands.run("until curl -s localhost:8000 >/dev/null; do sleep 0.1; done")
    assert urllib.request.urlopen(f"https://{sandbox.get_host(8000)}/").read() == b"served\\n"
    address = sandbox.download_url("a.txt")
    assert address.startswith(f"https://49983-{sandbox.sandbox_id}.{domain}/"), address
    assert len(urllib.request.urlopen(address).read()) == 700_000
    assert sandbox.is_running() and sandbox.get_info().sandbox_domain == domain
finally:
    assert sandbox.kill()
print("done")
"""

JAVASCRIPT = """
import assert from 'node:assert/strict'
import { appendFile } from 'node:fs/promises'
import { Sandbox } from 'e2b'

const sandbox = await Sandbox.create({ timeoutMs: 120_000 })
try {
  const host = sandbox.getHost(49983)
  assert.equal(host, `49983-${sandbox.sandboxId}.${process.env.E2B_DOMAIN}`)
  await appendFile('/etc/hosts', `127.0.0.1 ${host.split(':')[0]}\\n`)
  assert.equal((await sandbox.commands.run('echo hi')).stdout, 'hi\\n')
  await sandbox.files.write('a.txt', 'content')
  assert.equal(await sandbox.files.read('a.txt'), 'content')
  assert.equal(await sandbox.isRunning(), true)
} finally {
  assert.equal(await sandbox.kill(), true)
}
console.log('done')
"""


@pytest.fixture(scope="module")
def server():
    """A server with a certificate that `carrel tls init` made; gives its port and its folder."""
    with tempfile.TemporaryDirectory(prefix="carrel-domain-") as data:
        yield from serve(pathlib.Path(data))


def serve(data):
    subprocess.run([CARREL, "tls", "init", "--domain", "sandboxes.test", "--data", data], check=True, capture_output=True)
    certificate = ["--tls-cert", data / "tls/cert.pem", "--tls-key", data / "tls/key.pem"]
    command = [CARREL, "serve", "--data", data, "--listen", "127.0.0.1:0", *certificate]
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("E2B_", "CARREL_"))}
    with open(data / "log", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=ours)
    try:
        ready = next(line for line in process.stdout if line.startswith("Carrel is ready at https://"))
        port = ready.strip().rsplit(":", 1)[1]
        yield port, data
        asked = ours | {"CARREL_URL": f"https://localhost:{port}", "SSL_CERT_FILE": str(data / "tls/ca.pem")}
        asked.pop("SSL_CERT_DIR", None)
        # What was killed is on its way out, and gone in a moment.
        ask = [CARREL, "sandbox", "ls", "-q", "--data", data]
        while (left := subprocess.run(ask, capture_output=True, text=True, env=asked)).stdout:
            assert left.returncode == 0, left
    finally:
        process.terminate()
        process.wait(60)


def run(server, folder, command):
    """Runs a client that knows the domain, a key and whom to believe."""
    port, data = server
    hosts = folder / "hosts"
    if not hosts.exists():
        hosts.write_text("127.0.0.1 localhost api.sandboxes.test\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("E2B_", "CARREL_"))}
    environment |= {
        "E2B_DOMAIN": f"sandboxes.test:{port}",
        "E2B_API_KEY": (data / "admin.key").read_text().strip().replace("crl_", "e2b_", 1),
        "SSL_CERT_FILE": str(data / "tls/ca.pem"),
        "NODE_EXTRA_CA_CERTS": str(data / "tls/ca.pem"),
        "HOSTS": str(hosts),
    }
    environment.pop("SSL_CERT_DIR", None)
    apart = ["unshare", "--mount", "sh", "-c", 'mount --bind "$HOSTS" /etc/hosts && exec "$@"', "sh"]
    done = subprocess.run([*apart, *command], capture_output=True, text=True, env=environment, cwd=folder, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("version", ["2", "1.1"])
def test_the_python_sdk_works_with_a_domain_alone(server, tmp_path, version):
    (tmp_path / "client.py").write_text(PYTHON)
    client = ["env", f"E2B_HTTP_VERSION={version}", sys.executable, "client.py"]
    made = run(server, tmp_path, [*client, "create"])
    assert run(server, tmp_path, [*client, made]) == "done"


def test_the_javascript_sdk_works_with_a_domain_alone(server, tmp_path):
    modules = pathlib.Path(os.environ["CARREL_TEST_JS"]) / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "client.mjs").write_text(JAVASCRIPT)
    assert run(server, tmp_path, ["node", "client.mjs"]) == "done"
