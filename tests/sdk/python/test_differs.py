"""The guide's table of what differs from E2B: rows that no other test tries."""

import datetime
import json
import os
import pathlib
import signal
import time
import urllib.error
import urllib.request
import uuid

import pytest
from e2b import Sandbox, SandboxException, ServiceBusyException, Template, Volume


def ask(method, path, key, body=None):
    """Asks the server itself, and gives the status and what it said."""
    request = urllib.request.Request(os.environ["E2B_API_URL"] + path, method=method)
    request.add_header("x-api-key", key)
    data = None
    if body is not None:
        request.add_header("content-type", "application/json")
        data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, data) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def test_a_sandbox_says_how_it_is_kept_apart(sandbox, key):
    status, said = ask("GET", f"/api/v1/sandboxes/{sandbox.sandbox_id}", key)
    assert status == 200 and json.loads(said)["isolation"] == "namespace", said


def test_a_depth_that_nobody_knows_is_refused_with_those_that_are_known(make, key):
    sandbox = make()
    status, said = ask("POST", f"/api/v1/sandboxes/{sandbox.sandbox_id}/pause", key, {"depth": "shallow"})
    assert status == 422 and "`stored`" in said, said


def test_memory_on_disk_comes_back_through_the_sdk(make, key):
    sandbox = make()
    mark = f"{time.time_ns()}"
    handle = sandbox.commands.run(f"sleep {mark}", background=True, timeout=0)
    assert parent_of("sleep", mark, soon=True)
    status, said = ask("POST", f"/api/v1/sandboxes/{sandbox.sandbox_id}/pause?wait=paused", key, {"depth": "stored"})
    assert status == 200 and json.loads(said)["paused"]["depth"] == "stored", f"scripts/install-criu? {said}"
    with pytest.raises(AssertionError, match="nobody runs"):
        parent_of("sleep", mark)
    assert Sandbox.connect(sandbox.sandbox_id, timeout=60).is_running()
    assert handle.pid in [it.pid for it in sandbox.commands.list()], "what ran goes on"
    assert parent_of("sleep", mark)


def test_a_sandbox_with_a_volume_is_copied_by_its_files(make):
    volume = Volume.create(f"differs-{uuid.uuid4().hex[:8]}")
    try:
        sandbox = make(volume_mounts={"/data": volume})
        sandbox.files.write("/data/shared", "one")
        sandbox.files.write("/home/user/own", "mine")
        sandbox.commands.run("sleep 100000", background=True, timeout=0)
        (fork,) = sandbox.fork(timeout=60, count=1)
        try:
            assert fork.files.read("/home/user/own") == "mine"
            assert fork.files.read("/data/shared") == "one"
            assert not [it for it in fork.commands.list() if "sleep" in it.cmd or "sleep 100000" in " ".join(it.args)]
            fork.files.write("/data/shared", "two")
            assert sandbox.files.read("/data/shared") == "two", "it is the same volume"
        finally:
            fork.kill()
        with pytest.raises(Exception, match="409"):
            Volume.destroy(volume.volume_id)
        sandbox.kill()
    finally:
        for _ in range(600):
            try:
                Volume.destroy(volume.volume_id)
                break
            except Exception:
                time.sleep(0.1)


def test_a_name_on_the_list_may_have_a_port(make, world):
    sandbox = make(network={"allow_out": [f"{world.address}:80"], "deny_out": ["0.0.0.0/0"]})
    say = "curl -sS -m 20 {} 2>&1; true"
    assert "hello from the world" in sandbox.commands.run(say.format(f"http://{world.address}/")).stdout
    assert "hello" not in sandbox.commands.run(say.format(f"-k https://{world.address}/")).stdout, "the other port is closed"


def test_a_browser_is_told_of_the_end_as_a_page(make):
    sandbox = make()
    sandbox.kill()
    request = urllib.request.Request(os.environ["E2B_API_URL"])
    request.add_header("Host", f"3000-{sandbox.sandbox_id}.localhost")
    request.add_header("Accept", "text/html,*/*;q=0.8")
    with pytest.raises(urllib.error.HTTPError) as ended:
        urllib.request.urlopen(request)
    page = ended.value.read().decode()
    assert ended.value.code == 502 and ended.value.headers["content-type"].startswith("text/html")
    assert "it ended at" in page and "destroyed with the key" in page, page


def test_a_pause_may_insist_on_an_answer(make):
    """The envd is stopped from outside, as a machine that hangs would stop it."""
    sandbox = make()
    mark = f"{time.time_ns()}"
    sandbox.commands.run(f"sleep {mark}", background=True, timeout=0)
    envd = parent_of("sleep", mark, soon=True)
    os.kill(envd, signal.SIGSTOP)
    try:
        with pytest.raises(ServiceBusyException, match="nobody answers inside"):
            sandbox.pause(strict=True)
        assert str(sandbox.get_info().state).lower().endswith("running")
    finally:
        os.kill(envd, signal.SIGCONT)
    assert sandbox.pause(strict=True) is True


