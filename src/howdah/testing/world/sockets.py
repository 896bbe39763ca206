"""The module `_socket` of a simulated process. Python's own `socket` stands on it."""

from __future__ import annotations

import _socket as real
import array
import errno
import socket as real_socket
import struct
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final

from howdah.testing.world import network
from howdah.testing.world.descriptors import Description, system_error, wait_until_ready
from howdah.testing.world.network import Listener, Network, Stream
from howdah.testing.world.primitives import NotSimulated, simulated_module
from howdah.testing.world.processes import Process
from howdah.testing.world.scheduler import Scheduler

_REAL_NAMES: Final = (
    *("error", "timeout", "gaierror", "herror", "inet_pton", "inet_ntop", "inet_aton"),
    *("inet_ntoa", "htons", "ntohs", "htonl", "ntohl", "CMSG_SPACE", "CMSG_LEN"),
)

_BUFFER_BYTES: Final = 212_992
_ANY: Final = "0.0.0.0"
_TYPES: Final = (real.SOCK_STREAM, real.SOCK_SEQPACKET, real.SOCK_DGRAM)
"""Datagrams are not delivered: such a socket is bound or connected to learn an address."""


class _Fresh(Description):
    """Is a socket that is neither connected nor listening."""

    def is_readable(self) -> bool:
        return True

    def has_hung_up(self) -> bool:
        return True


