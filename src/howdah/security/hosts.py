"""Names and addresses of servers' hosts, as principals and tokens have them (shell: asks DNS)."""

from __future__ import annotations

import socket
from collections.abc import Callable

from howdah.runtime.known_names import KnownNames


def host_names(host: str) -> list[str]:
    """The names of a server's host, in lower case: its canonical ones first, then `host`."""
    names: list[str] = []
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
        for entry in entries[:1]:
            names.append(socket.getnameinfo(entry[4], socket.NI_NAMEREQD)[0])
        names += [str(entry[3]) for entry in entries if entry[3]]
    except OSError:
        pass  # Without a name by its address a host has the one that it was called by.
    names.append(host)
    return list(dict.fromkeys(name.lower() for name in names))


def ip_addresses(host: str) -> list[str]:
    """The addresses of a host; none if it is not known."""
    try:
        entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def canonical_host(address: str) -> str:
    """The name of the host at an IP address, in lower case, where that name leads back to the
    address; else the address itself."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
        leads_to = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except OSError:
        return address
    return name.lower() if address in leads_to else address


class KnownHosts:
    """Names of hosts that were looked up before, which takes time. By several threads."""

    def __init__(self, look_up: Callable[[str], str], clock_s: Callable[[], float]) -> None:
        self._names = KnownNames(look_up, lambda address, name: name != address, clock_s)

    def look_up(self, address: str) -> str:
        """The name of the host at an IP address, or the address. Waits for name servers, now and
        then."""
        return self._names(address)

    def known(self, address: str) -> str:
        """The name, if it was looked up; else the address, which is the name of no principal."""
        return self._names.known(address, address)
