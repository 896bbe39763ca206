"""GSSAPI as a SASL mechanism, over a context that stands in for Kerberos."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.protocol.sasl.gssapi import GssapiClient
from howdah.protocol.sasl.protection import Protection

MASK = {Protection.AUTHENTICATION: 1, Protection.INTEGRITY: 2, Protection.PRIVACY: 4}


class FakeContext:
    """Needs one token of the server's; wraps by a letter in front."""

    def __init__(self) -> None:
        self.is_established = False
        self._began = False

    def step(self, token: bytes) -> bytes:
        if not self._began:
            self._began = True
            return b"AP-REQ"
        assert token == b"AP-REP"
        self.is_established = True
        return b""

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        return (b"c" if confidential else b"i") + data

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        if token[:1] not in (b"c", b"i"):
            raise errors.ProtocolViolation("changed")
        return token[1:], token[:1] == b"c"

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        return most_bytes - (60 if confidential else 28)


def established(*protections: Protection) -> GssapiClient:
    client = GssapiClient(FakeContext(), protections, setting="hadoop.rpc.protection")
    assert client.evaluate(b"") == b"AP-REQ"
    assert client.evaluate(b"AP-REP") == b""
    assert not client.is_complete
    return client


def offer(*protections: Protection, size: int = 0x010000) -> bytes:
    return b"i" + bytes((sum(MASK[each] for each in protections),)) + size.to_bytes(3, "big")


def test_authentication_alone_says_the_size_0() -> None:
    client = established(Protection.AUTHENTICATION)
    assert client.evaluate(offer(*Protection)) == b"i\x01\0\0\0"
    assert client.is_complete
    assert client.layer is None


@pytest.mark.parametrize("protection", [Protection.INTEGRITY, Protection.PRIVACY])
def test_a_layer_wraps_as_agreed(protection: Protection) -> None:
    client = established(protection)
    assert client.evaluate(offer(*Protection)) == b"i" + bytes((MASK[protection],)) + b"\1\0\0"
    assert client.layer is not None
    letter = b"c" if protection is Protection.PRIVACY else b"i"
    assert client.layer.wrap(b"data") == letter + b"data"
    assert client.layer.unwrap(letter + b"data") == b"data"


def test_the_servers_size_is_kept_to() -> None:
    client = established(Protection.INTEGRITY)
    client.evaluate(offer(*Protection, size=1000))
    assert client.layer is not None
    assert client.layer.most_clear_bytes == 972


def test_a_message_that_is_not_encrypted_is_refused_under_privacy() -> None:
    client = established(Protection.PRIVACY)
    client.evaluate(offer(*Protection))
    assert client.layer is not None
    with pytest.raises(errors.ProtocolViolation, match="not encrypted"):
        client.layer.unwrap(b"idata")


def test_a_downgrade_of_the_offer_is_refused() -> None:
    with pytest.raises(errors.AuthenticationFailed, match=r"hadoop\.rpc\.protection"):
        established(Protection.PRIVACY).evaluate(offer(Protection.AUTHENTICATION))


@pytest.mark.parametrize("challenge", [b"", b"x\1\0\0\0", b"i\1", b"i\1\0\0\0\0", b"i\0\0\0\0"])
def test_what_is_no_offer_is_refused(challenge: bytes) -> None:
    with pytest.raises(errors.AuthenticationFailed):
        established(*Protection).evaluate(challenge)


def test_nothing_is_answered_behind_the_last_word() -> None:
    client = established(Protection.AUTHENTICATION)
    client.evaluate(offer(*Protection))
    with pytest.raises(errors.AuthenticationFailed):
        client.evaluate(offer(*Protection))


def test_a_size_that_has_no_room_is_refused() -> None:
    with pytest.raises(errors.AuthenticationFailed, match="no room"):
        established(Protection.PRIVACY).evaluate(offer(*Protection, size=10))
