"""Files that are read and written (shell)."""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream
from howdah.mount.failures import Refused
from howdah.mount.mounted_tree import (
    BLOCK_BYTES,
    MODE_BITS,
    Answer,
    MountedTree,
    milliseconds,
)
from howdah.mount.open_files import FileHandle, OpenFile
from howdah.mount.protocol import answers, requests
from howdah.mount.protocol.negotiation import MAX_READ_BYTES
from howdah.mount.protocol.operations import OpenAnswer
from howdah.mount.protocol.requests import Header
from howdah.mount.reading import Reader
from howdah.mount.state.nodes import Node
from howdah.mount.turns import Turn
from howdah.mount.writing import WrittenFile

log = logging.getLogger(__name__)


class FileCalls:
    """Answers what is asked of open files."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree
        self._rooms = threading.local()

    def open(self, header: Header, body: requests.Open) -> Answer:
        node = self._tree.node(header.node_id)
        with ExitStack() as stack:
            fs = stack.enter_context(self._tree.callers.of(header.uid))
            status = self._tree.status(fs, node)
            handle, number = self._opened(fs, node, status, body.flags, stack)
            version = (status.length, status.modification_time_ms)
            changes = handle.writes or bool(body.flags & os.O_TRUNC)
            keep = node.cached_version == version and not changes
            node.cached_version = None if changes else version
        return (answers.opened(number, OpenAnswer.KEEP_CACHE if keep else 0),)

    def _opened(
        self, fs: FileSystem, node: Node, status: FileStatus, flags: int, stack: ExitStack
    ) -> tuple[FileHandle, int]:
        """Open a file that exists. What the handle needs is on `stack`, also if this fails."""
        handle = self._tree.handles.open_file(node, status, fs, flags, stack.pop_all())
        try:
            if handle.writes:
                self._tree.check_writable()
                self._open_for_writing(fs, handle)
            elif handle.reads:
                if flags & os.O_TRUNC:
                    self._empty(fs, handle.file)
                self._reader(handle)
            number = self._tree.handles.add(handle)
        except BaseException:
            self._let_go(handle)
            raise
        return handle, number

    def _open_for_writing(self, fs: FileSystem, handle: FileHandle) -> None:
        file = handle.file
        if handle.reads and not handle.flags & (os.O_TRUNC | os.O_APPEND):
            length = file.status.length if file.written is None else file.written.length
            if length:
                raise Refused(
                    errno.EOPNOTSUPP,
                    "it is opened to read and to write anywhere (O_RDWR), which HDFS cannot do",
                )
        self._tree.check_access(fs, file.node, os.R_OK * handle.reads | os.W_OK)
        self._tree.handles.forget_failure(handle)
        written = self._tree.written(fs, file)
        written.look_again()
        if handle.flags & os.O_TRUNC:
            written.truncate(0)

    def _empty(self, fs: FileSystem, file: OpenFile) -> None:
        """For whoever opens a file to read it, with O_TRUNC."""
        self._tree.check_writable()
        self._tree.check_access(fs, file.node, os.R_OK | os.W_OK)
        written = self._tree.written(fs, file)
        written.look_again()
        written.truncate(0)
        written.close()

    def _reader(self, handle: FileHandle) -> Reader:
        """Opens it for reading with the first call."""
        with handle.lock:
            if handle.reader is None:
                handle.cuts = _cuts(handle.file)
                handle.reader = Reader(lambda: self._open_stream(handle), handle.turns)
            return handle.reader

    def _open_stream(self, handle: FileHandle) -> FSDataInputStream:
        written = handle.file.written
        if written is not None:
            written.hflush()
        return self._tree.at_path(handle.file.node, lambda path: handle.fs.open(path))

    def create(self, header: Header, body: requests.Create) -> Answer:
        tree = self._tree
        tree.check_writable()
        parent = tree.node(header.node_id)
        name, path = tree.below(parent, body.name)
        with ExitStack() as stack:
            fs = stack.enter_context(tree.callers.of(header.uid))
            try:
                stream = fs.create(path, permission=body.mode & MODE_BITS, create_parent=False)
            except errors.PathExists:
                if body.flags & os.O_EXCL:
                    raise
                stream = None
            try:
                status = self._created_status(fs, path, header, body.mode)
                entry = tree.entry(parent, name, status)
                node = tree.node(entry.node_id)
                if stream is None:
                    _, number = self._opened(fs, node, status, body.flags, stack)
                    status = tree.status(fs, node)
                    entry = replace(entry, attributes=tree.attributes(node, status))
                else:
                    handle = tree.handles.open_file(node, status, fs, body.flags, stack.pop_all())
                    with handle.file.lock:
                        handle.file.written = WrittenFile(fs, lambda: tree.path(node), 0, stream)
                    number = tree.handles.add(handle)
            except BaseException:
                if stream is not None:
                    stream.close()
                raise
        return answers.entry(entry), answers.opened(number)

    def _created_status(self, fs: FileSystem, path: str, header: Header, mode: int) -> FileStatus:
        """Of a file that was made just now, which object stores show when it is complete."""
        try:
            return fs.get_file_link_status(path)
        except errors.PathNotFound:
            return FileStatus(
                path=path,
                length=0,
                is_directory=False,
                replication=1,
                block_size=BLOCK_BYTES,
                modification_time_ms=milliseconds(time.time_ns()),
                access_time_ms=0,
                permission=mode & MODE_BITS,
                owner=self._tree.accounts.user(header.uid) or "",
                group=self._tree.accounts.group(header.gid) or "",
            )

    def _handle(self, number: int) -> FileHandle:
        handle = self._tree.handles.file(number)
        if handle is None:
            raise Refused(errno.EBADF, f"there is no open file {number}")
        return handle

    def begin_read(self, header: Header, body: requests.Read) -> Callable[[], Answer]:
        """Take a request in, in the order of the kernel's; what is returned answers it."""
        handle = self._tree.handles.file(body.handle)
        turn = None if handle is None else handle.turns.announce()
        return lambda: self._read(body, turn)

    def _read(self, body: requests.Read, turn: Turn | None) -> Answer:
        """The bytes are the thread's own, until it reads again."""
        if turn is None:
            raise Refused(errno.EBADF, f"there is no open file {body.handle}")
        with turn:
            if body.size > MAX_READ_BYTES:
                raise Refused(errno.EINVAL, f"{body.size} bytes are more than was agreed on")
            handle = self._handle(body.handle)
            reader, file = self._reader(handle), handle.file
            end = body.offset + body.size
            written = file.written
            now = file.node.size if written is None else max(file.node.size, written.length)
            cuts = _cuts(file)
            if cuts != handle.cuts or min(end, now) > reader.length or body.offset >= reader.length:
                handle.cuts = cuts
                reader.reopen()
            room = self._room()[: body.size]
            return (room[: reader.read_into(turn, body.offset, room)],)

    def _room(self) -> memoryview:
        """Where this thread puts the bytes of the answer that it is about to give: memory that is
        used again costs no zeros."""
        room: memoryview | None = getattr(self._rooms, "room", None)
        if room is None:
            room = self._rooms.room = memoryview(bytearray(MAX_READ_BYTES))
        return room

    def write(self, header: Header, body: requests.Write) -> Answer:
        handle = self._handle(body.handle)
        if not handle.writes:
            raise Refused(errno.EBADF, "it is not open for writing")
        offset = None if body.flags & os.O_APPEND else body.offset
        self._tree.written(handle.fs, handle.file).write(offset, body.data)
        handle.has_written = True
        return (answers.written(len(body.data)),)

    def flush(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._handle(body.handle)
        if handle.writes and handle.file.written is not None:
            handle.file.written.flush(of_a_writer=handle.has_written)
        return ()

    def sync(self, header: Header, body: requests.Sync) -> Answer:
        handle = self._handle(body.handle)
        if handle.file.written is not None:
            handle.file.written.hsync()
        return ()

    def release(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._tree.handles.take(body.handle)
        if isinstance(handle, FileHandle):
            self._let_go(handle)
        return ()

    def _let_go(self, handle: FileHandle) -> None:
        """Nobody waits for what this does: what fails is told in the log."""
        file = handle.file
        with handle.stack:
            try:
                if handle.reader is not None:
                    handle.reader.close()
                if self._tree.handles.stop_writing(handle) and file.written is not None:
                    # Before another one can open it alone.
                    file.written.close()
            except (errors.HowdahError, OSError) as error:
                log.warning("%s is not closed in order: %s", self._tree.described(file.node), error)
            try:
                if self._tree.handles.let_go(handle):
                    with file.kept or ExitStack():
                        self._drop_hidden(file)
            except (errors.HowdahError, OSError) as error:
                log.warning("%s is not closed in order: %s", self._tree.described(file.node), error)

    def _drop_hidden(self, file: OpenFile) -> None:
        """Delete a file that was deleted while it was open."""
        node = file.node
        with file.hidden_by() as fs:
            if fs is not None:
                fs.delete(self._tree.path(node))
                with self._tree.lock:
                    if node.parent is not None:
                        self._tree.nodes.removed(node.parent, node.name)

    def close(self) -> list[str]:
        """Complete the files that are being written, and delete those that were deleted while they
        were open; what could not be completed."""
        failed: list[str] = []
        for file in self._tree.handles.all_files():
            try:
                if file.written is not None:
                    file.written.close()
                self._drop_hidden(file)
            except (errors.HowdahError, OSError) as error:
                failed.append(f"{self._tree.described(file.node)}: {error}")
        return failed


def _cuts(file: OpenFile) -> int:
    """How often a file was cut by this mount since it was opened."""
    return file.cuts if file.written is None else file.cuts + file.written.cuts
