"""The check of files: what is wrong with their blocks, in figures and in text (pure).

Hadoop's `NamenodeFsck.check`. Of a file with missing or corrupt blocks these are told apart:
a block is *corrupt* if all replicas that are left are, and *missing* if none is left at all.

A file that is being written is counted apart, and is checked for lost blocks alone; with
`-openforwrite` it is checked like the others. (Hadoop does not look at it at all, and finds a
filesystem healthy that has lost blocks of open files.) Its last block is never judged before it
is complete, but that no datanode may have it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from howdah import errors
from howdah.formats.edits.edits import StorageKind
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.calls.permissions import Identity
from howdah.namenode.service.fsck.options import Options
from howdah.namenode.service.fsck.replicas import (
    Counts,
    Excess,
    Racks,
    block_text,
    count,
    places_of,
    replicas_text,
)
from howdah.namenode.service.fsck.summary import Figures
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.group_table import Group
from howdah.namenode.state.inodes.inodes import Block, BlockState, Directory, File, INode
from howdah.namenode.state.inodes.storage_policies import ON_THE_WIRE, POLICIES, StoragePolicy
from howdah.namenode.state.tree.snapshot_views import SnapshotFile
from howdah.protocol.rpc.call import Caller

# `-storagepolicies`: on which types of storage blocks are, and by which policy.
#
# Hadoop's `StoragePolicySummary`. A set of replicas is of the first policy whose types it has,
# in order, with the last of them for all further replicas.

_HEAD: Final = "Storage Policy                  "
_COLUMNS: Final = "# of blocks       % of blocks\n"

_ORDER: Final = (
    StorageKind.RAM_DISK,
    StorageKind.SSD,
    StorageKind.DISK,
    StorageKind.ARCHIVE,
    StorageKind.PROVIDED,
    StorageKind.NVDIMM,
)
"""From the fastest, as Hadoop sorts them."""
_RANKS: Final = {ON_THE_WIRE[kind]: rank for rank, kind in enumerate(_ORDER)}

_Kinds = tuple[int, ...]
"""The types of a block's replicas as ranks, sorted."""


