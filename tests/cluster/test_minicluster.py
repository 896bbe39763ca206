"""MiniCluster, by what its servers do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from howdah.errors import InvalidConfiguration, PathComponentTooLong
from howdah.local.processes import is_running
from howdah.testing import MiniCluster, ServerFailed

CONTENT = bytes(range(256)) * 1000


def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def write(cluster: MiniCluster, path: str) -> None:
    with cluster.connect() as fs, fs.create(path) as out:
        out.write(CONTENT)


def read(cluster: MiniCluster, path: str) -> bytes:
    with cluster.connect() as fs, fs.open(path) as stream:
        return bytes(stream.read())


def pid_of(cluster: MiniCluster, name: str) -> int:
    pid = cluster.process(name).pid
    assert pid is not None
    return pid


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=2, racks=["/a", "/b"], volumes=2) as cluster:
        yield cluster


@pytest.mark.req("FS-077")
def test_cluster_can_be_written_to_when_it_is_there(cluster: MiniCluster) -> None:
    write(cluster, "/written")
    assert read(cluster, "/written") == CONTENT


def test_every_server_is_a_process_with_addresses(cluster: MiniCluster) -> None:
    servers = {server.name: server for server in cluster.processes}
    assert set(servers) == {"namenode", "datanode0", "datanode1"}
    assert all(server.alive for server in servers.values())
    assert f"hdfs://{servers['namenode'].addresses['rpc']}" == cluster.uri
    assert servers["datanode1"].addresses["data"].startswith("127.0.0.12:")


@pytest.mark.req("FS-112")
def test_blocks_are_in_the_racks_that_were_asked_for(cluster: MiniCluster) -> None:
    with cluster.connect() as fs:
        with fs.create("/racks", replication=2) as out:
            out.write(b"x")

        # The file is whole with the first replica that is reported.
        def racks() -> set[str]:
            (block,) = fs.block_locations("/racks")
            return {path.rsplit("/", 1)[0] for path in block.topology_paths}

        until(lambda: racks() == {"/a", "/b"})


def test_volumes_are_directories_of_their_own(cluster: MiniCluster) -> None:
    dirs = cluster.data_dirs("datanode0")
    assert [path.name for path in dirs] == ["data0", "data1"]
    assert all((path / "current" / "VERSION").is_file() for path in dirs)


def test_killed_server_is_gone_with_all_that_it_started(cluster: MiniCluster) -> None:
    leader = pid_of(cluster, "datanode0")
    group = [int(p.name) for p in Path("/proc").glob("[0-9]*") if _group(p) == leader]
    cluster.kill("datanode0")
    assert leader in group
    until(lambda: not any(map(is_running, group)))
    assert cluster.process("datanode0").pid is None
    cluster.restart("datanode0")


def _group(process: Path) -> int | None:
    try:
        return os.getpgid(int(process.name))
    except ProcessLookupError:
        return None


@pytest.mark.parametrize("name", ["namenode", "datanode1"])
def test_restarted_server_has_its_address_again(cluster: MiniCluster, name: str) -> None:
    before = cluster.process(name)
    cluster.kill(name)
    cluster.restart(name)
    after = cluster.process(name)
    assert after.addresses == before.addresses
    assert after.pid != before.pid


def test_data_is_there_after_everything_was_killed(cluster: MiniCluster) -> None:
    write(cluster, "/kept")
    for name in cluster.names:
        cluster.kill(name)
    cluster.restart()
    assert read(cluster, "/kept") == CONTENT


def test_data_is_there_after_an_orderly_restart(cluster: MiniCluster) -> None:
    write(cluster, "/kept2")
    cluster.restart()
    assert read(cluster, "/kept2") == CONTENT


def test_a_value_is_changed_for_a_server_by_its_restart(cluster: MiniCluster) -> None:
    cluster.configure({"dfs.namenode.fs-limits.max-component-length": 40})
    with cluster.connect() as fs:
        fs.mkdirs("/" + "a" * 41)
        cluster.restart("namenode")
        with pytest.raises(PathComponentTooLong):
            fs.mkdirs("/" + "b" * 41)
    cluster.configure({"dfs.namenode.fs-limits.max-component-length": 255})
    cluster.restart("namenode")


def test_cluster_can_be_written_to_when_its_namenode_alone_was_restarted(
    cluster: MiniCluster,
) -> None:
    cluster.kill("namenode")
    cluster.restart("namenode")
    write(cluster, "/after-restart")


def test_namenode_is_up_without_its_datanodes_too(cluster: MiniCluster) -> None:
    write(cluster, "/unreported")
    for name in cluster.names:
        cluster.kill(name)
    cluster.restart("namenode")
    with cluster.connect() as fs:
        assert fs.get_file_status("/unreported").length == len(CONTENT)
    cluster.restart()


def test_a_datanode_that_died_by_itself_is_not_waited_for(cluster: MiniCluster) -> None:
    os.killpg(pid_of(cluster, "datanode1"), signal.SIGKILL)
    cluster.restart("namenode")
    write(cluster, "/one-has-died")
    cluster.restart("datanode1")


def test_stopped_server_can_be_started(cluster: MiniCluster) -> None:
    cluster.stop("datanode1")
    assert not cluster.process("datanode1").alive
    cluster.start("datanode1")
    cluster.wait_ready()
    assert cluster.process("datanode1").alive


def test_paused_server_says_nothing_until_it_is_resumed(cluster: MiniCluster) -> None:
    cluster.pause("namenode")
    try:
        state = Path(f"/proc/{pid_of(cluster, 'namenode')}/stat")
        until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
    finally:
        cluster.resume("namenode")
    write(cluster, "/resumed")


def test_paused_server_can_be_stopped(cluster: MiniCluster) -> None:
    cluster.pause("datanode0")
    cluster.restart("datanode0")
    assert cluster.process("datanode0").alive


def test_server_that_does_not_run_cannot_be_paused(cluster: MiniCluster) -> None:
    cluster.kill("datanode0")
    with pytest.raises(ServerFailed, match="not running"):
        cluster.pause("datanode0")
    cluster.restart("datanode0")


def test_log_goes_on_over_a_restart(cluster: MiniCluster) -> None:
    before = cluster.log("datanode0")
    cluster.restart("datanode0")
    after = cluster.log("datanode0")
    assert after.startswith(before)
    assert len(after) > len(before) > 0


def test_unknown_name_is_refused(cluster: MiniCluster) -> None:
    for act in (cluster.kill, cluster.stop, cluster.pause, cluster.restart, cluster.log):
        with pytest.raises(InvalidConfiguration, match="no server 'datanode7'"):
            act("datanode7")


# -- beginnings and ends ------------------------------------------------------------------


def test_directory_of_ones_own_is_kept_and_used_again(tmp_path: Path) -> None:
    with MiniCluster(datanodes=1, dir=tmp_path) as cluster:
        write(cluster, "/kept")
        uri = cluster.uri
    with MiniCluster(datanodes=1, dir=tmp_path) as cluster:
        assert cluster.uri == uri
        assert read(cluster, "/kept") == CONTENT


def test_temporary_directory_goes_with_the_cluster() -> None:
    with MiniCluster(datanodes=1) as cluster:
        pids = [pid_of(cluster, name) for name in cluster.names]
        directory = cluster.dir
    assert not directory.exists()
    assert not any(map(is_running, pids))


def test_values_reach_servers_and_clients() -> None:
    conf: dict[str, str | bool] = {"dfs.blocksize": "1m", "dfs.permissions.enabled": False}
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        with cluster.connect() as fs:
            assert fs.server_defaults().block_size == 1 << 20
        assert (cluster.conf_dir / "hdfs-site.xml").is_file()


def test_server_that_does_not_start_is_shown_with_its_log() -> None:
    with pytest.raises(ServerFailed, match=r"(?s)node0? ended.*dfs\.replication"):
        MiniCluster(datanodes=1, conf={"dfs.replication": "many"})


_CLUSTER_IN_A_SCRIPT = """
import sys, time
from howdah.testing import MiniCluster
cluster = MiniCluster(datanodes=1)
print(*[server.pid for server in cluster.processes], cluster.dir, flush=True)
{end}
"""


def _script(end: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CLUSTER_IN_A_SCRIPT.format(end=end)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_servers_end_when_their_maker_is_killed(tmp_path: Path) -> None:
    with _script("time.sleep(100)") as script:
        assert script.stdout is not None
        *pids, directory = script.stdout.readline().split()
        script.send_signal(signal.SIGKILL)
    until(lambda: not any(is_running(int(pid)) for pid in pids))
    subprocess.run(["rm", "-r", directory], check=True)


def test_servers_end_when_their_maker_forgets_them() -> None:
    with _script("") as script:
        assert script.stdout is not None
        *pids, directory = script.stdout.readline().split()
    until(lambda: not any(is_running(int(pid)) for pid in pids))
    assert not Path(directory).exists()


def test_child_of_a_fork_leaves_the_cluster_alone() -> None:
    with MiniCluster(datanodes=1) as cluster:
        child = os.fork()
        if child == 0:
            cluster.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert all(server.alive for server in cluster.processes)
        assert cluster.dir.exists()


def test_datanodes_can_have_a_port_of_the_namenode_for_themselves() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        service = f"127.0.0.1:{probe.getsockname()[1]}"
    conf = {"dfs.namenode.servicerpc-address": service}
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        write(cluster, "/f")
        assert read(cluster, "/f") == CONTENT
        assert f"registered with namenode {service}" in cluster.log("datanode0")
