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


@pytest.mark.parametrize("leads_on", [True, False])
def test_a_link_with_the_name_of_the_temporary_file_is_not_followed(
    tmp_path: Path, leads_on: bool
) -> None:
    other = tmp_path / "other"
    if leads_on:
        other.write_bytes(b"of somebody else")
    (tmp_path / "a.tmp").symlink_to(other)
    atomic_files.replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / "a").is_symlink()
    assert other.exists() == leads_on
    assert not leads_on or other.read_bytes() == b"of somebody else"


def test_rights_are_given_before_the_name_and_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fchmod, seen = os.fchmod, []

    def note(descriptor: int, mode: int) -> None:
        seen.append((os.fstat(descriptor).st_mode & 0o777, (tmp_path / "a").exists()))
        fchmod(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", note)
    rights = atomic_files.Rights(os.geteuid(), os.getegid(), 0o640)
    umask = os.umask(0o077)
    try:
        atomic_files.replace_file(tmp_path / "a", b"new", rights=rights)
    finally:
        os.umask(umask)
    assert seen == [(0o600, False)]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


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
