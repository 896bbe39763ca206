"""Delegation tokens as calls: who gets one, and what a pair of namenodes makes of them."""

from __future__ import annotations

import random
from collections import deque
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.codec import decode_record
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.namenode.service.delegation_tokens import TokenTimes
from howdah.namenode.service.protocols.client_tokens import TokenMethods
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import rpc_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import KERBEROS, TOKEN, Proven
from howdah.protocol.sasl.auth_to_local import Rule, short_name
from howdah.testing.in_memory import InMemoryNamenode, ManualClock, reloaded

TIMES = TokenTimes(renewal_ms=100, lifetime_ms=250, key_ms=60)


def caller_of(principal: str, method: str = KERBEROS, acts_for: str = "") -> Caller:
    short = user_of(principal)
    proven = Proven(method, short, principal)
    if acts_for:
        return Caller(acts_for, b"", 0, 0, "10.0.0.1", real_user=short, proven=proven)
    return Caller(short, b"", 0, 0, "10.0.0.1", proven=proven)


def user_of(principal: str) -> str:
    return short_name(principal, (Rule(),), "EXAMPLE.COM", "hadoop")


ALICE = caller_of("alice@EXAMPLE.COM")
RM = caller_of("rm/h@EXAMPLE.COM")
MALLORY = caller_of("mallory@EXAMPLE.COM")


class Member:
    """A namenode with its tokens."""

    def __init__(
        self, seed: int, namespace: Namespace | None = None, clock: ManualClock | None = None
    ) -> None:
        self.namenode = InMemoryNamenode(namespace=namespace, clock=clock)
        self.namesystem = self.namenode.namesystem
        self.is_active = True
        dice = random.Random(seed)
        self.tokens = TokenCalls(
            self.namesystem, TIMES, user_of, lambda: dice.randbytes(20), proofs={KERBEROS}
        )
        self.namesystem.safe_mode.leave(force=True)

    def check_read(self) -> None:
        if not self.is_active:
            raise errors.StandbyError("Operation category READ is not supported in state standby")

    def password_of(self, token: Token) -> bytes:
        return self.tokens.password_of(token.identifier, self.check_read, is_active=self.is_active)


def test_a_token_is_of_whom_the_caller_has_proven_to_be() -> None:
    member = Member(1)
    token = member.tokens.issue(ALICE, "rm/h@EXAMPLE.COM")
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert (identifier.owner, identifier.renewer, identifier.real_user) == (
        "alice@EXAMPLE.COM",
        "rm",
        "",
    )
    assert member.password_of(token) == token.password


def test_a_token_for_who_is_acted_for_says_by_whom() -> None:
    token = Member(1).tokens.issue(caller_of("oozie@EXAMPLE.COM", acts_for="bob"), "")
    identifier = DelegationTokenIdentifier.decode(token.identifier)
    assert (identifier.owner, identifier.real_user) == ("bob", "oozie@EXAMPLE.COM")


@pytest.mark.parametrize(
    "caller", [caller_of("alice@EXAMPLE.COM", TOKEN), Caller("alice", b"", 0, 0, "10.0.0.1")]
)
def test_who_shows_no_ticket_gets_and_renews_no_token(caller: Caller) -> None:
    tokens = Member(1).tokens
    with pytest.raises(errors.HowdahError, match="issued only with kerberos"):
        tokens.issue(caller, "")
    token = tokens.issue(ALICE, "alice")
    with pytest.raises(errors.HowdahError, match="renewed only with kerberos"):
        tokens.renew(caller, token)


def test_in_safe_mode_nothing_is_done_about_tokens() -> None:
    member = Member(1)
    token = member.tokens.issue(ALICE, "alice")
    edits_before = member.namenode.edits()
    member.namesystem.safe_mode.enter()
    member.namenode.clock.advance(1000)
    for words, ask in (
        ("issue", lambda: member.tokens.issue(ALICE, "")),
        ("renew", lambda: member.tokens.renew(ALICE, token)),
        ("cancel", lambda: member.tokens.cancel(ALICE, token)),
    ):
        with pytest.raises(errors.SafeMode, match=f"Cannot {words} delegation token"):
            ask()
    assert member.tokens.turn() is None
    assert member.namenode.edits() == edits_before


