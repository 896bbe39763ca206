"""Replicas as a namenode counts them, held against the disks of its datanodes."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.testing.world import World
from howdah.testing.world.disk import Inode
from howdah.testing.world.processes import Machine
from howdah.testing.world.replicas import differences, on_disks

_POOL = "BP-1"


def _put(machine: Machine, path: str, content: bytes = b"") -> None:
    directory: Inode = machine.disk.root
    *above, last = path.strip("/").split("/")
    for name in above:
        if name not in directory.entries:
            machine.disk.change_names((directory, name, machine.disk.new_directory(0o755)))
        directory = directory.entries[name]
    file = machine.disk.new_file(0o644)
    file.write(0, content)
    machine.disk.change_names((directory, last, file))


@pytest.fixture
def world() -> World:
    world = World(1)
    for name in ("dn0", "dn1"):
        machine = world.machine(name)
        for kind in ("current/finalized/subdir0", "current/rbw", "trash/finalized"):
            above = f"/data/current/{_POOL}/{kind}"
            number = 7 if "subdir" in kind else 8
            _put(machine, f"{above}/blk_{number}", b"12345")
            _put(machine, f"{above}/blk_{number}_1001.meta")
    return world


class _Object:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


def _namenode(world: World, *counted: str, length: int = 5, ordered: bool = False) -> Any:
    nodes = {
        name: _Object(
            alive=True,
            identity=_Object(ip=world.machines[name].address),
            invalidated={7} if ordered else set(),
            maybe_invalidated=set(),
        )
        for name in ("dn0", "dn1")
    }
    block = _Object(
        block_id=7,
        generation_stamp=1001,
        length_bytes=length,
        state=_Object(name="COMPLETE"),
        replicas=[_Object(node=nodes[name]) for name in counted],
        corrupt=[],
    )
    return _Object(
        namesystem=_Object(
            namespace=_Object(blocks={7: block}),
            datanode_manager=_Object(datanodes=list(nodes.values())),
        )
    )


def test_replicas_that_count_are_found(world: World) -> None:
    found = on_disks(world.machines["dn0"], _POOL)
    assert sorted(found) == [7, 8]
    assert (found[7].stamp, str(found[7])) == (1001, "[5] bytes with stamps [1001]")
    block = _Object(block_id=7, generation_stamp=1001, length_bytes=5)
    assert found[7].is_good(block)
    assert not found[8].is_good(block), "it is written"
    assert not on_disks(world.machines["dn0"], "BP-2")


def test_replicas_that_count_have_the_same_bytes(world: World) -> None:
    node = on_disks(world.machines["dn1"], _POOL)[7].files[0][1]
    node.data[0] ^= 1
    (found,) = differences(_namenode(world, "dn0", "dn1"), _POOL, world)
    assert found.endswith("at dn0 and dn1, which have other bytes")
    node.flip(1)
    assert not list(differences(_namenode(world, "dn0", "dn1"), _POOL, world)), "it rots"


def test_what_is_counted_and_there_is_no_difference(world: World) -> None:
    assert not list(differences(_namenode(world, "dn0", "dn1"), _POOL, world))


def test_a_replica_that_is_counted_and_shorter_is_told(world: World) -> None:
    found = list(differences(_namenode(world, "dn0", "dn1", length=6), _POOL, world))
    assert len(found) == 2
    assert found[0].startswith("counts a replica of blk_7 with stamp 1001 and 6 bytes at dn0")


def test_a_replica_that_is_there_and_not_counted_is_told(world: World) -> None:
    (found,) = differences(_namenode(world, "dn0"), _POOL, world)
    assert found.startswith("does not count a replica of blk_7")
    assert "dn1" in found


def test_a_replica_that_is_to_be_deleted_need_not_count(world: World) -> None:
    assert not list(differences(_namenode(world, "dn0", ordered=True), _POOL, world))
