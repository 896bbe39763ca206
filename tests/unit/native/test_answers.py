"""Calls that the kernel answers by their bytes: as its twin, or it refuses."""

from __future__ import annotations

import itertools
import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc import fast_path, wire

MOST = 1 << 20
PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
FIXTURE = settings(
    # How long examples take to make says how busy the machine is.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=200,
)
CLIENT_ID = b"c" * 16


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None or not hasattr(found, "answer_calls"):
        pytest.skip("the kernel is not built here")
    return found


def frame(
    call_id: int, path: str, method: str = "getFileInfo", client_id: bytes = CLIENT_ID
) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method=method,
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=client_id,
    )


_, REST, METHOD = wire.split_calls_here(frame(1, "/a"), MOST)[0][0][:3]
TAILS = {REST: wire.answer_tail(CLIENT_ID, -1)}
TICK_NS = 7


class Clock:
    """A little later whenever it is asked."""

    def __init__(self) -> None:
        self._now = itertools.count(1000, TICK_NS)

    def __call__(self) -> int:
        return next(self._now)


def answer(request: bytes, user: str, address: str) -> bytes | None:
    """Not of every request."""
    assert (user, address) == ("alice", "10.0.0.1")
    return None if request.endswith(b"?") else request * (1 + request.count(b"+"))


QUICKS = {METHOD: ("getFileInfo", answer)}


def asked(
    data: bytes, *, most: int = MOST, calls: int = 100, states: bytes = b""
) -> tuple[Any, ...]:
    return (
        *(data, most, calls, TAILS, QUICKS),
        *("alice", "10.0.0.1", states, Clock(), 1000 - TICK_NS),
    )


