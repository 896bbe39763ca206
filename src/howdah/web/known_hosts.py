"""Under which names a web port may be asked for (pure).

A page of a stranger may have its own name lead to this machine once it is open in a browser (DNS
rebinding): for the browser it is then of one origin with the server, and may read and change
what its user may. The name in the address stays the stranger's. So a request whose header Host
names neither this machine nor what an administrator has configured is refused.

An IP address is let through, whosever it is: a name can be led elsewhere, an address cannot, and
behind a forwarded port the machine does not know the address that a browser has. So is a
request without the header: browsers always send it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

ANY = "*"
LOCALHOST = "localhost"

_AUTHORITY = re.compile(r"(?:\[(?P<v6>[^\]@/?#]*)\]|(?P<name>[^:\[\]@/?#\s]*))(?::\d{0,5})?\Z")


def host_of(header: str) -> str | None:
    """The host of a header, in lower case and without its port; None where it is none.

    >>> host_of("NN1.example.com:9870")
    'nn1.example.com'
    """
    found = _AUTHORITY.match(header.strip())
    if found is None:
        return None
    address = found["v6"]
    if address is not None:
        return address.lower() if ":" in address and is_address(address) else None
    return found["name"].lower().removesuffix(".") or None


def is_address(host: str) -> bool:
    """Whether it is an IP address, as browsers write one.

    >>> is_address("127.0.0.1.example.com")
    False
    """
    address, percent, _ = host.partition("%")
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    # Only those of version 6 have a zone, behind a per cent sign.
    return not percent or found.version == 6


class KnownHosts:
    """Names that are let in: whole ones, `*.DOMAIN` for all below a domain, `*` for any."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        listed = {host_of(each) or each.strip().lower() for each in names} - {""}
        self.any = ANY in listed
        self.names = frozenset(each for each in listed if not each.startswith(ANY)) | {LOCALHOST}
        self._domains = (
            f".{LOCALHOST}",
            *(each.removeprefix(ANY) for each in listed if each.startswith("*.")),
        )

    def allows(self, header: str | None) -> bool:
        """Whether a request with this header Host is answered."""
        if self.any or header is None:
            return True
        host = host_of(header)
        if host is None:
            return False
        return host in self.names or host.endswith(self._domains) or is_address(host)


def hosts_in(values: Iterable[tuple[str, str]]) -> set[str]:
    """The hosts that a configuration names in its addresses, from names and values of its keys."""
    found = set()
    for key, value in values:
        if not _OF_ADDRESSES.search(key):
            continue
        for piece in re.split(r"[,;\s]+", value):
            authority = piece.partition("://")[2] or piece
            host = host_of(authority.partition("/")[0].rpartition("@")[2])
            if host is not None and not host.startswith(ANY):
                # A star in an address is all of this machine's, and no pattern for names.
                found.add(host)
    return found


_OF_ADDRESSES = re.compile(r"address|hostname|bind-host|defaultfs|default\.name", re.IGNORECASE)


def own_names(hostname: str, aliases: Iterable[str], domains: Iterable[str]) -> set[str]:
    """Names of a machine: each whole, its first part, and what a resolver completes to it with one
    of its `domains`. Not each of its beginnings: `nn.io` of `nn.io.example.com` may be a
    stranger's.

    >>> sorted(own_names("dn1.rack.lan", [], ["lan"]))
    ['dn1', 'dn1.rack', 'dn1.rack.lan']
    """
    endings = tuple(f".{each}" for each in domains)
    found = set()
    for name in (hostname, *aliases):
        if is_address(name):
            continue
        whole = name.lower().removesuffix(".")
        found |= {whole, whole.partition(".")[0]}
        found |= {whole.removesuffix(each) for each in endings if whole.endswith(each)}
    return found - {""}


def domains_in_resolver(text: str) -> set[str]:
    """The domains with which a resolver completes names, of a file such as /etc/resolv.conf."""
    found: set[str] = set()
    for line in text.splitlines():
        kind, *names = line.split() or [""]
        if kind in ("search", "domain"):
            found.update(each.lower().strip(".") for each in names)
    return found - {""}


def names_in_hosts(text: str, is_own: Iterable[str]) -> set[str]:
    """The names that a file such as /etc/hosts gives addresses of this machine."""
    own = set(is_own)
    found: set[str] = set()
    for line in text.splitlines():
        address, *names = line.partition("#")[0].split() or [""]
        if address in own:
            found.update(names)
    return found