def test_the_active_takes_other_keys_and_removes_what_is_over_by_itself() -> None:
    member = Member(1)
    member.tokens.became_active()
    deque(member.tokens.turn() or (), maxlen=0)
    token = member.tokens.issue(ALICE, "alice")
    member.namenode.clock.advance(59)
    assert member.tokens.turn() is None
    member.namenode.clock.advance(42)
    deque(member.tokens.turn() or (), maxlen=0)
    made = [type(edit) for edit in member.namenode.edits()[1:]]
    assert made == [
        edits.UpdateMasterKeyOp,
        edits.GetDelegationTokenOp,
        edits.UpdateMasterKeyOp,
        edits.CancelDelegationTokenOp,
    ]
    with pytest.raises(errors.InvalidToken):
        member.password_of(token)


def test_calls_speak_hadoops_messages() -> None:
    methods = TokenMethods(Member(1).tokens)
    got = methods.get_delegation_token(rpc_pb2.GetDelegationTokenRequestProto(renewer="rm"), ALICE)
    assert (got.token.kind, got.token.service) == ("HDFS_DELEGATION_TOKEN", "")
    renewed = methods.renew_delegation_token(
        rpc_pb2.RenewDelegationTokenRequestProto(token=got.token), RM
    )
    assert (
        renewed.newExpiryTime
        == DelegationTokenIdentifier.decode(got.token.identifier).issue_date_ms + TIMES.renewal_ms
    )
    cancel = rpc_pb2.CancelDelegationTokenRequestProto(token=got.token)
    with pytest.raises(errors.AccessDenied, match="not authorized to cancel"):
        methods.cancel_delegation_token(cancel, MALLORY)
    methods.cancel_delegation_token(cancel, RM)
    with pytest.raises(errors.InvalidToken):
        methods.cancel_delegation_token(cancel, RM)


def test_a_namenode_that_issues_no_tokens_says_so() -> None:
    methods = TokenMethods(None)
    request = rpc_pb2.GetDelegationTokenRequestProto(renewer="rm")
    assert not methods.get_delegation_token(request, ALICE).HasField("token")
    token = rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service="")
    with pytest.raises(errors.UnsupportedOperation, match="renewDelegationToken is not supported"):
        methods.renew_delegation_token(rpc_pb2.RenewDelegationTokenRequestProto(token=token), ALICE)
    with pytest.raises(errors.UnsupportedOperation, match="cancelDelegationToken is not"):
        methods.cancel_delegation_token(
            rpc_pb2.CancelDelegationTokenRequestProto(token=token), ALICE
        )


