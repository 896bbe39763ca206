"""`-count`: directories, files, bytes and quotas below a path.

Every column has a fixed width, right-aligned, one blank behind it; the path
comes last. -q puts the quotas in front, -u shows the quotas alone; with either,
-t shows the quotas of storage types instead.
"""

from __future__ import annotations

from typing import Any

from howdah.cli.arguments import command_format as options
from howdah.cli.arguments.command_format import Parsed
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.dfs.shell.text import size_text
from howdah.fs.status import ContentSummary

COUNT_COLUMNS = (("DIR_COUNT", 12), ("FILE_COUNT", 12), ("CONTENT_SIZE", 18))
QUOTA_COLUMNS = (
    ("QUOTA", 12),
    ("REM_QUOTA", 15),
    ("SPACE_QUOTA", 15),
    ("REM_SPACE_QUOTA", 15),
)
POLICY_COLUMN = ("ERASURECODING_POLICY", 20)
SNAPSHOT_COLUMNS = (
    ("SNAPSHOT_LENGTH", 18),
    ("SNAPSHOT_FILE_COUNT", 24),
    ("SNAPSHOT_DIR_COUNT", 24),
    ("SNAPSHOT_SPACE_CONSUMED", 28),
)
TYPE_QUOTA_WIDTH = 14
TYPE_REMAINING_WIDTH = 18
STORAGE_TYPES = ("SSD", "DISK", "ARCHIVE", "PROVIDED", "NVDIMM")
"""Those that can have a quota; RAM_DISK cannot, and has none when it is named."""
EVERY_TYPE = ("", "ALL")
REPLICATED = "Replicated"
NONE = -1
NO_QUOTA = "none"
NO_LIMIT = "inf"


class Count(Command):
    FLAGS = ("q", "h", "v", "u", "x", "e", "s")

    def read_options(self, arguments: list[str]) -> Parsed:
        return options.parse(arguments, flags=self.FLAGS, optional=("t",), least=self.LEAST)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._options = parsed
        self._quotas_only = "u" in parsed
        self._quotas = "q" in parsed or self._quotas_only
        types = storage_types(parsed.values.get("t", "")) if "t" in parsed else ()
        # Without -q or -u there are no quotas to show by type.
        self._types = types if self._quotas else ()
        if "x" in parsed and self._quotas and not self.shell.json:
            self.out.line("q or u option is given, the -x option is ignored.")
        if "v" in parsed and not self.shell.json:
            self._print_header()
        return list(parsed.arguments)

    def _columns(self) -> tuple[tuple[str, int], ...]:
        columns: tuple[tuple[str, int], ...] = ()
        for name in self._types:
            columns += (
                (f"{name}_QUOTA", TYPE_QUOTA_WIDTH),
                (f"REM_{name}_QUOTA", TYPE_REMAINING_WIDTH),
            )
        if self._quotas and not self._types:
            columns += QUOTA_COLUMNS
        if not self._quotas_only and not self._types:
            columns += COUNT_COLUMNS
        if "e" in self._options:
            columns += (POLICY_COLUMN,)
        if "s" in self._options:
            columns += SNAPSHOT_COLUMNS
        return columns

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
        inodes = summary.directory_count + summary.file_count
        live = self._without_snapshots(summary) if "x" in self._options else summary
        numbers = {
            "DIR_COUNT": live.directory_count,
            "FILE_COUNT": live.file_count,
            "CONTENT_SIZE": live.length,
            "SNAPSHOT_LENGTH": summary.snapshot_length,
            "SNAPSHOT_FILE_COUNT": summary.snapshot_file_count,
            "SNAPSHOT_DIR_COUNT": summary.snapshot_directory_count,
            "SNAPSHOT_SPACE_CONSUMED": summary.snapshot_space_consumed,
        }
        values = {name: size_text(number, human) for name, number in numbers.items()}
        policy = summary.erasure_coding_policy
        values["ERASURECODING_POLICY"] = policy if policy == REPLICATED else f"EC:{policy}"
        quotas = {
            "QUOTA": (summary.quota, inodes),
            "SPACE_QUOTA": (summary.space_quota, summary.space_consumed),
        }
        for name in self._types:
            quotas[f"{name}_QUOTA"] = (NONE, 0)
        for type_quota in summary.type_quotas:
            quotas[f"{type_quota.storage_type}_QUOTA"] = (type_quota.quota, type_quota.consumed)
        for name, (quota, used) in quotas.items():
            limited = quota >= 0
            values[name] = size_text(quota, human) if limited else NO_QUOTA
            values[f"REM_{name}"] = size_text(quota - used, human) if limited else NO_LIMIT
        return values

    def _without_snapshots(self, summary: ContentSummary) -> ContentSummary:
        return ContentSummary(
            summary.length - summary.snapshot_length,
            summary.file_count - summary.snapshot_file_count,
            summary.directory_count - summary.snapshot_directory_count,
            summary.space_consumed - summary.snapshot_space_consumed,
        )


def storage_types(text: str) -> tuple[str, ...]:
    """The storage types of a list such as `ssd,disk`; nothing or `all` means every one."""
    names = tuple(name.strip().upper() for name in text.split(","))
    if len(names) == 1 and names[0] in EVERY_TYPE:
        return STORAGE_TYPES
    for name in names:
        if name not in (*STORAGE_TYPES, "RAM_DISK"):
            raise UsageError(
                f"{name} is no storage type with a quota, those are {', '.join(STORAGE_TYPES)}"
            )
    return names


def _record(name: str, summary: ContentSummary) -> dict[str, Any]:
    return {
        "path": name,
        "directory_count": summary.directory_count,
        "file_count": summary.file_count,
        "length": summary.length,
        "space_consumed": summary.space_consumed,
        "quota": summary.quota if summary.quota >= 0 else None,
        "space_quota": summary.space_quota if summary.space_quota >= 0 else None,
        "type_quotas": {
            type_quota.storage_type: {"quota": type_quota.quota, "consumed": type_quota.consumed}
            for type_quota in summary.type_quotas
            if type_quota.quota >= 0
        },
        "erasure_coding_policy": summary.erasure_coding_policy,
        "snapshot_length": summary.snapshot_length,
        "snapshot_file_count": summary.snapshot_file_count,
        "snapshot_directory_count": summary.snapshot_directory_count,
        "snapshot_space_consumed": summary.snapshot_space_consumed,
    }
