"""Delegation tokens of several key servers over one directory, without their ports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import KMS_DELEGATION, Token
from howdah.kms.key_file import token_secrets_beside
from howdah.kms.security import RULES
from howdah.kms.state import token_secrets
from howdah.kms.token_guard import TokenGuard
from howdah.kms.token_records import TokenRecords
from howdah.kms.tokens import Secrets, TokensInFiles, TokenTimes
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.security.server_tokens import ServerTokens
from howdah.security.stored_tokens import encode_key
from howdah.web.http import Admitted, Request, Response, text_response

TIMES = TokenTimes(renewal_s=100, lifetime_s=1000, key_s=500, scan_s=50)
START_MS = 1_700_000_000_000
PASSPHRASE = "a passphrase that is long"


class Clock:
    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms

    def passes(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture
def clock() -> Clock:
    return Clock()


class SharedSecrets:
    """As a file of secrets, which takes half a second to change."""

    def __init__(self) -> None:
        self.there: dict[int, DelegationKey] = {}

    def entries(self) -> Mapping[int, DelegationKey]:
        return dict(self.there)

    def change(self, edit: Callable[[dict[int, DelegationKey]], None]) -> None:
        edit(self.there)


@pytest.fixture
def shared() -> SharedSecrets:
    return SharedSecrets()


@pytest.fixture
def server(tmp_path: Path, clock: Clock, shared: SharedSecrets) -> Callable[..., ServerTokens]:
    """Starts one more server over the same directory, or the same one anew."""

    def start(secrets: Secrets = shared) -> ServerTokens:
        return ServerTokens(
            TIMES,
            TokensInFiles(secrets, TokenRecords(tmp_path / "keys.tokens")),
            KMS_DELEGATION,
            lambda name: name.partition("@")[0],
            clock,
            most_of_one=3,
        )

    return start


Start = Callable[..., ServerTokens]


def test_a_token_of_one_server_is_good_at_all_and_after_a_restart(
    server: Start, tmp_path: Path
) -> None:
    def secrets() -> Secrets:
        return token_secrets_beside(tmp_path / "keys", PASSPHRASE)

    token = server(secrets()).issue("anna", "yarn", "", "kms://http@h/kms")
    assert (token.kind, token.service) == (KMS_DELEGATION, "kms://http@h/kms")
    assert server(secrets()).proven(token) == Proven(TOKEN, "anna", "anna")
    # The secrets are encrypted, and nobody else enters the directory.
    [secret] = secrets().entries().values()
    text = (tmp_path / "keys.token-secrets").read_bytes()
    assert encode_key(secret) not in text
    assert (tmp_path / "keys.tokens").stat().st_mode & 0o077 == 0


def test_a_token_for_another_user_says_who_got_it(server: Start) -> None:
    tokens = server()
    token = tokens.issue("anna", "", "oozie", "")
    assert tokens.proven(token) == Proven(TOKEN, "anna", "anna", "oozie", "oozie")
    assert DelegationTokenIdentifier.decode(token.identifier).renewer == "anna"


def test_a_token_is_good_until_it_is_renewed_to_and_no_longer(server: Start, clock: Clock) -> None:
    tokens, other = server(), server()
    token = tokens.issue("anna", "yarn", "", "")
    clock.passes(99)
    assert other.renew(token, "yarn") == clock.now_ms + 100_000
    clock.passes(99)
    assert tokens.proven(token).user == "anna"
    while clock.now_ms < START_MS + 990_000:
        other.renew(token, "yarn")
        clock.passes(50)
    assert other.renew(token, "yarn") == START_MS + 1_000_000
    clock.passes(20)
    with pytest.raises(errors.InvalidToken, match="has expired"):
        tokens.proven(token)
    with pytest.raises(errors.InvalidToken, match="renew an expired token"):
        other.renew(token, "yarn")


def test_only_the_renewer_renews(server: Start) -> None:
    tokens = server()
    token = tokens.issue("anna", "yarn", "", "")
    with pytest.raises(errors.AccessDenied, match="non-matching renewer yarn"):
        tokens.renew(token, "anna")
    forged = replace(token, password=bytes(20))
    with pytest.raises(errors.AccessDenied, match="wrong password"):
        tokens.renew(forged, "yarn")
    with pytest.raises(errors.InvalidToken, match="password"):
        tokens.proven(forged)


def test_a_cancelled_token_is_good_nowhere(server: Start) -> None:
    tokens, other = server(), server()
    token = tokens.issue("anna", "yarn", "", "")
    with pytest.raises(errors.AccessDenied, match="bob is not authorized"):
        tokens.cancel(token, "bob")
    other.cancel(token, "anna")
    with pytest.raises(errors.InvalidToken, match="can't be found"):
        tokens.proven(token)
    with pytest.raises(errors.InvalidToken, match="unknown token"):
        tokens.renew(token, "yarn")
    with pytest.raises(errors.InvalidToken, match="not found"):
        tokens.cancel(token, "anna")


def test_nobody_cancels_a_token_by_an_identifier_of_his_own(server: Start) -> None:
    """Who says that he is the renewer, of a token with the number of another one."""
    tokens = server()
    token = tokens.issue("anna", "yarn", "", "")
    issued = DelegationTokenIdentifier.decode(token.identifier)
    for made in (replace(issued, renewer="bob"), replace(issued, renewer="bob", real_user="bob")):
        forged = Token(made.encode(), bytes(20), KMS_DELEGATION, "")
        with pytest.raises(errors.InvalidToken, match="Token not found"):
            tokens.cancel(forged, "bob")
    assert tokens.proven(token).user == "anna"


def test_secrets_are_rolled_and_kept_while_their_tokens_are_good(
    server: Start, clock: Clock, shared: SharedSecrets
) -> None:
    tokens, other = server(), server()
    first = tokens.issue("anna", "yarn", "", "")
    clock.passes(90)
    other.issue("anna", "yarn", "", "")
    [of_first] = shared.there
    for _ in range(5):
        other.renew(first, "yarn")
        clock.passes(90)
    other.issue("bob", "yarn", "", "")
    assert len(shared.there) == 2
    assert tokens.proven(first).user == "anna"
    clock.passes(1100)
    other.issue("bob", "yarn", "", "")
    assert sorted(shared.there) == [of_first + 1, of_first + 2]


def test_a_user_has_a_limited_number_until_they_are_over(server: Start, clock: Clock) -> None:
    tokens = server()
    for _ in range(3):
        tokens.issue("anna", "yarn", "", "")
    with pytest.raises(errors.AccessDenied, match="anna has 3 delegation tokens"):
        tokens.issue("anna", "yarn", "", "")
    tokens.issue("bob", "yarn", "", "")
    clock.passes(101)
    tokens.issue("anna", "yarn", "", "")


def test_a_damaged_record_is_no_token(server: Start, tmp_path: Path, clock: Clock) -> None:
    tokens = server()
    token = tokens.issue("anna", "yarn", "", "")
    [record] = (tmp_path / "keys.tokens").iterdir()
    record.write_bytes(b"")
    with pytest.raises(errors.InvalidToken):
        tokens.proven(token)
    clock.passes(60)
    tokens.issue("anna", "yarn", "", "")
    assert not record.exists()


def test_a_directory_that_others_enter_is_refused(server: Start, tmp_path: Path) -> None:
    (tmp_path / "keys.tokens").mkdir(mode=0o755)
    with pytest.raises(errors.InvalidConfiguration, match="chmod 700"):
        server().issue("anna", "yarn", "", "")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 2, "secrets": []}', '{"format": 1, "secrets": ["x"]}']
)
def test_secrets_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(errors.ProtocolViolation):
        token_secrets.parse(text)


class _Closed:
    """Lets nobody in, and notes who came."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def admit(self, request: Request) -> Admitted | Response:
        self.asked.append(request)
        return text_response(401, "prove it")


