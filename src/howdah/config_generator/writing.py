"""Puts the files of a plan on the disk (shell)."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from howdah.config_generator.plan import RACK_SCRIPT, SSL_SERVER
from howdah.errors import PathExists
from howdah.runtime.atomic_files import replace_file


def look_up(hosts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the addresses of hosts; a host that cannot be looked up has none."""
    addresses: dict[str, tuple[str, ...]] = {}
    for host in hosts:
        with contextlib.suppress(OSError, UnicodeError):
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses[host] = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
    return addresses


def check_absent(names: Iterable[str], directory: Path) -> None:
    """Raises `PathExists` if one of these files is there."""
    there = [str(path) for path in (directory / name for name in names) if path.exists()]
    if there:
        raise PathExists(f"{', '.join(there)}: there already; --force replaces it")


def write(files: Mapping[str, str], directory: Path, *, replaces: bool) -> list[Path]:
    """Write each file, whole or not at all; the paths.

    Raises `PathExists` if one is there and `replaces` is False: then nothing is written.
    """
    paths = {name: directory / name for name in files}
    if not replaces:
        check_absent(files, directory)
    directory.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        replace_file(path, files[name].encode())
        if name == RACK_SCRIPT:
            path.chmod(0o755)
        if name == SSL_SERVER:  # which may have a password
            path.chmod(0o600)
    return list(paths.values())
