"""Who asks over WebHDFS, by a ticket or by a token."""

from __future__ import annotations

import hmac
from dataclasses import replace

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.passwords import Cost, PasswordRecord
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.namenode.server.webhdfs.proofs import Proofs, caller_of
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.protocol.sasl.offered_protections import SameForAll
from howdah.runtime.users.names import real_user_of
from howdah.security.login_tokens import TokensOfUsers
from howdah.security.server_methods import IssuedTokens, MethodsAtServer
from howdah.web.http import Request, request_of
from howdah.web.server import here
from howdah.web.webhdfs.parameters import InvalidParameter, ParsedRequest
from howdah.web.webhdfs_names import patterns_of

KEY = b"master key"
PATTERNS = patterns_of(Configuration())


class Issued:
    """Tokens of one key, as long as they are not cancelled."""

    def __init__(self) -> None:
        self.cancelled: set[bytes] = set()
        self.is_standby = False

    def password_of(self, identifier: bytes) -> bytes:
        if self.is_standby:
            raise errors.StandbyError("standby")
        if identifier in self.cancelled:
            raise errors.InvalidToken("Token for real user: , can't be found in cache")
        return hmac.digest(KEY, identifier, "sha1")


def short(principal: str) -> str:
    if principal.endswith("@ELSEWHERE"):
        raise errors.AuthenticationFailed(f"No rules applied to {principal}")
    return principal.partition("@")[0]


def token(owner: str = "alice@R", real: str = "", password: bytes | None = None) -> Token:
    identifier = DelegationTokenIdentifier(owner, "alice", real, 1, 2, 3, 4).encode()
    made = hmac.digest(KEY, identifier, "sha1") if password is None else password
    return Token(identifier, made, "WEBHDFS delegation", "")


def methods(issued: IssuedTokens) -> MethodsAtServer:
    return MethodsAtServer(None, SameForAll(()), short, issued)


ISSUED = Issued()
PROOFS = Proofs(ISSUED, methods(ISSUED), here, needs_proof=True)
TICKET = Proven(KERBEROS, "alice", "alice@R")


def parsed(query: str, proven: Proven | None = None) -> tuple[Request, ParsedRequest]:
    request = request_of(b"GET", f"/webhdfs/v1/?op=LISTSTATUS&{query}".encode(), [])
    assert request is not None
    request = Request(
        request.method, request.path, request.query, {}, "10.0.0.1", request.target, proven=proven
    )
    return request, PROOFS.parsed(request, PATTERNS)


def test_a_ticket_is_known_by_the_short_name_and_a_token_goes_before_it() -> None:
    assert PROOFS.proven(*parsed("", TICKET)) == Proven(KERBEROS, "alice", "alice")
    bobs = token("bob@R").url_string
    proven = PROOFS.proven(*parsed(f"delegation={bobs}", TICKET))
    assert proven is not None
    assert (proven.method, proven.user) == (TOKEN, "bob")


@pytest.mark.parametrize("query", ["", "user.name=hdfs", "doas=hdfs", "delegation="])
def test_who_proves_nothing_is_nobody(query: str) -> None:
    with pytest.raises(errors.AuthorizationFailed, match="Authentication required"):
        PROOFS.proven(*parsed(query))
    believing = Proofs(ISSUED, PROOFS.methods, here, needs_proof=False)
    assert believing.proven(*parsed(query)) is None


@pytest.mark.parametrize(
    "text",
    [
        "KAA",
        "planted!",
        token(password=b"a planted password").url_string,
        token(password=b"").url_string,
        Token(b"no identifier", b"p", "k", "").url_string,
    ],
)
def test_a_token_that_is_not_good_is_refused_as_by_hadoop(text: str) -> None:
    with pytest.raises(errors.RemoteError, match="Failed to obtain user group") as caught:
        PROOFS.proven(*parsed(f"delegation={text}", TICKET))
    assert caught.value.remote_class == "java.lang.SecurityException"
    assert "planted" not in str(caught.value)


