"""Which hosts of a configuration are this machine."""

from __future__ import annotations

import socket


def is_this_host(host: str) -> bool:
    """Return whether a host name or IP address belongs to this machine.

    An address belongs to this machine if a socket can be bound to it. A name that cannot be
    looked up belongs to some other machine.
    """
    try:
        infos = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    return any(_can_be_bound(family, address) for family, _, _, _, address in infos)


def _can_be_bound(family: int, address: tuple[str | int, ...] | tuple[int, bytes]) -> bool:
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(address)
        except OSError:
            return False
    return True
