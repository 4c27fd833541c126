"""The Model Context Protocol, driven by its official client: every tool, over HTTP in both lifecycles, and over stdio."""

import asyncio
import contextlib
import json
import os
import urllib.error
import urllib.request
import uuid

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

URL = os.environ["CARREL_URL"]
KEY = os.environ["CARREL_KEY"]


def ask(method, path, body=None, key=KEY):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{URL}{path}", data=data, method=method, headers=headers)
    with urllib.request.urlopen(request) as response:
        text = response.read()
    return json.loads(text) if text else None


@contextlib.asynccontextmanager
async def over_http(query="", key=KEY, mode="auto"):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        async with Client(streamable_http_client(f"{URL}/mcp{query}", http_client=http), mode=mode) as client:
            yield client


@contextlib.asynccontextmanager
async def over_stdio(*args):
    env = {name: os.environ[name] for name in ("CARREL_URL", "CARREL_KEY", "PATH")}
    server = StdioServerParameters(command=os.environ["CARREL_BIN"], args=["mcp", *args], env=env)
    async with Client(server) as client:
        yield client


WAYS = {
    "newest": lambda: over_http(),
    "handshake": lambda: over_http(mode="legacy"),
    "stdio": lambda: over_stdio(),
}


@pytest.fixture(params=WAYS)
def connect(request):
    return WAYS[request.param]


def run(test):
    """Runs the body of a test."""
    return asyncio.run(asyncio.wait_for(test(), 300))


CALLED = set()


async def good(client, name, /, **args):
    CALLED.add(name)
    result = await client.call_tool(name, args)
    assert not result.is_error, (name, result.content)
    return result.structured_content


async def refused(client, name, /, **args):
    result = await client.call_tool(name, args)
    assert result.is_error, (name, result.structured_content)
    return result.content[0].text


@contextlib.asynccontextmanager
async def desk(client, **args):
    """A sandbox that is gone afterwards."""
    sandbox = await good(client, "sandbox_create", timeout_s=600, **args)
    try:
        yield sandbox["id"]
    finally:
        assert (await good(client, "sandbox_remove", sandbox_id=sandbox["id"]))["done"]


def test_every_tool_says_what_it_takes_gives_and_does(connect):
    async def body():
        async with connect() as client:
            assert client.server_info.name == "carrel" and "sandbox" in client.instructions
            tools = (await client.list_tools()).tools
            names = {tool.name for tool in tools}
            assert len(names) == len(tools) > 30
            for tool in tools:
                assert tool.description and tool.title, tool.name
                assert tool.input_schema["additionalProperties"] is False, tool.name
                assert set(tool.input_schema["required"]) <= set(tool.input_schema["properties"]), tool.name
                assert tool.output_schema["type"] == "object", tool.name
                assert tool.annotations.read_only_hint is not None, tool.name
            reads = {tool.name for tool in tools if tool.annotations.read_only_hint}
            assert {"sandbox_show", "files_read", "git_diff", "task_show"} <= reads
            assert not reads & {"sandbox_exec", "files_write", "git_commit", "task_create", "sandbox_remove"}

    run(body)


