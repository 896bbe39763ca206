"""`howdah up`, `status` and `down`, as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import howdah
from howdah.config import Configuration
from howdah.local.processes import is_running, wait_until_ended


def run(*arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "howdah", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def up(directory: Path, *arguments: str) -> dict[str, Any]:
    facts = json.loads(run("up", "--dir", str(directory), "--json", *arguments).stdout)
    assert isinstance(facts, dict)
    return facts


def pids(facts: dict[str, Any]) -> dict[str, int]:
    return {process["name"]: process["pid"] for process in facts["processes"]}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What `up` said of a cluster that tests look at, and leave as it is."""
    directory = tmp_path_factory.mktemp("up") / "c"
    yield up(directory, "--datanodes", "2", "--racks", "a,b", "-D", "dfs.blocksize=2m")
    run("down", "--dir", str(directory))


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "c"
    if (tmp_path / "c" / "cluster.json").exists():
        run("down", "--dir", str(tmp_path / "c"))


@pytest.mark.req("FS-077")
def test_cluster_that_is_up_can_be_used_without_us(running: dict[str, Any]) -> None:
    with howdah.connect(running["uri"]) as fs:
        with fs.create("/x", replication=2) as out:
            out.write(b"content")
        with fs.open("/x") as stream:
            assert stream.read() == b"content"


def test_who_starts_a_cluster_has_a_home_in_it(running: dict[str, Any]) -> None:
    told = run("dfs", "--conf", running["conf_dir"], "-mkdir", "a")
    assert (told.stdout, told.stderr) == ("", "")
    listed = run("dfs", "--conf", running["conf_dir"], "-ls", "-C")
    assert listed.stdout == "a\n"


def test_json_is_one_object_with_all_there_is(running: dict[str, Any]) -> None:
    facts = running
    assert facts["uri"].startswith("hdfs://127.0.0.1:")
    assert facts["http"].startswith("http://127.0.0.1:")
    assert Path(facts["conf_dir"]).is_relative_to(facts["dir"])
    assert [process["name"] for process in facts["processes"]] == [
        "namenode",
        "datanode0",
        "datanode1",
    ]
    for process in facts["processes"]:
        assert process["role"] in process["name"]
        assert process["addresses"]
        assert Path(process["log"]).is_file()
        assert is_running(process["pid"])


def test_up_twice_is_up_once(running: dict[str, Any]) -> None:
    assert pids(up(Path(running["dir"]))) == pids(running)


def test_status_names_a_server_that_does_not_run_and_up_starts_it(directory: Path) -> None:
    before = pids(up(directory, "--datanodes", "1"))
    os.killpg(before["datanode0"], signal.SIGKILL)
    assert wait_until_ended([before["datanode0"]], 10) == []
    assert "not running" in run("status", "--dir", str(directory), expect=1).stdout
    after = pids(up(directory))
    assert after["namenode"] == before["namenode"]
    assert after["datanode0"] != before["datanode0"]


def test_data_and_address_outlive_down(directory: Path) -> None:
    first = up(directory, "--datanodes", "1")
    with howdah.connect(first["uri"]) as fs, fs.create("/x") as out:
        out.write(b"content")
    run("down", "--dir", str(directory))
    again = up(directory)
    assert again["uri"] == first["uri"]
    with howdah.connect(again["uri"]) as fs, fs.open("/x") as stream:
        assert stream.read() == b"content"


def test_down_ends_every_process_and_says_when_there_is_none(directory: Path) -> None:
    running = pids(up(directory, "--datanodes", "1"))
    said = run("down", "--dir", str(directory)).stdout
    assert "namenode" in said
    assert not any(map(is_running, running.values()))
    assert "nothing was running" in run("down", "--dir", str(directory)).stdout


def test_status_says_what_runs(running: dict[str, Any]) -> None:
    assert json.loads(run("status", "--dir", running["dir"], "--json").stdout) == running


