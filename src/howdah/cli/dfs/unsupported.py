"""The command that FsShell knows and Hadoop never made: it says so, as there."""

from __future__ import annotations

from howdah.cli.dfs.command import Command
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.problems import CommandProblem


class MoveToLocal(Command):
    """Refuses in Hadoop's words."""

    def prepare(self, parsed: Parsed) -> list[str]:
        raise CommandProblem("Option '-moveToLocal' is not implemented yet.")
