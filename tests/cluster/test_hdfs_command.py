"""The command `hdfs` of the extra `hdfs-command`, and a tool that calls it."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path

import pytest
import smart_open

import howdah
from howdah.cli.installing.hdfs import main
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
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
    )
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
