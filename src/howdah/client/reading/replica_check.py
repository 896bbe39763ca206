"""Reads one given replica whole, to say whether it is sound (FS-100).

A reader of a file asks the nearest replica and is content; who checks a filesystem
wants each replica, by itself, and the others not to step in. So nothing is tried
again elsewhere here: what the datanode sends is compared with its checksums as it
comes, and summed up once more as a whole, for replicas of a block whose checksums are
right and whose bytes are not the same exist too: a volume that was restored from a
backup has them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.reading.readers import ReaderFactory, ReadRequest
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.data_transfer.op_requests import CachingHints

_WHOLE_FILE = (1 << 63) - 1
_BUFFER_BYTES = 1 << 20


class ReplicaState(enum.Enum):
    """What was found of a replica. The values are what reports say."""

    SOUND = "sound"
    CORRUPT = "corrupt"
    """Its bytes don't match its checksums."""
    UNREADABLE = "unreadable"
    """Its datanode can't be reached, hasn't got it, or ended early."""


@dataclass(frozen=True, slots=True)
class ReplicaFinding:
    """What one reading showed: `crc` is the CRC-32C of all its bytes, None unless SOUND."""

    state: ReplicaState
    crc: int | None = None
    message: str = ""


class ReplicaChecker:
    """Looks replicas up and reads them. One thread at a time."""

    def __init__(self, namenode: NamenodeProxy, factory: ReaderFactory, client_name: str) -> None:
        self._namenode = namenode
        self._factory = factory
        self._client_name = client_name
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))

    def blocks(self, path: str) -> tuple[LocatedBlock, ...]:
        """Return the file's finished blocks; one that is still being written is not among them.

        Raises `PathNotFound`, and `UnsupportedOperation` for erasure coded files.
        """
        blocks: dict[int, LocatedBlock] = {}
        offset = 0
        while True:
            batch = self._namenode.get_block_locations(path, offset, _WHOLE_FILE - offset)
            if batch.erasure_coding_policy is not None:
                raise errors.UnsupportedOperation(
                    f"{path} is erasure coded ({batch.erasure_coding_policy.name}), "
                    "its replicas cannot be checked here"
                )
            news = [block for block in batch.blocks if block.end > offset]
            blocks.update((block.offset, block) for block in news)
            if not news:
                break
            offset = news[-1].end
        last = batch.last_block
        if last is not None and not batch.last_block_complete:
            blocks.pop(last.offset, None)
        return tuple(blocks[offset] for offset in sorted(blocks))

    def check(self, path: str, block: LocatedBlock, node: DatanodeAddress) -> ReplicaFinding:
        """Read the replica of `block` at `node` from its first byte to its last."""
        request = ReadRequest(
            path,
            block,
            node,
            0,
            block.length_bytes,
            self._client_name,
            CachingHints(drop_behind=True),
        )
        total = 0
        try:
            reader = self._factory.open(request)
            if reader is None:
                raise errors.UnsupportedOperation(f"nothing reads {block.block.name} from {node}")
            try:
                while reader.remaining:
                    count = reader.read_into(self._buffer)
                    total = crc(ChecksumType.CRC32C, self._buffer[:count], total)
            finally:
                reader.close()
        except errors.ChecksumMismatch as error:
            return ReplicaFinding(ReplicaState.CORRUPT, None, str(error))
        except (errors.HowdahError, OSError) as error:
            return ReplicaFinding(ReplicaState.UNREADABLE, None, str(error))
        return ReplicaFinding(ReplicaState.SOUND, total)

    def report(self, block: LocatedBlock, node: DatanodeAddress) -> None:
        """Tell the namenode that the replica is bad: it makes another one, then deletes it."""
        self._namenode.report_bad_blocks([block.at(node)])
