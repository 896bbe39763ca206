"""`howdah diskbalancer` on a datanode with a full volume and one that was just added."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.diskbalancer.plan_files import parse_before, parse_plan
from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import blocks_of, found_below
from tests.support.small_disks import MIB, NotMounted, small_disks
from tests.support.volumes import ipc_of, reconfigure, set_property, set_volumes

TIMEOUT_S = 60.0
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.replication": 1,
    # Plans have the name of the datanode, and commands go there.
    "dfs.datanode.hostname": "127.0.0.11",
    "dfs.heartbeat.interval": "200ms",
    "dfs.namenode.redundancy.interval.seconds": "200ms",
}
FILES = 20
NODE = "127.0.0.11"
Run = Callable[..., str]


def content(number: int) -> bytes:
    return random.Random(number).randbytes(2 * MIB - 99)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MiniCluster]:
    """One datanode with one small volume, and a file system for a second."""
    with small_disks(64 * MIB) as mount:
        try:
            for name in ("data0", "data1"):
                mount(tmp_path / "datanode0" / name)
        except NotMounted as error:
            pytest.skip(str(error))
        with MiniCluster(datanodes=1, conf=CONF, dir=tmp_path) as cluster:
            yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        for number in range(FILES):
            with connected.create(f"/file{number}") as out:
                out.write(content(number))
        yield connected


@pytest.fixture
def run(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*words: str, code: int = 0) -> str:
        found = main(["-fs", cluster.uri, "diskbalancer", *words])
        said = capsys.readouterr()
        assert found == code, said.err
        return said.err if code else said.out

    return command


def add_volume(cluster: MiniCluster, run: Run) -> None:
    (old,) = cluster.data_dirs("datanode0")
    set_volumes(cluster, "datanode0", f"{old},{old.with_name('data1')}")
    reconfigure(cluster, "datanode0")

    def both_known_in_full() -> bool:
        # A report of replicas names the new volume; its size, and what the old one
        # has used by now, come with the heartbeat after it.
        known = volumes(run)
        used_bytes = sum(volume["used_bytes"] for volume in known)
        sized = all(volume["capacity_bytes"] for volume in known)
        return len(known) == 2 and sized and used_bytes >= FILES * len(content(0))

    wait_until(both_known_in_full, TIMEOUT_S, "the namenode knows how full both volumes are")


def volumes(run: Run) -> list[dict[str, Any]]:
    """As the namenode knows them."""
    (node,) = json.loads(run("-report", "--json"))
    found: list[dict[str, Any]] = node["volumes"]
    return found


def text_of(fs: HdfsFileSystem, path: str) -> str:
    with fs.open(path) as file:
        return file.read().decode()


def place(cluster: MiniCluster) -> str:
    return cluster.process("datanode0").addresses["ipc"]


def result(run: Run, cluster: MiniCluster) -> str:
    (told,) = json.loads(run("-query", place(cluster), "--json"))
    return str(told["result"])


def block_names(cluster: MiniCluster) -> list[str]:
    return [f"blk_{each}" for n in range(FILES) for each in blocks_of(cluster, f"/file{n}")]


def names_on(cluster: MiniCluster) -> tuple[list[str], list[str]]:
    """The finalized block files of these files, on both volumes."""
    root = cluster.data_dirs("datanode0")[0].parent
    known = set(block_names(cluster))
    first, second = (
        [
            found.name
            for found in found_below(root / name, "current/BP-*/current/finalized/*/*/blk_*")
            if found.name in known
        ]
        for name in ("data0", "data1")
    )
    return first, second


@contextlib.contextmanager
def reader(cluster: MiniCluster) -> Iterator[list[int]]:
    """Reads all files again and again, in a thread; how often it has done so."""
    over, rounds, wrong = threading.Event(), [0], list[Exception]()

    def read() -> None:
        try:
            with cluster.connect() as fs:
                while not over.is_set():
                    for number in range(FILES):
                        with fs.open(f"/file{number}") as file:
                            assert file.read() == content(number)
                    rounds[0] += 1
        except (AssertionError, errors.HowdahError) as error:
            wrong.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield rounds
    finally:
        over.set()
        thread.join()
    assert not wrong, wrong


def check_all(fs: HdfsFileSystem, cluster: MiniCluster) -> None:
    """Every block has one replica, on one volume, and every byte can be read."""
    for number in range(FILES):
        with fs.open(f"/file{number}") as file:
            assert file.read() == content(number)
    first, second = names_on(cluster)
    assert sorted(first + second) == sorted(block_names(cluster))


@pytest.mark.req("FS-144")
def test_a_full_volume_and_a_new_one_come_within_the_threshold_while_a_reader_goes_on(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    assert "No plan generated. DiskBalancing not needed" in run("-plan", NODE, "-out", "/a")
    add_volume(cluster, run)
    with reader(cluster) as rounds:
        made = json.loads(run("-plan", NODE, "-bandwidth", "50", "-out", "/plans", "--json"))
        assert made["plan_file"] == "/plans/127.0.0.11.plan.json"
        (step,) = made["steps"]
        (node,) = parse_before(text_of(fs, made["before_file"]))
        assert {step["source"], step["destination"]} == {each.path for each in node.volumes}
        plan = parse_plan(text_of(fs, made["plan_file"]))
        assert plan.steps[0].bandwidth_mib == 50
        assert run("-execute", made["plan_file"]) == ""
        wait_until(lambda: result(run, cluster) == "PLAN_DONE", TIMEOUT_S)
        (told,) = json.loads(run("-query", place(cluster), "--json"))
        assert told["plan_file"] == made["plan_file"]
        item = told["moves"][0]["workItem"]
        assert 0.9 * step["bytes"] <= item["bytesCopied"] <= 1.1 * step["bytes"]
        before = rounds[0]
        wait_until(lambda: rounds[0] > before + 1, TIMEOUT_S, "the reader has read all once more")
    wait_until(
        lambda: all(abs(each["density"]) <= 0.1 for each in volumes(run)),
        TIMEOUT_S,
        "the namenode knows how full the volumes are",
    )
    check_all(fs, cluster)
    first, second = names_on(cluster)
    assert abs(len(first) - len(second)) <= 6
    assert "No plan generated" in run("-plan", NODE, "-out", "/again")
    # The namenode knows on which volume each replica is.
    reported = {each["storage_id"]: 0 for each in volumes(run)}
    for number in range(FILES):
        for block in fs.client.namenode.get_block_locations(f"/file{number}", 0, 1 << 30).blocks:
            (storage_id,) = block.storage_ids
            reported[storage_id] += 1
    assert sorted(reported.values()) == sorted((len(first), len(second)))


@pytest.mark.req("FS-144")
def test_a_datanode_that_is_killed_in_the_middle_of_moves_loses_nothing(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    add_volume(cluster, run)
    for round_ in range(2):
        run("-plan", NODE, "-bandwidth", "4", "-out", f"/plans{round_}")
        already = len(names_on(cluster)[1])
        run("-execute", f"/plans{round_}/127.0.0.11.plan.json")
        wait_until(partial(_are_more_on_the_second, cluster, already), TIMEOUT_S)
        cluster.kill("datanode0")
        first, second = names_on(cluster)
        assert len(set(first) | set(second)) == 2 * FILES, "every block has a whole file"
        cluster.start("datanode0")
        wait_until(lambda: _can_be_read(fs), TIMEOUT_S, "the datanode has reported")
        assert result(run, cluster) == "NO_PLAN"
        check_all(fs, cluster)


def _are_more_on_the_second(cluster: MiniCluster, already: int) -> bool:
    return len(names_on(cluster)[1]) > already


def _can_be_read(fs: HdfsFileSystem) -> bool:
    try:
        for number in range(FILES):
            with fs.open(f"/file{number}") as file:
                file.read(1)
    except errors.HowdahError:
        return False
    return True


def test_a_plan_is_cancelled_by_its_file_or_by_its_id(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    add_volume(cluster, run)
    run("-plan", NODE, "-bandwidth", "1", "-out", "/plans")
    file = "/plans/127.0.0.11.plan.json"
    run("-execute", file)
    assert "Executing another plan" in run("-execute", file, code=1)
    run("-cancel", file)
    assert result(run, cluster) == "PLAN_CANCELLED"
    plan = json.loads(run("-execute", file, "--json"))["plan_id"]
    assert result(run, cluster) == "PLAN_UNDER_PROGRESS"
    run("-cancel", plan, "-node", place(cluster))
    said = run("-query", place(cluster), "-v")
    assert f"DataNode: {place(cluster)}\nPlan File: {file}\nPlan ID: {plan}\n" in said
    assert "Result: PLAN_CANCELLED\n[ {\n" in said
    assert "No such plan." in run("-cancel", "0" * 40, "-node", place(cluster), code=1)
    check_all(fs, cluster)


def test_plans_are_taken_or_not_without_a_restart(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    assert result(run, cluster) == "NO_PLAN"
    set_property(cluster, "datanode0", "dfs.disk.balancer.enabled", "false")
    reconfigure(cluster, "datanode0")
    wait_until(
        lambda: "Disk Balancer is not enabled." in run("-query", place(cluster), code=1), TIMEOUT_S
    )
    assert "Disk Balancer is not enabled." in run("-plan", NODE, code=1)


def test_what_cannot_be_is_said_to_be_that(
    cluster: MiniCluster, fs: HdfsFileSystem, run: Run
) -> None:
    assert "Unable to find the specified node. nobody" in run("-plan", "nobody", code=1)
    assert "already exist at the target location. /" in run("-plan", NODE, "-out", "/", code=1)
    assert "is no plan" in run("-execute", "/file0", code=1)
    assert "/nowhere" in run("-execute", "/nowhere", code=1)
    assert "The node(s) 'nobody' not found." in run("-report", "-node", "nobody")
    assert "volumes with node data density" in run("-report", "-node", NODE)
    with (
        contextlib.closing(
            DatanodeAdministration(ipc_of(cluster, "datanode0"), "somebody")
        ) as datanode,
        pytest.raises(errors.AccessDenied, match="somebody is not"),
    ):
        datanode.disk_balancer_status()
