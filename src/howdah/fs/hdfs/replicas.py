"""The replicas of files, for those who want to know each: where they are, and how they are.

A file's reader sees one good replica and need not care. Whoever looks after a
filesystem asks for all of them, in processes that may be far apart, so what stands for
a replica here is a small value that can be sent along: `located` is all that a process
needs to read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from howdah import errors
from howdah.client.reading.replica_check import ReplicaFinding, ReplicaState
from howdah.client.state.blocks import LocatedBlock
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import types_pb2

__all__ = ["Replica", "ReplicaFinding", "ReplicaState", "Replicas"]

NOWHERE = ""


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a block of a file; `node` is `NOWHERE` for a block without any.

    `address` is where that node serves data, as `favored_nodes` name it. `located`
    is a LocatedBlockProto with this one place.
    """

    offset: int
    length_bytes: int
    block_id: int
    generation_stamp: int
    node: str
    address: str
    storage_id: str
    located: bytes

    @property
    def block(self) -> str:
        """As logs name it: `blk_1073741825_1001`."""
        return f"blk_{self.block_id}_{self.generation_stamp}"


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
        """All replicas of the file's finished blocks, in the order of the blocks.

        Raises `PathNotFound`; `UnsupportedOperation` for an erasure coded file.
        """
        for block in self._checker.blocks(path):
            places = [block.at(node) for node in block.nodes] or [block]
            for place in places:
                yield Replica(
                    block.offset,
                    block.length_bytes,
                    block.block.block_id,
                    block.block.generation_stamp,
                    str(place.nodes[0]) if place.nodes else NOWHERE,
                    place.nodes[0].transfer_address if place.nodes else NOWHERE,
                    place.storage_ids[0] if place.storage_ids else "",
                    place.to_proto().SerializeToString(),
                )

    def check(self, path: str, located: bytes) -> ReplicaFinding:
        """Read the replica whole, and say how it is."""
        block = _block(located)
        return self._checker.check(path, block, block.nodes[0])

    def report(self, located: bytes) -> None:
        """Tell the namenode that the replica is bad."""
        block = _block(located)
        self._checker.report(block, block.nodes[0])


def _block(located: bytes) -> LocatedBlock:
    return LocatedBlock.from_proto(types_pb2.LocatedBlockProto.FromString(located))
