"""What the tests have in common: sandboxes that are gone when their test is over."""

import os
import subprocess
import sys

import pytest
from e2b import Sandbox


@pytest.fixture
def make():
    """Makes sandboxes; those that are left at the end of the test are killed."""
    made = []

    def create(*args, **options):
        sandbox = Sandbox.create(*args, **{"timeout": 120, **options})
        made.append(sandbox)
        return sandbox

    yield create
    for sandbox in made:
        Sandbox.kill(sandbox.sandbox_id)


@pytest.fixture(scope="module")
def sandbox():
    """One sandbox for the tests of a file that do it no harm."""
    sandbox = Sandbox.create(timeout=600)
    yield sandbox
    sandbox.kill()


@pytest.fixture(scope="session")
def url():
    return os.environ["E2B_API_URL"]


@pytest.fixture(scope="session")
def key():
    return os.environ["E2B_API_KEY"]


class World:
    """Who can be reached, and where."""

    def __init__(self, address, folder):
        self.address, self.folder = address, folder
        self.range = f"{neighbour(address, -2)}/30"


def neighbour(address, by):
    begin, last = address.rsplit(".", 1)
    return f"{begin}.{int(last) + by}"


@pytest.fixture(scope="session")
def world():
    """Somebody to talk to who is not this machine: `tests/sdk/run` made the certificate, the server believes it."""
    address, folder = os.environ["CARREL_TEST_WORLD"], os.environ["CARREL_TEST_WORLD_FOLDER"]
    near, name = neighbour(address, -1), f"w{os.getpid()}"

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    routed = subprocess.run(["ip", "-4", "route", "show", "root", f"{neighbour(address, -2)}/30"], capture_output=True)
    assert not routed.stdout, f"somebody has the addresses of the world: {routed.stdout.decode()}"
    ip("netns", "add", name)
    try:
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{near}/30", "dev", name)
        ip("link", "set", name, "up")
        ip("-n", name, "addr", "add", f"{address}/30", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")
        program = os.path.join(os.path.dirname(__file__), "world.py")
        server = subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, program, address, f"{folder}/cert.pem", f"{folder}/key.pem"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert server.stdout.readline() == b"up\n"
        yield World(address, folder)
        server.stdin.close()
        server.wait(30)
    finally:
        subprocess.run(["ip", "link", "del", name], capture_output=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
