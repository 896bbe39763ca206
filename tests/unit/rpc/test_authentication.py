"""RPC connections that are authenticated by a token: what both sides do, and hostile servers."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.formats.tokens.credentials import Credentials
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.proto import rpc_pb2
from howdah.protocol.sasl.protection import Protection
from howdah.rpc import authentication
from howdah.rpc.client import RpcClient
from howdah.security.login import LoginSource
from howdah.security.settings import SecuritySettings
from howdah.security.users import Identity, SecuredUser
from tests.support.security.rpc_server import Behaviour, serving

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
REQUEST = rpc_pb2.GetDelegationTokenRequestProto(renewer="r" * 200)


def write_token(path: Path, address: tuple[str, int], how: Behaviour) -> None:
    service = f"{address[0]}:{address[1]}"
    token = Token(how.identifier, how.password, HDFS_DELEGATION, service)
    path.write_bytes(Credentials({service: token}).encode())


def user_with(path: Path, *protections: Protection, **settings: bool) -> SecuredUser:
    security = SecuritySettings(
        is_enabled=settings.get("is_enabled", True),
        fallback_allowed=settings.get("fallback_allowed", False),
        rpc_protections=protections or (Protection.AUTHENTICATION,),
    )
    identity = Identity(security, LoginSource(), str(path), has_login=False)
    return SecuredUser("alice", identity, "alice@EXAMPLE.COM")


def call(client: RpcClient) -> None:
    answer = client.call("getDelegationToken", REQUEST, rpc_pb2.GetDelegationTokenRequestProto)
    assert answer == REQUEST


def call_twice(client: RpcClient) -> None:
    call(client)
    call(client)


@pytest.fixture
def how() -> Behaviour:
    return Behaviour()


@pytest.fixture
def address(how: Behaviour, tmp_path: Path) -> Iterator[tuple[str, int]]:
    with serving(how) as address:
        write_token(tmp_path / "tokens", address, how)
        yield address


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def connected(address: tuple[str, int], user: SecuredUser, timeout_s: float = 20.0) -> RpcClient:
    return RpcClient(
        address, PROTOCOL, user=user, connect_timeout_s=timeout_s, call_timeout_s=timeout_s
    )


@pytest.mark.parametrize("protection", Protection)
def test_a_token_opens_a_connection_with_each_protection(
    how: Behaviour, address: tuple[str, int], path: Path, protection: Protection
) -> None:
    client = connected(address, user_with(path, protection))
    for _ in range(3):
        call(client)
    client.close()
    assert how.connections == 1
    assert all(how.wrapped) == (protection is not Protection.AUTHENTICATION)
    # The server knows whose the token is: the context names nobody.
    assert [context.HasField("userInfo") for context in how.contexts] == [False]
    assert how.contexts[0].protocol == PROTOCOL


def test_an_answer_may_come_in_several_wraps(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.splits_wraps = True
    client = connected(address, user_with(path, Protection.PRIVACY))
    call(client)
    call(client)
    client.close()


def test_a_request_that_is_longer_than_a_wrap_is_sent_in_several(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    client = connected(address, user_with(path, Protection.INTEGRITY))
    request = rpc_pb2.GetDelegationTokenRequestProto(renewer="x" * 300_000)
    answer = client.call("getDelegationToken", request, rpc_pb2.GetDelegationTokenRequestProto)
    client.close()
    assert answer == request


def test_a_wrong_password_is_said_with_the_tokens_that_there_are(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.password = b"another"
    with pytest.raises(errors.AuthenticationFailed) as caught:
        call(connected(address, user_with(path)))
    assert "digest response format violation" in str(caught.value)
    assert f"Kind: HDFS_DELEGATION_TOKEN, Service: {address[0]}:{address[1]}" in str(caught.value)
    assert "pppp" not in str(caught.value)


def test_a_token_that_is_over_is_an_invalid_token(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.refuses = errors.InvalidToken("token (token for alice) is expired")
    with pytest.raises(errors.InvalidToken, match="is expired"):
        call(connected(address, user_with(path)))


def test_a_ticket_that_a_server_does_not_take_is_tried_once_more_and_explained(
    how: Behaviour, address: tuple[str, int], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "clock_difference", lambda: "; the clock is late")
    how.refuses = errors.AuthenticationFailed("GSS initiate failed")
    with pytest.raises(errors.AuthenticationFailed, match=r"has its keytab.*; the clock is late"):
        call(connected(address, user_with(path)))
    assert how.connections == 2


def test_a_standby_is_a_standby_in_the_middle_of_the_authentication(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.refuses = errors.StandbyError("Operation category READ is not supported in state standby")
    with pytest.raises(errors.StandbyError):
        call(connected(address, user_with(path)))


def test_a_renewed_file_is_read_again(how: Behaviour, address: tuple[str, int], path: Path) -> None:
    client = connected(address, user_with(path))
    client._pool.get()._idle_limit_s = 0  # each call has a connection of its own
    call(client)
    how.identifier, how.password = b"renewed", b"q" * 20
    renewed = path.with_name("renewed")
    write_token(renewed, address, how)
    os.replace(renewed, path)
    client.close()
    client = connected(address, client.user)  # type: ignore[arg-type]
    call(client)


def test_without_a_token_the_offers_are_named_and_what_there_is(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    write_token(path, ("10.0.0.1", 8020), how)
    with pytest.raises(errors.AuthenticationFailed) as caught:
        call(connected(address, user_with(path)))
    assert "Client cannot authenticate via:[TOKEN, KERBEROS]" in str(caught.value)
    assert "Service: 10.0.0.1:8020" in str(caught.value)
    assert "no Kerberos ticket" in str(caught.value)


# -- a server that is not secured ------------------------------------------------------


def test_a_server_that_asks_for_nothing_is_refused(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.asks_for_nothing = True
    with pytest.raises(errors.AuthenticationFailed) as caught:
        call(connected(address, user_with(path)))
    assert "ipc.client.fallback-to-simple-auth-allowed" in str(caught.value)
    assert how.contexts == []


def test_a_server_that_asks_for_nothing_is_talked_to_where_that_is_allowed(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.asks_for_nothing = True
    user = user_with(path, fallback_allowed=True)
    call(connected(address, user))
    assert how.contexts[0].userInfo.effectiveUser == "alice"
    assert user.has_fallen_back
    how.asks_for_nothing = False
    call(connected(address, user))
    assert not user.has_fallen_back, "the server was restarted meanwhile"


def test_with_a_token_but_no_secured_configuration_it_is_talked_to(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.asks_for_nothing = True
    call(connected(address, user_with(path, is_enabled=False)))
    assert how.contexts[0].userInfo.effectiveUser == "alice"


# -- hostile servers -------------------------------------------------------------------


def test_a_server_that_does_not_know_the_token_is_refused(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.proof = b"rspauth=" + b"0" * 32
    with pytest.raises(errors.AuthenticationFailed, match="did not prove"):
        call(connected(address, user_with(path)))
    assert how.contexts == []


def test_a_success_without_a_proof_is_refused(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.proof = b""
    with pytest.raises(errors.AuthenticationFailed, match="did not prove"):
        call(connected(address, user_with(path)))
    assert how.contexts == []


def test_a_lesser_protection_is_refused(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.protections = (Protection.AUTHENTICATION,)
    with pytest.raises(errors.AuthenticationFailed, match=r"hadoop\.rpc\.protection = privacy"):
        call(connected(address, user_with(path, Protection.PRIVACY)))


@pytest.mark.parametrize("protection", [Protection.INTEGRITY, Protection.PRIVACY])
def test_a_plain_answer_is_refused_where_answers_are_protected(
    how: Behaviour, address: tuple[str, int], path: Path, protection: Protection
) -> None:
    how.answers_plain = True
    with pytest.raises(errors.ProtocolViolation):
        call(connected(address, user_with(path, protection)))


def test_an_answer_that_comes_twice_is_refused(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    how.repeats_answers = True
    client = connected(address, user_with(path, Protection.INTEGRITY))
    with pytest.raises(errors.ProtocolViolation):
        call_twice(client)


def test_a_huge_length_is_refused(how: Behaviour, address: tuple[str, int], path: Path) -> None:
    how.long_answers = True
    client = connected(address, user_with(path, Protection.PRIVACY))
    with pytest.raises(errors.ProtocolViolation, match="is announced"):
        call_twice(client)


def test_a_server_that_hangs_is_left(how: Behaviour, address: tuple[str, int], path: Path) -> None:
    how.hangs = True
    with pytest.raises(errors.Unreachable, match="did not finish the authentication"):
        call(connected(address, user_with(path), timeout_s=0.3))


# -- the user --------------------------------------------------------------------------


def test_a_user_goes_to_another_process_without_secrets(path: Path) -> None:
    user = user_with(path)
    data = pickle.dumps(user)
    again = pickle.loads(data)
    assert again == "alice"
    assert again.identity == user.identity
    assert again.principal == "alice@EXAMPLE.COM"
    assert b"pppp" not in data


def test_a_file_of_tokens_that_cannot_be_read_is_named(path: Path) -> None:
    with pytest.raises(errors.LoginFailed, match="cannot be read: No such file"):
        user_with(path).delegation_token(("127.0.0.1", 8020))
    path.write_bytes(b"HDTS\x07")
    with pytest.raises(errors.LoginFailed, match="version 7"):
        user_with(path).delegation_token(("127.0.0.1", 8020))


def test_a_nameservices_token_is_good_at_its_namenodes(path: Path) -> None:
    token = Token(b"i", b"p", HDFS_DELEGATION, "ha-hdfs:ns")
    path.write_bytes(Credentials({"a": token}).encode())
    address = ("nn1.invalid", 8020)
    settings = SecuritySettings(is_enabled=True, logical_services={address: "ha-hdfs:ns"})
    user = SecuredUser("a", Identity(settings, LoginSource(), str(path)), "a")
    assert user.delegation_token(address) == token
    assert user.delegation_token(("nn2.invalid", 8020)) is None


def test_a_client_without_security_is_told_what_to_set(
    how: Behaviour, address: tuple[str, int]
) -> None:
    how.refuses_simple = True
    with pytest.raises(errors.AccessDenied) as caught:
        call(RpcClient(address, PROTOCOL, user="alice"))
    assert "SIMPLE authentication is not enabled" in str(caught.value)
    assert "set hadoop.security.authentication = kerberos" in str(caught.value)
    assert how.preambles == [b"hrpc\x09\x00\x00"]


def test_without_a_secured_configuration_only_a_token_of_this_server_is_used(
    how: Behaviour, address: tuple[str, int], path: Path
) -> None:
    write_token(path, ("10.0.0.1", 8020), how)
    call(connected(address, user_with(path, is_enabled=False)))
    assert how.preambles == [b"hrpc\x09\x00\x00"]
