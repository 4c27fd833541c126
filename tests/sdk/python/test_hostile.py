"""Clients that mean no good: refused, nothing leaks, nothing hangs."""

import http.client
import json
import os
import re
import socket
import struct
import time
import urllib.parse

import pytest

ADDRESS = urllib.parse.urlparse(os.environ["E2B_API_URL"])
LIMIT = 60


def ask(method, path, headers=None, body=None):
    line = http.client.HTTPConnection(ADDRESS.hostname, ADDRESS.port, timeout=LIMIT)
    try:
        try:
            line.request(method, path, body=body, headers=headers or {})
        except (BrokenPipeError, ConnectionResetError):
            pass  # It had heard enough before we were done; its answer is there all the same.
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def inside(sandbox, **more):
    return {
        "E2b-Sandbox-Id": sandbox.sandbox_id,
        "E2b-Sandbox-Port": "49983",
        "X-Access-Token": sandbox._envd_access_token,
        **more,
    }


def frame(message, flags=0, length=None):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">BI", flags, len(body) if length is None else length) + body


def start(sandbox, body):
    return ask("POST", "/process.Process/Start", inside(sandbox, **{"Content-Type": "application/connect+json"}), body)


def still_works(sandbox):
    return sandbox.commands.run("echo still here").stdout == "still here\n"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00",
        b"\x00\x00\x00",
        frame({"process": {"cmd": "true"}}, length=1_000_000),
        frame(b"{}", length=0xFFFFFFFF),
        frame(b"{}", flags=1),
        frame(b"not json"),
        frame({"process": {"cmd": "x" * 5_000_000}}),
        frame({"process": 7}),
        frame({}),
        os.urandom(1000),
    ],
    ids=["empty", "flag", "cut", "truncated", "giant", "compressed", "garbage", "huge", "type", "nothing", "noise"],
)
def test_envelopes_that_are_none_are_refused(sandbox, body):
    begin = time.monotonic()
    status, said = start(sandbox, body)
    assert status in (200, 400, 413, 415, 501), said
    assert status != 200 or b'"error"' in said, said
    assert time.monotonic() - begin < LIMIT
    assert still_works(sandbox)


@pytest.mark.parametrize(
    "body",
    [b"", b"--x", b"--x\r\n", b"--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\ncut", os.urandom(500)],
)
def test_forms_that_are_none_are_refused(sandbox, body):
    headers = inside(sandbox, **{"Content-Type": "multipart/form-data; boundary=x"})
    status, said = ask("POST", "/files?path=%2Ftmp%2Fform", headers, body)
    assert status in (400, 500) or said == b"[]", (status, said)
    assert still_works(sandbox)


def test_a_wrong_token_opens_nothing(sandbox):
    for token in ("", "wrong", "x" * 10_000, sandbox._envd_access_token[:-1], sandbox._envd_access_token + "0"):
        headers = inside(sandbox, **{"X-Access-Token": token})
        for path in ("/files?path=/etc/passwd", "/envs", "/metrics"):
            status, said = ask("GET", path, headers)
            assert status in (400, 401, 431) and b"root:" not in said, (path, status, said)
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id}
    assert ask("GET", "/files?path=/etc/passwd", headers)[0] == 401
    assert ask("GET", "/files?path=/etc/passwd")[0] == 401, "no sandbox named at all"


def test_one_sandboxs_token_is_not_anothers(sandbox, make):
    other = make()
    headers = inside(other, **{"X-Access-Token": sandbox._envd_access_token})
    assert ask("GET", "/files?path=/etc/hostname", headers)[0] == 401


def test_what_envd_does_for_its_host_alone_is_not_for_others(sandbox):
    for method, path in (("POST", "/init"), ("POST", "/hibernate"), ("POST", "/port?port=22"), ("GET", "/tar?path=/")):
        assert ask(method, path, inside(sandbox), b"{}" if method == "POST" else None)[0] == 404, path
    for path in ("//init", "/./init", "/init/", "/%69nit", "/x/../init"):
        status, said = ask("POST", path, inside(sandbox), b'{"accessToken": "mine"}')
        assert status in (400, 404, 405), (path, status, said)
    assert still_works(sandbox), "its token is still its own"


