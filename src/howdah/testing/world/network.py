"""Wires between machines: what is sent arrives later, in order on its connection, or not at all.

Mirrors TCP as programs see it. A wire that is cut holds segments back, and they arrive some time
after it is healed; connecting over it takes until the caller's patience ends. A machine that has
lost its power answers nothing; when it is back, it resets the connections that it does not know any
more. A process that dies closes its connections as its kernel would.
"""

from __future__ import annotations

import errno
import random
import socket as real_socket
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from howdah.testing.world.descriptors import Description
from howdah.testing.world.scheduler import Scheduler

WINDOW_BYTES: Final = 256 * 1024
"""How much may be under way, or unread, before a sender waits."""
_SEGMENT_BYTES: Final = (1460, 8192, 65536)
_RETRY_NS: Final = (200_000_000, 1_000_000_000)
"""When a segment that did not get through is sent again."""
_CONNECT_RETRY_NS: Final = 1_000_000_000
_CONNECT_TRIES: Final = 7
_LOST_BYTES: Final = 128
_LOCAL_LATENCY_NS: Final = (5_000, 50_000)

Address = tuple[str, int] | str
"""Of the Internet, or a path on a machine (Unix domain)."""


class Host(Protocol):
    """Is a machine, as the network knows it."""

    name: str
    has_power: bool


class Network:
    """Knows machines, their names, and what is between them."""

    def __init__(self, scheduler: Scheduler, dice: random.Random) -> None:
        self.scheduler = scheduler
        self.begin(dice)

    def begin(self, dice: random.Random) -> None:
        """Begin with no machine and nothing under way."""
        self.dice = dice
        self.machines: dict[str, Host] = {}
        """By their addresses."""
        self.listeners: dict[tuple[str, Address], Listener] = {}
        """By the machine's address, and the address on which they listen."""
        self.cuts: dict[tuple[str, str], int] = {}
        """How often the way from one machine to another is cut. Ways are cut one by one."""
        self.latency_ns = (50_000, 500_000)
        self.slow: dict[str, tuple[int, int]] = {}
        """Between how many nanoseconds it takes from and to some addresses."""
        self.lossy: dict[tuple[str, str], float] = {}
        """How likely a message from one address to another is lost, with its connection."""
        self.segment_count = 0
        self.partial_read_chance = 0.1

    # -- faults

    def cut(self, source: str, target: str) -> None:
        """Let nothing get from one address to another until it is healed as often as it was cut."""
        key = (source, target)
        self.cuts[key] = self.cuts.get(key, 0) + 1

    def heal(self, source: str, target: str) -> None:
        key = (source, target)
        left = self.cuts.get(key, 0) - 1
        if left > 0:
            self.cuts[key] = left
        else:
            self.cuts.pop(key, None)

    def heal_all(self) -> None:
        self.cuts.clear()
        self.slow.clear()
        self.lossy.clear()

    def loses(self, source: str, target: str, count: int) -> bool:
        """Whether so many bytes that are sent now are lost. Short ones never are: a message that
        says nothing is repeated a moment later, and nobody misses it."""
        if count < _LOST_BYTES or (source, target) not in self.lossy:
            return False
        return self.dice.random() < self.lossy[source, target]

    def gets_through(self, source: str, target: str) -> bool:
        """Whether a segment reaches the other machine now."""
        if source == target:
            return True
        to = self.machines.get(target)
        return (source, target) not in self.cuts and to is not None and to.has_power

    # -- names

    def address_of(self, host: str, own: str) -> str:
        """Return the address of a name, as machine `own` sees it. Raises socket.gaierror."""
        if host in ("localhost", "127.0.0.1"):
            return own
        if host in self.machines or host in ("0.0.0.0", ""):
            return host or "0.0.0.0"
        for address, machine in self.machines.items():
            if machine.name == host:
                return address
        raise real_socket.gaierror(real_socket.EAI_NONAME, "Name or service not known")

    def name_of(self, address: str) -> str:
        machine = self.machines.get(address)
        return machine.name if machine is not None else address

    # -- delivery

    def latency(self, source: str, target: str) -> int:
        if source == target:
            first, behind = _LOCAL_LATENCY_NS
        else:
            first, behind = self.slow.get(source) or self.slow.get(target) or self.latency_ns
        return first + int(self.dice.random() * (behind - first))

    def deliver(self, source: str, target: str, when_ns: int, arrive: Callable[[], None]) -> None:
        """Let something arrive, at the earliest at a time, and when it gets through."""

        def try_to() -> None:
            if not self.gets_through(source, target):
                wait_ns = self.dice.randrange(*_RETRY_NS)
                self.scheduler.at(self.scheduler.now_ns + wait_ns, try_to)
                return
            arrive()

        self.scheduler.at(when_ns, try_to)


