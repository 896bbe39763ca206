"""Random losses, moves, reports and repairs of one block group: what can be read stays readable."""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.namenode.state.blocks.admin_states import AdminEvent
from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.protocol.data_transfer.blocks import signed64
from tests.unit.namenode.service.coding.test_writing import MIB, Cluster

NODES = 10
TURNS = int(os.environ.get("HOWDAH_TORTURE", "1"))
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "drop",
                "duplicate",
                "restart",
                "die",
                "report",
                "tick",
                "tick",
                "heartbeats",
                "obey",
                "corrupt",
                "move",
                "leave",
                "rest",
                "serve",
                "busy",
                "late",
            ]
        ),
        st.integers(0, NODES - 1),
        st.integers(0, 4),
    ),
    max_size=30,
)


class World:
    """A cluster whose datanodes carry out what they are told."""

    def __init__(self, racks: int = 1, length: int = 4 * MIB) -> None:
        self.cluster = Cluster(nodes=NODES, racks=racks)
        self.group = self.cluster.write(length)
        self.commands: list[tuple[int, dn.DatanodeCommandProto]] = []
        self.bad: set[tuple[int, int]] = set()
        """Corrupt replicas: datanode and index."""

    @property
    def existing(self) -> tuple[int, ...]:
        return self.group.layout.block_indices

    def holders(self, index: int) -> list[int]:
        """Which datanodes have a good replica."""
        block_id = self.group.block_id + index
        return [
            number
            for number, node in enumerate(self.cluster.nodes)
            if any(block_id in held for held in node.replicas.values())
            and (number, index) not in self.bad
        ]

    def on_disks(self) -> set[int]:
        return {index for index in self.existing if self.holders(index)}

    def store(self, number: int, index: int, hint: str = "") -> None:
        part = self.group.part(index)
        self.bad.discard((number, index))
        self.cluster.nodes[number].store(
            part.block_id, self.group.generation_stamp, part.length_bytes, delete_hint=hint
        )

    def drop(self, number: int, index: int) -> None:
        self.cluster.nodes[number].drop(self.group.block_id + index)
        self.bad.discard((number, index))

    def is_registered(self, number: int) -> bool:
        known = self.cluster.namenode.namesystem.datanode_manager.datanodes.get(
            self.cluster.nodes[number].uuid
        )
        return known is not None and known.alive

    def may_lose(self, number: int, index: int) -> bool:
        """Never below what a reader needs: the namenode cannot bring back more."""
        others = {i for i in self.on_disks() if i != index or self.holders(i) != [number]}
        return len(others) >= self.group.data_blocks

    def find_corrupt(self, number: int) -> None:
        """The datanode's scanner reports what is corrupt."""
        blocks = self.cluster.namenode.namesystem.block_manager.blocks
        for place, index in self.bad:
            if place == number:
                known = self.cluster.nodes[number].known
                blocks.found_corrupt(
                    known, self.group.block_id + index, self.group.generation_stamp
                )

    def happen(self, what: str, number: int, index: int) -> None:
        node = self.cluster.nodes[number]
        manager = self.cluster.namenode.namesystem.datanode_manager
        exists = index in self.existing
        if what == "restart":
            node.register()
            node.heartbeat()
            node.report()
            self.find_corrupt(number)
        elif what == "tick":
            self.cluster.namenode.tick(1000)
        elif what == "late":
            self.cluster.namenode.tick(301_000)
        elif what == "heartbeats":
            for place, one in enumerate(self.cluster.nodes):
                if self.is_registered(place):
                    self.commands += [(place, command) for command in one.heartbeat()]
        elif what == "obey":
            commands, self.commands = self.commands, []
            for place, command in commands:
                self.obey(place, command)
        elif what == "busy":
            node.copies = 0 if node.copies else 8
        elif not self.is_registered(number):
            return
        elif what == "drop" and self.may_lose(number, index):
            self.drop(number, index)
        elif what == "duplicate" and exists and self.holders(index):
            if number not in self.holders(index):
                self.store(number, index)
        elif what == "corrupt" and number in self.holders(index) and self.may_lose(number, index):
            self.bad.add((number, index))
            self.find_corrupt(number)
        elif what == "move" and self.holders(index):
            has_any = any(number in self.holders(other) for other in range(5))
            source = self.holders(index)[0]
            if not has_any:
                self.store(number, index, self.cluster.nodes[source].uuid)
        elif what == "die":
            manager.membership.died(node.known) if node.known.admin_state.is_maintenance else None
            manager.lose(node.known)
        elif what == "report":
            node.report()
        elif what in ("leave", "rest", "serve"):
            event = {
                "leave": AdminEvent.DECOMMISSION,
                "rest": AdminEvent.MAINTENANCE,
                "serve": AdminEvent.SERVICE,
            }[what]
            node.known.maintenance_until_ms = 1 << 62
            manager.membership._happened(node.known, event)

    def obey(self, number: int, command: dn.DatanodeCommandProto) -> None:
        if not self.is_registered(number):
            return
        proto = dn.BlockCommandProto
        for place, block in enumerate(command.blkCmd.blocks):
            index = signed64(block.blockId) & 15
            if command.blkCmd.action == proto.INVALIDATE:
                self.drop(number, index)
            elif command.blkCmd.action == proto.TRANSFER and number in self.holders(index):
                assert block.numBytes == self.group.part(index).length_bytes
                for target in command.blkCmd.targets[place].datanodes:
                    self.bring(target.id.datanodeUuid, index)
        for info in command.blkECReconstructionCmd.blockECReconstructioninfo:
            told = {*info.liveBlockIndices, *info.excludeReconstructedIndices}
            missing = [i for i in self.existing if i not in told]
            sources = info.sourceDnInfos.datanodes
            assert len(set(info.liveBlockIndices)) >= self.group.data_blocks
            assert len(info.targetDnInfos.datanodes) <= len(missing), "more targets than missing"
            live = {
                index
                for index, source in zip(info.liveBlockIndices, sources, strict=True)
                if self.number_of(source.id.datanodeUuid) in self.holders(index)
            }
            if len(live) < self.group.data_blocks:
                continue
            for index, target in zip(missing, info.targetDnInfos.datanodes, strict=False):
                self.bring(target.id.datanodeUuid, index)

    def bring(self, uuid: str, index: int) -> None:
        """A datanode that has the block already, be it corrupt, does not take it."""
        place = self.number_of(uuid)
        block_id = self.group.block_id + index
        held = self.cluster.nodes[place].replicas.values()
        if self.is_registered(place) and not any(block_id in replicas for replicas in held):
            self.store(place, index)

    def number_of(self, uuid: str) -> int:
        return next(n for n, node in enumerate(self.cluster.nodes) if node.uuid == uuid)

    def check(self) -> None:
        blocks = self.cluster.namenode.namesystem.block_manager.blocks
        assert isinstance(self.group, Group)
        assert blocks.safe_count == self.group.is_available
        for part in self.group.parts:
            for storage in part.replicas:
                assert part.block_id in storage.block_ids
        for node in self.cluster.namenode.namesystem.datanode_manager.datanodes:
            for storage in node.storages.values():
                for block_id in storage.block_ids:
                    assert storage in self.group.part(block_id & 15).replicas

    def settle(self, dice: random.Random) -> None:
        """All datanodes come back, rested and into service, and obey until nothing is left to
        do; copies that were lost are ordered again after their time."""
        for node in self.cluster.nodes:
            node.copies = 0
        for _ in range(3):
            for number in range(NODES):
                self.happen("restart", number, 0)
                self.happen("serve", number, 0)
            for _ in range(10):
                self.happen("tick", 0, 0)
                self.happen("heartbeats", 0, 0)
                dice.shuffle(self.commands)
                self.happen("obey", 0, 0)
                self.check()
            self.happen("late", 0, 0)


