"""What `howdah mount`, `howdah umount` and `mount.howdah` are told."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from howdah.cli import mount
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.mount import server


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[server.Wanted]:
    """What would be mounted."""
    found: list[server.Wanted] = []

    def run(conf: Configuration, what: server.Wanted, ready_file: Path | None) -> int:
        found.append(what)
        return 0

    monkeypatch.setattr(server, "run", run)
    return found


def test_options_say_what_is_mounted(wanted: list[server.Wanted]) -> None:
    words = ["--read-only", "--attr-timeout", "5", "--threads", "3", "--foreground"]
    assert main(["mount", "hdfs://nn:8020/a", "/mnt", *words]) == 0
    (what,) = wanted
    assert (what.uri, what.directory, what.threads) == ("hdfs://nn:8020/a", "/mnt", 3)
    assert (what.settings.attribute_timeout_s, what.settings.entry_timeout_s) == (5.0, 1.0)
    assert what.settings.is_read_only
    assert not what.allow_other


def test_options_of_mount8_say_the_same(wanted: list[server.Wanted]) -> None:
    options = "ro,_netdev,allow_other,entry_timeout=0,x-systemd.automount"
    assert main(["mount", "hdfs://nn/", "/mnt", "--foreground", "-o", options]) == 0
    (what,) = wanted
    assert what.settings.is_read_only
    assert what.allow_other
    assert what.settings.entry_timeout_s == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "sync_read"], "-o sync_read: there is no such option"),
        (["-o", "attr_timeout=soon"], "'soon' is no number"),
        (["--attr-timeout", "-1"], "--attr-timeout can be 0 to"),
        (["-o", "entry_timeout=nan"], "--entry-timeout can be 0 to"),
        (["--threads", "0"], "--threads can be 1 to"),
    ],
)
def test_wrong_options_are_refused(
    words: list[str], said: str, wanted: list[server.Wanted], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mount", "hdfs://nn/", "/mnt", "--foreground", *words]) == 255
    assert said in capsys.readouterr().err
    assert wanted == []


def test_a_directory_that_is_missing_in_the_filesystem_is_not_mounted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    uri = "mem://mount-cli/missing"
    assert main(["mount", uri, str(tmp_path), "--foreground"]) == 1
    assert f"{uri} cannot be mounted at {tmp_path}" in capfd.readouterr().err
    forget("mount-cli")


def test_a_file_is_not_mounted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    MemoryFileSystem("mount-cli").write_bytes("/f", b"")
    assert main(["mount", "mem://mount-cli/f", str(tmp_path), "--foreground"]) == 1
    assert "/f is no directory" in capfd.readouterr().err
    forget("mount-cli")


def test_the_helper_of_mount8_calls_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []

    def execv(program: str, words: list[str]) -> None:
        called.append(words)
        raise SystemExit

    monkeypatch.setattr(os, "execv", execv)
    words = ["mount.howdah", "hdfs://nn/", "/mnt", "-n", "-o", "ro,conf=/etc/howdah,_netdev"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        mount.helper()
    assert called[0][3:] == [
        *("howdah", "--conf", "/etc/howdah", "mount", "hdfs://nn/", "/mnt"),
        *("-o", "ro,_netdev"),
    ]
    monkeypatch.setattr(sys, "argv", ["mount.howdah", "hdfs://nn/", "/mnt", "-f"])
    assert mount.helper() == 0
    monkeypatch.setattr(sys, "argv", ["mount.howdah", "hdfs://nn/"])
    assert mount.helper() == 255


def test_unmounting_what_is_not_ours_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["umount", str(tmp_path)]) == 1
    assert f"nothing is mounted at {tmp_path}" in capsys.readouterr().err
    assert main(["umount", "/proc"]) == 1
    assert "is a mount of proc, not of howdah's" in capsys.readouterr().err
