"""What a server makes of what its clients have proven."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.protocol.rpc.negotiation import Offer
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.protocol.sasl.auth_to_local import Rule, short_name
from howdah.protocol.sasl.mechanism import Layer
from howdah.protocol.sasl.principals import Principal
from howdah.protocol.sasl.protection import Protection
from howdah.security.server_methods import IssuedTokens, MethodsAtServer, ServerIdentity

BY_TOKEN = Offer(TOKEN, "DIGEST-MD5", "", "default")


class Believing(IssuedTokens):
    """Has issued whatever is shown."""

    def password_of(self, identifier: bytes) -> bytes:
        return b"password"


class Shown:
    """A mechanism by which somebody has shown a token."""

    is_complete = True
    protection = Protection.AUTHENTICATION
    layer: Layer | None = None

    def __init__(self, client: str) -> None:
        self.client = client

    def evaluate(self, response: bytes) -> bytes | None:
        raise NotImplementedError


METHODS = MethodsAtServer(
    ServerIdentity(Principal("nn", "h", "EXAMPLE.COM"), "/nowhere"),
    tuple(Protection),
    lambda principal: short_name(principal, (Rule(),), "EXAMPLE.COM", "hadoop"),
    Believing(),
)


def shown(identifier: bytes) -> Proven:
    return METHODS.proven(BY_TOKEN, Shown(base64.b64encode(identifier).decode()))


def test_a_token_is_of_its_owner_and_says_who_acts_for_him() -> None:
    own = DelegationTokenIdentifier("alice@EXAMPLE.COM", "rm", "", 1, 2, 3, 4)
    assert shown(own.encode()) == Proven(TOKEN, "alice", "alice@EXAMPLE.COM")
    for_bob = DelegationTokenIdentifier("bob", "rm", "oozie/h@EXAMPLE.COM", 1, 2, 3, 4)
    real = "oozie/h@EXAMPLE.COM"
    assert shown(for_bob.encode()) == Proven(TOKEN, "bob", "bob", "oozie", real)


@pytest.mark.parametrize(
    "identifier",
    [
        b"",
        b"\0",
        b"\1" + bytes(20),
        b"\0\x05alice",
        DelegationTokenIdentifier("alice", "", "", 1, 2, 3, 4).encode() + b"\0",
        b"\0\x02\xff\xfe" + bytes(6),
    ],
)
def test_what_is_no_identifier_proves_nobody(identifier: bytes) -> None:
    with pytest.raises(errors.InvalidToken, match="no identifier of a token"):
        shown(identifier)


@pytest.mark.parametrize("name", ["", "é", "=", "AAA"])
def test_a_name_that_is_no_base64_proves_nobody(name: str) -> None:
    with pytest.raises(errors.InvalidToken):
        METHODS.proven(BY_TOKEN, Shown(name))


@given(st.binary(max_size=80))
def test_any_identifier_is_refused_in_words_or_of_somebody(identifier: bytes) -> None:
    with suppress(errors.HowdahError):
        assert shown(identifier).user
