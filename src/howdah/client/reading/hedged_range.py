"""What a hedged read asks of a stream: one range of one block, from whichever node.

The stream's side of `howdah.client.reading.hedged.Race`: nodes are chosen, and failures noted, as
in any read of the stream, and the read ends when the stream is closed.
"""

from __future__ import annotations

from collections.abc import Collection

from howdah import errors
from howdah.client.reading.file_replicas import FileReplicas
from howdah.client.reading.readers import Cancellation, OpenReads, ReadSource
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.reading.attempts import Attempts
from howdah.protocol.data_transfer.blocks import DatanodeAddress

_Replica = tuple[LocatedBlock, DatanodeAddress]


class HedgedRange:
    """Reads one range within a block, for a hedged read; `reads` ends with the stream."""

    def __init__(
        self,
        replicas: FileReplicas,
        attempts: Attempts,
        offset: int,
        length: int,
        reads: OpenReads,
    ) -> None:
        self._replicas = replicas
        self._attempts = attempts
        self._offset = offset
        self._length = length
        self._reads = reads

    def first_node(self) -> _Replica:
        return self._checked(self._replicas.choose(self._offset, self._attempts))

    def other_node(self, busy: Collection[_Replica]) -> _Replica | None:
        replica = self._replicas.another(self._offset, self._attempts, [node for _, node in busy])
        return None if replica is None else self._checked(replica)

    def _checked(self, replica: _Replica) -> _Replica:
        block, _ = replica
        if block.end < self._offset + self._length:
            raise errors.FileChanged(
                f"{self._replicas.path} was cut while it was read: {block.block.name} ends at "
                f"{block.end} now"
            )
        return replica

    def fetch(self, replica: _Replica, cancellation: Cancellation) -> tuple[ReadSource, bytearray]:
        block, node = replica
        buffer = bytearray(self._length)
        with self._reads.begin(cancellation):
            reader = self._replicas.open_at(
                block, node, self._offset, self._length, cancellation=cancellation
            )
            try:
                filled = 0
                while filled < self._length:
                    filled += reader.read_into(memoryview(buffer)[filled:])
            except (errors.HowdahError, OSError):
                cancellation.check()
                raise
            finally:
                reader.close()
        return reader.source, buffer

    def failed(self, replica: _Replica, error: errors.HowdahError | OSError) -> None:
        self._replicas.failed(*replica, error, self._attempts)

    def lost(self, replica: _Replica, *, in_silence: bool) -> None:
        self._replicas.lost(*replica, self._attempts, in_silence=in_silence)

    def hedged(self) -> None:
        self._replicas.counter.hedged()

    def hedge_won(self) -> None:
        self._replicas.counter.hedge_won()