class Socket:
    """Is a socket of one process: `make` makes a subclass for each."""

    _process: ClassVar[Process]
    _scheduler: ClassVar[Scheduler]
    _network: ClassVar[Network]
    _address: ClassVar[str]
    """The address of the machine."""

    __slots__ = (
        *("_family", "_type", "_proto", "_timeout", "_receive_s", "_send_s", "_bound"),
        *("_number", "_options"),
    )

    def __init__(
        self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None
    ) -> None:
        self._family = int(family) if family is not None and family != -1 else real.AF_INET
        self._type = int(type) if type is not None and type != -1 else real.SOCK_STREAM
        self._proto = 0 if proto in (-1, None) else proto
        self._timeout: float | None = None
        self._receive_s = self._send_s = 0.0
        self._bound: Any = None
        self._options: dict[tuple[int, int], int] = {}
        self._number = -1
        if fileno is not None:
            description = self._process.descriptors.get(fileno)
            self._number = fileno
            if isinstance(description, Stream):
                self._bound = description.local_address
                if family in (-1, None):
                    local = description.is_local or isinstance(description.local_address, str)
                    self._family = real.AF_UNIX if local else real.AF_INET
        else:
            if self._type & 0xF not in _TYPES:
                raise NotSimulated(f"sockets of type {self._type}")
            if self._family == real.AF_INET6:
                raise system_error(errno.EAFNOSUPPORT)
            self._process.fault("socket")
            self._number = self._process.descriptors.add(_Fresh(self._scheduler))
            self._type &= 0xF

    family = property(lambda self: self._family)
    type = property(lambda self: self._type)
    proto = property(lambda self: self._proto)
    timeout = property(lambda self: self._timeout)

    # -- life

    @property
    def _description(self) -> Description:
        return self._process.descriptors.get(self._number)

    def _stream(self) -> Stream:
        description = self._description
        if not isinstance(description, Stream) or not description.is_connected:
            raise system_error(errno.ENOTCONN)
        return description

    def fileno(self) -> int:
        return self._number

    def detach(self) -> int:
        number, self._number = self._number, -1
        return number

    def close(self) -> None:
        number, self._number = self._number, -1
        if number >= 0:
            self._process.descriptors.close(number)

    def __del__(self) -> None:
        # Objects of a set die in the order of their addresses. What they close is closed
        # between two turns, in the order of descriptors.
        if getattr(self, "_number", -1) >= 0:
            self._process.close_later(self._number)

    # -- settings

    def settimeout(self, timeout: float | None) -> None:
        self._timeout = None if timeout is None else float(timeout)
        self._description.is_blocking = timeout is None

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, flag: bool) -> None:
        self.settimeout(None if flag else 0.0)

    def getblocking(self) -> bool:
        return self._timeout != 0.0

    def setsockopt(self, level: int, option: int, value: Any = None, *rest: Any) -> None:
        if level == real.SOL_SOCKET and option in (real.SO_RCVTIMEO, real.SO_SNDTIMEO):
            seconds, microseconds = struct.unpack("ll", value)
            patience_s = seconds + microseconds / 1e6
            if option == real.SO_RCVTIMEO:
                self._receive_s = patience_s
            else:
                self._send_s = patience_s
                # Of the connection, for calls that know its descriptor alone.
                self._options[level, option] = round(patience_s * 1e6)
                self._process.send_patience_s[self._number] = patience_s
        elif isinstance(value, int):
            self._options[level, option] = value

    def getsockopt(self, level: int, option: int, length: int = 0) -> int | bytes:
        description = self._description
        if level == real.SOL_SOCKET and option == real.SO_ERROR:
            error = 0
            if isinstance(description, Stream):
                error, description.error = description.error, 0
                if error:
                    description.has_ended = True
            return error
        if level == real.SOL_SOCKET and option == real.SO_TYPE:
            return self._type
        if level == real.SOL_SOCKET and option == real.SO_ACCEPTCONN:
            return int(isinstance(description, Listener))
        if level == real.SOL_SOCKET and option == real.SO_PEERCRED:
            return struct.pack("iii", self._process.pid, 0, 0)
        if level == real.SOL_SOCKET and option in (real.SO_SNDBUF, real.SO_RCVBUF):
            return self._options.get((level, option), _BUFFER_BYTES)
        if length:
            return bytes(length)
        return self._options.get((level, option), 0)

    # -- addresses

    def bind(self, address: Any) -> None:
        if self._family == real.AF_UNIX:
            self._process.machine.make_socket_file(address)
            self._bound = address
            return
        host, port = address[:2]
        ip = self._network.address_of(host, self._address)
        if ip not in (_ANY, self._address):
            raise system_error(errno.EADDRNOTAVAIL)
        if not port:
            port = self._process.machine.free_port()
        elif (
            self._type != real.SOCK_DGRAM
            and (self._address, (self._address, port)) in self._network.listeners
        ):
            raise system_error(errno.EADDRINUSE)
        self._bound = (ip, port)

    def listen(self, backlog: int = 128) -> None:
        if self._bound is None:
            self._bound = (_ANY, self._process.machine.free_port())
        if isinstance(self._description, Listener):
            return
        key: network.Address = (
            self._bound if isinstance(self._bound, str) else (self._address, self._bound[1])
        )
        if (self._address, key) in self._network.listeners:
            raise system_error(errno.EADDRINUSE)
        listener = Listener(self._network, self._address, key, backlog)
        self._network.listeners[self._address, key] = listener
        self._process.descriptors.replace(self._number, listener)
        self._scheduler.note("listen", self._process.name, key)

    def getsockname(self) -> Any:
        description = self._description
        if isinstance(description, Stream):
            return description.local_address
        if self._bound is None:
            return "" if self._family == real.AF_UNIX else (_ANY, 0)
        return self._bound

    def getpeername(self) -> Any:
        return self._stream().remote_address

    # -- waiting

    def _wait(
        self, description: Description, is_ready: Callable[[], object], own_s: float, flags: int
    ) -> None:
        if is_ready():
            return
        if self._timeout == 0.0 or flags & real.MSG_DONTWAIT:
            raise system_error(errno.EAGAIN)
        limit_s = self._timeout
        kernels = limit_s is None and own_s > 0
        if kernels:
            limit_s = own_s
        deadline_ns = None if limit_s is None else self._scheduler.now_ns + round(limit_s * 1e9)
        if not wait_until_ready(self._scheduler, [description], is_ready, deadline_ns):
            if kernels:
                raise system_error(errno.EAGAIN)
            raise TimeoutError("timed out")

    # -- connecting

    def _begin_to_connect(self, address: Any) -> Stream:
        description = self._description
        if isinstance(description, Stream):
            if description.is_connecting:
                raise system_error(errno.EALREADY)
            raise system_error(errno.EISCONN)
        key: network.Address
        local: network.Address = ""
        if self._family == real.AF_UNIX:
            there, key = self._address, address
            self._process.machine.mounts.find(address)
        else:
            there = self._network.address_of(address[0], self._address)
            key = (there, address[1])
            port = self._bound[1] if self._bound is not None else self._process.machine.free_port()
            local = (self._address, port)
        stream = Stream(self._network, self._address, there)
        stream.local_address, stream.remote_address = local, key
        stream.is_blocking = description.is_blocking
        self._process.descriptors.replace(self._number, stream)
        stream.connect(key)
        return stream

    def connect(self, address: Any) -> None:
        self._scheduler.give_way()
        if self._type == real.SOCK_DGRAM:
            self._network.address_of(address[0], self._address)
            self._bound = self._bound or (self._address, self._process.machine.free_port())
            return
        stream = self._begin_to_connect(address)
        if self._timeout == 0.0:
            raise system_error(errno.EINPROGRESS)
        try:
            self._wait(stream, lambda: not stream.is_connecting, self._send_s, 0)
        except TimeoutError:
            raise
        except BlockingIOError:
            raise system_error(errno.EINPROGRESS) from None
        if stream.error:
            error, stream.error = stream.error, 0
            # A socket that was refused may be used once more.
            self._process.descriptors.replace(self._number, _Fresh(self._scheduler))
            raise system_error(error)

    def connect_ex(self, address: Any) -> int:
        try:
            self.connect(address)
        except TimeoutError as error:
            return error.errno or errno.EAGAIN
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _accept(self) -> tuple[int, Any]:
        self._scheduler.give_way()
        listener = self._description
        if not isinstance(listener, Listener):
            raise system_error(errno.EINVAL)
        self._wait(listener, lambda: listener.queue or listener.is_shut, self._receive_s, 0)
        if not listener.queue:
            raise system_error(errno.EINVAL)
        self._process.fault("accept")
        number = self._process.descriptors.add(listener.queue[0])
        stream = listener.queue.popleft()
        stream.scheduler = self._scheduler
        return number, stream.remote_address

    # -- receiving

    def _receive(self, count: int, flags: int) -> tuple[bytes, tuple[Description, ...]]:
        if not flags & real.MSG_WAITALL:
            return self._receive_some(count, flags)
        # What has come is taken, so there is room for more.
        data, descriptions = self._receive_some(count, flags)
        while data and len(data) < count:
            try:
                more, _ = self._receive_some(count - len(data), flags)
            except (BlockingIOError, TimeoutError):
                break
            except OSError as error:
                self._stream().error = error.errno or errno.EIO  # For the next one who receives.
                break
            if not more:
                break
            data += more
        return data, descriptions

    def _receive_some(self, count: int, flags: int) -> tuple[bytes, tuple[Description, ...]]:
        self._scheduler.give_way()
        stream = self._stream()
        if count < 0:
            raise ValueError("negative buffersize in recv")
        self._process.allocate(count)
        self._wait(stream, stream.is_readable, self._receive_s, flags)
        if stream.received and not (stream.error and stream.keeps_records):
            descriptions = stream.received[0][1]
            whole = flags & real.MSG_PEEK or stream.keeps_records
            if count > 1 and not whole and not stream.is_local:
                count = self._process.partial(min(count, stream.received_bytes))
            data = stream.take(count, peek=bool(flags & real.MSG_PEEK))
            return data, descriptions
        if stream.error:
            error, stream.error = stream.error, 0
            stream.has_ended = True
            raise system_error(error)
        return b"", ()

    def recv(self, count: int, flags: int = 0) -> bytes:
        data, descriptions = self._receive(count, flags)
        _drop(descriptions)
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        if nbytes > len(view):
            raise ValueError("buffer too small for requested bytes")
        data, descriptions = self._receive(nbytes or len(view), flags)
        _drop(descriptions)
        view[: len(data)] = data
        return len(data)

    def recvfrom(self, count: int, flags: int = 0) -> tuple[bytes, Any]:
        return self.recv(count, flags), None

    def recvmsg(
        self, count: int, ancillary: int = 0, flags: int = 0
    ) -> tuple[bytes, list[tuple[int, int, bytes]], int, Any]:
        data, descriptions = self._receive(count, flags)
        ancillary_data: list[tuple[int, int, bytes]] = []
        if descriptions and ancillary:
            numbers = array.array("i", map(self._process.descriptors.add, descriptions))
            ancillary_data = [(real.SOL_SOCKET, real.SCM_RIGHTS, numbers.tobytes())]
        else:
            _drop(descriptions)
        return data, ancillary_data, 0, None

    def recvmsg_into(
        self, buffers: Iterable[Any], ancillary: int = 0, flags: int = 0
    ) -> tuple[int, list[tuple[int, int, bytes]], int, Any]:
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        data, *rest = self.recvmsg(sum(map(len, views)), ancillary, flags)
        left = data
        for view in views:
            count = min(len(view), len(left))
            view[:count] = left[:count]
            left = left[count:]
        return len(data), *rest

    # -- sending

    def send(self, data: Any, flags: int = 0, descriptions: tuple[Description, ...] = ()) -> int:
        self._scheduler.give_way()
        stream = self._description
        if isinstance(stream, Stream) and stream.is_connecting:
            raise system_error(errno.EAGAIN)
        if not isinstance(stream, Stream):
            raise system_error(errno.EPIPE)
        view = memoryview(data).cast("B")
        self._wait(stream, stream.is_writable, self._send_s, flags)
        return send_now(stream, bytes(view), descriptions)

    def sendall(self, data: Any, flags: int = 0) -> None:
        view = memoryview(data).cast("B")
        deadline_ns = (
            None if self._timeout is None else self._scheduler.now_ns + round(self._timeout * 1e9)
        )
        while view:
            view = view[self.send(view, flags) :]
            if view and deadline_ns is not None and self._scheduler.now_ns >= deadline_ns:
                raise TimeoutError("timed out")

    def sendmsg(
        self,
        buffers: Iterable[Any],
        ancdata: Iterable[tuple[int, int, Any]] = (),
        flags: int = 0,
        address: Any = None,
    ) -> int:
        descriptions: list[Description] = []
        for level, kind, data in ancdata:
            if (level, kind) != (real.SOL_SOCKET, real.SCM_RIGHTS):
                raise NotSimulated(f"ancillary data of type {level}/{kind}")
            numbers = array.array("i")
            numbers.frombytes(bytes(data))
            descriptions += map(self._process.descriptors.share, numbers)
        whole = b"".join(bytes(memoryview(buffer).cast("B")) for buffer in buffers)
        return self.send(whole, flags, tuple(descriptions))

    def sendto(self, data: Any, *rest: Any) -> int:
        raise NotSimulated("socket.sendto")

    def shutdown(self, how: int) -> None:
        description = self._description
        if isinstance(description, Listener):
            description.shut()
            return
        stream = self._stream()
        is_over = stream.is_reset or (stream.has_ended and stream.is_write_shut)
        if is_over and not stream.is_local:
            raise system_error(errno.ENOTCONN)
        if how in (real.SHUT_RD, real.SHUT_RDWR):
            stream.is_read_shut = True
            if stream.is_local and stream.peer is not None:
                stream.peer.changed()
        if how in (real.SHUT_WR, real.SHUT_RDWR):
            stream.shut_write()
        stream.changed()


