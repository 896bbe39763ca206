"""What datanodes tell, and what they are told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control.reports import Namespace, registration
from howdah.formats.edits import edits
from howdah.formats.version import SHOWN_VERSION
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.service.protocols.datanodes.protocol import REPORT_OVERDUE_MS
from howdah.namenode.state.blocks.block_map import SLICE_REPLICAS
from howdah.namenode.state.blocks.pending_reports import ReplicaState, ReportedReplica
from howdah.namenode.state.blocks.topology import RackMap
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.testing.in_memory import (
    CLUSTER,
    POOL_ID,
    InMemoryDatanode,
    InMemoryNamenode,
    Replica,
    outcome,
)

Nodes = list[InMemoryDatanode]
INVALIDATE, TRANSFER = dn.BlockCommandProto.INVALIDATE, dn.BlockCommandProto.TRANSFER


def orders(node: InMemoryDatanode, action: int) -> list[int]:
    """Blocks of the node's next orders."""
    return [
        block.blockId
        for command in node.heartbeat()
        if command.blkCmd.action == action
        for block in command.blkCmd.blocks
    ]


def test_version_says_whose_namenode_this_is(namenode: InMemoryNamenode) -> None:
    answer = namenode.call("versionRequest", dn.VersionRequestProto())
    assert isinstance(answer, dn.VersionResponseProto)
    info = answer.info
    assert (info.blockPoolID, info.storageInfo.clusterID) == (POOL_ID, CLUSTER.cluster_id)
    assert info.capabilities & 1, "block reports come in buffers"


def test_registered_datanode_is_known_by_where_it_called_from(namenode: InMemoryNamenode) -> None:
    node = InMemoryDatanode(namenode, "dn", "0.0.0.0", {"DS": {}})
    registration = node.registration()
    answer = namenode.call(
        "registerDatanode",
        dn.RegisterDatanodeRequestProto(registration=registration),
        address="10.1.2.3",
    )
    assert isinstance(answer, dn.RegisterDatanodeResponseProto)
    assert answer.registration.datanodeID.ipAddr == "10.1.2.3"
    assert node.known.name == "10.1.2.3:9866"


@pytest.mark.parametrize(
    ("shown", "expected"), [(SHOWN_VERSION, SHOWN_VERSION), (None, "3.5.0")], ids=["ours", "Hadoop"]
)
def test_page_and_log_have_the_version_that_the_datanode_says_of_itself(
    namenode: InMemoryNamenode,
    caplog: pytest.LogCaptureFixture,
    shown: str | None,
    expected: str,
) -> None:
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    registration = node.registration()
    if shown is not None:
        registration.shownVersion = shown
    request = dn.RegisterDatanodeRequestProto(registration=registration)
    with caplog.at_level(logging.INFO):
        namenode.call("registerDatanode", request, address="10.0.0.1")
    assert f"version {expected})" in caplog.text
    assert node.known.identity.software_version == expected


def test_a_datanode_tells_namenodes_the_version_of_the_protocols_and_the_one_for_people() -> None:
    node = DatanodeAddress("10.0.0.1", "dn", "uuid", 9866, 9864, 9867)
    told = registration(node, Namespace(7, "CID-1", 0, "BP-1", "3.5.0"))
    assert (told.softwareVersion, told.shownVersion) == ("3.5.0", SHOWN_VERSION)


def registering(namenode: InMemoryNamenode, peer: str, **claims: Any) -> str:
    """Where a node is after it has registered from `peer`."""
    registration = InMemoryDatanode(namenode, "stranger", "10.0.0.1", {}).registration()
    for field, value in claims.items():
        setattr(registration.datanodeID, field, value)
    request = dn.RegisterDatanodeRequestProto(registration=registration)
    namenode.call("registerDatanode", request, address=peer)
    found = namenode.namesystem.datanode_manager.datanodes.get(registration.datanodeID.datanodeUuid)
    assert found is not None
    return found.name


def test_nobody_displaces_a_node_by_claiming_its_address(client: Any, nodes: Nodes) -> None:
    client.write("/a", 10, replication=len(nodes))
    at = registering(client.namenode, "10.6.6.6", ipAddr=nodes[0].ip, hostName=nodes[0].ip)
    assert at == "10.6.6.6:9866"
    assert nodes[0].known.alive
    assert len(client.locations("/a").blocks[0].locs) == len(nodes)


