"""`-stat` and `-test`: questions about one path each.

`stat` prints a format per path: %a octal mode, %A symbolic mode, %b bytes, %F
kind, %g group, %n name, %o block size, %r replication, %u owner, %x and %X last
access, %y and %Y last change (in UTC, and in milliseconds since 1970), %% a
percent sign; another letter stands for itself. `-R`, which Hadoop's usage does not name, goes into
directories. `test` answers by its exit code.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.commands.ls import record
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.dfs.shell.text import utc_second
from howdah.errors import AccessDenied
from howdah.fs.status import FileStatus, permission_string

DEFAULT_FORMAT = "%y"


def _kind(status: FileStatus) -> str:
    if status.is_directory:
        return "directory"
    return "symbolic link" if status.is_symlink else "regular file"


_FIELDS: dict[str, Callable[[FileStatus], str]] = {
    "a": lambda status: f"{status.permission:o}",
    "A": lambda status: permission_string(status.permission),
    "b": lambda status: str(status.length),
    "F": _kind,
    "g": lambda status: status.group,
    "n": lambda status: status.name,
    "o": lambda status: str(status.block_size),
    "r": lambda status: str(status.replication),
    "u": lambda status: status.owner,
    "x": lambda status: utc_second(status.access_time_ms),
    "X": lambda status: str(status.access_time_ms),
    "y": lambda status: utc_second(status.modification_time_ms),
    "Y": lambda status: str(status.modification_time_ms),
}


def formatted(template: str, status: FileStatus) -> str:
    """The template with its fields filled in; a percent sign at the end is dropped.

    >>> formatted("%n is 100%%", status)  # doctest: +SKIP
    'pom.xml is 100%'
    """
    out: list[str] = []
    letters = iter(template)
    for letter in letters:
        if letter != "%":
            out.append(letter)
            continue
        code = next(letters, "")
        field = _FIELDS.get(code)
        out.append(field(status) if field else code)
    return "".join(out)


class Stat(Command):
    FLAGS = ("R",)

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = list(parsed.arguments)
        self._format = DEFAULT_FORMAT
        rest = parsed
        if "%" in arguments[0]:
            self._format = arguments.pop(0)
            # Behind it there are options, too, and at least one path.
            rest = self.read_options(arguments)
        self.recursive = "R" in parsed or "R" in rest
        return list(rest.arguments)

    def process_path(self, item: Item) -> None:
        if self.shell.json:
            self.records.append(record(item.name, item.require_status()))
        else:
            self.out.line(formatted(self._format, item.require_status()))


class Test(Command):
    FLAGS = ("e", "d", "f", "s", "w", "r", "z")
    MOST = 1

    def prepare(self, parsed: Parsed) -> list[str]:
        if len(parsed.flags) > 1:
            raise UsageError("Only one test flag is allowed")
        if not parsed.flags:
            raise UsageError("No test flag given")
        (self._flag,) = parsed.flags
        self._passed = True
        return list(parsed.arguments)

    def process_item(self, item: Item) -> None:
        self._passed = self._passes(item)

    def _passes(self, item: Item) -> bool:
        status = item.status
        if status is None:
            return False
        match self._flag:
            case "d":
                return status.is_directory
            case "f":
                return status.is_file
            case "s":
                return status.length > 0
            case "z":
                return status.length == 0
            case "w":
                return self._allowed(item, os.W_OK)
            case "r":
                return self._allowed(item, os.R_OK)
        return True

    def _allowed(self, item: Item, mode: int) -> bool:
        try:
            item.fs.access(item.path, mode)
        except AccessDenied:
            return False
        return True

    def exit_code(self) -> int:
        return super().exit_code() or (0 if self._passed else 1)
