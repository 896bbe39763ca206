"""Answers to the kernel, as it takes them apart."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.mount.protocol import answers
from howdah.mount.protocol.answers import Attributes, DirectoryEntry, Entry
from howdah.mount.protocol.negotiation import MAX_WRITE_BYTES, WANTED, negotiate
from howdah.mount.protocol.operations import Feature
from howdah.mount.protocol.requests import Init, Malformed
from tests.support.fake_kernel import Found, Stat, listed

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
TIMES_MS = st.integers(-(1 << 40), 1 << 45)
ATTRIBUTES = st.builds(
    Attributes,
    inode=U64,
    size=st.integers(0, 1 << 60),
    mode=U32,
    uid=U32,
    gid=U32,
    mtime_ns=TIMES_MS.map(lambda ms: ms * 1_000_000),
    atime_ns=TIMES_MS.map(lambda ms: ms * 1_000_000),
    block_bytes=U32,
)
TIMEOUTS = st.integers(0, 1 << 20).map(lambda quarters: quarters / 4)


def check(stat: Stat, of: Attributes) -> None:
    assert (stat.inode, stat.size, stat.mode) == (of.inode, of.size, of.mode)
    assert (stat.uid, stat.gid, stat.links) == (of.uid, of.gid, 1)
    assert stat.mtime_s * 1_000_000_000 + stat.mtime_ns == of.mtime_ns
    assert stat.atime_s * 1_000_000_000 + stat.atime_ns == of.atime_ns
    assert stat.block_bytes == of.block_bytes
    assert (stat.blocks - 1) * 512 < stat.size <= stat.blocks * 512 or stat.size == 0


@given(U64, ATTRIBUTES, TIMEOUTS, TIMEOUTS)
def test_entries_have_attributes_and_timeouts(
    node: int, attributes: Attributes, entry_s: float, attribute_s: float
) -> None:
    data = answers.entry(Entry(node, attributes, entry_s, attribute_s))
    assert len(data) == 128
    found = Found.of(data)
    assert (found.node, found.entry_timeout_s, found.attribute_timeout_s) == (
        node,
        entry_s,
        attribute_s,
    )
    check(found.stat, attributes)


@given(ATTRIBUTES, TIMEOUTS)
def test_attributes_have_a_timeout(attributes: Attributes, timeout_s: float) -> None:
    data = answers.attributes(attributes, timeout_s)
    seconds, nanoseconds, _ = struct.unpack("=QLL", data[:16])
    assert seconds + nanoseconds / 1e9 == timeout_s
    check(Stat.of(data[16:]), attributes)


@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=255), U64, U64, st.sampled_from((4, 8, 10))),
        max_size=8,
    ),
    ATTRIBUTES,
    st.booleans(),
)
def test_listings_are_read_as_they_were_written(
    entries: list[tuple[bytes, int, int, int]], attributes: Attributes, plus: bool
) -> None:
    made = [
        DirectoryEntry(
            name, inode, offset, kind << 12, Entry(5, attributes, 1.0, 1.0) if plus else None
        )
        for name, inode, offset, kind in entries
    ]
    data = b"".join(answers.directory_entry(each, with_attributes=plus) for each in made)
    found = listed(data, plus=plus)
    assert [(each.name, each.inode, each.offset, each.kind) for each in found] == entries
    for each in found:
        if plus:
            assert each.found is not None
            assert each.found.node == 5
            check(each.found.stat, attributes)


def test_an_entry_without_attributes_has_no_node() -> None:
    data = answers.directory_entry(DirectoryEntry(b".", 1, 1, 4 << 12), with_attributes=True)
    (entry,) = listed(data, plus=True)
    assert entry.found is not None
    assert entry.found.node == 0


def test_an_answer_says_how_long_it_is() -> None:
    parts = answers.answer(7, (b"abc", b"de"))
    assert b"".join(parts) == struct.pack("=LlQ", 21, 0, 7) + b"abcde"
    assert answers.failure(7, 2) == [struct.pack("=LlQ", 16, -2, 7)]


def test_sizes_are_whole_units() -> None:
    data = answers.statistics(10_000, 4_097, 4096, 255)
    assert len(data) == 80
    assert struct.unpack("=QQQQQLLLL", data[:56]) == (2, 1, 1, 0, 0, 4096, 255, 4096, 0)


def test_small_answers() -> None:
    assert answers.opened(5, 2) == struct.pack("=QLL", 5, 2, 0)
    assert answers.written(6) == struct.pack("=LL", 6, 0)
    assert answers.value_size(7) == struct.pack("=LL", 7, 0)


# -- the first request -------------------------------------------------------------------


def agreed_of(answer: bytes) -> tuple[int, ...]:
    assert len(answer) == 64
    return struct.unpack("=LLLLHHLLHHL", answer[:36])


def test_a_newer_kernel_gets_our_version_and_what_both_can_do() -> None:
    agreed = negotiate(Init(7, 45, 131072, 0xFFFFFFFF))
    assert agreed.is_final
    assert agreed.features == WANTED
    major, minor, ahead, flags, _, _, longest, unit_ns, pages, _, _ = agreed_of(agreed.answer)
    assert (major, minor, ahead, flags) == (7, 31, 131072, int(WANTED))
    assert (longest, pages, unit_ns) == (MAX_WRITE_BYTES, 256, 1_000_000)


def test_what_the_kernel_lacks_is_not_used() -> None:
    flags = WANTED & ~Feature.DO_READDIRPLUS
    agreed = negotiate(Init(7, 31, 4096, int(flags)))
    assert agreed.features == flags


def test_a_kernel_of_another_major_version_has_to_ask_again() -> None:
    agreed = negotiate(Init(8, 1, 131072, 0))
    assert not agreed.is_final
    assert agreed_of(agreed.answer)[:2] == (7, 31)


@pytest.mark.parametrize("version", [(7, 30), (6, 99), (7, 8)])
def test_an_old_kernel_is_refused(version: tuple[int, int]) -> None:
    with pytest.raises(Malformed, match=r"Linux 5\.4"):
        negotiate(Init(*version, 131072, 0xFFFFFFFF))


def test_a_kernel_without_what_is_needed_is_refused() -> None:
    with pytest.raises(Malformed, match="ATOMIC_O_TRUNC"):
        negotiate(Init(7, 31, 131072, int(WANTED & ~Feature.ATOMIC_O_TRUNC)))