@pytest.mark.parametrize(
    ("peer", "claim", "at"),
    [
        ("127.0.0.1", "127.0.0.12", "127.0.0.12"),
        ("127.0.0.1", "10.0.0.1", "127.0.0.1"),
        ("10.6.6.6", "127.0.0.1", "10.6.6.6"),
        ("10.6.6.6", "", "10.6.6.6"),
        ("::ffff:10.6.6.6", "10.0.0.1", "10.6.6.6"),
        ("::1", "127.0.0.12", "::1"),
        ("fd00::2", "fd00::1", "fd00::2"),
    ],
)
def test_a_node_is_where_it_calls_from_but_for_loopback_addresses(
    namenode: InMemoryNamenode, peer: str, claim: str, at: str
) -> None:
    assert registering(namenode, peer, ipAddr=claim) == f"{at}:9866"


@pytest.mark.parametrize(
    "claims",
    [
        {"datanodeUuid": ""},
        {"datanodeUuid": "u" * 257},
        {"hostName": "h" * 256},
        {"xferPort": 0},
        {"xferPort": 65536},
        {"ipcPort": 0xFFFFFFFF},
    ],
)
def test_what_no_datanode_says_of_itself_is_refused(
    namenode: InMemoryNamenode, claims: dict[str, Any]
) -> None:
    with pytest.raises(errors.DisallowedDatanode, match=r"10\.6\.6\.6"):
        registering(namenode, "10.6.6.6", **claims)
    assert not list(namenode.namesystem.datanode_manager.datanodes)


def test_nobody_waits_while_the_place_of_a_node_is_asked_for(client: Any) -> None:
    asked: list[Callable[[str | errors.HowdahError], None]] = []

    class SlowRacks(RackMap):
        def known_location(self, ip: str, hostname: str = "") -> str | None:
            return None

        def look_up(self, ip: str, done: Callable[[str | errors.HowdahError], None]) -> None:
            asked.append(done)

    namenode = client.namenode
    namenode.namesystem.datanode_manager.racks = SlowRacks()
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    request = dn.RegisterDatanodeRequestProto(registration=node.registration())
    first = namenode.call("registerDatanode", request)
    second = namenode.call("registerDatanode", request)
    assert outcome(first) is None
    assert client.exists("/")
    asked[0](errors.RetriableError("no answer"))
    with pytest.raises(errors.RetriableError):
        outcome(first)
    asked[1]("/r1")
    assert outcome(second) is not None
    assert node.known.location == "/r1"


def test_nobody_speaks_for_a_node_from_somewhere_else(client: Any, nodes: Nodes) -> None:
    """It would be told to register, and then be another node."""
    namenode = client.namenode
    registration = nodes[0].registration()
    answer = namenode.call(
        "sendHeartbeat",
        dn.HeartbeatRequestProto(registration=registration),
        address="10.6.6.6",
    )
    assert [c.cmdType for c in answer.cmds] == [dn.DatanodeCommandProto.RegisterCommand]
    fatal = dn.ErrorReportRequestProto.FATAL_DISK_ERROR
    news = dn.BlockReceivedAndDeletedRequestProto(registration=registration, blockPoolId=POOL_ID)
    with pytest.raises(errors.RetriableError, match=r"comes from 10\.6\.6\.6"):
        namenode.call("blockReceivedAndDeleted", news, address="10.6.6.6")
    report = dn.BlockReportRequestProto(registration=registration, blockPoolId=POOL_ID)
    told = namenode.call("blockReport", report, address="10.6.6.6")
    assert told.cmd.cmdType == dn.DatanodeCommandProto.RegisterCommand
    trouble = dn.ErrorReportRequestProto(registartion=registration, errorCode=fatal, msg="gone")
    with pytest.raises(errors.UnregisteredNode, match=r"comes from 10\.6\.6\.6"):
        namenode.call("errorReport", trouble, address="10.6.6.6")
    assert nodes[0].known.alive


