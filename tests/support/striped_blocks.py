"""The internal blocks of block groups, where datanodes have them: on disks, and by a namenode."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from howdah import errors
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.striping.layout import GroupLayout, group_id_of, index_of, is_striped
from howdah.testing.waiting import wait_until
from tests.support.failover.write_ledger import Manifest
from tests.support.replicas import BEING_WRITTEN, Cluster, replica_files

_WHOLE_FILE: Final = 1 << 40
_MENDED_WITHIN_S: Final = 120.0


def finalized(cluster: Cluster, but: Collection[str] = ()) -> dict[int, set[int]]:
    """Return which internal blocks are on the disks of the datanodes other than `but`, by group."""
    groups: dict[int, set[int]] = {}
    for replica in replica_files(cluster):
        if is_striped(replica.block_id) and replica.datanode not in but:
            found = groups.setdefault(group_id_of(replica.block_id), set())
            found.add(index_of(replica.block_id))
    return groups


def lengths_being_written(cluster: Cluster) -> list[int]:
    """Return how much datanodes have of the internal blocks that are being written."""
    lengths = []
    for replica in replica_files(cluster, state=BEING_WRITTEN):
        if is_striped(replica.block_id):
            data = replica.read_if_there()
            lengths.append(0 if data is None else len(data))
    return lengths


def is_whole(fs: HdfsFileSystem, path: str) -> bool:
    """Return whether each internal block that the file's groups are to have is at a datanode."""
    return all(set(found) == set(expected) for found, expected in _indices(fs, path))


def is_settled(fs: HdfsFileSystem, path: str) -> bool:
    """Return whether each of them is at one datanode: what is too much is deleted by and by, and
    the namenode goes on naming it until it hears of that."""
    return all(sorted(found) == list(expected) for found, expected in _indices(fs, path))


def _indices(fs: HdfsFileSystem, path: str) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the indices that datanodes have of each group, and those that it is to have."""
    located = fs.client.namenode.get_block_locations(path, 0, _WHOLE_FILE)
    policy = located.erasure_coding_policy
    assert policy is not None, f"{path} is not erasure coded"
    for group in located.blocks:
        assert group.members is not None
        yield group.members.indices, GroupLayout(policy, group.length_bytes).block_indices


def first_not_settled(fs: HdfsFileSystem, paths: Iterable[str]) -> str | None:
    """Return the first of the files of which an internal block is missing, or there twice, and what
    its groups have."""
    path = next((path for path in paths if not is_settled(fs, path)), None)
    return None if path is None else f"{path} has {_held(fs, path)}"


def _held(fs: HdfsFileSystem, path: str) -> list[list[tuple[int, int]]]:
    """Return the indices and the ports of their datanodes, for each group of a file."""
    held = []
    for group in fs.client.namenode.get_block_locations(path, 0, _WHOLE_FILE).blocks:
        assert group.members is not None
        ports = [node.transfer_port for node in group.nodes]
        held.append(list(zip(group.members.indices, ports, strict=True)))
    return held


def wait_until_mended(fs: HdfsFileSystem, manifest: Manifest) -> None:
    """Return when each internal block of what is acknowledged by now is at a datanode: only then
    is the loss of one more the only one."""
    left = manifest.closed_paths()

    def are_whole() -> bool:
        while left:
            try:
                if not is_whole(fs, left[-1]):
                    return False
            except errors.PathNotFound:
                assert left[-1] not in manifest.closed_paths(), f"{left[-1]} is lost"
            left.pop()
        return True

    wait_until(are_whole, _MENDED_WITHIN_S, "all groups are whole")
