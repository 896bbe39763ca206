"""How long who has given wrong passwords waits before another guess counts (pure).

Failures are counted by the address that they come from, and by the name that they are for. After a
few, each further one doubles the wait, up to a bound. What others guess elsewhere keeps no user
from an address that he has logged in from. A success clears nothing: who has one account could
guess those of others for as long as he likes. What was counted is forgotten after a while without
failures.

Memory is bounded: those that failed longest ago are forgotten first. Names are counted alike
whether there is such a user or not.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

MOST: Final = 4096
"""So many addresses, and so many names, are counted."""
FREE_OF_ADDRESS: Final = 5
FREE_OF_USER: Final = 20
"""So many failures cost nothing: people mistype."""
FIRST_WAIT_S: Final = 1.0
MOST_WAIT_S: Final = 60.0
MOST_WAIT_FOR_USER_S: Final = 5.0
"""Shorter, since others can make a user wait."""
FORGOTTEN_S: Final = 15 * 60.0
_NETWORK_BITS: Final = 64


@dataclass(slots=True)
class _Failures:
    count: int
    last_s: float
    next_s: float


class Attempts:
    """Of one server; whoever calls sees to it that it is one thread at a time."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._addresses: OrderedDict[str, _Failures] = OrderedDict()
        self._users: OrderedDict[str, _Failures] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    def wait_s(self, user: str, address: str, now_s: float) -> float:
        """So long an attempt has to wait; 0.0: it is to be looked at now."""
        place = network_of(address)
        waits = [_left_s(self._addresses.get(place), now_s)]
        if (user, place) not in self._known:
            waits.append(_left_s(self._users.get(user), now_s))
        return max(waits)

    def failed(self, user: str, address: str, now_s: float) -> None:
        """An attempt was looked at, and was wrong."""
        place = network_of(address)
        self._count(self._addresses, place, FREE_OF_ADDRESS, MOST_WAIT_S, now_s)
        if (user, place) not in self._known:
            self._count(self._users, user, FREE_OF_USER, MOST_WAIT_FOR_USER_S, now_s)

    def succeeded(self, user: str, address: str) -> None:
        """An attempt was right."""
        place = network_of(address)
        self._known[user, place] = None
        self._known.move_to_end((user, place))
        while len(self._known) > self._most:
            self._known.popitem(last=False)

    def __len__(self) -> int:
        """How much is remembered."""
        return len(self._addresses) + len(self._users) + len(self._known)

    def _count(
        self,
        failures: OrderedDict[str, _Failures],
        name: str,
        free: int,
        most_s: float,
        now_s: float,
    ) -> None:
        known = failures.pop(name, None)
        if known is None or now_s - known.last_s >= FORGOTTEN_S:
            known = _Failures(0, now_s, now_s)
        known.count += 1
        known.last_s = now_s
        doublings = known.count - free
        wait_s = 0.0 if doublings < 0 else min(FIRST_WAIT_S * 2.0 ** min(doublings, 30), most_s)
        known.next_s = now_s + wait_s
        failures[name] = known
        while len(failures) > self._most:
            failures.popitem(last=False)


def _left_s(failures: _Failures | None, now_s: float) -> float:
    return 0.0 if failures is None else max(failures.next_s - now_s, 0.0)


def network_of(address: str) -> str:
    """Return what one host may take addresses from: a network of IPv6, or the address.

    >>> network_of("10.0.0.1"), network_of("2001:db8::1"), network_of("::ffff:10.0.0.1")
    ('10.0.0.1', '2001:db8::', '10.0.0.1')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _NETWORK_BITS), strict=False).network_address)
