"""The kernel's side of FUSE's protocol: requests as bytes, answers taken apart.

It is written from `linux/fuse.h` for itself, so that a mistake in a structure of
`howdah.mount.protocol` is not made twice.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from howdah.mount.calls import Calls
from howdah.mount.protocol.operations import ROOT_ID, Operation
from howdah.mount.session import Session

_HEADER = struct.Struct("=LLQQLLLHH")
_ANSWER = struct.Struct("=LlQ")
BUFFER = 2 << 20
WAIT_S = 30.0


def request(
    operation: int, body: bytes = b"", *, unique: int = 2, node: int = ROOT_ID, uid: int = 0
) -> bytes:
    """A request with its header."""
    return _HEADER.pack(_HEADER.size + len(body), operation, unique, node, uid, uid, 7, 0, 0) + body


def init(major: int = 7, minor: int = 31, flags: int = 0xFFFFFFFF) -> bytes:
    """The body of INIT, as Linux 6 sends it."""
    return struct.pack("=LLLLL44x", major, minor, 131072, flags & 0xFFFFFFFF, 0)


def setattr_body(
    valid: int,
    *,
    handle: int = 0,
    size: int = 0,
    atime: tuple[int, int] = (0, 0),
    mtime: tuple[int, int] = (0, 0),
    mode: int = 0,
    uid: int = 0,
    gid: int = 0,
) -> bytes:
    """The body of SETATTR; times in seconds and nanoseconds."""
    return (
        struct.pack("=LLQQQ", valid, 0, handle, size, 0)
        + struct.pack("=qqq", atime[0], mtime[0], 0)
        + struct.pack("=LLL", atime[1], mtime[1], 0)
        + struct.pack("=LLLLL", mode, 0, uid, gid, 0)
    )


class Failed(OSError):
    """The answer is an error."""


@dataclass(frozen=True)
class Stat:
    """What an answer says of a file."""

    inode: int
    size: int
    blocks: int
    atime_s: int
    mtime_s: int
    atime_ns: int
    mtime_ns: int
    mode: int
    links: int
    uid: int
    gid: int
    block_bytes: int

    @classmethod
    def of(cls, data: bytes) -> Stat:
        (
            ino,
            size,
            blocks,
            atime,
            mtime,
            _,
            atime_ns,
            mtime_ns,
            _,
            mode,
            links,
            uid,
            gid,
            _,
            block,
            _,
        ) = struct.unpack("=QQQqqqLLLLLLLLLL", data)
        return cls(
            ino, size, blocks, atime, mtime, atime_ns, mtime_ns, mode, links, uid, gid, block
        )


@dataclass(frozen=True)
class Found:
    """The answer to a LOOKUP."""

    node: int
    entry_timeout_s: float
    attribute_timeout_s: float
    stat: Stat

    @classmethod
    def of(cls, data: bytes) -> Found:
        node, _, entry_s, attribute_s, entry_ns, attribute_ns = struct.unpack("=QQQQLL", data[:40])
        return cls(
            node, entry_s + entry_ns / 1e9, attribute_s + attribute_ns / 1e9, Stat.of(data[40:])
        )


@dataclass(frozen=True)
class Listed:
    """An entry of a listing."""

    name: bytes
    inode: int
    offset: int
    kind: int
    found: Found | None


def listed(data: bytes, *, plus: bool) -> list[Listed]:
    """The entries of an answer to READDIR or READDIRPLUS."""
    entries = []
    while data:
        found = None
        if plus:
            found, data = Found.of(data[:128]), data[128:]
        inode, offset, length, kind = struct.unpack("=QQLL", data[:24])
        entries.append(Listed(data[24 : 24 + length], inode, offset, kind, found))
        data = data[24 + -(-length // 8) * 8 :]
    return entries


class FakeKernel:
    """Asks over a socket, one thing at a time unless several threads ask."""

    def __init__(self, descriptor: socket.socket) -> None:
        self._socket = descriptor
        self._socket.settimeout(WAIT_S)
        self._uniques = itertools.count(2, 2)
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        self._socket.send(data)

    def receive(self) -> tuple[int, int, bytes]:
        """The number of the request, the error, and what follows."""
        data = self._socket.recv(BUFFER)
        length, error, unique = _ANSWER.unpack_from(data)
        assert length == len(data), (length, len(data))
        return unique, -error, data[_ANSWER.size :]

    def ask(self, operation: int, body: bytes = b"", *, node: int = ROOT_ID, uid: int = 0) -> bytes:
        """Raises Failed for an error."""
        with self._lock:
            unique = next(self._uniques)
            self.send(request(operation, body, unique=unique, node=node, uid=uid))
            answered, error, data = self.receive()
        assert answered == unique
        if error:
            raise Failed(error, os.strerror(error))
        return data

    # --- what programs do -----------------------------------------------------------------

    def lookup(self, name: bytes, node: int = ROOT_ID, uid: int = 0) -> Found:
        return Found.of(self.ask(Operation.LOOKUP, name + b"\0", node=node, uid=uid))

    def getattr(self, node: int = ROOT_ID, handle: int | None = None, uid: int = 0) -> Stat:
        body = struct.pack("=LLQ", handle is not None, 0, handle or 0)
        return Stat.of(self.ask(Operation.GETATTR, body, node=node, uid=uid)[16:])

    def setattr(self, node: int, valid: int, **fields: object) -> Stat:
        body = setattr_body(valid, **fields)  # type: ignore[arg-type]
        return Stat.of(self.ask(Operation.SETATTR, body, node=node)[16:])

    def create(
        self, name: bytes, flags: int = os.O_WRONLY, mode: int = 0o644, node: int = ROOT_ID
    ) -> tuple[Found, int]:
        body = struct.pack("=LLLL", flags | os.O_CREAT, 0o100000 | mode, 0o22, 0) + name + b"\0"
        data = self.ask(Operation.CREATE, body, node=node)
        handle, _, _ = struct.unpack("=QLL", data[128:])
        return Found.of(data[:128]), handle

    def open(self, node: int, flags: int = os.O_RDONLY, uid: int = 0) -> int:
        data = self.ask(Operation.OPEN, struct.pack("=LL", flags, 0), node=node, uid=uid)
        handle: int = struct.unpack("=QLL", data)[0]
        return handle

    def open_flags(self, node: int, flags: int = os.O_RDONLY) -> tuple[int, int]:
        """The handle, and how the kernel is to treat the file."""
        data = self.ask(Operation.OPEN, struct.pack("=LL", flags, 0), node=node)
        handle, how, _ = struct.unpack("=QLL", data)
        return handle, how

    def read(self, node: int, handle: int, offset: int, size: int) -> bytes:
        body = struct.pack("=QQLLQLL", handle, offset, size, 0, 0, 0, 0)
        return self.ask(Operation.READ, body, node=node)

    def write(self, node: int, handle: int, offset: int, data: bytes, flags: int = 1) -> int:
        body = struct.pack("=QQLLQLL", handle, offset, len(data), 0, 0, flags, 0) + data
        count: int = struct.unpack("=LL", self.ask(Operation.WRITE, body, node=node))[0]
        return count

    def flush(self, node: int, handle: int) -> None:
        self.ask(Operation.FLUSH, struct.pack("=QLLQ", handle, 0, 0, 0), node=node)

    def fsync(self, node: int, handle: int) -> None:
        self.ask(Operation.FSYNC, struct.pack("=QLL", handle, 0, 0), node=node)

    def release(self, node: int, handle: int) -> None:
        self.ask(Operation.RELEASE, struct.pack("=QLLQ", handle, 0, 0, 0), node=node)

    def close(self, node: int, handle: int) -> None:
        """As close(2) does, and waits for the end of it."""
        self.flush(node, handle)
        self.release(node, handle)

    def mkdir(self, name: bytes, mode: int = 0o755, node: int = ROOT_ID) -> Found:
        body = struct.pack("=LL", mode, 0o22) + name + b"\0"
        return Found.of(self.ask(Operation.MKDIR, body, node=node))

    def unlink(self, name: bytes, node: int = ROOT_ID) -> None:
        self.ask(Operation.UNLINK, name + b"\0", node=node)

    def rmdir(self, name: bytes, node: int = ROOT_ID) -> None:
        self.ask(Operation.RMDIR, name + b"\0", node=node)

    def rename(
        self,
        old: bytes,
        new: bytes,
        *,
        node: int = ROOT_ID,
        new_node: int = ROOT_ID,
        flags: int | None = None,
    ) -> None:
        names = old + b"\0" + new + b"\0"
        if flags is None:
            self.ask(Operation.RENAME, struct.pack("=Q", new_node) + names, node=node)
        else:
            body = struct.pack("=QLL", new_node, flags, 0) + names
            self.ask(Operation.RENAME2, body, node=node)

    def forget(self, node: int, lookups: int = 1) -> None:
        self.send(request(Operation.FORGET, struct.pack("=Q", lookups), node=node))

    def entries(
        self, node: int = ROOT_ID, *, size: int = 4096, plus: bool = True
    ) -> Iterator[Listed]:
        """All entries of a directory, as many at a time as fit into `size`."""
        data = self.ask(Operation.OPENDIR, struct.pack("=LL", 0, 0), node=node)
        handle = struct.unpack("=QLL", data)[0]
        operation = Operation.READDIRPLUS if plus else Operation.READDIR
        offset = 0
        while True:
            body = struct.pack("=QQLLQLL", handle, offset, size, 0, 0, 0, 0)
            found = listed(self.ask(operation, body, node=node), plus=plus)
            if not found:
                break
            yield from found
            offset = found[-1].offset
        self.ask(Operation.RELEASEDIR, struct.pack("=QLLQ", handle, 0, 0, 0), node=node)

    def names(self, node: int = ROOT_ID) -> list[bytes]:
        """The names in a directory, without the dots."""
        return [each.name for each in self.entries(node) if each.name not in (b".", b"..")]


@contextmanager
def conversation(calls: Calls, threads: int = 4) -> Iterator[FakeKernel]:
    """A kernel that has agreed with a session on how to speak."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for each in (ours, theirs):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    ended = threading.Event()
    with ours, theirs:
        kernel = FakeKernel(ours)
        kernel.send(request(Operation.INIT, init()))
        session = Session(theirs.fileno(), calls, ended.set, threads)
        session.start()
        _, error, _ = kernel.receive()
        assert not error
        yield kernel
        ours.shutdown(socket.SHUT_RDWR)
        assert ended.wait(WAIT_S)
        session.join(WAIT_S)
