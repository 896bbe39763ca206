"""What the kernel does for every call of a namenode: as its twins, or it refuses."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.formats.edits import codec
from howdah.formats.edits import edits as ed
from howdah.native.loader import kernel
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc import wire

MOST = 1 << 20
PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)


@pytest.fixture(scope="module")
def native() -> ModuleType:
    found = kernel()
    if found is None or not hasattr(found, "split_calls"):
        pytest.skip("the kernel is not built here")
    return found


def frame(
    call_id: int, path: str, *, method: str = "getFileInfo", state: int | None = None
) -> bytes:
    return wire.encode_call(
        protocol=PROTOCOL,
        method=method,
        request=pb.GetFileInfoRequestProto(src=path),
        call_id=call_id,
        client_id=b"c" * 16,
        state_id=state,
    )


FRAMES = st.builds(
    frame,
    st.sampled_from([0, 1, 63, 64, 8191, 8192, 1 << 20, (1 << 31) - 1]),
    st.one_of(
        st.text(max_size=20),
        st.sampled_from([0, 100, 126, 127, 128, 16_383, 20_000]).map("/".ljust),
    ),
    method=st.text(max_size=10),
    state=st.none() | st.integers(0, 1 << 62),
)
ODD = st.one_of(
    st.binary(max_size=30),
    st.binary(max_size=120).map(wire.frame),
    st.just(wire.encode_context(PROTOCOL, "alice", b"c" * 16)),
    st.just(b"\xff\xff\xff\xff"),
)


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A call with a byte of it that is another."""
    data = bytearray(draw(FRAMES))
    data[draw(st.integers(0, min(len(data) - 1, 90)))] = draw(st.integers(0, 255))
    return bytes(data)


STREAMS = st.lists(FRAMES | ODD | changed(), max_size=5).map(b"".join)


@given(data=STREAMS, most=st.sampled_from([0, 40, 200, MOST]), cut=st.integers(0, 200))
@FIXTURE
def test_frames_are_split_as_the_twin_splits_them(
    native: ModuleType, data: bytes, most: int, cut: int
) -> None:
    data = data[: len(data) - cut] if cut < len(data) else data
    assert native.split_calls(data, most) == wire.split_calls_here(data, most)


@given(calls=st.lists(FRAMES, max_size=5), rest=st.binary(max_size=8))
def test_what_is_split_is_what_was_sent(calls: list[bytes], rest: bytes) -> None:
    data = b"".join(calls) + rest
    found, end = wire.split_calls_here(data, MOST)
    assert end <= len(data)
    position = 0
    for (call_id, header, method, body, start, stop), sent in zip(found, calls, strict=False):
        payload = sent[4:]
        assert (start, stop) == (position + 4, position + len(sent))
        raw, at = wire.read_delimited(payload, 0)
        assert wire.split_call_header(raw) == (call_id, header)
        sent_method, at = wire.read_delimited(payload, at)
        assert method == sent_method
        assert wire.read_delimited(payload, at) == (body, len(payload))
        position = stop


CODES = b"qQihb?stcylx"
GOOD: list[Any] = [1, 2, 3, 4, 5, True, "string", "text", b"client", b"raw", (), ()]
VALUES = st.one_of(
    st.integers(-(1 << 65), 1 << 65),
    st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 63, 1 << 31, -(1 << 31), 1 << 15, 128, -129]),
    st.text(max_size=5),
    st.sampled_from(
        ["\0", "\U0001f418", "\ud800", "x" * 127, "x" * 128, "x" * 65_535, "x" * 65_536]
    ),
    st.binary(max_size=5),
    st.sampled_from([b"x" * 0x7FFF, b"x" * 0x8000, None, (), (1,), [], {}, 1.5, object]),
)