def test_sandbox_and_file_tools(connect):
    async def body():
        async with connect() as client, desk(client, metadata={"by": "mcp"}) as sandbox:
            here = {"sandbox_id": sandbox}
            assert (await good(client, "sandbox_show", **here))["metadata"] == {"by": "mcp"}
            listed = await good(client, "sandbox_list", phase="ready", limit=1000)
            assert sandbox in [item["id"] for item in listed["items"]]
            ran = await good(client, "sandbox_exec", command="echo out; echo err >&2", **here)
            assert (ran["exit_code"], ran["stdout"], ran["stderr"]) == (0, "out\n", "err\n")
            ran = await good(client, "sandbox_exec", argv=["cat"], stdin="hello", env={"A": "b"}, **here)
            assert ran["stdout"] == "hello"
            failed = await client.call_tool("sandbox_exec", {"command": "exit 3", **here})
            assert failed.is_error and failed.structured_content["exit_code"] == 3
            started = await good(client, "sandbox_exec", command="sleep 300", background=True, **here)
            assert started["exec_id"] and started["exit_code"] is None

            assert (await good(client, "files_write", path="notes/a.txt", text="grüße\n", **here))["done"]
            assert (await good(client, "files_read", path="notes/a.txt", **here))["text"] == "grüße\n"
            await good(client, "sandbox_exec", command="printf '\\377\\000' >odd", **here)
            assert (await good(client, "files_read", path="odd", **here))["base64"] == "/wA="
            files = await good(client, "files_list", path="notes", **here)
            assert [item["name"] for item in files["items"]] == ["a.txt"]
            assert "directory" in await refused(client, "files_read", path="notes", **here)
            await good(client, "files_remove", path="notes/a.txt", **here)
            assert (await refused(client, "files_read", path="notes/a.txt", **here)).strip()

            assert "activity" in await good(client, "sandbox_stats", **here)
            assert (await good(client, "sandbox_pause", **here))["phase"] == "paused"
            assert (await good(client, "sandbox_resume", **here))["phase"] == "ready"
            forked = await good(client, "sandbox_fork", count=1, **here)
            copy = (forked.get("items") or [forked])[0]["id"]
            await good(client, "sandbox_remove", sandbox_id=copy)
            assert "total" in await good(client, "usage_show", by="model")

    run(body)


def test_ports():
    async def body():
        async with over_http() as client, desk(client) as sandbox:
            serve = "mkdir -p www && cd www && echo hello >index.html && python3 -m http.server 8123"
            await good(client, "sandbox_exec", sandbox_id=sandbox, command=serve, background=True)
            while True:
                result = await client.call_tool("sandbox_port", {"sandbox_id": sandbox, "port": 8123, "path": "/"})
                if not result.is_error:
                    break
                await asyncio.sleep(0.1)
            answer = result.structured_content
            assert answer["text"] == "hello\n" and sandbox in answer["url"]

    run(body)


def test_git_tools(connect):
    async def body():
        name = f"mcp-{uuid.uuid4().hex[:8]}"
        ask("POST", "/api/v1/repos", {"name": name, "new": True})
        try:
            async with connect() as client, desk(client, repo=name) as sandbox:
                here = {"sandbox_id": sandbox, "cwd": "tree"}
                clone = await good(client, "git_clone", sandbox_id=sandbox, repo=name, folder="tree")
                assert clone["exit_code"] == 0
                who = "git config user.name Ada; git config user.email ada@example.org"
                await good(client, "sandbox_exec", command=who, **here)
                await good(client, "git_branch", name="task-1", **here)
                await good(client, "files_write", sandbox_id=sandbox, path="tree/a.txt", text="one\n")
                assert "?? a.txt" in (await good(client, "git_status", **here))["stdout"]
                committed = await good(client, "git_commit", message="feat: begin", **here)
                assert "a.txt" in committed["stdout"]
                await good(client, "files_write", sandbox_id=sandbox, path="tree/a.txt", text="two\n")
                diff = await good(client, "git_diff", **here)
                assert "-one" in diff["stdout"] and "+two" in diff["stdout"]
                await good(client, "git_commit", message="feat: go on", paths=["a.txt"], **here)
                log = (await good(client, "git_log", count=1, **here))["stdout"]
                assert log.endswith("feat: go on\n") and log.count("\n") == 1
                assert "task-1" in (await good(client, "git_branch", **here))["stdout"]
                # A sandbox of no task may not push, and is told so in words.
                pushed = await client.call_tool("git_push", here)
                assert pushed.is_error and "no task" in pushed.structured_content["stderr"], pushed
                assert (await client.call_tool("git_pull", here)).is_error, "there is nothing to pull from yet"

                # A conflict is laid out, not hidden.
                fight = """git switch -qc other HEAD~1; echo three >a.txt; git commit -qam 'feat: three'
                    git merge -q task-1 || true"""
                await good(client, "sandbox_exec", command=fight, **here)
                conflicts = await good(client, "git_conflicts", **here)
                assert conflicts["stdout"].startswith("a.txt\n") and "<<<<<<<" in conflicts["stdout"]
                said = await refused(client, "git_log", of="--output=/tmp/x", **here)
                assert "must not" in said
        finally:
            ask("DELETE", f"/api/v1/repos/{name}")

    run(body)


