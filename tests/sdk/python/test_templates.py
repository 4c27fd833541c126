"""Templates that the SDK's builder makes."""

import json
import os
import time
import uuid

import pytest
from e2b import (
    BuildException,
    Sandbox,
    SandboxException,
    Template,
    wait_for_file,
    wait_for_port,
    wait_for_timeout,
)
from e2b.api.client.models import (
    TemplateTagAssignmentsResponse,
    TemplateTagExistsResponse,
    TemplateTagGroupsResponse,
    TemplateTagsCountResponse,
)
from test_differs import ask


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("context")
    (folder / "app").mkdir()
    (folder / "app" / "index.html").write_text("from the context")
    (folder / "tool.sh").write_text("#!/bin/bash\necho tool\n")
    name, lines = f"built-{uuid.uuid4().hex[:8]}", []
    template = (
        Template(file_context_path=str(folder))
        .from_template("base")
        .copy("app", "/home/user/app")
        .copy("tool.sh", "/home/user/tool.sh", mode=0o755)
        .run_cmd("[[ -n $HOME ]] && echo built by $(id -un) > built")
        .run_cmd("id -un > /opt/by-root", user="root")
        .set_envs({"COLOUR": "red"})
        .make_dir("/home/user/made")
        .set_workdir("/home/user/app")
        .set_start_cmd("python3 -m http.server 8080", wait_for_port(8080))
    )
    info = Template.build(template, name, on_build_logs=lambda entry: lines.append(entry.message))
    yield name, info, lines
    Sandbox.delete_snapshot(name)


def test_a_template_is_built_and_its_log_is_told(built):
    name, info, lines = built
    assert info.template_id == name and info.build_id
    assert any("RUN id -un" in line for line in lines), lines
    assert Template.exists(name) and not Template.exists(f"{name}-not")
    status = Template.get_build_status(info)
    assert str(status.status).endswith("ready") or status.status == "ready"


def test_a_sandbox_stands_on_it(built, make):
    sandbox = make(built[0])
    said = sandbox.commands.run("pwd; cat ~/built /opt/by-root; echo $COLOUR; ~/tool.sh; ls -d ~/made; curl -s localhost:8080")
    expected = "/home/user/app\nbuilt by user\nroot\nred\ntool\n/home/user/made\nfrom the context"
    assert said.stdout == expected
    assert sandbox.get_info().template_id == built[0]


def test_the_two_that_everybody_begins_with_are_there_and_were_made_once(key):
    assert Template.exists("base") and Template.exists("code-interpreter-v1")
    assert not Template.exists("code-interpreter-v1:other")
    (base,) = [it for it in json.loads(ask("GET", "/templates", key)[1]) if it["templateID"] == "base"]
    assert base["createdAt"] > "2020" and base["buildStatus"] == "ready", base


def test_tags_are_other_names(built, make):
    name = built[0]
    assigned = Template.assign_tags(name, ["v1", "prod"])
    assert assigned.tags == ["v1", "prod"]
    assert {it.tag for it in Template.get_tags(name)} == {"default", "v1", "prod"}
    assert make(f"{name}:v1").commands.run("cat ~/built").stdout == "built by user\n"
    Template.remove_tags(name, ["v1", "prod"])
    assert {it.tag for it in Template.get_tags(name)} == {"default"}
    with pytest.raises(SandboxException):
        Sandbox.create(f"{name}:v1")


