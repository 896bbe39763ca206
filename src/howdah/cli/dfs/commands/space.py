"""`-du`, `-dus` and `-df`: how much room things take.

`du` shows a directory's entries (with -s the directory itself): size, and what
all replicas take together. `df` shows the whole filesystem that a path is in, and of a
view each mount point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.dfs.shell.text import Table, percent, size_text
from howdah.fs.status import FsStatus
from howdah.fs.viewfs.filesystem import ViewFileSystem


class Du(Command):
    FLAGS = ("s", "h", "v", "x")
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        self._human = "h" in parsed
        self._summary = "s" in parsed
        self._without_snapshots = "x" in parsed
        self._table = Table(("left", "left", "left"))
        if "v" in parsed:
            self._table.header("SIZE", "DISK_SPACE_CONSUMED_WITH_ALL_REPLICAS", "FULL_PATH_NAME")
        return list(parsed.arguments) or ["."]

    def process_items(self, items: list[Item]) -> None:
        super().process_items(items)
        if not self.shell.json:
            for line in self._table.lines():
                self.out.line(line)

    def process_found(self, item: Item) -> None:
        if item.is_directory and not self._summary:
            self.recurse(item)
        else:
            self.process_paths(None, [item])

    def process_path(self, item: Item) -> None:
        # For a file too the server is asked: one that is being written, or whose
        # blocks differ in replication, takes other room than its status tells.
        summary = item.fs.content_summary(item.path)
        length, consumed = summary.length, summary.space_consumed
        if self._without_snapshots:
            length -= summary.snapshot_length
            consumed -= summary.snapshot_space_consumed
        self.records.append(
            {
                "path": item.name,
                "length": length,
                "space_consumed": consumed,
            }
        )
        self._table.row(
            size_text(length, self._human),
            size_text(consumed, self._human),
            item.name,
        )


class Dus(Du):
    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self._summary = True
        return arguments


class Df(Command):
    FLAGS = ("h",)
    LEAST = 0

    def prepare(self, parsed: Parsed) -> list[str]:
        self._human = "h" in parsed
        self._rows: list[tuple[str, FsStatus, str | None]] = []
        self._has_mounts = False
        return list(parsed.arguments) or ["/"]

    def process_items(self, items: list[Item]) -> None:
        super().process_items(items)
        if not self.shell.json:
            for line in self._lines():
                self.out.line(line)

    def _lines(self) -> Iterable[str]:
        """With a column more where a view has mount points."""
        more = 1 if self._has_mounts else 0
        align: list[Literal["left", "right"]] = ["left", "right", "right", "right", "right"]
        table = Table([*align, *align[:more]])
        table.header("Filesystem", "Size", "Used", "Available", "Use%", *("Mounted on",) * more)
        for name, status, mount in self._rows:
            table.row(
                name,
                size_text(status.capacity, self._human),
                size_text(status.used, self._human),
                size_text(status.remaining, self._human),
                percent(status.used, status.capacity),
                *(mount or "",) * more,
            )
        return table.lines()

    def process_path(self, item: Item) -> None:
        if isinstance(item.fs, ViewFileSystem):
            # A target that cannot be asked leaves the other lines.
            for mounted in item.fs.mounted(item.path):
                self.attempt(self._mount_row, mounted)
            return
        name = item.fs.uri if item.fs.scheme != "file" else f"{item.fs.uri}/"
        self._row(name, item.fs.get_status())

    def _mount_row(self, mounted: tuple[str, str, Callable[[], FsStatus]]) -> None:
        mount, where, room = mounted
        self._row(where, room(), mount)

    def _row(self, name: str, status: FsStatus, mount: str | None = None) -> None:
        record: dict[str, object] = {
            "filesystem": name,
            "capacity": status.capacity,
            "used": status.used,
            "remaining": status.remaining,
        }
        if mount is not None:
            record["mounted_on"] = mount
            self._has_mounts = True
        self.records.append(record)
        self._rows.append((name, status, mount))