@pytest.mark.parametrize("command", ["status", "down"])
def test_directory_without_a_cluster_is_said_to_be_one(command: str, tmp_path: Path) -> None:
    assert "There is no cluster" in run(command, "--dir", str(tmp_path), expect=1).stderr


def test_status_as_json_is_an_object_without_a_cluster_too(tmp_path: Path) -> None:
    said = json.loads(run("status", "--dir", str(tmp_path), "--json", expect=1).stdout)
    assert said["processes"] == []


def test_clients_find_the_cluster_by_its_configuration(running: dict[str, Any]) -> None:
    conf = Configuration.load(Path(running["conf_dir"]))
    assert conf.raw("fs.defaultFS") == running["uri"]
    assert conf.raw("dfs.blocksize") == "2m"


def test_installations_own_configuration_is_left_alone(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    production = Configuration({"fs.defaultFS": "hdfs://192.0.2.1:8020"})
    (tmp_path / "core-site.xml").write_text(production.to_xml())
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert up(directory, "--datanodes", "1")["uri"].startswith("hdfs://127.0.0.1:")


def states(facts: dict[str, Any]) -> dict[str, str]:
    return {p["name"]: p["ha_state"] for p in facts["processes"] if p["role"] == "namenode"}


@pytest.mark.req("FS-053", "LM-013")
def test_several_namenodes_take_over_from_each_other(directory: Path) -> None:
    facts = up(directory, "--namenodes", "3", "--datanodes", "1")
    assert facts["uri"] == "hdfs://howdah"
    (active,) = [name for name, state in states(facts).items() if state == "active"]
    conf = ["--conf", facts["conf_dir"]]
    run("dfs", *conf, "-mkdir", "/before")
    os.kill(pids(facts)[active], signal.SIGKILL)
    run("dfs", *conf, "-mkdir", "/after")
    told = json.loads(run("status", "--dir", str(directory), "--json", expect=1).stdout)
    assert states(told)[active] == "down"
    assert "active" in states(told).values()
    again = up(directory)
    assert sorted(states(again).values()) == ["active", "standby", "standby"]
    assert pids(again)["datanode0"] == pids(facts)["datanode0"]
    listed = run("dfs", *conf, "-ls", "-C", "/").stdout.splitlines()
    assert {"/before", "/after"} <= set(listed)


def test_zookeeper_is_refused_for_one_namenode(tmp_path: Path) -> None:
    said = run("up", "--dir", str(tmp_path), "--zookeeper", expect=1).stderr
    assert "one namenode holds no election" in said


def test_another_number_of_datanodes_is_refused(running: dict[str, Any]) -> None:
    said = run("up", "--dir", running["dir"], "--datanodes", "1", expect=1).stderr
    assert "has 2 datanodes, not 1" in said


def test_failed_start_leaves_nothing_behind(directory: Path) -> None:
    said = run("up", "--dir", str(directory), "-D", "dfs.replication=many", expect=1).stderr
    assert "dfs.replication" in said
    status = json.loads(run("status", "--dir", str(directory), "--json", expect=1).stdout)
    assert [process["pid"] for process in status["processes"]] == [None] * 4


def test_foreground_stays_and_takes_the_cluster_along(directory: Path) -> None:
    command = [sys.executable, "-m", "howdah", "up", "--dir", str(directory), "--json"]
    with subprocess.Popen(
        [*command, "--datanodes", "1", "--foreground"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        running = pids(json.loads(process.stdout.readline()))
        assert all(map(is_running, running.values()))
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not any(map(is_running, running.values()))


def test_foreground_ends_when_a_server_does(directory: Path) -> None:
    command = [sys.executable, "-m", "howdah", "up", "--dir", str(directory), "--json"]
    with subprocess.Popen(
        [*command, "--datanodes", "1", "--foreground"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        running = pids(json.loads(process.stdout.readline()))
        os.killpg(running["datanode0"], signal.SIGKILL)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 1
    assert "datanode0 has ended" in said
    assert not any(map(is_running, running.values()))