@given(codes=st.lists(st.sampled_from(CODES + b"z\0"), max_size=6).map(bytes), data=st.data())
@FIXTURE
def test_a_record_is_packed_or_refused(
    native: ModuleType, codes: bytes, data: st.DataObject
) -> None:
    values = [data.draw(VALUES) for _ in codes]
    try:
        record = native.pack_record(3, 7, codes, values)
    except (TypeError, ValueError, OverflowError):
        record = None
    if record is not None:
        assert codec.check_record(record) == 7


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, 2, b""),
        (1, 2, b"", [], None),
        (256, 2, b"", []),
        (-1, 2, b"", []),
        (1 << 70, 2, b"", []),
        (None, 2, b"", []),
        (1, None, b"", []),
        (1, 1 << 63, b"", []),
        (1, 2, "", []),
        (1, 2, b"q", []),
        (1, 2, b"", [1]),
        (1, 2, b"q", (1,)),
        (1, 2, b"q", None),
    ],
)
def test_what_is_no_record_is_refused(native: ModuleType, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        native.pack_record(*arguments)


@pytest.mark.parametrize(
    "arguments", [(), (b"",), (b"", 1, 2), ("", 1), (bytearray(9), 1), (b"", None), (b"", 1 << 70)]
)
def test_what_is_no_data_is_refused(native: ModuleType, arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, OverflowError)):
        native.split_calls(*arguments)


def test_a_value_may_shorten_the_list_that_it_is_in(native: ModuleType) -> None:
    class Hostile:
        def __bool__(self) -> bool:
            values.clear()
            return True

    values: list[Any] = [Hostile(), 1]
    with pytest.raises(IndexError):
        native.pack_record(3, 7, b"?q", values)


BAD: list[Any] = [None, 1 << 70, "\ud800", "\0", b"", b"x" * 40_000, (1,), [], 1.5]


def counts(arguments: list[Any]) -> list[int]:
    return [sys.getrefcount(argument) for argument in arguments]


@pytest.mark.parametrize("bad", [*BAD, GOOD], ids=repr)
def test_no_reference_stays(native: ModuleType, bad: Any) -> None:
    """Whatever is in a value's place. Others use some of these as well, and so it is many times."""
    runs = 1000
    arguments = [*GOOD, bad, CODES]
    before = counts(arguments)
    for number in range(runs):
        values = list(GOOD)
        if bad is not GOOD:
            values[number % len(values)] = bad
        try:
            native.pack_record(3, 7, CODES, values)
        except (TypeError, ValueError, OverflowError):
            continue
    grown = [after - earlier for earlier, after in zip(before, counts(arguments), strict=True)]
    assert max(grown) < runs / len(GOOD) / 2


def test_calls_that_are_split_are_let_go(native: ModuleType) -> None:
    data = frame(3, "/a") * 3 + b"\0\0"
    calls, _ = native.split_calls(data, MOST)
    assert sys.getrefcount(data) == 2
    assert {sys.getrefcount(call) for call in calls} == {3}  # With the list's and the argument's.
    assert {sys.getrefcount(call[1]) for call in calls} == {2}


EDIT = ed.MkdirOp(20_000, "/a", 5, ed.Permission("alice", "users", 0o755))


@pytest.mark.parametrize(
    "text", ["\0", "\U0001f418", "\ud800", "ö", "x" * 65_000, "x" * 127, "x" * 128]
)
def test_texts_that_are_rare_are_packed_as_well(text: str) -> None:
    """Java's UTF-8 is another one for some; the kernel leaves those to Python."""
    made = ed.MkdirOp(20_000, f"/{text}", 5, ed.Permission("alice", "users", 0o755))
    assert codec.encode_record(7, made) == codec.encode_record_here(7, made)
    if text.isprintable():
        owned = ed.MkdirOp(20_000, "/a", 5, ed.Permission(text, text, 0o755))
        assert codec.encode_record(7, owned) == codec.encode_record_here(7, owned)


def test_a_long_record_is_packed(native: ModuleType) -> None:
    """The room for it grows several times."""
    packed = codec.encode_record(7, ed.MkdirOp(20_000, "/" + "x" * 60_000, 5, EDIT.permission))
    assert codec.decode_record(packed).edit.path == "/" + "x" * 60_000  # type: ignore[attr-defined]
