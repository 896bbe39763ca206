"""Random losses, reports and repairs of one block group: what can be read stays readable."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.namenode.state.inodes.group_table import Group
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.protocol.data_transfer.blocks import signed64
from tests.unit.namenode.service.coding.test_writing import Cluster

NODES = 8
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["drop", "duplicate", "restart", "die", "report", "tick", "heartbeats", "obey"]
        ),
        st.integers(0, NODES - 1),
        st.integers(0, 4),
    ),
    max_size=25,
)


class World:
    """A cluster whose datanodes carry out what they are told."""

    def __init__(self) -> None:
        self.cluster = Cluster(nodes=NODES)
        self.group = self.cluster.write()
        self.commands: list[tuple[int, dn.DatanodeCommandProto]] = []

    def holders(self, index: int) -> list[int]:
        block_id = self.group.block_id + index
        return [
            number
            for number, node in enumerate(self.cluster.nodes)
            if any(block_id in held for held in node.replicas.values())
        ]

    def on_disks(self) -> set[int]:
        return {index for index in self.group.layout.block_indices if self.holders(index)}

    def store(self, number: int, index: int) -> None:
        part = self.group.part(index)
        self.cluster.nodes[number].store(
            part.block_id, self.group.generation_stamp, part.length_bytes
        )

    def is_registered(self, number: int) -> bool:
        known = self.cluster.namenode.namesystem.datanode_manager.datanodes.get(
            self.cluster.nodes[number].uuid
        )
        return known is not None and known.alive

    def happen(self, what: str, number: int, index: int) -> None:
        node = self.cluster.nodes[number]
        if what == "drop" and self.is_registered(number):
            # Never below what a reader needs: the namenode cannot bring back more.
            others = {i for i in self.on_disks() if self.holders(i) != [number]}
            if len(others) >= self.group.data_blocks:
                node.drop(self.group.block_id + index)
        elif what == "duplicate" and self.is_registered(number) and self.holders(index):
            if number not in self.holders(index):
                self.store(number, index)
        elif what == "restart":
            node.register()
            node.heartbeat()
            node.report()
        elif what == "die" and self.is_registered(number):
            self.cluster.namenode.namesystem.datanode_manager.lose(node.known)
        elif what == "report" and self.is_registered(number):
            node.report()
        elif what == "tick":
            self.cluster.namenode.tick(1000)
        elif what == "heartbeats":
            for place, one in enumerate(self.cluster.nodes):
                if self.is_registered(place):
                    self.commands += [(place, command) for command in one.heartbeat()]
        elif what == "obey":
            commands, self.commands = self.commands, []
            for place, command in commands:
                self.obey(place, command)

    def obey(self, number: int, command: dn.DatanodeCommandProto) -> None:
        node = self.cluster.nodes[number]
        if not self.is_registered(number):
            return
        if command.blkCmd.action == dn.BlockCommandProto.INVALIDATE and command.blkCmd.blocks:
            for block in command.blkCmd.blocks:
                node.drop(signed64(block.blockId))
        for info in command.blkECReconstructionCmd.blockECReconstructioninfo:
            told = {*info.liveBlockIndices, *info.excludeReconstructedIndices}
            missing = [i for i in self.group.layout.block_indices if i not in told]
            live = [
                index
                for index, source in zip(
                    info.liveBlockIndices, info.sourceDnInfos.datanodes, strict=True
                )
                if self.number_of(source.id.datanodeUuid) in self.holders(index)
            ]
            if len(live) < self.group.data_blocks:
                continue
            for index, target in zip(missing, info.targetDnInfos.datanodes, strict=False):
                place = self.number_of(target.id.datanodeUuid)
                if self.is_registered(place):
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


@pytest.mark.req("FS-015")
@given(events=EVENTS, seed=st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_what_can_be_read_stays_readable(events: list[tuple[str, int, int]], seed: int) -> None:
    world = World()
    dice = random.Random(seed)
    for event in events:
        world.happen(*event)
        world.check()
        assert len(world.on_disks()) >= world.group.data_blocks
    # All datanodes come back, and obey until nothing is left to do.
    for number in range(NODES):
        world.happen("restart", number, 0)
    for _ in range(12):
        world.happen("tick", 0, 0)
        world.happen("heartbeats", 0, 0)
        dice.shuffle(world.commands)
        world.happen("obey", 0, 0)
        world.check()
    # Copies that were lost are ordered again after their time.
    world.cluster.namenode.tick(400_000)
    for number in range(NODES):
        world.happen("restart", number, 0)
    for _ in range(12):
        world.happen("tick", 0, 0)
        world.happen("heartbeats", 0, 0)
        world.happen("obey", 0, 0)
    world.check()
    assert [len(world.holders(index)) for index in range(5)] == [1] * 5
