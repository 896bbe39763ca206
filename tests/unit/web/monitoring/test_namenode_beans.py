"""Figures under Hadoop's names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from howdah.web.http import Request
from howdah.web.jmx import respond_beans
from howdah.web.monitoring.namenode_beans import beans, snapshot_info, tells_nodes
from howdah.web.pages import nodes
from howdah.web.pages.html import joined
from howdah.web.pages.namenode import Times, overview
from howdah.web.status import (
    ADMIN_WORDS,
    EditsDirectoryStatus,
    JournalNodeStatus,
    NamenodeStatus,
    NodeStatus,
    OneSnapshot,
    SlowPeerStatus,
    SnapshotsOf,
)


@pytest.fixture
def status() -> NamenodeStatus:
    return NamenodeStatus(
        version="1.0",
        cluster_id="CID-1",
        block_pool_id="BP-1",
        safe_mode=False,
        safe_mode_status="",
        last_txid=120,
        durable_txid=119,
        inodes=7,
        blocks=3,
        under_replicated_blocks=6,
        last_replica_blocks=2,
        misplaced_blocks=3,
        excess_blocks=4,
        postponed_blocks=8,
        timed_out_blocks=5,
        scheduled_blocks=7,
        marks_waiting=9,
        corrupt_blocks=0,
        missing_blocks=2,
        open_files=1,
        edits_directories=[
            EditsDirectoryStatus("/a", required=True, failure=""),
            EditsDirectoryStatus("/b", required=False, failure="disk full"),
        ],
        datanodes=[
            NodeStatus("10.0.0.1:9866", "/r1", True, 0.4, 1000, 100, 900, 3, uuid="u1"),
            NodeStatus("10.0.0.2:9866", "/r2", False, 900.0, 5000, 500, 100, 0, uuid="u2"),
        ],
        host_and_port="nn:8020",
        image_txid=100,
    )


STATUS = "Hadoop:service=NameNode,name=NameNodeStatus"


def asked(status: NamenodeStatus, **query: str) -> tuple[str, Any]:
    answer = respond_beans(Request("GET", "/jmx", query), beans(status))
    body = answer.body.decode()
    return str(answer.status), json.loads(body) if body.startswith("{") else body


def names(answer: Any) -> list[str]:
    return [bean["name"].rpartition("=")[2] for bean in answer["beans"]]


def test_all_beans_are_shown(status: NamenodeStatus) -> None:
    assert names(asked(status)[1]) == [
        "NameNodeStatus",
        "NameNodeInfo",
        "FSNamesystem",
        "FSNamesystemState",
        "NameNode",
        "ReplicatedBlocksState",
        "BlockStats",
        "ECBlockGroupsState",
        "HowdahDefects",
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("Hadoop:service=NameNode,name=FSNamesystem", ["FSNamesystem"]),
        ("Hadoop:name=FSNamesystem,service=NameNode", ["FSNamesystem"]),
        ("Hadoop:service=NameNode,name=FS*", ["FSNamesystem", "FSNamesystemState"]),
        ("Hadoop:name=NameNodeInfo,*", ["NameNodeInfo"]),
        ("Hadoop:service=DataNode,*", []),
        ("java.lang:*", []),
    ],
)
def test_a_query_picks_beans(status: NamenodeStatus, pattern: str, expected: list[str]) -> None:
    assert names(asked(status, qry=pattern)[1]) == expected


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/jmx", {}, True),
        ("/jmx", {"qry": "Hadoop:*"}, True),
        ("/jmx", {"qry": "Hadoop:service=NameNode,name=NameNodeInfo"}, True),
        ("/jmx", {"qry": "Hadoop:service=NameNode,name=FSNamesystem"}, False),
        ("/jmx", {"get": "Hadoop:service=NameNode,name=NameNodeInfo::LiveNodes"}, True),
        ("/jmx", {"get": "Hadoop:service=NameNode,name=FSNamesystem::FilesTotal"}, False),
        ("/prom", {}, False),
    ],
)
def test_texts_of_all_datanodes_are_made_for_those_who_get_them(
    status: NamenodeStatus, path: str, query: dict[str, str], expected: bool
) -> None:
    assert tells_nodes(Request("GET", path, query)) == expected
    (info,) = (
        bean for bean in beans(status, with_nodes=expected) if "NameNodeInfo" in str(bean["name"])
    )
    assert ("LiveNodes" in info) == expected


def test_one_figure_can_be_asked_for(status: NamenodeStatus) -> None:
    _, answer = asked(status, get="Hadoop:service=NameNode,name=FSNamesystem::FilesTotal")
    [bean] = answer["beans"]
    assert bean["FilesTotal"] == 7
    assert len(bean) == 3


def test_what_there_is_not_is_not_found(status: NamenodeStatus) -> None:
    assert asked(status, get="Hadoop:service=NameNode,name=FSNamesystem::Nothing")[0] == "404"


def test_figures_count_live_datanodes_only(status: NamenodeStatus) -> None:
    figures = {str(bean["name"]).rpartition("=")[2]: bean for bean in beans(status)}
    system, info = figures["FSNamesystem"], figures["NameNodeInfo"]
    assert (system["CapacityTotal"], system["CapacityUsed"]) == (1000, 100)
    assert (system["NumLiveDataNodes"], system["NumDeadDataNodes"]) == (1, 1)
    assert system["TransactionsSinceLastCheckpoint"] == 20
    assert json.loads(str(info["LiveNodes"]))["10.0.0.1:9866"]["uuid"] == "u1"
    assert list(json.loads(str(info["DeadNodes"]))) == ["10.0.0.2:9866"]
    assert json.loads(str(info["NameDirStatuses"]))["failed"] == {"/b": "disk full"}
    assert figures["NameNodeStatus"]["HostAndPort"] == "nn:8020"


def test_slow_peers_and_disks_are_told_as_hadoop_tells_them(status: NamenodeStatus) -> None:
    measured = [
        SlowPeerStatus("10.0.0.2:9866", f"10.0.0.{n}:9866", 50.0, 1.0, 0.5, 5.0) for n in (1, 3)
    ]
    disks = [("10.0.0.1:9867:/d0", {"READ": 30.0})]
    told = replace(status, slow_peers=measured, slow_disks=disks)
    bean = next(bean for bean in beans(told) if bean["name"] == STATUS)
    (slow,) = json.loads(str(bean["SlowPeersReport"]))
    assert slow["SlowNode"] == "10.0.0.2:9866"
    assert slow["SlowPeerLatencyWithReportingNodes"][1] == {
        "ReportingNode": "10.0.0.3:9866",
        "ReportedLatency": 50.0,
        "MedianLatency": 1.0,
        "MadLatency": 0.5,
        "UpperLimitLatency": 5.0,
    }
    assert json.loads(str(bean["SlowDisksReport"])) == [
        {"SlowDiskID": "10.0.0.1:9867:/d0", "Latencies": {"READ": 30.0}}
    ]


def test_failed_volumes_are_told_with_what_they_had_room_for(status: NamenodeStatus) -> None:
    live, dead = status.datanodes
    failed = replace(
        live,
        failed_volumes=1,
        failed_locations=("/disk3",),
        last_volume_failure_ms=1_700_000_000_000,
        lost_capacity_bytes=1 << 40,
    )
    figures = {
        str(bean["name"]).rpartition("=")[2]: bean
        for bean in beans(replace(status, datanodes=[failed, dead]))
    }
    for name in ("FSNamesystem", "FSNamesystemState"):
        assert figures[name]["VolumeFailuresTotal"] == 1
        assert figures[name]["EstimatedCapacityLostTotal"] == 1 << 40
    (told,) = json.loads(str(figures["NameNodeInfo"]["LiveNodes"])).values()
    assert told["volfails"] == 1
    assert told["failedStorageIDs"] == ["/disk3"]
    assert told["lastVolumeFailureDate"] == 1_700_000_000_000
    assert told["estimatedCapacityLostTotal"] == 1 << 40


def test_datanodes_that_leave_are_counted_and_told_with_what_keeps_them(
    status: NamenodeStatus,
) -> None:
    def node(number: int, admin_state: str, *, live: bool = True, lacking: int = 0) -> NodeStatus:
        return NodeStatus(
            f"10.0.0.{number}:9866",
            "/r1",
            live,
            0.4,
            1000,
            100,
            900,
            3,
            uuid=f"u{number}",
            admin_state=admin_state,
            low_redundancy_blocks=lacking,
            only_leaving_blocks=lacking // 2,
            open_low_redundancy_blocks=1,
        )

    told = replace(
        status,
        datanodes=[
            node(1, "NORMAL"),
            node(2, "DECOMMISSION_INPROGRESS", lacking=4),
            node(3, "DECOMMISSIONED"),
            node(4, "DECOMMISSIONED", live=False),
            node(5, "ENTERING_MAINTENANCE", lacking=2),
            node(6, "IN_MAINTENANCE"),
            node(7, "IN_MAINTENANCE", live=False),
        ],
    )
    figures = {str(bean["name"]).rpartition("=")[2]: bean for bean in beans(told)}
    for name in ("FSNamesystem", "FSNamesystemState"):
        bean = figures[name]
        assert bean["CapacityTotal"] == 1000
        assert {
            key: bean[key] for key in bean if key.endswith("DataNodes") and key[3] in "DIE"
        } == {
            "NumDecomLiveDataNodes": 1,
            "NumDecomDeadDataNodes": 1,
            "NumDecommissioningDataNodes": 1,
            "NumInMaintenanceLiveDataNodes": 1,
            "NumInMaintenanceDeadDataNodes": 1,
            "NumEnteringMaintenanceDataNodes": 1,
            "NumInServiceLiveDataNodes": 1,
            "NumDeadDataNodes": 2,
        }
    info = figures["NameNodeInfo"]
    assert json.loads(str(info["DecomNodes"])) == {
        "10.0.0.2:9866": {
            "xferaddr": "10.0.0.2:9866",
            "location": "/r1",
            "uuid": "u2",
            "underReplicatedBlocks": 4,
            "decommissionOnlyReplicas": 2,
            "underReplicateInOpenFiles": 1,
        }
    }
    entering = json.loads(str(info["EnteringMaintenanceNodes"]))["10.0.0.5:9866"]
    assert entering["maintenanceOnlyReplicas"] == 1
    live, dead = (json.loads(str(info[name])) for name in ("LiveNodes", "DeadNodes"))
    assert live["10.0.0.2:9866"]["adminState"] == "Decommission In Progress"
    assert dead["10.0.0.4:9866"]["decommissioned"] is True
    assert dead["10.0.0.7:9866"]["adminState"] == "In Maintenance"
    shown = joined(nodes.page(told.datanodes, nodes.Wanted(), {}))
    assert "Entering Maintenance<" in shown
    assert "In Maintenance, dead<" in shown


def test_defects_are_shown_with_what_failed(status: NamenodeStatus) -> None:
    told = replace(status, defects={"lease recovery": 2, "mkdirs": 1})
    bean = next(bean for bean in beans(told) if str(bean["name"]).endswith("HowdahDefects"))
    assert bean["Total"] == 3
    assert json.loads(str(bean["ByPlace"])) == {"lease recovery": 2, "mkdirs": 1}


def test_journals_are_told_with_the_nodes_that_are_left_out(status: NamenodeStatus) -> None:
    nodes = [JournalNodeStatus("jn1:8485", 12, ""), JournalNodeStatus("jn2:8485", 9, "it is down")]
    quorum = EditsDirectoryStatus("qjournal://jn1:8485;jn2:8485/ns", True, "", nodes)
    directory = EditsDirectoryStatus("/edits", False, "disk full")
    told = replace(status, edits_directories=[quorum, directory])
    info = next(bean for bean in beans(told) if str(bean["name"]).endswith("NameNodeInfo"))
    assert json.loads(str(info["NameJournalStatus"])) == [
        {
            "manager": "qjournal://jn1:8485;jn2:8485/ns",
            "stream": "jn1:8485 (Written txid 12), jn2:8485 (Written txid 9) (3 txns behind) "
            "(will try to re-sync on next segment)",
            "required": "true",
            "disabled": "false",
        },
        {"manager": "/edits", "stream": "/edits", "required": "false", "disabled": "true"},
    ]
    page = joined(overview(told, Times(0, {})))
    assert "left out</span></td><td>it is down" in page


def test_the_queues_of_the_block_manager_are_shown_by_hadoops_names(status: NamenodeStatus) -> None:
    (bean,) = (b for b in beans(status) if str(b["name"]).endswith("name=FSNamesystem"))
    wanted = {
        "LowRedundancyBlocks": 6,
        "UnderReplicatedBlocks": 6,
        "LowRedundancyReplicatedBlocks": 6,
        "HighestPriorityLowRedundancyReplicatedBlocks": 2,
        "BadlyDistributedBlocks": 3,
        "BadlyDistBlocks": 3,
        "ExcessBlocks": 4,
        "PostponedMisreplicatedBlocks": 8,
        "NumTimedOutPendingReconstructions": 5,
        "ScheduledReplicationBlocks": 7,
        "PendingSPSPaths": 9,
    }
    assert {name: bean[name] for name in wanted} == wanted


def test_files_with_lost_blocks_are_told(status: NamenodeStatus) -> None:
    lines = ("blk_1\t3\t/a", 'blk_2\t1\t/b"')
    info = bean_of(replace(status, corrupt_files=lines), "NameNodeInfo")
    assert json.loads(str(info["CorruptFiles"])) == list(lines)
    assert info["CorruptFilesCount"] == 2


def test_what_datanodes_cache_is_summed_up_but_of_those_that_have_left(
    status: NamenodeStatus,
) -> None:
    live, dead = (
        replace(node, cache_capacity_bytes=1000, cache_used_bytes=10) for node in status.datanodes
    )
    nodes = [live, dead, *(replace(live, admin_state=state) for state in ADMIN_WORDS)]
    info = bean_of(replace(status, datanodes=nodes), "NameNodeInfo")
    assert (info["CacheCapacity"], info["CacheUsed"]) == (4000, 40)


def test_room_is_that_of_datanodes_in_service(status: NamenodeStatus) -> None:
    live, dead = (
        replace(node, pool_used_bytes=90, non_dfs_used_bytes=7) for node in status.datanodes
    )
    told = replace(status, datanodes=[live, dead, replace(live, admin_state="DECOMMISSIONED")])
    info, system = bean_of(told, "NameNodeInfo"), bean_of(told, "FSNamesystem")
    assert (info["NonDfsUsedSpace"], info["BlockPoolUsedSpace"]) == (7, 90)
    assert system["CapacityUsedNonDFS"] == 7


def test_room_is_told_by_storage_type(status: NamenodeStatus) -> None:
    def of(kind: str, scale: int) -> dict[str, dict[str, int]]:
        names = ("capacity", "used", "remaining", "non_dfs_used", "pool_used")
        return {kind: {f"{name}_bytes": scale * at for at, name in enumerate(names, 1)}}

    first, dead = status.datanodes
    nodes = [
        replace(first, by_storage_type=of("SSD", 10) | of("DISK", 1), connections=4),
        replace(first, by_storage_type=of("DISK", 2), connections=2),
        replace(first, by_storage_type=of("DISK", 100), admin_state="DECOMMISSIONED"),
        replace(dead, by_storage_type=of("ARCHIVE", 1)),
    ]
    disk, ssd = bean_of(replace(status, datanodes=nodes), "BlockStats")["StorageTypeStats"]
    assert disk == {
        "key": "DISK",
        "value": {
            "blockPoolUsed": 515,
            "capacityNonDfsUsed": 412,
            "capacityRemaining": 9,
            "capacityTotal": 203,
            "capacityUsed": 206,
            "nodesInService": 2,
            "nodesInServiceXceiverCount": 6,
            "percentBlockPoolUsed": 100 * 515 / 203,
            "percentRemaining": 100 * 9 / 203,
            "percentUsed": 100 * 206 / 203,
        },
    }
    assert (ssd["key"], ssd["value"]["capacityTotal"]) == ("SSD", 10)


def test_the_last_change_of_role_and_deaths_are_told(status: NamenodeStatus) -> None:
    told = replace(status, last_transition_ms=1_700_000_000_000, expired_datanodes=3)
    assert bean_of(told, "NameNodeStatus")["LastHATransitionTime"] == 1_700_000_000_000
    assert bean_of(told, "FSNamesystem")["ExpiredHeartbeats"] == 3


def test_snapshots_are_told_with_their_directories() -> None:
    snapshots = [OneSnapshot("new", 20, 4), OneSnapshot("old", 10, 3)]
    info = snapshot_info(
        [SnapshotsOf("/d", "alice", 2, snapshots, "staff", mode=0o750, mtime_ms=20, most=65536)]
    )
    assert info["SnapshottableDirectories"] == [
        {
            "path": "/d",
            "snapshotNumber": 2,
            "snapshotQuota": 65536,
            "modificationTime": 20,
            "permission": 750,
            "owner": "alice",
            "group": "staff",
        }
    ]
    assert info["Snapshots"] == [
        {
            "snapshotID": number,
            "snapshotDirectory": f"/d/.snapshot/{name}",
            "modificationTime": made_ms,
            "status": "ACTIVE",
        }
        for number, name, made_ms in ((3, "old", 10), (4, "new", 20))
    ]


def bean_of(status: NamenodeStatus, name: str) -> dict[str, Any]:
    return next(each for each in beans(status) if str(each["name"]).endswith(f",name={name}"))
