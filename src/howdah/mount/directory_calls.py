"""Directories that are listed (shell)."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.mount.failures import Refused
from howdah.mount.listing import Listing
from howdah.mount.mounted_tree import (
    Answer,
    MountedTree,
    kind_of,
)
from howdah.mount.open_files import DirectoryHandle
from howdah.mount.protocol import answers, requests
from howdah.mount.protocol.answers import DirectoryEntry
from howdah.mount.protocol.operations import Operation
from howdah.mount.protocol.requests import Header
from howdah.mount.state.nodes import Node

_DOTS: Final = 2
"""`.` and `..` come first in a listing."""
_UNKNOWN_INODE: Final = 0xFFFFFFFF
"""The kernel asks for it when somebody wants to know."""


class DirectoryCalls:
    """Answers what is asked of open directories."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree

    def open_directory(self, header: Header, body: requests.Open) -> Answer:
        node = self._tree.node(header.node_id)
        with ExitStack() as stack:
            fs = stack.enter_context(self._tree.callers.of(header.uid))
            listing = Listing(lambda: self._fetched(fs, node), lambda: node.changes)
            listing.begin()
            number = self._tree.handles.add(DirectoryHandle(node, fs, listing, stack.pop_all()))
        return (answers.opened(number),)

    def _fetched(self, fs: FileSystem, node: Node) -> Iterator[FileStatus]:
        for status in fs.list_status_iter(self._tree.path(node)):
            if not status.name.startswith(self._tree.hidden_prefix):
                yield status

    def list(self, header: Header, body: requests.Read) -> Answer:
        handle = self._tree.handles.directory(body.handle)
        if handle is None:
            raise Refused(errno.EBADF, f"there is no open directory {body.handle}")
        plus = header.operation == Operation.READDIRPLUS
        node = handle.node
        parts: list[bytes] = []
        room = body.size

        def put(entry: DirectoryEntry) -> bool:
            nonlocal room
            packed = answers.directory_entry(entry, with_attributes=plus)
            if len(packed) > room:
                return False
            room -= len(packed)
            parts.append(packed)
            return True

        above = node.parent or node
        for number, (name, at) in enumerate(((b".", node), (b"..", above))):
            dots = DirectoryEntry(name, at.node_id, number + 1, stat.S_IFDIR)
            if body.offset <= number and not put(dots):
                return parts

        def accept(number: int, status: FileStatus) -> bool:
            name = status.name.encode("utf-8", "surrogateescape")
            offset = number + _DOTS + 1
            size = len(
                answers.directory_entry(DirectoryEntry(name, 0, offset, 0), with_attributes=plus)
            )
            if size > room:
                # Nothing is looked up that the kernel does not hear of.
                return False
            if not plus:
                return put(DirectoryEntry(name, _UNKNOWN_INODE, offset, kind_of(status)))
            # What the listing says is as old as its page: the kernel asks for what has changed.
            listing = handle.listing
            entry = (
                self._tree.listed_entry(node, status.name, status) if listing.is_current else None
            )
            inode = _UNKNOWN_INODE if entry is None else entry.node_id
            return put(DirectoryEntry(name, inode, offset, kind_of(status), entry))

        try:
            handle.listing.take(max(body.offset - _DOTS, 0), accept)
        except (errors.HowdahError, OSError):
            if not parts:
                raise
            # The kernel has to hear of what was looked up. The next request begins anew.
        return parts

    def release_directory(self, header: Header, body: requests.Handle) -> Answer:
        handle = self._tree.handles.take(body.handle)
        if handle is not None:
            handle.stack.close()
        return ()
