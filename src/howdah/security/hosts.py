"""Names and addresses of servers' hosts, as principals and tokens have them (shell: asks DNS)."""

from __future__ import annotations

import socket


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
