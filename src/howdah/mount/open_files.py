"""Files and directories that processes have open (shell).

All who have a file open share what is written to it: HDFS takes one writer. A file that is deleted
while it is open keeps a name of its own in the same directory until the last one closes it.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.mount.listing import Listing
from howdah.mount.reading import Reader
from howdah.mount.state.nodes import Node
from howdah.mount.turns import Turns
from howdah.mount.writing import WrittenFile


class OpenFile:
    """One file, for all who have it open."""

    def __init__(self, node: Node, status: FileStatus) -> None:
        self.node: Final = node
        self.status = status
        """As it was seen last."""
        self.lock: Final = threading.Lock()
        """Held by whoever makes `written`."""
        self.written: WrittenFile | None = None
        self.handles = 0
        self.writers = 0
        self.cuts = 0
        """How often it was cut by this mount, after which it may have other bytes."""
        self.kept: ExitStack | None = None
        """What `written` needs of whoever has opened it first, and has let go of it."""
        self._hidden_by = ExitStack()
        self._hiders_fs: FileSystem | None = None

    def hide(self, fs: FileSystem, stack: ExitStack) -> None:
        """It is deleted through `fs`, and has a name of its own until it is closed."""
        self._hiders_fs, self._hidden_by = fs, stack

    @contextmanager
    def hidden_by(self) -> Iterator[FileSystem | None]:
        """The filesystem of whoever has deleted it, if somebody has, for the last time."""
        with self._hidden_by:
            fs, self._hiders_fs = self._hiders_fs, None
            yield fs


class FileHandle:
    """A file as one process has opened it; `stack` lets go of what it needs."""

    def __init__(self, file: OpenFile, fs: FileSystem, flags: int, stack: ExitStack) -> None:
        self.file: Final = file
        self.fs: Final = fs
        self.flags: Final = flags
        self.stack: Final = stack
        self.lock: Final = threading.Lock()
        """Held by whoever makes `reader`."""
        self.has_written = False
        self.turns: Final = Turns()
        """Of those who read."""
        self.reader: Reader | None = None
        self.cuts = 0
        """How often the file was cut before the reader opened it."""

    @property
    def reads(self) -> bool:
        return self.flags & os.O_ACCMODE in (os.O_RDONLY, os.O_RDWR)

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)


class DirectoryHandle:
    """A directory as one process has opened it."""

    def __init__(self, node: Node, fs: FileSystem, listing: Listing, stack: ExitStack) -> None:
        self.node: Final = node
        self.fs: Final = fs
        self.listing: Final = listing
        self.stack: Final = stack


class Handles:
    """What is open, by the numbers that the kernel got. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._handles: dict[int, FileHandle | DirectoryHandle] = {}
        self._files: dict[int, OpenFile] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def open_file(
        self, node: Node, status: FileStatus, fs: FileSystem, flags: int, stack: ExitStack
    ) -> FileHandle:
        """Another process has the file open from now on."""
        with self._lock:
            file = self._files.get(node.node_id)
            if file is None:
                file = self._files[node.node_id] = OpenFile(node, status)
            handle = FileHandle(file, fs, flags, stack)
            file.status = status
            file.handles += 1
            file.writers += handle.writes
            return handle

    def hide(self, node: Node, fs: FileSystem, stack: ExitStack) -> OpenFile | None:
        """A file is deleted through `fs`, which `stack` lets go of: the last one who has it open
        finds both. None if nobody has it open any more."""
        with self._lock:
            file = self._files.get(node.node_id)
            if file is not None:
                file.hide(fs, stack.pop_all())
            return file

    def forget_failure(self, handle: FileHandle) -> None:
        """Whoever opens a file to write it, and is the only one, begins anew, also if earlier
        writes have failed while others read it."""
        file = handle.file
        with file.lock, self._lock:
            written = file.written
            if file.writers > 1 or written is None or not written.has_failed:
                return
            file.cuts += written.cuts
            file.written = None
            kept, file.kept = file.kept, None
        if kept is not None:
            kept.close()

    def stop_writing(self, handle: FileHandle) -> bool:
        """One less may write to the file; whether that was the last one."""
        file = handle.file
        with self._lock:
            file.writers -= handle.writes
            return handle.writes and not file.writers

    def opened(self, node: Node) -> OpenFile | None:
        """The file, if it is open."""
        return self._files.get(node.node_id)

    def let_go(self, handle: FileHandle) -> bool:
        """One less has it open; whether that was the last one."""
        file = handle.file
        with self._lock:
            file.handles -= 1
            if file.handles:
                written = file.written
                if file.kept is None and written is not None and written.fs is handle.fs:
                    file.kept = handle.stack.pop_all()
                return False
            self._files.pop(file.node.node_id, None)
            return True

    def add(self, handle: FileHandle | DirectoryHandle) -> int:
        with self._lock:
            number = next(self._numbers)
            self._handles[number] = handle
            return number

    def file(self, number: int) -> FileHandle | None:
        found = self._handles.get(number)
        return found if isinstance(found, FileHandle) else None

    def directory(self, number: int) -> DirectoryHandle | None:
        found = self._handles.get(number)
        return found if isinstance(found, DirectoryHandle) else None

    def take(self, number: int) -> FileHandle | DirectoryHandle | None:
        with self._lock:
            return self._handles.pop(number, None)

    def all_files(self) -> list[OpenFile]:
        with self._lock:
            return list(self._files.values())
