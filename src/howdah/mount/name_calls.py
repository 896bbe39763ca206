"""Names: found, made, removed and changed (shell)."""

from __future__ import annotations

import errno
import stat
from contextlib import ExitStack

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.mount.failures import Refused
from howdah.mount.mounted_tree import (
    MODE_BITS,
    Answer,
    MountedTree,
    link_target,
)
from howdah.mount.protocol import answers, requests
from howdah.mount.protocol.operations import RenameFlag
from howdah.mount.protocol.requests import Header
from howdah.mount.state.nodes import Node


class NameCalls:
    """Answers what is asked of names in directories."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree

    def look_up(self, header: Header, body: requests.Named) -> Answer:
        parent = self._tree.node(header.node_id)
        name, path = self._tree.below(parent, body.name)
        with self._tree.lock:
            known = self._tree.nodes.child(parent, name)
        with self._tree.callers.of(header.uid) as fs:
            try:
                status = self._tree.asked(known, lambda: fs.get_file_link_status(path))
            except errors.InvalidPath as error:
                raise errors.PathNotFound(str(error)) from error
        return (answers.entry(self._tree.entry(parent, name, status)),)

    def forget(self, header: Header, body: requests.Forget) -> Answer:
        with self._tree.lock:
            for node_id, lookups in body.nodes:
                self._tree.nodes.forget(node_id, lookups)
        return None

    def read_link(self, header: Header, body: requests.Plain) -> Answer:
        node = self._tree.node(header.node_id)
        with self._tree.callers.of(header.uid) as fs:
            status = self._tree.status(fs, node)
        if not status.is_symlink:
            raise Refused(errno.EINVAL, f"{status.path} is no symbolic link")
        return (link_target(status).encode("utf-8", "surrogateescape"),)

    def make_hard_link(self, header: Header, body: requests.HardLink) -> Answer:
        raise Refused(errno.EPERM, "HDFS has no hard links")

    def make_link(self, header: Header, body: requests.MakeLink) -> Answer:
        self._tree.check_writable()
        parent = self._tree.node(header.node_id)
        name, path = self._tree.below(parent, body.name)
        target = body.target.decode("utf-8", "surrogateescape")
        with self._tree.callers.of(header.uid) as fs:
            if not fs.supports_symlinks() or target.startswith("/"):
                raise Refused(errno.EPERM, f"{path}: {fs.uri} makes no symbolic links")
            fs.create_symlink(target, path, create_parent=False)
            status = fs.get_file_link_status(path)
        return (answers.entry(self._tree.entry(parent, name, status)),)

    def make_node(self, header: Header, body: requests.MakeNode) -> Answer:
        self._tree.check_writable()
        parent = self._tree.node(header.node_id)
        name, path = self._tree.below(parent, body.name)
        if stat.S_IFMT(body.mode) not in (0, stat.S_IFREG):
            raise Refused(errno.EPERM, f"{path}: HDFS has no devices, pipes and sockets")
        with self._tree.callers.of(header.uid) as fs:
            mode = body.mode & MODE_BITS
            fs.create(path, permission=mode, create_parent=False).close()
            status = fs.get_file_link_status(path)
        return (answers.entry(self._tree.entry(parent, name, status)),)

    def make_directory(self, header: Header, body: requests.MakeNode) -> Answer:
        self._tree.check_writable()
        parent = self._tree.node(header.node_id)
        name, path = self._tree.below(parent, body.name)
        with self._tree.callers.of(header.uid) as fs:
            # HDFS's namenodes answer as if they had made a directory that is there.
            if fs.exists(path):
                raise errors.PathExists(f"{path} already exists")
            fs.mkdir(path, body.mode & MODE_BITS)
            status = fs.get_file_link_status(path)
        return (answers.entry(self._tree.entry(parent, name, status)),)

    def unlink(self, header: Header, body: requests.Named) -> Answer:
        self._tree.check_writable()
        parent = self._tree.node(header.node_id)
        name, path = self._tree.below(parent, body.name)
        with self._tree.callers.of(header.uid) as fs:
            with self._tree.lock:
                node = self._tree.nodes.child(parent, name)
            if node is not None and self._tree.handles.opened(node) is not None:
                hidden = f"{self._tree.hidden_prefix}{node.node_id}"
                hidden_path = f"{path[: -len(name)]}{hidden}"
                fs.rename(path, hidden_path)
                with self._tree.lock:
                    self._tree.nodes.renamed(parent, name, parent, hidden)
                with ExitStack() as stack:
                    owner = stack.enter_context(self._tree.callers.of(header.uid))
                    file = self._tree.handles.hide(node, owner, stack)
                if file is not None:
                    if file.written is not None:
                        file.written.abandon()
                    return ()
                # The last one has closed it meanwhile.
                name, path = hidden, hidden_path
            if not fs.delete(path):
                raise errors.PathNotFound(f"{path} is not there")
        with self._tree.lock:
            self._tree.nodes.removed(parent, name)
        return ()

    def remove_directory(self, header: Header, body: requests.Named) -> Answer:
        tree = self._tree
        tree.check_writable()
        parent = tree.node(header.node_id)
        name, path = tree.below(parent, body.name)
        with tree.callers.of(header.uid) as fs:
            if not fs.get_file_link_status(path).is_directory:
                raise errors.PathIsNotDirectory(f"{path} is no directory")
            try:
                is_gone = fs.delete(path)
            except errors.DirectoryNotEmpty:
                if not self._cleared(fs, parent, name, path):
                    raise
                is_gone = fs.delete(path)
            if not is_gone:
                raise errors.PathNotFound(f"{path} is not there")
        with tree.lock:
            tree.nodes.removed(parent, name)
        return ()

    def _cleared(self, fs: FileSystem, parent: Node, name: str, path: str) -> bool:
        """Move files that were deleted while they were open out of a directory, if it has no
        others: to those who list it, it is empty."""
        tree = self._tree
        hidden = [each.name for each in fs.list_status_iter(path)]
        with tree.lock:
            directory = tree.nodes.child(parent, name)
        if directory is None or not all(each.startswith(tree.hidden_prefix) for each in hidden):
            return False
        above = tree.path(parent).rstrip("/")
        for each in hidden:
            fs.rename(f"{path}/{each}", f"{above}/{each}")
            with tree.lock:
                tree.nodes.renamed(directory, each, parent, each)
        return True

    def rename(self, header: Header, body: requests.Rename) -> Answer:
        self._tree.check_writable()
        if body.flags & ~RenameFlag.NOREPLACE:
            raise Refused(errno.EINVAL, f"renames with flags {body.flags:#x} are not possible")
        parent, new_parent = self._tree.node(header.node_id), self._tree.node(body.new_parent)
        name, path = self._tree.below(parent, body.name)
        new_name, new_path = self._tree.below(new_parent, body.new_name)
        with self._tree.callers.of(header.uid) as fs:
            try:
                fs.rename(path, new_path, overwrite=not body.flags & RenameFlag.NOREPLACE)
            except errors.RemoteError as error:
                if error.errno == errno.EXDEV and _are_one_file(fs, path, new_path):
                    # `mv` would copy it onto itself. As of hard links, both names stay.
                    return ()
                # A namenode says it in words alone.
                if _has_entries(fs, new_path):
                    raise Refused(errno.ENOTEMPTY, str(error)) from error
                raise
        with self._tree.lock:
            replaced = self._tree.nodes.renamed(parent, name, new_parent, new_name)
            moved = self._tree.nodes.child(new_parent, new_name)
            if moved is not None and moved.is_directory:
                # Until it is looked up again, for it may be in another directory now.
                _make_private(moved)
        gone = None if replaced is None else self._tree.handles.opened(replaced)
        if gone is not None and gone.written is not None:
            gone.written.abandon()
        return ()


def _are_one_file(fs: FileSystem, path: str, other: str) -> bool:
    """Whether two names, as by two mount points of a view, lead to one file."""
    try:
        here, there = fs.get_file_link_status(path), fs.get_file_link_status(other)
    except errors.HowdahError:
        return False
    return (
        not here.is_directory
        and bool(here.file_id)
        and (here.file_id, here.modification_time_ms, here.length)
        == (there.file_id, there.modification_time_ms, there.length)
    )


def _has_entries(fs: FileSystem, path: str) -> bool:
    """Whether it is a directory that is not empty."""
    try:
        return fs.get_file_link_status(path).is_directory and any(fs.list_status_iter(path))
    except errors.HowdahError:
        return False


def _make_private(node: Node) -> None:
    below = [node]
    while below:
        at = below.pop()
        at.is_public = False
        below.extend(at.children.values())
