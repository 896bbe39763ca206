"""Reads all internal blocks of a group side by side, to say which are sound.

Each is compared with its checksums as it comes, and all of a stripe with each other: what is more
than the data units must be what they code to (`howdah.protocol.striping.comparison`). Steps, for
the cells of each stripe, or parts of cells:

1. Read the same range of each internal block. One that fails is left out from then on.
2. Compare. Units that do not fit are named, or all are in doubt.
3. Add the data, decoded where it is missing, to the checksum of the group.

Copies of an index beside the first one are read whole by themselves. They must have its bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.client.reading.readers import ReplicaReader
from howdah.client.reading.replica_finding import ReplicaFinding, ReplicaState, failed_reading
from howdah.client.reading.striped_replicas import internal_block
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.checksum import ChecksumType, combine, crc
from howdah.protocol.striping.coder import Coder
from howdah.protocol.striping.comparison import wrong_units
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy

OpensReplica = Callable[[LocatedBlock, DatanodeAddress], ReplicaReader]
ChecksReplica = Callable[[LocatedBlock, DatanodeAddress], ReplicaFinding]
_PART_BYTES: Final = 256 * 1024
"""Of each internal block, at once."""


@dataclass(frozen=True, slots=True)
class InternalFinding:
    """What was found of an internal block at one node; `node` is None where none has it."""

    index: int
    block: LocatedBlock
    node: DatanodeAddress | None
    finding: ReplicaFinding


@dataclass(frozen=True, slots=True)
class GroupFinding:
    """What was found of the internal blocks of a group that are to exist, in their order.

    `crc` is the CRC-32C of the group's data; None where it cannot be known.
    """

    members: tuple[InternalFinding, ...]
    crc: int | None

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the indices that no node has."""
        return tuple(member.index for member in self.members if member.node is None)


def check_group(
    path: str,
    group: LocatedBlock,
    policy: Policy,
    open_replica: OpensReplica,
    check_replica: ChecksReplica,
) -> GroupFinding:
    """Read all of a group. Raises `UnsupportedOperation` for a codec that is unknown here."""
    layout, schema = GroupLayout(policy, group.length_bytes), policy.schema
    try:
        coder = Coder(schema.codec, schema.data_units, schema.parity_units)
    except ValueError as error:
        raise errors.UnsupportedOperation(
            f"{path} is erasure coded by {policy.name}, which is not read here: {error}"
        ).about(path) from None
    blocks = {index: internal_block(group, layout, index) for index in layout.block_indices}
    comparison = _Comparison(layout, coder, blocks, open_replica)
    try:
        comparison.run()
    finally:
        comparison.close()
    found: list[InternalFinding] = []
    for index, block in blocks.items():
        first = comparison.findings.get(index)
        if first is None:
            missing = ReplicaFinding(ReplicaState.MISSING, None, f"index {index}: no node has it")
            found.append(InternalFinding(index, block, None, missing))
            continue
        found.append(InternalFinding(index, block, block.nodes[0], _about(index, first)))
        for node in block.nodes[1:]:
            copy = check_replica(block, node)
            if copy.state is ReplicaState.SOUND:
                copy = _compared(copy, first)
            found.append(InternalFinding(index, block, node, _about(index, copy)))
    return GroupFinding(tuple(found), comparison.crc)


def _compared(copy: ReplicaFinding, first: ReplicaFinding) -> ReplicaFinding:
    """What a copy is that was read by itself, beside the first one of its index."""
    if first.state is ReplicaState.SOUND and copy.crc != first.crc:
        return ReplicaFinding(
            ReplicaState.DIFFERENT, None, "it has other bytes than the copy that fits the group"
        )
    if first.state in (ReplicaState.DIFFERENT, ReplicaState.DOUBTFUL):
        # Nothing says that this one is better.
        return replace(copy, state=ReplicaState.DOUBTFUL, crc=None)
    return copy


def _about(index: int, finding: ReplicaFinding) -> ReplicaFinding:
    message = f"index {index}: {finding.message}" if finding.message else ""
    return replace(finding, message=message)


