"""Hadoop's datanode beside ours and in its place: one pipeline, one directory.

The cluster is ours, two datanodes. The second one is stopped and Hadoop's own
takes its directories, address and all; then ours takes them back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah import errors
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import Group
from howdah.balancer.state.utilization import Rules, survey
from howdah.balancer.target import move
from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local.layout import Layout
from howdah.proto import client_datanode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.replicas import found_below

BLOCK = 1 << 20
LENGTH = 3 * BLOCK + 12_345
OTHER = "datanode1"
_START_S = 60.0
_DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
_MAIN = "org.apache.hadoop.hdfs.server.datanode.DataNode"


class Mixed:
    """The cluster, whose second datanode is ours or Hadoop's."""

    def __init__(self, cluster: MiniCluster, class_path: str) -> None:
        self.cluster = cluster
        layout = Layout.load(cluster.dir)
        assert layout is not None
        self._conf_dir = layout.server_conf_dir(OTHER)
        self._class_path = class_path
        self._log = cluster.dir / "hadoop.log"
        # Its web server doesn't start without these; the jars don't have them.
        for pages in ("datanode", "static"):
            (self._conf_dir / "webapps" / pages).mkdir(parents=True)

    @contextmanager
    def hadoops_datanode(self) -> Iterator[subprocess.Popen[bytes]]:
        self.cluster.stop(OTHER)
        with self.java() as process, self.cluster.connect() as fs:
            wait_until(
                lambda: process.poll() is not None or serves(fs, 2),
                _START_S,
                "Hadoop's datanode serves",
            )
            assert process.poll() is None, self._log.read_text()[-3000:]
            wait_until(self._have_reported, _START_S, "all volumes have reported in full")
            yield process
        self.cluster.start(OTHER)
        self.cluster.wait_ready()

    def _have_reported(self) -> bool:
        """Until then the namenode deletes no other replica for one on such a volume."""
        return self.figure("NumStaleStorages") == 0

    def figure(self, name: str) -> int:
        """Of the namenode."""
        bean = "Hadoop:service=NameNode,name=FSNamesystem"
        with urlopen(f"{self.cluster.http}/jmx?qry={bean}", timeout=20) as answer:
            return int(json.load(answer)["beans"][0][name])

    @contextmanager
    def java(self) -> Iterator[subprocess.Popen[bytes]]:
        """Hadoop's datanode, as soon as it is started."""
        # Its pages are at a port that nothing asks for.
        pages = ("-D", "dfs.datanode.http.address=127.0.0.1:0")
        command = [*hadoop_java(self._class_path, self._conf_dir), _MAIN, *pages]
        with self._log.open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def serves(fs: FileSystem, count: int) -> bool:
    """`count` datanodes are there, and a file of two replicas can be written."""
    if len(fs.datanode_report("live")) < count:
        return False
    try:
        write(fs, "/probe", b"probe")
        return len(fs.block_locations("/probe")[0].hosts) == count
    except OSError:
        return False


def write(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True, replication=2, block_size=BLOCK) as out:
        out.write(data)


