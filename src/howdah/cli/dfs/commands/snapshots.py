"""`-createSnapshot`, `-renameSnapshot` and `-deleteSnapshot`."""

from __future__ import annotations

from typing import ClassVar

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs.hdfs.namespace import HdfsNamespace
from howdah.fs.viewfs.filesystem import ViewFileSystem


class _SnapshotCommand(Command):
    """A directory, and what of its snapshots is meant."""

    WORDS: ClassVar[tuple[int, int]]
    COMPLAINT: ClassVar[str] = "Incorrect number of arguments."
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        least, most = self.WORDS
        if not least <= len(parsed.arguments) <= most:
            few = len(parsed.arguments) < least
            raise UsageError(self.COMPLAINT if few else "Incorrect number of arguments.")
        directory, *self.names = parsed.arguments
        return [directory]

    def hdfs(self, item: Item) -> HdfsNamespace | ViewFileSystem:
        if not isinstance(item.fs, HdfsNamespace | ViewFileSystem):
            raise CommandProblem(f"{item.fs.uri} has no snapshots")
        return item.fs


class CreateSnapshot(_SnapshotCommand):
    WORDS = (1, 2)
    COMPLAINT = "<snapshotDir> is missing."

    def process_path(self, item: Item) -> None:
        made = self.hdfs(item).create_snapshot(item.path, self.names[0] if self.names else None)
        self.out.line(f"Created snapshot {made}")


class RenameSnapshot(_SnapshotCommand):
    WORDS = (3, 3)

    def process_path(self, item: Item) -> None:
        old, new = self.names
        self.hdfs(item).rename_snapshot(item.path, old, new)
        self.out.line(f"Renamed snapshot {old} to {new} under {item.full_path}")


class DeleteSnapshot(_SnapshotCommand):
    WORDS = (2, 2)

    def process_path(self, item: Item) -> None:
        self.hdfs(item).delete_snapshot(item.path, self.names[0])
        self.out.line(f"Deleted snapshot {self.names[0]} under {item.full_path}")
