"""The command `hdfs` of the extra `hdfs-command`, and a tool that calls it."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import smart_open

import howdah
from howdah.cli.setup.hdfs import main
from howdah.testing import MiniCluster

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "howdah-hdfs-command"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory with the command, as an installer makes it of the package's entry point."""
    with (PACKAGE / "pyproject.toml").open("rb") as stream:
        module, _, function = tomllib.load(stream)["project"]["scripts"]["hdfs"].partition(":")
    command = tmp_path / "bin" / "hdfs"
    command.parent.mkdir()
    program = command.with_suffix(".py")
    program.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    # A path after #! may have no blank in it; installers do the same.
    called = " ".join(map(shlex.quote, (sys.executable, str(program))))
    command.write_text(f'#!/bin/sh\nexec {called} "$@"\n')
    command.chmod(0o755)
    return command.parent


def test_smart_open_reads_and_writes_through_the_command(
    installed: Path, howdah_cluster: MiniCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = os.pathsep.join([str(installed), os.environ["PATH"]])
    monkeypatch.setenv("PATH", found)
    paths = [str(PACKAGE / "src"), str(Path(howdah.__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    uri = f"{howdah_cluster.uri}/hdfs-command"
    with smart_open.open(uri, "wb") as out:
        out.write(b"written through a pipe\n")
    with smart_open.open(uri, "rb") as stream:
        assert stream.read() == b"written through a pipe\n"
    with howdah.connect(howdah_cluster.uri) as fs:
        assert fs.get_file_status("/hdfs-command").length == 23


def as_a_task(command: str, env: dict[str, str], cwd: Path) -> tuple[int, list[str]]:
    """A command line as Airflow's BashOperator runs it: in bash, in a session of its own, with the
    signals that Python ignores as a shell has them, and both outputs read line by line."""

    def begin() -> None:
        for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)

    with subprocess.Popen(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=env,
        preexec_fn=begin,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        lines = [line.decode().rstrip() for line in process.stdout]
        return process.wait(60), lines


def test_tasks_of_a_scheduler_work_through_the_command(
    installed: Path, howdah_cluster: MiniCluster, tmp_path: Path
) -> None:
    """What pipelines are made of: a sensor, a landing, a publication by rename, an export."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "core-site.xml").write_text(howdah_cluster.conf.to_xml())
    paths = [str(PACKAGE / "src"), str(Path(howdah.__file__).parents[1])]
    env = {
        **os.environ,
        "PATH": os.pathsep.join([str(installed), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(paths),
        "HADOOP_CONF_DIR": str(conf),
    }

    def task(command: str) -> tuple[int, list[str]]:
        return as_a_task(command, env, tmp_path)

    day = "/warehouse/events/day=2026-01-01"
    assert task(f"hdfs dfs -test -e {day}/_SUCCESS") == (1, [])
    assert task(f"hdfs dfs -mkdir -p {day}.part") == (0, [])
    landing = f"seq 3 | hdfs dfs -put -f - {day}.part/rows && hdfs dfs -touchz {day}.part/_SUCCESS"
    assert task(landing) == (0, [])
    assert task(f"hdfs dfs -mv {day}.part {day}") == (0, [])
    assert task(f"hdfs dfs -test -e {day}/_SUCCESS") == (0, [])
    assert task(f"hdfs dfs -ls -C {day} | sort | head -1") == (0, [f"{day}/_SUCCESS"])
    assert task(f"set -o pipefail; hdfs dfs -cat {day}/rows | wc -l") == (0, ["3"])
    assert task(f"hdfs dfs -getmerge {day} rows.csv && cat rows.csv") == (0, ["1", "2", "3"])
    code, said = task("hdfs dfs -cat /warehouse/none")
    assert (code, said) == (1, ["cat: `/warehouse/none': No such file or directory"])
    assert task("hdfs dfs -rm -r -skipTrash /warehouse")[0] == 0


def test_words_of_hadoops_script_are_understood_or_refused(
    howdah_cluster: MiniCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "core-site.xml").write_text(howdah_cluster.conf.to_xml())
    assert main(["--config", str(tmp_path), "dfs", "-mkdir", "-p", "/hdfs-words/a"]) == 0
    assert main([f"--config={tmp_path}", "dfs", "-test", "-d", "/hdfs-words/a"]) == 0
    assert main(["--config", str(tmp_path), "getconf", "-confKey", "fs.defaultFS"]) == 0
    assert howdah_cluster.uri in capsys.readouterr().out
    assert main(["--daemon", "start", "namenode"]) == 1
    assert "howdah namenode" in capsys.readouterr().err
    assert main(["--config"]) == 1
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("howdah ")
