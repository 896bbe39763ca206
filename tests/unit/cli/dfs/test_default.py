"""`howdah dfs` where nobody said which filesystem is meant."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.dfs.shell import items
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.registry import connect
from howdah.local import running
from howdah.local.processes import start_time

HINT = "fs.defaultFS is not configured"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a cluster, and the working directory in it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_local_directory_is_not_removed_by_a_forgotten_configuration(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "dir").mkdir()
    assert main(["dfs", "-rm", "-r", "-skipTrash", "dir"]) == 1
    assert (home / "dir").is_dir()
    told = capfd.readouterr().err
    assert "rm: `dir': " in told
    assert HINT in told
    assert f"file:{home}/dir" in told


CHANGES: list[Callable[[str], list[str]]] = [
    lambda path: ["-rm", path],
    lambda path: ["-rm", "-skipTrash", path],
    lambda path: ["-rmr", path],
    lambda path: ["-put", "-f", "other", path],
    lambda path: ["-cp", "-f", "other", path],
    lambda path: ["-mv", path, "elsewhere"],
    lambda path: ["-appendToFile", "other", path],
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(change("PATH")))
def test_nothing_there_is_removed_or_overwritten(
    change: Callable[[str], list[str]], home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "file").write_text("mine")
    (home / "other").write_text("other")
    assert main(["dfs", *change("file")]) == 1
    assert (home / "file").read_text() == "mine"
    assert HINT in capfd.readouterr().err


# The local disk, with its files of checksums, has no append.
@pytest.mark.parametrize("change", CHANGES[:-1], ids=lambda change: " ".join(change("PATH")))
def test_a_path_that_says_file_is_meant(change: Callable[[str], list[str]], home: Path) -> None:
    (home / "file").write_text("mine")
    (home / "other").write_text("other")
    arguments = [
        f"file:{home}/{word}" if word in ("file", "elsewhere") else word for word in change("file")
    ]
    if "-cp" in arguments:
        arguments[-2] = f"file:{home}/other"
    assert main(["dfs", *arguments]) == 0
    assert not (home / "file").exists() or (home / "file").read_text() != "mine"


def test_a_directory_there_is_not_removed_by_rmdir(home: Path) -> None:
    (home / "dir").mkdir()
    assert main(["dfs", "-rmdir", "dir"]) == 1
    assert (home / "dir").is_dir()


def test_a_file_below_a_directory_is_not_overwritten(home: Path) -> None:
    (home / "dir" / "sub").mkdir(parents=True)
    (home / "dir" / "sub" / "file").write_text("mine")
    (home / "sub").mkdir()
    (home / "sub" / "file").write_text("other")
    assert main(["dfs", "-put", "-f", "sub", "dir"]) == 1
    assert (home / "dir" / "sub" / "file").read_text() == "mine"


def test_a_listing_says_which_filesystem_it_is_of(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["dfs", "-ls", str(home)]) == 0
    told = capfd.readouterr().err
    assert told.count(HINT) == 1
    assert "local disk" in told


def test_who_configures_the_local_disk_is_believed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "dir").mkdir()
    assert main(["dfs", "-fs", "file:///", "-rm", "-r", "-skipTrash", "dir"]) == 0
    assert not (home / "dir").exists()
    assert capfd.readouterr().err == ""


def test_new_files_may_be_made_there(home: Path) -> None:
    (home / "source").write_text("x")
    assert main(["dfs", "-put", "source", "target"]) == 0
    assert (home / "target").read_text() == "x"


def make_cluster(home: Path, uri: str, pid: int, since: str | None) -> None:
    """What `howdah up` leaves in the directory of its cluster."""
    base = home / ".howdah" / "default"
    (base / "conf").mkdir(parents=True)
    (base / "run").mkdir()
    (base / "conf" / "core-site.xml").write_text(
        "<configuration><property><name>fs.defaultFS</name>"
        f"<value>{uri}</value></property></configuration>"
    )
    (base / "run" / "processes.json").write_text(json.dumps({"namenode": [pid, since]}))


def test_the_cluster_of_howdah_up_is_found(home: Path) -> None:
    own = start_time(os.getpid())
    make_cluster(home, "hdfs://127.0.0.1:15999", os.getpid(), own)
    conf = running.default_cluster_conf()
    assert conf is not None
    assert conf.raw("fs.defaultFS") == "hdfs://127.0.0.1:15999"
    files = items.Filesystems(Configuration())
    assert files.default().uri == "hdfs://127.0.0.1:15999"
    assert not files.default_is_a_guess


def test_a_cluster_that_was_stopped_is_not_taken(home: Path) -> None:
    make_cluster(home, "hdfs://127.0.0.1:15999", os.getpid(), "1")
    assert running.default_cluster_conf() is None


def test_a_configuration_directory_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/nonexist")
    assert main(["dfs", "-ls", "/"]) == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert "HADOOP_CONF_DIR" in told.err
    assert "/nonexist" in told.err


@pytest.mark.parametrize("uri", ["hdfs:///a", "hdfs:/a"])
def test_hdfs_without_a_host_never_is_the_local_disk(uri: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"names no namenode.*fs\.defaultFS"):
        connect(uri)
