"""Replicas as a namenode counts them, and as they are on the disks of its datanodes.

The two are the same when all is healed and nobody writes: reports have told everything, and orders
are carried out. All replicas of a block have the same bytes then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.testing.world.disk import Disk, Inode
from howdah.testing.world.processes import Machine
from howdah.testing.world.world import World

_FINALIZED: Final = "finalized"
_BEING_COPIED: Final = "tmp"
_OLD: Final = ("trash", "previous", "previous.tmp", "removed.tmp", "lazyPersist")
"""Directories in which are replicas that do not count."""


@dataclass(slots=True)
class DiskReplica:
    """What a machine's disks have of a block: all files of its name, each with whether it is
    finalized."""

    files: list[tuple[bool, Inode]] = field(default_factory=list)
    stamps: list[tuple[bool, int]] = field(default_factory=list)

    @property
    def stamp(self) -> int:
        """The newest one; 0 in the moment in which a meta file is renamed."""
        return max((stamp for _, stamp in self.stamps), default=0)

    def is_good(self, block: Any) -> bool:
        """Tell whether it is finalized, with the length and the stamp of the block."""
        return self._final(block) is not None and (True, block.generation_stamp) in self.stamps

    def _final(self, block: Any) -> Inode | None:
        return next(
            (
                node
                for is_final, node in self.files
                if is_final and len(node.data) == block.length_bytes
            ),
            None,
        )

    def whole(self, block: Any) -> bytes | None:
        """Return the bytes of a replica that is good, unless a fault has turned a bit over."""
        node = self._final(block)
        return None if node is None or node.is_rotten else bytes(node.data)

    def longest(self, expected: bytes, *, is_ended: bool) -> int:
        """How much of `expected` it has; of a block that has ended all of it, finalized, or 0."""
        best = 0
        for is_final, node in self.files:
            common_bytes = _common(node.data, expected)
            is_whole = is_final and common_bytes == len(expected) == len(node.data)
            if is_whole or not is_ended:
                best = max(best, common_bytes)
        return best

    def __str__(self) -> str:
        lengths = sorted({len(node.data) for is_final, node in self.files if is_final})
        written = sorted({len(node.data) for is_final, node in self.files if not is_final})
        more = f" (being written: {written})" if written else ""
        return f"{lengths} bytes with stamps {sorted({each for _, each in self.stamps})}{more}"


def _common(one: bytearray, other: bytes) -> int:
    limit = min(len(one), len(other))
    if one[:limit] == other[:limit]:
        return limit
    return next(index for index in range(limit) if one[index] != other[index])


def on_disks(machine: Machine, pool_id: str = "") -> dict[int, DiskReplica]:
    """Return what a machine has of a block pool, or of all, by blocks, but for replicas that are
    being copied to it."""
    found: dict[int, DiskReplica] = {}
    for disk in machine.mounts.disks():
        for path, name, node in _files(disk):
            kind, _, rest = name.removesuffix(".meta").partition("_")
            number, _, stamp = rest.partition("_")
            if kind != "blk" or not number.isdecimal() or _BEING_COPIED in path:
                continue
            if pool_id and pool_id not in path:
                continue
            replica = found.setdefault(int(number), DiskReplica())
            if stamp:
                replica.stamps.append((_FINALIZED in path, int(stamp)))
            else:
                replica.files.append((_FINALIZED in path, node))
    return found


def where_in(machine: Machine) -> dict[int, bool]:
    """Return whether a replica of a block is finalized, by the blocks of which there is one that
    counts: others are written, or are left from what was."""
    found: dict[int, bool] = {}
    for disk in machine.mounts.disks():
        for path, name, _ in _files(disk):
            kind, _, number = name.partition("_")
            if kind == "blk" and number.isdecimal():
                block_id = int(number)
                found[block_id] = found.get(block_id, False) or _FINALIZED in path
    return found


def _files(disk: Disk) -> Iterator[tuple[tuple[str, ...], str, Inode]]:
    todo: list[tuple[tuple[str, ...], Inode]] = [((), disk.root)]
    while todo:
        path, directory = todo.pop()
        for name, node in directory.entries.items():
            if not node.is_directory:
                yield path, name, node
            elif name not in _OLD:
                todo.append(((*path, name), node))


def differences(namenode: Any, pool_id: str, world: World) -> Iterator[str]:
    """Go over what a namenode counts and is not there, or does not count and is there."""
    there = {machine.address: on_disks(machine, pool_id) for machine in world.machines.values()}
    names = {machine.address: machine.name for machine in world.machines.values()}
    nodes = [node for node in namenode.namesystem.datanode_manager.datanodes if node.alive]
    for block in namenode.namesystem.namespace.blocks.values():
        if block.block_id < 0 or block.state.name != "COMPLETE":
            continue
        counted = {storage.node for storage in block.replicas}
        judged = counted | {storage.node for storage in block.corrupt}
        what = f"a replica of blk_{block.block_id} with stamp {block.generation_stamp} and "
        what += f"{block.length_bytes} bytes"
        bytes_at: dict[bytes, str] = {}
        for node in nodes:
            found = there[node.identity.ip].get(block.block_id, DiskReplica())
            where = names[node.identity.ip]
            if node in counted and not found.is_good(block):
                yield f"counts {what} at {where}, where is {found}"
            content = found.whole(block) if node in counted else None
            if content is not None:
                bytes_at.setdefault(content, where)
            if node not in judged and found.is_good(block) and not _is_ordered(node, block):
                yield f"does not count {what} at {where}, where it is"
        if len(bytes_at) > 1:
            yield f"counts {what} at {' and '.join(bytes_at.values())}, which have other bytes"


def _is_ordered(node: Any, block: Any) -> bool:
    """Tell whether the replica is to be deleted."""
    return block.block_id in node.invalidated or block.block_id in node.maybe_invalidated
