"""Delegation tokens: who gets, renews, cancels and is believed, and what a log makes of it."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.namenode.service.delegation_tokens import (
    MOST_REMOVED_AT_ONCE,
    TokenManager,
    TokenTimes,
)
from howdah.namenode.state.tree.delegation_tokens import DelegationTokens

ALICE = "alice@EXAMPLE.COM"
TIMES = TokenTimes(renewal_ms=100, lifetime_ms=250, key_ms=60)


def short_name(principal: str) -> str:
    return principal.partition("@")[0].partition("/")[0]


class Namespace:
    """Tokens that change by edits, which are kept."""

    def __init__(self, times: TokenTimes = TIMES) -> None:
        self.tokens = DelegationTokens()
        self.log: list[edits.Edit] = []
        self.manager = TokenManager(self.tokens, self._commit, short_name, times)

    def _commit(self, edit: edits.Edit) -> None:
        self.log.append(edit)
        self.tokens.appliers[type(edit)](edit)

    def replayed(self) -> DelegationTokens:
        tokens = DelegationTokens()
        for edit in self.log:
            tokens.appliers[type(edit)](edit)
        return tokens


def began() -> Namespace:
    namespace = Namespace()
    namespace.manager.roll(b"a master key", 0)
    return namespace


def issue(namespace: Namespace, renewer: str = "rm/host@EXAMPLE.COM", now_ms: int = 0) -> Token:
    return namespace.manager.issue(ALICE, renewer, "", now_ms=now_ms)


def test_a_token_says_whose_it_is_and_its_password_is_of_the_key() -> None:
    namespace = began()
    token = issue(namespace)
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert identifier == DelegationTokenIdentifier(ALICE, "rm", "", 0, 250, 1, 1)
    assert token.kind == HDFS_DELEGATION
    expected = hmac.new(b"a master key", token.identifier, hashlib.sha1).digest()
    assert token.password == expected
    assert namespace.manager.password_of(token.identifier, 100, is_active=True) == expected


def test_a_token_that_nobody_renewed_is_over() -> None:
    namespace = began()
    token = issue(namespace)
    with pytest.raises(errors.InvalidToken, match="expired"):
        namespace.manager.password_of(token.identifier, 101, is_active=True)
    assert list(namespace.manager.removing(101)) == [1]
    with pytest.raises(errors.InvalidToken, match="can't be found in cache"):
        namespace.manager.password_of(token.identifier, 101, is_active=True)


def test_a_standby_cannot_tell_whether_a_token_that_it_does_not_know_is_good() -> None:
    token = issue(began())
    with pytest.raises(errors.RetriableError, match="of a standby"):
        Namespace().manager.password_of(token.identifier, 0, is_active=False)


def test_the_renewer_renews_up_to_the_lifetime() -> None:
    namespace = began()
    token = issue(namespace)
    assert namespace.manager.renew(token, "rm", 90) == 190
    assert namespace.manager.renew(token, "rm", 180) == 250
    with pytest.raises(errors.InvalidToken, match="tried to renew an expired token"):
        namespace.manager.renew(token, "rm", 251)


@pytest.mark.parametrize(
    ("renewer", "who", "password", "words"),
    [
        ("rm", "alice", None, "non-matching renewer rm"),
        ("rm", "rm/host", None, "non-matching renewer rm"),
        ("", "rm", None, "without a renewer"),
        ("rm", "rm", b"guessed", "with wrong password"),
    ],
)
def test_nobody_else_renews(renewer: str, who: str, password: bytes | None, words: str) -> None:
    namespace = began()
    token = issue(namespace, renewer)
    shown = Token(token.identifier, password or token.password, token.kind, "")
    with pytest.raises(errors.AccessDenied, match=words):
        namespace.manager.renew(shown, who, 1)
    assert len(namespace.log) == 2


@pytest.mark.parametrize("who", [ALICE, "rm/other@EXAMPLE.COM"])
def test_owner_and_renewer_cancel(who: str) -> None:
    namespace = began()
    token = issue(namespace)
    namespace.manager.cancel(token.identifier, who)
    with pytest.raises(errors.InvalidToken, match="can't be found"):
        namespace.manager.password_of(token.identifier, 0, is_active=True)
    with pytest.raises(errors.InvalidToken, match="Token not found"):
        namespace.manager.cancel(token.identifier, who)
    with pytest.raises(errors.InvalidToken, match="unknown token"):
        namespace.manager.renew(token, "rm", 1)


@pytest.mark.parametrize("who", ["mallory@EXAMPLE.COM", "alice", "alice@OTHER.ORG"])
def test_nobody_else_cancels(who: str) -> None:
    namespace = began()
    token = issue(namespace)
    with pytest.raises(errors.AccessDenied, match="not authorized to cancel"):
        namespace.manager.cancel(token.identifier, who)


@pytest.mark.parametrize("identifier", [b"", b"\0", b"x" * 200, b"\1" + b"\0" * 8])
def test_what_is_no_identifier_is_refused(identifier: bytes) -> None:
    manager = began().manager
    token = Token(identifier, b"password", HDFS_DELEGATION, "")
    with pytest.raises(errors.InvalidToken):
        manager.password_of(identifier, 0, is_active=True)
    with pytest.raises(errors.InvalidToken):
        manager.renew(token, "rm", 0)
    with pytest.raises(errors.InvalidToken):
        manager.cancel(identifier, ALICE)


def test_a_made_up_token_is_not_believed_whatever_it_says() -> None:
    namespace = began()
    real = DelegationTokenIdentifier.decode(issue(namespace).identifier)
    for changes in (("hdfs", 1, 1), (ALICE, 2, 1), (ALICE, 1, 2), (ALICE, 1, 0)):
        owner, number, key = changes
        made_up = DelegationTokenIdentifier(owner, real.renewer, "", 0, 250, number, key)
        with pytest.raises(errors.InvalidToken):
            namespace.manager.password_of(made_up.encode(), 0, is_active=True)


def test_a_key_that_hadoop_forgot_makes_no_password() -> None:
    namespace = began()
    namespace.manager.roll(b"", 1)
    with pytest.raises(errors.InvalidToken, match="Unable to find master key for keyId=2"):
        issue(namespace)
    assert len(namespace.log) == 2


def test_tokens_are_removed_between_other_work_and_spared_when_renewed_meanwhile() -> None:
    namespace = began()
    tokens = [issue(namespace) for _ in range(MOST_REMOVED_AT_ONCE + 2)]
    removing = namespace.manager.removing(101)
    assert next(removing) == MOST_REMOVED_AT_ONCE
    namespace.manager.renew(tokens[-1], "rm", 101)
    assert list(removing) == [1]
    assert len(namespace.tokens) == 1
    assert namespace.manager.password_of(tokens[-1].identifier, 150, is_active=True)


def test_who_becomes_active_begins_with_a_key_of_its_own() -> None:
    namespace = began()
    assert not namespace.manager.is_key_due(59)
    assert namespace.manager.is_key_due(60)
    namespace.manager.begin()
    assert namespace.manager.is_key_due(1)


class Tokens(RuleBasedStateMachine):
    """A dictionary of what is good until when, and restarts from the log."""

    def __init__(self) -> None:
        super().__init__()
        self.namespace = Namespace()
        self.now_ms = 0
        self.dice = random.Random(1)
        self.good: dict[bytes, tuple[Token, str, int, int]] = {}
        self.roll()

    def roll(self) -> None:
        if self.namespace.manager.is_key_due(self.now_ms):
            self.namespace.manager.roll(self.dice.randbytes(8), self.now_ms)

    @rule(passed_ms=st.integers(1, 120))
    def wait(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.roll()

    @rule(renewer=st.sampled_from(["rm@EXAMPLE.COM", "yarn", ""]))
    def issue(self, renewer: str) -> None:
        token = issue(self.namespace, renewer, self.now_ms)
        assert token.identifier not in self.good
        ends = self.now_ms + TIMES.renewal_ms, self.now_ms + TIMES.lifetime_ms
        self.good[token.identifier] = (token, short_name(renewer), *ends)

    @precondition(lambda self: self.good)
    @rule(data=st.data(), who=st.sampled_from(["rm", "yarn", "alice"]))
    def renew(self, data: st.DataObject, who: str) -> None:
        token, renewer, _, last_ms = self.good[data.draw(st.sampled_from(sorted(self.good)))]
        if not renewer or renewer != who or last_ms < self.now_ms:
            with pytest.raises((errors.AccessDenied, errors.InvalidToken)):
                self.namespace.manager.renew(token, who, self.now_ms)
            return
        until_ms = self.namespace.manager.renew(token, who, self.now_ms)
        assert until_ms == min(last_ms, self.now_ms + TIMES.renewal_ms)
        self.good[token.identifier] = token, renewer, until_ms, last_ms

    @precondition(lambda self: self.good)
    @rule(data=st.data(), who=st.sampled_from([ALICE, "rm@EXAMPLE.COM", "bob@EXAMPLE.COM"]))
    def cancel(self, data: st.DataObject, who: str) -> None:
        token, renewer, _, _ = self.good[data.draw(st.sampled_from(sorted(self.good)))]
        if who != ALICE and short_name(who) != renewer:
            with pytest.raises(errors.AccessDenied):
                self.namespace.manager.cancel(token.identifier, who)
            return
        self.namespace.manager.cancel(token.identifier, who)
        del self.good[token.identifier]

    @rule()
    def remove_over(self) -> None:
        deque(self.namespace.manager.removing(self.now_ms), maxlen=0)
        self.good = {name: known for name, known in self.good.items() if known[2] >= self.now_ms}

    @rule()
    def restart(self) -> None:
        log = self.namespace.log
        self.namespace = Namespace()
        for edit in log:
            self.namespace.log.append(edit)
            self.namespace.tokens.appliers[type(edit)](edit)
        self.roll()

    @invariant()
    def those_that_are_good_are_believed(self) -> None:
        manager = self.namespace.manager
        for identifier, (token, _, until_ms, _) in self.good.items():
            if until_ms < self.now_ms:
                with pytest.raises(errors.InvalidToken):
                    manager.password_of(identifier, self.now_ms, is_active=True)
            else:
                password = manager.password_of(identifier, self.now_ms, is_active=True)
                assert password == token.password
        assert len(self.namespace.tokens) == len(self.good)

    @invariant()
    def log_and_image_say_the_same(self) -> None:
        tokens = self.namespace.tokens
        assert self.namespace.replayed() == tokens
        loaded = DelegationTokens()
        loaded.load(tokens.record())
        assert loaded == tokens


TestTokens = Tokens.TestCase
TestTokens.settings = settings(max_examples=30, stateful_step_count=30)
