"""Hadoop's `hdfs diskbalancer` and ours: the same plans, either with the other's servers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.diskbalancer.plan_files import before_text, parse_plan
from howdah.diskbalancer.volumes import DiskNode, DiskVolume, VolumeSet
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.compat.test_hadoop_datanode import Mixed
from tests.support.small_disks import MIB, NotMounted, small_disks

TIMEOUT_S = 120.0
GIB = 1 << 30
Run = Callable[..., str]
Theirs = Callable[..., list[str]]
CONF: dict[str, str | int] = {
    "dfs.blocksize": MIB,
    "dfs.replication": 1,
    "dfs.heartbeat.interval": "200ms",
    "dfs.datanode.hostname": "127.0.0.11",
    # Hadoop's datanode leaves so much free on each volume, by default 1 GiB.
    "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space": 0,
}
FILES = 24


@pytest.fixture
def theirs(hadoop_run: Callable[..., str], tmp_path: Path) -> Theirs:
    """Hadoop's program, once for each list of words, in one JVM; what it printed."""

    def run(*lines: list[str]) -> list[str]:
        told = hadoop_run(
            Path(__file__).with_name("AdminCommands.java"),
            *("\t".join(["diskbalancer", *words]) for words in lines),
            cwd=tmp_path,
        )
        found = [part.split("\2") for part in told.split("\1")[1:]]
        assert [code for code, *_ in found] == ["0"] * len(lines), told
        return [said for _, said, _ in found]

    return run