def _drop(descriptions: Iterable[Description]) -> None:
    for description in descriptions:
        description.references -= 1
        if description.references == 0:
            description.closed()


def make(process: Process) -> Any:
    """Make the module, for one process."""
    wires = process.machine.network
    scheduler = process.scheduler

    def own() -> str:
        return process.machine.address

    class socket(Socket):
        __slots__ = ()
        _process, _scheduler, _network = process, scheduler, wires
        _address = process.machine.address

    def socketpair(
        family: int = real.AF_UNIX, type: int = real.SOCK_STREAM, proto: int = 0
    ) -> tuple[socket, socket]:
        keeps_records = type & 0xF == real.SOCK_SEQPACKET
        left, right = network.pair(wires, own(), keeps_records=keeps_records)
        add = process.descriptors.add
        return (
            socket(family, type & 0xF, proto, add(left)),
            socket(family, type & 0xF, proto, add(right)),
        )

    def getaddrinfo(
        host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[Any]:
        scheduler.give_way()
        if isinstance(host, bytes):
            host = host.decode()
        ip = _ANY if host in (None, "") else wires.address_of(host, own())
        if host is None and not flags & real.AI_PASSIVE:
            ip = own()
        if family == real.AF_INET6:
            raise real_socket.gaierror(real.EAI_NONAME, "Name or service not known")
        kind = type or real.SOCK_STREAM
        return [(real.AF_INET, kind, real.IPPROTO_TCP, "", (ip, int(port or 0)))]

    def gethostbyaddr(address: str) -> tuple[str, list[str], list[str]]:
        ip = wires.address_of(address, own())
        return wires.name_of(ip), [], [ip]

    def dup(number: int) -> int:
        return process.descriptors.add(process.descriptors.share(number))

    functions = {
        "socket": socket,
        "SocketType": socket,
        "socketpair": socketpair,
        "getaddrinfo": getaddrinfo,
        "gethostname": lambda: process.machine.name,
        "gethostbyname": lambda host: wires.address_of(host, own()),
        "gethostbyaddr": gethostbyaddr,
        "getnameinfo": lambda address, flags: (wires.name_of(address[0]), str(address[1])),
        "getdefaulttimeout": lambda: None,
        "setdefaulttimeout": lambda timeout: None,
        "close": process.descriptors_close,
        "dup": dup,
        "if_nameindex": list,
        "has_ipv6": False,
    }
    return simulated_module("_socket", real, functions, real_names=_REAL_NAMES)


def send_now(stream: Stream, data: bytes, descriptions: tuple[Description, ...] = ()) -> int:
    """Send what there is room for. Raises OSError."""
    peer = stream.peer
    is_unix_stream = stream.is_local and not stream.keeps_records
    if stream.error and not is_unix_stream:
        error, stream.error = stream.error, 0
        _release(descriptions)
        raise system_error(error)
    is_over = stream.is_write_shut or stream.is_reset
    if peer is None or is_over or (stream.is_local and (peer.is_gone or peer.is_read_shut)):
        _release(descriptions)
        raise system_error(errno.EPIPE)
    count = len(data)
    if not stream.keeps_records and not peer.is_gone:
        count = min(count, max(stream.room(), 1))
    stream.push(data[:count], descriptions)
    return count


def _release(descriptions: Iterable[Description]) -> None:
    for description in descriptions:
        description.references -= 1