def test_tags_are_counted_found_and_paged(key):
    """No method of the SDK asks for these; its generated client knows them, and reads the answers here."""
    name = f"counted-{uuid.uuid4().hex[:8]}"
    info = Template.build(Template().from_base_image().run_cmd("true"), name, tags=["default", "v1", "v2"])

    def asked(rest, status=200):
        got, said = ask("GET", f"/templates/{name}/tags{rest}", key)
        assert got == status, (rest, got, said)
        return json.loads(said)

    try:
        assert TemplateTagsCountResponse.from_dict(asked("/count")).total == 3
        found = TemplateTagExistsResponse.from_dict(asked("/exists?tag=V1"))
        assert found.exists and found.normalized_tag == "v1"
        assert not TemplateTagExistsResponse.from_dict(asked("/exists?tag=v3")).exists
        for sort, order in (("name_asc", ["default", "v1", "v2"]), ("name_desc", ["v2", "v1", "default"])):
            seen, cursor = [], ""
            while cursor is not None:
                page = TemplateTagGroupsResponse.from_dict(asked(f"/groups?sort={sort}&tagsLimit=1{cursor}"))
                seen += [group.tag for group in page.tags]
                cursor = page.next_cursor and f"&tagsCursor={page.next_cursor}"
            assert seen == order
        newest = TemplateTagGroupsResponse.from_dict(asked("/groups")).tags
        given = [group.assignments[0].assigned_at for group in newest]
        assert len(newest) == 3 and given == sorted(given, reverse=True)
        assert {str(group.assignments[0].build_id) for group in newest} == {info.build_id}
        assert [group.tag for group in TemplateTagGroupsResponse.from_dict(asked("/groups?search=V")).tags] != []
        (given,) = TemplateTagAssignmentsResponse.from_dict(asked("/v1/assignments")).data
        assert str(given.build_id) == info.build_id and given.build_finished_at
        assert TemplateTagAssignmentsResponse.from_dict(asked("/v3/assignments")).data == []
        for odd in ("/groups?sort=upwards", "/groups?tagsCursor=nonsense", "/exists", "/exists?tag=a/b"):
            assert asked(odd, 400)["code"] == 400, odd
    finally:
        assert ask("DELETE", f"/templates/{name}", key)[0] == 204
    for rest in ("", "/count", "/exists?tag=v1", "/groups", "/v1/assignments"):
        assert asked(rest, 404)["code"] == 404, rest


def test_what_is_not_kept_or_not_done_any_more_is_refused_with_a_sentence(key):
    for method, path, words in (
        ("GET", "/teams/carrel/metrics", "`GET /metrics`"),
        ("GET", "/teams/carrel/metrics/max", "`GET /metrics`"),
        ("POST", "/templates", "`Template`"),
        ("POST", "/templates/base", "`Template`"),
        ("POST", "/templates/base/builds/one", "`Template`"),
    ):
        status, said = ask(method, path, key, {} if method == "POST" else None)
        assert status == 501 and words in json.loads(said)["message"], (path, said)


def test_a_name_is_forgotten_with_its_tags(key):
    name = f"tagged-{uuid.uuid4().hex[:8]}"
    template = Template().from_base_image().run_cmd("true")
    Template.build(template, name, tags=["default", "v1"])
    Template.build(template, f"{name}-other")
    assert ask("DELETE", f"/templates/{name}", key)[0] == 204
    for gone in (name, f"{name}:v1"):
        assert ask("GET", f"/templates/{gone}", key)[0] == 404, gone
        with pytest.raises(SandboxException):
            Sandbox.create(gone)
    assert ask("DELETE", f"/templates/{name}", key)[0] == 404
    # One tag alone, and one that never had a name without it.
    Template.build(template, f"{name}:v1")
    Template.build(template, f"{name}:v2")
    assert ask("DELETE", f"/templates/{name}:v1", key)[0] == 204
    assert [it.tag for it in Template.get_tags(name)] == ["v2"]
    assert ask("DELETE", f"/templates/{name}", key)[0] == 204
    assert not Template.exists(name) and Template.exists(f"{name}-other")
    assert Sandbox.delete_snapshot(f"{name}-other")


def test_a_step_that_fails_says_which():
    template = Template().from_base_image().run_cmd("echo fine").run_cmd("exit 3")
    with pytest.raises(BuildException, match="exit code 3"):
        Template.build(template, f"broken-{uuid.uuid4().hex[:8]}")


