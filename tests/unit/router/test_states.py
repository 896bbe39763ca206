"""What a router knows of the logs of its nameservices, and says of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.session import ServerSession
from howdah.router.namenodes.connections import encode_call
from howdah.router.state.namenodes.identity import Identity
from howdah.router.state.namenodes.membership import Members, State
from howdah.router.state.namenodes.state_ids import MOST_BYTES, States, decode_states, encode_states
from howdah.rpc.identity import SeenState

pytestmark = pytest.mark.req("LM-020")

STATES = st.dictionaries(st.text(max_size=8), st.integers(0, 2**63 - 1), max_size=6)


def states(**settings: object) -> States:
    found = States(("east", "west", "north"), **{"by_default": True, **settings})  # type: ignore[arg-type]
    for name in ("east", "west", "north"):
        found.heard_active(name, 100.0)
    return found


def said(**txids: int) -> bytes:
    return encode_states(txids)


def test_a_nameservice_is_the_other_way_round_where_it_is_named() -> None:
    assert states(overrides=["west"]).with_observers == {"east", "north"}
    assert states(by_default=False, overrides=["west"]).with_observers == {"west"}
    assert not States(("east",)).with_observers


def test_an_observer_is_asked_for_what_its_caller_has_seen() -> None:
    found = states()
    assert found.required_txid("east", "getFileInfo", said(east=7, west=9), 101.0) == 7
    assert found.required_txid("east", "getFileInfo", said(west=9), 101.0) is None
    assert found.required_txid("east", "getFileInfo", b"", 101.0) is None


@pytest.mark.parametrize("method", ["mkdirs", "msync", "getFsStats", "getQuotaUsage"])
def test_what_is_no_coordinated_read_is_for_the_active(method: str) -> None:
    assert states().required_txid("east", method, said(east=7), 101.0) is None


def test_where_the_active_has_not_answered_for_long_it_is_asked() -> None:
    found = states(refresh_s=15.0)
    assert found.required_txid("east", "getFileInfo", said(east=7), 115.0) == 7
    assert found.required_txid("east", "getFileInfo", said(east=7), 115.1) is None
    found.heard_active("east", 115.1)
    assert found.required_txid("east", "getFileInfo", said(east=7), 130.0) == 7
    never = States(("east",), by_default=True, refresh_s=-1)
    assert never.required_txid("east", "getFileInfo", said(east=7), 1e9) == 7
    unheard = States(("east",), by_default=True)
    assert unheard.required_txid("east", "getFileInfo", said(east=7), 1.0) is None


def test_what_a_router_says_never_goes_back() -> None:
    found = states(overrides=["north"])
    assert found.header() == b""
    found.saw("east", 5)
    found.saw("east", 3)
    found.saw("west", 0)
    found.saw("north", 9)
    assert decode_states(found.header()) == {"east": 5, "west": 0}


def test_of_more_nameservices_than_are_sent_nothing_is() -> None:
    found = states(most_sent=2)
    found.saw("east", 5)
    found.saw("west", 5)
    assert found.header()
    found.saw("north", 5)
    assert found.header() == b""


@given(STATES)
def test_states_come_back_as_they_were_sent(txids: dict[str, int]) -> None:
    assert decode_states(encode_states(txids)) == txids


def test_what_hadoops_router_has_not_heard_of_was_not_seen() -> None:
    assert decode_states(encode_states({"east": -(2**63), "west": 1})) == {"west": 1}


@given(st.binary(max_size=64))
def test_whatever_a_caller_says_is_understood_or_refused(data: bytes) -> None:
    try:
        found = decode_states(data)
    except errors.ProtocolViolation:
        return
    assert all(isinstance(name, str) and txid >= 0 for name, txid in found.items())


def test_more_than_a_caller_can_have_to_say_is_passed_over() -> None:
    assert not decode_states(encode_states({"x" * MOST_BYTES: 1}))


# -- on the wire ----------------------------------------------------------------------------


@given(STATES, STATES)
def test_a_client_says_the_last_that_it_has_heard(
    first: dict[str, int], second: dict[str, int]
) -> None:
    seen = SeenState()
    for each in (first, second, first):
        if each:
            seen.saw_federated(encode_states(each))
    names = first.keys() | second.keys()
    last = {name: max(first.get(name, 0), second.get(name, 0)) for name in names}
    assert decode_states(seen.federated_state) == last


def test_a_client_refuses_what_is_no_state() -> None:
    with pytest.raises(errors.ProtocolViolation):
        SeenState().saw_federated(b"\xff")
    with pytest.raises(errors.ProtocolViolation, match="more than 1024"):
        SeenState().saw_federated(encode_states({str(number): 1 for number in range(1025)}))


@pytest.mark.parametrize("txid", [0, 5, 2**40])
def test_a_call_says_what_its_observer_must_have_reached(txid: int) -> None:
    identity = Identity("eve", b"0123456789abcdef", 7, 1, ("job", b"sig"))
    frame = encode_call("P", "getFileInfo", pb.GetFileInfoRequestProto(src="/a"), identity, txid)
    header, _ = wire.read_delimited(frame[4:], 0)
    found = rpc_pb2.RpcRequestHeaderProto.FromString(header)
    assert (found.stateId, found.callId, found.callerContext.context) == (txid, 7, "job")
    assert found.SerializeToString() == header, "fields are in their order"


@pytest.mark.parametrize("state_id", [None, 9])
def test_an_answer_and_an_error_carry_the_states(state_id: int | None) -> None:
    data = said(east=5)
    answer = pb.GetFileInfoResponseProto()
    encoded = wire.encode_answer(3, b"c" * 16, 0, answer, state_id, data)
    problem = errors.PathNotFound("/a")
    refusal = wire.encode_error(3, b"c" * 16, 0, problem, state_id=state_id, federated_state=data)
    for frame in (encoded, refusal):
        header, _ = wire.decode_answer(frame[4:])
        assert header.routerFederatedState == data
        assert header.HasField("stateId") == (state_id is not None)


def test_a_session_reads_the_states_of_each_call() -> None:
    session = ServerSession()
    session.receive(wire.preamble() + wire.encode_context("P", "eve", b"c" * 16))

    def states_of(number: int, data: bytes) -> bytes:
        frame = wire.encode_call(
            protocol="P",
            method="getFileInfo",
            request=pb.GetFileInfoRequestProto(src="/a"),
            call_id=number,
            client_id=b"c" * 16,
            federated_state=data,
        )
        (event,) = session.receive(frame)
        assert isinstance(event, Call)
        return event.caller.federated_state

    sent = [b"", said(east=1), said(east=2), b"", said(east=1)]
    assert [states_of(number, data) for number, data in enumerate(sent)] == sent


# -- whom to ask ----------------------------------------------------------------------------


def test_observers_answer_in_turn_and_the_active_behind_them() -> None:
    members = Members("n", {name: (name, 1) for name in "abcd"})
    a, b, c, d = members.namenodes
    for each, state in (
        (a, State.ACTIVE),
        (b, State.OBSERVER),
        (c, State.OBSERVER),
        (d, State.STANDBY),
    ):
        members.note_state(each, state, 1.0)
    first, second = members.observers_first(), members.observers_first()
    assert {first[0].name, second[0].name} == {"b", "c"}
    assert [each.name for each in first[2:]] == [each.name for each in second[2:]] == ["a", "d"]
    members.note_state(b, State.UNAVAILABLE, 1.0)
    members.note_state(c, State.UNAVAILABLE, 1.0)
    assert members.observers_first() == [a, d, b, c]
    assert members.next_observer() is None