async def until(client, task, phase):
    while True:
        shown = await good(client, "task_show", task_id=task)
        if shown["phase"] == phase:
            return shown
        assert shown["phase"] not in ("failed", "closed", "merged"), shown
        await asyncio.sleep(0.1)


def test_task_area_and_pull_tools(connect):
    async def body():
        name = f"mcp-{uuid.uuid4().hex[:8]}"
        ask("POST", "/api/v1/repos", {"name": name, "new": True})
        tasks = []
        try:
            async with connect() as client:
                first = await good(client, "task_create", repo=name, title="Say hello in HELLO.md", agent="demo")
                tasks.append(first["id"])
                one = {"task_id": first["id"]}
                waits = await good(client, "task_create", repo=name, title="Wait", agent="demo")
                tasks.append(waits["id"])
                edge = [{"task_id": first["id"], "until": "merged"}]
                depends = await good(client, "task_depend", task_id=waits["id"], depends_on=edge)
                assert depends["depends_on"] == edge
                assert "circle" in await refused(
                    client, "task_depend", task_id=first["id"], depends_on=[{"task_id": waits["id"]}]
                )
                listed = await good(client, "task_list", repo=name, limit=10)
                assert {item["id"] for item in listed["items"]} == set(tasks)

                claim = await good(client, "area_claim", paths=["docs"], for_s=600, **one)
                said = await refused(client, "area_claim", task_id=waits["id"], paths=["docs/a.md"])
                assert "has claimed `docs`" in said
                areas = await good(client, "area_list", repo=name)
                assert [item["task_id"] for item in areas["items"]] == [first["id"]]
                assert (await good(client, "area_release", token=claim["token"], **one))["done"]
                missing = await good(client, "task_done", **one)
                assert not missing["done"] and missing["missing"]
                assert "only who works asks" in await refused(client, "task_ask", question="Why?", **one)

                await good(client, "task_start", **one)
                shown = await until(client, first["id"], "in_review")
                assert "HELLO.md" in (await good(client, "task_diff", **one))["text"]
                kinds = {item["kind"] for item in (await good(client, "task_timeline", **one))["items"]}
                assert {"message", "checkpoint"} <= kinds
                pull = {"repo": name, "number": shown["pull"]["number"]}
                assert (await good(client, "pull_show", **pull))["number"] == pull["number"]
                pulls = await good(client, "pull_list", repo=name)
                assert [item["number"] for item in pulls["items"]] == [pull["number"]]
                await good(client, "pull_comment", body="Look here.", **pull)
                comments = await good(client, "pull_comments", **pull)
                assert "Look here." in [item["body"] for item in comments["items"]]
                assert "items" in await good(client, "pull_checks", **pull)
                assert "conflicts" in await good(client, "task_overlap", **one)
                again = await good(client, "pull_open", repo=name, head=shown["branch"], title="Say hello")
                assert again["number"] == pull["number"], "the same branch has one pull"

                # What was said at the pull goes to the agent; then it is in review again.
                await good(client, "task_message", text="Say it in one more file, docs/again.md.", **one)
                await until(client, first["id"], "in_review")
                forked = await good(client, "task_fork", count=1, **one)
                fork = forked["items"][0]["id"]
                tasks.append(fork)
                await until(client, fork, "in_review")
                scores = await good(client, "task_judge", command="ls | wc -l", **one)
                assert all(item["score"] > 0 for item in scores["items"]), scores
                assert "nothing failed" in await refused(client, "task_retry", **one)
                for task in tasks:
                    await good(client, "task_close", task_id=task)
        finally:
            for task in tasks:
                ask("POST", f"/api/v1/tasks/{task}/close?wait=closed&timeout=120")
            ask("DELETE", f"/api/v1/repos/{name}")

    run(body)


