"""What the tests have in common: sandboxes that are gone when their test is over."""

import os

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
