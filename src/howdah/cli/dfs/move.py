"""`-mv`: renames within one filesystem."""

from __future__ import annotations

from howdah.cli.dfs.destination import DestinationCommand
from howdah.cli.dfs.items import Item
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.problems import PathProblem


class Mv(DestinationCommand):
    LEAST = 2

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = list(parsed.arguments)
        self.take_destination(arguments)
        return arguments

    def carry(self, item: Item, target: Item) -> None:
        if not item.same_filesystem(target):
            raise PathProblem(item.name, "Does not match target filesystem")
        if target.exists:
            raise PathProblem.exists(target.name)
        item.check_meant()
        item.fs.rename(item.path, target.path)