def _request(query: dict[str, str], token: Token | None = None, method: str = "GET") -> Request:
    headers = {} if token is None else {"x-hadoop-delegation-token": token.url_string}
    target = f"/kms/v1/keys/names?{urlencode(query)}"
    return Request(method, "/kms/v1/keys/names", query, headers, target=target)


@pytest.fixture
def guard(server: Start) -> TokenGuard:
    return TokenGuard(_Closed(), server(), RULES)


def _user(answer: object) -> str:
    assert isinstance(answer, Admitted), answer
    assert answer.request.proven is not None
    return answer.request.proven.user


def test_a_token_lets_in_by_header_or_parameter(guard: TokenGuard) -> None:
    token = guard.tokens.issue("anna", "yarn", "", "")
    assert _user(guard.admit(_request({}, token))) == "anna"
    assert _user(guard.admit(_request({"delegation": token.url_string}))) == "anna"
    answer = guard.admit(_request({}))
    assert isinstance(answer, Response)
    assert answer.status == 401


@pytest.mark.parametrize("text", ["x", "AAAA", "no token at all"])
def test_what_is_no_token_is_refused_as_hadoop_does(guard: TokenGuard, text: str) -> None:
    answer = guard.admit(_request({"delegation": text}))
    assert isinstance(answer, Response)
    assert answer.status == 403
    refused = json.loads(answer.body)["RemoteException"]
    assert refused["exception"] == "AuthenticationException"


@pytest.mark.parametrize("operation", ["GETDELEGATIONTOKEN", "renewdelegationtoken"])
def test_nobody_gets_or_renews_a_token_by_a_token(guard: TokenGuard, operation: str) -> None:
    token = guard.tokens.issue("anna", "yarn", "", "")
    answer = guard.admit(_request({"op": operation, "token": token.url_string}, token))
    assert isinstance(answer, Response)
    assert answer.status == 401


def test_who_has_a_token_may_cancel_it(guard: TokenGuard) -> None:
    token = guard.tokens.issue("anna", "yarn", "", "")
    query = {"op": "CANCELDELEGATIONTOKEN", "token": token.url_string}
    assert _user(guard.admit(_request(query, method="PUT"))) == "anna"
    # Who proves himself otherwise is judged by that.
    proving = replace(_request(query, method="PUT"), headers={"authorization": "Negotiate x"})
    assert isinstance(guard.admit(proving), Response)
