"""One token for many redirections of a caller, and for nobody else."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.namenode.server.webhdfs.redirect_tokens import RedirectTokens
from howdah.proto import rpc_pb2
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.runtime.users.names import ProxyUser
from howdah.web.webhdfs.call_chain import Rpc
from howdah.web.webhdfs.parameters import ParsedRequest
from tests.unit.namenode.server.webhdfs.test_proofs import parsed

DAY_S = 24 * 3600.0
ALICE = Proven(KERBEROS, "alice", "alice")
HERE = "10.0.0.1"


class Namenode:
    """Issues one token after the other, and says which are cancelled."""

    def __init__(self, *, most: int = 100) -> None:
        self.now_s = 0.0
        self.count = 0
        self.cancelled: set[bytes] = set()
        self.is_standby = False
        self.tokens = RedirectTokens(DAY_S, self._is_good, lambda: self.now_s, most=most)

    def _is_good(self, token: Token) -> bool:
        if self.is_standby:
            raise errors.StandbyError("standby")
        return token.identifier not in self.cancelled

    def lead(
        self,
        user: str = "alice",
        proven: Proven = ALICE,
        address: str = HERE,
        *,
        is_secure: bool = False,
        issues: bool = True,
    ) -> Token | None:
        wanted: ParsedRequest = replace(parsed("", proven)[1], is_secure=is_secure)
        steps = self.tokens.issued(wanted, user, proven, address)
        try:
            step = next(steps)
            assert isinstance(step, Rpc)
            assert step.request == rpc_pb2.GetDelegationTokenRequestProto(renewer=str(user))
            self.count += 1
            answer = rpc_pb2.GetDelegationTokenResponseProto()
            if issues:
                made = Token(b"%d" % self.count, b"password", "HDFS_DELEGATION_TOKEN", "nn:1")
                answer.token.CopyFrom(made.to_proto())
            steps.send(answer)
        except StopIteration as end:
            token: Token | None = end.value
            return token
        raise AssertionError("one call is enough")


@pytest.fixture
def namenode() -> Namenode:
    return Namenode()


def test_who_comes_again_is_led_on_by_the_same_token_while_it_is_young(
    namenode: Namenode,
) -> None:
    first = namenode.lead()
    namenode.now_s = DAY_S / 2 - 1
    assert namenode.lead() == first
    namenode.now_s = DAY_S / 2
    second = namenode.lead()
    assert second not in (None, first)
    assert namenode.lead() == second
    assert namenode.count == 2


@pytest.mark.parametrize(
    "other",
    [
        {"user": "bob", "proven": Proven(KERBEROS, "bob", "bob")},
        {"user": "bob"},
        {"user": ProxyUser("alice", "bob"), "proven": Proven(KERBEROS, "bob", "bob")},
        {"proven": Proven(KERBEROS, "alice", "alice@OTHER.REALM")},
        {"proven": Proven("ANOTHER", "alice", "alice")},
        {"address": "10.0.0.2"},
        {"is_secure": True},
    ],
)
def test_nobody_else_is_led_on_by_it(namenode: Namenode, other: dict[str, object]) -> None:
    first = namenode.lead()
    second = namenode.lead(**other)  # type: ignore[arg-type]
    assert first is not None
    assert second is not None
    assert second.identifier != first.identifier
    assert namenode.lead() == first


def test_who_is_acted_for_has_a_token_for_each_who_acts(namenode: Namenode) -> None:
    tokens = set()
    for real in ("oozie", "hue", "oozie"):
        token = namenode.lead(ProxyUser("alice", real), Proven(KERBEROS, real, real))
        assert token is not None
        tokens.add(token.identifier)
    assert len(tokens) == 2


def test_one_that_was_cancelled_is_made_anew(namenode: Namenode) -> None:
    first = namenode.lead()
    assert first is not None
    namenode.cancelled.add(first.identifier)
    assert namenode.lead() != first
    assert namenode.count == 2


def test_a_namenode_that_cannot_tell_says_so(namenode: Namenode) -> None:
    first = namenode.lead()
    namenode.is_standby = True
    with pytest.raises(errors.StandbyError):
        namenode.lead()
    namenode.is_standby = False
    assert namenode.lead() == first


def test_where_none_are_issued_none_is_kept(namenode: Namenode) -> None:
    assert namenode.lead(issues=False) is None
    assert namenode.lead() is not None


def test_those_that_were_not_used_for_longest_are_forgotten() -> None:
    namenode = Namenode(most=2)
    first, second = namenode.lead(address="1"), namenode.lead(address="2")
    assert namenode.lead(address="1") == first
    namenode.lead(address="3")
    assert namenode.lead(address="1") == first
    assert namenode.lead(address="2") != second
    assert "password" not in repr(namenode.tokens._tokens)


def test_threads_share_them(namenode: Namenode) -> None:
    first = namenode.lead()
    found: list[Token | None] = []
    threads = [
        threading.Thread(target=lambda: found.extend(namenode.lead() for _ in range(100)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first] * 400
