"""Delegation tokens of a gateway: how long they are good, and by which keys they are made."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import WEBHDFS_DELEGATION, Token
from howdah.gateway.tokens import TokensInMemory, TokenTimes
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.security.server_tokens import ServerTokens

TIMES = TokenTimes(renewal_s=100, lifetime_s=250, key_s=60)


class Clock:
    now_s = 1_000

    def __call__(self) -> int:
        return self.now_s * 1000


def short_name(principal: str) -> str:
    return principal.partition("@")[0].partition("/")[0]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(clock: Clock) -> ServerTokens:
    return ServerTokens(TIMES, TokensInMemory(), WEBHDFS_DELEGATION, short_name, clock)


def test_a_token_is_its_owner(tokens: ServerTokens) -> None:
    token = tokens.issue("alice", "rm/host@EXAMPLE.COM", "", "here:1")
    assert (token.kind, token.service) == (WEBHDFS_DELEGATION, "here:1")
    assert tokens.proven(token) == Proven(TOKEN, "alice", "alice")
    assert DelegationTokenIdentifier.decode(token.identifier).renewer == "rm"


def test_a_token_says_who_acts_for_its_owner(tokens: ServerTokens) -> None:
    token = tokens.issue("bob", "bob", "oozie", "")
    assert tokens.proven(token) == Proven(TOKEN, "bob", "bob", "oozie", "oozie")


def test_a_token_is_good_until_it_was_renewed_to(tokens: ServerTokens, clock: Clock) -> None:
    token = tokens.issue("alice", "rm", "", "")
    clock.now_s += 100
    assert tokens.proven(token).user == "alice"
    assert tokens.renew(token, "rm") == (clock.now_s + 100) * 1000
    clock.now_s += 100
    # The end of its life, which nothing puts off.
    assert tokens.renew(token, "rm") == 1_250_000
    clock.now_s += 51
    with pytest.raises(errors.InvalidToken, match="has expired"):
        tokens.proven(token)
    with pytest.raises(errors.InvalidToken, match="expired token"):
        tokens.renew(token, "rm")


def test_the_renewer_alone_renews_and_nobody_else_cancels(tokens: ServerTokens) -> None:
    token = tokens.issue("alice", "rm", "", "")
    with pytest.raises(errors.AccessDenied, match="non-matching renewer rm"):
        tokens.renew(token, "alice")
    with pytest.raises(errors.AccessDenied, match="wrong password"):
        tokens.renew(Token(token.identifier, b"x" * 20, token.kind), "rm")
    with pytest.raises(errors.AccessDenied, match="not authorized to cancel"):
        tokens.cancel(token, "bob")
    tokens.cancel(token, "rm")
    with pytest.raises(errors.InvalidToken, match="can't be found"):
        tokens.proven(token)
    with pytest.raises(errors.InvalidToken, match="not found"):
        tokens.cancel(token, "alice")
    with pytest.raises(errors.InvalidToken, match="unknown token"):
        tokens.renew(token, "rm")


def test_another_identifier_needs_another_password(tokens: ServerTokens) -> None:
    ours, theirs = tokens.issue("alice", "rm", "", ""), tokens.issue("bob", "rm", "", "")
    with pytest.raises(errors.InvalidToken, match="password of the token is wrong"):
        tokens.proven(Token(theirs.identifier, ours.password, ours.kind))
    with pytest.raises(errors.InvalidToken, match="no identifier"):
        tokens.proven(Token(b"", b"", ours.kind))


def test_keys_are_rolled_and_kept_as_long_as_their_tokens(
    tokens: ServerTokens, clock: Clock
) -> None:
    def key_of(token: Token) -> int:
        return DelegationTokenIdentifier.decode(token.identifier).master_key_id

    first = tokens.issue("alice", "rm", "", "")
    clock.now_s += 59
    assert key_of(tokens.issue("alice", "rm", "", "")) == key_of(first)
    clock.now_s += 1
    second = tokens.issue("alice", "rm", "", "")
    assert key_of(second) == key_of(first) + 1
    assert tokens.proven(first).user == tokens.proven(second).user == "alice"


def test_what_is_over_is_removed(tokens: ServerTokens, clock: Clock) -> None:
    for _ in range(5):
        tokens.issue("alice", "rm", "", "")
    assert len(tokens) == 5
    clock.now_s += 101
    tokens.issue("alice", "rm", "", "")
    assert len(tokens) == 1


def test_one_owner_has_so_many_and_another_has_his_own(clock: Clock) -> None:
    tokens = ServerTokens(
        TIMES, TokensInMemory(), WEBHDFS_DELEGATION, short_name, clock, most_of_one=2
    )
    first, second = (tokens.issue("alice", "rm", "", "") for _ in range(2))
    with pytest.raises(errors.AccessDenied, match=r"alice has 2 delegation tokens .* cancel some"):
        tokens.issue("alice", "rm", "", "")
    # A refusal costs no token, neither an older one nor somebody else's.
    assert {tokens.proven(token).user for token in (first, second)} == {"alice"}
    assert tokens.proven(tokens.issue("bob", "rm", "", "")).user == "bob"
    tokens.cancel(first, "alice")
    assert tokens.proven(tokens.issue("alice", "rm", "", "")).user == "alice"


def test_all_owners_have_so_many_together(clock: Clock) -> None:
    tokens = ServerTokens(TIMES, TokensInMemory(), WEBHDFS_DELEGATION, short_name, clock, most=2)
    token = tokens.issue("alice", "rm", "", "")
    tokens.issue("bob", "rm", "", "")
    with pytest.raises(errors.RemoteError, match="there are 2 delegation tokens of this gateway"):
        tokens.issue("eve", "rm", "", "")
    tokens.cancel(token, "alice")
    tokens.issue("eve", "rm", "", "")


def test_what_is_over_makes_room(clock: Clock) -> None:
    tokens = ServerTokens(
        TokenTimes(renewal_s=7200, lifetime_s=14400, key_s=60),
        TokensInMemory(),
        WEBHDFS_DELEGATION,
        short_name,
        clock,
        most_of_one=2,
    )
    tokens.issue("alice", "rm", "", "")
    clock.now_s += 3600
    tokens.issue("alice", "rm", "", "")  # Here they are looked at.
    clock.now_s += 3590
    with pytest.raises(errors.AccessDenied):
        tokens.issue("alice", "rm", "", "")
    clock.now_s += 15
    assert len(tokens) == 2
    tokens.issue("alice", "rm", "", "")
    assert len(tokens) == 2


def test_tokens_of_another_gateway_are_none(clock: Clock, tokens: ServerTokens) -> None:
    other = ServerTokens(TIMES, TokensInMemory(), WEBHDFS_DELEGATION, short_name, clock)
    tokens.issue("alice", "rm", "", "")
    foreign = other.issue("alice", "rm", "", "")
    with pytest.raises(errors.InvalidToken):
        tokens.proven(foreign)
