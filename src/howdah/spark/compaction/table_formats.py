"""Tables that other programs keep in directories: how they are recognized, and the statements by
which their own maintenance is called (pure).

A table has a log that names its files. A file that is replaced without the log is lost to the
table, and an old version of the table needs files that the newest one does not. So no file of a
table is touched here; its format's own compaction adds a version to its history.

Sources: Delta's protocol (`_delta_log`), Iceberg's specification ("File System Tables") and
`HadoopTableOperations`, Hudi's `.hoodie`, Spark's `FileStreamSink`, Lance's `_versions`, Paimon's
`schema/schema-N`, Hive's `AcidUtils`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors


class TableFormat(enum.StrEnum):
    """Who keeps the list of a table's files."""

    DELTA = "Delta Lake"
    ICEBERG = "Iceberg"
    HUDI = "Hudi"
    STREAM = "streaming query"
    LANCE = "Lance"
    PAIMON = "Paimon"
    HIVE = "Hive ACID"
    UNKNOWN = "unknown"


DELTA_LOG: Final = "_delta_log"
MARKS: Final = {
    DELTA_LOG: TableFormat.DELTA,
    ".hoodie": TableFormat.HUDI,
    "_spark_metadata": TableFormat.STREAM,
    "_versions": TableFormat.LANCE,
}
"""Directories that a table's own directory has."""
ICEBERG_METADATA: Final = r"\.metadata\.json(\.gz)?$"
"""The end of the names of Iceberg's metadata files, which are in a directory of the table's."""
ICEBERG_DIRECTORY: Final = "metadata"
HIVE_DIRECTORY: Final = r"^(base|(delete_)?delta_[0-9]{7,})_[0-9]{7,}(_.*)?$"
"""Directories of a Hive table with transactions."""
PAIMON_SCHEMA: Final = r"/schema/schema-[0-9]+$"
AT_WORK: Final = r"^(_temporary|\.hive-staging.*|\.spark-staging.*|\.Trash|\.snapshot|\.howdah.*)$"
"""Hidden directories that say nothing of tables: of jobs at work or that were killed."""

FIRST_PAIMON_SCHEMA: Final = "schema/schema-0"
HIVE_NAME: Final = re.compile(HIVE_DIRECTORY)
AT_WORK_NAME: Final = re.compile(AT_WORK)
ICEBERG_NAME: Final = re.compile(ICEBERG_METADATA)

_HADOOP_TABLE: Final = re.compile(r"v[0-9]+(\.gz)?\.metadata\.json(\.gz)?")

