"""Somebody between our client and Apache's secured namenode, who knows no key: nothing of what he
changes is believed, with tickets of a real KDC."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.proto import rpc_pb2
from tests.support.security.kdc import REALM
from tests.support.security.middleman import Heard, Sasl, Tamper, between, framed, sasl_frame
from tests.support.security.secured_hadoop import SecuredHadoop

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("kerberos_environment")]

REFUSED = (errors.ProtocolViolation, errors.AuthenticationFailed)


def as_it_was(heard: Heard) -> Sequence[bytes]:
    return [framed(heard.last)]


def call_through(
    hadoop: SecuredHadoop, tamper: Tamper, protection: str = "privacy", times: int = 3
) -> None:
    """Make calls. Raises what the client raises."""
    with between(("127.0.0.1", hadoop.rpc_port), tamper) as port:
        conf = {
            **hadoop.client_conf(rpc=protection),
            "ipc.client.connect.max.retries": "0",
            "dfs.client.retry.policy.enabled": "false",
        }
        with howdah.connect(
            f"hdfs://localhost:{port}",
            conf=Configuration(conf),
            keytab=str(hadoop.kdc.keytab("alice")),
            principal=f"alice@{REALM}",
        ) as fs:
            for _ in range(times):
                assert fs.exists("/user/alice")


@pytest.mark.parametrize("protection", ["authentication", "integrity", "privacy"])
def test_who_changes_nothing_is_not_noticed(hadoop: SecuredHadoop, protection: str) -> None:
    call_through(hadoop, as_it_was, protection)


def on_wrap(number: int, act: Callable[[Heard], Sequence[bytes]]) -> Tamper:
    """Change what is wrapped, from its `number`-th message on."""

    def tamper(heard: Heard) -> Sequence[bytes]:
        wraps = heard.wraps
        if len(wraps) < number or wraps[-1] is not heard.last:
            return as_it_was(heard)
        return act(heard)

    return tamper


def flipped(heard: Heard, place: int) -> Sequence[bytes]:
    """A bit of the token is another one."""
    token = bytearray(heard.message.token)
    token[place] ^= 1
    return [sasl_frame(Sasl(state=Sasl.WRAP, token=bytes(token)))]


def forged(heard: Heard) -> Sequence[bytes]:
    """An answer that is not wrapped: there is no such file."""
    header = rpc_pb2.RpcResponseHeaderProto(callId=0, status=rpc_pb2.RpcResponseHeaderProto.SUCCESS)
    data = header.SerializeToString()
    return [framed(bytes((len(data),)) + data + b"\0")]


WRAPPED: dict[str, Tamper] = {
    "an answer comes again": on_wrap(2, lambda heard: [framed(heard.wraps[0])]),
    "an answer comes before": on_wrap(
        2, lambda heard: [framed(heard.wraps[0]), framed(heard.last)]
    ),
    "the first byte is changed": on_wrap(2, lambda heard: flipped(heard, 0)),
    "the number is changed": on_wrap(2, lambda heard: flipped(heard, 15)),
    "the last byte is changed": on_wrap(2, lambda heard: flipped(heard, -1)),
    "the token is cut off": on_wrap(
        2, lambda heard: [sasl_frame(Sasl(state=Sasl.WRAP, token=heard.message.token[:-1]))]
    ),
    "the token is empty": on_wrap(2, lambda heard: [sasl_frame(Sasl(state=Sasl.WRAP, token=b""))]),
    "an answer is plain": on_wrap(2, forged),
    "the state is another one": on_wrap(
        2, lambda heard: [sasl_frame(Sasl(state=Sasl.SUCCESS, token=heard.message.token))]
    ),
    "a frame is said to be huge": on_wrap(2, lambda heard: [b"\x7f\xff\xff\xff", heard.last]),
}


@pytest.mark.parametrize("protection", ["integrity", "privacy"])
@pytest.mark.parametrize("what", WRAPPED)
def test_what_is_wrapped_cannot_be_changed(
    hadoop: SecuredHadoop, caplog: pytest.LogCaptureFixture, what: str, protection: str
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(REFUSED):
        call_through(hadoop, WRAPPED[what], protection)


def offers(change: Callable[[rpc_pb2.RpcSaslProto], None]) -> Tamper:
    """Change what the server offers."""

    def tamper(heard: Heard) -> Sequence[bytes]:
        if len(heard.payloads) > 1:
            return as_it_was(heard)
        message = heard.message
        change(message)
        return [sasl_frame(message)]

    return tamper


def _named(protocol: str, server_id: str) -> Callable[[rpc_pb2.RpcSaslProto], None]:
    def change(message: rpc_pb2.RpcSaslProto) -> None:
        for auth in message.auths:
            auth.protocol, auth.serverId = protocol, server_id

    return change


def _simple(message: rpc_pb2.RpcSaslProto) -> None:
    del message.auths[:]
    message.auths.add(method="SIMPLE", mechanism="")


def _success(message: rpc_pb2.RpcSaslProto) -> None:
    del message.auths[:]
    message.state = Sasl.SUCCESS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_named("HTTP", "localhost"), "says that it is HTTP/localhost"),
        (_named("nn", "elsewhere"), "says that it is nn/elsewhere"),
        (_named("nn", f"localhost@OTHER.{REALM}"), "names no realm"),
        (_simple, r"ipc\.client\.fallback-to-simple-auth-allowed"),
        (_success, r"ipc\.client\.fallback-to-simple-auth-allowed"),
    ],
)
def test_offers_that_were_changed_are_not_taken(
    hadoop: SecuredHadoop, change: Callable[[rpc_pb2.RpcSaslProto], None], said: str
) -> None:
    with pytest.raises(errors.AuthenticationFailed, match=said):
        call_through(hadoop, offers(change))


def on_challenge(number: int, act: Callable[[Heard], Sequence[bytes]]) -> Tamper:
    def tamper(heard: Heard) -> Sequence[bytes]:
        return act(heard) if len(heard.payloads) == number else as_it_was(heard)

    return tamper


def _challenge(token: bytes) -> Sequence[bytes]:
    return [sasl_frame(Sasl(state=Sasl.CHALLENGE, token=token))]


EXCHANGED: dict[str, Tamper] = {
    # 2: the proof of the server. 3: which protections it offers, signed.
    "the proof is changed": on_challenge(
        2, lambda heard: _challenge(heard.message.token[:-1] + b"\0")
    ),
    "the proof is empty": on_challenge(2, lambda heard: _challenge(b"")),
    "the proof is huge": on_challenge(2, lambda heard: _challenge(bytes(100_000))),
    "there is no proof": on_challenge(2, lambda heard: [sasl_frame(Sasl(state=Sasl.SUCCESS))]),
    "the protections are changed": on_challenge(
        3, lambda heard: _challenge(heard.message.token[:-1] + b"\0")
    ),
    "the protections are not signed": on_challenge(
        3, lambda heard: _challenge(b"\x01\x00\x00\x00")
    ),
    "the protections are left out": on_challenge(
        3, lambda heard: [sasl_frame(Sasl(state=Sasl.SUCCESS))]
    ),
}


@pytest.mark.parametrize("what", EXCHANGED)
def test_the_exchange_cannot_be_changed(hadoop: SecuredHadoop, what: str) -> None:
    with pytest.raises(REFUSED):
        call_through(hadoop, EXCHANGED[what])
