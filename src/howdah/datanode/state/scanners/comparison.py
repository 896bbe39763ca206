"""One directory of block files against the replicas in memory (pure).

DirectoryScanner in Hadoop. What is found here is only a suspicion: files come and go while a
volume is looked at, so each difference is looked at again by who owns the replicas.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from howdah.datanode.state.volumes import block_files


class Kind(enum.Enum):
    """How disk and memory differ; the values are what the log says."""

    MISSING_BLOCK = "missing block files"
    MISSING_META = "missing metadata files"
    UNKNOWN = "missing blocks in memory"
    MISMATCH = "mismatched blocks"
    DUPLICATE = "duplicate blocks"


@dataclass(frozen=True, slots=True)
class InMemory:
    """A replica; `here` if it is finalized and on the volume that is looked at. `busy` if it is
    not finalized."""

    generation_stamp: int
    length_bytes: int
    here: bool
    busy: bool = False


@dataclass(slots=True)
class Files:
    """Of one block in one directory."""

    lengths: list[int] = field(default_factory=list)
    """Of its block file, if there is one."""
    stamps: list[int] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Difference:
    block_id: int
    kind: Kind
    strays: tuple[str, ...] = ()
    """Its files that lie in another directory than theirs."""


def note(blocks: dict[int, Files], name: str, path: str, length_bytes: int) -> bool:
    """Add a file to `blocks` if `name` is that of a block's file; return whether it is."""
    meta = block_files.parse_meta_file_name(name)
    block_id = meta[0] if meta is not None else block_files.parse_block_file_name(name)
    plain = (
        block_files.block_file_name(block_id or 0)
        if meta is None
        else block_files.meta_file_name(*meta)
    )
    if block_id is None or name != plain:
        return False
    files = blocks.setdefault(block_id, Files())
    files.paths.append(path)
    if meta is not None:
        files.stamps.append(meta[1])
    else:
        files.lengths.append(length_bytes)
    return True


def compare(
    directory: str,
    blocks: Mapping[int, Files],
    expected: Iterable[int],
    memory: Mapping[int, InMemory],
) -> list[Difference]:
    """Compare a directory, named as `block_files.subdirectory` does. `expected` are the blocks that
    were in memory before the directory was read, `memory` what it has of all of them now."""
    differences = []
    for block_id, files in blocks.items():
        if block_files.subdirectory(block_id) != directory:
            kind = _kind(files, None)
            strays = tuple(files.paths)
            replica = memory.get(block_id)
            if replica is None or not replica.busy:
                differences.append(Difference(block_id, kind or Kind.UNKNOWN, strays))
            continue
        replica = memory.get(block_id)
        if replica is not None and replica.busy:
            continue
        found_kind = _kind(files, replica)
        if found_kind is not None:
            differences.append(Difference(block_id, found_kind))
    for block_id in expected:
        replica = memory.get(block_id)
        if block_id not in blocks and replica is not None and replica.here:
            differences.append(Difference(block_id, Kind.MISSING_BLOCK))
    return differences


def _kind(files: Files, replica: InMemory | None) -> Kind | None:
    if not files.lengths:
        return Kind.MISSING_BLOCK
    if not files.stamps:
        return Kind.MISSING_META
    if replica is None:
        return Kind.UNKNOWN
    if not replica.here:
        return Kind.DUPLICATE
    if files.stamps != [replica.generation_stamp] or files.lengths != [replica.length_bytes]:
        return Kind.MISMATCH
    return None


class ScanPace:
    """A scan works for so many milliseconds of each second; all of them if that is no number
    between 1 and 999."""

    def __init__(self, limit_ms_per_s: int) -> None:
        self._limit_ms = limit_ms_per_s if 0 < limit_ms_per_s < _SECOND_MS else 0
        self._worked_ms = 0.0

    def pause_ms(self, worked_ms: float) -> float:
        """For how long to rest after so much more work."""
        if not self._limit_ms:
            return 0.0
        self._worked_ms += worked_ms
        if self._worked_ms < self._limit_ms:
            return 0.0
        pause_ms = self._worked_ms * (_SECOND_MS - self._limit_ms) / self._limit_ms
        self._worked_ms = 0.0
        return pause_ms


_SECOND_MS: Final = 1000


def summary(total: int, kinds: Counter[Kind]) -> str:
    """As Hadoop logs it."""
    counts = ", ".join(f"{kind.value}: {kinds[kind]}" for kind in Kind)
    return f"Total blocks: {total}, {counts}"