def test_a_step_that_fails_is_told_by_its_number(key):
    """Whatever a command prints of steps: the SDKs show the line of the user's code by this number."""
    name = f"broken-{uuid.uuid4().hex[:8]}"
    template = Template().from_base_image().run_cmd("echo step 7 of mine; echo step 9/9 too").run_cmd("echo step 8; exit 3")
    info = Template.build_in_background(template, name)
    place, status = f"/templates/{name}/builds/{info.build_id}", "waiting"
    while status in ("waiting", "building"):
        told = json.loads(ask("GET", f"{place}/status?limit=1000", key)[1])
        status = told["status"]
    assert (status, told["reason"]["step"]) == ("error", "2"), told
    steps = {entry["message"]: entry.get("step") for entry in told["logEntries"]}
    assert (steps["step 7 of mine"], steps["step 9/9 too"], steps["step 8"]) == ("1", "1", "2"), steps
    # The same by the older question, from either end.
    logs = json.loads(ask("GET", f"{place}/logs?limit=1000&source=persistent", key)[1])["logs"]
    assert [it["message"] for it in logs] == [it["message"] for it in told["logEntries"]]
    back = json.loads(ask("GET", f"{place}/logs?direction=backward&limit=1", key)[1])["logs"]
    assert back == logs[-1:]
    later = json.loads(ask("GET", f"{place}/logs?cursor={int(time.time() * 1000) + 3_600_000}", key)[1])["logs"]
    assert later == []
    for odd in ("direction=up", "level=loud", "source=elsewhere"):
        assert ask("GET", f"{place}/logs?{odd}", key)[0] == 400, odd
    assert ask("GET", f"/templates/{name}/builds/{uuid.uuid4()}/logs", key)[0] == 404


def test_a_template_has_the_size_that_it_was_built_with(make, key):
    name = f"sized-{uuid.uuid4().hex[:8]}"
    template = Template().from_base_image().run_cmd("true")
    Template.build(template, name, cpu_count=1, memory_mb=640, min_free_disk_mb=2048)
    try:
        shown = json.loads(ask("GET", f"/templates/{name}", key)[1])
        assert (shown["cpuCount"], shown["memoryMB"], shown["diskSizeMB"]) == (1, 640, 2048), shown
        assert shown["builds"][0]["memoryMB"] == 640
        Template.assign_tags(name, ["small"])
        for made in (name, f"{name}:small"):
            sandbox = make(made)
            info = sandbox.get_info()
            assert (info.cpu_count, info.memory_mb) == (1, 640), made
        kept = sandbox.create_snapshot()
        assert make(kept.snapshot_id).get_info().memory_mb == 640, "a snapshot is as large as what it was taken of"
        assert Sandbox.delete_snapshot(kept.snapshot_id)
        assert make().get_info().memory_mb != 640, "others have what is usual"
        Template.remove_tags(name, ["small"])
        Template.build(template, name)
        assert make(name).get_info().memory_mb != 640, "built anew without a size, it has the usual one"
    finally:
        assert Sandbox.delete_snapshot(name)
    for wrong in ({"cpu_count": 65}, {"memory_mb": 64}):
        with pytest.raises(BuildException):
            Template.build(template, name, **wrong)


def test_a_file_that_is_missing_is_not_uploaded(tmp_path):
    template = Template(file_context_path=str(tmp_path)).from_base_image().copy("missing.txt", "/tmp/")
    with pytest.raises(ValueError, match="missing.txt"):
        Template.build(template, f"broken-{uuid.uuid4().hex[:8]}")


def test_an_upload_without_its_link_is_refused(key):
    for ticket in ("", "?ticket=none"):
        status, said = ask("PUT", f"/templates/x/files/{'0' * 64}{ticket}", key)
        assert status == 403 and "upload link" in said, (status, said)


