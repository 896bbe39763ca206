"""`-count`: directories, files, bytes and quotas below a path.

Every column has a fixed width, right-aligned, one blank behind it; the path
comes last. -q puts the quotas in front, -u shows the quotas alone; with either,
-t shows the quotas of storage types instead.
"""

from __future__ import annotations

from typing import Any

from howdah.cli.dfs.command import Command
from howdah.cli.dfs.items import Item
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.problems import CommandProblem, UsageProblem
from howdah.cli.dfs.text import size_text
from howdah.fs.status import ContentSummary

COUNT_COLUMNS = (("DIR_COUNT", 12), ("FILE_COUNT", 12), ("CONTENT_SIZE", 18))
QUOTA_COLUMNS = (
    ("QUOTA", 12),
    ("REM_QUOTA", 15),
    ("SPACE_QUOTA", 15),
    ("REM_SPACE_QUOTA", 15),
)
POLICY_COLUMN = ("ERASURECODING_POLICY", 20)
STORAGE_TYPES = ("RAM_DISK", "SSD", "DISK", "ARCHIVE", "PROVIDED", "NVDIMM")
NO_QUOTA = "none"
NO_LIMIT = "inf"


class Count(Command):
    FLAGS = ("q", "h", "v", "u", "x", "e", "s", "t")

    def prepare(self, parsed: Parsed) -> list[str]:
        self._options = parsed
        self._quotas_only = "u" in parsed
        self._quotas = "q" in parsed or self._quotas_only
        arguments = list(parsed.arguments)
        if "t" in parsed:
            self._take_storage_types(arguments)
        if "s" in parsed:
            raise CommandProblem("-s: snapshots are not supported by howdah yet")
        if "x" in parsed and self._quotas:
            self.out.line("q or u option is given, the -x option is ignored.")
        if "v" in parsed and not self.shell.json:
            self._print_header()
        return arguments

    def _take_storage_types(self, arguments: list[str]) -> None:
        """-t may be followed by a list of storage types, which is no path."""
        if len(arguments) > 1 or arguments[:1] == [""]:
            names = [name.strip().upper() for name in arguments[0].split(",")]
            if names == ["ALL"] or names == [""] or any(name in STORAGE_TYPES for name in names):
                arguments.pop(0)
                for name in names:
                    if name not in (*STORAGE_TYPES, "ALL", ""):
                        raise UsageProblem(f"{name} is no storage type")
        if self._quotas:
            raise CommandProblem("-t: quotas of storage types are not supported by howdah yet")

    def _columns(self) -> tuple[tuple[str, int], ...]:
        if self._quotas_only:
            return QUOTA_COLUMNS
        counts = (*COUNT_COLUMNS, POLICY_COLUMN) if "e" in self._options else COUNT_COLUMNS
        return (*QUOTA_COLUMNS, *counts) if self._quotas else counts

    def _print_header(self) -> None:
        cells = [name.rjust(width) for name, width in self._columns()]
        self.out.line(" ".join([*cells, "PATHNAME"]))

    def process_path(self, item: Item) -> None:
        summary = item.fs.content_summary(item.path)
        if self.shell.json:
            self.records.append(_record(item.name, summary))
            return
        values = self._values(summary)
        cells = [values[name].rjust(width) for name, width in self._columns()]
        self.out.line(" ".join([*cells, item.name]))

    def _values(self, summary: ContentSummary) -> dict[str, str]:
        human = "h" in self._options
        used = summary.directory_count + summary.file_count
        values = {
            "DIR_COUNT": size_text(summary.directory_count, human),
            "FILE_COUNT": size_text(summary.file_count, human),
            "CONTENT_SIZE": size_text(summary.length, human),
            "ERASURECODING_POLICY": f"EC:{summary.erasure_coding_policy}",
            "QUOTA": NO_QUOTA,
            "REM_QUOTA": NO_LIMIT,
            "SPACE_QUOTA": NO_QUOTA,
            "REM_SPACE_QUOTA": NO_LIMIT,
        }
        if summary.quota > 0:
            values["QUOTA"] = size_text(summary.quota, human)
            values["REM_QUOTA"] = size_text(summary.quota - used, human)
        if summary.space_quota >= 0:
            values["SPACE_QUOTA"] = size_text(summary.space_quota, human)
            remaining = summary.space_quota - summary.space_consumed
            values["REM_SPACE_QUOTA"] = size_text(remaining, human)
        return values


def _record(name: str, summary: ContentSummary) -> dict[str, Any]:
    return {
        "path": name,
        "directory_count": summary.directory_count,
        "file_count": summary.file_count,
        "length": summary.length,
        "space_consumed": summary.space_consumed,
        "quota": summary.quota if summary.quota > 0 else None,
        "space_quota": summary.space_quota if summary.space_quota >= 0 else None,
        "erasure_coding_policy": summary.erasure_coding_policy,
    }