@pytest.fixture(scope="module")
def excluded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of datanodes that are to be decommissioned."""
    path = tmp_path_factory.mktemp("hosts") / "exclude"
    path.write_text("")
    return path


@pytest.fixture(scope="module")
def mixed(hadoop_classpath: str, excluded: Path) -> Iterator[Mixed]:
    conf = {
        "dfs.namenode.heartbeat.recheck-interval": "1000ms",
        "dfs.namenode.decommission.interval": "200ms",
        "dfs.hosts.exclude": str(excluded),
    }
    with MiniCluster(datanodes=2, conf=conf) as cluster:
        yield Mixed(cluster, hadoop_classpath)


def replicas_on(cluster: MiniCluster, name: str) -> dict[str, Path]:
    """The block files of a datanode by their names."""
    return {
        path.name: path
        for volume in cluster.data_dirs(name)
        for path in found_below(volume, "**/blk_*")
        if "finalized" in path.parts
    }


def delete_all(fs: FileSystem) -> None:
    for status in fs.list_status("/"):
        fs.delete(status.path, recursive=True)


def have_equal_replicas(cluster: MiniCluster) -> bool:
    """Whether what both datanodes have is the same on both, checksums and names included.

    Blocks that nobody needs any more may go while we look: then look again.
    """
    ours, others = replicas_on(cluster, "datanode0"), replicas_on(cluster, OTHER)
    try:
        return ours.keys() == others.keys() and all(
            path.read_bytes() == others[name].read_bytes() for name, path in ours.items()
        )
    except FileNotFoundError:
        return False


@pytest.mark.req("FS-013", "FS-122")
def test_hadoops_datanode_takes_our_directory_and_ours_takes_it_back(mixed: Mixed) -> None:
    cluster = mixed.cluster
    contents = {f"/{n}": os.urandom(LENGTH) for n in ("before", "mixed1", "mixed2", "appended")}
    with cluster.connect() as fs:
        write(fs, "/before", contents["/before"])
        write(fs, "/appended", contents["/appended"][: BLOCK + 700])
        with mixed.hadoops_datanode():
            # Whichever is first in the pipeline, the other one is its mirror.
            for path in ("/mixed1", "/mixed2"):
                write(fs, path, contents[path])
            with fs.append("/appended") as out:
                out.write(contents["/appended"][BLOCK + 700 :])
            wait_until(lambda: have_equal_replicas(cluster), what="both have the same replicas")
            cluster.stop("datanode0")
            for path, data in contents.items():
                assert read_from_one(fs, path) == data, f"{path} from Hadoop's datanode"
            cluster.start("datanode0")
            cluster.wait_ready()
        cluster.stop("datanode0")
        for path, data in contents.items():
            assert read_from_one(fs, path) == data, f"{path} from ours again"
        cluster.start("datanode0")
        cluster.wait_ready()


def read_from_one(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as source:
        return source.read()


@pytest.mark.req("FS-015")
def test_replicas_are_copied_to_hadoops_datanode_and_from_it_and_it_is_decommissioned(
    mixed: Mixed, excluded: Path
) -> None:
    cluster = mixed.cluster
    with cluster.connect() as fs, mixed.hadoops_datanode():
        data = os.urandom(BLOCK // 2)
        for number in range(4):
            # Placed on either datanode, then copied to the other one.
            with fs.create(f"/copied{number}", replication=1) as out:
                out.write(data)
            fs.set_replication(f"/copied{number}", 2)

        def all_copied() -> bool:
            return all(
                len(fs.block_locations(f"/copied{number}")[0].hosts) == 2 for number in range(4)
            )

        wait_until(all_copied, 30, "every file has two replicas")
        wait_until(lambda: have_equal_replicas(cluster), what="both have the same replicas")
        delete_all(fs)
        for number in range(8):
            with fs.create(f"/single{number}", replication=1) as out:
                out.write(data)
        ours = cluster.process("datanode0").addresses["data"]
        (theirs,) = (node.name for node in fs.datanode_report() if node.name != ours)
        excluded.write_text(theirs)
        assert main(["-fs", cluster.uri, "dfsadmin", "-refreshNodes"]) == 0
        wait_until(
            lambda: "DECOMMISSIONED" in [node.admin_state for node in fs.datanode_report()],
            30,
            "Hadoop's datanode has left",
        )
        for number in range(8):
            (block,) = fs.block_locations(f"/single{number}")
            assert block.names[0] == ours
        excluded.write_text("")
        assert main(["-fs", cluster.uri, "dfsadmin", "-refreshNodes"]) == 0
        # What has one replica is on one of the two, and other tests compare them.
        delete_all(fs)


@pytest.mark.torture
def test_our_writer_waits_for_hadoops_datanode_that_restarts_for_an_upgrade(mixed: Mixed) -> None:
    data = os.urandom(BLOCK)
    with mixed.cluster.connect() as fs, mixed.hadoops_datanode() as java:
        assert isinstance(fs, HdfsFileSystem)
        with fs.create("/restarted", replication=2, block_size=4 * BLOCK) as out:
            out.write(data)
            out.hflush()
            assert out.current_block_replication() == 2
            shut_down_for_an_upgrade(mixed, fs)
            java.wait(_START_S)
            with mixed.java():
                out.write(data)
                out.hflush()
                assert out.current_block_replication() == 2
                counts = out.statistics()
                assert (counts.restarts_awaited, counts.datanodes_failed) == (1, 0)
                out.close()
                assert read_from_one(fs, "/restarted") == data * 2
                wait_until(lambda: have_equal_replicas(mixed.cluster))


def shut_down_for_an_upgrade(mixed: Mixed, fs: FileSystem) -> None:
    """As `dfsadmin -shutdownDatanode HOST:PORT upgrade` does it."""
    _, _, ours = mixed.cluster.process("datanode0").addresses["data"].rpartition(":")
    (node,) = (each for each in fs.datanode_report() if each.transfer_port != int(ours))
    rpc = RpcClient((node.ip, node.ipc_port), _DATANODE_PROTOCOL)
    try:
        rpc.call(
            "shutdownDatanode",
            pb.ShutdownDatanodeRequestProto(forUpgrade=True),
            pb.ShutdownDatanodeResponseProto,
        )
    finally:
        rpc.close()


@contextmanager
def silenced(
    mixed: Mixed, fs: FileSystem, who: str, java: subprocess.Popen[bytes]
) -> Iterator[None]:
    """Ours or Hadoop's is stopped, until the namenode has heard later of the other one."""
    _, _, port = mixed.cluster.process("datanode0").addresses["data"].rpartition(":")

    def heard(ours: bool) -> int:
        (node,) = (n for n in fs.datanode_report() if (n.transfer_port == int(port)) is ours)
        return node.last_update_ms

    def is_heard_after(before_ms: int) -> bool:
        return heard(ours=who != "ours") > before_ms

    if who == "ours":
        mixed.cluster.pause("datanode0")
    else:
        java.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, java.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        # What the silent one said last may be on its way still, but not for two heartbeats.
        for _ in range(2):
            wait_until(partial(is_heard_after, heard(ours=who != "ours")), 30)
        wait_until(lambda: heard(ours=who != "ours") > heard(ours=who == "ours"), 30)
        yield
    finally:
        if who == "ours":
            mixed.cluster.resume("datanode0")
        else:
            java.send_signal(signal.SIGCONT)


