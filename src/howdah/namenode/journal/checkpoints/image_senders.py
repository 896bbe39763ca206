"""From where images are taken (shell: asks the resolver, once at the start).

Whoever reached the port could send one. HTTP says nothing of the user here, so the
address decides: this machine's own, and the hosts that the configuration names as
namenodes, the secondary one included. Hadoop asks for the principals of the same.
"""

from __future__ import annotations

import ipaddress
import logging
import socket

from howdah.config import Configuration, keys, namenode_address

log = logging.getLogger(__name__)


class Senders:
    """The addresses of the namenodes of some configurations: of this namenode's, and of those
    that share its log."""

    def __init__(self, *confs: Configuration) -> None:
        hosts = {
            host
            for conf in confs
            for host in (
                namenode_address(conf)[0],
                conf.get(keys.DFS_NAMENODE_HTTP_ADDRESS)[0],
                conf.get(keys.DFS_NAMENODE_HTTPS_ADDRESS)[0],
                conf.get(keys.DFS_NAMENODE_SECONDARY_HTTP_ADDRESS)[0],
                conf.get(keys.DFS_NAMENODE_SECONDARY_HTTPS_ADDRESS)[0],
            )
        }
        self._addresses = {address for host in hosts for address in _addresses_of(host)}

    def __call__(self, peer: str) -> bool:
        """Whether an image is taken from that address."""
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return address.is_loopback or str(address) in self._addresses


def _addresses_of(host: str) -> list[str]:
    try:
        addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, None)]
    except (OSError, UnicodeError) as error:
        log.warning("the host %s has no address, no image is taken from it: %s", host, error)
        return []
    return [address for address in addresses if not ipaddress.ip_address(address).is_unspecified]