class Pair(RuleBasedStateMachine):
    """An active and a standby with one log, which change roles and start from images."""

    def __init__(self) -> None:
        super().__init__()
        self.seeds = count(1)
        clock = ManualClock()
        self.active = Member(next(self.seeds), clock=clock)
        self.standby = Member(next(self.seeds), clock=clock)
        self._becomes_standby(self.standby)
        self.standby.namesystem.last_txid = 1  # Its root has an owner by an edit of its own.
        self.log = self.active.namenode.log
        self.good: dict[bytes, tuple[Token, int, int]] = {}

    @property
    def now_ms(self) -> int:
        return self.active.namenode.clock.wall_ms()

    @staticmethod
    def _becomes_standby(member: Member) -> None:
        member.is_active = False
        member.namesystem.become_standby()
        member.namesystem.safe_mode.leave(force=True)

    @rule()
    def follow(self) -> None:
        namesystem = self.standby.namesystem
        for record in self.log[namesystem.last_txid :]:
            namesystem.follow(decode_record(record))

    @rule()
    def fail_over(self) -> None:
        self.follow()
        self.active, self.standby = self.standby, self.active
        self._becomes_standby(self.standby)
        self.active.is_active = True
        self.active.namesystem.become_active()
        self.standby.namenode.log, self.active.namenode.log = [], self.log
        self.active.tokens.became_active()

    @rule()
    def standby_starts_from_an_image(self) -> None:
        old = self.standby.namesystem
        clock = self.standby.namenode.clock
        self.standby = Member(next(self.seeds), reloaded(old.namespace), clock)
        self._becomes_standby(self.standby)
        self.standby.namesystem.last_txid = old.last_txid

    @rule(passed_ms=st.integers(1, 120))
    def wait(self, passed_ms: int) -> None:
        self.active.namenode.clock.advance(passed_ms)

    @rule()
    def duties(self) -> None:
        deque(self.active.tokens.turn() or (), maxlen=0)

    @rule(renewer=st.sampled_from(["rm", "alice", ""]))
    def issue(self, renewer: str) -> None:
        token = self.active.tokens.issue(ALICE, renewer)
        assert token.identifier not in self.good
        self.good[token.identifier] = (
            token,
            self.now_ms + TIMES.renewal_ms,
            self.now_ms + TIMES.lifetime_ms,
        )

    @precondition(lambda self: self.good)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        token, until_ms, last_ms = self.good[data.draw(st.sampled_from(sorted(self.good)))]
        known = self.active.namesystem.namespace.tokens.expiry_ms(
            DelegationTokenIdentifier.decode(token.identifier)
        )
        try:
            until_ms = self.active.tokens.renew(RM, token)
        except (errors.AccessDenied, errors.InvalidToken):
            renewer = DelegationTokenIdentifier.decode(token.identifier).renewer
            assert renewer != "rm" or last_ms < self.now_ms or known is None
            return
        assert until_ms == min(last_ms, self.now_ms + TIMES.renewal_ms)
        self.good[token.identifier] = token, until_ms, last_ms

    @precondition(lambda self: self.good)
    @rule(data=st.data(), caller=st.sampled_from([ALICE, MALLORY]))
    def cancel(self, data: st.DataObject, caller: Caller) -> None:
        token, until_ms, _ = self.good[data.draw(st.sampled_from(sorted(self.good)))]
        try:
            self.active.tokens.cancel(caller, token)
        except errors.AccessDenied:
            assert caller is MALLORY
            return
        except errors.InvalidToken:
            assert until_ms < self.now_ms, "it is over, and was removed"
        assert caller is ALICE
        del self.good[token.identifier]

    @invariant()
    def the_active_believes_those_that_are_good(self) -> None:
        for token, until_ms, _ in self.good.values():
            if until_ms >= self.now_ms:
                assert self.active.password_of(token) == token.password
            else:
                with pytest.raises(errors.InvalidToken):
                    self.active.password_of(token)
            with pytest.raises(errors.StandbyError):
                self.standby.password_of(token)

    @invariant()
    def log_image_and_standby_say_the_same(self) -> None:
        tokens = self.active.namesystem.namespace.tokens
        assert reloaded(self.active.namesystem.namespace).tokens == tokens
        fresh = Namespace()
        for record in self.log:
            fresh.apply(decode_record(record).edit)
        assert fresh.tokens == tokens
        if self.standby.namesystem.last_txid == self.active.namesystem.last_txid:
            assert self.standby.namesystem.namespace.tokens == tokens


TestPair = Pair.TestCase
TestPair.settings = settings(max_examples=25, stateful_step_count=25)


def test_during_a_change_who_proves_nothing_goes_without_a_token() -> None:
    """As at a namenode that issues none: his client goes on."""
    stranger = Caller("alice", b"", 0, 0, "10.0.0.1")
    namesystem = Member(1).namesystem
    both = TokenCalls(
        namesystem, TIMES, user_of, lambda: bytes(20), proofs={KERBEROS}, believes_strangers=True
    )
    assert not both.are_for(stranger)
    assert both.are_for(ALICE)
    with pytest.raises(errors.HowdahError, match="issued only with kerberos"):
        both.issue(stranger, "")
