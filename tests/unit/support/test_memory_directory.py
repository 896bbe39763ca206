"""A run's temporary files are in memory where there is room, and leave it again."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.support import memory_directory
from tests.support.memory_directory import MemoryDirectory, has_room

PLENTY = "MemTotal: 99999999 kB\nMemAvailable: 64000000 kB\n"


@pytest.fixture(autouse=True)
def _little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_directory, "ROOM_BYTES", 1 << 20)


def test_memory_with_room_is_taken(tmp_path: Path) -> None:
    mounts = f"/dev/sda / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n"
    assert has_room(tmp_path, mounts=mounts, memory=PLENTY)


@pytest.mark.parametrize(
    ("mounts", "memory"),
    [
        ("tmpfs / tmpfs rw 0 0\n", PLENTY),
        ("/dev/sda HERE ext4 rw 0 0\n", PLENTY),
        ("tmpfs HERE tmpfs rw 0 0\n/dev/sda HERE ext4 rw 0 0\n", PLENTY),
        ("tmpfs HERE tmpfs rw,noexec 0 0\n", PLENTY),
        ("tmpfs HERE tmpfs rw 0 0\n", "MemAvailable: 1000 kB\n"),
        ("tmpfs HERE tmpfs rw 0 0\n", ""),
    ],
    ids=["no mount", "a disk", "a disk over it", "no programs", "little memory", "unknown memory"],
)
def test_what_is_no_memory_or_has_no_room_is_left_alone(
    tmp_path: Path, mounts: str, memory: str
) -> None:
    assert not has_room(tmp_path, mounts=mounts.replace("HERE", str(tmp_path)), memory=memory)


def test_memory_that_does_less_than_a_disk_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "setxattr", refuse)
    assert not has_room(tmp_path, mounts=f"tmpfs {tmp_path} tmpfs rw 0 0\n", memory=PLENTY)


def test_no_room_is_seen_where_nothing_is(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert not has_room(missing, mounts=f"tmpfs {missing} tmpfs rw 0 0\n", memory=PLENTY)


def test_directory_goes_with_its_run_unless_it_is_kept_and_then_with_the_next(
    tmp_path: Path,
) -> None:
    first, second = MemoryDirectory.make(tmp_path), MemoryDirectory.make(tmp_path)
    for each in (first, second):
        (each.path / "file").touch()
    first.close(keep=False)
    assert not first.path.exists()
    second.close(keep=True)
    assert (second.path / "file").exists()
    third = MemoryDirectory.make(tmp_path)
    assert not second.path.exists()
    third.close(keep=False)
    assert list(tmp_path.iterdir()) == []


def test_directory_of_a_run_that_goes_on_stays(tmp_path: Path) -> None:
    running = MemoryDirectory.make(tmp_path)
    MemoryDirectory.make(tmp_path).close(keep=False)
    assert running.path.is_dir()
    running.close(keep=False)