class Listener(Description):
    """Is a socket that listens."""

    def __init__(self, network: Network, machine: str, address: Address, backlog: int) -> None:
        super().__init__(network.scheduler)
        self.network = network
        self.machine = machine
        self.address = address
        self.backlog = backlog
        self.queue: deque[Stream] = deque()
        self.is_shut = False

    def is_readable(self) -> bool:
        return bool(self.queue or self.is_shut)

    def is_writable(self) -> bool:
        return False

    def shut(self) -> None:
        self.is_shut = True
        self._forget()
        self.changed()

    def _forget(self) -> None:
        key = (self.machine, self.address)
        if self.network.listeners.get(key) is self:
            del self.network.listeners[key]

    def closed(self) -> None:
        self.shut()
        for stream in self.queue:
            stream.closed()
        self.queue.clear()

    def vanished(self) -> None:
        self.is_shut = True
        self._forget()
        for stream in self.queue:
            stream.vanished()


class Stream(Description):
    """Is one end of a connection.

    Bytes of one that `is_local` arrive at once, as those of Unix domain sockets do;
    `keeps_records` holds messages apart (SOCK_SEQPACKET).
    """

    def __init__(
        self,
        network: Network,
        here: str,
        there: str,
        *,
        is_local: bool = False,
        keeps_records: bool = False,
    ) -> None:
        super().__init__(network.scheduler)
        self.network = network
        self.here = here
        self.there = there
        self.local_address: Any = ""
        self.remote_address: Any = ""
        self.is_local = is_local
        self.keeps_records = keeps_records
        self.peer: Stream | None = None
        self.is_connecting = False
        self.is_connected = True
        self.received: deque[tuple[bytes, tuple[Description, ...]]] = deque()
        self.received_bytes = 0
        self.has_ended = False
        """The other side sends no more."""
        self.error = 0
        self.is_reset = False
        self.is_gone = False
        self.is_read_shut = False
        self.is_write_shut = False
        self.under_way_bytes = 0
        self._last_arrival_ns = 0
        self._under_way: deque[Callable[[], None]] = deque()

    # -- what poll asks

    def is_readable(self) -> bool:
        return bool(self.received or self.has_ended or self.error or self.is_read_shut)

    def is_writable(self) -> bool:
        if self.is_connecting:
            return False
        peer = self.peer
        return bool(
            self.error or self.is_write_shut or peer is None or peer.is_gone or self.room() > 0
        )

    def has_hung_up(self) -> bool:
        """Tell whether both directions are over."""
        peer = self.peer
        if self.is_local and peer is not None:
            sends_no_more = self.is_write_shut or peer.is_gone or peer.is_read_shut
        else:
            sends_no_more = self.is_write_shut or self.is_reset
        return sends_no_more and (self.has_ended or self.is_read_shut)

    def has_failed(self) -> bool:
        return bool(self.error)

    def room(self) -> int:
        """Return how much may be sent before it has to wait."""
        assert self.peer is not None
        return WINDOW_BYTES - self.under_way_bytes - self.peer.received_bytes

    # -- connecting

    def connect(self, address: Address, try_count: int = 0) -> None:
        """Begin; `is_connecting` until it is decided."""
        network, scheduler = self.network, self.scheduler
        if try_count == 0:
            self.is_connecting, self.is_connected = True, False
        if self.is_gone or not self.is_connecting:
            return
        if not network.gets_through(self.here, self.there):
            if try_count == _CONNECT_TRIES:
                self._refused(errno.ETIMEDOUT)
                return
            wait_ns = _CONNECT_RETRY_NS << try_count
            scheduler.at(scheduler.now_ns + wait_ns, lambda: self.connect(address, try_count + 1))
            return

        def arrive() -> None:
            if self.is_gone or not self.is_connecting:
                return
            listener = network.listeners.get((self.there, address))
            if listener is None or listener.is_shut:
                self._answer(lambda: self._refused(errno.ECONNREFUSED))
                return
            if len(listener.queue) > listener.backlog:
                # The kernel drops the request; it is sent again.
                wait_ns = _CONNECT_RETRY_NS << min(try_count, _CONNECT_TRIES)
                again = try_count + 1
                if again > _CONNECT_TRIES:
                    self._refused(errno.ETIMEDOUT)
                else:
                    scheduler.at(scheduler.now_ns + wait_ns, lambda: self.connect(address, again))
                return
            other = Stream(network, self.there, self.here)
            other.local_address, other.remote_address = self.remote_address, self.local_address
            other.peer, self.peer = self, other
            listener.queue.append(other)
            listener.changed()
            self._answer(self._accepted)

        network.deliver(
            self.here,
            self.there,
            scheduler.now_ns + network.latency(self.here, self.there),
            arrive,
        )

    def _answer(self, arrive: Callable[[], None]) -> None:
        latency_ns = self.network.latency(self.there, self.here)
        self.network.deliver(self.there, self.here, self.scheduler.now_ns + latency_ns, arrive)

    def _accepted(self) -> None:
        if self.is_connecting and not self.is_gone:
            self.is_connecting, self.is_connected = False, True
            self.changed()

    def _refused(self, error: int) -> None:
        if self.is_connecting and not self.is_gone:
            self.is_connecting, self.error = False, error
            self.changed()

    # -- sending

    def _post(self, arrive: Callable[[], None]) -> None:
        """Let something reach the other side, behind what was sent before."""
        if self.is_local:
            arrive()
            return
        network, scheduler = self.network, self.scheduler
        latency_ns = network.latency(self.here, self.there)
        at_ns = self._last_arrival_ns = max(self._last_arrival_ns, scheduler.now_ns + latency_ns)
        self._under_way.append(arrive)

        def arrive_first() -> None:
            # A segment that was held back holds back those behind it.
            if self._under_way:
                self._under_way.popleft()()

        network.deliver(self.here, self.there, at_ns, arrive_first)

    def push(self, data: bytes, descriptions: tuple[Description, ...] = ()) -> None:
        """Send; whoever calls has looked that there is room."""
        peer = self.peer
        assert peer is not None
        if not self.is_local and self.network.loses(self.here, self.there, len(data)):
            # The sender has sent them, for all that it knows at this moment.
            self.scheduler.at(self.scheduler.now_ns + 1, self.break_off)
        self.under_way_bytes += len(data)
        rest = memoryview(data)
        first = True
        while first or rest:
            whole = self.keeps_records or self.is_local
            count = len(rest) if whole else min(len(rest), self.network.dice.choice(_SEGMENT_BYTES))
            piece, rest = bytes(rest[:count]), rest[count:]
            self._post(self._arrival(piece, descriptions if first else ()))
            first = False

    def _arrival(self, piece: bytes, descriptions: tuple[Description, ...]) -> Callable[[], None]:
        peer = self.peer
        assert peer is not None

        def arrive() -> None:
            self.under_way_bytes -= len(piece)
            self.network.segment_count += 1
            if not self.is_local:
                self.scheduler.note("net", self.here, self.there, len(piece))
            if peer.is_gone:
                for description in descriptions:
                    description.references -= 1
                if not self.is_local:
                    peer._post(self._reset)
                return
            peer.received.append((piece, descriptions))
            peer.received_bytes += len(piece)
            peer.changed()

        return arrive

    def _reset(self) -> None:
        if not self.error and not self.is_gone:
            self.is_reset = True
            # Linux calls it a broken pipe where the other side had ended before (CLOSE_WAIT).
            ended = self.has_ended and not self.is_write_shut and not self.is_local
            self.error = errno.EPIPE if ended else errno.ECONNRESET
            self.has_ended = True
            self.changed()

    def break_off(self) -> None:
        """Lose the connection on both sides, and all that is under way, as where a firewall
        forgets it."""
        for end in (self, self.peer):
            if end is not None:
                end._under_way.clear()
                end._reset()

    def shut_write(self) -> None:
        """Send no more; the other side reads the end."""
        if self.is_write_shut:
            return
        self.is_write_shut = True
        peer = self.peer
        if peer is not None:

            def arrive() -> None:
                peer.has_ended = True
                peer.changed()

            self._post(arrive)
        self.changed()

    def take(self, count: int, *, peek: bool = False) -> bytes:
        """Take up to so many bytes, or one record."""
        if not self.received:
            return b""
        if self.keeps_records:
            record = self.received[0][0][:count]
            if not peek:
                self._drop_record()
            return record
        taken = bytearray()
        if peek:
            for piece, _ in self.received:
                taken += piece[: count - len(taken)]
                if len(taken) == count:
                    break
            return bytes(taken)
        while self.received and len(taken) < count:
            piece, descriptions = self.received[0]
            if descriptions and taken:
                break
            wanted = piece[: count - len(taken)]
            taken += wanted
            if len(wanted) == len(piece):
                self._drop_record()
            else:
                self.received[0] = (piece[len(wanted) :], ())
                self.received_bytes -= len(wanted)
        if self.peer is not None:
            self.peer.changed()
        return bytes(taken)

    def _drop_record(self) -> None:
        piece, _ = self.received.popleft()
        self.received_bytes -= len(piece)
        if self.peer is not None:
            self.peer.changed()

    def closed(self) -> None:
        """End as its kernel ends it when the last descriptor is closed."""
        self.is_gone = True
        self.is_connecting = False
        peer = self.peer
        for _, descriptions in self.received:
            for description in descriptions:
                description.references -= 1
        if peer is not None and not peer.is_gone and self.received:
            # Unread bytes: a reset instead of an end.
            self.received.clear()
            self.is_write_shut = True
            self._post(peer._reset)
        else:
            self.received.clear()
            self.shut_write()
        if peer is not None:
            peer.changed()

    def deliver_byte(self, value: int) -> None:
        self.push(bytes([value]))

    def vanished(self) -> None:
        """End and tell nobody: the other side finds out when it sends, and the machine is back."""
        self.is_gone = True
        self.is_connecting = False
        self.received.clear()
        self._under_way.clear()


def pair(network: Network, machine: str, *, keeps_records: bool = False) -> tuple[Stream, Stream]:
    """Make two ends on one machine, as of `socketpair`."""
    left = Stream(network, machine, machine, is_local=True, keeps_records=keeps_records)
    right = Stream(network, machine, machine, is_local=True, keeps_records=keeps_records)
    left.peer, right.peer = right, left
    return left, right
