"""Blocks with enough replicas on too few racks are found, and spread (FS-144, FS-015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.calls.administration import Administration
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.blocks import reconstruction
from howdah.namenode.state.blocks.admin_states import AdminState
from howdah.namenode.state.blocks.host_lists import HostEntry, HostOrder, Hosts
from howdah.namenode.state.blocks.policies import BY_DEFAULT, Policy
from howdah.namenode.state.blocks.topology import RackMap
from howdah.namenode.state.inodes.inodes import Block
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.testing.in_memory import InMemoryNamenode

LENGTH = 100
CLIENT = "DFSClient_racks"


class Cluster:
    """Datanodes on racks, and files of one block on nodes that a test names."""

    def __init__(self, racks: Sequence[str], policy: Policy = BY_DEFAULT) -> None:
        self.namenode = InMemoryNamenode(
            Settings(
                "",
                min_block_size_bytes=512,
                heartbeat_expiry_ms=10_000_000,
                leaving_interval_ms=1000,
                copies_per_node=100,
                max_streams=100,
                placement=policy,
            )
        )
        self.nodes = [self.namenode.join(f"dn{n}", rack=rack) for n, rack in enumerate(racks)]

    @property
    def misplaced(self) -> int:
        return self.namenode.namesystem.block_manager.reconstruction.counts().misplaced

    def write(self, path: str, on: Sequence[int]) -> Block:
        """A file whose writer takes no other datanodes than these."""
        self.namenode.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName=CLIENT,
                createFlag=1,
                createParent=True,
                replication=len(on),
                blockSize=1024,
            ),
        )
        request = pb.AddBlockRequestProto(src=path, clientName=CLIENT)
        for number, node in enumerate(self.nodes):
            if number not in on:
                request.excludeNodes.add(location="/").id.CopyFrom(node.registration().datanodeID)
        answer: Any = self.namenode.call("addBlock", request)
        named = answer.block.b
        named.numBytes = LENGTH
        assert {place.id.datanodeUuid for place in answer.block.locs} == {
            self.nodes[number].uuid for number in on
        }
        for number in on:
            self.nodes[number].store(named.blockId, named.generationStamp, LENGTH)
        self.namenode.call(
            "complete", pb.CompleteRequestProto(src=path, clientName=CLIENT, last=named)
        )
        return self.namenode.namesystem.namespace.blocks[named.blockId]

    def round(self) -> list[str]:
        """A round of repairs, and every datanode does as it is told. What was done."""
        self.namenode.tick(1000)
        done = []
        for node in self.nodes:
            for command in node.heartbeat():
                order = command.blkCmd
                for place, told in enumerate(order.blocks):
                    if order.action == dn.BlockCommandProto.INVALIDATE:
                        node.drop(told.blockId)
                        done.append("deleted")
                        continue
                    for target in order.targets[place].datanodes:
                        taker = next(n for n in self.nodes if n.uuid == target.id.datanodeUuid)
                        taker.store(told.blockId, told.genStamp, LENGTH)
                        done.append("copied")
        return done

    def settle(self) -> list[str]:
        """Rounds, until nothing is to be done any more."""
        done = []
        for _ in range(30):
            more = self.round()
            done += more
            if not more and not self.namenode.namesystem.block_manager.reconstruction.is_rescanning:
                return done
        raise AssertionError(f"it does not come to rest: {done}")

    def racks(self, block: Block) -> list[str]:
        """Of the nodes that have it on disk."""
        return sorted(
            node.known.location
            for node in self.nodes
            if any(block.block_id in replicas for replicas in node.replicas.values())
        )

    def moves(self, number: int, rack: str) -> None:
        """The datanode comes back on another rack."""
        node = self.nodes[number]
        self.namenode.racks = {**self.namenode.racks, node.ip: rack}
        self.namenode.namesystem.datanode_manager.racks = type(
            self.namenode.namesystem.datanode_manager.racks
        )(dict(self.namenode.racks))
        node.register()
        node.heartbeat()
        node.report()


@pytest.mark.req("FS-144", "FS-015")
def test_a_block_on_one_rack_is_found_when_it_is_complete_and_spread() -> None:
    cluster = Cluster(["/a", "/a", "/a", "/b", "/b"])
    block = cluster.write("/f", on=[0, 1, 2])
    assert cluster.misplaced == 1
    assert cluster.settle() == ["copied", "deleted"]
    assert cluster.racks(block) == ["/a", "/a", "/b"]
    assert cluster.misplaced == 0


def test_one_rack_is_enough_where_there_is_no_other() -> None:
    cluster = Cluster(["/a", "/a", "/a"])
    cluster.write("/f", on=[0, 1, 2])
    assert cluster.misplaced == 0
    assert cluster.settle() == []


def test_a_block_with_one_replica_is_nowhere_badly_placed() -> None:
    cluster = Cluster(["/a", "/b"])
    cluster.write("/f", on=[0])
    assert cluster.settle() == []


def test_blocks_are_looked_at_again_when_a_second_rack_appears() -> None:
    cluster = Cluster(["/a", "/a", "/a"])
    blocks = [cluster.write(f"/f{n}", on=[0, 1, 2]) for n in range(5)]
    cluster.round()
    cluster.nodes.append(cluster.namenode.join("new", rack="/b"))
    cluster.settle()
    assert all(cluster.racks(block) == ["/a", "/a", "/b"] for block in blocks)


def test_blocks_are_looked_at_again_when_a_node_comes_back_on_another_rack() -> None:
    cluster = Cluster(["/a", "/b", "/b", "/c"])
    block = cluster.write("/f", on=[0, 1])
    assert cluster.settle() == []
    cluster.moves(0, "/b")
    cluster.settle()
    assert len(set(cluster.racks(block))) == 2


def test_what_was_badly_placed_is_well_placed_when_the_other_racks_are_gone() -> None:
    cluster = Cluster(["/a", "/a", "/b"])
    cluster.namenode.namesystem.datanode_manager.datanodes.lose(cluster.nodes[2].known)
    cluster.write("/f", on=[0, 1])
    assert cluster.misplaced == 0
    cluster.nodes[2].register()
    cluster.nodes[2].heartbeat()
    cluster.namenode.namesystem.datanode_manager.datanodes.lose(cluster.nodes[2].known)
    cluster.settle()
    assert cluster.misplaced == 0


def test_the_look_at_all_blocks_takes_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconstruction, "SCAN_BLOCKS", 2)
    monkeypatch.setattr(reconstruction, "SLICE_BLOCKS", 1)
    cluster = Cluster(["/a", "/a", "/a"])
    for number in range(5):
        cluster.write(f"/f{number}", on=[0, 1, 2])
    cluster.round()
    # Full: so that blocks are found, and nothing can be done about them.
    cluster.nodes.append(cluster.namenode.join("new", rack="/b"))
    for storage in cluster.nodes[3].known.storages.values():
        storage.remaining_bytes = 0
    found: list[int] = []
    for _ in range(4):
        assert (
            cluster.namenode.namesystem.block_manager.reconstruction.is_rescanning or found[-1] == 5
        )
        cluster.namenode.tick(1000)
        found.append(cluster.misplaced)
    assert found == [2, 4, 5, 5]


def test_a_rack_without_room_keeps_nobody_from_the_others() -> None:
    cluster = Cluster(["/a", "/a", "/a", "/full", "/b"])
    full = cluster.nodes[3].known
    for storage in full.storages.values():
        storage.remaining_bytes = 0
    block = cluster.write("/f", on=[0, 1, 2])
    cluster.settle()
    assert cluster.racks(block) == ["/a", "/a", "/b"]


def test_blocks_are_spread_anew_when_their_nodes_turn_out_to_be_on_other_racks() -> None:
    cluster = Cluster(["/a", "/b", "/b", "/b"])
    block = cluster.write("/f", on=[0, 1, 2])
    assert cluster.settle() == []
    table = dict(zip([node.ip for node in cluster.nodes], ["/a", "/a", "/a", "/b"], strict=True))
    cluster.namenode.namesystem.datanode_manager.apply_racks(RackMap(table))
    assert cluster.settle() == ["copied", "deleted"]
    assert cluster.racks(block) == ["/a", "/a", "/b"]


def test_a_node_whose_rack_has_to_be_asked_for_moves_when_the_answer_comes() -> None:
    cluster = Cluster(["/a", "/b"])
    racks = Asked()
    cluster.namenode.namesystem.datanode_manager.apply_racks(racks)
    first, second = cluster.nodes
    assert [first.known.location, second.known.location] == ["/a", "/b"]
    racks.answers[first.ip]("/c")
    racks.answers[second.ip](errors.RemoteError("the script is out of order"))
    assert [first.known.location, second.known.location] == ["/c", "/b"]


def test_a_datanode_that_the_table_lacks_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(["/a", "/b", "/b"])
    first, second, third = cluster.nodes
    manager = cluster.namenode.namesystem.datanode_manager
    manager.apply_racks(RackMap({first.ip: "/a", third.known.identity.hostname: "/b"}))
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert [second.ip in each and "-refreshNodes" in each for each in warned] == [True]
    caplog.clear()
    manager.apply_racks(RackMap())  # no table at all was said at the start
    assert not [each for each in caplog.records if "is not in the table" in each.getMessage()]


class Asked(RackMap):
    """Knows nothing, and takes down who asks."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[str, Callable[[str | errors.HowdahError], None]] = {}

    def known_location(self, ip: str, hostname: str = "") -> None:
        return None

    def look_up(self, ip: str, done: Callable[[str | errors.HowdahError], None]) -> None:
        self.answers[ip] = done


