"""Internal blocks are those that Hadoop writes, byte for byte and for every length."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.data_transfer import checksum
from howdah.protocol.data_transfer.checksum import ChecksumType
from howdah.protocol.striping.layout import (
    FIRST_GROUP_ID,
    FileLayout,
    GroupLayout,
    group_id_of,
    index_of,
    is_striped,
    next_group_id,
    safe_length,
)
from howdah.protocol.striping.policies import NO_ID, SYSTEM_POLICIES, Policy, Schema, policy_named
from tests.support.striped_groups import internal_blocks
from tests.unit.protocol.striping.vectors import generated, vectors

FILES = vectors()["files"]


def policy_of(file: dict[str, Any]) -> Policy:
    return Policy(64, Schema(file["codec"], file["data"], file["parity"]), file["cell"])


@pytest.mark.parametrize("file", FILES, ids=[file["name"] for file in FILES])
def test_blocks_are_those_that_hadoop_wrote(file: dict[str, Any]) -> None:
    policy = policy_of(file)
    assert policy.name == file["policy"]
    content, start = generated(file["name"], file["length"]), 0
    for group in file["groups"]:
        data = content[start : start + group["bytes"]]
        start += len(data)
        blocks = internal_blocks(policy, data)
        assert [len(block) for block in blocks] == group["lengths"]
        sums = [f"{checksum.crc(ChecksumType.CRC32C, block):08x}" for block in blocks]
        assert sums == group["crc32c"]
    assert start == file["length"]


def test_system_policies_have_their_names_and_ids() -> None:
    assert {policy_id: policy.name for policy_id, policy in SYSTEM_POLICIES.items()} == {
        1: "RS-6-3-1024k",
        2: "RS-3-2-1024k",
        3: "RS-LEGACY-6-3-1024k",
        4: "XOR-2-1-1024k",
        5: "RS-10-4-1024k",
    }


@pytest.mark.parametrize("file", FILES, ids=[file["name"] for file in FILES])
def test_a_file_takes_what_hadoops_groups_have(file: dict[str, Any]) -> None:
    policy = policy_of(file)
    group_bytes = max(group["bytes"] for group in file["groups"])
    whole = len(file["groups"]) == 1 or all(
        group["bytes"] == group_bytes for group in file["groups"][:-1]
    )
    assert whole, "nobody appended to it"
    block_bytes = -(-group_bytes // file["data"])
    layout = FileLayout(policy, file["length"], block_bytes)
    assert layout.groups == len(file["groups"])
    assert layout.space == sum(sum(group["lengths"]) for group in file["groups"])


def test_small_files_take_a_copy_for_each_parity_unit() -> None:
    rs_6_3, cell = SYSTEM_POLICIES[1], 1 << 20
    lengths = (0, 10, cell, cell + 1, 6 * cell)
    space = [FileLayout(rs_6_3, length, 128 << 20).space for length in lengths]
    assert space == [0, 40, 4 * cell, 4 * cell + 1, 9 * cell]


@pytest.mark.parametrize("policy", SYSTEM_POLICIES.values(), ids=str)
def test_system_policies_are_known_by_their_names(policy: Policy) -> None:
    assert policy_named(policy.name) is policy


def test_a_name_says_units_and_cells() -> None:
    named = policy_named("RS-LEGACY-12-4-64k")
    assert named == Policy(NO_ID, Schema("rs-legacy", 12, 4), 64 << 10)
    assert named.name == "RS-LEGACY-12-4-64k"


@pytest.mark.parametrize("name", ["", "replication", "RS-6-3", "RS-0-3-1024k", "RS-6-3-1024"])
def test_what_is_no_name_of_a_policy_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="does not say its units and cells"):
        policy_named(name)


POLICIES = st.builds(
    lambda data, parity, cell: Policy(64, Schema("rs", data, parity), cell),
    st.integers(1, 10),
    st.integers(1, 4),
    st.integers(1, 40),
)


@given(policy=POLICIES, length=st.integers(0, 2000))
def test_lengths_add_up(policy: Policy, length: int) -> None:
    layout, schema = GroupLayout(policy, length), policy.schema
    lengths = [layout.block_length(index) for index in range(schema.units)]
    assert sum(lengths[: schema.data_units]) == length
    assert sum(lengths) == layout.space
    assert set(lengths[schema.data_units :]) == {lengths[0]}
    assert [index for index, its_length in enumerate(lengths) if its_length] == list(
        layout.block_indices
    )
    assert layout.data_blocks == sum(map(bool, lengths[: schema.data_units]))
    assert layout.stripes == -(-lengths[0] // policy.cell_bytes)


@given(policy=POLICIES, length=st.integers(0, 2000), draw=st.data())
def test_pieces_cover_a_range_once(policy: Policy, length: int, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, length))
    end = draw.draw(st.integers(start, length))
    layout, at = GroupLayout(policy, length), start
    for piece in layout.pieces(start, end):
        assert piece.group_offset == at
        assert piece.length > 0
        cell = piece.group_offset // policy.cell_bytes
        assert piece.index == cell % policy.schema.data_units
        assert piece.block_offset // policy.cell_bytes == cell // policy.schema.data_units
        assert piece.block_offset % policy.cell_bytes == at % policy.cell_bytes
        assert piece.block_offset + piece.length <= layout.block_length(piece.index)
        at += piece.length
    assert at == end


def test_what_is_not_in_a_group_is_refused() -> None:
    layout = GroupLayout(SYSTEM_POLICIES[2], 10)
    for start, end in ((-1, 3), (3, 2), (0, 11)):
        with pytest.raises(ValueError, match="are not in a group of 10"):
            list(layout.pieces(start, end))
    for index in (-1, 5):
        with pytest.raises(ValueError, match=f"RS-3-2-1024k has no block {index}"):
            layout.block_length(index)


def test_ids_of_groups_are_negative_and_apart_from_others() -> None:
    assert FIRST_GROUP_ID == -9223372036854775792
    assert next_group_id(FIRST_GROUP_ID + 8) == FIRST_GROUP_ID + 16
    for index in range(16):
        block_id = FIRST_GROUP_ID + index
        assert (group_id_of(block_id), index_of(block_id)) == (FIRST_GROUP_ID, index)
        assert is_striped(block_id)
    assert not is_striped(1073741825)


@pytest.mark.parametrize(
    ("lengths", "safe"),
    [
        # Each was seen with Hadoop: a writer that was killed, and what was left of its file.
        ([1 << 20, 1 << 20, 1032192, 1032192, 1032192], 0),
        ([2 << 20, (2 << 20) + 5000, 3 << 20, 2 << 20, 2 << 20], 6291456),
        ([5, 5, 1 << 20, 1 << 20, 1 << 20], 3 << 20),
    ],
)
def test_whole_stripes_are_safe(lengths: list[int], safe: int) -> None:
    assert safe_length(SYSTEM_POLICIES[2], lengths) == safe


def test_too_few_blocks_make_nothing_safe() -> None:
    with pytest.raises(ValueError, match="2 blocks answered, and RS-3-2-1024k needs 3"):
        safe_length(SYSTEM_POLICIES[2], [1 << 20, 1 << 20])
