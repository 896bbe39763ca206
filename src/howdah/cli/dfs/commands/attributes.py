"""`-chmod`, `-chown`, `-chgrp` and `-setrep`: attributes of what is there.

With -R a directory is changed before what is below it. Nothing is sent for a
path that has the mode or owner already.
"""

from __future__ import annotations

import re
import time

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import Parsed, short_integer
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.commands import modes
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem, PathProblem, describe
from howdah.cli.dfs.shell.path_args import Item
from howdah.errors import HowdahError

_NAME = r"[-+_./@a-zA-Z0-9]+"
_OWNER_AND_GROUP = re.compile(rf"\s*({_NAME})?(:({_NAME})?)?\s*", re.ASCII)
_GROUP = re.compile(rf"\s*({_NAME})\s*", re.ASCII)

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 10.0


class _Recursive(Command):
    LEAST = 2

    FLAGS = ("R",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self.recursive = "R" in parsed
        arguments = list(parsed.arguments)
        self.parse_argument(arguments.pop(0))
        return arguments

    def parse_argument(self, text: str) -> None:
        """Understand the first argument, which is no path."""
        raise NotImplementedError


class Chmod(_Recursive):
    def read_options(self, arguments: list[str]) -> Parsed:
        """Only -R is an option, before the mode or behind it: `-x` and `-rwx` are modes."""
        words = list(arguments)
        flags: set[str] = set()
        kept: list[str] = []
        while words and words[0].startswith("-"):
            word = words.pop(0)
            if word == "--":
                break
            if word == "-R":
                flags.add("R")
            else:
                kept.append(word)
        options.check_count([*kept, *words], self.LEAST)
        return Parsed(frozenset(flags), {}, (*kept, *words))

    def parse_argument(self, text: str) -> None:
        self._change = modes.parse(text)

    def process_path(self, item: Item) -> None:
        status = item.require_status()
        mode = self._change(status.permission, status.is_directory)
        if mode == status.permission:
            return
        try:
            item.fs.set_permission(item.path, mode)
        except (HowdahError, OSError) as error:
            text = f"changing permissions of '{item.name}': {describe(error)}"
            raise CommandProblem(text) from error


class Chown(_Recursive):
    owner: str | None = None
    group: str | None = None

    def parse_argument(self, text: str) -> None:
        match = _OWNER_AND_GROUP.fullmatch(text)
        if not match:
            raise UsageError(f"'{text}' does not match expected pattern for [owner][:group].")
        self.owner, self.group = match[1], match[3]
        if not self.owner and not self.group:
            raise UsageError(f"'{text}' does not specify owner or group.")

    def process_path(self, item: Item) -> None:
        status = item.require_status()
        owner = self.owner if self.owner != status.owner else None
        group = self.group if self.group != status.group else None
        if owner is None and group is None:
            return
        try:
            item.fs.set_owner(item.path, owner, group)
        except (HowdahError, OSError) as error:
            text = f"changing ownership of '{item.name}': {describe(error)}"
            raise CommandProblem(text) from error


class Chgrp(Chown):
    def parse_argument(self, text: str) -> None:
        match = _GROUP.fullmatch(text)
        if not match:
            raise UsageError(f"'{text}' does not match expected pattern for group")
        self.group = match[1]


class SetRep(Command):
    """Always goes into directories; -R is accepted for old scripts."""

    FLAGS = ("R", "w")
    LEAST = 2
    recursive = True

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = list(parsed.arguments)
        try:
            self._replication = short_integer(arguments.pop(0))
        except UsageError:
            self.complain("Illegal replication, a positive integer expected")
            raise
        if self._replication < 1:
            raise UsageError("replication must be >= 1")
        self._waiting_for: list[Item] | None = [] if "w" in parsed else None
        return arguments

    def process_items(self, items: list[Item]) -> None:
        super().process_items(items)
        for item in self._waiting_for or ():
            self.attempt(self._wait, item)

    def process_path(self, item: Item) -> None:
        if item.require_status().is_symlink:
            raise PathProblem(item.name, "Symlinks unsupported")
        if not item.require_status().is_file:
            return
        if item.require_status().erasure_coding_policy:
            self.out.line(
                f"Did not set replication for: {item.name}, because it's an erasure coded file."
            )
            return
        if not item.fs.set_replication(item.path, self._replication):
            raise CommandProblem(f"Could not set replication for: {item.name}")
        self.out.line(f"Replication {self._replication} set: {item.name}")
        if self._waiting_for is not None:
            self._waiting_for.append(item)

    def _wait(self, item: Item) -> None:
        """Until every block has as many replicas as were asked for."""
        self.out.text(f"Waiting for {item.name} ...")
        self.out.flush()
        wait_s = FIRST_WAIT_S
        while not self._has_replicas(item):
            self.out.text(".")
            self.out.flush()
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)
        self.out.line(" done")

    def _has_replicas(self, item: Item) -> bool:
        return all(
            len(block.names) == self._replication for block in item.fs.block_locations(item.path)
        )
