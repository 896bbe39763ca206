"""What a directory of one client has to hold: the model of the namespace, and the files' bytes.

A file's bytes are known within bounds: it has what was promised, and no more than was written. The
two are equal once the file is closed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from howdah.model.entries import Entry, Refused, parent_of
from howdah.model.namespace import ModelNamespace

OWNER: Final = "hdfs"
GROUP: Final = "hadoop"
BLOCK_BYTES: Final = 65_536
_WRITER: Final = "the writer"
_NOW_MS: Final = 0
"""The model's times are not compared."""


@dataclass(frozen=True, slots=True)
class Content:
    """Bounds of a file's bytes."""

    promised: bytes = b""
    possible: bytes = b""

    def allows(self, found: bytes) -> bool:
        return found.startswith(self.promised) and self.possible.startswith(found)

    def __str__(self) -> str:
        return f"{len(self.promised)} to {len(self.possible)} bytes"


@dataclass
class Tree:
    """Holds everything below one directory. Each change raises Refused, or happens."""

    root: str
    model: ModelNamespace = field(default_factory=lambda: ModelNamespace(OWNER, GROUP))
    contents: dict[int, Content] = field(default_factory=dict)
    """By the model's number of a file."""
    shown: dict[tuple[int, str], dict[str, Content]] = field(default_factory=dict)
    """The bytes of a snapshot's files: by the number of its directory and its name."""

    def copy(self) -> Tree:
        model = copy.copy(self.model)
        model.entries = dict(self.model.entries)
        model.snapshots = {
            number: {name: copy.copy(shown) for name, shown in named.items()}
            for number, named in self.model.snapshots.items()
        }
        shown = {key: dict(contents) for key, contents in self.shown.items()}
        return Tree(self.root, model, dict(self.contents), shown)

    # -- looking

    @property
    def paths(self) -> list[str]:
        """All paths, this directory's among them, in order."""
        return sorted(
            path
            for path in self.model.entries
            if path == self.root or path.startswith(f"{self.root}/")
        )

    def files(self) -> list[str]:
        return [path for path in self.paths if not self.model.entries[path].is_directory]

    def closed_files(self) -> list[str]:
        return [path for path in self.files() if self.model.entries[path].writer is None]

    def directories(self) -> list[str]:
        return [path for path in self.paths if self.model.entries[path].is_directory]

    def entry(self, path: str) -> Entry:
        return self.model.entries[path]

    def content(self, path: str) -> Content:
        return self.contents[self.model.entries[path].number]

    def below_snapshottable(self, path: str) -> bool:
        """Whether a snapshot may be made of the directory or one above."""
        while path:
            entry = self.model.entries.get(path)
            if entry is not None and entry.number in self.model.snapshots:
                return True
            path = path.rpartition("/")[0]
        return False

    # -- changes

    def mkdirs(self, path: str, mode: int) -> bool:
        self.model.mkdirs(path, mode & ~0o022, unmasked=mode, now_ms=_NOW_MS)
        return True

    def create(self, path: str, *, replication: int, overwrite: bool) -> None:
        old = self.model.entries.get(path)
        if old is not None and not old.is_directory and old.writer and not overwrite:
            raise Refused("is written")
        self.model.create(
            path,
            0o644,
            unmasked=0o666,
            writer=_WRITER,
            replication=replication,
            block_size_bytes=BLOCK_BYTES,
            overwrite=overwrite,
            now_ms=_NOW_MS,
        )
        self.contents[self.model.entries[path].number] = Content()

    def append(self, path: str) -> None:
        self.model.append(path, writer=_WRITER, new_block=False)

    def wrote(self, number: int, data: bytes) -> None:
        """More was given to a file's writer; nothing is promised."""
        content = self.contents[number]
        self.contents[number] = replace(content, possible=content.possible + data)
        self._measure(number, is_open=True)

    def synced(self, number: int) -> None:
        """All that was written is promised."""
        content = self.contents[number]
        self.contents[number] = replace(content, promised=content.possible)

    def close(self, number: int) -> None:
        self.synced(number)
        self._measure(number, is_open=False)

    def settle(self, number: int, found: bytes) -> None:
        """A file that was taken from its writer is closed with these bytes."""
        self.contents[number] = Content(found, found)
        path = self.path_of(number)
        if path is not None:
            entry = self.model.entries[path]
            self.model.entries[path] = replace(entry, blocks=(), block_numbers=())
            self._measure(number, is_open=False)

    def path_of(self, number: int) -> str | None:
        """Where a file is; None if it is deleted."""
        for path, entry in self.model.entries.items():
            if entry.number == number:
                return path
        return None

    def _measure(self, number: int, *, is_open: bool) -> None:
        path = self.path_of(number)
        if path is None:
            return
        entry = self.model.entries[path]
        blocks, numbers = _blocks(entry, len(self.contents[number].possible), self.model)
        self.model.entries[path] = replace(
            entry,
            blocks=blocks,
            block_numbers=numbers,
            writer=_WRITER if is_open else None,
            is_writing=is_open and bool(self.contents[number].possible),
        )

    def truncate(self, path: str, length: int) -> None:
        self.model.truncate(path, length, writer=_WRITER, now_ms=_NOW_MS)
        entry = self.model.entries[path]
        data = self.contents[entry.number].promised[:length]
        self.contents[entry.number] = Content(data, data)
        # The namenode lets nobody write before the last block is cut; whoever asks waits for it.
        self.model.entries[path] = replace(entry, writer=None, is_cut=False)

    def concat(self, target: str, sources: Sequence[str]) -> None:
        entries = [self.model.entries.get(path) for path in (target, *sources)]
        self.model.concat(target, list(sources), now_ms=_NOW_MS)
        data = b"".join(self.contents[entry.number].promised for entry in entries if entry)
        self.contents[self.model.entries[target].number] = Content(data, data)

    def rename(self, source: str, target: str, *, overwrite: bool) -> None:
        self.model.rename2(source, target, overwrite=overwrite, now_ms=_NOW_MS)

    def delete(self, path: str, *, recursive: bool) -> bool:
        return self.model.delete(path, recursive=recursive, now_ms=_NOW_MS)

    def create_snapshot(self, path: str, name: str) -> None:
        self.model.create_snapshot(path, name, now_ms=_NOW_MS)
        number = self.model.entries[path].number
        contents = {}
        for below, entry in self.model.snapshots[number][name].items():
            if not entry.is_directory:
                content = self.contents[entry.number]
                # Of a file that is being written a snapshot has what the namenode knows of.
                is_open = entry.writer is not None
                contents[below] = Content(b"", content.possible) if is_open else content
        self.shown[number, name] = contents

    def rename_snapshot(self, path: str, old: str, new: str) -> None:
        self.model.rename_snapshot(path, old, new, now_ms=_NOW_MS)
        number = self.model.entries[path].number
        self.shown[number, new] = self.shown.pop((number, old))

    def delete_snapshot(self, path: str, name: str) -> None:
        self.model.delete_snapshot(path, name, now_ms=_NOW_MS)
        del self.shown[self.model.entries[path].number, name]

    def snapshots(self) -> list[tuple[str, str]]:
        """All snapshots: the directory, and the name."""
        return [
            (path, name)
            for path in self.directories()
            for name in self.model.snapshots.get(self.model.entries[path].number, {})
        ]


def _blocks(
    entry: Entry, length: int, model: ModelNamespace
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A file's blocks when it has so many bytes: the last of those that it has grows, if it is
    not full, and new ones follow."""
    lengths, numbers = list(entry.blocks), list(entry.block_numbers)
    more = length - sum(lengths)
    while more > 0:
        room = entry.block_size_bytes - lengths[-1] if lengths else 0
        if room <= 0:
            lengths.append(0)
            numbers.append(model._new_number())
            room = entry.block_size_bytes
        taken = min(room, more)
        lengths[-1] += taken
        more -= taken
    return tuple(lengths), tuple(numbers)


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def directory_of(path: str) -> str:
    return parent_of(path)
