"""`howdah dfs` where nobody said which filesystem is meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main

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
    assert told.startswith("rm: ")
    assert HINT in told


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


def test_who_configures_the_local_disk_is_believed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (home / "dir").mkdir()
    assert main(["dfs", "-fs", "file:///", "-rm", "-r", "-skipTrash", "dir"]) == 0
    assert not (home / "dir").exists()
    assert capfd.readouterr().err == ""


def test_no_new_file_is_made_there(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (home / "source").write_text("x")
    assert main(["dfs", "-put", "source", "target"]) == 1
    assert HINT in capfd.readouterr().err
    assert not (home / "target").exists()


def test_a_configuration_directory_that_is_not_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/nonexist")
    assert main(["dfs", "-ls", "/"]) == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert "HADOOP_CONF_DIR" in told.err
    assert "/nonexist" in told.err