FRAMES = st.builds(
    frame,
    st.sampled_from([0, 1, 63, 64, 8191, 8192, 1 << 20, (1 << 31) - 1]),
    st.text(max_size=20) | st.sampled_from(["", "/a?", "/+", "x" * 126 + "+", "x" * 16_000 + "+"]),
    st.sampled_from(["getFileInfo", "getFileInfo", "mkdirs"]),
    st.sampled_from([CLIENT_ID, CLIENT_ID, b"d" * 16]),
)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A call with a byte of it that is another."""
    data = bytearray(draw(FRAMES))
    data[draw(st.integers(0, min(len(data) - 1, 90)))] = draw(st.integers(0, 255))
    return bytes(data)


STREAMS = st.lists(FRAMES | changed() | st.binary(max_size=30), max_size=5).map(b"".join)


@given(
    data=STREAMS,
    most=st.sampled_from([0, 90, 200, MOST]),
    calls=st.sampled_from([0, 1, 2, 100]),
    states=st.sampled_from([b"", wire.answer_states(1 << 40, b"x" * 200)]),
)
@FIXTURE
def test_calls_are_answered_as_the_twin_answers_them(
    native: ModuleType, data: bytes, most: int, calls: int, states: bytes
) -> None:
    here = fast_path.answer_calls_here(*asked(data, most=most, calls=calls, states=states))
    assert native.answer_calls(*asked(data, most=most, calls=calls, states=states)) == here


@given(
    ids=st.lists(st.sampled_from([0, 1, 127, 128, (1 << 31) - 1]), max_size=4),
    text=st.text(max_size=200),
    state=st.none() | st.integers(0, 1 << 40),
)
def test_an_answer_is_framed_as_that_of_a_handler(
    ids: list[int], text: str, state: int | None
) -> None:
    message = pb.GetFileInfoRequestProto(src=text.rstrip("?"))
    data = b"".join(frame(each, message.src) for each in ids)
    states = wire.answer_states(state)
    for by in {fast_path.answer_calls, fast_path.answer_calls_here}:
        answered, answers, end = by(*asked(data.replace(b"+", b"-"), states=states))
        assert (len(answered), end) == (len(ids), len(data))
        expected = pb.GetFileInfoRequestProto(src=message.src.replace("+", "-"))
        assert answers == b"".join(
            wire.encode_answer(each, CLIENT_ID, -1, expected, state) for each in ids
        )


@pytest.mark.parametrize("by", [fast_path.answer_calls, fast_path.answer_calls_here])
def test_a_call_that_others_have_to_look_at_ends_it(by: Any) -> None:
    plain = frame(1, "/a") + frame(2, "/b")
    data = plain + frame(3, "/c?") + frame(4, "/d")
    answered, answers, end = by(*asked(data))
    assert answered == [("getFileInfo", TICK_NS), ("getFileInfo", TICK_NS)]
    assert len(wire.FrameBuffer().feed(answers)) == 2
    assert end == len(plain)


@pytest.mark.parametrize("by", [fast_path.answer_calls, fast_path.answer_calls_here])
def test_what_goes_wrong_is_told(by: Any) -> None:
    def broken(request: bytes, user: str, address: str) -> bytes:
        raise ZeroDivisionError

    arguments = list(asked(frame(1, "/a")))
    arguments[4] = {METHOD: ("getFileInfo", broken)}
    with pytest.raises(ZeroDivisionError):
        by(*arguments)


GOOD = asked(frame(1, "/a"))
BAD: list[Any] = [None, 1 << 70, "x", 1.5, [], {METHOD: 1}, {METHOD: ()}, {METHOD: ("a", 1)}]
BAD += [{REST: "tail"}, {REST: None}, lambda: None, lambda: 1 << 70]


@pytest.mark.parametrize("place", range(len(GOOD)))
@pytest.mark.parametrize("bad", BAD)
def test_wrong_arguments_are_refused_or_not_looked_at(
    native: ModuleType, place: int, bad: Any
) -> None:
    arguments = [*GOOD[:place], bad, *GOOD[place + 1 :]]
    try:
        answered, _, end = native.answer_calls(*arguments)
    except (TypeError, OverflowError, AssertionError):
        return
    # A dictionary that lacks the call, or what is handed on to the answerer alone.
    assert (not answered and end == 0) or place in (1, 2, 9)


@pytest.mark.parametrize("count", [0, 9, 11])
def test_as_many_arguments_as_it_takes(native: ModuleType, count: int) -> None:
    with pytest.raises(TypeError):
        native.answer_calls(*(GOOD * 2)[:count])


@pytest.mark.parametrize("wrong", ["text", 1, bytearray(b"x"), ()])
def test_an_answer_is_bytes(native: ModuleType, wrong: Any) -> None:
    arguments = list(GOOD)
    arguments[4] = {METHOD: ("getFileInfo", lambda *_: wrong)}
    with pytest.raises(TypeError):
        native.answer_calls(*arguments)


def test_an_answerer_may_empty_the_dictionaries(native: ModuleType) -> None:
    def hostile(request: bytes, user: str, address: str) -> bytes:
        tails.clear()
        quicks.clear()
        return b"answer"

    tails = {bytes([*REST]): bytes([*TAILS[REST]])}
    quicks = {bytes([*METHOD]): (str(b"getFileInfo", "ascii"), hostile)}
    arguments = list(asked(frame(1, "/a") * 2))
    arguments[3:5] = tails, quicks
    answered, _, end = native.answer_calls(*arguments)
    assert (len(answered), end) == (1, len(frame(1, "/a")))


def test_no_reference_stays(native: ModuleType) -> None:
    """Of what was answered, left to others, and refused."""
    runs = 500
    made = b"an answer of its own"
    arguments = list(asked(frame(1, "/a") + frame(2, "/b?") + frame(3, "/c")))

    def mine(request: bytes, user: str, address: str) -> bytes | None:
        return None if request.endswith(b"?") else made

    pair = ("getFileInfo", mine)
    arguments[4] = {METHOD: pair}
    watched = [*arguments, made, pair, mine, TAILS[REST]]
    before = [sys.getrefcount(each) for each in watched]
    for number in range(runs):
        native.answer_calls(*arguments)
        wrong = list(arguments)
        wrong[number % len(wrong)] = 1.5
        try:
            native.answer_calls(*wrong)
        except (TypeError, OverflowError):
            continue
    after = [sys.getrefcount(each) for each in watched]
    grown = [late - early for early, late in zip(before, after, strict=True)]
    assert max(grown) < runs / 20


def test_calls_that_were_answered_are_let_go(native: ModuleType) -> None:
    data = frame(3, "/a") * 3 + b"\0\0"
    answered, answers, _ = native.answer_calls(*asked(data))
    assert sys.getrefcount(data) == 2
    assert sys.getrefcount(answers) == 2
    assert {sys.getrefcount(each) for each in answered} == {
        3
    }  # With the list's and the argument's.