_REFUSALS: Final = {
    TableFormat.HUDI: "howdah calls no maintenance of Hudi's; its own procedures `run_clustering` "
    "and `run_compaction` do that",
    TableFormat.STREAM: "another program keeps a list of its files: write its rows to a directory "
    "without such a list, or to a table of Delta Lake or Iceberg",
    TableFormat.LANCE: "howdah calls no maintenance of Lance's; `optimize.compact_files` of its "
    "library does that",
    TableFormat.PAIMON: "howdah calls no maintenance of Paimon's; its own procedure `compact` does "
    "that",
    TableFormat.HIVE: "howdah calls no maintenance of Hive's; ALTER TABLE … COMPACT does that",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its directory, and the entry by which it was recognized."""

    path: str
    format: TableFormat
    mark: str

    def __str__(self) -> str:
        if self.format is TableFormat.STREAM:
            return f"the output of a streaming query ({self.mark})"
        if self.format is TableFormat.UNKNOWN:
            return f"a table of a format that howdah does not know ({self.mark})"
        return f"{_article(self.format)} {self.format} table"

    def contains(self, path: str) -> bool:
        """Whether a path is the table's directory, or in it."""
        return path == self.path or path.startswith(self.path.rstrip("/") + "/")


def _article(kind: TableFormat) -> str:
    return "an" if kind is TableFormat.ICEBERG else "a"


def refusal(table: Table) -> str:
    """Why howdah does nothing for a table of this format; "" if it can."""
    if table.format in (TableFormat.DELTA, TableFormat.ICEBERG):
        return ""
    if table.format is TableFormat.UNKNOWN:
        return (
            f"{table.mark} beside its partitions may be a log of its files, of a format that "
            "howdah does not know"
        )
    return f"it is {table}, and {_REFUSALS[table.format]}"


def outermost(tables: Sequence[Table]) -> list[Table]:
    """The tables that are in no other table, in the order of their paths; for a directory with
    several marks the best known format.

    >>> [t.path for t in outermost([Table("/t/x", TableFormat.HUDI, ""), Table("/t",
    ...     TableFormat.DELTA, "")])]
    ['/t']
    """
    order = list(TableFormat)
    found: list[Table] = []
    for table in sorted(tables, key=lambda table: (table.path, order.index(table.format))):
        if not any(other.contains(table.path) for other in found):
            found.append(table)
    return found


# --- what is asked of a table -------------------------------------------------------------

WEEK_HOURS: Final = 168.0


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The order of rows, and what is done to tables of formats that howdah knows.

    `z_order_by`, `sort_by`: columns by which rows are ordered while files are rewritten, those of
    tables and those of plain directories. `skips`: nothing is done to tables. `vacuums`: delete
    files that no version needs that is younger than `retain_hours` (Delta's VACUUM). `expires`:
    forget snapshots that are older, with their files (Iceberg's expire_snapshots).
    `removes_orphans`: delete files in the table's directory that no snapshot names (Iceberg's
    remove_orphan_files). `name`: the table's name in a catalog of Spark, for an Iceberg table of a
    catalog.
    """

    skips: bool = False
    sort_by: tuple[str, ...] = ()
    z_order_by: tuple[str, ...] = ()
    vacuums: bool = False
    expires: bool = False
    removes_orphans: bool = False
    retain_hours: float = WEEK_HOURS
    name: str = ""

    def __post_init__(self) -> None:
        if self.sort_by and self.z_order_by:
            raise errors.IllegalArgument("rows have one order: give sort or z-order, not both")
        if self.retain_hours < 0:
            raise errors.IllegalArgument(f"{self.retain_hours} hours are no age")


# --- statements ------------------------------------------------------------------------


def quoted(name: str) -> str:
    """A column, or a table of a catalog, as Spark's SQL names it.

    >>> quoted("a.b"), quoted("odd`name")
    ('`a`.`b`', '`odd``name`')
    """
    return ".".join(_quoted(part) for part in name.split("."))


def _quoted(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def _literal(text: str) -> str:
    r"""A string of Spark's SQL.

    >>> _literal("it's \\ all")
    "'it\\'s \\\\ all'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def delta_at(uri: str) -> str:
    """A Delta table by its address."""
    return f"delta.{_quoted(uri)}"


def delta_optimize(uri: str, asked: Maintenance) -> str:
    """Delta's statement that compacts.

    >>> delta_optimize("hdfs://a:1/t", Maintenance(z_order_by=("x",)))
    'OPTIMIZE delta.`hdfs://a:1/t` ZORDER BY (`x`)'
    """
    order = ", ".join(map(quoted, asked.z_order_by))
    return f"OPTIMIZE {delta_at(uri)}" + (f" ZORDER BY ({order})" if order else "")


def delta_vacuum(uri: str, asked: Maintenance, *, dry_run: bool) -> str:
    """Delta's statement that deletes files of old versions."""
    tail = " DRY RUN" if dry_run else ""
    return f"VACUUM {delta_at(uri)} RETAIN {asked.retain_hours:g} HOURS{tail}"


def is_of_a_catalog(metadata: Sequence[str]) -> bool:
    """Whether a catalog outside the filesystem says which of an Iceberg table's metadata files is
    the newest. Where the filesystem does, they have numbers: `v3.metadata.json`.

    To commit to such a table by its directory would give it a second history.

    >>> is_of_a_catalog(["v1.metadata.json"]), is_of_a_catalog(["00001-0f3a.metadata.json"])
    (False, True)
    """
    return not all(_HADOOP_TABLE.fullmatch(name) for name in metadata)


def iceberg_rewrite(catalog: str, table: str, asked: Maintenance, target_bytes: int) -> str:
    """Iceberg's procedure that compacts; with an order it rewrites all files, as the order is one
    of all rows.

    >>> iceberg_rewrite("c", "c.db.t", Maintenance(sort_by=("x",)), 1000)
    ... # doctest: +NORMALIZE_WHITESPACE
    "CALL `c`.system.rewrite_data_files(table => 'c.db.t', strategy => 'sort',
    sort_order => 'x ASC NULLS LAST', options => map('target-file-size-bytes', '1000',
    'min-input-files', '2', 'rewrite-all', 'true'))"
    """
    order = ""
    if asked.z_order_by:
        order = f"zorder({', '.join(map(_iceberg_column, asked.z_order_by))})"
    elif asked.sort_by:
        order = ", ".join(f"{_iceberg_column(each)} ASC NULLS LAST" for each in asked.sort_by)
    options = {"target-file-size-bytes": str(target_bytes), "min-input-files": "2"}
    if order:
        options["rewrite-all"] = "true"
    given = ", ".join(f"{_literal(key)}, {_literal(value)}" for key, value in options.items())
    strategy = f"strategy => 'sort', sort_order => {_literal(order)}, " if order else ""
    return (
        f"CALL {_quoted(catalog)}.system.rewrite_data_files(table => {_literal(table)}, "
        f"{strategy}options => map({given}))"
    )


def _iceberg_column(name: str) -> str:
    """A column as Iceberg's sort orders name it.

    Raises `UnsupportedOperation` for a name that would have to be quoted.
    """
    if not re.fullmatch(r"\w+(\.\w+)*", name):
        raise errors.UnsupportedOperation(
            f"Iceberg's sort orders are given columns of letters, digits and _, not {name!r}"
        )
    return name


def iceberg_expire(catalog: str, table: str, older_than: str) -> str:
    """Iceberg's procedure that forgets old snapshots; `older_than` is a time of UTC, such as
    `2026-11-30 12:00:00`."""
    return (
        f"CALL {_quoted(catalog)}.system.expire_snapshots(table => {_literal(table)}, "
        f"older_than => TIMESTAMP '{older_than}+00:00')"
    )


def iceberg_orphans(catalog: str, table: str, older_than: str, *, dry_run: bool) -> str:
    """Iceberg's procedure that deletes files that no snapshot names."""
    tail = ", dry_run => true" if dry_run else ""
    return (
        f"CALL {_quoted(catalog)}.system.remove_orphan_files(table => {_literal(table)}, "
        f"older_than => TIMESTAMP '{older_than}+00:00'{tail})"
    )


# --- what became of it -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Maintained:
    """The outcome for one table.

    `by`: the program that did it. `files_before` and `files_after`: the files that were rewritten
    and their replacements; in a dry run those that would be. `bytes`: that were (or would be) read
    and written again. `files_deleted`: files of old versions; None if the program did not say.
    `version_before` and `version_after`: Delta's versions or Iceberg's snapshots. `steps`: the
    statements or calls. `reason`: why nothing was done; `failed` if that was meant to be otherwise.
    """

    path: str
    format: str
    by: str = ""
    files_before: int = 0
    files_after: int = 0
    bytes: int = 0
    files_deleted: int | None = 0
    version_before: str = ""
    version_after: str = ""
    steps: tuple[str, ...] = ()
    reason: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table's newest version: its length, and the values of its partition."""

    bytes: int
    partition: tuple[object, ...] = ()


def cost(
    files: Sequence[DataFile], target_bytes: int, *, rewrites_all: bool
) -> tuple[int, int, int]:
    """Estimate what a compaction rewrites: files, the files that they become, and bytes. Files
    below the target are joined, within their partition; with an order, all are rewritten.

    >>> cost([DataFile(10), DataFile(20), DataFile(99, (1,)), DataFile(5, (1,))], 50,
    ...     rewrites_all=False)
    (2, 1, 30)
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for file in files:
        if rewrites_all or file.bytes < target_bytes:
            groups.setdefault(file.partition, []).append(file.bytes)
    before = after = size = 0
    for lengths in groups.values():
        if len(lengths) < 2 and not rewrites_all:
            continue
        before += len(lengths)
        after += max(1, -(-sum(lengths) // target_bytes))
        size += sum(lengths)
    return before, after, size
