"""Commands that FsShell has and howdah doesn't have yet: each says so by its name.

They are known, with their usage, so that nobody takes the refusal for a typo.
"""

from __future__ import annotations

from typing import ClassVar

from howdah.cli.dfs import registry
from howdah.cli.dfs.command import Command
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.problems import CommandProblem


class Unsupported(Command):
    """Refuses, with the feature that is missing."""

    FEATURE: ClassVar[str]
    LEAST = 0

    def read_options(self, arguments: list[str]) -> Parsed:
        return Parsed(frozenset(), {}, tuple(arguments))

    def prepare(self, parsed: Parsed) -> list[str]:
        synopsis = registry.COMMANDS[self.name].synopsis
        raise CommandProblem(
            f"{self.FEATURE} not supported by howdah yet (-{self.name} {synopsis})"
        )


class Concat(Unsupported):
    FEATURE = "joining files is"


class Truncate(Unsupported):
    FEATURE = "truncating files is"


class MoveToLocal(Command):
    """Hadoop never made it either, and says so in these words."""

    def prepare(self, parsed: Parsed) -> list[str]:
        raise CommandProblem("Option '-moveToLocal' is not implemented yet.")
