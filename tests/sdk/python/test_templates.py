"""Templates that the SDK's builder makes."""

import json
import os
import time
import uuid

import pytest
from e2b import (
    BuildException,
    FileUploadException,
    Sandbox,
    SandboxException,
    Template,
    wait_for_file,
    wait_for_port,
    wait_for_timeout,
)


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


def test_a_step_that_fails_says_which():
    template = Template().from_base_image().run_cmd("echo fine").run_cmd("exit 3")
    with pytest.raises(BuildException, match="exit code 3"):
        Template.build(template, f"broken-{uuid.uuid4().hex[:8]}")


def test_a_file_that_is_missing_is_not_uploaded(tmp_path):
    template = Template(file_context_path=str(tmp_path)).from_base_image().copy("missing.txt", "/tmp/")
    with pytest.raises((FileUploadException, BuildException, ValueError, Exception)):
        Template.build(template, f"broken-{uuid.uuid4().hex[:8]}")


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
