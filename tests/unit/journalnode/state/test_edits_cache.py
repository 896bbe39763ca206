"""Recent edits in memory: a run without a gap, bounded (FS-055)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.formats.edits.segment_scan import encode_header
from howdah.journalnode.state.edit_batch import offsets
from howdah.journalnode.state.edits_cache import EditsCache
from tests.support.journal_writer import record, records, segment_bytes

LARGE = 1 << 30


def cache_of(*batches: tuple[int, int], capacity: int = LARGE) -> EditsCache:
    cache = EditsCache(capacity)
    for first, last in batches:
        data = records(first, last)
        cache.add(first, offsets(data, first, last + 1 - first), data, -66)
    return cache


@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    since=st.integers(1, 30),
    count=st.integers(0, 30),
    max_bytes=st.integers(0, 400),
)
def test_any_part_of_the_run_is_handed_out(
    lengths: list[int], since: int, count: int, max_bytes: int
) -> None:
    batches, first = [], 1
    for length in lengths:
        batches.append((first, first + length - 1))
        first += length
    found = cache_of(*batches).edits(since, count, max_bytes)
    there = max(0, first - since)
    assert found.count <= min(there, count)
    if found.count:
        assert found.log == segment_bytes(since, since + found.count - 1)
        assert found.count == 1 or len(found.log) - len(encode_header()) <= max_bytes
    else:
        assert found.log == b""
        assert not there or not count


def test_batches_that_do_not_follow_begin_a_new_run() -> None:
    cache = cache_of((1, 3), (7, 8))
    assert cache.highest_txid == 8
    with pytest.raises(errors.JournalCacheMiss, match="Oldest txn ID available in the cache is 7"):
        cache.edits(3, 10, LARGE)
    assert cache.edits(7, 10, LARGE).log == segment_bytes(7, 8)


def test_another_layout_begins_a_new_run() -> None:
    cache = cache_of((1, 3))
    cache.add(4, (0,), record(4), -67)
    assert cache.edits(4, 10, LARGE).log == encode_header(-67) + record(4)
    with pytest.raises(errors.JournalCacheMiss):
        cache.edits(3, 10, LARGE)


def test_the_oldest_go_when_it_is_full() -> None:
    size = len(record(1))
    cache = cache_of((1, 2), (3, 4), (5, 5), capacity=3 * size)
    with pytest.raises(errors.JournalCacheMiss):
        cache.edits(2, 10, LARGE)
    assert cache.edits(3, 10, LARGE).count == 3


def test_a_batch_that_is_larger_than_the_cache_is_not_kept() -> None:
    cache = cache_of((1, 2), (3, 9), capacity=3 * len(record(1)))
    assert cache.highest_txid is None
    with pytest.raises(errors.JournalCacheMiss):
        cache.edits(9, 1, LARGE)
