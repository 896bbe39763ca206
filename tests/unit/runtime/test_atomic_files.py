from __future__ import annotations

import os
from pathlib import Path

import pytest

from howdah.runtime import atomic_files


def test_a_file_is_created(tmp_path: Path) -> None:
    atomic_files.replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    atomic_files.replace_file(tmp_path / "a", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"new")]


def test_the_old_content_stays_if_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def interrupted() -> None:
        with atomic_files.replacing(tmp_path / "a") as file:
            file.write(b"half")
            raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        interrupted()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_what_a_crash_left_behind_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.tmp").write_bytes(b"left behind by a crash")
    atomic_files.replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_data_and_directory_are_synced_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        order.append("directory" if os.path.isdir(f"/dev/fd/{descriptor}") else "data")
        fsync(descriptor)

    def note_replace(source: Path, target: Path) -> None:
        order.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    atomic_files.replace_file(tmp_path / "a", b"new")
    assert order == ["data", "rename", "directory"]


def test_a_rename_does_not_overwrite(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    with pytest.raises(FileExistsError, match="exists"):
        atomic_files.rename_durably(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"b"
