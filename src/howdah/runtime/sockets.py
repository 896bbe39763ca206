"""The blocking socket under DataTransferProtocol, for client and datanode.

A `Connection` owns a socket and a small read-ahead buffer, so that the short
messages (op headers, responses, acks) cost one system call and not one a byte,
and so that bytes which arrive together with a message aren't lost: what follows
in the stream is read from the buffer first.

Time-outs are the kernel's (SO_RCVTIMEO, SO_SNDTIMEO): Python's own would poll
before each call, and would make the descriptor non-blocking under `sendfile`.
They bound the silence between two bytes, not a whole transfer.

Over a Unix domain socket a connection also carries file descriptors. Reading ahead
would lose them, so who expects some says so (`takes_descriptors`): then they are kept
whichever bytes they come with.
"""

from __future__ import annotations

import array
import contextlib
import errno
import os
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeGuard

from howdah import errors
from howdah.native.polling import KERNEL_TIME_OUTS, POLLIN, POLLOUT, comes, poll
from howdah.runtime.signal_handlers import is_raised_by_handler

READ_AHEAD_BYTES = 8 * 1024
MAX_PORT = 65535
_LEAST_AWAITED_BYTES = 16 * 1024
"""Less is here at once, or comes together."""
_TIMEVAL = struct.Struct("ll")
_DESCRIPTOR = array.array("i")
_MAX_DESCRIPTORS = 16
_OUT_OF_REACH = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN)
"""What a connection ends with, instead of timing out, where a router or neighbour said why."""
_UNPACED = b"reno"
"""The congestion control that every Linux has and lets everybody use."""


class PeerClosed(errors.HowdahError, ConnectionError):
    """The far end closed, or reset, the connection."""

    java_class = "java.io.EOFException"


class PeerSilent(errors.HowdahError, TimeoutError):
    """Nothing came, or nothing could be sent, for as long as is allowed."""

    java_class = "java.net.SocketTimeoutException"


