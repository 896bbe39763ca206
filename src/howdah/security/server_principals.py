"""Whether a principal is a certain server's (shell: asks name servers)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from howdah import errors
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.security.hosts import KnownHosts, canonical_host, host_names

_HOSTS: Final = KnownHosts(canonical_host, time.monotonic)


def is_at(principal: str, wanted: str, hosts: Iterable[str]) -> bool:
    """Whether a principal is the `wanted` one, in which `_HOST` stands for each of `hosts`."""
    if HOST_PLACEHOLDER not in wanted:
        return bool(wanted) and principal == wanted
    named = Principal.parse(wanted)
    try:
        who = Principal.parse(principal)
    except errors.InvalidConfiguration:
        return False  # A name in parts that no server of Hadoop's has.
    if named.instance != HOST_PLACEHOLDER or (who.primary, who.realm) != (
        named.primary,
        named.realm,
    ):
        return False
    return any(who.instance in host_names(host) for host in hosts)


def comes_from_its_host(principal: str, wanted: str, address: str) -> bool:
    """The same, where `_HOST` stands for the host at the IP address that a connection is from."""
    return is_at(principal, wanted, (_HOSTS.look_up(address),))
