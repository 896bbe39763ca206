"""`-mkdir`, `-touch` and `-touchz`: make directories and empty files."""

from __future__ import annotations

import re
import time
from datetime import datetime

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import IO_ERROR, PathProblem
from howdah.cli.dfs.shell.path_args import Item, status_or_none
from howdah.errors import UnsupportedOperation
from howdah.fs import paths

TIMESTAMP_FORMAT = "%Y%m%d:%H%M%S"
KEEP_MS = -1


class Mkdir(Command):
    FLAGS = ("p",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._with_parents = "p" in parsed
        return list(parsed.arguments)

    def process_path(self, item: Item) -> None:
        if not item.is_directory:
            raise PathProblem.is_not_directory(item.name)
        if not self._with_parents:
            raise PathProblem.exists(item.name)

    def process_missing(self, item: Item) -> None:
        parent = paths.parent_of(item.path)
        if not self._with_parents and parent and status_or_none(item.fs, parent) is None:
            raise PathProblem.missing(Item(item.fs, parent, item.style).full_path)
        if not item.fs.mkdirs(item.path):
            raise PathProblem(item.name, IO_ERROR)


class Touchz(Command):
    """Make empty files; one that is there must be empty."""

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        if item.require_status().length:
            raise PathProblem(item.name, "Not a zero-length file")
        self.make(item)

    def process_missing(self, item: Item) -> None:
        if not item.parent_exists():
            raise PathProblem.missing(item.name, item.full_path)
        self.make(item)

    def make(self, item: Item) -> None:
        """Make the file anew, empty."""
        item.fs.create(item.path, overwrite=True).close()


class Touch(Touchz):
    """Set times to now or to a given time; make what isn't there unless -c says no."""

    FLAGS = ("a", "m", "c")
    VALUED = ("t",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._create = "c" not in parsed
        both = "a" in parsed or "m" not in parsed, "m" in parsed or "a" not in parsed
        self._set_access, self._set_change = both
        stamp = parsed.values.get("t")
        self._is_now = stamp is None
        self._time_ms = time.time_ns() // 1_000_000 if stamp is None else timestamp_ms(stamp)
        return list(parsed.arguments)

    def process_path(self, item: Item) -> None:
        self._set_times(item)

    def process_missing(self, item: Item) -> None:
        if self._create:
            super().process_missing(item)
            try:
                self._set_times(item)
            except UnsupportedOperation:
                # An object has the time of its making, and no other.
                if not self._is_now:
                    raise

    def _set_times(self, item: Item) -> None:
        item.fs.set_times(
            item.path,
            self._time_ms if self._set_change else KEEP_MS,
            self._time_ms if self._set_access else KEEP_MS,
        )


def timestamp_ms(text: str) -> int:
    """Milliseconds since 1970 of `yyyyMMdd:HHmmss` in the local zone."""
    try:
        if not re.fullmatch(r"[0-9]{8}:[0-9]{6}", text):
            raise ValueError(text)
        return int(datetime.strptime(text, TIMESTAMP_FORMAT).timestamp() * 1000)
    except ValueError:
        raise UsageError(
            f"Unable to parse the specified timestamp {text}. The expected format is "
            "yyyyMMdd:HHmmss"
        ) from None