class StorageTypes:
    """The blocks of one run, by the types of their replicas and the policy that they
    should follow."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[_Kinds, StoragePolicy]] = Counter()

    def add(self, storage_types: Sequence[int], policy: StoragePolicy) -> None:
        """The types by their numbers on the wire."""
        kinds = tuple(sorted(_RANKS[number] for number in storage_types if number in _RANKS))
        self._counts[kinds, policy] += 1

    def text(self) -> str:
        total = self._counts.total()
        good, bad = [], []
        for (kinds, wanted), number in self._counts.most_common():
            actual = _policy_of(kinds)
            shown = _listed(kinds) + (f"({actual.name})" if actual is not None else "")
            share = _share(number, total)
            if actual is wanted:
                good.append(f"{shown:<25} {number:10d}  {share:>20}\n")
            else:
                bad.append(f"{shown:<35} {wanted.name:<20} {number:10d}  {share:>20}\n")
        text = (
            f"\nBlocks satisfying the specified storage policy:\n{_HEAD}{_COLUMNS}{''.join(good)}"
        )
        if not bad:
            return f"{text}\nAll blocks satisfy specified storage policy.\n"
        return (
            f"{text}\nBlocks NOT satisfying the specified storage policy:\n"
            f"{_HEAD}Specified Storage Policy      {_COLUMNS}{''.join(bad)}"
        )


def _policy_of(kinds: _Kinds) -> StoragePolicy | None:
    for policy in POLICIES.values():
        wanted = tuple(sorted(_RANKS[ON_THE_WIRE[kind]] for kind in policy.kinds))
        count = len(wanted)
        if len(kinds) >= count and kinds == wanted + wanted[-1:] * (len(kinds) - count):
            return policy
    return None


def _listed(kinds: _Kinds) -> str:
    """`SSD:1,DISK:2`."""
    return ",".join(f"{_ORDER[rank].name}:{count}" for rank, count in Counter(kinds).items())


def _share(count: int, total: int) -> str:
    percent = Decimal(100 * count) / Decimal(total)
    return f"{percent.quantize(Decimal('0.0001'), rounding=ROUND_HALF_EVEN)}%"


log = logging.getLogger(__name__)

SLICE_BLOCKS: Final = 250
"""So many blocks of one file are checked in one slice."""
_FILES_A_DOT: Final = 100
_ENTRIES_A_LINE: Final = 1000


class _FileReport:
    """What was found at one file."""

    __slots__ = (
        "blocks",
        "corrupt",
        "corrupt_bytes",
        "misplaced",
        "missing",
        "missing_bytes",
        "under_replicated",
    )

    def __init__(self) -> None:
        self.missing = self.missing_bytes = 0
        self.corrupt = self.corrupt_bytes = 0
        self.under_replicated = 0
        self.misplaced: list[Block] = []
        self.blocks: list[str] = []
        """Lines of `-blocks`."""

    @property
    def is_damaged(self) -> bool:
        return bool(self.missing or self.corrupt)


class FsckCheck:
    """One run's check. `figures` grow with each entry; `take_text` has what was written."""

    def __init__(
        self, namesystem: Namesystem, caller: Caller, who: Identity, options: Options
    ) -> None:
        self.figures: Final = Figures()
        self.group_figures: Final = Figures()
        """Those of files that are erasure coded, and of their block groups."""
        self.storage_types: Final = StorageTypes()
        self.has_failed = False
        """Something that was asked for could not be done."""
        self._namesystem = namesystem
        self._block_map = namesystem.block_manager.blocks
        self._caller = caller
        self._who = who
        self._options = options
        self._tree = TreeCalls(namesystem)
        self._out: list[str] = []
        self.look_around()

    def look_around(self) -> None:
        """At the start, and when others had their turn: how the cluster is now."""
        self.racks = Racks.of(self._namesystem)
        options = self._options
        wants_all = options.shows_replicas or options.storage_policies
        self._excess = Excess(self._namesystem.datanode_manager.datanodes) if wants_all else None

    def take_text(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def entry(self, path: str, inode: INode) -> Generator[None, None, None]:
        """Check one entry of the tree; in slices, if it is a file of many blocks.

        Raises AccessDenied for a file that may not be read.
        """
        figures = self.figures
        if (figures.entries + self.group_figures.entries) % _ENTRIES_A_LINE == 0:
            self._append("\n")
        if isinstance(inode, Directory):
            if self._options.files:
                self._append(f"{path} <dir>\n")
            figures.directories += 1
        elif isinstance(inode, File):
            self._namesystem.permissions.check_readable(self._who, inode)
            yield from self._file(path, inode)
        else:
            if self._options.files:
                self._append(f"{path} <symlink>\n")
            figures.symlinks += 1

    def _append(self, text: str) -> None:
        self._out.append(text)

    # Files.

    def _file(self, path: str, file: File) -> Generator[None, None, None]:
        length_bytes = file.length_bytes
        blocks, last = _located(file, length_bytes)
        is_open = file.under_construction
        figures, options = self._figures_of(file), self._options
        if is_open and not options.open_for_write:
            figures.open_files += 1
            figures.open_size_bytes += length_bytes
            figures.open_blocks += len(blocks)
            self._open_file(path, blocks)
            return
        figures.files += 1
        figures.size_bytes += length_bytes
        figures.blocks += len(blocks)
        if is_open or options.files:
            self._append(
                f"{path} {length_bytes} bytes, {self._redundancy_of(file)}, "
                f"{len(blocks)} block(s){', OPENFORWRITE' if is_open else ''}: "
            )
        elif (self.figures.files + self.group_figures.files) % _FILES_A_DOT == 0:
            self._append(".")
        report = _FileReport()
        yield from self._blocks(path, file, blocks, last, report)
        if last is not None:
            self._describe_open(last, report)
        self._conclude(path, report, figures, is_open=is_open)

    def _figures_of(self, of: File | Block) -> Figures:
        """Those in which a file counts, or a block."""
        is_coded = isinstance(of, Group) or (isinstance(of, File) and of.coding_policy_id)
        return self.group_figures if is_coded else self.figures

    def _redundancy_of(self, file: File) -> str:
        policy = self._namesystem.namespace.coding_policies.by_id(file.coding_policy_id)
        if policy is not None:
            return f"erasure-coded: policy={policy.name}"
        return f"replicated: replication={file.replication}"

    def _open_file(self, path: str, blocks: list[Block]) -> None:
        """Only what is lost of it counts."""
        report = _FileReport()
        for block in blocks:
            least = block.data_blocks if isinstance(block, Group) else 1
            is_written = block.state is not BlockState.UNDER_CONSTRUCTION
            if isinstance(block, Group) and not is_written:
                continue  # How much of it there is to be is not known yet.
            if block.length_bytes and count(self._block_map, block).total < least:
                self._lost(path, block, report)
        if report.is_damaged:
            figures = self._figures_of(blocks[0])
            self._conclude(path, report, figures, is_open=True)

    def _conclude(self, path: str, report: _FileReport, figures: Figures, *, is_open: bool) -> None:
        """What the file as a whole is like, and what is to be done about it."""
        options = self._options
        missing = f"MISSING {report.missing} blocks of total size {report.missing_bytes} B"
        corrupt = f"CORRUPT {report.corrupt} blocks of total size {report.corrupt_bytes} B"
        if report.is_damaged:
            if not options.files:
                if report.missing:
                    self._append(f"\n{path}: {missing}.")
                if report.corrupt:
                    self._append(f"\n{path}: {corrupt}.")
            figures.corrupt_files += 1
            if options.delete and not is_open:
                self._delete(path)
        if options.files:
            if report.missing:
                self._append(f" {missing}\n")
            if report.corrupt:
                self._append(f" {corrupt}\n")
            if not (report.is_damaged or report.under_replicated or report.misplaced):
                self._append(" OK\n")
            if options.blocks:
                self._append("".join(report.blocks) + "\n")
        if options.replicate:
            for block in report.misplaced:
                self._queue(block)

    def _delete(self, path: str) -> None:
        try:
            self._tree.delete(self._caller, path, recursive=True)
        except errors.HowdahError as error:
            log.warning("fsck cannot delete the damaged file %s: %s", path, error)
            self.has_failed = True
        else:
            log.info("fsck deleted the damaged file %s for %s", path, self._who.user)

    def _queue(self, block: Block) -> None:
        """Have the block looked at; it counts if there is any work to do on it."""
        namesystem = self._namesystem
        if namesystem.role.writable and namesystem.namespace.blocks.get(block.block_id) is not None:
            namesystem.block_manager.blocks.note_change(block)
            self._figures_of(block).queued += (
                namesystem.block_manager.blocks.redundancy.sort(block) is not None
            )

    # Blocks.

    def _blocks(
        self,
        path: str,
        file: File,
        blocks: list[Block],
        last: Block | None,
        report: _FileReport,
    ) -> Generator[None, None, None]:
        replication = file.replication
        policy = storage_policies.of(file) if self._options.storage_policies else None
        has_waited = False
        for position, block in enumerate(blocks):
            if position and position % SLICE_BLOCKS == 0:
                yield
                has_waited = True
            if has_waited and self._namesystem.namespace.blocks.get(block.block_id) is None:
                continue  # It was deleted meanwhile.
            if block == last:
                continue
            if isinstance(block, Group):
                replication = len(block.layout.block_indices)
            self._block(path, block, replication, report)
            if policy is not None and self._excess is not None:
                places = [*places_of(self._block_map, block), *self._excess.of(block)]
                self.storage_types.add([storage.storage_type for storage in places], policy)

    def _block(self, path: str, block: Block, replication: int, report: _FileReport) -> None:
        figures = self._figures_of(block)
        counts = count(self._block_map, block)
        total = counts.total
        least = self._namesystem.settings.min_replication
        if isinstance(block, Group):
            least = block.data_blocks
        figures.replicas += total
        figures.expected_replicas += replication
        figures.decommissioned += counts.decommissioned
        figures.decommissioning += counts.decommissioning
        figures.entering_maintenance += counts.entering_maintenance
        figures.in_maintenance += counts.in_maintenance
        if total < least:
            figures.under_minimum += 1
        else:
            figures.minimally_replicated += 1
        if counts.live > replication:
            figures.over_replicated += 1
            figures.excess_replicas += counts.live - replication
        if total == 0 or (total < least and isinstance(block, Group)):
            self._lost(path, block, report)
        elif total < replication:
            figures.lacking_replicas += replication - total
            self._under_replicated(path, block, counts, replication, report)
        if self.racks.ever_several or self.racks.policy.domains:
            self._placed(path, block, replication, report)
        if self._options.blocks:
            self._describe(block, counts, report)

    def _lost(self, path: str, block: Block, report: _FileReport) -> None:
        """No good replica is left."""
        figures = self._figures_of(block)
        if not block.corrupt:
            figures.missing += 1
            figures.missing_bytes += block.length_bytes
            report.missing += 1
            report.missing_bytes += block.length_bytes
            return
        figures.corrupt += 1
        figures.corrupt_bytes += block.length_bytes
        report.corrupt += 1
        report.corrupt_bytes += block.length_bytes
        pool_id = self._namesystem.settings.block_pool_id
        self._append(f"\n{path}: CORRUPT blockpool {pool_id} block blk_{block.block_id}\n")

    def _under_replicated(
        self, path: str, block: Block, counts: Counts, replication: int, report: _FileReport
    ) -> None:
        self._figures_of(block).under_replicated += 1
        report.under_replicated += 1
        if not self._options.files:
            self._append(f"\n{path}: ")
        # Without a blank, and with the comma behind the number: so Hadoop prints it.
        in_maintenance = (
            f"{counts.entering_maintenance}, entering maintenance replica(s) and "
            f"{counts.in_maintenance} in maintenance replica(s)."
            if self._options.maintenance
            else "."
        )
        self._append(
            f" Under replicated {block_text(self._namesystem, block)}. "
            f"Target Replicas is {replication} but found {counts.live} live replica(s), "
            f"{counts.decommissioned} decommissioned replica(s), "
            f"{counts.decommissioning} decommissioning replica(s){in_maintenance}\n"
        )

    def _placed(self, path: str, block: Block, replication: int, report: _FileReport) -> None:
        """Are its replicas on enough racks, and in enough upgrade domains?"""
        racks = self.racks
        if isinstance(block, Group):
            racks = replace(racks, policy=self._namesystem.block_manager.group_placement.policy)
        trouble = racks.misplacement_reason(places_of(self._block_map, block), replication)
        if not trouble:
            return
        self._figures_of(block).misplaced += 1
        report.misplaced.append(block)
        if not self._options.files:
            if not report.under_replicated:
                self._append("\n")
            self._append(f"{path}: ")
        self._append(
            f" Replica placement policy is violated for {block_text(self._namesystem, block)}. "
            f"{trouble}\n"
        )

    def _describe(self, block: Block, counts: Counts, report: _FileReport) -> None:
        text = (
            f"{len(report.blocks)}. {block_text(self._namesystem, block)} len={block.length_bytes}"
        )
        if self._is_missing(block, counts):
            report.blocks.append(f"{text} MISSING!\n")
        else:
            where = self._where(block)
            report.blocks.append(f"{text} Live_repl={counts.live}{where}\n")

    @staticmethod
    def _is_missing(block: Block, counts: Counts) -> bool:
        least = block.data_blocks if isinstance(block, Group) else 1
        return counts.total < least and not block.corrupt

    def _describe_open(self, block: Block, report: _FileReport) -> None:
        """The last block, which is being written."""
        report.blocks.append(
            f"\nUnder Construction Block:\n{len(report.blocks)}. "
            f"{block_text(self._namesystem, block)} len={block.length_bytes} "
            f"Expected_repl={len(block.expected)}{self._where(block)}"
        )

    def _where(self, block: Block) -> str:
        if self._excess is None:
            return ""
        return f" {replicas_text(self._namesystem, block, self._options, self._excess)}"


def _located(file: File, length_bytes: int) -> tuple[list[Block], Block | None]:
    """The blocks that `length_bytes` reach, and the last block if that is being written. To
    a snapshot it never is."""
    blocks = list(file.blocks)
    if not blocks:
        return [], None
    last = None if isinstance(file, SnapshotFile) else blocks[-1]
    if last is not None and last.state is BlockState.COMPLETE:
        last = None
    position = 0
    for number, block in enumerate(blocks):
        if position >= length_bytes:
            return blocks[:number], last
        position += block.length_bytes
    return blocks, last
