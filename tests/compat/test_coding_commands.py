"""Commands for erasure-coded files, by `hdfs` and by `howdah`, on a cluster of ours.

Among them are the cases of Hadoop's command line for erasure coding: those of
TestErasureCodingCLI, read from the file that Hadoop's build ships.
"""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.java import NoJava
from howdah.testing.minicluster import MiniCluster
from tests.support.hadoop.command_cases import Command, CommandCases
from tests.support.hadoop.jars import NoHadoop, hadoop_test_files
from tests.support.hadoop.tools_gateway import HadoopCommands, Outcome
from tests.support.replicas import replica_files

pytestmark = [pytest.mark.timeout(500), pytest.mark.torture]

CACHE = Path(".cache")
ENABLED = ("RS-6-3-1024k", "RS-3-2-1024k", "XOR-2-1-1024k")
CONF: dict[str, str | int] = {
    "dfs.heartbeat.interval": "200ms",
    # Nobody else finds what a test damages, and nobody makes it anew.
    "dfs.datanode.scan.period.hours": -1,
    "dfs.namenode.redundancy.interval.seconds": 3600,
}
MIB = 1 << 20
SIZES = {"empty": 0, "tiny": 10, "more": 3 * MIB + 5, "groups": 13 * MIB + 77}
CASES_THERE_ARE = 58


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("files")
    try:
        hadoop_test_files(CACHE, into)
    except NoHadoop as error:
        pytest.skip(error.message)
    return into


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=6, conf=CONF) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def theirs(
    cluster: MiniCluster, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HadoopCommands]:
    pytest.importorskip("py4j", reason="PySpark is not installed")
    try:
        commands = HadoopCommands(
            hadoop_classpath, cluster.conf_dir, tmp_path_factory.mktemp("commands")
        )
    except NoJava as error:
        pytest.skip(str(error))
    yield commands
    commands.close()