@pytest.mark.parametrize(("field", "value"), [("clusterID", "CID-other"), ("namespceID", 4711)])
def test_datanode_of_another_cluster_is_refused(
    namenode: InMemoryNamenode, field: str, value: object
) -> None:
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    registration = node.registration()
    setattr(registration.storageInfo, field, value)
    with pytest.raises(errors.UnregisteredNode, match="belongs to cluster"):
        namenode.call(
            "registerDatanode", dn.RegisterDatanodeRequestProto(registration=registration)
        )


def test_unknown_datanode_is_told_to_register(namenode: InMemoryNamenode) -> None:
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    (command,) = node.heartbeat()
    assert command.cmdType == dn.DatanodeCommandProto.RegisterCommand


def test_reports_of_an_unknown_datanode_do_not_end_its_service(
    namenode: InMemoryNamenode,
) -> None:
    """Hadoop's ends it for good when it hears of UnregisteredNodeException, and reports while
    another thread of it registers: with a namenode that was just started anew."""
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    told = node.report()
    assert told.cmd.cmdType == dn.DatanodeCommandProto.RegisterCommand
    with pytest.raises(errors.RetriableError, match="it registers first"):
        node.store(1, 1, 1)


def test_datanode_whose_registration_came_behind_its_report_is_told_to_register_again(
    namenode: InMemoryNamenode,
) -> None:
    """The registration of a process that died may be overtaken by all of the next one's."""
    node = namenode.join("dn")
    node.register()
    namenode.clock.advance(REPORT_OVERDUE_MS - 1)
    assert node.heartbeat() == []
    namenode.clock.advance(1)
    (command,) = node.heartbeat()
    assert command.cmdType == dn.DatanodeCommandProto.RegisterCommand
    node.register()
    node.report()
    namenode.clock.advance(REPORT_OVERDUE_MS)
    assert node.heartbeat() == []


def test_datanode_that_asks_to_report_is_not_told_to_register_again(
    namenode: InMemoryNamenode,
) -> None:
    node = namenode.join("dn")
    node.register()
    namenode.clock.advance(REPORT_OVERDUE_MS)
    request = dn.HeartbeatRequestProto(
        registration=node.registration(), requestFullBlockReportLease=True
    )
    for _ in range(2):
        answer = namenode.call("sendHeartbeat", request, address=node.ip)
        assert isinstance(answer, dn.HeartbeatResponseProto)
        assert list(answer.cmds) == []
        # From here on it has a lease.
        request.requestFullBlockReportLease = False


def test_datanode_that_was_silent_too_long_is_dead_and_its_replicas_are_gone(
    client: Any, nodes: Nodes
) -> None:
    file = client.write("/f", 10, replication=3)
    client.namenode.clock.advance(630_000)
    for node in nodes[1:]:
        node.heartbeat()
    client.namenode.tick(1)
    assert not nodes[0].known.alive
    assert {s.node.identity.uuid for s in file.blocks[0].replicas} == {"dn1", "dn2"}
    (command,) = nodes[0].heartbeat()
    assert command.cmdType == dn.DatanodeCommandProto.RegisterCommand


def test_datanode_that_comes_back_brings_its_replicas(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10, replication=3)
    client.namenode.clock.advance(630_000)
    for node in nodes[1:]:
        node.heartbeat()
    client.namenode.tick(1)
    nodes[0].register()
    nodes[0].heartbeat()
    nodes[0].report()
    assert len(file.blocks[0].replicas) == 3


def test_node_with_a_new_identity_takes_the_place_of_the_old_at_its_address(
    client: Any, nodes: Nodes
) -> None:
    file = client.write("/f", 10, replication=3)
    again = InMemoryDatanode(client.namenode, "dn0-reinstalled", nodes[0].ip, {"DS-new": {}})
    again.register()
    assert client.namenode.namesystem.datanode_manager.datanodes.get("dn0") is None
    assert {s.node.identity.uuid for s in file.blocks[0].replicas} == {"dn1", "dn2"}


@pytest.mark.req("FS-028")
def test_full_report_is_all_that_a_storage_has(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10, replication=3)
    block = file.blocks[0]
    del nodes[0].replicas["DS-dn0-0"][block.block_id]
    nodes[0].report()
    assert {s.node.identity.uuid for s in block.replicas} == {"dn1", "dn2"}


