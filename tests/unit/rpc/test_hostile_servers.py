"""Servers that are not what they say, or break what was agreed: nothing of it is believed."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.proto import rpc_pb2
from howdah.protocol.sasl.principals import Principal, ServerPrincipals
from howdah.protocol.sasl.protection import Protection
from howdah.rpc.client import RpcClient
from howdah.security.login import LoginSource
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser
from tests.support.security.rpc_server import Behaviour, serving

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
REQUEST = rpc_pb2.GetDelegationTokenRequestProto(renewer="r" * 200)
PROTECTED = [Protection.INTEGRITY, Protection.PRIVACY]


@pytest.fixture
def how() -> Behaviour:
    return Behaviour()


@pytest.fixture
def address(how: Behaviour) -> Iterator[tuple[str, int]]:
    with serving(how) as address:
        yield address


class Login:
    """Has a ticket for nobody, and remembers for whom it was asked."""

    def __init__(self) -> None:
        self.targets: list[Principal] = []

    def get(self) -> Login:
        return self

    def context(self, target: Principal, timeout_s: float) -> object:
        self.targets.append(target)
        raise errors.LoginFailed("no ticket")


def user_with(
    path: Path | None, *protections: Protection, login: Login | None = None
) -> SecuredUser:
    security = SecuritySettings(
        is_enabled=True,
        rpc_protections=protections or (Protection.AUTHENTICATION,),
        namenode=ServerPrincipals("dfs.namenode.kerberos.principal", "nn/_HOST@EXAMPLE.COM"),
    )
    token_file = None if path is None else str(path)
    identity = Identity(security, LoginSource(), token_file, has_login=login is not None)
    user = SecuredUser("alice", identity, "alice@EXAMPLE.COM")
    if login is not None:
        user._login = login  # type: ignore[assignment]
    return user


def token_file(path: Path, address: tuple[str, int], how: Behaviour) -> Path:
    service = f"{address[0]}:{address[1]}"
    token = Token(how.identifier, how.password, HDFS_DELEGATION, service)
    path.write_bytes(Credentials({service: token}).encode())
    return path


def call(address: tuple[str, int], user: SecuredUser, times: int = 1) -> None:
    client = RpcClient(address, PROTOCOL, user=user, connect_timeout_s=10, call_timeout_s=10)
    try:
        for _ in range(times):
            answer = client.call(
                "getDelegationToken", REQUEST, rpc_pb2.GetDelegationTokenRequestProto
            )
            assert answer == REQUEST
    finally:
        client.close()


def test_no_ticket_is_asked_for_a_server_of_another_principal(
    how: Behaviour, address: tuple[str, int]
) -> None:
    how.token_is_offered = False
    login = Login()
    with pytest.raises(
        errors.AuthenticationFailed, match=r"says that it is nn/evil\.example\.com, and nn/"
    ):
        call(address, user_with(None, login=login))
    assert login.targets == []


@pytest.mark.parametrize("protection", PROTECTED)
def test_a_server_that_stops_protecting_its_answers_is_left(
    how: Behaviour, address: tuple[str, int], tmp_path: Path, protection: Protection
) -> None:
    how.plain_after = 1
    user = user_with(token_file(tmp_path / "t", address, how), protection)
    with pytest.raises(errors.ProtocolViolation):
        call(address, user, times=2)
    assert how.answers == 2


@pytest.mark.parametrize("protection", PROTECTED)
def test_answers_that_come_out_of_their_order_are_refused(
    how: Behaviour, address: tuple[str, int], tmp_path: Path, protection: Protection
) -> None:
    how.swaps_wraps = True
    with pytest.raises(errors.ProtocolViolation):
        call(address, user_with(token_file(tmp_path / "t", address, how), protection))


@pytest.mark.parametrize(
    "challenge",
    [
        b"x" * 100_000,
        b"x" * 1_000_000,
        b'nonce="n",algorithm=md5-sess,maxbuf=99999999999999',
        b'nonce="n",nonce="m",algorithm=md5-sess',
        b'nonce="n",algorithm=md5',
        b"\xff" * 100,
    ],
    ids=["long", "too long", "maxbuf", "twice", "algorithm", "noise"],
)
def test_a_challenge_that_is_none_is_refused(
    how: Behaviour, address: tuple[str, int], tmp_path: Path, challenge: bytes
) -> None:
    how.challenge = challenge
    with pytest.raises((errors.AuthenticationFailed, errors.ProtocolViolation)) as caught:
        call(address, user_with(token_file(tmp_path / "t", address, how)))
    assert len(str(caught.value)) < 1000


def test_a_server_that_challenges_for_ever_is_left(
    how: Behaviour, address: tuple[str, int], tmp_path: Path
) -> None:
    how.challenges_for_ever = True
    with pytest.raises(errors.AuthenticationFailed):
        call(address, user_with(token_file(tmp_path / "t", address, how)))


def _hidden(secret: bytes, text: str) -> bool:
    from base64 import b64encode, urlsafe_b64encode

    forms = [b64encode(secret), urlsafe_b64encode(secret), secret.hex().encode(), secret]
    return not any(form.decode("latin-1").strip("=") in text for form in forms)


@pytest.mark.parametrize(
    "faults",
    [
        {},
        {"answers_plain": True},
        {"repeats_answers": True},
        {"proof": b"rspauth=0"},
        {"challenge": b"nonsense"},
        {"refuses": errors.InvalidToken("token is expired")},
        {"is_other": True},
    ],
    ids=str,
)
def test_no_secret_is_in_a_log_an_error_or_a_representation(
    how: Behaviour,
    address: tuple[str, int],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    faults: dict[str, object],
) -> None:
    secret = b"PLANTED-SECRET-\xff\xfe"
    how.password = secret
    user = user_with(token_file(tmp_path / "t", address, how), Protection.PRIVACY)
    if faults.pop("is_other", False):
        how.password = b"another"
    for name, value in faults.items():
        setattr(how, name, value)
    seen: list[str] = []
    with caplog.at_level(logging.DEBUG):
        try:
            call(address, user)
        except errors.HowdahError as error:
            seen += [repr(error), *traceback.format_exception(error)]
        else:
            assert not faults
    seen += [repr(user), repr(user.identity), repr(user.tokens()), user.show_tokens(), caplog.text]
    seen += map(str, user.tokens())
    assert _hidden(secret, "\n".join(seen))
    assert how.connections