def test_excess_is_cut_so_that_racks_are_kept() -> None:
    cluster = Cluster(["/a", "/a", "/a", "/b"])
    blocks = [cluster.write(f"/f{n}", on=[0, 1, 2, 3]) for n in range(5)]
    for number in range(5):
        request = pb.SetReplicationRequestProto(src=f"/f{number}", replication=2)
        cluster.namenode.call("setReplication", request)
    assert "copied" not in cluster.settle()
    assert all(cluster.racks(block) == ["/a", "/b"] for block in blocks)


def test_replicas_that_are_about_to_leave_count_on_no_rack() -> None:
    cluster = Cluster(["/a", "/a", "/b", "/b"])
    block = cluster.write("/f", on=[0, 1, 2])
    assert cluster.settle() == []
    ip = cluster.nodes[2].ip
    order = HostOrder(HostEntry(ip, frozenset((ip,))), AdminState.DECOMMISSIONED)
    Administration(cluster.namenode.namesystem).apply_hosts(Hosts.ordered([order]))
    cluster.settle()
    assert cluster.nodes[3].known.location in [
        storage.node.location for storage in block.replicas if storage.node.in_service
    ]


@pytest.mark.req("LM-024")
def test_three_replicas_are_spread_over_three_racks_where_that_is_wanted() -> None:
    cluster = Cluster(["/a", "/a", "/b", "/b", "/c"], Policy(spreads=True))
    block = cluster.write("/f", on=[0, 1, 2])
    assert cluster.misplaced == 1
    assert cluster.settle() == ["copied", "deleted"]
    assert cluster.racks(block) == ["/a", "/b", "/c"]


