"""The numbers that an inode and a block can have (pure).

Hadoop's records have a fixed number of bits for each: a replication has 16 in a log and 11 in
the memory of its namenode, a mode has 10, a storage policy 4. A generation stamp has 60 here
(`block_table`). A log or an image with a number beyond these is damaged: it would cost memory
without bound, or fail when something is made of it.

Each function returns what is wrong, or None.
"""

from __future__ import annotations

from typing import Final

MAX_REPLICATION: Final = 2047
"""The most that a file may ask for: Hadoop's namenode refuses logs and images with more."""
MAX_LOGGED_REPLICATION: Final = 32767
MAX_GENERATION_STAMP: Final = (1 << 60) - 1
MAX_POLICY_ID: Final = 15
MAX_NUMBER: Final = (1 << 63) - 1
GROUP_IDS: Final = 16
"""Ids that each block group takes: its own, which its first block has as well, and the others."""


def wrong_file(replication: int, block_size_bytes: int, policy_id: int) -> str | None:
    if not 0 <= replication <= MAX_LOGGED_REPLICATION:
        return f"a file has the replication {replication}"
    if not 0 <= block_size_bytes <= MAX_NUMBER:
        return f"a file has blocks of {block_size_bytes} bytes"
    return wrong_policy(policy_id)


def wrong_policy(policy_id: int) -> str | None:
    if not 0 <= policy_id <= MAX_POLICY_ID:
        return f"a storage policy has the id {policy_id}"
    return None


def wrong_group_id(block_id: int) -> str | None:
    if block_id >= 0 or block_id % GROUP_IDS:
        return f"{block_id} is not the id of a block group"
    return None


def wrong_coding_policy(data_units: int, parity_units: int, cell_bytes: int) -> str | None:
    units = data_units + parity_units
    if data_units < 1 or parity_units < 1 or units > GROUP_IDS:
        return (
            f"an erasure coding policy has {data_units} data units and {parity_units} parity "
            f"units: of each there is one, and in all there are {GROUP_IDS} at most"
        )
    if cell_bytes < 1:
        return f"an erasure coding policy has cells of {cell_bytes} bytes"
    return None


def wrong_block(block_id: int, length_bytes: int, generation_stamp: int) -> str | None:
    if not 0 <= length_bytes <= MAX_NUMBER:
        return f"block {block_id} has {length_bytes} bytes"
    return wrong_stamp(generation_stamp)


def wrong_stamp(generation_stamp: int) -> str | None:
    if not 0 <= generation_stamp <= MAX_GENERATION_STAMP:
        return f"there is no generation stamp {generation_stamp}"
    return None


def wrong_inode_id(inode_id: int) -> str | None:
    if not 0 < inode_id <= MAX_NUMBER:
        return f"no inode has the id {inode_id}"
    return None
