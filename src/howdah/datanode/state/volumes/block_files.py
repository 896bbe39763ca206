"""Names and forms of block files: Hadoop's layout of a datanode directory (pure).

    <data dir>/current/<pool>/current/finalized/subdir<i>/subdir<j>/blk_<id>
                                                                    blk_<id>_<gs>.meta
                                      rbw/          replicas being written
                                      rbw:.blk_<id>.restart   its writer waits for us
                                              lazypersist/  copies of replicas in memory
                                      VERSION
                              tmp/            copies from other datanodes, until whole
                              quarantine/     files that make no replica, moved aside
                              trash/          deleted during a rolling upgrade: finalized/…
                              trash.reopened/ as they were before they were written again
                              RollingUpgradeInProgress    empty; one is under way

i and j are bits 16–20 and 8–12 of the block id (layout −57, 32 by 32). A meta file
is its head (`howdah.protocol.data_transfer.meta_header`), then the checksums of the block's chunks.

A datanode that was asked to restart leaves a restart file for each replica that a
client writes: until when (Unix milliseconds, as text) that replica can be taken back
as RBW. It lies beside `rbw` and its name begins so, because Hadoop joins directory and
name by Java's path separator, which is a colon.
"""

from __future__ import annotations

import re
from typing import Final

from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES

_BLOCK_NAME = re.compile(r"blk_(-?\d+)", re.ASCII)
_META_NAME = re.compile(r"blk_(-?\d+)_(\d+)\.meta", re.ASCII)
_RESTART_NAME = re.compile(r"rbw:\.blk_(-?\d+)\.restart", re.ASCII)

_USUAL: Final = ChecksumSpec(ChecksumType.CRC32C, 512)

CURRENT = "current"
FINALIZED = "finalized"
RBW = "rbw"
LAZY_PERSIST = "lazypersist"
TMP = "tmp"
QUARANTINE = "quarantine"
TRASH = "trash"
ROLLING_UPGRADE_MARKER = "RollingUpgradeInProgress"
COPY_SUFFIX = ".copy"
"""Of a file that will take the place of the one that it is a copy of."""


def block_file_name(block_id: int) -> str:
    return f"blk_{block_id}"


def meta_file_name(block_id: int, generation_stamp: int) -> str:
    return f"blk_{block_id}_{generation_stamp}.meta"


def parse_block_file_name(name: str) -> int | None:
    """The block id, or None if `name` is no block file's."""
    match = _BLOCK_NAME.fullmatch(name)
    return int(match[1]) if match and _is_long(match[1]) else None


def parse_meta_file_name(name: str) -> tuple[int, int] | None:
    """(block id, generation stamp), or None if `name` is no meta file's."""
    match = _META_NAME.fullmatch(name)
    if not match or not (_is_long(match[1]) and _is_long(match[2])):
        return None
    return int(match[1]), int(match[2])


def _is_long(digits: str) -> bool:
    """Whether this is one of Java's numbers of 64 bits, as all ids and stamps are."""
    return -(1 << 63) <= int(digits) < 1 << 63


def restart_file_name(block_id: int) -> str:
    return f"{RBW}:.blk_{block_id}.restart"


def parse_restart_file_name(name: str) -> int | None:
    """The block id, or None if `name` is no restart file's."""
    match = _RESTART_NAME.fullmatch(name)
    return int(match[1]) if match else None


def decode_restart_file(data: bytes) -> int:
    """Until when, in Unix milliseconds, the replica is RBW; 0 if the file doesn't say."""
    words = data.split()
    return int(words[0]) if words and words[0].isdigit() else 0


def subdirectory(block_id: int) -> str:
    """Where below `finalized` a block lies."""
    return f"subdir{block_id >> 16 & 0x1F}/subdir{block_id >> 8 & 0x1F}"


def meta_bytes(spec: ChecksumSpec, data_bytes: int) -> int:
    """The length of the meta file of `data_bytes` of data."""
    return META_HEADER_BYTES + spec.sums_length(data_bytes)


def usual_bytes(data_bytes: int) -> int:
    """What both files of a replica take whose checksums are those of the default."""
    return data_bytes + meta_bytes(_USUAL, data_bytes)


def sums_offset(spec: ChecksumSpec, chunk: int) -> int:
    """Where in its meta file the checksum of the chunk with this number lies."""
    return META_HEADER_BYTES + chunk * spec.sum_bytes
