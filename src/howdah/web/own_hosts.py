"""Find out the names of this machine, for `howdah.web.known_hosts` (shell).

The host name and the names in /etc/hosts are known at once. The full name may need a DNS look-up,
which may hang: it happens when a request has an unknown name, on the thread of that connection, and
not again for a while.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from howdah.config import Configuration, keys
from howdah.runtime.local_addresses import is_this_host
from howdah.web.known_hosts import (
    KnownHosts,
    domains_in_resolver,
    hosts_in,
    is_address,
    names_in_hosts,
    own_names,
)

log = logging.getLogger(__name__)

_HOSTS: Final = Path("/etc/hosts")
_RESOLVER: Final = Path("/etc/resolv.conf")
_AGAIN_S: Final = 60.0
_HINT_S: Final = 60.0


class OwnHosts:
    """The host names that this machine answers to. Thread-safe."""

    def __init__(self, also: Iterable[str] = ()) -> None:
        """`also` are names besides this machine's own."""
        self._also = frozenset(also)
        self._lock = threading.Lock()
        self._looked_up: frozenset[str] = frozenset()
        self._next_lookup_s = 0.0
        self._next_hint_s = 0.0
        self._known = self._build()

    def _build(self) -> KnownHosts:
        domains = domains_in_resolver(_read(_RESOLVER))
        names = own_names(socket.gethostname(), self._looked_up, domains)
        return KnownHosts((*self._also, *names, *_of_file()))

    def allows(self, header: str | None) -> bool:
        """Return True if a request with this header Host may be answered."""
        if self._known.allows(header):
            return True
        with self._lock:
            now_s = time.monotonic()
            if now_s >= self._next_lookup_s:
                self._looked_up = frozenset({socket.getfqdn()})
                self._known = self._build()
                self._next_lookup_s = time.monotonic() + _AGAIN_S
            is_allowed = self._known.allows(header)
            if not is_allowed and now_s >= self._next_hint_s:
                self._next_hint_s = now_s + _HINT_S
                log.warning(
                    "a request for the host %.200r is refused, which is no name of this machine. "
                    "If it is one, as behind a proxy, name it in %s",
                    header,
                    keys.HOWDAH_HTTP_HOSTS.name,
                )
            return is_allowed


def _read(file: Path) -> str:
    """Not every machine has it."""
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _of_file() -> set[str]:
    """Names that the machine's administrator has given it."""
    text = _read(_HOSTS)
    addresses = {line.split()[0] for line in text.splitlines() if line.split()}
    own = {address for address in addresses if is_address(address) and is_this_host(address)}
    return names_in_hosts(text, own)


def hosts_of(conf: Configuration, also: Iterable[str] = ()) -> OwnHosts:
    """This machine's, those that the configuration names in its addresses, `howdah.http.hosts`, and
    `also`."""
    values = [(key, conf.raw(key) or "") for key, _ in conf.items()]
    return OwnHosts((*hosts_in(values), *conf.get(keys.HOWDAH_HTTP_HOSTS), *also))