class Dialing:
    """A connection that is being made. Another thread may give it up."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.given_up = False

    def shutdown(self) -> None:
        """Wake up whoever waits for the far end, or is about to."""
        self.given_up = True
        with contextlib.suppress(OSError):  # not on its way yet, or there, or closed
            self._sock.shutdown(socket.SHUT_RDWR)


class WaitNotice(Protocol):
    """Something to say when the far end has been silent for so long, and is waited for still."""

    @property
    def after_s(self) -> float: ...
    def show(self) -> None: ...


def comes_before(word: WaitNotice | None, timeout_s: float | None) -> TypeGuard[WaitNotice]:
    """Whether there is one, before a time-out, of which 0 and None are none."""
    return word is not None and (not timeout_s or word.after_s < timeout_s)


def connect(
    address: tuple[str, int],
    *,
    connect_timeout_s: float = 60.0,
    read_timeout_s: float = 60.0,
    write_timeout_s: float = 480.0,
    dialing: Callable[[Dialing], None] = lambda _: None,
    word: WaitNotice | None = None,
) -> Connection:
    """A connection to a datanode's data port; `errors.Unreachable` if there is none.

    `dialing` gets each attempt before it begins, to be given up from another thread: a far
    end that swallows packets is waited for otherwise. The `word` is said while it is.
    """
    try:
        sock = _dial(address, connect_timeout_s or None, dialing, word)
    except (OSError, ValueError) as error:
        if is_raised_by_handler(error):
            raise
        # A ValueError is a name that is none: addresses come from others.
        host, port = address
        raise errors.Unreachable(
            f"cannot connect to the datanode at {host}:{port}: {error}"
        ).numbered_as(error) from error
    return Connection(
        sock, read_timeout_s=read_timeout_s, write_timeout_s=write_timeout_s, word=word
    )


def _dial(
    address: tuple[str, int],
    timeout_s: float | None,
    dialing: Callable[[Dialing], None],
    word: WaitNotice | None,
) -> socket.socket:
    """`socket.create_connection` over sockets that `dialing` gets before they connect."""
    if not 0 < address[1] <= MAX_PORT:
        # The resolver would take what is left of it in 16 bits.
        raise ValueError(f"there is no port {address[1]}")
    failure = OSError("the name has no address")
    for family, kind, protocol, _, where in _addresses(address):
        sock = socket.socket(family, kind, protocol)
        attempt = Dialing(sock)
        try:
            dialing(attempt)
            if not attempt.given_up:
                _connect_to(where, sock, timeout_s, attempt, word)
                return sock
        except OSError as error:
            if is_raised_by_handler(error):
                sock.close()
                raise
            failure = error
        sock.close()
        if attempt.given_up:
            raise ConnectionAbortedError("it is not waited for any more")
    raise failure


def _addresses(address: tuple[str, int]) -> list[tuple[Any, ...]]:
    """What `socket.getaddrinfo` says of it, which a plain address need not be asked for."""
    try:
        socket.inet_pton(socket.AF_INET, address[0])
    except OSError:
        return [*socket.getaddrinfo(*address, type=socket.SOCK_STREAM)]
    return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address)]


def _connect_to(
    where: tuple[object, ...],
    sock: socket.socket,
    timeout_s: float | None,
    attempt: Dialing,
    word: WaitNotice | None,
) -> None:
    """As `sock.connect(where)`, ended by `attempt.shutdown` at whatever point it comes.

    A socket can be shut down once it is on its way. Who gives up before that has said so by
    then; so it is asked between setting out and waiting.
    """
    sock.setblocking(False)
    code = sock.connect_ex(where)
    if code == errno.EINPROGRESS and not attempt.given_up:
        arrival = poll()
        arrival.register(sock, POLLOUT)
        left_s = timeout_s
        if comes_before(word, timeout_s) and not arrival.poll(word.after_s * 1000):
            word.show()
            left_s = None if timeout_s is None else timeout_s - word.after_s
        if not arrival.poll(None if left_s is None else left_s * 1000):
            raise TimeoutError(f"no answer in {timeout_s:g} s")
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if attempt.given_up:
        raise ConnectionAbortedError("it is not waited for any more")
    if code:
        raise OSError(code, os.strerror(code))


def connect_local(
    path: str, *, timeout_s: float = 60.0, takes_descriptors: bool = False
) -> Connection:
    """A connection to the Unix domain socket at `path`; `errors.Unreachable` if nobody listens."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.settimeout(timeout_s or None)
        sock.connect(path)
    except OSError as error:
        sock.close()
        if is_raised_by_handler(error):
            raise
        raise errors.Unreachable(f"cannot connect to the socket {path}: {error}").numbered_as(
            error
        ) from error
    return Connection(
        sock,
        read_timeout_s=timeout_s,
        write_timeout_s=timeout_s,
        takes_descriptors=takes_descriptors,
    )