def run(events: list[tuple[str, int, int]], seed: int, racks: int, length: int) -> None:
    world = World(racks, length)
    for event in events:
        world.happen(*event)
        world.check()
        assert len(world.on_disks()) >= world.group.data_blocks
    world.settle(random.Random(seed))
    existing = world.existing
    assert [len(world.holders(index)) for index in range(5)] == [i in existing for i in range(5)]
    assert not world.bad
    manager = world.cluster.namenode.namesystem.block_manager
    counts = manager.reconstruction.counts()
    assert (counts.too_few, counts.missing, counts.excess, counts.corrupt) == (0, 0, 0, 0)
    assert counts.misplaced == 0
    assert not manager.blocks.redundancy.move_hints


HISTORIES = {
    "events": EVENTS,
    "seed": st.integers(0, 3),
    "racks": st.sampled_from([1, 2, 3, 5]),
    "length": st.sampled_from([10, MIB, 4 * MIB, 4 * MIB + 5]),
}


@pytest.mark.req("FS-015")
@given(**HISTORIES)
@settings(max_examples=25, deadline=None)
def test_what_can_be_read_stays_readable(
    events: list[tuple[str, int, int]], seed: int, racks: int, length: int
) -> None:
    run(events, seed, racks, length)


@pytest.mark.torture
@given(**HISTORIES)
@settings(max_examples=1000 * TURNS, deadline=None)
def test_what_can_be_read_stays_readable_in_many_histories(
    events: list[tuple[str, int, int]], seed: int, racks: int, length: int
) -> None:
    run(events, seed, racks, length)
