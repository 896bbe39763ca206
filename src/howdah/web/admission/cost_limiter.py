"""Bad company: what connections cost that end without a request, and who waits for it (pure).

Each address owes the time of the processor that its malformed heads, its heads that did not end
and its failed handshakes took. A small part of the time makes it good, of each address and of all
together. While an address owes more than a little, its next connections wait as sockets, one after
the other, and where the wait would be long they are dropped. An address that owes nothing never
waits, whatever others owe; nor does a connection that has made a request.

An IPv6 address stands for all of its network of 64 bits, for whoever has one has all.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from howdah.web.admission.cpu_budget import Debt

OF_ONE: Final = 0.02
"""An address's share of the time of a processor."""
OF_ALL: Final = 0.05
ALLOWANCE_S: Final = 0.01
"""So much an address, and all of them, may owe before anybody waits: some fifty malformed heads."""
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
    """Who owes what."""

    def __init__(
        self,
        *,
        of_one: float = OF_ONE,
        of_all: float = OF_ALL,
        allowance_s: float = ALLOWANCE_S,
        most_addresses: int = MOST_ADDRESSES,
    ) -> None:
        self._of_one = of_one
        self._allowance_s = allowance_s
        self._most_addresses = most_addresses
        self._all = Debt(of_all)
        self._debts: OrderedDict[str, Debt] = OrderedDict()
        """The one that has been charged last is the last one."""

    def visit(self, address: str, now_s: float) -> Visit:
        """A connection has said its first byte."""
        found = Visit(network_of(address))
        debt = self._debts.get(found.network)
        if debt is None:
            return found
        if not debt.owed_s(now_s):
            del self._debts[found.network]
            return found
        wait_s = max(each.wait_s(now_s, self._allowance_s) for each in (debt, self._all))
        if wait_s > MOST_WAIT_S:
            found.wait_s = None
            return found
        found.wait_s = wait_s
        self._charge(found, EXPECTED_S, now_s)
        return found

    def settle(self, visit: Visit, took_s: float, now_s: float) -> None:
        """What the connection has cost without a request; 0 for one that has made one, and for
        one that is dropped while it waits."""
        if took_s or visit.reserved_s:
            self._charge(visit, took_s, now_s)

    def _charge(self, visit: Visit, took_s: float, now_s: float) -> None:
        debt = self._debts.get(visit.network)
        if debt is None:
            debt = self._debts[visit.network] = Debt(self._of_one)
            if len(self._debts) > self._most_addresses:
                self._debts.popitem(last=False)
        self._debts.move_to_end(visit.network)
        for each in (debt, self._all):
            each.spend(took_s - visit.reserved_s, now_s)
        visit.reserved_s = took_s

    def __len__(self) -> int:
        """How many addresses owe something, or did lately."""
        return len(self._debts)


def network_of(address: str) -> str:
    """
    >>> network_of("10.0.0.1"), network_of("2001:db8:1:2:3::4"), network_of("fe80::1%eth0")
    ('10.0.0.1', '20010db800010002', 'fe80000000000000')
    """
    if ":" not in address:
        return address
    return ip_address(address).packed[:8].hex()
