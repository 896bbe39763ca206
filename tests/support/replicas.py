"""Replicas as the files that they are: to count, to measure and to damage.

Finds them by Hadoop's layout on disk, `VOLUME/current/POOL/current/finalized/…/blk_ID`
with `blk_ID_STAMP.meta` beside it, so it needs no running server; which blocks a
path has is the one thing that the namenode is asked.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from howdah.config import Configuration, namenode_address
from howdah.proto import client_namenode_pb2 as messages
from howdah.protocol.data_transfer.checksum import checksum_chunks
from howdah.protocol.data_transfer.meta_header import META_HEADER_BYTES, decode_meta_header
from howdah.rpc.client import RpcClient

_CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
_BLOCK_FILE = re.compile(r"blk_(-?\d+)")
_EVERYTHING = 1 << 62
FINALIZED, BEING_WRITTEN = "finalized", "rbw"


class Cluster(Protocol):
    """What is needed of a cluster: `MiniCluster` has it."""

    @property
    def names(self) -> list[str]: ...
    @property
    def conf(self) -> Configuration: ...
    def data_dirs(self, name: str) -> list[Path]: ...


@dataclass(frozen=True, slots=True)
class ReplicaFile:
    """One replica: the datanode's name, the volume's directory, the block file."""

    datanode: str
    volume: Path
    path: Path

    @property
    def block_id(self) -> int:
        return int(self.path.name.removeprefix("blk_"))

    @property
    def meta_path(self) -> Path:
        """The file with the checksums."""
        (found,) = self.path.parent.glob(f"{self.path.name}_*.meta")
        return found

    def read(self) -> bytes:
        return self.path.read_bytes()

    def read_if_there(self) -> bytes | None:
        """None if it has gone since it was found: the cluster deletes what is too much."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def flip(self, offset: int = 0) -> None:
        """Damage the byte at `offset`, in place, as a rotting disk does."""
        flip(self.path, offset)

    def change(self, offset: int = 0) -> None:
        """Damage the byte at `offset`, and have the checksums fit, as a bad writer does."""
        self.flip(offset)
        data, meta = self.read(), self.meta_path.read_bytes()
        spec = decode_meta_header(meta[:META_HEADER_BYTES])
        sums = bytearray(spec.sums_length(len(data)))
        checksum_chunks(spec, data, sums)
        self.meta_path.write_bytes(meta[:META_HEADER_BYTES] + bytes(sums))


def flip(path: Path, offset: int) -> None:
    """Change every bit of one byte of a file; its length and times stay."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes((byte[0] ^ 0xFF,)))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replica_files(
    cluster: Cluster, block_ids: Iterable[int] | None = None, *, state: str = FINALIZED
) -> list[ReplicaFile]:
    """The replicas of these blocks, or all, on every datanode, running or not.

    `state` is the directory that they are in: `finalized`, or `rbw` for those that
    are being written.
    """
    wanted = None if block_ids is None else set(block_ids)
    found = [
        ReplicaFile(name, volume, path)
        for name in cluster.names
        if name.startswith("datanode")
        for volume in cluster.data_dirs(name)
        for path in _block_files(volume, state)
    ]
    return [replica for replica in found if wanted is None or replica.block_id in wanted]


def found_below(top: Path, pattern: str) -> list[Path]:
    """What `top.glob(pattern)` finds, in order, in a directory that a server works in.

    The glob by itself raises FileNotFoundError for a directory that goes while it looks.
    """
    for _ in range(100):
        with contextlib.suppress(FileNotFoundError):
            return sorted(top.glob(pattern))
    raise AssertionError(f"{top} changes all the time")


def _block_files(volume: Path, state: str) -> list[Path]:
    return [
        Path(directory, name)
        for top in found_below(volume, f"current/BP-*/current/{state}")
        for directory, _, names in os.walk(top)
        for name in names
        if _BLOCK_FILE.fullmatch(name)
    ]


def blocks_of(cluster: Cluster, path: str) -> list[int]:
    """The ids of a file's blocks, in their order."""
    client = RpcClient(namenode_address(cluster.conf), _CLIENT_PROTOCOL)
    try:
        request = messages.GetBlockLocationsRequestProto(src=path, offset=0, length=_EVERYTHING)
        answer = client.call("getBlockLocations", request, messages.GetBlockLocationsResponseProto)
    finally:
        client.close()
    return [block.b.blockId for block in answer.locations.blocks]


def replicas_of(cluster: Cluster, path: str) -> list[list[ReplicaFile]]:
    """For each block of a file, in their order, the replicas that are on disk."""
    ids = blocks_of(cluster, path)
    found = replica_files(cluster, ids)
    return [[replica for replica in found if replica.block_id == wanted] for wanted in ids]
