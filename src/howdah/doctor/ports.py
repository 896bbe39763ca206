"""Who has a port of this machine (shell)."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from howdah.doctor.inputs import Holder

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"
_WILDCARDS: Final = ("0.0.0.0", "::")


def try_to_bind(host: str, port: int) -> tuple[Holder | None, str]:
    """Who listens at a port, None if it is free, and why it cannot be bound though it is.

    The port is bound for a moment and not listened at.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # As servers do: what is left of connections that have ended is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return holder_of(str(address[0]), port), ""
        return None, error.strerror or str(error)
    return None, ""


def holder_of(host: str, port: int) -> Holder:
    """Return the process that listens at an address, or at all of them; where that cannot be told,
    one without words. Linux says which socket listens where, and which process has that socket."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(host, port)}
    for directory in _PROC.glob("[0-9]*") if wanted else ():
        try:
            if not any(
                _target(descriptor) in wanted for descriptor in (directory / "fd").iterdir()
            ):
                continue
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is another user's
        said = tuple(word.decode(errors="replace") for word in words if word)
        return Holder(int(directory.name), said)
    return Holder()


def _target(link: Path) -> str:
    """What a descriptor is of; empty if it was closed meanwhile."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def _inodes(host: str, port: int) -> Iterator[str]:
    """Of the sockets that keep others from listening there."""
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            address, _, number = fields[1].rpartition(":")
            if fields[3] != _LISTENING or int(number, 16) != port:
                continue
            if host in _WILDCARDS or _text_of(address) in (host, *_WILDCARDS):
                yield fields[9]


def _text_of(address: str) -> str:
    """Read an address as the kernel prints it: words of 32 bits, in the machine's order of
    bytes."""
    words = [bytes.fromhex(address[at : at + 8]) for at in range(0, len(address), 8)]
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    parsed = ipaddress.ip_address(b"".join(words))
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return str(mapped or parsed)


def is_ephemeral(port: int) -> bool:
    """Whether the system may give the port to an outgoing connection (Linux; else never)."""
    settings = _PROC / "sys" / "net" / "ipv4"
    try:
        low, high = map(int, (settings / "ip_local_port_range").read_text().split())
        reserved = (settings / "ip_local_reserved_ports").read_text().strip()
    except (OSError, ValueError):
        return False
    if not low <= port <= high:
        return False
    for span in filter(None, reserved.split(",")):
        first, _, last = span.partition("-")
        if int(first) <= port <= int(last or first):
            return False
    return True