def test_a_cancelled_token_and_a_standby() -> None:
    issued = Issued()
    proofs = Proofs(issued, methods(issued), here, needs_proof=True)
    mine = token()
    issued.cancelled.add(mine.identifier)
    with pytest.raises(errors.RemoteError, match="InvalidToken: Token for real user: , can't be"):
        proofs.proven(*parsed(f"delegation={mine.url_string}"))
    issued.is_standby = True
    with pytest.raises(errors.StandbyError):
        proofs.proven(*parsed(f"delegation={mine.url_string}"))


def test_whom_a_request_is_made_for() -> None:
    _, wanted = parsed("", TICKET)
    assert caller_of(TICKET, wanted) == ("alice", None)
    assert caller_of(TICKET, parsed("user.name=alice")[1]) == ("alice", None)
    assert caller_of(TICKET, parsed("doas=bob")[1]) == ("alice", "bob")
    assert caller_of(TICKET, parsed("doas=alice")[1]) == ("alice", None)
    assert caller_of(TICKET, parsed("user.name=hdfs")[1]) == ("alice", None)
    # The name counts for nothing, so it does not hide for whom one wants to act.
    assert caller_of(TICKET, parsed("user.name=bob&doas=bob")[1]) == ("alice", "bob")


def test_who_is_acted_for_is_known_by_the_short_name() -> None:
    """By which rules are looked at: the token that is issued then proves that one."""
    assert caller_of(TICKET, parsed("doas=bob@R")[1]) == ("alice", "bob")
    assert caller_of(TICKET, parsed("doas=alice@R")[1]) == ("alice", None)
    with pytest.raises(InvalidParameter, match="Illegal principal name bob@ELSEWHERE: No rules"):
        parsed("doas=bob@ELSEWHERE")


def test_a_token_is_good_for_its_owner_alone() -> None:
    text = token("bob@R", "oozie@R").url_string
    proven = PROOFS.proven(*parsed(f"delegation={text}"))
    assert proven is not None
    user, acts_for = caller_of(proven, parsed(f"delegation={text}&doas=bob")[1])
    assert (user, real_user_of(user), acts_for) == ("bob", "oozie", None)
    for others in ("doas=alice", "user.name=alice&doas=alice"):
        with pytest.raises(errors.AuthorizationFailed, match="good for bob alone"):
            caller_of(proven, parsed(f"delegation={text}&{others}")[1])


class Users:
    """Who can log in, unless the file is none."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.is_broken = False

    def records(self) -> dict[str, PasswordRecord]:
        if self.is_broken:
            raise errors.InvalidConfiguration("line 7")
        return {name: PasswordRecord(name, Cost(1, 1, 1), b"", b"") for name in self.names}


def test_a_token_ends_with_the_login_of_its_user() -> None:
    users = Users("alice")
    issued = TokensOfUsers(ISSUED, users)
    proofs = Proofs(issued, methods(issued), here, needs_proof=True)
    own = parsed(f"delegation={token('alice').url_string}")
    for_another = parsed(f"delegation={token('carol', 'alice').url_string}")
    assert caller_of(proofs.proven(*own), own[1])[0] == "alice"  # type: ignore[arg-type]
    assert caller_of(proofs.proven(*for_another), for_another[1])[0] == "carol"  # type: ignore[arg-type]
    users.names = ("carol",)
    for gone in (own, for_another):
        with pytest.raises(errors.RemoteError, match="alice, who got this token, can log in no"):
            proofs.proven(*gone)
    assert not proofs.is_good(token("alice"))
    users.is_broken = True
    with pytest.raises(errors.RetriableError, match="file of passwords"):
        proofs.proven(*own)


def test_a_token_that_was_never_issued_is_refused_before_its_user_is_looked_at() -> None:
    users = Users()
    users.is_broken = True
    standby = Issued()
    standby.is_standby = True
    with pytest.raises(errors.StandbyError):
        TokensOfUsers(standby, users).password_of(token("alice").identifier)


def test_during_a_change_who_proves_nothing_is_believed_and_a_token_has_to_be_good() -> None:
    changing = replace(PROOFS, needs_proof=False)
    assert changing.proven(*parsed("user.name=bob")) is None
    forged = token(password=bytes(20)).url_string
    with pytest.raises(errors.RemoteError, match="password of the token is wrong"):
        changing.proven(*parsed(f"delegation={forged}"))
