"""Decide which host names a web port answers to (pure).

A foreign page that is open in a browser may point its own host name to this machine (DNS
rebinding). The browser then sees one origin with the server, and the page may read and change what
its user may. The host name in the request is still the foreign one. So a request is refused whose
header Host names neither this machine nor a host that an administrator has configured.

Any IP address is allowed: nobody can point an address elsewhere, as DNS can a name, and behind a
forwarded port the machine does not know the address that the browser uses. A request without the
header is allowed too: browsers always send it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

ANY = "*"
LOCALHOST = "localhost"
_MOST_KEPT = 64
_LONGEST_KEPT = 255
"""Of headers that were allowed, and characters of each."""

_AUTHORITY = re.compile(r"(?:\[(?P<v6>[^\]@/?#]*)\]|(?P<name>[^:\[\]@/?#\s]*))(?::\d{0,5})?\Z")


def host_of(header: str) -> str | None:
    """Return the host of a header, in lower case and without its port; None if it has no valid one.

    >>> host_of("NN1.example.com:9870")
    'nn1.example.com'
    """
    match = _AUTHORITY.match(header.strip())
    if match is None:
        return None
    address = match["v6"]
    if address is not None:
        return address.lower() if ":" in address and is_address(address) else None
    return match["name"].lower().removesuffix(".") or None


def is_address(host: str) -> bool:
    """Whether it is an IP address, as browsers write one.

    >>> is_address("127.0.0.1.example.com")
    False
    """
    address, percent, _ = host.partition("%")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    # Only IPv6 addresses have a zone, after a per cent sign.
    return not percent or parsed.version == 6


class KnownHosts:
    """Host names that are allowed: full names, `*.DOMAIN` for all below a domain, `*` for any."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        patterns = {host_of(name) or name.strip().lower() for name in names} - {""}
        self.any = ANY in patterns
        self._allowed: set[str] = set()
        """Some headers that were allowed: a client sends the same one with each request."""
        self.names = frozenset(p for p in patterns if not p.startswith(ANY)) | {LOCALHOST}
        self._domains = (
            f".{LOCALHOST}",
            *(pattern.removeprefix(ANY) for pattern in patterns if pattern.startswith("*.")),
        )

    def allows(self, header: str | None) -> bool:
        """Return True if a request with this header Host may be answered."""
        if self.any or header is None or header in self._allowed:
            return True
        host = host_of(header)
        if host is None:
            return False
        is_allowed = host in self.names or host.endswith(self._domains) or is_address(host)
        if is_allowed and len(header) <= _LONGEST_KEPT and len(self._allowed) < _MOST_KEPT:
            self._allowed.add(header)
        return is_allowed


def hosts_in(values: Iterable[tuple[str, str]]) -> set[str]:
    """Return the hosts in the addresses of a configuration, from names and values of its keys."""
    hosts = set()
    for key, value in values:
        if not _OF_ADDRESSES.search(key):
            continue
        for piece in re.split(r"[,;\s]+", value):
            authority = piece.partition("://")[2] or piece
            host = host_of(authority.partition("/")[0].rpartition("@")[2])
            if host is not None and not host.startswith(ANY):
                # A star in an address means all addresses of this machine; it is no pattern.
                hosts.add(host)
    return hosts


_OF_ADDRESSES = re.compile(r"address|hostname|bind-host|defaultfs|default\.name", re.IGNORECASE)


def own_names(hostname: str, aliases: Iterable[str], domains: Iterable[str]) -> set[str]:
    """Return the names of a machine: each in full, its first label, and what a resolver completes
    to it with one of its `domains`. Not every leading part: `nn.io` of `nn.io.example.com` may be
    somebody else's.

    >>> sorted(own_names("dn1.rack.lan", [], ["lan"]))
    ['dn1', 'dn1.rack', 'dn1.rack.lan']
    """
    suffixes = tuple(f".{domain}" for domain in domains)
    names = set()
    for name in (hostname, *aliases):
        if is_address(name):
            continue
        whole = name.lower().removesuffix(".")
        names |= {whole, whole.partition(".")[0]}
        names |= {whole.removesuffix(suffix) for suffix in suffixes if whole.endswith(suffix)}
    return names - {""}


def domains_in_resolver(text: str) -> set[str]:
    """Return the search domains in the text of a file such as /etc/resolv.conf."""
    domains: set[str] = set()
    for line in text.splitlines():
        kind, *names = line.split() or [""]
        if kind in ("search", "domain"):
            domains.update(name.lower().strip(".") for name in names)
    return domains - {""}


def names_in_hosts(text: str, addresses: Iterable[str]) -> set[str]:
    """Return the names that a file such as /etc/hosts gives to addresses of this machine."""
    own = set(addresses)
    hosts: set[str] = set()
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if address in own:
            hosts.update(names)
    return hosts