def test_replica_of_no_file_is_to_be_deleted(client: Any, nodes: Nodes) -> None:
    nodes[0].store(4711, 1000, 5)
    client.namenode.tick()
    assert orders(nodes[0], INVALIDATE) == [4711]
    assert orders(nodes[0], INVALIDATE) == []


@pytest.mark.req("FS-015")
def test_missing_replica_is_copied_to_a_node_without_one(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10)
    client.set_replication("/f", 2)
    client.namenode.tick()
    given = {node.uuid: orders(node, TRANSFER) for node in nodes}
    holder = file.blocks[0].replicas[0].node.identity.uuid
    assert given == {n.uuid: [file.blocks[0].block_id] if n.uuid == holder else [] for n in nodes}


def test_copy_of_a_block_that_was_deleted_since_is_not_ordered(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10)
    client.set_replication("/f", 2)
    client.namenode.tick()
    client.delete("/f")
    assert [orders(node, TRANSFER) for node in nodes] == [[], [], []]


def test_copy_of_a_block_that_is_open_again_is_not_ordered(client: Any, nodes: Nodes) -> None:
    client.write("/f", 10)
    client.set_replication("/f", 2)
    client.namenode.tick()
    client.append("/f")
    assert [orders(node, TRANSFER) for node in nodes] == [[], [], []]


@pytest.mark.req("FS-016")
def test_replica_too_many_is_deleted_and_does_not_come_back(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10, replication=3)
    block = file.blocks[0]
    client.set_replication("/f", 2)
    client.namenode.tick()
    (gone,) = {n.uuid for n in nodes} - {s.node.identity.uuid for s in block.replicas}
    for node in nodes:
        node.report()
    assert gone not in {s.node.identity.uuid for s in block.replicas}
    client.namenode.tick()
    assert len(block.replicas) == 2
    assert [n.uuid for n in nodes if orders(n, INVALIDATE)] == [gone]


@pytest.mark.req("FS-100", "FS-015")
def test_corrupt_replica_is_replaced_and_stays_corrupt_till_it_is_gone(
    client: Any, nodes: Nodes
) -> None:
    file = client.write("/f", 10, replication=2)
    block = file.blocks[0]
    bad = client.locations("/f").blocks[0]
    del bad.locs[1:]
    node = next(n for n in nodes if n.uuid == bad.locs[0].id.datanodeUuid)
    client.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[bad]))
    node.report()
    assert [s.node for s in block.corrupt] == [node.known]
    client.namenode.tick()
    (source,) = (n for n in nodes if orders(n, TRANSFER))
    (target,) = set(n.uuid for n in nodes) - {node.uuid, source.uuid}
    next(n for n in nodes if n.uuid == target).store(block.block_id, block.generation_stamp, 10)
    client.namenode.tick()
    assert orders(node, INVALIDATE) == [block.block_id]
    node.drop(block.block_id)
    assert block.corrupt == ()
    assert len(block.replicas) == 2


def test_bad_replica_that_a_stranger_invents_is_ignored(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10)
    located = client.locations("/f").blocks[0]
    other = next(n for n in nodes if n.uuid != located.locs[0].id.datanodeUuid)
    located.locs[0].id.CopyFrom(other.registration().datanodeID)
    client.call("reportBadBlocks", pb.ReportBadBlocksRequestProto(blocks=[located]))
    assert len(file.blocks[0].replicas) == 1
    assert file.blocks[0].corrupt == ()


def test_replica_of_a_wrong_length_does_not_count(client: Any, nodes: Nodes) -> None:
    file = client.write("/f", 10, replication=2)
    block = file.blocks[0]
    holder = next(n for n in nodes if n.known is block.replicas[0].node)
    holder.replicas[holder.first_storage][block.block_id].length_bytes = 9
    holder.report()
    assert [s.node for s in block.corrupt] == [holder.known]
    holder.replicas[holder.first_storage][block.block_id].length_bytes = 10
    holder.report()
    assert block.corrupt == ()


