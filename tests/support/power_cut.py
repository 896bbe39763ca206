"""A disk that loses in a power cut what was not synced, and maybe only parts of it.

The files are real; what is done to them through `os` is recorded. A cut can come before
each operation. It leaves

- of a file's bytes what was synced, at least, and what was written since wholly, or not,
  or in one of the two files of a replica, or as a hole of the right length;
- of the names any beginning of what was done to them, in the order in which it was done,
  as journaling filesystems have it, which holds everything whose directory was synced.

A model, and an unkind one: a file that is synced is not found unless its directory is.

>>> with Disk(root) as disk:
...     write_and_sync()
...     disk.armed = True
...     go_on()
>>> for when, path in disk.images(somewhere):
...     assert what_was_synced_is_in(path), when
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Names = dict[str, int]
"""Path below the root -> inode; 0 for a directory."""


@dataclass(frozen=True)
class Image:
    """What one power cut leaves."""

    when: str
    directories: frozenset[str]
    files: dict[str, bytes]
    label: object = None

    def restore(self, root: Path) -> None:
        root.mkdir(parents=True)
        for name in sorted(self.directories):
            (root / name).mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (root / name).write_bytes(content)


class Disk:
    """Records what happens below `root`; while `armed`, it notes what cuts would leave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.armed = False
        self.label: object = None
        """What the test wants to know of the moment of a cut."""
        self._images: list[Image] = []
        self._real = {name: getattr(os, name) for name in _CHANGES}
        self._lock = threading.RLock()
        self._pins: dict[int, int] = {}
        self._synced: dict[int, bytes] = {}
        self._names: Names = {}
        self._done: list[tuple[str, ...]] = []
        self._inodes: list[int] = []
        self._durable = 0
        for directory, _, files in os.walk(root):
            self._names[self._name(directory)] = 0
            for file in files:
                path = f"{directory}/{file}"
                self._names[self._name(path)] = inode = self._pin(path)
                self._synced[inode] = Path(path).read_bytes()

    def __enter__(self) -> Disk:
        for name in _CHANGES:
            setattr(os, name, self._instead(name))
        return self

    def __exit__(self, *_: object) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)
        for fd in self._pins.values():
            os.close(fd)

    # --- recording ---

    def _name(self, path: str) -> str:
        return os.path.relpath(path, self.root)

    def _pin(self, path: str) -> int:
        """Keep the inode, so that its number is not used again."""
        fd = self._real["open"](path, os.O_RDONLY)
        inode = os.fstat(fd).st_ino
        self._pins.setdefault(inode, fd)
        return inode

    def _note(self, *operation: str, inode: int = 0) -> None:
        self._done.append(operation)
        self._inodes.append(inode)

    def _instead(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def act(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                if self.armed and not (name == "open" and not arguments[1] & os.O_CREAT):
                    self._cut(f"before {name}{arguments[:2]}")
                result = real(*arguments, **options)
                self._follow(name, arguments)
                return result

        return act

    def _follow(self, name: str, arguments: tuple[Any, ...]) -> None:
        match name:
            case "open" if arguments[1] & os.O_CREAT and self._is_ours(arguments[0]):
                self._note("create", self._name(arguments[0]), inode=self._pin(arguments[0]))
            case "rename" | "replace" if self._is_ours(arguments[0]):
                old, new = self._name(arguments[0]), self._name(arguments[1])
                self._note("rename", old, new)
            case "unlink" | "mkdir" if self._is_ours(arguments[0]):
                self._note(name, self._name(arguments[0]))
            case "link" if self._is_ours(arguments[0]):
                inode = os.stat(arguments[0]).st_ino
                self._note("create", self._name(arguments[1]), inode=inode)
            case "fsync" | "fdatasync":
                self._sync(arguments[0])

    def _is_ours(self, path: object) -> bool:
        return str(path).startswith(f"{self.root}/")

    def _sync(self, fd: int) -> None:
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode):
            if found.st_ino in self._pins:
                self._synced[found.st_ino] = self._content(found.st_ino)
            return
        directory = self._name(os.readlink(f"/proc/self/fd/{fd}"))
        for index, operation in enumerate(self._done):
            if directory in map(os.path.dirname, operation[1:]):
                self._durable = max(self._durable, index + 1)

    def _content(self, inode: int) -> bytes:
        fd = self._pins[inode]
        return os.pread(fd, os.fstat(fd).st_size, 0)

    # --- cutting ---

    def cut_now(self) -> None:
        with self._lock:
            self._cut("at rest")

    def _cut(self, when: str) -> None:
        for done in sorted(
            {self._durable, (self._durable + len(self._done)) // 2, len(self._done)}
        ):
            directories, files = self._named(done)
            for kind in _LOSSES:
                content = {name: self._left(name, inode, kind) for name, inode in files.items()}
                told = f"{when}, {done} of {len(self._done)} names, {kind}"
                self._images.append(Image(told, directories, content, self.label))

    def _named(self, done: int) -> tuple[frozenset[str], Names]:
        names = dict(self._names)
        for operation, inode in zip(self._done[:done], self._inodes[:done], strict=True):
            match operation:
                case ("create", name):
                    names[name] = inode
                case ("mkdir", name):
                    names[name] = 0
                case ("unlink", name):
                    del names[name]
                case ("rename", old, new):
                    names[new] = names.pop(old)
                    for name in [name for name in names if name.startswith(f"{old}/")]:
                        names[new + name.removeprefix(old)] = names.pop(name)
        return frozenset(name for name, inode in names.items() if not inode), {
            name: inode for name, inode in names.items() if inode
        }

    def _left(self, name: str, inode: int, kind: str) -> bytes:
        synced, now = self._synced.get(inode, b""), self._content(inode)
        is_sums = name.endswith(".meta")
        match kind:
            case "nothing is lost":
                return now
            case "sums are lost" if not is_sums:
                return now
            case "data is lost" if is_sums:
                return now
            case "data is a hole":
                return now if is_sums else synced[: len(now)].ljust(len(now), b"\0")
        return synced

    def images(self, root: Path) -> Iterator[tuple[str, Path]]:
        """Each different image with its occasion, restored in a directory of its own."""
        for image, path in self.labelled_images(root):
            yield image.when, path

    def labelled_images(self, root: Path) -> Iterator[tuple[Image, Path]]:
        """The same with their labels: images with different labels are different."""
        seen = set()
        for number, image in enumerate(self._images):
            key = (image.label, image.directories, tuple(sorted(image.files.items())))
            if key not in seen:
                seen.add(key)
                path = root / f"cut{number}"
                image.restore(path)
                yield image, path


_CHANGES = (
    *("open", "rename", "replace", "link", "unlink", "mkdir", "fsync", "fdatasync"),
    *("ftruncate", "pwrite", "pwritev", "sendfile"),
)
_LOSSES = (
    "all is lost",
    "nothing is lost",
    "sums are lost",
    "data is lost",
    "data is a hole",
)