WAITS = """until test -e /tmp/go; do sleep 0.1; done
test -e /tmp/well || { touch /tmp/well; echo 'not today' >&2; exit 1; }"""


def test_the_tools_of_a_task_that_is_worked_on(connect):
    """What only makes sense at a desk at which somebody works: push, pull, ask, try again."""

    async def body():
        name = f"mcp-{uuid.uuid4().hex[:8]}"
        ask("POST", "/api/v1/repos", {"name": name, "new": True})
        ask("POST", "/api/v1/agents", {"name": name, "dialect": "shell", "command": WAITS})
        task = None
        try:
            async with connect() as client:
                task = (await good(client, "task_create", repo=name, title="Take your time", agent=name))["id"]
                one = {"task_id": task}
                await good(client, "task_start", **one)
                shown = await until(client, task, "working")
                here = {"sandbox_id": shown["sandbox_id"], "cwd": "/workspace"}
                await good(client, "files_write", sandbox_id=here["sandbox_id"], path="/workspace/a.txt", text="one\n")
                await good(client, "git_commit", message="feat: begin", **here)
                assert (await good(client, "git_push", **here))["exit_code"] == 0
                pushed = (await good(client, "git_log", count=1, **here))["stdout"]
                # What was pushed comes back by a pull.
                await good(client, "sandbox_exec", command="git reset -q --hard HEAD~1 && ! test -e a.txt", **here)
                assert (await good(client, "git_pull", **here))["exit_code"] == 0
                assert (await good(client, "git_log", count=1, **here))["stdout"] == pushed
                await good(client, "git_pull", **{"from": shown["base"]}, **here)

                await good(client, "task_ask", question="Which colour?", **one)
                await good(client, "sandbox_exec", command="touch /tmp/go", **here)
                failed = await until(client, task, "needs_you")
                assert failed["needs"]["reason"] == "agent_failed", failed["needs"]
                await good(client, "task_retry", **one)
                while True:
                    asked = await good(client, "task_show", **one)
                    if asked["phase"] == "needs_you" and asked["needs"]["reason"] == "question":
                        break
                    await asyncio.sleep(0.1)
                assert asked["needs"]["detail"] == "Which colour?"
                await good(client, "task_message", text="Blue.", **one)
                ended = await until(client, task, "in_review")
                assert ended["ahead"] == 1 and ended["pull"]["number"]
        finally:
            if task:
                ask("POST", f"/api/v1/tasks/{task}/close?wait=closed&timeout=120")
            ask("DELETE", f"/api/v1/repos/{name}")
            ask("DELETE", f"/api/v1/agents/{name}")

    run(body)


def test_progress_is_told_and_a_call_can_be_called_off(connect):
    async def body():
        async with connect() as client, desk(client) as sandbox:
            told = []

            async def hear(progress, total, message):
                told.append((progress, message))

            command = "for i in 1 2 3; do echo $i; sleep 0.2; done"
            ran = await client.call_tool(
                "sandbox_exec", {"sandbox_id": sandbox, "command": command}, progress_callback=hear
            )
            assert ran.structured_content["stdout"] == "1\n2\n3\n"
            assert "".join(message for _, message in told) == "1\n2\n3\n"
            assert [count for count, _ in told] == sorted({count for count, _ in told})

            long = asyncio.create_task(
                client.call_tool("sandbox_exec", {"sandbox_id": sandbox, "command": "sleep 4711; echo over"})
            )
            alive = {"sandbox_id": sandbox, "command": "pgrep -x sleep"}
            while (await client.call_tool("sandbox_exec", alive)).is_error:
                pass
            long.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await long
            while not (await client.call_tool("sandbox_exec", alive)).is_error:
                await asyncio.sleep(0.1)

    run(body)


