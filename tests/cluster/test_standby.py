"""Real namenodes that share a directory: kill -9 of the active, and a new standby."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.fs.api import FileSystem
from howdah.namenode.server.process.bootstrap import ALREADY_FORMATTED
from howdah.proto import ha_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

HA_SERVICE = "org.apache.hadoop.ha.HAServiceProtocol"
TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    shared = tmp_path_factory.mktemp("shared") / "log"
    conf: dict[str, str | int] = {
        "dfs.ha.automatic-failover.enabled": False,
        "dfs.namenode.shared.edits.dir": shared.as_uri(),
        "dfs.ha.log-roll.period": "-1",
    }
    with MiniCluster(datanodes=1, namenodes=2, conf=conf) as cluster:
        order_active(cluster, "namenode0")
        yield cluster


def order_active(cluster: MiniCluster, name: str) -> None:
    host, port = cluster.process(name).addresses["rpc"].rsplit(":", 1)
    client = RpcClient((host, int(port)), HA_SERVICE)
    info = pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_USER)
    try:
        client.call(
            "transitionToActive",
            pb.TransitionToActiveRequestProto(reqInfo=info),
            pb.TransitionToActiveResponseProto,
        )
    finally:
        client.close()


def write(fs: FileSystem, path: str) -> None:
    with fs.create(path, replication=1) as out:
        out.write(path.encode() * 1000)


def read(fs: FileSystem, path: str) -> bytes:
    with fs.open(path) as file:
        return file.read()


def howdah(cluster: MiniCluster, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    conf = cluster._cluster.layout.server_conf_dir(name)
    return subprocess.run(
        [sys.executable, "-m", "howdah", "namenode", "--conf", str(conf), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def names_of(cluster: MiniCluster, name: str) -> Path:
    return cluster.data_dirs(name)[0]


@pytest.mark.req("FS-053", "FS-059", "FS-065", "LM-008")
def test_a_killed_active_is_replaced_with_all_that_it_acknowledged(cluster: MiniCluster) -> None:
    with cluster.connect() as fs:
        for number in range(20):
            write(fs, f"/before-{number}")
    cluster.kill("namenode0")
    order_active(cluster, "namenode1")
    with cluster.connect() as fs:
        for number in range(20):
            assert read(fs, f"/before-{number}") == f"/before-{number}".encode() * 1000
        write(fs, "/after")
    cluster.start("namenode0")
    wait_until(lambda: cluster.ha_states()["namenode0"] == "standby", TIMEOUT_S, "it stands by")


@pytest.mark.req("FS-052", "LM-013")
def test_a_new_standby_on_empty_directories_takes_over(cluster: MiniCluster) -> None:
    active = cluster.active()
    standby = next(name for name in cluster.ha_states() if name != active)
    with cluster.connect() as fs:
        write(fs, "/for-the-new-one")
    cluster.stop(standby)
    refused = howdah(cluster, standby, "-bootstrapStandby")
    assert refused.returncode == ALREADY_FORMATTED, refused.stderr
    shutil.rmtree(names_of(cluster, standby))
    done = howdah(cluster, standby, "-bootstrapStandby")
    assert done.returncode == 0, done.stderr
    cluster.start(standby)
    cluster.wait_ready(TIMEOUT_S)
    cluster.kill(active)
    order_active(cluster, standby)
    with cluster.connect() as fs:
        assert read(fs, "/for-the-new-one") == b"/for-the-new-one" * 1000
        write(fs, "/by-the-new-one")
    cluster.start(active)


def test_the_status_page_says_the_role_and_where_the_shared_log_is(cluster: MiniCluster) -> None:
    cluster.wait_ready(TIMEOUT_S)
    http = cluster.process(cluster.active()).addresses["http"]
    with urllib.request.urlopen(f"http://{http}/status.json", timeout=TIMEOUT_S) as answer:
        status = json.load(answer)
    assert status["ha_state"] == "active"
    directories = [each["path"] for each in status["edits_directories"]]
    assert any("shared" in path for path in directories), directories


def test_load_balancers_hear_which_one_is_active(cluster: MiniCluster) -> None:
    cluster.wait_ready(TIMEOUT_S)
    found = {}
    for name in cluster.ha_states():
        url = f"http://{cluster.process(name).addresses['http']}/isActive"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                found[name] = answer.status
        except urllib.error.HTTPError as error:
            found[name] = error.code
    states = cluster.ha_states()
    assert found == {name: 200 if state == "active" else 405 for name, state in states.items()}


@pytest.mark.req("FS-260")
def test_the_change_of_role_is_told_with_its_time(cluster: MiniCluster) -> None:
    """One of them was made active, the other one is what it became at its start."""
    cluster.wait_ready(TIMEOUT_S)
    changed = {}
    for name, state in cluster.ha_states().items():
        http = cluster.process(name).addresses["http"]
        query = "qry=Hadoop:service=NameNode,name=NameNode*"
        with urllib.request.urlopen(f"http://{http}/jmx?{query}", timeout=TIMEOUT_S) as answer:
            found = {each["name"].rpartition("=")[2]: each for each in json.load(answer)["beans"]}
        started_ms = found["NameNodeInfo"]["NNStartedTimeInMillis"]
        changed[state] = found["NameNodeStatus"]["LastHATransitionTime"] - started_ms
        assert found["NameNodeInfo"]["Threads"] > 1
        loaded = found["NameNodeActivity"]["NumEditLogLoadedNumOps"]
        assert loaded or state == "active", "a standby has followed the log"
    assert changed["active"] > 0
    assert changed["standby"] < 0


def test_fsck_finds_the_active_and_a_standby_refuses(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.wait_ready(TIMEOUT_S)
    command = ["fsck", "--conf", str(cluster.dir / "conf"), "/"]
    wait_until(lambda: main(command) == 0, TIMEOUT_S, "all replicas are reported to the active")
    active = cluster.active()
    http = {name: cluster.process(name).addresses["http"] for name in cluster.ha_states()}
    assert f"Connecting to namenode via http://{http.pop(active)}/fsck?" in capsys.readouterr().err
    (standby,) = http.values()
    url = f"http://{standby}/fsck?ugi=root&path=/"
    with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
        *_, why, _, _, verdict = answer.read().decode().splitlines()
    assert why.startswith("Operation category READ is not supported in state standby.")
    assert verdict == "Fsck on path '/' FAILED"
