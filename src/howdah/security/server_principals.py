"""Whether a principal is a certain server's (shell: asks name servers)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Key
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.security.hosts import KnownHosts, canonical_host, host_names

_HOSTS: Final = KnownHosts(canonical_host, time.monotonic)


def configured(conf: Configuration, names: Iterable[Key[str | None]]) -> tuple[Principal, ...]:
    """The principals of servers that are set, as they are written. Raises InvalidConfiguration."""
    found = []
    for key in names:
        text = conf.get(key)
        if not text:
            continue
        try:
            found.append(Principal.parse(text))
        except errors.InvalidConfiguration as error:
            raise errors.InvalidConfiguration(
                f"{key.name} (from {conf.source(key.name)}): {error}"
            ) from None
    return tuple(found)


def is_of_kind(principal: str, wanted: Principal) -> bool:
    """Whether a principal is the `wanted` one but for the host."""
    try:
        who = Principal.parse(principal)
    except errors.InvalidConfiguration:
        return False  # A name in parts that no server of Hadoop's has.
    return (who.primary, who.realm) == (wanted.primary, wanted.realm) and (
        bool(who.instance) == bool(wanted.instance)
    )


def is_at(principal: str, wanted: Principal, hosts: Iterable[str]) -> bool:
    """Whether a principal is the `wanted` one, in which `_HOST` stands for each of `hosts`. Waits
    for name servers where it may be."""
    if wanted.instance != HOST_PLACEHOLDER:
        return principal == str(wanted)
    if not is_of_kind(principal, wanted):
        return False
    instance = Principal.parse(principal).instance
    return any(instance in host_names(host) for host in hosts)


def comes_from_its_host(principal: str, wanted: Principal, address: str) -> bool:
    """The same, where `_HOST` stands for the host at the IP address that a connection is from."""
    if not is_of_kind(principal, wanted):
        return False  # Nobody waits for a look-up that cannot help.
    return is_at(principal, wanted, (_HOSTS.look_up(address),))
