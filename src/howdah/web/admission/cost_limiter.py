"""Bad company: what connections cost that end without a request, and who waits for it (pure).

Each address owes the time of the processor that its malformed heads, its heads that did not end
and its failed handshakes took. A small part of the time makes it good, of each address and of all
together: where many owe, each debt melts more slowly. While an address owes more than a little,
its next connections wait as sockets, one after the other, and where the wait would be long they
are dropped. An address that owes nothing never waits, whatever others owe; nor does a connection
that has made a request.

An IPv6 address stands for all of its network of 64 bits, for whoever has one has all.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

OF_ONE: Final = 0.02
"""An address's share of the time of a processor."""
OF_ALL: Final = 0.05
ALLOWANCE_S: Final = 0.01
"""So much an address may owe before it waits: some fifty malformed heads."""
MOST_WAIT_S: Final = 3.0
EXPECTED_S: Final = 0.0002
"""What a connection that waits is taken to cost until it is known."""
MOST_ADDRESSES: Final = 4096


@dataclass(slots=True)
class Visit:
    """A connection that has said something."""

    network: str
    wait_s: float | None = 0.0
    """How long it waits to be served. None: it is dropped."""
    reserved_s: float = 0.0
    """What its network owes for it already."""


class CostLimiter:
    """Keeps what each network owes.

    All debts melt at one rate at a time, so one sum says how far: what was made good of a debt
    that is never paid. Of each debt it is kept at which sum it is paid.
    """

    def __init__(
        self,
        *,
        of_one: float = OF_ONE,
        of_all: float = OF_ALL,
        allowance_s: float = ALLOWANCE_S,
        most_addresses: int = MOST_ADDRESSES,
    ) -> None:
        self._of_one = of_one
        self._of_all = of_all
        self._allowance_s = allowance_s
        self._most_addresses = most_addresses
        self._at_s = 0.0
        self._melted_s = 0.0
        self._paid_at: dict[str, float] = {}
        self._next: list[tuple[float, str]] = []
        """A heap with one entry for each debt. Where a debt has grown since, its sum is too low."""

    def visit(self, address: str, now_s: float) -> Visit:
        """Record that a connection has sent its first byte, and return its visit."""
        visit = Visit(network_of(address))
        self._melt(now_s)
        owed_s = self._owed_s(visit.network)
        if not owed_s:
            return visit
        wait_s = max(0.0, owed_s - self._allowance_s) / self._rate()
        if wait_s > MOST_WAIT_S:
            visit.wait_s = None
            return visit
        visit.wait_s = wait_s
        self._charge(visit, EXPECTED_S)
        return visit

    def settle(self, visit: Visit, took_s: float, now_s: float) -> None:
        """What the connection has cost without a request; 0 for one that has made one, and for
        one that is dropped while it waits."""
        if took_s or visit.reserved_s:
            self._melt(now_s)
            self._charge(visit, took_s)

    def _charge(self, visit: Visit, took_s: float) -> None:
        network = visit.network
        owed_s = max(0.0, self._owed_s(network) + took_s - visit.reserved_s)
        visit.reserved_s = took_s
        is_new = network not in self._paid_at
        self._paid_at[network] = self._melted_s + owed_s
        if is_new:
            heapq.heappush(self._next, (self._melted_s + owed_s, network))
            if len(self._paid_at) > self._most_addresses:
                self._least()
                self._forget_first()

    def _owed_s(self, network: str) -> float:
        return max(0.0, self._paid_at.get(network, 0.0) - self._melted_s)

    def _rate(self) -> float:
        """How much of a debt a second makes good."""
        return min(self._of_one, self._of_all / max(1, len(self._paid_at)))

    def _melt(self, now_s: float) -> None:
        """Let debts melt until now. The rate rises whenever one is paid."""
        while self._paid_at and self._at_s < now_s:
            due = self._least()
            rate = self._rate()
            until_s = self._at_s + (due - self._melted_s) / rate
            if until_s > now_s:
                self._melted_s += rate * (now_s - self._at_s)
                break
            self._at_s, self._melted_s = max(self._at_s, until_s), max(self._melted_s, due)
            self._forget_first()
        self._at_s = max(self._at_s, now_s)

    def _least(self) -> float:
        """The sum at which the next debt is paid, the heap's first from then on."""
        while (paid_at := self._paid_at[self._next[0][1]]) > self._next[0][0]:
            heapq.heapreplace(self._next, (paid_at, self._next[0][1]))
        return self._next[0][0]

    def _forget_first(self) -> None:
        del self._paid_at[heapq.heappop(self._next)[1]]

    def __len__(self) -> int:
        """How many addresses owe something, or did lately."""
        return len(self._paid_at)


def network_of(address: str) -> str:
    """
    >>> network_of("10.0.0.1"), network_of("2001:db8:1:2:3::4"), network_of("fe80::1%eth0")
    ('10.0.0.1', '20010db800010002', 'fe80000000000000')
    """
    if ":" not in address:
        return address
    return ip_address(address).packed[:8].hex()
