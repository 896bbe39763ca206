"""`-rm`, `-rmr`, `-rmdir` and `-expunge`: deleting, with the trash if it is switched on.

The trash is on when the server says so, or else this side's configuration
(`fs.trash.interval` > 0). What happens to the trash is told on stderr in lines
like those of Hadoop's log.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import (
    IO_ERROR,
    NOT_EMPTY,
    CommandProblem,
    PathProblem,
    describe,
)
from howdah.cli.dfs.shell.path_args import Item
from howdah.config import keys
from howdah.errors import AccessDenied, HowdahError, PathNotFound, UnsupportedOperation
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.trash import Trash
from howdah.protocol.trash_names import TRASH_NAME

MINUTE_S = 60.0


class _TrashCommand(Command):
    def interval_s(self, fs: FileSystem, path: str | None = None) -> float:
        """How long the trash is kept; 0 if there is none."""
        try:
            minutes = fs.server_defaults(path).trash_interval_minutes
        except UnsupportedOperation:
            minutes = 0
        if minutes > 0:
            return minutes * MINUTE_S
        return self.shell.conf.get(keys.FS_TRASH_INTERVAL)

    def log(self, text: str, source: str = "INFO fs.TrashPolicyDefault") -> None:
        """A line as Hadoop's trash policy logs it."""
        now = datetime.now()
        stamp = f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}"
        self.shell.complain(f"{stamp} {source}: {text}")


class Rm(_TrashCommand):
    FLAGS = ("f", "r", "R", "skipTrash", "safely")

    def prepare(self, parsed: Parsed) -> list[str]:
        self._ignore_missing = "f" in parsed
        self._directories = "r" in parsed or "R" in parsed
        self._skip_trash = "skipTrash" in parsed
        self._safely = "safely" in parsed
        return list(parsed.arguments)

    def expand(self, argument: str) -> list[Item]:
        try:
            return super().expand(argument)
        except PathProblem:
            if self._ignore_missing:
                return []
            raise

    def process_missing(self, item: Item) -> None:
        if _is_dangling(item):
            # Hadoop's shell leaves it for ever. It has no content that the trash could keep.
            self._delete(item)
        elif not self._ignore_missing:
            super().process_missing(item)

    def process_path(self, item: Item) -> None:
        if item.is_directory and not self._directories:
            raise PathProblem.is_directory(item.name)
        if not self._moved_to_trash(item) and self._confirmed(item):
            self._delete(item)

    def _delete(self, item: Item) -> None:
        if not item.fs.delete(item.path, self._directories):
            reason = "\nthe root of a filesystem is never removed" if item.path == "/" else ""
            raise PathProblem(item.name, IO_ERROR + reason)
        self.out.line(f"Deleted {item.name}")

    def _moved_to_trash(self, item: Item) -> bool:
        if self._skip_trash:
            return False
        try:
            if self.interval_s(item.fs, item.path) <= 0:
                return False
            fs, path, root = item.fs.trash_place(item.path)
            moved = Trash(fs, now=time.time, root=root).move(path)
        except (HowdahError, OSError) as error:
            raise CommandProblem(f"{describe(error)}. Consider using -skipTrash option") from error
        if moved is None:
            return False
        uri = fs.uri
        self.log(f"Moved: '{uri}{moved.source}' to trash at: {uri}{moved.target}")
        return True

    def _confirmed(self, item: Item) -> bool:
        """With -safely, someone must agree to delete a directory of many files."""
        if not self._safely or not item.is_directory:
            return True
        files = item.fs.content_summary(item.path).file_count
        if files <= self.shell.conf.get(keys.HADOOP_SHELL_DELETE_LIMIT_NUM_FILES):
            return True
        self.out.flush()
        sys.stderr.write(f"Delete {item.name} with its {files} files? (Y or N) ")
        sys.stderr.flush()
        if self.shell.read_input().readline().strip().lower() in (b"y", b"yes"):
            return True
        raise CommandProblem(f"`{item.name}': not deleted, at the user's request")


def _is_dangling(item: Item) -> bool:
    """Whether what seems to be missing is a symbolic link to nothing."""
    try:
        return item.fs.get_file_link_status(item.path).is_symlink
    except PathNotFound:
        return False


class Rmr(Rm):
    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self._directories = True
        return arguments


class Rmdir(Command):
    FLAGS = ("-ignore-fail-on-non-empty",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._ignore_content = "-ignore-fail-on-non-empty" in parsed
        return list(parsed.arguments)

    def process_path(self, item: Item) -> None:
        if not item.is_directory:
            raise PathProblem.is_not_directory(item.name)
        if next(iter(item.fs.list_status_iter(item.path)), None) is None:
            item.fs.delete(item.path)
        elif not self._ignore_content:
            raise PathProblem(item.name, NOT_EMPTY)


class Expunge(_TrashCommand):
    """Closes the current trash and deletes what has been there for long (or all of it): in the
    home, and in encryption zones and snapshottable directories, which have trashes of their own."""

    FLAGS = ("immediate",)
    VALUED = ("fs",)
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        self._immediate = "immediate" in parsed
        named = parsed.values.get("fs")
        return [f"{named.rstrip('/')}/" if named else "/"]

    def process_path(self, item: Item) -> None:
        for fs in item.fs.child_filesystems():
            trashes = [Trash(fs, now=time.time)]
            trashes += (Trash(fs, now=time.time, root=root) for root in self._further_roots(fs))
            for trash in trashes:
                if self._immediate:
                    self._checkpoint(trash)
                    self._delete(trash, 0)
                else:
                    self._delete(trash, self.interval_s(fs))
                    self._checkpoint(trash)

    def _further_roots(self, fs: FileSystem) -> list[str]:
        """The user's trashes outside of the home (DistributedFileSystem.getTrashRoots)."""
        if not isinstance(fs, HdfsFileSystem):
            return []
        defaults = fs.server_defaults()
        above: list[str] = []
        if defaults.has_key_provider:
            try:
                above += (zone.path for zone in fs.list_encryption_zones())
            except AccessDenied as error:
                # Only superusers may list them. Hadoop's shell goes on, too.
                self.log(
                    f"Trash in encryption zones is left as it is: {describe(error)}",
                    "WARN hdfs.DFSClient",
                )
        if defaults.has_snapshot_trash:
            above += (each.path for each in fs.list_snapshottable_directories())
        roots = (paths.join(path, TRASH_NAME, fs.user) for path in above)
        return [root for root in dict.fromkeys(roots) if fs.is_directory(root)]

    def _checkpoint(self, trash: Trash) -> None:
        made = trash.checkpoint()
        if made is not None:
            self.log(f"Created trash checkpoint: {made}")

    def _delete(self, trash: Trash, older_than_s: float) -> None:
        for path in trash.expunge(older_than_s):
            self.log(f"Deleted trash checkpoint: {path}")