class _Comparison:
    """One reading of the first copy of each internal block. `findings` are by index."""

    def __init__(
        self,
        layout: GroupLayout,
        coder: Coder,
        blocks: Mapping[int, LocatedBlock],
        open_replica: OpensReplica,
    ) -> None:
        self.findings: dict[int, ReplicaFinding] = {}
        self.crc: int | None = 0
        self._layout = layout
        self._coder = coder
        self._open = open_replica
        self._blocks = {index: block for index, block in blocks.items() if block.nodes}
        self._absent = set(range(coder.data_units)) - blocks.keys()
        self._readers: dict[int, ReplicaReader] = {}
        self._crcs = dict.fromkeys(self._blocks, 0)
        self._buffers = {
            index: memoryview(bytearray(min(_PART_BYTES, layout.policy.cell_bytes)))
            for index in range(layout.policy.schema.units)
        }
        self._wrong: set[int] = set()
        self._in_doubt = False

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def run(self) -> None:
        for index, block in self._blocks.items():
            try:
                self._readers[index] = self._open(block, block.nodes[0])
            except (errors.HowdahError, OSError) as error:
                self.findings[index] = failed_reading(error)
        cells = [0] * self._coder.data_units
        for start, length, ends_cell in self._parts():
            units = self._read(start, length)
            self._compare(units, length)
            self._sum_up(units, cells, start, length)
            if ends_cell:
                self._add_cells(cells, start + length)
                cells = [0] * self._coder.data_units
        for index in self._readers:
            if index not in self.findings:
                self.findings[index] = self._verdict(index)

    def _verdict(self, index: int) -> ReplicaFinding:
        if index in self._wrong:
            return ReplicaFinding(
                ReplicaState.DIFFERENT,
                None,
                "it matches its checksums, but does not fit the other internal blocks",
            )
        if self._in_doubt:
            return ReplicaFinding(
                ReplicaState.DOUBTFUL,
                None,
                "the internal blocks do not fit each other, and too few are left to say which "
                "ones are wrong",
            )
        return ReplicaFinding(ReplicaState.SOUND, self._crcs[index])

    def _parts(self) -> Iterator[tuple[int, int, bool]]:
        """Yield ranges of internal blocks, none longer than a buffer or across the end of a cell:
        start, length, whether a cell ends there."""
        cell = self._layout.policy.cell_bytes
        end = self._layout.block_length(0)
        start = 0
        while start < end:
            length = min(_PART_BYTES, cell - start % cell, end - start)
            yield start, length, (start + length) % cell == 0 or start + length == end
            start += length

    def _length_of(self, index: int, start: int, length: int) -> int:
        """How much of a range an internal block has."""
        return max(0, min(length, self._layout.block_length(index) - start))

    def _read(self, start: int, length: int) -> dict[int, memoryview]:
        """Return the units that could be read, with zeros where a block is shorter."""
        units = {}
        for index in self._absent:
            units[index] = self._zeroed(index, 0, length)
        for index, reader in self._readers.items():
            if index in self.findings:
                continue
            count = self._length_of(index, start, length)
            unit = self._zeroed(index, count, length)
            filled = 0
            try:
                while filled < count:
                    filled += reader.read_into(unit[filled:count])
            except (errors.HowdahError, OSError) as error:
                self.findings[index] = failed_reading(error)
                continue
            self._crcs[index] = crc(ChecksumType.CRC32C, unit[:count], self._crcs[index])
            units[index] = unit
        return units

    def _zeroed(self, index: int, start: int, end: int) -> memoryview:
        unit = self._buffers[index][:end]
        unit[start:] = bytes(end - start)
        return unit

    def _compare(self, units: dict[int, memoryview], length: int) -> None:
        """Take out of the units those that are wrong, and all where none can be trusted."""
        if len(units) <= self._coder.data_units:
            return
        wrong = wrong_units(self._coder, units, self._absent)
        if wrong is None:
            self._in_doubt = True
            units.clear()
            return
        for index in wrong:
            self._wrong.add(index)
            del units[index]

    def _sum_up(
        self, units: Mapping[int, memoryview], cells: list[int], start: int, length: int
    ) -> None:
        """Add a part of each cell of data to the checksum of the cell."""
        if self.crc is None:
            return
        data = dict(units)
        lost = {
            index: bytearray(length) for index in range(self._coder.data_units) if index not in data
        }
        if lost:
            if len(units) < self._coder.data_units:
                self.crc = None
                return
            self._coder.decode(units, lost)
            data |= {index: memoryview(unit) for index, unit in lost.items()}
        for index in range(self._coder.data_units):
            count = self._length_of(index, start, length)
            cells[index] = crc(ChecksumType.CRC32C, data[index][:count], cells[index])

    def _add_cells(self, cells: list[int], end: int) -> None:
        """Put the cells of a stripe, which ends at `end`, behind those before."""
        if self.crc is None:
            return
        cell = self._layout.policy.cell_bytes
        start = (end - 1) // cell * cell
        for index, sum_of_cell in enumerate(cells):
            count = self._length_of(index, start, cell)
            self.crc = combine(ChecksumType.CRC32C, self.crc, sum_of_cell, count)
