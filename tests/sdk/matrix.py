"""One loop that every version of the Python SDK can do."""

from e2b import Sandbox

sandbox = Sandbox.create(timeout=60, metadata={"matrix": "python"})
try:
    assert sandbox.commands.run("echo hi").stdout == "hi\n"
    sandbox.files.write("a.txt", "content")
    assert sandbox.files.read("a.txt") == "content"
    assert "a.txt" in [entry.name for entry in sandbox.files.list("/home/user")]
    assert sandbox.sandbox_id in [info.sandbox_id for info in Sandbox.list().next_items()]
    sandbox.set_timeout(120)
    assert sandbox.get_info().sandbox_id == sandbox.sandbox_id
    again = Sandbox.connect(sandbox.sandbox_id)
    assert again.is_running()
    try:
        again.commands.run("exit 3")
        raise AssertionError("an exit code went unnoticed")
    except Exception as error:
        assert getattr(error, "exit_code", None) == 3, error
finally:
    assert sandbox.kill()
assert not Sandbox.kill(sandbox.sandbox_id)
