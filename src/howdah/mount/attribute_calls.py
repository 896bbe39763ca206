"""Attributes of files: times, owners, modes, extended ones (shell)."""

from __future__ import annotations

import errno
import os
import time
from contextlib import ExitStack
from typing import Final

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.mount import times
from howdah.mount.failures import Refused
from howdah.mount.mounted_tree import (
    LONGEST_NAME_BYTES,
    MODE_BITS,
    Answer,
    MountedTree,
    for_owners,
    milliseconds,
)
from howdah.mount.open_files import FileHandle
from howdah.mount.protocol import answers, requests
from howdah.mount.protocol.operations import (
    GETATTR_FH,
    AttributeFlag,
    SetAttribute,
)
from howdah.mount.protocol.requests import Header
from howdah.mount.state.nodes import Node
from howdah.mount.writing import WrittenFile

_UNIT_BYTES: Final = 4096
_ATTRIBUTE_SPACES: Final = (b"user.", b"trusted.")
"""Of the attributes that HDFS keeps; others of the kernel (`security.`, `system.`) it has not."""


class AttributeCalls:
    """Answers what is asked of attributes."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree

    def get_attributes(self, header: Header, body: requests.GetAttributes) -> Answer:
        node = self._tree.node(header.node_id)
        handle = self._tree.handles.file(body.handle) if body.flags & GETATTR_FH else None
        if handle is not None:
            return self._tree.attribute_answer(node, self._tree.status(handle.fs, node))
        with self._tree.callers.of(header.uid) as fs:
            return self._tree.attribute_answer(node, self._tree.status(fs, node))

    def set_attributes(self, header: Header, body: requests.SetAttributes) -> Answer:
        self._tree.check_writable()
        node = self._tree.node(header.node_id)
        valid = SetAttribute(body.valid)
        handle = self._tree.handles.file(body.handle) if valid & SetAttribute.FH else None
        with ExitStack() as stack:
            fs = (
                stack.enter_context(self._tree.callers.of(header.uid))
                if handle is None
                else handle.fs
            )
            if valid & SetAttribute.SIZE:
                self._truncate(fs, node, handle, body.size)
            if valid & SetAttribute.MODE:
                mode = body.mode & MODE_BITS
                with for_owners():
                    self._tree.at_path(node, lambda path: fs.set_permission(path, mode))
            if valid & (SetAttribute.UID | SetAttribute.GID):
                self._set_owner(fs, node, valid, body)
            if valid & (SetAttribute.ATIME | SetAttribute.MTIME):
                self._set_times(header, fs, node, valid, body)
            return self._tree.attribute_answer(node, self._tree.status(fs, node))

    def _truncate(self, fs: FileSystem, node: Node, handle: FileHandle | None, length: int) -> None:
        file = self._tree.handles.opened(node)
        if file is None or (handle is None and file.written is None):
            status = self._tree.status(fs, node)
            if length > status.length:
                # Who may not write hears that, and not that HDFS has no holes.
                self._tree.check_access(fs, node, os.W_OK)
            once = WrittenFile(fs, lambda: self._tree.path(node), status.length)
            once.truncate(length)
            once.close()
            if file is not None:
                file.cuts += once.cuts
            return
        if handle is None:
            # Whoever has opened the file cuts it, and may be another user.
            self._tree.check_access(fs, node, os.W_OK)
        self._tree.written(fs, file).truncate(length)

    def _set_owner(
        self, fs: FileSystem, node: Node, valid: SetAttribute, body: requests.SetAttributes
    ) -> None:
        owner = group = None
        status = self._tree.status(fs, node)
        if valid & SetAttribute.UID and body.uid != self._tree.accounts.uid(status.owner):
            owner = self._tree.accounts.user(body.uid)
            if owner is None:
                raise Refused(errno.EPERM, f"user {body.uid} has no name on this machine")
        if valid & SetAttribute.GID and body.gid != self._tree.accounts.gid(status.group):
            group = self._tree.accounts.group(body.gid)
            if group is None:
                raise Refused(errno.EPERM, f"group {body.gid} has no name on this machine")
        if owner is None and group is None:
            return
        with for_owners():
            self._tree.at_path(node, lambda path: fs.set_owner(path, owner, group))

    def _set_times(
        self,
        header: Header,
        fs: FileSystem,
        node: Node,
        valid: SetAttribute,
        body: requests.SetAttributes,
    ) -> None:
        now_ns = time.time_ns()
        mtime_ms = atime_ms = -1
        if valid & SetAttribute.MTIME:
            mtime_ms = milliseconds(now_ns if valid & SetAttribute.MTIME_NOW else body.mtime_ns)
        if valid & SetAttribute.ATIME:
            atime_ms = milliseconds(now_ns if valid & SetAttribute.ATIME_NOW else body.atime_ns)
        file = self._tree.handles.opened(node)
        written = None if file is None else file.written
        if written is not None:
            # Whoever has opened the file sets them, and may be another user.
            if (
                written.is_open
                and self._tree.accounts.uid(self._tree.status(fs, node).owner) != header.uid
            ):
                self._tree.check_access(fs, node, os.W_OK)
            if written.is_open and not times.are_kept(fs, self._tree.path(node)):
                # Said at once: when the file is closed, it would look like bytes that are lost.
                self._check_are_of_now(valid)
                return
            if written.set_times(mtime_ms, atime_ms):
                return
        self._tree.at_path(node, lambda path: times.set_times(fs, path, mtime_ms, atime_ms))

    def _check_are_of_now(self, valid: SetAttribute) -> None:
        """Those that a file gets by itself when it is complete. Raises Refused for others."""
        for given, now in (
            (SetAttribute.MTIME, SetAttribute.MTIME_NOW),
            (SetAttribute.ATIME, SetAttribute.ATIME_NOW),
        ):
            if valid & given and not valid & now:
                raise Refused(errno.EOPNOTSUPP, "the filesystem keeps no times that are set")

    def access(self, header: Header, body: requests.Access) -> Answer:
        node = self._tree.node(header.node_id)
        if body.mask & os.W_OK:
            self._tree.check_writable()
        with self._tree.callers.of(header.uid) as fs:
            self._tree.check_access(fs, node, body.mask & (os.R_OK | os.W_OK | os.X_OK))
        return ()

    def statistics(self, header: Header, body: requests.Plain) -> Answer:
        node = self._tree.node(header.node_id)
        with self._tree.callers.of(header.uid) as fs:
            try:
                found = self._tree.at_path(node, fs.get_status)
            except errors.UnsupportedOperation:
                return (answers.statistics(0, 0, _UNIT_BYTES, LONGEST_NAME_BYTES),)
        return (
            answers.statistics(found.capacity, found.remaining, _UNIT_BYTES, LONGEST_NAME_BYTES),
        )

    def set_extended(self, header: Header, body: requests.SetExtendedAttribute) -> Answer:
        self._tree.check_writable()
        name = _attribute_name(body.name, errno.EOPNOTSUPP)
        node = self._tree.node(header.node_id)
        must_be_new = bool(body.flags & AttributeFlag.CREATE)
        must_be_there = bool(body.flags & AttributeFlag.REPLACE)
        with self._tree.callers.of(header.uid) as fs:
            if must_be_new or must_be_there:
                is_there = name in self._tree.at_path(node, fs.list_xattrs)
                if must_be_new and is_there:
                    raise errors.PathExists(f"the attribute {name} is there already")
                if must_be_there and not is_there:
                    raise Refused(errno.ENODATA, f"there is no attribute {name}")
            self._tree.at_path(
                node,
                lambda path: fs.set_xattr(
                    path, name, body.value, create=not must_be_there, replace=not must_be_new
                ),
            )
        return ()

    def get_extended(self, header: Header, body: requests.GetExtendedAttribute) -> Answer:
        name = _attribute_name(body.name, errno.ENODATA)
        node = self._tree.node(header.node_id)
        with self._tree.callers.of(header.uid) as fs:
            value = self._tree.at_path(node, lambda path: fs.get_xattr(path, name))
        return _of_size(value, body.size)

    def list_extended(self, header: Header, body: requests.GetExtendedAttribute) -> Answer:
        node = self._tree.node(header.node_id)
        with self._tree.callers.of(header.uid) as fs:
            try:
                names = self._tree.at_path(node, fs.list_xattrs)
            except errors.UnsupportedOperation:
                names = []
        shown = [name.encode() for name in names]
        shown = [name for name in shown if name.startswith(_ATTRIBUTE_SPACES)]
        return _of_size(b"".join(name + b"\0" for name in shown), body.size)

    def remove_extended(self, header: Header, body: requests.Named) -> Answer:
        self._tree.check_writable()
        name = _attribute_name(body.name, errno.ENODATA)
        node = self._tree.node(header.node_id)
        with self._tree.callers.of(header.uid) as fs:
            if name not in self._tree.at_path(node, fs.list_xattrs):
                raise Refused(errno.ENODATA, f"there is no attribute {name}")
            self._tree.at_path(node, lambda path: fs.remove_xattr(path, name))
        return ()


def _attribute_name(name: bytes, number: int) -> str:
    """Raises Refused with `number` for attributes that are not HDFS's."""
    if not name.startswith(_ATTRIBUTE_SPACES):
        raise Refused(number, f"there are no attributes {name!r} here")
    return name.decode("utf-8", "surrogateescape")


def _of_size(value: bytes, size: int) -> Answer:
    """A value, or how long it is, if nothing is said of room for it."""
    if not size:
        return (answers.value_size(len(value)),)
    if len(value) > size:
        raise Refused(errno.ERANGE, f"{len(value)} bytes do not fit into {size}")
    return (value,)
