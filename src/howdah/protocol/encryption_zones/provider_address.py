"""Where key servers are, as clients are told (pure): `kms://https@host1;host2:9600/kms`.

All hosts have the same port and the same keys. Hadoop: KMSClientProvider.Factory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from howdah import errors

SCHEME: Final = "kms:"
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
    service: str = field(default="", compare=False, repr=False)
    """The address as it was given: clients find delegation tokens by it."""

    @classmethod
    def of(cls, text: str) -> ProviderAddress:
        """Raises InvalidConfiguration for what is no address of key servers.

        >>> ProviderAddress.of("kms://http@a;b:9601/kms")
        ProviderAddress(is_secure=False, hosts=('a', 'b'), port=9601, path='/kms')
        """
        parts = urlsplit(text.strip())
        if f"{parts.scheme}:" != SCHEME:
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
        service = parts._replace(fragment="").geturl()
        return cls(scheme == "https", hosts, port, parts.path.rstrip("/"), service)

    def is_of_token(self, service: str) -> bool:
        """Whether a delegation token of a service is good here: of one of these servers, or of
        several with one of these among them.

        >>> here = ProviderAddress.of("kms://http@a;b/kms")
        >>> here.is_of_token("kms://http@b:9600/kms"), here.is_of_token("kms://http@c:9600/kms")
        (True, False)
        >>> here.is_of_token("a:9600")
        True
        """
        if "://" not in service:
            return service in {f"{host.lower()}:{self.port}" for host in self.hosts}
        try:
            of_token = ProviderAddress.of(service)
        except errors.InvalidConfiguration:
            return False
        shared = {host.lower() for host in self.hosts} & {host.lower() for host in of_token.hosts}
        return bool(shared) and (self.port, self.path) == (of_token.port, of_token.path)

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
