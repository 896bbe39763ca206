"""The short way of a call, and when it is left for the long one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Deferred
from howdah.protocol.varint import delimited
from howdah.router.calls import fast_path
from howdah.router.calls.core import Core
from howdah.router.calls.fast_path import Quick
from howdah.router.namenodes.connections import Broken, encode_call
from howdah.router.state.namenodes.identity import Identity
from howdah.router.state.table.mount_table import Destination, MountEntry, MountTable
from howdah.runtime import unexpected_errors

CALLER = Caller("ada", b"0123456789abcdef", 7, 0, "127.0.0.1", 4321)


class Sending:
    """Nameservices that note what is sent, and answer when they are told to."""

    disabled: frozenset[str] = frozenset()
    available_bytes: ClassVar[dict[str, int]] = {}

    def __init__(self, *, alone: bool = True, takes: bool = True) -> None:
        self.alone, self.takes = alone, takes
        self.sent: list[tuple[str, str, Message]] = []
        self.answer: Callable[[Any], None] = lambda outcome: None

    def send(
        self,
        nameservice: str,
        method: str,
        request: Message,
        identity: Identity,
        done: Callable[[Any], None],
        seen: int | None = None,
    ) -> bool:
        assert seen is None
        assert (identity.client_id, identity.call_id) == (CALLER.client_id, CALLER.call_id)
        self.sent.append((nameservice, method, request))
        self.answer = done
        return self.takes

    def required_txid(self, nameservice: str, method: str, caller: Caller) -> int | None:
        return None

    def is_alone(self, nameservice: str) -> bool:
        return self.alone


class Going:
    """One call that begins, and what becomes of it."""

    def __init__(self, nameservices: Sending, path: str, method: str = "getLinkTarget") -> None:
        entries = [
            MountEntry("/east", (Destination("east", "/real"),)),
            MountEntry("/both", (Destination("east", "/b"), Destination("west", "/b"))),
            MountEntry("/deep/er", (Destination("west", "/d"),)),
        ]
        made: Any = nameservices
        core = Core(made, "router", "root", "supergroup", MountTable(entries, "east"))
        self.quick = Quick(core)
        self.answer = Deferred()
        self.outcomes: list[Any] = []
        self.answer.when_settled(self.outcomes.append)
        self.long_ways = 0
        kinds = {
            "getLinkTarget": pb.GetLinkTargetRequestProto(path=path),
            "getFileInfo": pb.GetFileInfoRequestProto(src=path),
            "getFileLinkInfo": pb.GetFileLinkInfoRequestProto(src=path),
            "checkAccess": pb.CheckAccessRequestProto(
                path=path, mode=types_pb2.AclEntryProto.FsActionProto.READ
            ),
        }
        self.sent = self.quick.begin(
            method, kinds[method], CALLER, self.answer, 100, self._long_way
        )

    def _long_way(self) -> None:
        self.long_ways += 1


def target(path: str) -> bytes:
    return pb.GetLinkTargetResponseProto(targetPath=path).SerializeToString()


def test_a_defect_in_the_translation_is_an_error_for_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def meets_a_defect(*_: object) -> None:
        raise ZeroDivisionError("a defect of this test")

    monkeypatch.setattr(fast_path, "translate", meets_a_defect)
    nameservices = Sending()
    call = Going(nameservices, "/east/link")
    before = unexpected_errors.seen.total()
    nameservices.answer(target("/real/a"))
    (outcome,) = call.outcomes
    assert isinstance(outcome, errors.HowdahError)
    assert unexpected_errors.seen.total() == before + 1


def test_a_call_to_one_destination_is_sent_and_its_answer_translated() -> None:
    nameservices = Sending()
    call = Going(nameservices, "/east/link")
    assert call.sent
    assert nameservices.sent == [
        ("east", "getLinkTarget", pb.GetLinkTargetRequestProto(path="/real/link"))
    ]
    assert (call.quick.under_way, call.quick.held_bytes) == (1, 100)
    nameservices.answer(target("/real/a"))
    assert [each.targetPath for each in call.outcomes] == ["/east/a"]
    assert (call.quick.under_way, call.quick.held_bytes) == (0, 0)
    assert call.long_ways == 0


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/both/x", "getLinkTarget"),
        ("/deep", "getFileInfo"),
        ("/", "getFileInfo"),
        ("/", "getFileLinkInfo"),
        ("/", "checkAccess"),
    ],
)
def test_what_has_several_destinations_or_mount_points_below_is_for_the_long_way(
    path: str, method: str
) -> None:
    nameservices = Sending()
    assert not Going(nameservices, path, method).sent
    assert nameservices.sent == []


def test_without_a_connection_nothing_is_under_way() -> None:
    call = Going(Sending(takes=False), "/east/link")
    assert not call.sent
    assert (call.quick.under_way, call.quick.held_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("error", "alone", "long_ways"),
    [
        (errors.StandbyError("not I"), True, 1),
        (Broken("gone"), True, 1),
        (errors.CallTimeout("slow"), False, 1),
        (errors.CallTimeout("slow"), True, 0),
        (errors.PathNotFound("/real/link is not there"), True, 0),
        (errors.RetriableError("later"), True, 0),
    ],
    ids=str,
)
def test_an_error_is_told_or_another_namenode_is_asked(
    error: errors.HowdahError, alone: bool, long_ways: int
) -> None:
    nameservices = Sending(alone=alone)
    call = Going(nameservices, "/east/link")
    nameservices.answer(error)
    assert call.long_ways == long_ways
    assert [type(each) for each in call.outcomes] == [type(error)] * (1 - long_ways)
    assert all("/real" not in str(each) for each in call.outcomes)


def test_nothing_is_done_for_a_caller_that_is_gone() -> None:
    nameservices = Sending()
    call = Going(nameservices, "/east/link")
    call.answer.withdraw()
    nameservices.answer(Broken("gone"))
    assert (call.long_ways, call.outcomes, call.quick.under_way) == (0, [], 0)


def test_an_answer_that_is_none_is_named() -> None:
    nameservices = Sending()
    call = Going(nameservices, "/east/link")
    nameservices.answer(b"\xff\xff")
    (outcome,) = call.outcomes
    assert isinstance(outcome, errors.ProtocolViolation)
    assert "east answered getLinkTarget" in str(outcome)


def test_a_path_that_is_nowhere_is_refused_at_once() -> None:
    with pytest.raises(errors.UnsupportedOperation, match="belong to one namenode"):
        Going(Sending(), "/.reserved/.inodes/1")


@given(
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.binary(min_size=16, max_size=16),
    st.integers(-1, 1000),
    st.none() | st.tuples(st.text(max_size=20), st.binary(max_size=8)),
)
def test_a_call_is_the_frame_that_protobuf_makes(
    call_id: int, client_id: bytes, retries: int, context: tuple[str, bytes] | None
) -> None:
    identity = Identity("ada", client_id, call_id, retries, context)
    request = pb.GetFileInfoRequestProto(src="/a")
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=call_id,
        clientId=client_id,
        retryCount=retries,
    )
    if context is not None:
        header.callerContext.context = context[0]
        if context[1]:
            header.callerContext.signature = context[1]
    name = rpc_pb2.RequestHeaderProto(
        methodName="getFileInfo", declaringClassProtocolName="p", clientProtocolVersion=1
    )
    expected = wire.frame(delimited(header), delimited(name), delimited(request))
    assert encode_call("p", "getFileInfo", request, identity) == expected
