"""`-ls` and `-lsr`: what is in a directory.

Columns are as wide as the widest value that this call has shown so far, which
is how FsShell keeps recursive listings in line. Sizes are right-aligned in at
least ten characters, names come last and unpadded.
"""

from __future__ import annotations

from typing import Any

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.dfs.shell.text import minute, printable, size_text
from howdah.fs.status import FileStatus, permission_string

LEAST_REPLICATION_WIDTH = 3
LEAST_LENGTH_WIDTH = 10
REPLICATED = "Replicated"


class Columns:
    """The widths of a listing's columns; they grow and never shrink."""

    __slots__ = ("group", "length", "owner", "policy", "replication")

    def __init__(self) -> None:
        self.replication = LEAST_REPLICATION_WIDTH
        self.length = LEAST_LENGTH_WIDTH
        self.owner = 0
        self.group = 0
        self.policy = 0

    def fit(self, status: FileStatus, *, human: bool, policy: str | None) -> None:
        """Make room for an entry."""
        self.replication = max(self.replication, len(str(status.replication)))
        self.length = max(self.length, len(size_text(status.length, human)))
        self.owner = max(self.owner, len(status.owner))
        self.group = max(self.group, len(status.group))
        self.policy = max(self.policy, len(policy or ""))

    def line(
        self, status: FileStatus, name: str, *, time_ms: int, human: bool, policy: str | None
    ) -> str:
        """One entry as a line."""
        # A link looks like a file without replicas, as Hadoop's shell shows it.
        replication = str(status.replication) if status.is_file else "-"
        mode = permission_string(status.permission, "d" if status.is_directory else "-")
        middle = "" if policy is None else f"{policy.ljust(self.policy)} "
        return (
            f"{mode}{'+' if status.has_acl else ' '}"
            f"{replication.rjust(self.replication)} "
            f"{status.owner.ljust(self.owner)} {status.group.ljust(self.group)} {middle}"
            f"{size_text(status.length, human).rjust(self.length)} {minute(time_ms)} {name}"
        )


class Ls(Command):
    FLAGS = ("C", "d", "h", "q", "R", "t", "S", "r", "u", "e")
    LEAST = 0
    only_looks = True

    def prepare(self, parsed: Parsed) -> list[str]:
        self._options = parsed
        self._columns = Columns()
        self._policies: dict[str, str] = {}
        self.recursive = "R" in parsed and "d" not in parsed
        return list(parsed.arguments) or ["."]

    def process_found(self, item: Item) -> None:
        if item.is_directory and "d" not in self._options:
            self.recurse(item)
        else:
            self.process_paths(None, [item])

    def process_paths(self, parent: Item | None, items: list[Item]) -> None:
        if parent is not None:
            items = self._sorted(items)
            if items and not self.recursive and not self._bare():
                self.out.line(f"Found {len(items)} items")
        if items:
            # As in Hadoop, only this column begins anew in each directory that has entries.
            self._columns.policy = 0
        for item in items:
            self._columns.fit(
                item.require_status(),
                human="h" in self._options,
                policy=self._policy(item),
            )
        super().process_paths(parent, items)

    def process_path(self, item: Item) -> None:
        status = item.require_status()
        if self.shell.json:
            self.records.append(record(item.name, status))
            return
        name = printable(item.name) if "q" in self._options else item.name
        if "C" in self._options:
            self.out.line(name)
            return
        self.out.line(
            self._columns.line(
                status,
                name,
                time_ms=self._time_ms(status),
                human="h" in self._options,
                policy=self._policy(item),
            )
        )

    def _bare(self) -> bool:
        return "C" in self._options or self.shell.json

    def _policy(self, item: Item) -> str | None:
        """The erasure coding column, None where it isn't asked for.

        Of a directory whose files are replicated on purpose its summary alone says so.
        """
        if "e" not in self._options:
            return None
        status = item.require_status()
        if status.erasure_coding_policy or not status.is_directory:
            return status.erasure_coding_policy or REPLICATED
        policy = self._policies.get(item.path)
        if policy is None:
            policy = item.fs.content_summary(item.path).erasure_coding_policy
            self._policies[item.path] = policy
        return policy

    def _time_ms(self, status: FileStatus) -> int:
        return status.access_time_ms if "u" in self._options else status.modification_time_ms

    def _sorted(self, items: list[Item]) -> list[Item]:
        """-t wins over -S; ties stay in the order of names, also under -r."""
        backwards = "r" in self._options
        if "t" in self._options:
            return sorted(
                items, key=lambda item: self._time_ms(item.require_status()), reverse=not backwards
            )
        if "S" in self._options:
            return sorted(
                items, key=lambda item: item.require_status().length, reverse=not backwards
            )
        return items[::-1] if backwards else items


class Lsr(Ls):
    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self.recursive = True
        return arguments


def record(name: str, status: FileStatus) -> dict[str, Any]:
    """An entry for `--json`."""
    kind = "directory" if status.is_directory else "symlink" if status.is_symlink else "file"
    return {
        "path": name,
        "type": kind,
        "length": status.length,
        "replication": status.replication,
        "block_size": status.block_size,
        "permission": f"{status.permission:04o}",
        "owner": status.owner,
        "group": status.group,
        "modification_time_ms": status.modification_time_ms,
        "access_time_ms": status.access_time_ms,
    }
