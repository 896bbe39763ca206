"""Names and meta headers, as Hadoop has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.datanode.state.volumes import block_files

ids = st.integers(-(1 << 63), (1 << 63) - 1)


@given(ids, st.integers(0, (1 << 63) - 1))
def test_names_come_back_as_they_were(block_id: int, stamp: int) -> None:
    name = block_files.block_file_name(block_id)
    meta = block_files.meta_file_name(block_id, stamp)
    assert block_files.parse_block_file_name(name) == block_id
    assert block_files.parse_meta_file_name(meta) == (block_id, stamp)
    assert block_files.parse_block_file_name(meta) is None
    assert block_files.parse_meta_file_name(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("blk_", "blk_x", "blk_1.tmp", "blk_1_2.meta.tmp", "VERSION"),
        *(f"blk_{1 << 63}", f"blk_1_{1 << 63}.meta", f"blk_{1 << 63}_1.meta"),
    ],
)
def test_other_names_are_not_of_blocks(name: str) -> None:
    assert block_files.parse_block_file_name(name) is None
    assert block_files.parse_meta_file_name(name) is None


@pytest.mark.parametrize(
    ("block_id", "where"),
    [
        (1073741825, "subdir0/subdir0"),
        (1073742080, "subdir0/subdir1"),
        (1073741824 + (5 << 16) + (7 << 8), "subdir5/subdir7"),
        (-9223372036854775792, "subdir0/subdir0"),
        (-1, "subdir31/subdir31"),
    ],
)
def test_blocks_lie_where_hadoop_puts_them(block_id: int, where: str) -> None:
    assert block_files.subdirectory(block_id) == where