def test_a_second_build_takes_what_was_done_before(built):
    name, lines = f"again-{uuid.uuid4().hex[:8]}", []
    template = Template().from_template("base").run_cmd("sleep 2; echo slow > slow")
    Template.build(template, name)
    Template.build(template, f"{name}:two", on_build_logs=lambda entry: lines.append(entry.message))
    assert os.environ.get("E2B_API_KEY") not in "\n".join(lines)
    assert {it.tag for it in Template.get_tags(name)} == {"default", "two"}
    for made in (f"{name}:two", name):
        assert Sandbox.delete_snapshot(made)


def test_every_helper_of_the_builder_comes_to_steps_that_are_known(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    builder = (
        Template(file_context_path=str(tmp_path))
        .from_template("base")
        .copy_items([{"src": "a.txt", "dest": "/tmp/"}])
        .make_symlink("/tmp/a.txt", "/tmp/link")
        .rename("/tmp/a.txt", "/tmp/b.txt")
        .remove("/tmp/b.txt", force=True)
        .git_clone("https://example.org/x.git", "/tmp/x", branch="main", depth=1)
        .set_user("root")
        .skip_cache()
        .pip_install(["x"])
        .npm_install(["x"])
        .bun_install(["x"])
        .apt_install(["x"])
    )
    steps = json.loads(Template.to_json(builder.set_ready_cmd(wait_for_timeout(1))))["steps"]
    assert {it["type"] for it in steps} <= {"RUN", "COPY", "ENV", "WORKDIR", "USER"} and len(steps) >= 10
    assert all(len(it["args"]) >= 1 for it in steps)


@pytest.mark.parametrize(
    "helper",
    ["debian", "ubuntu", "fedora", "alpine", "arch", "python", "node", "bun"],
)
def test_every_image_is_named_as_registries_name_it(helper):
    template = getattr(Template(), f"from_{helper}_image")()
    assert Template.to_dockerfile(template.run_cmd("true")).startswith("FROM ")


def test_links_owners_and_names_are_as_they_were_asked_for(make, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    name = f"helped-{uuid.uuid4().hex[:8]}"
    template = (
        Template(file_context_path=str(tmp_path))
        .from_dockerfile("FROM e2bdev/base\nENV FLAVOUR=sweet\nRUN echo from a dockerfile > /home/user/said\n")
        .copy_items([{"src": "a.txt", "dest": "/home/user/"}, {"src": "b.txt", "dest": "/home/user/"}])
        .make_symlink("/home/user/a.txt", "/home/user/link")
        .rename("/home/user/b.txt", "/home/user/c.txt")
        .remove("/home/user/.profile", force=True)
        .run_cmd("git init -q --bare /tmp/remote.git")
        .git_clone("/tmp/remote.git", "/home/user/cloned")
        .set_user("root")
        .run_cmd("id -un > /opt/who")
        .set_user("user")
        .set_ready_cmd(wait_for_file("/home/user/link"))
    )
    info = Template.build_in_background(template, name, skip_cache=True)
    for _ in range(600):
        status = Template.get_build_status(info)
        if str(status.status).lower().endswith(("ready", "error")):
            break
        time.sleep(0.1)
    assert str(status.status).lower().endswith("ready"), status
    assert Template.alias_exists(name)
    said = make(name).commands.run("cat ~/link ~/c.txt ~/said /opt/who; ls -d ~/cloned/.git; ls ~/.profile 2>&1; echo $FLAVOUR")
    assert said.stdout.splitlines()[:3] == ["abfrom a dockerfile", "root", "/home/user/cloned/.git"]
    assert "No such file" in said.stdout and said.stdout.endswith("sweet\n")
    assert Sandbox.delete_snapshot(name)


def test_an_image_that_nobody_has_and_strange_registries_are_refused():
    for template in (
        Template().from_image("localhost:1/nobody/has-this:1"),
        Template().from_aws_registry("x", "key", "secret", "eu"),
        Template().from_gcp_registry("x", {}),
    ):
        with pytest.raises(BuildException):
            Template.build(template.run_cmd("true"), f"broken-{uuid.uuid4().hex[:8]}")
