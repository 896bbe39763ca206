"""What becomes of the kernel's requests (shell).

`Calls.begin` takes a request, and gives what answers it: with the parts of an answer, or by
raising an error of `howdah.errors`, or `Refused`. Many threads answer at once. The kernel asks one
thing at a time of a directory that it changes, so names need no locks beyond that of their table.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from howdah.mount.attribute_calls import AttributeCalls
from howdah.mount.directory_calls import DirectoryCalls
from howdah.mount.failures import Refused
from howdah.mount.file_calls import FileCalls
from howdah.mount.mounted_tree import Answer, MountedTree
from howdah.mount.name_calls import NameCalls
from howdah.mount.protocol import answers
from howdah.mount.protocol.answers import Buffer
from howdah.mount.protocol.operations import Operation
from howdah.mount.protocol.requests import Body, Forget, Handle, Header, Open, Read, Rename

_QUESTIONS: Final = frozenset(
    (
        Operation.LOOKUP,
        Operation.GETATTR,
        Operation.READLINK,
        Operation.ACCESS,
        Operation.READ,
        Operation.OPENDIR,
        Operation.READDIR,
        Operation.READDIRPLUS,
        Operation.STATFS,
        Operation.GETXATTR,
        Operation.LISTXATTR,
    )
)
_CHANGES: Final = frozenset(
    (
        Operation.SETATTR,
        Operation.SYMLINK,
        Operation.MKNOD,
        Operation.MKDIR,
        Operation.UNLINK,
        Operation.RMDIR,
        Operation.RENAME,
        Operation.RENAME2,
        Operation.CREATE,
        Operation.WRITE,
    )
)
"""What changes a file, or which names a directory has."""


class Calls:
    """Answers for one mounted directory."""

    def __init__(self, tree: MountedTree) -> None:
        self._tree = tree
        names, attributes = NameCalls(tree), AttributeCalls(tree)
        self._names = names
        self._files = files = FileCalls(tree)
        self._directories = directories = DirectoryCalls(tree)
        self._by_operation: dict[int, Callable[[Header, Any], Answer]] = {
            Operation.LOOKUP: names.look_up,
            Operation.FORGET: names.forget,
            Operation.BATCH_FORGET: names.forget,
            Operation.GETATTR: attributes.get_attributes,
            Operation.SETATTR: attributes.set_attributes,
            Operation.READLINK: names.read_link,
            Operation.SYMLINK: names.make_link,
            Operation.LINK: names.make_hard_link,
            Operation.MKNOD: names.make_node,
            Operation.MKDIR: names.make_directory,
            Operation.UNLINK: names.unlink,
            Operation.RMDIR: names.remove_directory,
            Operation.RENAME: names.rename,
            Operation.RENAME2: names.rename,
            Operation.OPEN: files.open,
            Operation.CREATE: files.create,
            Operation.WRITE: files.write,
            Operation.FLUSH: files.flush,
            Operation.FSYNC: files.sync,
            Operation.RELEASE: files.release,
            Operation.OPENDIR: directories.open_directory,
            Operation.READDIR: directories.list,
            Operation.READDIRPLUS: directories.list,
            Operation.RELEASEDIR: directories.release_directory,
            Operation.FSYNCDIR: _nothing,
            Operation.STATFS: attributes.statistics,
            Operation.ACCESS: attributes.access,
            Operation.SETXATTR: attributes.set_extended,
            Operation.GETXATTR: attributes.get_extended,
            Operation.LISTXATTR: attributes.list_extended,
            Operation.REMOVEXATTR: attributes.remove_extended,
            Operation.DESTROY: _nothing,
        }

    def begin(self, header: Header, body: Body) -> Callable[[], Answer]:
        """Take a request in, in the order in which the kernel asks, and do not wait. What is
        returned has to be called, gives the parts of an answer, and raises HowdahError, OSError,
        Refused."""
        if header.operation == Operation.READ:
            assert isinstance(body, Read)
            return self._files.begin_read(header, body)
        return lambda: self._answer(header, body)

    def _answer(self, header: Header, body: Body) -> Answer:
        call = self._by_operation.get(header.operation)
        if call is None:
            raise Refused(errno.ENOSYS, f"operation {header.operation} is not expected now")
        if not self._may_change(header, body):
            return call(header, body)
        try:
            return call(header, body)
        finally:
            # Also if it has failed: nobody knows how far it came.
            self._tree.changed(header.node_id)
            if isinstance(body, Rename):
                self._tree.changed(body.new_parent)

    def _may_change(self, header: Header, body: Body) -> bool:
        """Whether a listing that is older than a request may be wrong after it."""
        if header.operation == Operation.OPEN:
            return isinstance(body, Open) and bool(body.flags & (os.O_ACCMODE | os.O_TRUNC))
        if header.operation in (Operation.FLUSH, Operation.RELEASE):
            handle = self._tree.handles.file(body.handle) if isinstance(body, Handle) else None
            return handle is not None and handle.writes
        return header.operation in _CHANGES

    def may_be_given_up(self, header: Header, body: Body) -> bool:
        """Whether a request only asks, so that nobody needs to wait for its end."""
        if isinstance(body, Open) and header.operation == Operation.OPEN:
            return not body.flags & (os.O_ACCMODE | os.O_TRUNC)
        return header.operation in _QUESTIONS

    def take_back(self, header: Header, answer: Sequence[Buffer]) -> None:
        """The kernel never hears of an answer to such a request: what it has opened is closed, and
        what it has looked up is forgotten."""
        if header.operation == Operation.OPEN:
            self._files.release(header, Handle(answers.handle_of(answer[0])))
        elif header.operation == Operation.OPENDIR:
            self._directories.release_directory(header, Handle(answers.handle_of(answer[0])))
        elif header.operation in (Operation.LOOKUP, Operation.READDIRPLUS):
            nodes = tuple((node, 1) for node in map(answers.node_of, answer) if node)
            self._names.forget(header, Forget(nodes))

    def about(self, header: Header) -> str:
        """What a request is about, for a log."""
        with self._tree.lock:
            node = self._tree.nodes.get(header.node_id)
            path = None if node is None else self._tree.nodes.path_of(node)
        return path or f"node {header.node_id}"

    def close(self) -> list[str]:
        """Complete the files that are being written; what could not be completed."""
        return self._files.close()


def _nothing(header: Header, body: Body) -> Answer:
    return ()
