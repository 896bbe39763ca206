"""Reads one given replica whole, to say whether it is sound (FS-100).

A reader of a file asks the nearest replica and is content; who checks a filesystem
wants each replica, by itself, and the others not to step in. So nothing is tried
again elsewhere here: what the datanode sends is compared with its checksums as it
comes, and summed up once more as a whole, for replicas of a block whose checksums are
right and whose bytes are not the same exist too: a volume that was restored from a
backup has them.

The internal blocks of an erasure coded group have different bytes. They are read side by
side, and their parity is coded again (`howdah.client.reading.group_check`).
"""

from __future__ import annotations

from dataclasses import dataclass

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.reading.group_check import GroupFinding, check_group
from howdah.client.reading.readers import ReaderFactory, ReadRequest, ReplicaReader
from howdah.client.reading.replica_finding import ReplicaFinding, ReplicaState, failed_reading
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.protocol.data_transfer.op_requests import CachingHints
from howdah.protocol.striping.policies import Policy

_WHOLE_FILE = (1 << 63) - 1
_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FinishedBlocks:
    """The blocks of a file, or its block groups and the policy that they are coded by."""

    blocks: tuple[LocatedBlock, ...]
    policy: Policy | None


class ReplicaChecker:
    """Looks replicas up and reads them. One thread at a time."""

    def __init__(self, namenode: NamenodeProxy, factory: ReaderFactory, client_name: str) -> None:
        self._namenode = namenode
        self._factory = factory
        self._client_name = client_name
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))

    def finished_blocks(self, path: str) -> FinishedBlocks:
        """Return the file's finished blocks; one that is still being written is not among them.

        Raises `PathNotFound`.
        """
        blocks: dict[int, LocatedBlock] = {}
        offset = 0
        while True:
            batch = self._namenode.get_block_locations(path, offset, _WHOLE_FILE - offset)
            news = [block for block in batch.blocks if block.end > offset]
            blocks.update((block.offset, block) for block in news)
            if not news:
                break
            offset = news[-1].end
        last = batch.last_block
        if last is not None and not batch.last_block_complete:
            blocks.pop(last.offset, None)
        finished = tuple(blocks[offset] for offset in sorted(blocks))
        return FinishedBlocks(finished, batch.erasure_coding_policy)

    def check(self, path: str, block: LocatedBlock, node: DatanodeAddress) -> ReplicaFinding:
        """Read the replica of `block` at `node` from its first byte to its last."""
        total = 0
        try:
            reader = self._open(path, block, node)
            try:
                while reader.remaining:
                    count = reader.read_into(self._buffer)
                    total = crc(ChecksumType.CRC32C, self._buffer[:count], total)
            finally:
                reader.close()
        except (errors.HowdahError, OSError) as error:
            return failed_reading(error)
        return ReplicaFinding(ReplicaState.SOUND, total)

    def check_group(self, path: str, group: LocatedBlock, policy: Policy) -> GroupFinding:
        """Read all internal blocks of a group, each at every node that has it, and code the data
        again. Raises `UnsupportedOperation` for a policy whose codec is unknown here."""
        return check_group(
            path,
            group,
            policy,
            lambda block, node: self._open(path, block, node),
            lambda block, node: self.check(path, block, node),
        )

    def _open(self, path: str, block: LocatedBlock, node: DatanodeAddress) -> ReplicaReader:
        request = ReadRequest(
            path,
            block,
            node,
            0,
            block.length_bytes,
            self._client_name,
            CachingHints(drop_behind=True),
        )
        reader = self._factory.open(request)
        if reader is None:
            raise errors.UnsupportedOperation(f"nothing reads {block.block.name} from {node}")
        return reader

    def report(self, block: LocatedBlock, node: DatanodeAddress) -> None:
        """Tell the namenode that the replica is bad: it makes another one, then deletes it."""
        self._namenode.report_bad_blocks([block.at(node)])