def test_replicas_in_one_upgrade_domain_are_spread() -> None:
    cluster = Cluster(["/a", "/a", "/b", "/b", "/b"], Policy(domains=3))
    orders = [
        HostOrder(HostEntry(node.ip, frozenset((node.ip,))), upgrade_domain=domain)
        for node, domain in zip(cluster.nodes, ["u1", "u2", "u2", "u2", "u3"], strict=True)
    ]
    Administration(cluster.namenode.namesystem).apply_hosts(Hosts.ordered(orders))
    block = cluster.write("/f", on=[0, 1, 2])
    assert cluster.misplaced == 1
    assert cluster.settle() == ["copied", "deleted"]
    assert {storage.node.upgrade_domain for storage in block.replicas} == {"u1", "u2", "u3"}
    assert len(set(cluster.racks(block))) == 2


def test_a_copy_to_another_rack_that_fails_is_ordered_again_elsewhere() -> None:
    cluster = Cluster(["/a", "/a", "/a", "/b", "/c"])
    cluster.write("/f", on=[0, 1, 2])

    def target() -> set[str]:
        cluster.namenode.tick(0)
        return {
            place.id.datanodeUuid
            for node in cluster.nodes
            for command in node.heartbeat()
            for targets in command.blkCmd.targets
            for place in targets.datanodes
        }

    first = target()
    assert len(first) == 1
    assert target() == set()
    cluster.namenode.clock.advance(310_000)
    second = target()
    assert len(second) == 1
    assert not first & second
    assert cluster.namenode.namesystem.block_manager.reconstruction.timed_out == 1


def test_full_racks_are_not_looked_at_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks have their turn, in several rounds."""
    monkeypatch.setattr(reconstruction, "SPREAD_LOOKS", 8)
    cluster = Cluster(["/a", "/a", *["/b"] * 4])
    blocks = [cluster.write(f"/f{n}", on=[0, 1]) for n in range(12)]
    full = [storage for node in cluster.nodes[2:] for storage in node.known.storages.values()]
    for storage in full:
        storage.remaining_bytes = 0
    placement = cluster.namenode.namesystem.block_manager.placement
    before = placement.looks
    cluster.namenode.tick(1000)
    assert placement.looks - before == 4 * reconstruction.SLICE_COPIES
    for storage in full:
        storage.remaining_bytes = 1 << 30
    cluster.settle()
    assert all(cluster.racks(block) == ["/a", "/b"] for block in blocks)
