"""What goes wrong reaches the user as the SDK's own exceptions, one test each."""

import pytest
from e2b import (
    AuthenticationException,
    FileNotFoundException,
    InvalidArgumentException,
    NotEnoughSpaceException,
    RateLimitException,
    Sandbox,
    SandboxNotFoundException,
    SandboxNotRunningException,
    TimeoutException,
)


def test_a_wrong_key_is_an_authentication_error():
    for wrong in ("e2b_" + "0" * 40, "e2b_0", "nonsense"):
        with pytest.raises(AuthenticationException):
            Sandbox.create(api_key=wrong)


def test_somebody_elses_or_nobodys_id_is_not_found():
    for unknown in ("i0000000000000000000", "nonsense", "../../etc"):
        with pytest.raises(SandboxNotFoundException):
            Sandbox.connect(unknown)
        assert Sandbox.kill(unknown) is False


def test_a_dead_sandbox_is_not_running(make):
    sandbox = make()
    sandbox.kill()
    with pytest.raises((SandboxNotRunningException, TimeoutException)):
        sandbox.commands.run("true")
    with pytest.raises(TimeoutException):
        sandbox.files.read("a.txt")


def test_a_deadline_is_a_timeout(sandbox):
    with pytest.raises(TimeoutException):
        sandbox.commands.run("sleep 100", timeout=1)


def test_a_wrong_argument_is_an_invalid_argument(sandbox):
    with pytest.raises(InvalidArgumentException):
        sandbox.files.list("/etc/hostname")


def test_a_missing_file_is_not_found(sandbox):
    with pytest.raises(FileNotFoundException):
        sandbox.files.read("missing")


def test_a_full_disk_is_not_enough_space(sandbox):
    # The smallest disk that everybody has: shared memory, which the house keeps small.
    size = int(sandbox.commands.run("df --output=size -B1 /dev/shm | tail -1").stdout)
    assert size <= 1 << 30, f"/dev/shm holds {size} bytes, too many to fill"
    with pytest.raises(NotEnoughSpaceException):
        sandbox.files.write("/dev/shm/big", b"\0" * (size + 4096))


def test_too_many_wrong_keys_are_a_rate_limit():
    # Two hundred at once are taken for clumsiness, more are not.
    with pytest.raises(RateLimitException):
        for _ in range(400):
            try:
                Sandbox.connect("i0000000000000000000", api_key="e2b_" + "1" * 40, retries=0)
            except AuthenticationException:
                pass
