"""Rules for commands hold at the door of the SDK too: what a repository forbids is refused to `commands.run`."""

import json
import os
import time

import pytest
from e2b import Sandbox
from test_differs import ask


def asked(method, path, body=None, status=200):
    got, said = ask(method, path, os.environ["CARREL_KEY"], body)
    assert got == status, (method, path, got, said)
    return json.loads(said) if said else None


@pytest.fixture
def desk():
    """A sandbox that works on a repository with rules."""
    repo = f"rules-{time.time_ns()}"
    rules = {"deny": ["rm ** -*r* **", "git ** push **"]}
    asked("POST", "/api/v1/repos", {"name": repo, "new": True, "commands": rules}, 201)
    made = asked("POST", "/api/v1/sandboxes?wait=ready", {"repo": repo, "timeout_s": 120}, 201)
    yield Sandbox.connect(made["id"])
    asked("DELETE", f"/api/v1/sandboxes/{made['id']}?wait=gone", status=204)
    asked("DELETE", f"/api/v1/repos/{repo}", status=204)


def test_what_is_forbidden_is_refused_however_it_is_written(desk):
    desk.files.write("kept/a.txt", "a")
    for line in ["rm -rf kept", "cd / ; timeout 5 rm -r ~/kept", "sh -c 'rm -f -r kept'", "echo kept | xargs rm -r"]:
        with pytest.raises(Exception) as refused:
            desk.commands.run(line)
        assert "may not be run" in str(refused.value), (line, refused.value)
    assert desk.files.read("kept/a.txt") == "a"
    assert desk.commands.run("echo hello; rm kept/a.txt").stdout == "hello\n", "nothing else is closed"
    audit = asked("GET", "/api/v1/audit?action=sandbox.exec&outcome=denied&limit=10")
    assert any("may not be run" in (line["detail"] or "") for line in audit["items"]), audit
