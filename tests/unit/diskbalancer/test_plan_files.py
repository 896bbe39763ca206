"""The JSON files of plans: Hadoop's, and nobody else's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.diskbalancer.plan_files import (
    MOST_STEPS,
    MalformedPlan,
    before_text,
    parse_before,
    parse_plan,
    plan_id,
    plan_text,
)
from howdah.diskbalancer.planner import MoveStep, NodePlan
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet

HADOOPS: str = (
    '{"volumeSetPlans":[{"@class":"org.apache.hadoop.hdfs.server.diskbalancer.planner.MoveStep",'
    '"sourceVolume":{"path":"/d1","capacity":1000000000,"storageType":"DISK","used":300000000,'
    '"reserved":0,"uuid":"DS-1","failed":false,"volumeDataDensity":-0.09999999999999998,'
    '"skip":false,"readOnly":false,"transient":false},"destinationVolume":{"path":"/d3",'
    '"capacity":3000000000,"storageType":"DISK","used":600000000,"reserved":0,"uuid":"DS-3",'
    '"failed":false,"volumeDataDensity":0.0,"skip":false,"readOnly":false,"transient":false},'
    '"idealStorage":0.2,"bytesToMove":500000000,'
    '"volumeSetID":"07c6342e-130a-4c44-b766-52877161c273","maxDiskErrors":3,"bandwidth":7}],'
    '"nodeName":"host1","nodeUUID":"u1","port":9867,"timeStamp":1795418305676}'
)


def test_a_plan_of_hadoops_is_read_and_written_again_to_the_character() -> None:
    plan = parse_plan(HADOOPS)
    assert (plan.node_name, plan.node_uuid, plan.port) == ("host1", "u1", 9867)
    (step,) = plan.steps
    assert (step.bytes_to_move, step.bandwidth_mib, step.max_disk_errors) == (500000000, 7, 3)
    assert plan_text(plan) == HADOOPS


def test_an_id_is_the_sha1_of_the_text() -> None:
    assert plan_id("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("", "no JSON"),
        ("[]", "the plan is no object"),
        ("[" * 100_000, "no JSON"),
        ('{"volumeSetPlans":7}', "volumeSetPlans"),
        ('{"volumeSetPlans":[7]}', "a step is no object"),
        ('{"volumeSetPlans":[{}]}', "sourceVolume is no object"),
        (HADOOPS.replace("500000000", "-1"), "bytesToMove"),
        (HADOOPS.replace("500000000", "1e9"), "bytesToMove"),
        (HADOOPS.replace("500000000", "true"), "bytesToMove"),
        (HADOOPS.replace("500000000", "9" * 30), "bytesToMove"),
        (HADOOPS.replace("9867", "65536"), "port"),
        (HADOOPS.replace('"u1"', "1"), "nodeUUID"),
        (HADOOPS.replace("0.2", "NaN"), "idealStorage"),
        (HADOOPS.replace("0.2", '"x"'), "idealStorage"),
        (json.dumps({"volumeSetPlans": [{}] * (MOST_STEPS + 1)}), "may have"),
    ],
)
def test_what_is_no_plan_is_said_to_be_none(wrong: str, why: str) -> None:
    with pytest.raises(MalformedPlan, match=why):
        parse_plan(wrong)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_whatever_stands_in_a_field_is_read_or_refused(value: Any) -> None:
    plan = json.loads(HADOOPS)
    for holder in (plan, plan["volumeSetPlans"][0], plan["volumeSetPlans"][0]["sourceVolume"]):
        for name in list(holder):
            before = holder[name]
            holder[name] = value
            try:
                assert isinstance(parse_plan(json.dumps(plan)), NodePlan)
            except MalformedPlan:
                pass
            holder[name] = before


VOLUME = st.builds(
    DiskVolume,
    st.text(),
    st.just("DISK"),
    st.integers(min_value=0, max_value=(1 << 63) - 1),
    st.integers(min_value=0, max_value=(1 << 63) - 1),
    st.text(),
    failed=st.booleans(),
    skip=st.booleans(),
    density=st.floats(min_value=-1, max_value=1),
)
NUMBER = st.integers(min_value=0, max_value=1 << 40)
STEP = st.builds(
    MoveStep,
    VOLUME,
    VOLUME,
    NUMBER,
    st.floats(min_value=0, max_value=1),
    st.text(),
    NUMBER,
    NUMBER,
    NUMBER,
)


@given(st.lists(STEP, max_size=3), st.text(), st.integers(min_value=0, max_value=65535))
def test_a_plan_comes_back_from_its_file(steps: list[MoveStep], name: str, port: int) -> None:
    plan = NodePlan(name, "uuid", port, 5, tuple(steps))
    assert parse_plan(plan_text(plan)) == plan


def test_a_cluster_comes_back_from_its_file() -> None:
    volumes = [
        DiskVolume("DS-0", "DISK", 100, 90, "/d0"),
        DiskVolume("DS-1", "DISK", 100, 0, "/d1"),
    ]
    node = DiskNode("uuid", "1.2.3.4", "host", 9867, (VolumeSet.of("set", "DISK", volumes),))
    assert parse_before(before_text([node])) == [node]


def test_what_is_no_cluster_is_said_to_be_none() -> None:
    with pytest.raises(MalformedPlan, match="a datanode is no object"):
        parse_before('{"nodes":[3]}')
