"""A datanode is two processes that live and die together, and stop in order."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.replicas import found_below

BLOCK = 1 << 20


@pytest.fixture
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, conf={"dfs.blocksize": BLOCK}) as running:
        yield running


def control_process_of(cluster: MiniCluster) -> int:
    pid = cluster.process("datanode0").pid
    assert pid is not None
    return pid


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def write(cluster: MiniCluster, path: str, data: bytes) -> None:
    with cluster.connect() as fs, fs.create(path) as out:
        out.write(data)


def read(cluster: MiniCluster, path: str) -> bytes:
    with cluster.connect() as fs, fs.open(path) as source:
        return source.read()


def test_a_datanode_has_one_data_process(cluster: MiniCluster) -> None:
    assert len(children_of(control_process_of(cluster))) == 1


@pytest.mark.req("FS-268")
def test_a_log_level_holds_in_both_processes(cluster: MiniCluster) -> None:
    """The IPC port is the data process's: the control process has no connection that breaks
    there."""
    addresses = cluster.process("datanode0").addresses
    query = "log=howdah.rpc.threaded_server&level=DEBUG"
    with urlopen(f"http://{addresses['http']}/logLevel?{query}", timeout=60) as answer:
        assert "It is set in the data process of this datanode as well." in answer.read().decode()
    host, _, port = addresses["ipc"].rpartition(":")

    def is_heard() -> bool:
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            # Closed by a reset, not an end.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(b"hrpc")
        return "DEBUG howdah.rpc.threaded_server" in cluster.log("datanode0")

    wait_until(is_heard, timeout_s=60)


@pytest.mark.req("FS-268")
def test_stacks_and_logs_have_both_processes(cluster: MiniCluster, tmp_path: Path) -> None:
    http = cluster.process("datanode0").addresses["http"]
    with cluster.connect() as fs, fs.create("/open") as out:
        out.write(b"x")
        out.hflush()
        with urlopen(f"http://{http}/stacks", timeout=60) as answer:
            control, _, data = answer.read().decode().partition("the data process of this datanode")
    assert "control/pages.py" not in data
    assert "receiver.py" in data, "of the block that is written"
    assert "receiver.py" not in control
    with _datanode_at_a_pipe(cluster, tmp_path) as http:
        query = "log=howdah.rpc.threaded_server&level=DEBUG"
        with urlopen(f"http://{http}/logLevel?{query}", timeout=60):
            pass
        with urlopen(f"http://{http}/logs/text", timeout=60) as answer:
            control, _, data = answer.read().decode().partition("the data process of this datanode")
    assert "howdah.datanode.control" in control
    assert "howdah.datanode.control" not in data.partition(":")[2]


@contextmanager
def _datanode_at_a_pipe(cluster: MiniCluster, directory: Path) -> Iterator[str]:
    """One that logs to no file; where its pages are."""
    ready = directory / "ready"
    values = {
        "dfs.datanode.data.dir": str(directory / "data"),
        "dfs.datanode.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.datanode.http.address": "127.0.0.1:0",
    }
    command = [sys.executable, "-m", "howdah", "datanode", "--conf", str(cluster.conf_dir)]
    command += [part for name, value in values.items() for part in ("-D", f"{name}={value}")]
    process = subprocess.Popen([*command, "--ready-file", str(ready)], stderr=subprocess.PIPE)
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, 60)
        yield json.loads(ready.read_text())["http"]
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_control_process_ends_when_its_data_process_dies(cluster: MiniCluster) -> None:
    control = control_process_of(cluster)
    (data,) = children_of(control)
    os.kill(data, signal.SIGKILL)
    wait_until(lambda: not is_running(control), what="the control process ends")
    assert f"the data process {data} of this datanode has died" in cluster.log("datanode0")


def test_the_data_process_ends_when_its_control_process_dies(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    # Not one of the cluster's own, whose launcher kills what a dead server leaves.
    values = {
        "dfs.datanode.data.dir": str(tmp_path / "data"),
        "dfs.datanode.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.datanode.http.address": "127.0.0.1:0",
    }
    ready, log = tmp_path / "ready", tmp_path / "log"
    command = [sys.executable, "-m", "howdah", "datanode", "--conf", str(cluster.conf_dir)]
    command += [part for name, value in values.items() for part in ("-D", f"{name}={value}")]
    command += ["--ready-file", str(ready)]
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as control:
        wait_until(ready.exists, what="the datanode is ready")
        (data,) = children_of(control.pid)
        control.kill()
        wait_until(lambda: not is_running(data), what="the data process ends")
    assert "the control process of this datanode is gone" in log.read_text()


@pytest.mark.parametrize("victim", ["control process", "data process"])
def test_after_either_died_the_datanode_starts_again_with_all_its_blocks(
    cluster: MiniCluster, victim: str
) -> None:
    data = os.urandom(3 * BLOCK + 17)
    write(cluster, "/file", data)
    control = control_process_of(cluster)
    (child,) = children_of(control)
    os.kill(control if victim == "control process" else child, signal.SIGKILL)
    wait_until(lambda: not is_running(control) and not is_running(child), what="both end")
    cluster.restart("datanode0")
    assert read(cluster, "/file") == data


def test_an_orderly_stop_ends_both_and_says_why(cluster: MiniCluster) -> None:
    control = control_process_of(cluster)
    (data,) = children_of(control)
    os.kill(control, signal.SIGTERM)
    wait_until(lambda: not is_running(control) and not is_running(data), what="both end")
    log = cluster.log("datanode0")
    assert "the datanode stops: got SIGTERM" in log
    assert "ERROR" not in log


def test_signals_of_a_terminal_go_to_the_control_process(cluster: MiniCluster) -> None:
    (data,) = children_of(control_process_of(cluster))
    os.kill(data, signal.SIGINT)
    os.kill(data, signal.SIGTERM)
    write(cluster, "/file", b"served on")
    assert read(cluster, "/file") == b"served on"


def test_a_second_datanode_on_the_same_directories_does_not_start(cluster: MiniCluster) -> None:
    from howdah.datanode import server

    conf = cluster.conf.with_values(
        {
            "dfs.datanode.data.dir": ",".join(
                path.as_uri() for path in cluster.data_dirs("datanode0")
            ),
            "dfs.datanode.address": "127.0.0.1:0",
            "dfs.datanode.ipc.address": "127.0.0.1:0",
        }
    )
    assert server.run(conf) == 1
    write(cluster, "/file", b"undisturbed")


def test_deleted_files_leave_the_disk(cluster: MiniCluster) -> None:
    write(cluster, "/file", bytes(2 * BLOCK))
    (volume,) = cluster.data_dirs("datanode0")

    def blocks() -> int:
        return len([path for path in found_below(volume, "**/blk_*") if path.suffix != ".meta"])

    assert blocks() == 2
    with cluster.connect() as fs:
        fs.delete("/file")
    wait_until(lambda: blocks() == 0, what="the blocks are deleted")


def test_a_datanode_on_a_copy_of_anothers_directories_is_refused(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    write(cluster, "/a", b"once")
    (source,) = cluster.data_dirs("datanode0")
    shutil.copytree(source, tmp_path / "copy", ignore=shutil.ignore_patterns("in_use.lock"))
    values = {
        "dfs.datanode.data.dir": str(tmp_path / "copy"),
        "dfs.datanode.address": "127.0.0.1:0",
        "dfs.datanode.ipc.address": "127.0.0.1:0",
        "dfs.datanode.http.address": "127.0.0.1:0",
    }
    command = [sys.executable, "-m", "howdah", "datanode", "--conf", str(cluster.conf_dir)]
    command += [part for name, value in values.items() for part in ("-D", f"{name}={value}")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    address = cluster.process("datanode0").addresses["data"]
    refused = rf"two datanodes have the uuid \S+: {address}, which is alive.* and 127.0.0.1:\d+,"
    assert re.search(refused, ended.stderr)
    assert re.search(refused, cluster.log("namenode"))
    with cluster.connect() as fs:
        assert [report.name for report in fs.datanode_report()] == [address]
    assert read(cluster, "/a") == b"once"
