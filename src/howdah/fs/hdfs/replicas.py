"""The replicas of files, for those who want to know each: where they are, and how they are.

A file's reader sees one good replica and need not care. Whoever looks after a
filesystem asks for all of them, in processes that may be far apart, so what stands for
a replica here is a small value that can be sent along: `located` is all that a process
needs to read it.

The internal blocks of an erasure coded group say nothing alone: they are compared with each other.
So such a group is one value, and to check it gives a finding for each internal block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from howdah import errors
from howdah.client.reading.replica_finding import ReplicaFinding, ReplicaState
from howdah.client.state.blocks import LocatedBlock
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import types_pb2
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.messages import policy_from_proto, policy_to_proto
from howdah.protocol.striping.policies import Policy

__all__ = ["GroupReading", "Replica", "ReplicaFinding", "ReplicaState", "Replicas"]

NOWHERE = ""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a block of a file; `node` is `NOWHERE` for a block without any.

    `address` is where that node serves data, as `favored_nodes` name it. `located`
    is a LocatedBlockProto with this one place.

    Of an erasure coded file it is a whole group: `policy` is an ErasureCodingPolicyProto,
    `expected` the number of its internal blocks, and `located` has all their places.
    """

    offset: int
    length_bytes: int
    block_id: int
    generation_stamp: int
    node: str
    address: str
    storage_id: str
    located: bytes
    policy: bytes | None = None
    expected: int | None = None

    @property
    def block(self) -> str:
        """As logs name it: `blk_1073741825_1001`."""
        return f"blk_{self.block_id}_{self.generation_stamp}"


@dataclass(frozen=True, slots=True)
class GroupReading:
    """What reading a group has shown of one internal block: a finding of each place that has it.
    `crc` is that of the group's data, None where it is unknown."""

    index: int
    node: str
    storage_id: str
    located: bytes
    finding: ReplicaFinding
    crc: int | None


class Replicas:
    """The replicas of one filesystem's files. One thread at a time."""

    def __init__(self, fs: FileSystem) -> None:
        """Raises `UnsupportedOperation` unless it is an `hdfs://`."""
        if not isinstance(fs, HdfsFileSystem):
            raise errors.UnsupportedOperation(
                f"{fs.uri} has no replicas to look at, only hdfs:// has"
            )
        self._checker = fs.client.replica_checker()

    def of(self, path: str) -> Iterator[Replica]:
        """All replicas of the file's finished blocks, in the order of the blocks; of an erasure
        coded file its groups.

        Raises `PathNotFound`.
        """
        finished = self._checker.finished_blocks(path)
        for block in finished.blocks:
            if finished.policy is not None:
                yield _group(block, finished.policy)
                continue
            places = [block.at(node) for node in block.nodes] or [block]
            for place in places:
                yield _replica(block, place)

    def check(self, path: str, located: bytes) -> ReplicaFinding:
        """Read the replica whole, and say how it is."""
        block = _block(located)
        return self._checker.check(path, block, block.nodes[0])

    def check_group(self, path: str, located: bytes, policy: bytes) -> Iterator[GroupReading]:
        """Read all internal blocks of a group, and say how each is."""
        coded_by = policy_from_proto(types_pb2.ErasureCodingPolicyProto.FromString(policy))
        group = self._checker.check_group(path, _block(located), coded_by)
        for member in group.members:
            place = member.block if member.node is None else member.block.at(member.node)
            yield GroupReading(
                member.index,
                NOWHERE if member.node is None else str(member.node),
                place.storage_ids[0] if place.storage_ids else "",
                place.to_proto().SerializeToString(),
                member.finding,
                group.crc,
            )

    def report(self, located: bytes) -> None:
        """Tell the namenode that the replica is bad."""
        block = _block(located)
        self._checker.report(block, block.nodes[0])


def _replica(block: LocatedBlock, place: LocatedBlock) -> Replica:
    return Replica(
        block.offset,
        block.length_bytes,
        block.block.block_id,
        block.block.generation_stamp,
        str(place.nodes[0]) if place.nodes else NOWHERE,
        place.nodes[0].transfer_address if place.nodes else NOWHERE,
        place.storage_ids[0] if place.storage_ids else "",
        place.to_proto().SerializeToString(),
    )


def _group(group: LocatedBlock, policy: Policy) -> Replica:
    return replace(
        _replica(group, group),
        policy=policy_to_proto(policy).SerializeToString(),
        expected=len(GroupLayout(policy, group.length_bytes).block_indices),
    )


def _block(located: bytes) -> LocatedBlock:
    return LocatedBlock.from_proto(types_pb2.LocatedBlockProto.FromString(located))