@pytest.mark.req("AP-021", "AP-022", "AP-025", "AP-026", "AP-028")
def test_a_block_is_recovered_whoever_is_the_primary(mixed: Mixed) -> None:
    cluster, data = mixed.cluster, os.urandom(BLOCK // 2 + 123)
    with cluster.connect() as fs, mixed.hadoops_datanode() as java:
        for other in ("ours", "hadoops"):
            path = f"/abandoned-beside-{other}"
            with ExitStack() as stack:
                # Closing it fails: by then the file is not its writer's any more.
                stack.enter_context(suppress(errors.HowdahError))
                writer = stack.enter_context(cluster.connect())
                out = writer.create(path, replication=2, block_size=BLOCK)
                out.write(data)
                out.hflush()
                with silenced(mixed, fs, other, java):
                    fs.recover_lease(path)
                wait_until(partial(fs.is_file_closed, path), 60, f"{path} is closed")
            assert read_from_one(fs, path) == data
            with silenced(mixed, fs, other, java):
                assert not fs.truncate(path, 70_001)
            wait_until(partial(fs.is_file_closed, path), 60, f"{path} is truncated")
            assert read_from_one(fs, path) == data[:70_001]
        wait_until(lambda: have_equal_replicas(cluster), what="both have the same replicas")
        # Each was primary once, for the writer that went and for the cut.
        # It logs that once the namenode has answered, when the file is closed already.
        committed = [f"is committed: {length} bytes at 2 nodes" for length in (len(data), 70_001)]

        def is_logged() -> bool:
            ours = cluster.log("datanode0")
            return all(line in ours for line in committed) and ours.count("is done here") >= 4

        wait_until(is_logged, 60, "our datanode has logged what it did")
        ours = cluster.log("datanode0")
        assert [ours.count(line) for line in committed] == [1, 1]
        assert ours.count("is done here") == 4


def test_replicas_are_moved_between_hadoops_datanode_and_ours(mixed: Mixed) -> None:
    cluster = mixed.cluster
    with mixed.hadoops_datanode(), cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        delete_all(fs)
        data = os.urandom(BLOCK)
        with fs.create("/moved", replication=1, block_size=BLOCK) as out:
            out.write(data)
        namenode = BalancedNamenode(fs)
        for _ in range(2):
            groups = survey(namenode.reports(), Rules()).groups
            listed = [namenode.blocks(group, BLOCK, 1, 0) for group in groups]
            (source,) = (group for group, blocks in zip(groups, listed, strict=True) if blocks)
            (goal,) = (group for group in groups if group is not source)
            (block,) = (block for blocks in listed for block in blocks)
            move(
                Move(block, source, goal, source.node),
                namenode.pool_id,
                socket_timeout_s=_START_S,
                use_hostname=False,
            )

            def has_moved(goal: Group = goal) -> bool:
                return fs.block_locations("/moved")[0].names == (goal.node.transfer_address,)

            wait_until(has_moved, _START_S, "the namenode has the replica only where it was moved")
            wait_until(
                lambda: sum(len(replicas_on(cluster, name)) for name in ("datanode0", OTHER)) == 2,
                _START_S,
                "the replica at the source is deleted",
            )
            # Until then the namenode takes a new replica there for the old one.
            wait_until(
                lambda: mixed.figure("ExcessBlocks") == 0,
                _START_S,
                "the namenode knows that the replica at the source is deleted",
            )
            with fs.open("/moved") as stream:
                assert stream.read() == data
        namenode.close()
