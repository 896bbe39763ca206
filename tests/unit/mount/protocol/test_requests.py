"""Requests of the kernel, taken apart."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.mount.protocol import requests
from howdah.mount.protocol.operations import Operation
from howdah.mount.protocol.requests import Body, Malformed, Unknown, parse_body, parse_header
from tests.support.fake_kernel import init, request, setattr_body

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
NAMES = st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name)


def parsed(operation: int, body: bytes) -> Body:
    data = request(operation, body)
    return parse_body(parse_header(data), data)


@given(U64, U64, U32, U32)
def test_a_header_says_who_asks_for_what(unique: int, node: int, uid: int, operation: int) -> None:
    header = parse_header(request(operation, b"body", unique=unique, node=node, uid=uid))
    assert (header.unique, header.node_id) == (unique, node)
    assert (header.uid, header.gid, header.pid) == (uid, uid, 7)
    assert (header.operation, header.length_bytes) == (operation, 44)


@given(NAMES)
def test_names_are_read_to_their_end(name: bytes) -> None:
    for operation in (
        Operation.LOOKUP,
        Operation.UNLINK,
        Operation.RMDIR,
        Operation.REMOVEXATTR,
    ):
        assert parsed(operation, name + b"\0") == requests.Named(name)


@given(NAMES, NAMES, U64, U32)
def test_renames_have_two_names(old: bytes, new: bytes, parent: int, flags: int) -> None:
    names = old + b"\0" + new + b"\0"
    assert parsed(Operation.RENAME, struct.pack("=Q", parent) + names) == requests.Rename(
        old, parent, new, 0
    )
    body = struct.pack("=QLL", parent, flags, 0) + names
    assert parsed(Operation.RENAME2, body) == requests.Rename(old, parent, new, flags)
    assert parsed(Operation.SYMLINK, names) == requests.MakeLink(old, new)
    assert parsed(Operation.LINK, struct.pack("=Q", parent) + old + b"\0") == requests.HardLink(
        old, parent
    )


@given(NAMES, U32, U32)
def test_new_files_have_a_mode(name: bytes, mode: int, flags: int) -> None:
    end = name + b"\0"
    assert parsed(Operation.MKNOD, struct.pack("=LLLL", mode, 0, 0o22, 0) + end) == (
        requests.MakeNode(name, mode)
    )
    assert parsed(Operation.MKDIR, struct.pack("=LL", mode, 0o22) + end) == (
        requests.MakeNode(name, mode)
    )
    assert parsed(Operation.CREATE, struct.pack("=LLLL", flags, mode, 0o22, 0) + end) == (
        requests.Create(name, flags, mode)
    )


@given(U64, U64, U32, U32)
def test_reads_have_an_offset(handle: int, offset: int, size: int, flags: int) -> None:
    body = struct.pack("=QQLLQLL", handle, offset, size, 0, 0, flags, 0)
    for operation in (Operation.READ, Operation.READDIR, Operation.READDIRPLUS):
        assert parsed(operation, body) == requests.Read(handle, offset, size)


@given(U64, U64, U32, st.binary(max_size=100))
def test_writes_have_their_bytes(handle: int, offset: int, flags: int, data: bytes) -> None:
    body = struct.pack("=QQLLQLL", handle, offset, len(data), 0, 0, flags, 0) + data
    found = parsed(Operation.WRITE, body)
    assert isinstance(found, requests.Write)
    assert (found.handle, found.offset, found.flags) == (handle, offset, flags)
    assert bytes(found.data) == data


@given(
    U32,
    U64,
    U64,
    st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(0, 999_999_999)),
    U32,
)
def test_attributes_are_set_by_field(
    valid: int, handle: int, size: int, time: tuple[int, int], mode: int
) -> None:
    body = setattr_body(
        valid, handle=handle, size=size, atime=time, mtime=time, mode=mode, uid=5, gid=6
    )
    time_ns = time[0] * 1_000_000_000 + time[1]
    assert parsed(Operation.SETATTR, body) == requests.SetAttributes(
        valid, handle, size, time_ns, time_ns, mode, 5, 6
    )


@given(st.lists(st.tuples(U64, U64), max_size=20))
def test_many_nodes_are_forgotten_at_once(nodes: list[tuple[int, int]]) -> None:
    body = struct.pack("=LL", len(nodes), 0) + b"".join(struct.pack("=QQ", *each) for each in nodes)
    assert parsed(Operation.BATCH_FORGET, body) == requests.Forget(tuple(nodes))


@given(NAMES, st.binary(max_size=100), U32)
def test_extended_attributes_have_name_and_value(name: bytes, value: bytes, flags: int) -> None:
    body = struct.pack("=LL", len(value), flags) + name + b"\0" + value
    assert parsed(Operation.SETXATTR, body) == requests.SetExtendedAttribute(name, value, flags)
    asked = struct.pack("=LL", flags, 0)
    assert parsed(Operation.GETXATTR, asked + name + b"\0") == (
        requests.GetExtendedAttribute(name, flags)
    )
    assert parsed(Operation.LISTXATTR, asked) == requests.GetExtendedAttribute(b"", flags)


def test_what_has_few_fields_is_read() -> None:
    assert parsed(Operation.GETATTR, struct.pack("=LLQ", 1, 0, 9)) == requests.GetAttributes(1, 9)
    assert parsed(Operation.OPEN, struct.pack("=LL", 2, 0)) == requests.Open(2)
    assert parsed(Operation.RELEASE, struct.pack("=QLLQ", 3, 0, 0, 0)) == requests.Handle(3)
    assert parsed(Operation.FLUSH, struct.pack("=QLLQ", 3, 0, 0, 0)) == requests.Handle(3)
    assert parsed(Operation.FSYNC, struct.pack("=QLL", 3, 1, 0)) == requests.Sync(3)
    assert parsed(Operation.ACCESS, struct.pack("=LL", 4, 0)) == requests.Access(4)
    assert parsed(Operation.INTERRUPT, struct.pack("=Q", 5)) == requests.Interrupt(5)
    assert parsed(Operation.FORGET, struct.pack("=Q", 6)) == requests.Forget(((1, 6),))
    assert parsed(Operation.STATFS, b"") == requests.Plain()
    assert parsed(Operation.INIT, init(7, 45)) == requests.Init(7, 45, 131072, 0xFFFFFFFF)


@pytest.mark.parametrize("operation", [0, 7, 19, 31, 39, 46, 47, 51, 4711])
def test_operations_of_others_are_unknown(operation: int) -> None:
    with pytest.raises(Unknown):
        parsed(operation, b"")


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        (Operation.LOOKUP, b"without-end"),
        (Operation.LOOKUP, b"\0"),
        (Operation.LOOKUP, b"one\0two\0"),
        (Operation.RENAME, struct.pack("=Q", 1) + b"one\0"),
        (Operation.READ, b"short"),
        (Operation.STATFS, b"more"),
        (Operation.WRITE, struct.pack("=QQLLQLL", 1, 0, 5, 0, 0, 0, 0) + b"four"),
        (Operation.WRITE, struct.pack("=QQLLQLL", 1, 0, 3, 0, 0, 0, 0) + b"four"),
        (Operation.BATCH_FORGET, struct.pack("=LL", 1 << 31, 0)),
        (Operation.BATCH_FORGET, struct.pack("=LLQ", 1, 0, 1)),
        (Operation.SETXATTR, struct.pack("=LL", 9, 0) + b"user.a\0value"),
        (Operation.INIT, b"short"),
    ],
)
def test_requests_that_lie_about_their_length_are_refused(operation: int, body: bytes) -> None:
    with pytest.raises(Malformed, match=Operation(operation).name):
        parsed(operation, body)


def test_a_header_has_to_fit_what_was_read() -> None:
    whole = request(Operation.STATFS)
    for data in (b"", whole[:-1], whole + b"x"):
        with pytest.raises(Malformed):
            parse_header(data)
    with pytest.raises(Malformed, match="extension"):
        parse_header(whole[:36] + b"\1\0\0\0")


@given(st.integers(0, 60), st.binary(max_size=200))
def test_no_bytes_cause_anything_but_a_clear_refusal(operation: int, body: bytes) -> None:
    try:
        found = parsed(operation, body)
    except Malformed:
        return
    assert found is not None