def test_the_gateway_of_a_sandbox_is_not_reached_from_outside(sandbox, key):
    """Whoever calls there is taken for the sandbox, and gets keys put into what they ask."""
    host = f"49980-{sandbox.sandbox_id}.localhost:{ADDRESS.port}"
    ways = (
        {"Host": host},
        {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": "49980"},
        inside(sandbox, **{"E2b-Sandbox-Port": "49980", "X-API-Key": key}),
    )
    for headers in ways:
        for path in ("/", "/git/x.git/info/refs?service=git-upload-pack", "/llm/v1/models", "/mcp"):
            status, said = ask("GET", path, headers)
            assert status == 502 and b"port is not open" in said, (headers, path, status, said)
    own = {"Authorization": f"Bearer {os.environ['CARREL_KEY']}"}
    status, said = ask("GET", f"/api/v1/sandboxes/{sandbox.sandbox_id}/ports/49980/", own)
    assert status == 502, (status, said)
    assert sandbox.commands.run("curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:49980/").stdout == "404"


def test_places_that_are_none_are_named_as_such(sandbox):
    for label, status, words in (
        ("3000-nosuch", 502, "The sandbox was not found"),
        (f"3000-{'i' + '0' * 19}", 502, "The sandbox was not found"),
        (f"0-{sandbox.sandbox_id}", 400, "from 1 to 65535"),
    ):
        answer = ask("GET", "/", {"Host": f"{label}.localhost:{ADDRESS.port}"})
        assert answer[0] == status and words in json.loads(answer[1])["message"], (label, answer)
        answer = ask("GET", "/", {"Host": f"{label}.localhost:{ADDRESS.port}", "Accept": "text/html"})
        assert answer[0] == status and words.encode() in answer[1], (label, answer)
    for port in ("0", "x", "-1", "65536"):
        status, said = ask("GET", "/health", {"E2b-Sandbox-Id": sandbox.sandbox_id, "E2b-Sandbox-Port": port})
        assert status == 400 and json.loads(said)["code"] == 400 and "from 1 to 65535" in said.decode(), (port, said)


def test_no_path_leads_out_of_a_sandbox(sandbox):
    mark = os.path.join(os.environ["CARREL_TEST_DATA"], "admin.key")
    assert os.path.exists(mark)
    for path in (mark, "../../../../.." + mark, "/proc/1/root" + mark, "/proc/self/cwd/../../.." + mark):
        for user in ("user", "root"):
            quoted = urllib.parse.quote(path)
            status, said = ask("GET", f"/files?path={quoted}&username={user}", inside(sandbox))
            assert status in (400, 401, 403, 404) and b"crl_" not in said, (path, status, said)
    sandbox.commands.run(f"ln -sf {mark} leak", user="root")
    assert ask("GET", "/files?path=leak&username=root", inside(sandbox))[0] == 404


def test_a_path_that_is_no_text_is_not_taken_for_another(sandbox, key):
    for path in ("/files?path=%FF", "/files?path=a%FFb&username=user", "/files?path=%zz"):
        assert ask("GET", path, inside(sandbox))[0] == 400, path
        form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="taken"\r\n\r\nx\r\n--x--\r\n'
        headers = inside(sandbox, **{"Content-Type": "multipart/form-data; boundary=x"})
        assert ask("POST", path, headers, form)[0] == 400, path
    assert not sandbox.files.exists("taken") and still_works(sandbox)
    status, said = ask("GET", f"/api/v1/sandboxes/{sandbox.sandbox_id}/files?path=%FF", {"X-API-Key": key})
    assert status == 422 and b"UTF-8" in said, (status, said)


def test_strange_names_of_sandboxes_and_templates_are_not_found(key):
    for name in ("..%2f..%2fetc", "%00", "a" * 5000, "i'%20or%201=1--", "%E2%98%83"):
        for method, path in (("GET", "/sandboxes/{}"), ("DELETE", "/sandboxes/{}"), ("GET", "/templates/{}")):
            status, said = ask(method, path.format(name), {"X-API-Key": key})
            assert status in (400, 404, 414, 431), (path, name, status, said)
            if said and status == 404:
                assert json.loads(said)["code"] == 404
    assert json.loads(ask("PATCH", "/sandboxes/x", {"X-API-Key": key})[1])["code"] == 405
    assert json.loads(ask("GET", "/v2/nothing", {"X-API-Key": key})[1])["code"] == 404


def test_bodies_that_are_none_are_refused(key):
    for body in (b"[]", b"{", b'{"templateID": 7}', b'{"templateID": "base", "timeout": -1}', b"\xff\xfe", b"{}"):
        status, said = ask("POST", "/v2/sandboxes", {"X-API-Key": key, "Content-Type": "application/json"}, body)
        assert status == 400 and json.loads(said)["code"] == 400, (body, said)
        said = json.loads(said)["message"]
        assert not re.search(r"\b(struct|enum|variant|[ui](8|16|32|64)|invalid type|EOF)\b", said), said
    big = b'{"templateID": "' + b"a" * 2_000_000 + b'"}'
    assert ask("POST", "/v2/sandboxes", {"X-API-Key": key}, big)[0] == 413


@pytest.fixture
def stranger(key):
    """A key that is somebody else's: of an agent, who has its own sandboxes and no others."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    new = {"name": "stranger", "role": "agent", "agent_id": f"stranger-{time.time_ns()}"}
    status, said = ask("POST", "/api/v1/keys", headers, json.dumps(new))
    assert status == 201, said
    minted = json.loads(said)
    yield minted["secret"].replace("crl_", "e2b_")
    assert ask("DELETE", f"/api/v1/keys/{minted['key']['id']}", headers)[0] in (200, 204)


def test_someone_elses_sandbox_is_not_found(sandbox, make, stranger):
    own = make(api_key=stranger, timeout=120)
    id = sandbox.sandbox_id
    headers = {"X-API-Key": stranger, "Content-Type": "application/json"}
    for method, path, body in (
        ("GET", f"/sandboxes/{id}", None),
        ("DELETE", f"/sandboxes/{id}", None),
        ("POST", f"/sandboxes/{id}/connect", {"timeout": 60}),
        ("POST", f"/v2/sandboxes/{id}/connect", {}),
        ("POST", f"/sandboxes/{id}/resume", {}),
        ("POST", f"/sandboxes/{id}/pause", {}),
        ("POST", f"/sandboxes/{id}/timeout", {"timeout": 60}),
        ("POST", f"/sandboxes/{id}/refreshes", {"duration": 60}),
        ("POST", f"/sandboxes/{id}/fork", {}),
        ("POST", f"/sandboxes/{id}/snapshots", {}),
        ("PUT", f"/sandboxes/{id}/network", {}),
        ("GET", f"/sandboxes/{id}/metrics", None),
        ("GET", f"/sandboxes/{id}/logs", None),
        ("GET", f"/v2/sandboxes/{id}/logs", None),
    ):
        status, said = ask(method, path, headers, None if body is None else json.dumps(body))
        assert status == 404 and json.loads(said)["code"] == 404, (method, path, status, said)
        assert sandbox._envd_access_token.encode() not in said
    for path in ("/sandboxes", "/v2/sandboxes"):
        listed = [it["sandboxID"] for it in json.loads(ask("GET", path, headers)[1])]
        assert listed == [own.sandbox_id], (path, listed)
    many = json.loads(ask("GET", f"/sandboxes/metrics?sandbox_ids={id},{own.sandbox_id}", headers)[1])
    assert list(many["sandboxes"]) == [own.sandbox_id]
    assert json.loads(ask("GET", f"/snapshots?sandboxID={id}", headers)[1]) == []
    assert still_works(sandbox), "and nothing happened to it"


def test_a_client_that_dawdles_is_cut(sandbox, key):
    """Half a head, and half a body: neither is waited for, and the line is closed."""
    head = f"POST /files?path=slow HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: {sandbox.sandbox_id}\r\n"
    head += f"X-Access-Token: {sandbox._envd_access_token}\r\nContent-Type: application/octet-stream\r\n"
    whole = f"POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Length: 1000\r\n\r\n{{"
    lines = []
    for said in (whole[:60], whole, head + "Content-Length: 1000000\r\n\r\na"):
        line = socket.create_connection((ADDRESS.hostname, ADDRESS.port), timeout=600)
        line.sendall(said.encode())
        lines.append(line)
    for line in lines:
        # Whatever it says first, it ends by itself.
        while line.recv(65536):
            pass
        line.close()
    assert still_works(sandbox)


def test_a_client_that_dawdles_holds_up_nobody(sandbox, key):
    lines = []
    for number in range(50):
        line = socket.create_connection((ADDRESS.hostname, ADDRESS.port), timeout=LIMIT)
        if number % 2:
            line.sendall(b"POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key.encode())
        else:
            head = f"POST /files?path=slow HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Id: {sandbox.sandbox_id}\r\n"
            head += f"X-Access-Token: {sandbox._envd_access_token}\r\nContent-Type: application/octet-stream\r\n"
            line.sendall((head + "Content-Length: 1000000\r\n\r\na").encode())
        lines.append(line)
    for _ in range(5):
        assert still_works(sandbox)
    for line in lines:
        line.close()
    assert still_works(sandbox)