def test_a_refusal_says_what_to_do_next():
    async def body():
        async with over_http() as client:
            said = await refused(client, "sandbox_show", sandbox_id="i0000000000000000000")
            assert "sandbox_list" in said
            assert "needs the argument `sandbox_id`" in await refused(client, "sandbox_show")
            with pytest.raises(Exception, match="tools/list"):
                await client.call_tool("house_burn", {})
            assert "no argument" in await refused(client, "usage_show", moon=1)

    run(body)


def test_a_narrow_server_shows_one_desk():
    async def body():
        async with over_http() as wide, desk(wide) as mine, desk(wide) as other:
            for way in (over_http(f"?sandbox_id={mine}"), over_stdio("--sandbox", mine)):
                async with way as client:
                    names = {tool.name for tool in (await client.list_tools()).tools}
                    assert {"sandbox_exec", "files_read", "git_status"} <= names
                    assert not names & {"sandbox_create", "sandbox_list", "task_create", "pull_list"}
                    assert not names & {"task_close", "task_message", "task_show"}, "it is no task's desk"
                    ran = await good(client, "sandbox_exec", command="echo here")
                    assert ran["stdout"] == "here\n"
                    assert "alone" in await refused(client, "sandbox_exec", sandbox_id=other, command="true")
                    with pytest.raises(Exception, match="not on this desk"):
                        await client.read_resource(f"carrel://sandboxes/{other}")
            # A task without a desk has nobody else's either.
            async with over_http("?task_id=999999") as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert "task_show" in names and not names & {"sandbox_exec", "sandbox_remove", "files_write"}

    run(body)


def test_a_key_sees_what_its_grant_covers():
    async def body():
        async with over_http() as admin, desk(admin) as mine:
            minted = ask("POST", "/api/v1/keys", {"name": "scout", "role": "agent", "agent_id": "scout"})
            inside = ask("POST", "/api/v1/keys", {"name": "inside", "role": "sandbox", "sandbox_id": mine})
            async with over_http(key=minted["secret"]) as agent:
                assert "may not" in await refused(agent, "sandbox_exec", sandbox_id=mine, command="true")
                async with desk(agent, agent_id="scout") as own:
                    assert (await good(agent, "sandbox_exec", sandbox_id=own, command="true"))["exit_code"] == 0
            # What runs inside sees its own desk: it looks, and has a shell for the rest.
            async with over_http(key=inside["secret"]) as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert "sandbox_show" in names and not names & {"sandbox_exec", "sandbox_create", "sandbox_remove"}
                assert (await good(client, "sandbox_show"))["id"] == mine
            with pytest.raises(BaseException):
                async with over_http(key="crl_" + "0" * 40) as nobody:
                    await nobody.list_tools()
            for key in (minted, inside):
                ask("DELETE", f"/api/v1/keys/{key['key']['id']}")

    run(body)


def test_resources_and_prompts(connect):
    async def body():
        async with connect() as client, desk(client) as sandbox:
            await good(client, "files_write", sandbox_id=sandbox, path="/home/user/read.me", text="hello")
            templates = {item.uri_template for item in (await client.list_resource_templates()).resource_templates}
            assert "carrel://sandboxes/{sandbox_id}/files/{+path}" in templates
            listed = {str(item.uri) for item in (await client.list_resources()).resources}
            assert f"carrel://sandboxes/{sandbox}" in listed
            read = await client.read_resource(f"carrel://sandboxes/{sandbox}/files//home/user/read.me")
            assert read.contents[0].text == "hello"
            with pytest.raises(Exception, match="templates"):
                await client.read_resource("carrel://moon/1")
            prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
            assert prompts == {"finish", "review", "delegate"}
            prompt = await client.get_prompt("delegate", {"repo": "hello", "wish": "a door"})
            assert "a door" in prompt.messages[0].content.text

    run(body)


def test_when_all_the_others_are_done_every_tool_was_driven():
    async def body():
        async with over_http() as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            driven = CALLED | {"sandbox_port"}
            assert names <= driven, names - driven

    run(body)
