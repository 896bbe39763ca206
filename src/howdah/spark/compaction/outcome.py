"""What became of the directories that were to be compacted (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from howdah.spark.compaction.plan import Plan
from howdah.spark.compaction.table_formats import Maintained


@dataclass(frozen=True, slots=True)
class Compacted:
    """The outcome for one directory. `files_kept` of its files stay as they are, and are counted
    before and after; `bytes` are those of the others. `space_saved`: bytes on disks, of erasure
    coded files, once the old ones have left the trash. `kept_at`: where its old files are; empty if
    nothing was done, and then `reason` says why."""

    path: str
    files_before: int
    files_after: int
    bytes: int
    blocks_saved: int
    memory_saved: int
    space_saved: int = 0
    kept_at: str = ""
    reason: str = ""
    failed: bool = False
    files_kept: int = 0


@dataclass(frozen=True, slots=True)
class Compaction:
    """The outcome of a run or a dry run. `undecided`: leftovers of killed runs that the user has
    to decide on. `tables`: those of which other programs keep a log; their directories are not
    among `directories`."""

    directories: tuple[Compacted, ...]
    recovered: tuple[str, ...] = field(default=())
    undecided: tuple[str, ...] = field(default=())
    notes: tuple[str, ...] = field(default=())
    tables: tuple[Maintained, ...] = field(default=())

    @property
    def changed(self) -> tuple[Compacted, ...]:
        return tuple(directory for directory in self.directories if not directory.reason)

    @property
    def failed(self) -> tuple[Compacted, ...]:
        return tuple(directory for directory in self.directories if directory.failed)

    @property
    def failed_tables(self) -> tuple[Maintained, ...]:
        return tuple(table for table in self.tables if table.failed)


def outcome_of(chosen: Plan, block_bytes: int, *, kept_at: str = "", failed: str = "") -> Compacted:
    """The outcome of a plan that was carried out, that failed, or that was only made."""
    contents = chosen.contents
    before = contents.files + chosen.kept
    return Compacted(
        contents.path,
        before,
        before if chosen.skipped or failed else chosen.files_after + chosen.kept,
        contents.bytes,
        0 if failed else chosen.blocks_saved(block_bytes),
        0 if failed else chosen.memory_saved(block_bytes),
        0 if failed else chosen.space_saved(block_bytes),
        kept_at,
        failed or chosen.skipped,
        bool(failed),
        chosen.kept,
    )


def summary(directories: Sequence[Compacted]) -> tuple[int, int, int, int]:
    """Return the files, blocks, bytes of the namenode's memory and bytes on disks that were
    saved."""
    return (
        sum(directory.files_before - directory.files_after for directory in directories),
        sum(directory.blocks_saved for directory in directories),
        sum(directory.memory_saved for directory in directories),
        sum(directory.space_saved for directory in directories),
    )
