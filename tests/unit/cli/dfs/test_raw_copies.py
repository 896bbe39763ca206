"""`-cp` below `/.reserved/raw`: cipher text and its key, on files in memory."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from howdah.cli.dfs.copying.copies import Cp
from howdah.cli.dfs.copying.progress import Progress
from howdah.cli.dfs.shell.error_text import PathProblem
from howdah.config import Configuration
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.paths import PathLike

NAME = "raw-copies"
SOURCE, TARGET = "/.reserved/raw/a", "/.reserved/raw/b"


class Files(MemoryFileSystem):
    """Notes which files have a key, and may replace one while its key is read."""

    def __init__(self) -> None:
        super().__init__(NAME, Configuration(), "hdfs")
        self.done: list[str] = []
        self.replaces = False

    def get_xattrs(self, path: PathLike, names: Any = ()) -> dict[str, bytes]:
        if self.replaces:
            self.write_bytes(path, b"bytes by another key")
        return {"raw.key": b"key"}

    def set_xattr(
        self, path: PathLike, name: str, value: bytes | None = None, **flags: bool
    ) -> None:
        self.done.append(f"{name} of {path}")

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        self.done.append(f"{src} is {dst}")
        super().rename(src, dst, overwrite=overwrite)


@pytest.fixture
def fs() -> Iterator[Files]:
    found = Files()
    found.mkdirs("/.reserved/raw")
    found.write_bytes(SOURCE, b"cipher text")
    yield found
    forget(NAME)


def copy(fs: Files) -> None:
    command: Any = Cp.__new__(Cp)
    command.overwrite = command._stopped = False
    command._progress = Progress.on_terminal()

    def item(path: str) -> Any:
        there = fs.exists(path)
        return SimpleNamespace(
            fs=fs,
            path=path,
            name=path,
            exists=there,
            is_directory=False,
            require_status=lambda: fs.get_file_status(path),
        )

    command.copy_file(item(SOURCE), item(TARGET))


def test_cipher_text_has_its_key_before_it_has_its_name(fs: Files) -> None:
    copy(fs)
    assert fs.read_bytes(TARGET) == b"cipher text"
    assert fs.done == [f"raw.key of {TARGET}._COPYING_", f"{TARGET}._COPYING_ is {TARGET}"]


def test_a_file_that_is_replaced_meanwhile_is_not_copied(fs: Files) -> None:
    fs.replaces = True
    with pytest.raises(PathProblem, match="was changed while it was copied"):
        copy(fs)
    assert not fs.exists(TARGET)
    assert not fs.exists(f"{TARGET}._COPYING_")
