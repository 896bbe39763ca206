"""Where key servers are, as clients are told (pure): `kms://https@host1;host2:9600/kms`.

All hosts have the same port and the same keys. Hadoop: KMSClientProvider.Factory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from howdah import errors

DEFAULT_PORT: Final = 9600
_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    """The key servers of one address."""

    is_secure: bool
    hosts: tuple[str, ...]
    port: int
    path: str
    """Below which a server has its calls, without `/` at its end."""

    @classmethod
    def of(cls, text: str) -> ProviderAddress:
        """Raises InvalidConfiguration for what is no address of key servers.

        >>> ProviderAddress.of("kms://http@a;b:9601/kms")
        ProviderAddress(is_secure=False, hosts=('a', 'b'), port=9601, path='/kms')
        """
        parts = urlsplit(text.strip())
        if parts.scheme != "kms":
            raise errors.InvalidConfiguration(
                f"{text!r} is no address of a key server, as kms://https@host:{DEFAULT_PORT}/kms"
            )
        scheme, _, where = parts.netloc.rpartition("@")
        names, port = _split_port(text, where)
        hosts = tuple(name.strip("[]") for name in names.split(";") if name)
        if scheme not in _SCHEMES or not hosts:
            raise errors.InvalidConfiguration(
                f"{text!r} names no {'host' if scheme in _SCHEMES else 'scheme http or https'} "
                f"of a key server, as kms://https@host:{DEFAULT_PORT}/kms"
            )
        return cls(scheme == "https", hosts, port, parts.path.rstrip("/"))

    def __str__(self) -> str:
        scheme = _SCHEMES[self.is_secure]
        hosts = ";".join(f"[{host}]" if ":" in host else host for host in self.hosts)
        return f"kms://{scheme}@{hosts}:{self.port}{self.path}"


def _split_port(text: str, where: str) -> tuple[str, int]:
    names, mark, port = where.rpartition(":")
    if not mark or port.endswith("]"):
        return where, DEFAULT_PORT
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise errors.InvalidConfiguration(f"{text!r} names the port {port!r}")
    return names, int(port)