@pytest.fixture
def ours(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> str:
        code = main(["diskbalancer", *words])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out

    return run


# --- plans, without a cluster ---


def uneven(seed: int) -> DiskNode:
    dice = random.Random(seed)
    volumes = []
    for number in range(dice.randrange(2, 9)):
        capacity = dice.randrange(1, 4000) * GIB
        volumes.append(
            DiskVolume(
                f"DS-{number}",
                "DISK",
                capacity,
                int(capacity * dice.random() * 0.95),
                path=f"/data/{number}",
                reserved_bytes=int(capacity * dice.choice((0, 0.04))),
                failed=dice.random() < 0.1,
                skip=dice.random() < 0.1,
            )
        )
    sets = (VolumeSet.of("set", "DISK", volumes),)
    return DiskNode("uuid", "127.0.0.1", "host", 9867, sets)


def test_both_plan_the_same_and_say_it_in_the_same_words(
    theirs: Theirs, ours: Run, tmp_path: Path
) -> None:
    nodes = [uneven(seed) for seed in range(12)]
    lines = []
    for seed, node in enumerate(nodes):
        file = tmp_path / f"cluster{seed}.json"
        file.write_text(before_text([node]))
        threshold = str((1, 5, 10, 25)[seed % 4])
        cluster = ["-D", f"fs.defaultFS=file://{file}"]
        plan = ["-plan", "host", "-thresholdPercentage", threshold, "-v", "-out"]
        lines.append([*cluster, *plan, f"{tmp_path}/plan{seed}"])
        lines.append([*cluster, "-report", "-node", "host,127.0.0.1"])
    file = tmp_path / "others.json"
    file.write_text(before_text([DiskNode("", "", f"host{n}", n, ()) for n in range(3)]))
    cluster = ["-D", f"fs.defaultFS=file://{file}"]
    lines.append([*cluster, "-report", "-top", "2"])
    lines.append([*cluster, "-report", "-top", "many"])
    said = theirs(*lines)
    moves = 0
    for number, (words, text) in enumerate(zip(lines, said, strict=True)):
        found = ours(*[word.replace("/plan", "/ours") for word in words])
        # What Hadoop tells of a node is what the file says of its density, and that is 0 at first.
        assert _comparable(found) == _comparable(text), words
        file = tmp_path / f"plan{number // 2}" / "host.plan.json"
        if number % 2 or not file.exists():
            continue
        mine = file.parent.with_name(f"ours{number // 2}") / "host.plan.json"
        plans = [parse_plan(each.read_text()) for each in (file, mine)]
        steps = [
            [(s.source.path, s.destination.path, s.bytes_to_move) for s in plan.steps]
            for plan in plans
        ]
        assert steps[0] == steps[1]
        moves += len(steps[0])
    assert moves > 20


def _comparable(text: str) -> list[str]:
    text = re.sub(r"/(ours|plan)\d+/", "/", text)
    return [line for line in text.splitlines() if not line.startswith("log4j:")]


# --- their program, our servers ---


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Two small disks for a datanode, of which one is larger: replicas go to both in turn."""
    with small_disks(64 * MIB) as small, small_disks(960 * MIB) as large:

        def both(datanode: str) -> None:
            try:
                small(tmp_path / datanode / "data0")
                large(tmp_path / datanode / "data1")
            except NotMounted as error:
                pytest.skip(str(error))

        yield both


def fill(fs: HdfsFileSystem) -> None:
    for number in range(FILES):
        with fs.create(f"/file{number}") as out:
            out.write(content(number))


def content(number: int) -> bytes:
    return random.Random(number).randbytes(4 * MIB)


def check(fs: HdfsFileSystem) -> None:
    for number in range(FILES):
        with fs.open(f"/file{number}") as file:
            assert file.read() == content(number)


def test_hadoops_program_works_with_our_cluster_and_either_with_the_others_files(
    mount: Callable[..., None], tmp_path: Path, theirs: Theirs, ours: Run
) -> None:
    mount("datanode0")
    with (
        MiniCluster(datanodes=1, volumes=2, conf=CONF, dir=tmp_path) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        fill(fs)
        at = ["-fs", cluster.uri]
        place = cluster.process("datanode0").addresses["ipc"]
        wait_until(lambda: _knows_all(fs, 0), TIMEOUT_S, "the namenode knows all files")
        assert _density(ours, cluster) > 0.2
        name = "127.0.0.11"
        # Some 45 MiB, at 1 MiB/s: it is at work when it is asked about and cancelled.
        planned, executed, asked, cancelled = theirs(
            [*at, "-plan", name, "-out", "/theirs", "-bandwidth", "1", "-v"],
            [*at, "-execute", f"/theirs/{name}.plan.json"],
            [*at, "-query", place],
            [*at, "-cancel", f"/theirs/{name}.plan.json"],
        )
        assert str(tmp_path / "datanode0" / "data0") in planned
        assert planned.endswith(f"Writing plan to:\n/theirs/{name}.plan.json\n")
        assert (executed, cancelled) == ("", "")
        assert "Result: PLAN_UNDER_PROGRESS" in asked
        assert _result(ours, cluster, place) == "PLAN_CANCELLED"

        ours(*at, "-execute", f"/theirs/{name}.plan.json")
        ours(*at, "-cancel", f"/theirs/{name}.plan.json")
        ours(*at, "-plan", name, "-out", "/ours", "-bandwidth", "100", "-thresholdPercentage", "1")
        theirs([*at, "-execute", f"/ours/{name}.plan.json", "-skipDateCheck"])
        wait_until(lambda: _result(ours, cluster, place) == "PLAN_DONE", TIMEOUT_S)
        wait_until(lambda: _density(ours, cluster) < 0.1, TIMEOUT_S, "the namenode knows")
        lines = [
            [*at, "-query", place, "-v"],
            [*at, "-report", "-node", name],
        ]
        for words, said in zip(lines, theirs(*lines), strict=True):
            assert _comparable(ours(*words)) == _comparable(said)
        check(fs)


def _knows_all(fs: HdfsFileSystem, number: int) -> bool:
    """Whether the namenode was told of every block of a datanode: a plan made before moves less."""
    (node,) = [each for each in fs.datanode_report("live") if each.ip == f"127.0.0.1{number + 1}"]
    return node.dfs_used >= FILES * 4 * MIB


def _density(ours: Run, cluster: MiniCluster, number: int = 0) -> float:
    nodes = json.loads(ours("-fs", cluster.uri, "-report", "--json"))
    (node,) = [each for each in nodes if each["ip"] == f"127.0.0.1{number + 1}"]
    return float(node["density"])


def _result(ours: Run, cluster: MiniCluster, place: str) -> str:
    (told,) = json.loads(ours("-fs", cluster.uri, "-query", place, "--json"))
    return str(told["result"])


# --- our program, their datanode ---


@pytest.mark.torture
def test_our_program_evens_out_hadoops_datanode(
    mount: Callable[..., None], tmp_path: Path, ours: Run, hadoop_classpath: str
) -> None:
    mount("datanode1")
    conf = CONF | {"dfs.replication": 2, "dfs.datanode.hostname": "127.0.0.12"}
    with MiniCluster(datanodes=2, volumes=2, conf=conf, dir=tmp_path) as cluster:
        mixed = Mixed(cluster, hadoop_classpath)
        place = cluster.process("datanode1").addresses["ipc"]
        with mixed.hadoops_datanode(), cluster.connect() as fs:
            assert isinstance(fs, HdfsFileSystem)
            fill(fs)
            wait_until(lambda: _knows_all(fs, 1), TIMEOUT_S, "the namenode knows all files")
            assert _density(ours, cluster, 1) > 0.2
            nodes = json.loads(ours("-fs", cluster.uri, "-report", "--json"))
            (uuid,) = [node["uuid"] for node in nodes if node["ip"] == "127.0.0.12"]
            file = f"/plans/{uuid}.plan.json"
            at = ["-fs", cluster.uri]
            ours(*at, "-plan", uuid, "-bandwidth", "100", "-out", "/plans")
            ours(*at, "-execute", file)
            wait_until(lambda: _result(ours, cluster, place) == "PLAN_DONE", TIMEOUT_S)
            (told,) = json.loads(ours(*at, "-query", place, "--json"))
            assert told["plan_file"] == file
            assert told["moves"][0]["workItem"]["blocksCopied"] > 5
            wait_until(lambda: _density(ours, cluster, 1) < 0.1, TIMEOUT_S, "the namenode knows")
            check(fs)