def parent_of(*words, soon=False):
    """Who started a command, by what the host sees of it. A shell that is said to run may still be reading its profile."""
    wanted = "\0".join(words).encode() + b"\0"
    for _ in range(600 if soon else 1):
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if entry.joinpath("cmdline").read_bytes() == wanted:
                    return int(entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
        if soon:
            time.sleep(0.05)
    raise AssertionError(f"nobody runs {words}")


def test_the_older_resume_chooses_anew_what_happens_at_the_end(make, key):
    sandbox = make(lifecycle={"on_timeout": "pause"})
    place = f"/sandboxes/{sandbox.sandbox_id}"
    for pauses, word in ((False, "kill"), (True, "pause")):
        assert sandbox.pause() is True
        assert ask("POST", f"{place}/resume", key, {"timeout": 60, "autoPause": pauses})[0] == 201
        assert sandbox.get_info().lifecycle["on_timeout"] == word


def test_rules_for_headers_have_the_bounds_of_e2b(key):
    rule = {"transform": {"headers": {"a": "b"}}}
    for rules, words in (
        ({f"h{n}.example.org": [rule] for n in range(11)}, "10"),
        ({"example.org": [{"transform": {"headers": {f"x-{n}": "v" for n in range(21)}}}]}, "20"),
        ({"example.org": [rule, rule]}, "one transform"),
        ({"example.org": [{"transform": {"headers": {"x" * 65: "v"}}}]}, "64"),
        ({"example.org": [{"transform": {"headers": {"x": "v" * 2049}}}]}, "2048"),
    ):
        status, said = ask("POST", "/v2/sandboxes", key, {"templateID": "base", "network": {"rules": rules}})
        assert status == 400 and words in said, (words, status, said)


def test_the_interpreters_template_is_made_ahead_where_the_operator_wants_it(key):
    status, said = ask("GET", "/api/v1/templates/code-interpreter-v1", key)
    assert status == 200 and json.loads(said)["created_by"] == "key_0000000000000000", "nobody had to ask: " + said
    status, said = ask("GET", "/templates/code-interpreter-v1", key)
    assert status == 200 and json.loads(said)["buildStatus"] in ("building", "ready"), said


def test_a_life_may_be_thirty_days_long(make):
    sandbox = make()
    sandbox.set_timeout(30 * 24 * 3600)
    left = sandbox.get_info().end_at - datetime.datetime.now(datetime.timezone.utc)
    assert left > datetime.timedelta(days=29, hours=23)
    with pytest.raises(SandboxException, match="Timeout cannot be greater than 720 hours"):
        sandbox.set_timeout(30 * 24 * 3600 + 1)


def test_the_token_is_asked_for_in_any_case(make):
    sandbox = make(secure=False)
    assert sandbox._envd_access_token
    request = urllib.request.Request(os.environ["E2B_SANDBOX_URL"] + "/files?path=/etc/hostname")
    request.add_header("E2b-Sandbox-Id", sandbox.sandbox_id)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 401


def test_an_empty_list_of_servers_for_names_is_taken(make):
    assert make(network={"dns_servers": []}).is_running()


def test_missing_folders_of_a_volume_are_made():
    volume = Volume.create(f"differs-{uuid.uuid4().hex[:8]}")
    try:
        volume.write_file("a/b/c", "deep", force=True)
        assert volume.read_file("a/b/c") == "deep"
    finally:
        Volume.destroy(volume.volume_id)


def test_a_name_is_a_name_and_nothing_is_published(key):
    name = f"differs-{uuid.uuid4().hex[:8]}"
    built = Template.build(Template().from_base_image().run_cmd("true"), name)
    try:
        assert (built.name, built.template_id) == (name, name), "without a team before it"
        status, said = ask("PATCH", f"/v2/templates/{name}", key, {"public": True})
        assert status == 400 and "cannot be published" in said, (status, said)
    finally:
        assert ask("DELETE", f"/templates/{name}", key)[0] == 204


def test_the_gateway_of_mcp_is_refused_with_a_sentence(key):
    status, said = ask("POST", "/v2/sandboxes", key, {"templateID": "base", "mcp": {"github": {}}})
    assert status == 400 and "start MCP servers by a command inside" in said, said
    status, said = ask("POST", "/v2/sandboxes", key, {"templateID": "mcp-gateway"})
    assert status in (400, 404) and "mcp-gateway" in said, said


def test_a_field_that_nobody_knows_is_passed_over(make, key):
    status, said = ask("POST", "/v2/sandboxes", key, {"templateID": "base", "timeout": 60, "colour": {"deep": ["red"]}})
    assert status == 201, said
    Sandbox.kill(json.loads(said)["sandboxID"])


def test_a_wrong_key_is_told_where_a_right_one_goes():
    for key in ("e2b_" + "0" * 40, "nonsense"):
        status, said = ask("GET", "/v2/sandboxes", key)
        assert status == 401 and "E2B_API_KEY" in json.loads(said)["message"], said


def test_the_door_says_how_it_is(key):
    status, said = ask("GET", "/health", key)
    assert status == 200 and json.loads(said)["status"] in ("ready", "degraded"), said
