"""`-truncate` and `-concat`: files become shorter, or longer by others, without copying."""

from __future__ import annotations

import time

from howdah import errors
from howdah.cli.arguments.command_format import UNLIMITED, Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell import registry
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem, PathProblem
from howdah.cli.dfs.shell.path_args import Item

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Truncate(Command):
    """Files are cut to a length; where that ends within a block, the block is recovered."""

    FLAGS = ("w",)
    LEAST = 2

    def prepare(self, parsed: Parsed) -> list[str]:
        length, *paths = parsed.arguments
        if not (length.isascii() and length.isdigit()) or int(length) >= 1 << 63:
            self.shell.complain(f"{self.name}: Illegal length, a non-negative integer expected")
            raise UsageError(f'For input string: "{length}"')
        self._length = int(length)
        self._waits = "w" in parsed
        self._cut: list[Item] = []
        return paths

    def process_arguments(self, arguments: list[str]) -> None:
        super().process_arguments(arguments)
        for item in self._cut:
            self.attempt(self._wait, item)

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        now = item.require_status().length
        if self._length > now:
            # Hadoop ends the whole command here, whatever else was to be cut.
            raise UsageError(
                f"Cannot truncate to a larger file size. Current size: {now}, "
                f"truncate size: {self._length}."
            )
        if item.fs.truncate(item.path, self._length):
            self._say_done(item)
        elif self._waits:
            self._cut.append(item)
        else:
            self.out.line(
                f"Truncating {item.name} to length: {self._length}. Wait for block recovery to "
                f"complete before further updating this file."
            )

    def _wait(self, item: Item) -> None:
        self.out.line(f"Waiting for {item.name} ...")
        self.out.flush()
        pause_s = _FIRST_PAUSE_S
        while not item.fs.is_file_closed(item.path):
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        self._say_done(item)

    def _say_done(self, item: Item) -> None:
        self.out.line(f"Truncated {item.name} to length: {self._length}")
        self.out.flush()


class Concat(Command):
    """The blocks of files go to the end of another one, and the files are gone."""

    LEAST = 0
    MOST = UNLIMITED

    def process_items(self, items: list[Item]) -> None:
        synopsis = registry.COMMANDS[self.name].synopsis
        if self.failures:
            return  # a pattern that matches nothing: the others alone are not what was meant
        if not items:
            raise CommandProblem(f"Target path not specified. {synopsis}")
        target, *sources = items
        if len(sources) < 2:
            raise CommandProblem(f"The number of source paths is less than 2. {synopsis}")
        if target.status is None or target.is_directory:
            raise CommandProblem(f"Target path {target.full_path} does not exist or is not file.")
        for source in sources:
            if source.status is None or source.is_directory:
                raise CommandProblem(f"{source.full_path} does not exist or is not file.")
            if source.fs.uri != target.fs.uri:
                raise CommandProblem(
                    f"{source.full_path} is on another filesystem than {target.full_path}"
                )
        try:
            target.fs.concat(target.path, [source.path for source in sources])
        except errors.UnsupportedOperation as error:
            raise CommandProblem(
                f"Dest filesystem '{target.fs.scheme}' doesn't support concat."
            ) from error
