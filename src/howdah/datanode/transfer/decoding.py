"""Internal blocks of a block group, read side by side, and others decoded from them (shell).

StripedReader in Hadoop. Which blocks are read says `state.reconstruction`. A source that fails,
or is silent, is given up for one that was not read yet, from the same place on; one whose chunks
do not fit their checksums is told to the namenode.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from howdah import errors
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import Mode
from howdah.datanode.state.messages import CorruptFound, Reconstruct
from howdah.datanode.state.reconstruction import Plan, next_source
from howdah.datanode.transfer.peers import connect_to, own_token
from howdah.datanode.transfer.remote_replica import RemoteReplica
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.striping.coder import Coder

log = logging.getLogger(__name__)


class Sources:
    """The internal blocks that are read, a piece of each at a time."""

    def __init__(
        self,
        order: Reconstruct,
        work: Plan,
        settings: DataSettings,
        tell: Callable[[CorruptFound], None],
    ) -> None:
        """`tell` passes on what is corrupt."""
        self._order = order
        self._plan = work
        self._settings = settings
        self._tell = tell
        self._tried: set[int] = set()
        self._replicas: dict[int, RemoteReplica | None] = {}
        """By index; None for a block that has ended, and stands for zeros."""

    def open(self) -> ChecksumSpec:
        """Open as many as are needed; how their chunks are summed."""
        while len(self._replicas) < self._plan.needed:
            self._open_next(0)
        return next(replica.checksum for replica in self._replicas.values() if replica is not None)

    def _open_next(self, offset: int) -> int:
        """Open a source that was not tried yet; its index. Raises `RemoteError` where none is
        left."""
        order = self._order
        while (number := next_source(order, self._replicas, self._tried)) is not None:
            self._tried.add(number)
            index, node = order.live[number], order.sources[number]
            if not self._plan.layout.block_length(index):
                continue
            end = self._plan.piece(index, 0, self._plan.length_bytes)
            try:
                self._replicas[index] = (
                    self._source(node, internal_block(order.group, index, end), offset)
                    if offset < end
                    else None
                )
            except (errors.HowdahError, OSError) as error:
                self._failed(index, node, error)
                continue
            return index
        raise errors.RemoteError(
            f"{order.group}: no source is left, {self._plan.needed} are needed, and "
            f"{sorted(self._replicas)} can be read"
        )

    def _source(self, node: DatanodeAddress, block: ExtendedBlock, offset: int) -> RemoteReplica:
        silence_s = self._settings.reconstruction.silence_s
        token = own_token(self._settings, block, Mode.READ)
        connection = connect_to(node, self._settings, silence_s, block.pool_id, token)
        try:
            return RemoteReplica(connection, node, block, offset, token)
        except BaseException:
            connection.close()
            raise

    def _failed(self, index: int, node: DatanodeAddress, error: Exception) -> None:
        group = self._order.group
        log.warning("internal block %d of %s cannot be read at %s: %s", index, group, node, error)
        if isinstance(error, errors.ChecksumMismatch):
            block = internal_block(group, index, self._plan.layout.block_length(index))
            self._tell(CorruptFound(block, "", node, str(error)))

    def read(self, start: int, end: int) -> dict[int, memoryview]:
        """Return the bytes from `start` to `end` of as many blocks as are needed; of one that ends
        before, what it has of them."""
        units: dict[int, memoryview] = {}
        while len(units) < self._plan.needed:
            index = next((index for index in self._replicas if index not in units), None)
            if index is None:
                index = self._open_next(start)
            replica = self._replicas[index]
            unit = memoryview(bytearray(self._plan.piece(index, start, end)))
            try:
                if replica is not None:
                    replica.read_into(unit)
            except (errors.HowdahError, OSError) as error:
                assert replica is not None, "what is not read does not fail"
                self._failed(index, replica.node, error)
                replica.close()
                del self._replicas[index]
                continue
            units[index] = unit
        return units

    def finish(self) -> None:
        """All that was wanted has come: tell the datanodes."""
        for replica in filter(None, self._replicas.values()):
            try:
                replica.finish()
            except (errors.HowdahError, OSError) as error:
                log.debug("%s is gone before it heard that all was right: %s", replica.node, error)

    def close(self) -> None:
        for replica in filter(None, self._replicas.values()):
            replica.close()


def internal_block(group: ExtendedBlock, index: int, length_bytes: int) -> ExtendedBlock:
    """Return an internal block of a group."""
    return replace(group, block_id=group.block_id + index, length_bytes=length_bytes)


def decoded(
    order: Reconstruct,
    work: Plan,
    units: dict[int, memoryview],
    length_bytes: int,
    *,
    validates: bool,
) -> dict[int, memoryview]:
    """Make a piece of each lost block. Raises `ChecksumMismatch` where it does not fit what it
    was made from."""
    schema = order.policy.schema
    coder = _coder(schema.codec, schema.data_units, schema.parity_units)
    present = {**dict.fromkeys(work.zeros, memoryview(b"")), **units}
    made = {index: memoryview(bytearray(length_bytes)) for index in work.lost}
    coder.decode(present, made)
    if validates:
        _validate(order, coder, present, made)
    return made


def _validate(
    order: Reconstruct,
    coder: Coder,
    present: Mapping[int, memoryview],
    made: Mapping[int, memoryview],
) -> None:
    """Decode a unit that was read from all that was made and from others. Raises
    `ChecksumMismatch` where that is not what was read: some unit that was made is wrong then."""
    checked = next(index for index, unit in present.items() if unit)
    others = [index for index in present if index != checked]
    for first in range(0, len(made), coder.data_units):
        part = dict(list(made.items())[first : first + coder.data_units])
        # Each of these counts: a coder uses as many units as it needs, and is given no more.
        part |= {index: present[index] for index in others[: coder.data_units - len(part)]}
        unit = present[checked]
        again = bytearray(max(map(len, part.values())))
        coder.decode(part, {checked: again})
        if again[: len(unit)] != unit or any(again[len(unit) :]):
            raise errors.ChecksumMismatch(
                f"{order.group}: what was made of internal blocks {sorted(made)} does not fit "
                f"block {checked}, of which they were made"
            )


@lru_cache(maxsize=64)
def _coder(codec: str, data_units: int, parity_units: int) -> Coder:
    return Coder(codec, data_units, parity_units)
