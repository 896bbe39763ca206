"""`DFSStripedOutputStream`: an erasure coded file that is being written.

Mirrors Hadoop's class of that name. What goes to which internal block, and which failures are
borne, says `howdah.client.state.writing.striping`; each internal block has a pipeline of one
datanode (`howdah.client.writing.internal_block`). Steps, for each group:

1. The namenode gives a group: a datanode for each internal block. Those of parity may be missing.
2. Data goes to the data blocks cell by cell, and with each stripe's end parity to the others.
   A datanode that fails gets nothing more.
3. Are there new failures at the end of a stripe: wait until the others have acknowledged
   everything, ask the namenode for a new generation stamp, open the other pipelines again under
   it, and tell the namenode which are left. More failures meanwhile begin this step anew.
4. At the end of the group, or of the file: the parity of a short stripe, step 3, the last packets.
   The next `addBlock`, or `complete`, tells the group's length.

`hflush` and `hsync` are refused, for a stripe that is not whole has no parity; the stream says that
it has no such capability. Memory is bounded by a stripe and the queues of the pipelines.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from typing import NoReturn

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.packetizer import Buffer
from howdah.client.state.writing.recovery import ExcludedNodes
from howdah.client.state.writing.statistics import OutputStatistics, PipelineCounts
from howdah.client.state.writing.striping import CellTurns, GroupFailures, acknowledged_length
from howdah.client.writing.internal_block import InternalBlockWriter
from howdah.client.writing.output_stream import OpenFile, OutputStream
from howdah.options import SyncFlag
from howdah.protocol.data_transfer.blocks import (
    NO_DATANODE,
    NO_TOKEN,
    DatanodeAddress,
    ExtendedBlock,
)
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.policies import Policy
from howdah.runtime.tracing.span import NOTHING, Span

_log = logging.getLogger(__name__)

_CAPABILITIES = frozenset(("dropbehind",))


class DFSStripedOutputStream(OutputStream):
    """A stream of block groups. `progress` is called whenever a cell is full."""

    def __init__(
        self,
        file: OpenFile,
        policy: Policy,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        on_end: Callable[[OutputStream], None],
        progress: Callable[[], None] | None = None,
        span: Span = NOTHING,
        *,
        connect: ConnectsData = connect_plain,
    ) -> None:
        """Raises `UnsupportedOperation` for a codec that is unknown, `IllegalArgument` where
        checksums don't fit into cells."""
        schema = policy.schema
        if policy.cell_bytes % file.checksum.bytes_per_checksum:
            raise errors.IllegalArgument(
                f"Cannot write {file.path}: the cells of {policy.name} are no multiple of the "
                f"{file.checksum.bytes_per_checksum} bytes that one checksum covers "
                f"(dfs.bytes-per-checksum)"
            )
        try:
            self._coder = Coder(schema.codec, schema.data_units, schema.parity_units)
        except ValueError as error:
            raise errors.UnsupportedOperation(
                f"{file.path} would be erasure coded by {policy.name}, which is not written here: "
                f"{error}"
            ).about(file.path) from None
        super().__init__(file, namenode, settings, client_name, on_end, progress, span)
        self._policy = policy
        self._connect = connect
        self._drop_behind = settings.drop_behind_writes
        self._turns = CellTurns(policy, file.block_size)
        self._failures = GroupFailures(file.path, policy, settings.failed_internal_blocks_tolerated)
        self._excluded = ExcludedNodes(settings.exclude_nodes_s)
        self._cells = [bytearray(policy.cell_bytes) for _ in range(schema.data_units)]
        self._parity = [bytearray(policy.cell_bytes) for _ in range(schema.parity_units)]
        self._group: LocatedBlock | None = None
        self._previous = file.previous
        self._blocks: dict[int, InternalBlockWriter] = {}
        self._counts = PipelineCounts()
        self._position = file.length
        self._error: errors.HowdahError | None = None

    @property
    def pipeline(self) -> tuple[DatanodeAddress, ...]:
        self._check_process()
        return tuple(
            writer.node
            for index, writer in sorted(self._blocks.items())
            if index not in self._failures
        )

    def get_pos(self) -> int:
        return self._position

    def current_block_replication(self) -> int:
        """1, as the status of an erasure coded file has it: each byte is on one datanode."""
        self._check_open()
        return 1

    def statistics(self) -> OutputStatistics:
        """Counts of all internal blocks, so that parity counts in what was acknowledged."""
        self._check_process()
        counts = self._counts
        for writer in list(self._blocks.values()):
            counts = _sum(counts, writer.counts)
        return OutputStatistics(
            bytes_written=self.bytes_written,
            hflushes=0,
            hsyncs=0,
            **asdict(counts),
        )

    # --- writing ----------------------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        self._check_process()
        with self._write_lock:
            self._check_writable()
            # What is interrupted in here, by Ctrl-C say, leaves cells that nobody knows.
            self._torn = True
            try:
                self._write_cells(data)
            except (errors.HowdahError, OSError) as error:
                self._end_by(error)
                raise
            self._torn = False

    def _write_cells(self, data: Buffer) -> None:
        view = memoryview(data)
        start = 0
        while start < len(view):
            if self._group is None:
                self._begin_group()
            turn = self._turns.next_turn(len(view) - start)
            piece = view[start : start + turn.length]
            self._cells[turn.index][turn.start : turn.start + turn.length] = piece
            self._write(turn.index, piece)
            start += turn.length
            self._position += turn.length
            if turn.start + turn.length == self._policy.cell_bytes and self._progress is not None:
                self._progress()
            if self._turns.ends_stripe:
                self._end_stripe()
            if self._turns.is_group_full:
                self._end_group()

    def _write(self, index: int, data: Buffer) -> None:
        writer = self._healthy().get(index)
        if writer is not None:
            self._try(index, lambda: writer.write(data))

    def _healthy(self) -> Mapping[int, InternalBlockWriter]:
        if not self._failures.reasons:
            return self._blocks
        return {
            index: writer for index, writer in self._blocks.items() if index not in self._failures
        }

    def _try(self, index: int, step: Callable[[], None]) -> None:
        """Do something with an internal block, which may fail by that."""
        try:
            step()
        except (errors.HowdahError, OSError) as error:
            # If the stream was aborted, this was with it.
            self._check_failure()
            self._failed(index, str(error))

    def _failed(self, index: int, reason: str) -> None:
        if index not in self._failures:
            _log.warning(
                "%s: internal block %d of %s is not written any more: %s",
                self.path,
                index,
                "its group" if self._group is None else self._group.block.name,
                reason,
            )
            self._failures.failed(index, reason)
            self._excluded.add(self._blocks[index].node, time.monotonic())

    def _end_stripe(self) -> None:
        """The parity of a stripe, whole or short; then see whether datanodes have failed."""
        lengths = self._turns.cell_lengths
        longest = lengths[0]
        data = [
            memoryview(cell)[:length] for cell, length in zip(self._cells, lengths, strict=True)
        ]
        parity = [memoryview(cell)[:longest] for cell in self._parity]
        self._coder.encode(data, parity)
        for number, cell in enumerate(parity):
            self._write(self._policy.schema.data_units + number, cell)
        self._note_failures()
        self._failures.check()
        if self._failures.must_be_marked:
            self._mark_failures()

    def _note_failures(self) -> None:
        """Those that nobody has met, since nothing was written there."""
        for index, writer in self._healthy().items():
            if writer.error is not None:
                self._check_failure()
                self._failed(index, str(writer.error))

    # --- groups -------------------------------------------------------------------------------

    def _begin_group(self) -> None:
        """Step 1."""
        with errors.naming(self.path), self._span.current():
            group = self._when_ready(self._ask_for_group)
        members = group.members
        if members is None:
            raise errors.ProtocolViolation(
                f"{self.path} is erasure coded, and the namenode gave it {group.block.name}, which "
                "is no block group"
            )
        self._turns.begin_group()
        self._failures.begin_group()
        self._group = group
        places = {index: place for place, index in enumerate(members.indices)}
        for index in range(self._policy.schema.units):
            place = places.get(index)
            if place is None or place >= len(group.nodes):
                self._failures.never_begun(index)
                continue
            block = replace(group.block, block_id=group.block.block_id + index, length_bytes=0)
            located = LocatedBlock(
                block,
                0,
                (group.nodes[place],),
                group.storage_ids[place : place + 1],
                group.storage_types[place : place + 1],
                token=members.token_at(place),
            )
            self._blocks[index] = InternalBlockWriter(
                located,
                self._file,
                self._namenode,
                self._settings,
                self._client_name,
                self._drop_behind,
                self._span,
                self._connect,
            )
        self._check_failure()  # It may have been aborted before these were there.
        self._failures.check()

    def _ask_for_group(self) -> LocatedBlock:
        """addBlock."""
        self._check_failure()  # The stream may have been aborted while it waited.
        return self._namenode.add_block(
            self.path,
            self._client_name,
            self._previous,
            self._excluded.at(time.monotonic()),
            self._file.file_id,
            self._file.flags,
            self._file.favored_nodes,
        )

    def _flush(self) -> None:
        """Wait until all that are well have acknowledged everything."""
        seqnos: dict[int, int] = {}

        def flush(index: int, writer: InternalBlockWriter) -> None:
            seqnos[index] = writer.flush()

        begun = {index: writer for index, writer in self._healthy().items() if writer.length}
        for index, writer in begun.items():
            self._try(index, partial(flush, index, writer))
        for index, seqno in seqnos.items():
            self._try(index, partial(begun[index].wait_acked, seqno))

    def _mark_failures(self) -> None:
        """Step 3."""
        group = self._group
        assert group is not None
        while self._failures.must_be_marked:
            self._flush()
            self._note_failures()
            self._failures.check()
            self._failures.begin_marking()
            healthy = self._healthy()
            lengths = {index: writer.length for index, writer in healthy.items()}
            safe = acknowledged_length(self._policy, self._turns.position, lengths)
            old = group.block.with_length(safe)
            with errors.naming(self.path), self._span.current():
                renewed = self._namenode.update_block_for_pipeline(old, self._client_name)
            stamp = renewed.block.generation_stamp
            tokens = {}
            if renewed.members is not None:
                tokens = {
                    index: renewed.members.token_at(place)
                    for place, index in enumerate(renewed.members.indices)
                }
            for index, writer in healthy.items():
                writer.renew(stamp, tokens.get(index, NO_TOKEN))
            for index, writer in healthy.items():
                self._try(index, writer.wait_open)
            if self._failures.must_be_marked:
                self._failures.check()
                continue
            new = old.with_generation_stamp(stamp)
            with errors.naming(self.path), self._span.current():
                self._namenode.update_pipeline(
                    self._client_name, old, new, self._left_of(group.with_block(new))
                )
            self._group = group = group.with_block(new.with_length(group.length_bytes))

    def _left_of(self, group: LocatedBlock) -> LocatedBlock:
        """The group with a node for each internal block, in their order, or the sign for none."""
        healthy = self._healthy()
        nodes: list[DatanodeAddress] = []
        storages: list[str] = []
        for index in range(self._policy.schema.units):
            writer = healthy.get(index)
            has_data = writer is not None and writer.length > 0
            nodes.append(writer.node if writer is not None and has_data else NO_DATANODE)
            storages.append(writer.storage_id if writer is not None and has_data else "")
        return LocatedBlock(group.block, group.offset, tuple(nodes), tuple(storages))

    def _end_group(self) -> None:
        """Step 4."""
        if not self._turns.ends_stripe:
            self._end_stripe()
        self._flush()
        self._note_failures()
        self._failures.check()
        if self._failures.must_be_marked:
            self._mark_failures()
        begun = {index: writer for index, writer in self._healthy().items() if writer.length}
        for index, writer in begun.items():
            self._try(index, writer.end_block)
        for index, writer in begun.items():
            if index not in self._failures:
                self._try(index, writer.finish)
        # The stamp can't be changed any more; those that were lost just now are too short or not
        # finalized, by which the namenode knows them.
        self._failures.check()
        # Where datanodes have failed, also in its last stripe, it has a new stamp.
        assert self._group is not None
        self._previous = self._group.block.with_length(self._turns.position)
        self._stop_blocks()
        self._group = None
        self._turns.begin_group()

    def _stop_blocks(self) -> None:
        for writer in self._blocks.values():
            writer.stop()
            self._counts = _sum(self._counts, writer.counts)
        self._blocks = {}

    # --- what is promised, and what not -----------------------------------------------------------

    def hflush(self) -> None:
        """Raises `UnsupportedOperation`: what is not in a whole stripe cannot be made safe, and
        nobody is to believe that it was (OS-005). Hadoop's stream does nothing, and says so by
        its capabilities alone."""
        self._refuse_sync("hflush")

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """Raises `UnsupportedOperation`, as `hflush`."""
        self._refuse_sync("hsync")

    def _refuse_sync(self, name: str) -> NoReturn:
        self._check_process()
        with self._write_lock:
            self._check_writable()
        raise errors.UnsupportedOperation(
            f"{self.path} is erasure coded, and such files have no {name}: create it with "
            "replicate=True to sync it"
        ).about(self.path)

    def has_capability(self, capability: str) -> bool:
        """No syncs; what is written need not stay in the datanodes' caches."""
        return capability.lower() in _CAPABILITIES

    def set_drop_behind(self, drop: bool | None) -> None:
        self._check_open()
        self._drop_behind = drop

    @property
    def _failure(self) -> errors.HowdahError | None:
        return self._error

    def _check_failure(self) -> None:
        error = self._error
        if error is not None:
            # A new exception for each caller: one object would collect all their traces.
            raise copy.copy(error).about(self.path) from error

    def _end_by(self, error: errors.HowdahError | OSError) -> None:
        """Nothing more is written; the first error is kept."""
        if self._error is None:
            known = (
                error
                if isinstance(error, errors.HowdahError)
                else errors.PipelineFailed(f"{self.path}: {error}")
            )
            self._error = known.naming(self.path)
        for writer in list(self._blocks.values()):
            writer.give_up(self._error)

    # --- the end ------------------------------------------------------------------------------

    def _is_own_thread(self) -> bool:
        return any(writer.is_own_thread() for writer in list(self._blocks.values()))

    def _finish(self) -> ExtendedBlock | None:
        with self._write_lock:
            self._closed = True
            self._check_whole()
            if self._group is not None:
                self._end_group()
            return self._previous

    def _stop(self) -> None:
        self._stop_blocks()

    def _give_up(self, error: errors.HowdahError) -> None:
        self._end_by(error)


def _sum(one: PipelineCounts, other: PipelineCounts) -> PipelineCounts:
    return PipelineCounts(
        **{
            field.name: getattr(one, field.name) + getattr(other, field.name)
            for field in fields(PipelineCounts)
        }
    )
