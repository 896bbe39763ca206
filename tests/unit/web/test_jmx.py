"""Figures under Hadoop's names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from howdah.web.http import Request
from howdah.web.jmx import beans, respond_jmx
from howdah.web.status import EditsDirectoryStatus, NamenodeStatus, NodeStatus


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
        under_replicated_blocks=1,
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


def asked(status: NamenodeStatus, **query: str) -> tuple[str, Any]:
    head, _, body = (
        respond_jmx(Request("GET", "/jmx", query), status).decode().partition("\r\n\r\n")
    )
    return head.split(" ")[1], json.loads(body) if body.startswith("{") else body


def names(answer: Any) -> list[str]:
    return [bean["name"].rpartition("=")[2] for bean in answer["beans"]]


def test_all_beans_are_shown(status: NamenodeStatus) -> None:
    assert names(asked(status)[1]) == [
        "NameNodeStatus",
        "NameNodeInfo",
        "FSNamesystem",
        "FSNamesystemState",
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


def test_one_figure_can_be_asked_for(status: NamenodeStatus) -> None:
    _, answer = asked(status, get="Hadoop:service=NameNode,name=FSNamesystem::FilesTotal")
    [bean] = answer["beans"]
    assert bean["FilesTotal"] == 7
    assert len(bean) == 3


def test_what_there_is_not_is_not_found(status: NamenodeStatus) -> None:
    assert asked(status, get="Hadoop:service=NameNode,name=FSNamesystem::Nothing")[0] == "404"


def test_figures_count_live_datanodes_only(status: NamenodeStatus) -> None:
    figures = {bean["name"].rpartition("=")[2]: bean for bean in beans(status)}  # type: ignore[attr-defined]
    system, info = figures["FSNamesystem"], figures["NameNodeInfo"]
    assert (system["CapacityTotal"], system["CapacityUsed"]) == (1000, 100)
    assert (system["NumLiveDataNodes"], system["NumDeadDataNodes"]) == (1, 1)
    assert system["TransactionsSinceLastCheckpoint"] == 20
    assert json.loads(str(info["LiveNodes"]))["10.0.0.1:9866"]["uuid"] == "u1"
    assert list(json.loads(str(info["DeadNodes"]))) == ["10.0.0.2:9866"]
    assert json.loads(str(info["NameDirStatuses"]))["failed"] == {"/b": "disk full"}
    assert figures["NameNodeStatus"]["HostAndPort"] == "nn:8020"


def test_defects_are_shown_with_what_failed(status: NamenodeStatus) -> None:
    told = replace(status, defects={"lease recovery": 2, "mkdirs": 1})
    bean = next(bean for bean in beans(told) if bean["name"].endswith("HowdahDefects"))  # type: ignore[attr-defined]
    assert bean["Total"] == 3
    assert json.loads(str(bean["ByPlace"])) == {"lease recovery": 2, "mkdirs": 1}
