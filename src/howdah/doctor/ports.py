"""Who has a port of this machine (shell)."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


def try_to_bind(host: str, port: int) -> tuple[str | None, str]:
    """The holder of a port, None if it is free, and why it cannot be bound though it is.

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
            return holder_of(port), ""
        return None, error.strerror or str(error)
    return None, ""


def holder_of(port: int) -> str:
    """The command line of the process that listens at a port; empty if it cannot be seen."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    for directory in _PROC.glob("[0-9]*") if wanted else ():
        try:
            if not any(_target(each) in wanted for each in (directory / "fd").iterdir()):
                continue
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended, or is another user's
        text = b" ".join(words).decode(errors="replace").strip()
        return f"process {directory.name} ({text})"
    return ""


def _target(link: Path) -> str:
    """What a descriptor is of; empty if it was closed meanwhile."""
    try:
        return os.readlink(link)
    except FileNotFoundError:
        return ""


def _inodes(port: int) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        try:
            lines = (_PROC / "net" / name).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]


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
