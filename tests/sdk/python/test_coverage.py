"""Every method that the SDKs expose is called somewhere in these tests, or stands below with a reason.

A new release that brings a method fails here until somebody has tried it.
"""

import inspect
import pathlib
import re

import e2b
import e2b_code_interpreter as interpreter
import pytest
from e2b.sandbox_async.commands.command import Commands as AsyncCommands
from e2b.sandbox_async.commands.pty import Pty as AsyncPty
from e2b.sandbox_async.filesystem.filesystem import Filesystem as AsyncFilesystem
from e2b.sandbox_async.git import Git as AsyncGit
from e2b.sandbox_sync.commands.command import Commands
from e2b.sandbox_sync.commands.pty import Pty
from e2b.sandbox_sync.filesystem.filesystem import Filesystem
from e2b.template.main import TemplateBase, TemplateBuilder

HERE = pathlib.Path(__file__).parent
SYNC = "\n".join(it.read_text() for it in HERE.glob("test_*.py") if it.name not in ("test_async.py", "test_coverage.py"))
ASYNC = "\n".join((HERE / name).read_text() for name in ("test_async.py", "test_git.py", "test_interpreter.py"))

# What asks nothing of a server: addresses and settings that the SDK knows by itself.
LOCAL = {
    "connection_config",
    "default_mcp_template",
    "default_sandbox_timeout",
    "default_template",
    "envd_api_url",
    "envd_direct_url",
    "mcp_port",
    "sandbox_domain",
}
# What only writes steps of a build, which are tried as such.
STEPS = {"add_mcp_server", "beta_dev_container_prebuild", "beta_set_dev_container_start"}
IMAGES = {f"from_{name}_image" for name in ("alpine", "arch", "bun", "debian", "fedora", "node", "python", "ubuntu")}
# What a command that is over says of itself.
SAID = {"error", "exit_code", "stderr", "stdout"}
# Built by the same class with the same words; the synchronous tests try each.
BUILDER = {name for it in (TemplateBase, TemplateBuilder) for name in dir(it) if not name.startswith("_")}

TRIED = [
    (e2b.Sandbox, SYNC, LOCAL),
    (Commands, SYNC, set()),
    (e2b.CommandHandle, SYNC, SAID),
    (Pty, SYNC, set()),
    (Filesystem, SYNC, set()),
    (e2b.WatchHandle, SYNC, set()),
    (e2b.Git, SYNC, set()),
    (e2b.Volume, SYNC, set()),
    (e2b.Secret, SYNC, set()),
    (e2b.Template, SYNC, IMAGES),
    (TemplateBuilder, SYNC, STEPS),
    (interpreter.Sandbox, SYNC, LOCAL),
    (e2b.AsyncSandbox, ASYNC, LOCAL),
    (AsyncCommands, ASYNC, set()),
    (e2b.AsyncCommandHandle, ASYNC, SAID),
    (AsyncPty, ASYNC, set()),
    (AsyncFilesystem, ASYNC, set()),
    (e2b.AsyncWatchHandle, ASYNC, set()),
    (AsyncGit, ASYNC, set()),
    (e2b.AsyncVolume, ASYNC, set()),
    (e2b.AsyncSecret, ASYNC, set()),
    (e2b.AsyncTemplate, ASYNC, BUILDER),
    (interpreter.AsyncSandbox, ASYNC, LOCAL),
]


@pytest.mark.parametrize("kind, tests, known", TRIED, ids=lambda it: f"{it.__module__}.{it.__name__}" if inspect.isclass(it) else "")
def test_every_method_is_tried(kind, tests, known):
    names = {name for name in dir(kind) if not name.startswith("_")} - known
    untried = sorted(name for name in names if not re.search(rf"\.{name}\b", tests))
    assert not untried, f"nobody tries {kind.__name__}.{', '.join(untried)}"


def test_everything_that_a_client_of_ones_own_has_is_tried():
    untried = [name for name in vars(e2b.E2B(api_key="e2b_00")) if not re.search(rf"\bclient\.{name}\b", SYNC)]
    assert not untried


def test_every_exception_is_known():
    """One that a new release brings is either raised by us, and then tried, or said here not to be."""
    never = {
        "DockerfileSyntaxError",
        # The link for an upload is good for an hour: nothing that the SDK does makes it fail. What has no link is tried by hand.
        "FileUploadException",
        "GitAuthException",
        "GitUpstreamException",
        "GuestUnresponsiveException",
        "SandboxUnreachableException",
        "TemplateException",
        "CommandExitException",
    }
    raised = {name for name in e2b.__all__ if name.endswith(("Exception", "Error"))} - never
    tests = SYNC + ASYNC
    assert not [name for name in sorted(raised) if name not in tests]
