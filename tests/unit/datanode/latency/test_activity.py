"""What a datanode has done, in memory that both of its processes see."""

from __future__ import annotations

import json
import time

import pytest

from howdah.datanode.channel.shared_counters import FIGURES, Gauges
from howdah.datanode.control.beans import Known, activity, beans
from howdah.datanode.control.pages import families
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.latency.activity import (
    FIRST,
    WORDS,
    Activity,
    Count,
    Tally,
    Work,
    read_count,
    read_work,
)
from howdah.datanode.state.actor_status import ActorStatus
from howdah.datanode.state.memory.metrics import Figure
from howdah.datanode.state.messages import OutliersFound, SlowDisk
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.runtime.metrics.histogram import Rates
from howdah.web.monitoring.families import Total


def test_every_figure_has_words_of_its_own() -> None:
    assert len(Figure) <= FIRST
    assert WORDS <= FIGURES


@pytest.mark.req("FS-264")
def test_work_and_counts_are_shown() -> None:
    gauges = Gauges(1)
    done = Activity(gauges.add_to_figure)
    done.took(Work.ReadBlockOp, 3_000_000)
    done.took(Work.ReadBlockOp, 1_000_000)
    done.took(Work.Fsync, 500)
    done.count(Count.BytesRead, 4096)
    assert read_work(gauges.figure, Work.ReadBlockOp) == (2, 4_000_000)
    assert read_count(gauges.figure, Count.BytesRead) == 4096
    shown = activity(gauges.figure, Rates(), 0)
    assert (shown["ReadBlockOpNumOps"], shown["ReadBlockOpAvgTime"]) == (2, 2.0)
    assert (shown["FsyncCount"], shown["FsyncNanosAvgTime"]) == (1, 500.0)
    assert shown["WriteBlockOpNumOps"] == shown["BytesWritten"] == 0
    told = {family.name: family for family in families(gauges)}
    work = {labels["work"]: value for labels, value in told["howdah_datanode_work_seconds"].samples}
    assert work["ReadBlockOp"] == Total(2, 0.004)
    assert told["howdah_datanode_bytes_read"].samples == (({}, 4096),)


@pytest.mark.req("FS-264")
def test_what_is_done_often_is_passed_on_together_and_never_lost() -> None:
    gauges = Gauges(1)
    tally = Tally(Activity(gauges.add_to_figure), Work.DiskWrite, Count.BytesWritten)
    for _ in range(5):
        tally.add(time.perf_counter_ns(), 100)
    tally.pass_on()
    tally.pass_on()
    assert read_work(gauges.figure, Work.DiskWrite)[0] == 5
    assert read_count(gauges.figure, Count.BytesWritten) == 500


@pytest.mark.req("FS-264")
def test_reads_and_writes_of_this_machine_and_of_others_are_told_apart() -> None:
    gauges = Gauges(1)
    done = Activity(gauges.add_to_figure, gauges.add_to_figures)
    done.sent(1000, 3, 6_000_000, is_local=True)
    done.sent(50, 1, 2_000_000, is_local=False)
    done.received(70, is_local=True)
    done.received(8, is_local=False)
    shown = activity(gauges.figure, Rates(), 0)
    wanted = {
        "BytesRead": 1050,
        "BlocksRead": 2,
        "ReadsFromLocalClient": 1,
        "ReadsFromRemoteClient": 1,
        "RemoteBytesRead": 50,
        "WritesFromLocalClient": 1,
        "WritesFromRemoteClient": 1,
        "RemoteBytesWritten": 8,
        "TotalReadTime": 8,
        "SendDataPacketTransferNanosNumOps": 4,
        "SendDataPacketTransferNanosAvgTime": 2_000_000,
    }
    assert {name: shown[name] for name in wanted} == wanted


@pytest.mark.req("FS-260")
def test_namenodes_are_told_as_hadoops_page_reads_them() -> None:
    actors = [
        ActorStatus("nn1:8020", "BP-1", "RUNNING", "active", 1.2, 100.0, 3),
        ActorStatus("nn2:8020", "", "CONNECTING", "", None, None, 0),
    ]
    known = Known(
        "u",
        "dn:9866",
        9867,
        9864,
        7,
        0,
        "CID",
        actors,
        0,
        5,
        1,
        42,
        OutliersFound((), (SlowDisk("/d", None, 30.0, None),)),
    )
    inventory = ReplicaIndex(VolumeSet([Volume("/nowhere/0", "DS-0")]), ReplicaMap(), Gauges(1), [])
    found = {str(bean["name"]): bean for bean in beans(inventory, Gauges(1), known, Rates())}
    info = found["Hadoop:service=DataNode,name=DataNodeInfo"]
    assert json.loads(str(info["NamenodeAddresses"])) == {"nn1": "BP-1", "nn2": ""}
    assert json.loads(str(info["BPServiceActorInfo"])) == [
        {
            "NamenodeAddress": "nn1:8020",
            "NamenodeHaState": "active",
            "BlockPoolID": "BP-1",
            "ActorState": "RUNNING",
            "LastHeartbeat": "1",
            "LastBlockReport": "100",
        },
        {
            "NamenodeAddress": "nn2:8020",
            "NamenodeHaState": "Unknown",
            "BlockPoolID": "",
            "ActorState": "CONNECTING",
        },
    ]
    assert (info["ClusterId"], info["HttpPort"]) == ("CID", "9864")
    assert json.loads(str(info["SlowDisks"])) == {"/d": {"read": 30.0}}
    done = found["Hadoop:service=DataNode,name=DataNodeActivity-dn-9866"]
    assert (done["BlocksVerified"], done["BlockVerificationFailures"]) == (5, 1)
    assert done["BlocksInPendingIBR"] == 3
