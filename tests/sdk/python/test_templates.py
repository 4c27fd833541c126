"""Templates that the SDK's builder makes."""

import os
import uuid

import pytest
from e2b import AsyncTemplate, BuildException, FileUploadException, Sandbox, SandboxException, Template, wait_for_port


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


def test_the_asynchronous_builder_does_the_same():
    import asyncio

    async def story():
        name = f"async-{uuid.uuid4().hex[:8]}"
        info = await AsyncTemplate.build(AsyncTemplate().from_template("base").run_cmd("true"), name)
        assert await AsyncTemplate.exists(name) and info.template_id == name

        return name

    assert Sandbox.delete_snapshot(asyncio.run(story()))
