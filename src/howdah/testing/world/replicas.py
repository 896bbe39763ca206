"""Replicas as a namenode counts them, and as they are on the disks of its datanodes.

The two are the same when all is healed and nobody writes: reports have told everything, and orders
are carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.testing.world.disk import Disk, Inode
from howdah.testing.world.processes import Machine
from howdah.testing.world.world import World

_FINALIZED: Final = "finalized"
_OLD: Final = ("trash", "previous", "previous.tmp", "removed.tmp", "lazyPersist")
"""Directories in which are replicas that do not count."""


@dataclass
class DiskReplica:
    """What a machine's disks have of a block."""

    lengths: set[int] = field(default_factory=set)
    stamps: set[int] = field(default_factory=set)

    def is_good(self, block: Any) -> bool:
        return block.length_bytes in self.lengths and block.generation_stamp in self.stamps

    def __str__(self) -> str:
        return f"{sorted(self.lengths)} bytes with stamps {sorted(self.stamps)}"


def on_disks(machine: Machine, pool_id: str) -> dict[int, DiskReplica]:
    """Return the finalized replicas of a block pool, by their blocks."""
    found: dict[int, DiskReplica] = {}
    for disk in machine.mounts.disks():
        for name, node in _finalized(disk, pool_id):
            words = name.removesuffix(".meta").split("_")
            if words[0] != "blk":
                continue
            replica = found.setdefault(int(words[1]), DiskReplica())
            if name.endswith(".meta"):
                replica.stamps.add(int(words[2]))
            else:
                replica.lengths.add(len(node.data))
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


def _finalized(disk: Disk, pool_id: str) -> Iterator[tuple[str, Inode]]:
    for path, name, node in _files(disk):
        if pool_id in path and _FINALIZED in path:
            yield name, node


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
        for node in nodes:
            found = there[node.identity.ip].get(block.block_id, DiskReplica())
            where = names[node.identity.ip]
            if node in counted and not found.is_good(block):
                yield f"counts {what} at {where}, where is {found}"
            if node not in judged and found.is_good(block) and not _is_ordered(node, block):
                yield f"does not count {what} at {where}, where it is"


def _is_ordered(node: Any, block: Any) -> bool:
    """Tell whether the replica is to be deleted."""
    return block.block_id in node.invalidated or block.block_id in node.maybe_invalidated
