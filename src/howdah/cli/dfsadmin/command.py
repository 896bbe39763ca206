"""What every command of `dfsadmin` is made of."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.fs import paths
from howdah.fs.hdfs.administration import Administration, each_namenode
from howdah.fs.hdfs.filesystem import HdfsFileSystem

EXIT_FAILURE: Final = 255


class Failed(Exception):
    """A failure whose message stands alone, without the command's name before it."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILURE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Cluster:
    """What commands work on."""

    fs: HdfsFileSystem
    conf: Configuration

    @property
    def administration(self) -> Administration:
        return self.fs.administration

    @property
    def authority(self) -> str:
        return paths.parse(self.fs.uri).authority

    def print_answers(
        self,
        question: Callable[[Administration], str],
        failed: str,
        *,
        of: str = "for",
        suffix: str = "",
        skipped: str | None = None,
    ) -> None:
        """Print what `question` says of the namenode, or of each one where there are several.

        As Hadoop's program words it: "SAID for ADDRESS", and "FAILED for ADDRESS" of those
        that cannot be asked, as a complaint. All are asked. Raises what those had to say in the
        end. Where `skipped` says so, a standby that refuses is all right.
        """
        with each_namenode(self.authority, self.conf, self.fs.user) as namenodes:
            if not namenodes:
                print(question(self.administration))
                return
            refusals = {}
            for administration in namenodes.values():
                place = java_address(administration.address)
                try:
                    print(f"{question(administration)} {of} {place}")
                except errors.HowdahError as error:
                    if skipped is not None and isinstance(error, errors.StandbyError):
                        print(skipped)
                        continue
                    refusals[place] = error
                    if failed:
                        print(f"{failed} {of} {place}{suffix}", file=sys.stderr)
        if len(refusals) == 1:
            raise next(iter(refusals.values()))
        if refusals:
            raise errors.RemoteError(
                "; ".join(f"{place}: {first_line(why)}" for place, why in refusals.items())
            )


def java_address(address: Address) -> str:
    """`host/ip:port`, as Java prints it; `ip:port` where the host is given as an address."""
    host, port = address
    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            ip = socket.gethostbyname(host)
        except (OSError, UnicodeError):
            ip = "<unresolved>"
        return f"{host}/{ip}:{port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its words behind the name, how many there may be, and what it does."""

    synopsis: str
    help: str
    run: Callable[[list[str], Cluster], None]
    least_words: int = 0
    most_words: int = sys.maxsize
    everywhere: Callable[[list[str], Configuration], None] | None = None
    """What it does with the word `-all`, which is none of the others: in all nameservices."""

    @property
    def space(self) -> str:
        return " " if self.synopsis else ""