class Connection:
    """A connected stream socket with exact, bounded reads and writes.

    One thread reads and one thread writes; `shutdown` may come from any.
    """

    is_plain = True
    """Whether the bytes on the wire are those that are read and written."""
    closing_hint = ""
    """Said with the far end's closing: what it may mean."""
    when_closed: Callable[[], None] | None = None
    """Called when the far end has closed."""

    def __init__(
        self,
        sock: socket.socket,
        *,
        read_timeout_s: float = 60.0,
        write_timeout_s: float = 480.0,
        takes_descriptors: bool = False,
        word: WaitNotice | None = None,
    ) -> None:
        self.socket = self._sock = sock
        """For `howdah.client.reading.short_read`."""
        self.takes_descriptors = takes_descriptors
        self._descriptors: list[int] = []
        family = sock.family
        self.is_local = family == getattr(socket, "AF_UNIX", None)
        """A Unix domain socket, which descriptors can pass."""
        peer, here = _end(sock.getpeername), _end(sock.getsockname)
        self.is_same_machine = self.is_local or _is_on_one_machine(peer, here)
        """Both ends have one address, as Hadoop's `Peer.isLocal` has it, or loopback ones."""
        self.peer, self.local = _name(peer), _name(here)
        self.peer_address = str(peer[0]) if isinstance(peer, tuple) else ""
        """The IP address of the far end; empty where it has none, or is gone."""
        self.own_port = int(here[1]) if isinstance(here, tuple) else 0
        sock.setblocking(True)
        if family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.is_same_machine:
                _stop_pacing(sock)
        # What was read ahead is _room[_start:_end].
        self._room = memoryview(b"")
        self._start = self._end = 0
        self._is_lent = False
        self._expected_bytes = 0
        self._read_timeout_s = read_timeout_s
        self._word = word
        self._silence_s = self._kernels_timeout_s = self._until_word_s()
        self._set_timeout(socket.SO_RCVTIMEO, self._silence_s)
        self._set_timeout(socket.SO_SNDTIMEO, write_timeout_s)
        self._write_timeout_s = write_timeout_s

    def __repr__(self) -> str:
        return f"Connection({self.local} -> {self.peer})"

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._sock.fileno()

    def note_closing(self) -> str:
        """The far end has closed: notify whom that concerns, and return what it may mean."""
        if self.when_closed is not None:
            self.when_closed()
        return self.closing_hint

    # --- time-outs ---

    def _set_timeout(self, option: int, timeout_s: float) -> None:
        if not KERNEL_TIME_OUTS:
            return
        seconds = max(timeout_s, 0.0)
        whole = int(seconds)
        micros = int((seconds - whole) * 1_000_000)
        self._sock.setsockopt(socket.SOL_SOCKET, option, _TIMEVAL.pack(whole, micros))

    @property
    def read_timeout_s(self) -> float:
        """Longest silence that is waited for; 0 for any."""
        return self._read_timeout_s

    @property
    def write_timeout_s(self) -> float:
        """Longest time in which the far end may take nothing; 0 for any."""
        return self._write_timeout_s

    def set_read_timeout(self, timeout_s: float) -> None:
        """Longest silence that is waited for; 0 waits for ever. The kernel hears of it with the
        next read that may have to wait: bytes are often here already."""
        self._read_timeout_s = timeout_s
        self._silence_s = self._until_word_s()

    @property
    def wait_notice(self) -> WaitNotice | None:
        """Said once, while a read waits."""
        return self._word

    @wait_notice.setter
    def wait_notice(self, word: WaitNotice | None) -> None:
        self._word = word
        self._silence_s = self._until_word_s()

    def _until_word_s(self) -> float:
        """How long a read waits before it says the word, or ends."""
        timeout_s = self._read_timeout_s
        return self._word.after_s if comes_before(self._word, timeout_s) else timeout_s

    # --- reading ---

    def say_word(self) -> float | None:
        """Its time has come. How long is waited on then; None if there is none to say."""
        word, self.wait_notice = self.wait_notice, None
        if not comes_before(word, self._read_timeout_s):
            return None
        word.show()
        return max(self._read_timeout_s - word.after_s, 0.0)

    def _recv_into(self, view: memoryview, flags: int = 0) -> int:
        if self._silence_s != self._kernels_timeout_s:
            self._set_timeout(socket.SO_RCVTIMEO, self._silence_s)
            self._kernels_timeout_s = self._silence_s
        try:
            if not KERNEL_TIME_OUTS:
                flags = 0  # bytes are taken as they come
                if not comes(self._sock, self._silence_s):
                    raise BlockingIOError
            if self.takes_descriptors:
                count = self._recv_with_descriptors(view)
            else:
                count = self._sock.recv_into(view, 0, flags)
        except BlockingIOError:
            left_s = self.say_word()
            if left_s is not None:
                self._silence_s = left_s
                try:
                    return self._recv_into(view, flags)
                finally:
                    self._silence_s = self._until_word_s()
            raise PeerSilent(
                f"nothing came from {self.peer} in {self._read_timeout_s:g} s"
            ) from None
        except errors.ProtocolViolation:
            raise
        except OSError as error:
            raise self._broken(error) from error
        if count == 0 and len(view):
            raise PeerClosed(f"{self.peer} closed the connection{self.note_closing()}")
        return count

    def recv_some_into(self, view: memoryview) -> int:
        """At least one byte into `view`; how many. `PeerClosed` at the end of the stream."""
        start = self._start
        if start == self._end:
            return self._recv_into(view)
        count = min(len(view), self._end - start)
        self._start = start + count
        view[:count] = self._room[start : start + count]
        return count

    def recv_into_exactly(self, view: memoryview) -> None:
        """Fill `view`."""
        offset = 0
        while offset < len(view):
            offset += self.recv_some_into(view[offset:])

    def recv_exactly(self, count: int) -> bytes:
        """`count` bytes; short ones through the read-ahead buffer."""
        start = self._start
        if self._end - start < count:
            if count > READ_AHEAD_BYTES:
                out = bytearray(count)
                self.recv_into_exactly(memoryview(out))
                return bytes(out)
            self._read_ahead(count)
            start = self._start
        self._start = start + count
        return bytes(self._room[start : start + count])

    def look_ahead(self) -> None:
        """Have the begin of what comes next, and leave it there. What this raises was not read:
        it can be called again."""
        if self._start == self._end:
            self._read_ahead(1)

    def expect(self, count: int) -> None:
        """About so many bytes will come together: the next time it reads ahead by as many."""
        self._expected_bytes = count

    def lend(self, count: int) -> memoryview | None:
        """The next `count` bytes where they lie, if they were read ahead or will fit behind what
        was; they stay as they are. None: they are to be received elsewhere."""
        if len(self._room) - self._start < count:
            return None
        self._read_ahead(count)
        start = self._start
        self._start = start + count
        self._is_lent = True
        return self._room[start : start + count]

    def have(self, count: int) -> memoryview:
        """What comes next, at least `count` bytes of it. It stays there: the next call of any other
        method may write over it."""
        if self._end - self._start < count:
            self._read_ahead(count)
        return self._room[self._start : self._end]

    def pass_over(self, count: int) -> None:
        """So many bytes of what `have` returned are done with."""
        self._start += count

    def _read_ahead(self, count: int) -> None:
        """Have `count` bytes there."""
        kept = self._end - self._start
        if len(self._room) - self._start < count or (not kept and self._expected_bytes):
            self._make_room(max(READ_AHEAD_BYTES, self._expected_bytes, count))
            self._expected_bytes = 0
        missing = count - (self._end - self._start)
        is_first = True
        while missing > 0:
            if is_first or missing < _LEAST_AWAITED_BYTES:
                received = self._recv_into(self._room[self._end :])
            else:
                received = self._await_bytes(missing)
            is_first = False
            self._end += received
            missing -= received

    def _await_bytes(self, missing: int) -> int:
        """So many bytes have to come: receive them in one call, in which the kernel wakes this
        thread for each packet, but the interpreter does not.

        SO_RCVLOWAT would not even wake the thread, and keeps the kernel from acknowledging what is
        not received: a sender of small packets, of which only some may be under way, waits for that
        until the delayed acknowledgement, 40 ms each time.
        """
        return self._recv_into(self._room[self._end : self._end + missing], socket.MSG_WAITALL)

    def _make_room(self, count: int) -> None:
        kept = self._end - self._start
        if self._is_lent or len(self._room) != count:
            room = memoryview(bytearray(count))
            room[:kept] = self._room[self._start : self._end]
            self._room, self._is_lent = room, False
        else:
            self._room[:kept] = bytes(self._room[self._start : self._end])
        self._start, self._end = 0, kept

    @property
    def has_read_ahead(self) -> bool:
        """True when the next message, or its begin, is already here."""
        return self._start < self._end

    @property
    def has_input(self) -> bool:
        """True when a read would not wait, also where it would find the end."""
        if self._start < self._end:
            return True
        if not hasattr(socket, "MSG_DONTWAIT"):
            return self.wait_for_input(0)
        try:
            self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def wait_for_input(self, timeout_s: float) -> bool:
        """True as soon as a read would not wait, also where it would find the end."""
        if self._start < self._end:
            return True
        arrival = poll()
        arrival.register(self._sock, POLLIN)
        return bool(arrival.poll(timeout_s * 1000))

    def take_read_ahead(self) -> bytes:
        """What is here of what comes next, for whoever reads on."""
        taken = bytes(self._room[self._start : self._end])
        self._start = self._end
        return taken

    def push_back(self, data: bytes) -> None:
        """Return bytes that belong to what is read next."""
        if data:
            rest = bytes(self._room[self._start : self._end])
            self._room, self._is_lent = memoryview(bytearray(data + rest)), False
            self._start, self._end = 0, len(self._room)

    # --- descriptors ---

    def _recv_with_descriptors(self, view: memoryview) -> int:
        room = socket.CMSG_SPACE(_MAX_DESCRIPTORS * _DESCRIPTOR.itemsize)
        count, messages, flags, _ = self._sock.recvmsg_into([view], room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in messages:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = len(data) - len(data) % _DESCRIPTOR.itemsize
                self._descriptors.extend(array.array(_DESCRIPTOR.typecode, data[:whole]))
        if flags & socket.MSG_CTRUNC:
            raise errors.ProtocolViolation(
                f"descriptors from {self.peer} were lost: more than {_MAX_DESCRIPTORS} came, "
                "or this process may open no more files"
            )
        return count

    def send_with_descriptors(self, data: bytes, descriptors: Sequence[int]) -> None:
        """One or more bytes, and file descriptors, which the far end gets copies of."""
        rights = array.array(_DESCRIPTOR.typecode, descriptors)
        try:
            sent = self._sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        except BlockingIOError:
            raise self._unsent() from None
        except OSError as error:
            raise self._broken(error) from error
        if sent < len(data):
            self.send_all(data[sent:])

    def take_descriptors(self) -> list[int]:
        """Those that have come; they are the caller's to close."""
        taken, self._descriptors = self._descriptors, []
        return taken

    # --- writing ---

    def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """All of one buffer."""
        view = memoryview(data)
        while view:
            try:
                sent = self._sock.send(view)
            except BlockingIOError:
                raise self._unsent() from None
            except OSError as error:
                raise self._broken(error) from error
            if sent == len(view):
                return
            view = view[sent:]

    def send_while_taken(self, data: bytes | bytearray | memoryview, silence_s: float) -> None:
        """All of one buffer, as long as the far end takes something of it every `silence_s`.

        The kernel's time-out bounds one call, which returns in the end with what little went
        out, however long ago. So it has to be a small part of `silence_s`, and each call that
        got rid of something counts: a far end that is slow is told from one that has vanished.
        """
        view = memoryview(data)
        taken_at_s = time.monotonic()
        while view:
            try:
                sent = self._sock.send(view)
            except BlockingIOError:
                if time.monotonic() - taken_at_s >= silence_s:
                    raise PeerSilent(f"{self.peer} took no bytes for {silence_s:g} s") from None
                continue
            except OSError as error:
                raise self._broken(error) from error
            if sent == len(view):
                return
            view = view[sent:]
            taken_at_s = time.monotonic()

    def send_buffers(self, buffers: Sequence[bytes | bytearray | memoryview]) -> None:
        """Several buffers, one after the other, in one system call where they fit.

        `OSError` with EFAULT for one that is a mapped file, and has no bytes there any more.
        """
        left = [memoryview(buffer) for buffer in buffers if len(buffer)]
        if not hasattr(self._sock, "sendmsg"):
            for buffer in left:
                self.send_all(buffer)
            return
        while left:
            try:
                sent = self._sock.sendmsg(left)
            except BlockingIOError:
                raise self._unsent() from None
            except OSError as error:
                if error.errno == errno.EFAULT:
                    raise
                raise self._broken(error) from error
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if sent:
                left[0] = left[0][sent:]

    def send_more(self, data: bytes | bytearray | memoryview) -> None:
        """Like `send_all`, for bytes that `send_file` follows: the kernel keeps them together."""
        view = memoryview(data)
        while view:
            try:
                sent = self._sock.send(view, socket.MSG_MORE)
            except BlockingIOError:
                raise self._unsent() from None
            except OSError as error:
                raise self._broken(error) from error
            view = view[sent:]

    def send_file(self, file_fd: int, offset: int, count: int) -> None:
        """`count` bytes of a file from `offset`, without copying them through Python.

        Raises `errors.BlockMissing` when the file is shorter than that.
        """
        end = offset + count
        while offset < end:
            try:
                sent = os.sendfile(self._sock.fileno(), file_fd, offset, end - offset)
            except BlockingIOError:
                raise self._unsent() from None
            except OSError as error:
                if _is_of_the_network(error):
                    raise self._broken(error) from error
                raise
            if sent == 0:
                raise errors.BlockMissing(
                    f"a block file ends at {offset}, {end - offset} bytes before it should"
                )
            offset += sent

    def _broken(self, error: OSError) -> PeerClosed:
        """Raises the error itself if a signal handler of the program raised it."""
        if is_raised_by_handler(error):
            raise error
        return PeerClosed(f"the connection to {self.peer} broke: {error}{self.note_closing()}")

    def _unsent(self) -> PeerSilent:
        return PeerSilent(f"{self.peer} took no bytes for {self._write_timeout_s:g} s")

    # --- the end ---

    def shutdown(self) -> None:
        """Wake up whoever is blocked in a read or write, from any thread."""
        with contextlib.suppress(OSError):  # not connected any more: then nobody is blocked
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()
        for descriptor in self.take_descriptors():
            os.close(descriptor)


def _stop_pacing(sock: socket.socket) -> None:
    """Choose a congestion control that sends at once: both ends are on this machine.

    BBR, the default of some systems, spreads packets over time by timers, even where
    there is no network. Over loopback it carries 1.5 to 3 GB/s where others carry 5, at
    twice the CPU time. Between machines the system's choice stands.
    """
    congestion_control = getattr(socket, "TCP_CONGESTION", None)
    if congestion_control is None:
        return
    with contextlib.suppress(OSError):  # gone already, or not allowed here: then it is paced
        sock.setsockopt(socket.IPPROTO_TCP, congestion_control, _UNPACED)


def _end(ask: Callable[[], object]) -> object:
    """One end of a socket; None if it is gone."""
    try:
        return ask()
    except OSError:
        return None


def _is_on_one_machine(peer: object, here: object) -> bool:
    if not isinstance(peer, tuple) or not isinstance(here, tuple):
        return False
    return bool(peer[0] == here[0] or peer[0].startswith("127."))


def _name(end: object) -> str:
    if isinstance(end, tuple):
        return f"{end[0]}:{end[1]}"
    return "a peer that is gone" if end is None else str(end) or "a local socket"


def is_local_address(host: str) -> bool:
    """Whether an IP address is one of this machine: then a socket can be bound to it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))
    except OSError:
        return False
    return True


def _is_of_the_network(error: OSError) -> bool:
    """Whether a call with a socket and a file failed for the socket."""
    return isinstance(error, ConnectionError | TimeoutError) or error.errno in _OUT_OF_REACH
