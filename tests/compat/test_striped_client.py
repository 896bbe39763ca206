"""Our client and Java's with erasure-coded files of Hadoop's own cluster, while datanodes die.

What one of them writes the other one reads, and `hdfs debug verifyEC` codes all of it again.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing.waiting import wait_until
from tests.compat.test_striped_datanodes import CONF, DEBUG, EC, FSSHELL, Scene
from tests.support.hadoop.mixed import MixedCluster

pytestmark = [pytest.mark.timeout(600), pytest.mark.torture]

MIB = 1 << 20
DATANODES = 9
PATIENCE_S = 120
POLICIES = {"RS-3-2-1024k": (3, 2), "RS-6-3-1024k": (6, 3)}
SIZES = {"empty": 0, "tiny": 10, "cell": MIB, "more": MIB + 1, "groups": 14 * MIB + 12_345}


@pytest.fixture(scope="module")
def scene(hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    datanodes = [f"datanode{number}" for number in range(DATANODES)]
    with (
        MixedCluster(
            hadoop_classpath,
            ["namenode", *datanodes],
            namenodes=1,
            datanodes=DATANODES,
            # With three of nine dead, all others are needed, however busy they are.
            conf={**CONF, "dfs.namenode.redundancy.considerLoad": False},
            java_options=lambda name: ("-Xmx160m", "-XX:TieredStopAtLevel=1"),
        ) as cluster,
        cluster.connect() as fs,
    ):
        assert isinstance(fs, HdfsFileSystem)
        made = Scene(cluster, fs, hadoop_classpath, tmp_path_factory.mktemp("local"))
        for policy in POLICIES:
            fs.mkdirs(f"/{policy}", 0o777)
            assert main(["-fs", cluster.uri, "ec", "-enablePolicy", "-policy", policy]) == 0
            fs.set_erasure_coding_policy(f"/{policy}", policy)
        yield made


def content(name: str) -> bytes:
    return random.Random(name).randbytes(SIZES[name])


@contextmanager
def dead(scene: Scene, count: int) -> Iterator[None]:
    """Some datanodes are killed meanwhile."""
    victims = [f"datanode{number}" for number in range(count)]
    for victim in victims:
        scene.cluster.kill(victim)
    try:
        yield
    finally:
        for victim in victims:
            scene.cluster.start(victim)
        # One that was dead for a moment may still count as alive.
        scene.cluster.wait_ready(PATIENCE_S)
        wait_until(lambda: len(scene.fs.datanode_report("live")) == DATANODES, PATIENCE_S)


def verified(scene: Scene, path: str) -> bool:
    return "All EC block group status: OK" in scene.java(DEBUG, "verifyEC", "-file", path)


def md5_by_java(scene: Scene, path: str) -> str:
    copy = scene.local / hashlib.md5(path.encode()).hexdigest()
    copy.unlink(missing_ok=True)
    scene.java(FSSHELL, "-get", path, str(copy))
    return hashlib.md5(copy.read_bytes()).hexdigest()


@pytest.mark.parametrize("policy", POLICIES)
def test_java_reads_and_verifies_what_ours_has_written(scene: Scene, policy: str) -> None:
    for name in SIZES:
        path = f"/{policy}/ours-{name}"
        with scene.fs.create(path) as out:
            out.write(content(name))
        assert scene.fs.get_file_status(path).erasure_coding_policy == policy
        assert md5_by_java(scene, path) == hashlib.md5(content(name)).hexdigest()
        assert verified(scene, path)
    with scene.fs.append(f"/{policy}/ours-more", new_block=True) as out:
        out.write(b"more")
    assert (
        md5_by_java(scene, f"/{policy}/ours-more")
        == hashlib.md5(content("more") + b"more").hexdigest()
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_ours_reads_what_java_has_written_with_datanodes_dead(scene: Scene, policy: str) -> None:
    paths = {}
    for name in SIZES:
        (scene.local / name).write_bytes(content(name))
        paths[name] = f"/{policy}/java-{name}"
        scene.java(FSSHELL, "-put", str(scene.local / name), paths[name])
    _, parity = POLICIES[policy]
    for killed in (0, parity):
        with dead(scene, killed):
            for name, path in paths.items():
                data = content(name)
                with scene.fs.open(path) as stream:
                    assert stream.read() == data
                    for start in (0, max(len(data) - 5, 0), len(data) // 2):
                        assert stream.pread(start, MIB + 7) == data[start : start + MIB + 7]


@pytest.mark.parametrize("policy", POLICIES)
def test_datanodes_may_die_while_ours_writes(scene: Scene, policy: str) -> None:
    data = random.Random(policy).randbytes(23 * MIB + 77)
    _, parity = POLICIES[policy]
    path = f"/{policy}/while-they-die"
    out = scene.fs.create(path)
    out.write(data[: 4 * MIB])
    with dead(scene, parity):
        out.write(data[4 * MIB :])
        out.close()
        # As many are dead as there is parity, so that all of the parity that is left is read.
        assert md5_by_java(scene, path) == hashlib.md5(data).hexdigest()
        with scene.fs.open(path) as stream:
            assert stream.read() == data


@pytest.mark.parametrize("policy", POLICIES)
def test_checksums_are_those_that_java_prints(
    scene: Scene, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "groups"
    path = f"/{policy}/summed"
    with scene.fs.create(path) as out:
        out.write(content(name))
    for mode in ("MD5MD5CRC", "COMPOSITE_CRC"):
        words = [f"-Ddfs.checksum.combine.mode={mode}", "-checksum", path]
        printed = scene.java(FSSHELL, *words)
        capsys.readouterr()
        assert main(["-fs", scene.cluster.uri, "dfs", *words]) == 0
        assert capsys.readouterr().out == printed


def test_howdah_ec_prints_what_hdfs_ec_does(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["-listPolicies"], ["-listCodecs"], ["-getPolicy", "-path", "/"]):
        printed = scene.java(EC, *words)
        capsys.readouterr()
        assert main(["-fs", scene.cluster.uri, "ec", *words]) == 0
        assert capsys.readouterr().out == printed