def test_failed_volume_takes_its_replicas_out(client: Any) -> None:
    node = client.namenode.join("dn", volumes=2)
    file = client.write("/f", 10)
    where = file.blocks[0].replicas[0].storage_id
    client.namenode.call(
        "sendHeartbeat",
        dn.HeartbeatRequestProto(
            registration=node.registration(),
            reports=[
                types_pb2.StorageReportProto(
                    storageUuid=name,
                    failed=name == where,
                    storage=types_pb2.DatanodeStorageProto(storageUuid=name),
                )
                for name in node.replicas
            ],
        ),
    )
    assert file.blocks[0].replicas == []


def test_volume_that_was_taken_out_while_its_node_was_down_is_forgotten(client: Any) -> None:
    node = client.namenode.join("dn", volumes=2)
    file = client.write("/f", 10)
    del node.replicas[file.blocks[0].replicas[0].storage_id]
    node.register()
    node.heartbeat()
    assert file.blocks[0].replicas == []
    assert len(node.known.storages) == 1


def test_long_report_is_taken_in_slices_that_let_others_in_between(client: Any) -> None:
    node = client.namenode.join("dn")
    file = client.write("/f", 10)
    block = file.blocks[0]
    disk = node.replicas[node.first_storage]
    for number in range(3 * SLICE_REPLICAS):
        disk[5_000_000 + number] = Replica(1001, 1)
    storage = node.known.storages[node.first_storage]
    slices = client.namenode.namesystem.block_manager.blocks.full_report(
        storage,
        [
            ReportedReplica(block_id, r.length_bytes, r.generation_stamp, ReplicaState.FINALIZED)
            for block_id, r in disk.items()
            if block_id != block.block_id
        ],
    )
    steps = 0
    for _ in slices:
        steps += 1
        if steps == 1:
            assert len(block.replicas) == 1, "what is missing is known at the end"
            client.write("/g", 10)
    assert steps == 3
    assert block.replicas == []
    fresh = client.namenode.namesystem.namespace.find("/g").blocks[0]
    assert len(fresh.replicas) == 1, "what came in between is not missing"


def test_report_of_a_node_that_dies_meanwhile_is_broken_off(client: Any) -> None:
    node = client.namenode.join("dn")
    file = client.write("/f", 10)
    block = file.blocks[0]
    storage = node.known.storages[node.first_storage]
    many = [ReportedReplica(9_000_000 + n, 1, 1001, ReplicaState.FINALIZED) for n in range(2000)]
    mine = ReportedReplica(block.block_id, 10, block.generation_stamp, ReplicaState.FINALIZED)
    slices = client.namenode.namesystem.block_manager.blocks.full_report(storage, [*many, mine])
    next(slices)
    node.known.last_heartbeat_ms -= 10_000_000
    client.namenode.tick()
    assert list(slices) == []
    assert block.replicas == []


def test_report_of_a_volume_that_is_taken_out_meanwhile_is_broken_off(client: Any) -> None:
    """Its replicas would count for ever: nobody looks at a volume that its node does not have."""
    node = client.namenode.join("dn", volumes=2)
    file = client.write("/f", 10)
    block = file.blocks[0]
    storage = block.replicas[0]
    many = [ReportedReplica(9_000_000 + n, 1, 1001, ReplicaState.FINALIZED) for n in range(2000)]
    mine = ReportedReplica(block.block_id, 10, block.generation_stamp, ReplicaState.FINALIZED)
    slices = client.namenode.namesystem.block_manager.blocks.full_report(storage, [*many, mine])
    next(slices)
    del node.replicas[storage.storage_id]
    node.heartbeat()
    assert list(slices) == []
    assert block.replicas == []


@pytest.mark.parametrize("buffer", [b"\x02", b"\x02\x0a\xe9\x07\x63", b"\xff" * 12])
def test_report_that_is_malformed_is_refused(nodes: Nodes, buffer: bytes) -> None:
    with pytest.raises(errors.ProtocolViolation):
        nodes[0].namenode.call(
            "blockReport",
            dn.BlockReportRequestProto(
                registration=nodes[0].registration(),
                blockPoolId=POOL_ID,
                reports=[
                    dn.StorageBlockReportProto(
                        storage=types_pb2.DatanodeStorageProto(storageUuid="DS-dn0-0"),
                        numberOfBlocks=1,
                        blocksBuffers=[buffer],
                    )
                ],
            ),
        )


