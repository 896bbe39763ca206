"""Commands whose last argument is where things go: put, get, cp, mv.

FsShell's rules, in this order:

1. Without a destination it is the current directory (home, or here for `get`).
2. A remote destination may be a pattern, which must match one path at most.
3. Several sources want a directory that is there.
4. One source may go to a file that is there only with `-f`, and to a new name
   only in a directory that is there; a name with a slash at the end is none.
5. What goes to a directory keeps its name below it.
6. A directory cannot go below itself.
"""

from __future__ import annotations

from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import PathProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs import paths


class DestinationCommand(Command):
    """A command with sources and a destination; `transfer` does the work for one pair."""

    overwrite = False
    destination: Item

    def take_destination(self, arguments: list[str], *, local: bool = False) -> None:
        """Take the destination off the arguments."""
        text = arguments.pop() if len(arguments) > 1 else "."
        files = self.shell.files
        self.destination = files.item(text, local=True) if local else files.target(text)

    def process_items(self, items: list[Item]) -> None:
        self.check_destination(items)
        super().process_items(items)

    def check_destination(self, items: list[Item]) -> None:
        """Rules 3 and 4."""
        destination = self.destination
        if len(items) > 1:
            if not destination.exists:
                raise PathProblem.missing(destination.name)
            if not destination.is_directory:
                raise PathProblem.is_not_directory(destination.name)
        elif destination.exists:
            if not destination.is_directory and not self.overwrite:
                raise PathProblem.exists(destination.name)
        elif destination.means_directory or not destination.parent_exists():
            raise PathProblem.missing(destination.name, destination.full_path)

    def process_found(self, item: Item) -> None:
        target = self.target_of(item)
        same = item.is_directory and item.same_filesystem(target)
        if same and paths.is_under(target.path, item.path):
            raise PathProblem(item.name, "is a subdirectory of itself", target=target.name)
        self.transfer(item, target)

    def target_of(self, item: Item) -> Item:
        """Rule 5."""
        destination = self.destination
        if not destination.is_directory:
            return destination
        target = destination.child(item.base_name)
        target.refresh()
        return target

    def transfer(self, item: Item, target: Item) -> None:
        """Bring a file or directory to its target."""
        raise NotImplementedError(f"-{self.name} has no carry")
