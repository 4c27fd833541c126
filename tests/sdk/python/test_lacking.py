"""What the SDK offers and the house does not have fails with a sentence."""

import pytest
from e2b import Sandbox, Secret, Volume


def test_volumes_are_refused_with_a_sentence():
    with pytest.raises(Exception, match="not supported"):
        Volume.create("mine")


def test_secrets_are_refused_with_a_sentence():
    with pytest.raises(Exception, match="not supported"):
        Secret.create("mine", "hidden")


def test_a_network_stays_as_it_was_made(make):
    with pytest.raises(Exception, match="cannot be changed"):
        make().update_network({"allow_out": ["example.org"]})


def test_tokens_of_identity_are_refused():
    with pytest.raises(Exception, match="not supported"):
        Sandbox.create(iam={"tokens": {"cloud": {"audience": "x", "token_type": "jwt"}}})
