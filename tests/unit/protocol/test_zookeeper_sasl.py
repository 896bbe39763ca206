"""The login to ZooKeeper by SASL, packet by packet, and what servers may send in its place."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import pytest

from howdah import errors
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.zookeeper_sasl import LENGTH_BYTES, SaslExchange, length_of


class Mechanism:
    """Says what it is told to say; it is complete with the last word."""

    protection = Protection.AUTHENTICATION
    layer = None

    def __init__(self, words: Sequence[bytes] = (b"ticket", b"", b"choice")) -> None:
        self._words = list(words)
        self.heard: list[bytes] = []

    @property
    def is_complete(self) -> bool:
        return not self._words

    def evaluate(self, challenge: bytes) -> bytes:
        self.heard.append(challenge)
        return self._words.pop(0)


def request(xid: int, token: bytes) -> bytes:
    body = struct.pack(">iii", xid, 102, len(token)) + token
    return struct.pack(">i", len(body)) + body


def answer(xid: int, token: bytes | None, error: int = 0) -> bytes:
    length = -1 if token is None else len(token)
    return struct.pack(">iqii", xid, 0, error, length) + (token or b"")


def test_tokens_go_to_and_fro_until_the_server_has_taken_the_last() -> None:
    mechanism = Mechanism()
    exchange = SaslExchange(mechanism)
    assert exchange.begin() == request(1, b"ticket")
    assert exchange.receive(answer(1, b"proof")) == request(2, b"")
    assert exchange.receive(answer(2, b"offer")) == request(3, b"choice")
    assert not exchange.is_done
    assert exchange.receive(answer(3, None)) == b""
    assert exchange.is_done
    assert mechanism.heard == [b"", b"proof", b"offer"]


@pytest.mark.parametrize("token", [None, b""])
def test_a_server_without_sasl_is_not_taken_for_one_that_knows_us(token: bytes | None) -> None:
    exchange = SaslExchange(Mechanism())
    exchange.begin()
    with pytest.raises(errors.AuthenticationFailed, match="not set up for SASL"):
        exchange.receive(answer(1, token))
    assert not exchange.is_done


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (answer(1, None, -115), "refuses the login"),
        (answer(1, b"x", -4), "by error -4"),
        (answer(7, b"x"), "request 7 where 1 of SASL is due"),
        (answer(1, b"x")[:15], "by 15 bytes"),
        (answer(1, b"x")[:16], "without a token"),
        (answer(1, b"xy")[:-1], "announces a token of 2 bytes, and sends 1"),
        (answer(1, b"xy") + b"z", "announces a token of 2 bytes, and sends 3"),
        (answer(1, None) + b"z", "announces a token of -1 bytes, and sends 1"),
    ],
)
def test_what_is_no_answer_is_a_refusal(said: bytes, words: str) -> None:
    exchange = SaslExchange(Mechanism())
    exchange.begin()
    with pytest.raises(errors.AuthenticationFailed, match=words):
        exchange.receive(said)
    assert not exchange.is_done


def test_nothing_may_follow_the_last_token() -> None:
    exchange = SaslExchange(Mechanism((b"all",)))
    exchange.begin()
    with pytest.raises(errors.AuthenticationFailed, match="behind the last one"):
        exchange.receive(answer(1, b"more"))


def test_a_server_that_never_ends_is_left() -> None:
    exchange = SaslExchange(Mechanism([b"word"] * 100))
    exchange.begin()
    for xid in range(1, 10):
        exchange.receive(answer(xid, b"again"))
    with pytest.raises(errors.AuthenticationFailed, match="prove nobody"):
        exchange.receive(answer(10, b"again"))


@pytest.mark.parametrize("length", [-1, 0, 15, 1 << 17, (1 << 31) - 1])
def test_an_answer_of_no_such_length_is_not_waited_for(length: int) -> None:
    with pytest.raises(errors.AuthenticationFailed, match=f"answer of {length} bytes"):
        length_of(struct.pack(">i", length))


def test_whatever_a_server_sends_is_an_answer_or_a_refusal() -> None:
    dice = random.Random(35)
    outcomes = set()
    for _ in range(20_000):
        exchange = SaslExchange(Mechanism())
        exchange.begin()
        said = bytearray(answer(1, dice.randbytes(dice.randrange(40))))
        for _ in range(dice.randrange(4)):
            said[dice.randrange(len(said))] = dice.randrange(256)
        del said[dice.choice((len(said), dice.randrange(len(said) + 1))) :]
        try:
            exchange.receive(bytes(said))
            outcomes.add("answer")
        except errors.AuthenticationFailed:
            outcomes.add("refusal")
        assert not exchange.is_done
    assert outcomes == {"answer", "refusal"}
    assert LENGTH_BYTES == 4