@pytest.fixture
def ours(cluster: MiniCluster, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(command: str, *words: str) -> Outcome:
        capsys.readouterr()
        code = main(["--conf", str(cluster.conf_dir), command, *words])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return run


def prepare(cluster: MiniCluster) -> None:
    """Only these policies are enabled, and there is nothing in the namespace."""
    with cluster.connect() as fs:
        for status in fs.list_status("/"):
            fs.delete(status.path, recursive=True)
    for policy in ENABLED:
        words = ["ec", "-enablePolicy", "-policy", policy]
        assert main(["--conf", str(cluster.conf_dir), *words]) == 0


def test_all_cases_of_hadoops_command_line_hold(
    ours: Command, theirs: Command, cluster: MiniCluster, files: Path
) -> None:
    cases = CommandCases(files, "testErasureCodingConf.xml", cluster.uri)
    assert len(cases) == CASES_THERE_ARE
    prepare(cluster)
    found = cases.run(theirs, "bin/hdfs")
    assert found.wrong == []
    prepare(cluster)
    assert cases.run(ours, "howdah") == found


@pytest.fixture
def coded(cluster: MiniCluster) -> None:
    """Files of several sizes in /coded, some of them replicated, and directories."""
    prepare(cluster)
    with cluster.connect() as fs:
        fs.mkdirs("/coded/replicated")
        fs.mkdirs("/coded/deep")
        fs.set_erasure_coding_policy("/coded", "RS-3-2-1024k")
        fs.set_erasure_coding_policy("/coded/replicated", "replication")
        fs.create("/plain").close()
        for name, size in SIZES.items():
            with fs.create(f"/coded/{name}", block_size=2 * MIB) as out:
                out.write(random.Random(name).randbytes(size).hex()[:size].encode())
            with fs.create(f"/coded/replicated/{name}", replication=1) as out:
                out.write(bytes(size))


LOOKS = (
    "dfs -ls -e /",
    "dfs -ls -e /coded /coded/tiny",
    "dfs -ls -e -d /coded",
    "dfs -ls -e -h -R /coded",
    "dfs -ls -C -e /coded",
    "dfs -count -e -v /coded /coded/tiny /coded/replicated /coded/replicated/tiny /plain /",
    "dfs -count -e -q -h -v /coded /plain",
    "dfs -count -e -s -v /coded",
    "dfs -count -e -u /coded",
    "dfs -stat %b-%o-%r-%F-%n /coded/tiny /coded/groups /coded/replicated/tiny",
    "dfs -du /coded",
    "dfs -du -s -v /coded",
    "dfs -checksum /coded/tiny /coded/groups /coded/empty",
    "dfs -setrep 2 /coded/tiny",
    "dfs -truncate 5 /coded/tiny",
    "dfs -cat /coded/tiny",
    "dfs -getfattr -d /coded",
    "fsck /coded -files -blocks -locations",
    "fsck /coded/groups -files -blocks -racks",
    "fsck /coded -files -blocks -replicaDetails",
    "fsck /coded",
    "ec -getPolicy -path /coded/replicated",
    "ec -getPolicy -path /coded/tiny",
    "ec -verifyClusterSetup",
    "ec -verifyClusterSetup -policy RS-3-2-1024k",
    "ec -verifyClusterSetup -policy RS-10-4-1024k RS-3-2-1024k",
    "ec -verifyClusterSetup -policy NONE",
    "debug verifyEC -file /coded/empty",
    "debug verifyEC -file /coded/tiny",
    "debug verifyEC -file /coded/groups",
    "debug verifyEC -file /coded/groups -blockId blk_1",
    "debug verifyEC -file /coded/replicated/tiny",
    "debug verifyEC -file /coded/nowhere",
    "debug verifyEC -file /coded",
)
_WHAT_DIFFERS = [
    (re.compile(r"(?<=Connecting to namenode via ).*"), "<uri>"),
    (re.compile(r"(?<=FSCK started by )(.*) at .*"), r"\1 at <time>"),
    (re.compile(r"(?<=FSCK ended at ).*"), "<time>"),
]


def normal(outcome: Outcome) -> Outcome:
    out, err = outcome.out, outcome.err
    for pattern, name in _WHAT_DIFFERS:
        out, err = pattern.sub(name, out), pattern.sub(name, err)
    return Outcome(outcome.code, out, err)


@pytest.mark.usefixtures("coded")
def test_both_show_coded_files_alike(ours: Command, theirs: Command) -> None:
    different = []
    for line in LOOKS:
        mine, other = (normal(run(*shlex.split(line))) for run in (ours, theirs))
        if mine != other:
            different.append(f"$ {line}\n  Hadoop: {other}\n  howdah: {mine}")
    assert not different, "\n".join(different)


@pytest.mark.usefixtures("coded")
def test_both_find_the_internal_block_that_does_not_fit(
    ours: Command, theirs: Command, cluster: MiniCluster
) -> None:
    path = "/coded/groups"
    with cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        groups = fs.client.replica_checker().finished_blocks(path).blocks
    block_id = groups[1].block.block_id + 1
    (replica,) = replica_files(cluster, [block_id])
    replica.change(5)
    said = [normal(run("debug", "verifyEC", "-file", path)) for run in (ours, theirs)]
    assert (said[0].code, said[0].out) == (said[1].code, said[1].out)
    assert said[0].code == 1
    assert said[0].err.splitlines()[0] == said[1].err.splitlines()[0]
    assert f"blk_{block_id}_" in said[0].err
    words = ("debug", "verifyEC", "-file", path, "-skipFailureBlocks")
    said = [normal(run(*words)) for run in (ours, theirs)]
    assert (said[0].code, said[0].out) == (said[1].code, said[1].out)


@pytest.mark.usefixtures("coded")
@pytest.mark.req("OS-005", "LM-048")
def test_javas_streams_say_that_coded_files_are_not_synced(
    theirs: HadoopCommands, cluster: MiniCluster
) -> None:
    jvm = theirs.jvm
    hadoop = jvm.org.apache.hadoop
    java = hadoop.fs.FileSystem.newInstance(
        jvm.java.net.URI(cluster.uri), hadoop.hdfs.HdfsConfiguration()
    )
    data = b"log line\n" * 200_000
    for name, is_coded in (("coded", True), ("replicated", False)):
        path = f"/coded/{name}.log"
        builder = java.createFile(hadoop.fs.Path(path))
        out = (builder if is_coded else builder.replicate()).build()
        for _ in range(3):
            out.write(data)
            out.hflush()
            out.hsync()
        for capability in ("hflush", "hsync"):
            assert out.hasCapability(capability) is not is_coded
        out.close()
        with cluster.connect() as fs:
            assert fs.get_file_status(path).is_erasure_coded is is_coded
            with fs.open(path) as stream:
                assert stream.read() == data * 3
    java.close()
