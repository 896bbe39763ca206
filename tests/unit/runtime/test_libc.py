"""What the C library does for howdah, and what is done where it does not."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import howdah
from howdah.runtime import libc


def test_a_rename_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileExistsError):
        libc.rename_without_replacing(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_text() == "b"
    libc.rename_without_replacing(str(tmp_path / "a"), str(tmp_path / "c"))
    assert (tmp_path / "c").read_text() == "a"


def test_a_file_is_mapped_without_its_descriptor(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello")
    descriptor = os.open(tmp_path / "a", os.O_RDONLY)
    address = libc.map_file(descriptor, 5)
    os.close(descriptor)
    assert bytes(libc.view_of(address, 5)) == b"hello"
    libc.unmap(address, 5)


def test_what_cannot_be_mapped_is_an_error() -> None:
    with pytest.raises(OSError, match="mmap of 5 bytes") as raised:
        libc.map_file(-1, 5)
    assert raised.value.errno == errno.EBADF


def test_a_range_is_synced_or_its_descriptor_is_bad(tmp_path: Path) -> None:
    sync = libc.find_sync_file_range()
    assert sync is not None, "Linux has it"
    (tmp_path / "a").write_bytes(b"hello")
    descriptor = os.open(tmp_path / "a", os.O_RDWR)
    sync(descriptor, 0, 5, 2)
    os.close(descriptor)
    with pytest.raises(OSError, match="sync_file_range"):
        sync(-1, 0, 5, 2)


def test_what_the_library_lacks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libc, "_function", lambda *_: None)
    assert libc.find_sync_file_range() is None
    assert libc.clock_state() is None
    with pytest.raises(OSError, match="not implemented") as raised:
        libc.rename_without_replacing(str(tmp_path / "a"), str(tmp_path / "b"))
    assert raised.value.errno == errno.ENOSYS


def test_nothing_else_of_howdah_calls_the_library() -> None:
    sources = Path(howdah.__file__).parent
    using = {
        str(path.relative_to(sources))
        for path in sources.rglob("*.py")
        if "import ctypes" in path.read_text() and "testing" not in path.parts
    }
    # The libraries of Kerberos are the system's, and are called where they are there.
    assert using == {"runtime/libc.py", "security/gssapi.py", "security/kdc.py"}
