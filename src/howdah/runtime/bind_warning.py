"""Who can reach a server that believes everybody (pure).

With SIMPLE authentication a caller is who it says it is, the superuser if it likes. On
loopback that is every user of this machine; on any other address it is everybody who
can reach that address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable


def is_loopback(address: str) -> bool:
    """Whether an IP address, as a bound socket tells it, is this machine's alone."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def warning(server: str, addresses: Iterable[tuple[str, int]]) -> str:
    """What an operator has to know of a server that listens at these IP addresses and ports;
    empty where all are loopback."""
    open_to_all = [
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        for host, port in dict.fromkeys(addresses)
        if not is_loopback(host)
    ]
    if not open_to_all:
        return ""
    return (
        f"the {server} listens at {', '.join(open_to_all)} with SIMPLE authentication: everybody "
        "who reaches it from the network is whom he claims to be, the superuser included. "
        "Keep these ports behind a firewall"
    )
