"""The place of a verification: which block file is next, and what is on the disk of it."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.datanode.state.scanners.cursor import Cursor, decode, encode, following
from howdah.datanode.state.volumes import block_files

Tree = dict[tuple[str, str], set[str]]

block_ids = st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1)


def tree_of(ids: Iterable[int]) -> Tree:
    tree: Tree = {}
    for block_id in ids:
        first, _, second = block_files.subdirectory(block_id).partition("/")
        names = tree.setdefault((first, second), set())
        names |= {f"blk_{block_id}", f"blk_{block_id}_1001.meta"}
    return tree


def listing(tree: Tree, below: tuple[str, ...]) -> list[str]:
    if len(below) == 2:
        return list(tree.get((below[0], below[1]), ()))
    if len(below) == 1:
        return [second for first, second in tree if first == below[0]] + ["somebody's file"]
    return list({first for first, _ in tree} | {"lost+found"})


def walk(tree: Tree, cursor: Cursor) -> list[int]:
    visited = []
    while not (cursor := following(cursor, lambda below: listing(tree, below))).at_end:
        assert cursor.block_id is not None
        visited.append(cursor.block_id)
    return visited


@given(st.sets(block_ids, max_size=40))
def test_a_round_visits_every_block_file_once(ids: set[int]) -> None:
    visited = walk(tree_of(ids), Cursor(5, 5))
    assert sorted(visited) == sorted(ids)


@given(st.sets(block_ids, min_size=1, max_size=30), st.data())
def test_a_round_goes_on_behind_its_place_whatever_came_and_went(
    ids: set[int], data: st.DataObject
) -> None:
    order = walk(tree_of(ids), Cursor(5, 5))
    done = data.draw(st.integers(min_value=1, max_value=len(order)))
    cursor = Cursor(5, 5)
    for _ in range(done):
        cursor = following(cursor, lambda below: listing(tree_of(ids), below))
    gone = data.draw(st.sets(st.sampled_from(order)))
    came = data.draw(st.sets(block_ids, max_size=10))
    rest = walk(tree_of((ids - gone) | came), decode(encode(cursor)))
    assert set(rest) >= set(order[done:]) - gone, "none that stayed is left out"
    assert not set(rest) & (set(order[:done]) - came), "none is visited twice"


def test_the_file_has_the_fields_of_hadoop() -> None:
    cursor = Cursor(1700000000000, 1700000600000, "subdir3", "subdir12", "blk_1073741825")
    assert json.loads(encode(cursor)) == {
        "lastSavedMs": 1700000600000,
        "iterStartMs": 1700000000000,
        "curFinalizedDir": "subdir3",
        "curFinalizedSubDir": "subdir12",
        "curEntry": "blk_1073741825",
        "atEnd": False,
    }


def test_a_file_of_hadoop_is_understood() -> None:
    written = b"""{
  "lastSavedMs" : 1416520123456,
  "iterStartMs" : 1416520000000,
  "curFinalizedDir" : null,
  "curFinalizedSubDir" : null,
  "curEntry" : null,
  "atEnd" : true
}"""
    assert decode(written) == Cursor(1416520000000, 1416520123456, at_end=True)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"null",
        b"[1]",
        b'{"iterStartMs": 1}',
        b'{"iterStartMs": 1, "lastSavedMs": "x"}',
        b'{"iterStartMs": 1, "lastSavedMs": 1, "curFinalizedDir": "../../../etc"}',
        b'{"iterStartMs": 1, "lastSavedMs": 1, "curEntry": "blk_1_2.meta"}',
        b'{"iterStartMs": 1, "lastSavedMs": 1, "x": "' + b"y" * 5000 + b'"}',
    ],
)
def test_what_is_no_cursor_is_refused(damaged: bytes) -> None:
    with pytest.raises(errors.MalformedText):
        decode(damaged)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_cursor_or_refused(data: bytes) -> None:
    try:
        decode(data)
    except errors.MalformedText:
        return