def test_report_about_another_block_pool_is_refused(nodes: Nodes) -> None:
    with pytest.raises(errors.RemoteError, match="block pool BP-other"):
        nodes[0].namenode.call(
            "blockReport",
            dn.BlockReportRequestProto(
                registration=nodes[0].registration(), blockPoolId="BP-other"
            ),
        )


def test_replica_being_written_does_not_spoil_a_complete_block(client: Any, nodes: Nodes) -> None:
    """The word about it was under way when the file was closed."""
    client.create("/f", replication=2)
    located = client.add_block("/f")
    first, second = (next(n for n in nodes if n.uuid == t.id.datanodeUuid) for t in located.locs)
    first.store(located.b.blockId, located.b.generationStamp, 10)
    located.b.numBytes = 10
    assert client.complete("/f", located.b) is True
    second.store(located.b.blockId, located.b.generationStamp, 10, finalized=False)
    block = client.namenode.namesystem.namespace.find("/f").blocks[0]
    assert block.corrupt == ()
    second.store(located.b.blockId, located.b.generationStamp, 10)
    assert len(block.replicas) == 2


@pytest.mark.req("FS-050")
def test_started_namenode_leaves_safe_mode_when_its_blocks_are_reported(
    client: Any, nodes: Nodes
) -> None:
    for number in range(10):
        client.write(f"/f{number}", 10)
    fresh = client.namenode.restarted()
    assert fresh.namesystem.safe_mode.on
    client.namenode = fresh
    with pytest.raises(errors.SafeMode):
        client.mkdirs("/d")
    for node in nodes:
        node.namenode = fresh
        node.register()
        node.heartbeat()
        node.report()
    fresh.tick(30_000)
    assert not fresh.namesystem.safe_mode.on


def test_one_missing_block_does_not_keep_the_others_from_being_mended(
    client: Any, nodes: Nodes
) -> None:
    """However many there are that nothing can be done about."""
    namesystem = client.namenode.namesystem
    namesystem.block_manager.reconstruction._max_blocks = 3
    for number in range(5):
        file = client.write(f"/lost{number}", 10)
        for node in nodes:
            node.drop(file.blocks[0].block_id)
    client.write("/f", 10)
    client.set_replication("/f", 2)
    client.namenode.tick()
    assert sum(len(orders(node, TRANSFER)) for node in nodes) == 1


def test_deletions_come_in_portions() -> None:
    namenode = InMemoryNamenode(Settings("", deletions_per_command=2))
    node = namenode.join("dn")
    for number in range(5):
        node.known.orphaned.add(number, 1001)
    assert [orders(node, INVALIDATE) for _ in range(4)] == [[0, 1], [2, 3], [4], []]


@pytest.mark.req("FS-204")
def test_heartbeats_tell_of_a_rolling_upgrade_until_the_namenode_forgets_it(
    namenode: InMemoryNamenode,
) -> None:
    node = InMemoryDatanode(namenode, "dn", "10.0.0.1", {"DS": {}})
    node.register()

    def told() -> tuple[bool, bool, bool]:
        """Whether each of the two fields is there, and what the second one says."""
        answer = namenode.call(
            "sendHeartbeat",
            dn.HeartbeatRequestProto(
                registration=node.registration(), xceiverCount=0, xmitsInProgress=0
            ),
        )
        assert isinstance(answer, dn.HeartbeatResponseProto)
        second = answer.rollingUpgradeStatusV2
        assert second.blockPoolId in ("", POOL_ID)
        return (
            answer.HasField("rollingUpgradeStatus"),
            answer.HasField("rollingUpgradeStatusV2"),
            second.finalized,
        )

    assert told() == (False, False, False)
    namenode.namesystem.commit(edits.RollingUpgradeStartOp(1))
    assert told() == (True, True, False)
    namenode.namesystem.commit(edits.RollingUpgradeFinalizeOp(2))
    assert told() == (False, True, True)
