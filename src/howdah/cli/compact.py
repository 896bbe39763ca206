"""`howdah compact`: small files made fewer and larger, by Spark.

Exit codes: 0, 1 if a directory could not be compacted, 255 for what can't be understood.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.config.value_types import parse_duration, parse_list, parse_size
from howdah.fs.paths import printable
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.spark.compaction.outcome import Compaction
    from howdah.spark.compaction.table_formats import Maintained


def main(argv: list[str], conf: Configuration) -> int:
    """Compact, and return the exit code."""
    options = _arguments().parse_args(argv)
    from howdah.spark.compaction.job import compact
    from howdah.spark.compaction.table_formats import Maintenance

    maintenance = Maintenance(
        skips=options.skip_tables,
        sort_by=tuple(options.sort_by),
        z_order_by=tuple(options.z_order_by),
        vacuums=options.vacuum,
        expires=options.expire_snapshots,
        removes_orphans=options.remove_orphan_files,
        retain_hours=options.retain / 3600,
        name=options.table or "",
    )
    check_default([options.path], conf)
    with session_of(options.master, options.remote) as spark:
        compaction = compact(
            spark,
            options.path,
            target_bytes=options.target_size,
            dry_run=options.dry_run,
            has_headers=options.header,
            drops_metadata=options.drop_metadata,
            most_tasks=options.m,
            row_group_bytes=options.row_group_size,
            quiet_s=options.quiet_for,
            maintenance=maintenance,
            conf=conf,
            shows_progress=sys.stderr.isatty(),
        )
    if options.json:
        document = {
            "directories": [asdict(directory) for directory in compaction.directories],
            "recovered": list(compaction.recovered),
            "undecided": list(compaction.undecided),
            "notes": list(compaction.notes),
            "tables": [asdict(table) for table in compaction.tables],
        }
        print(json.dumps(document))
    else:
        _print_outcome(compaction, options)
    return 1 if compaction.failed or compaction.failed_tables or compaction.undecided else 0


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah compact",
        description="Merge the small files of each directory; the old ones go to the trash.",
    )
    parser.add_argument("path", help="a directory's URI or path")
    parser.add_argument(
        "--target-size",
        type=_size,
        default=128 << 20,
        metavar="SIZE",
        help="how large files are to be (128m)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be won")
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether CSV files begin with a header",
    )
    parser.add_argument(
        "--drop-metadata",
        action="store_true",
        help="rewrite Parquet files though pandas' or other metadata in them gets lost",
    )
    parser.add_argument(
        "--sort-by", type=parse_list, default=[], metavar="COLUMNS", help="order rows by columns"
    )
    parser.add_argument(
        "--z-order-by",
        type=parse_list,
        default=[],
        metavar="COLUMNS",
        help="order rows by several columns at once",
    )
    parser.add_argument(
        "--row-group-size",
        type=_size,
        metavar="SIZE",
        help="how large row groups of Parquet and stripes of ORC are to be",
    )
    parser.add_argument(
        "--quiet-for",
        type=_age,
        default=0.0,
        metavar="AGE",
        help="leave directories alone in which a file was modified within this time",
    )
    tables = parser.add_argument_group("tables of Delta Lake and Iceberg")
    tables.add_argument("--skip-tables", action="store_true", help="leave tables alone")
    tables.add_argument(
        "--vacuum", action="store_true", help="delete files of old versions (Delta's VACUUM)"
    )
    tables.add_argument(
        "--expire-snapshots", action="store_true", help="forget old snapshots (Iceberg)"
    )
    tables.add_argument(
        "--remove-orphan-files",
        action="store_true",
        help="delete files that no snapshot names (Iceberg)",
    )
    tables.add_argument(
        "--retain",
        type=_age,
        default=7 * 86400.0,
        metavar="AGE",
        help="how long versions and snapshots are kept then (7d)",
    )
    tables.add_argument(
        "--table", metavar="NAME", help="an Iceberg table's name: CATALOG.DATABASE.TABLE"
    )
    add_tasks(parser)
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser


def _size(text: str) -> int:
    try:
        size = parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 64m") from error
    if size <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return size


def _age(text: str) -> float:
    try:
        return parse_duration(text, "s")
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no age, such as 7d") from error


def _print_table(table: Maintained, *, is_preview: bool) -> None:
    path = printable(table.path)
    if table.reason:
        verdict = "failed: " if table.failed and table.by else "left alone: "
        print(f"{path}: {verdict}{printable(table.reason)}")
        return
    change = f"{table.files_before} files to {table.files_after}, {byte_text(table.bytes)} "
    change += "would be rewritten" if is_preview else "rewritten"
    deleted = table.files_deleted
    if deleted is None or deleted:
        many = "files" if deleted is None else f"{deleted} files"
        change += f", {many} of old versions {'would be ' if is_preview else ''}deleted"
    print(f"{path}: {table.format} by {table.by}: {change}")
    versions = f"{table.version_before or 'none'} to {table.version_after or 'none'}"
    steps = "; ".join(table.steps)
    print(f"{path}: {printable(steps)}" + ("" if is_preview else f" (version {versions})"))


def _print_outcome(compaction: Compaction, options: argparse.Namespace) -> None:
    from howdah.spark.compaction.outcome import summary

    for note in compaction.notes:
        print(note, file=sys.stderr)
    for path in compaction.recovered:
        print(f"{printable(path)}: got the files that an earlier run had made")
    for undecided in compaction.undecided:
        print(f"to be decided by you: {printable(undecided)}")
    for directory in compaction.directories:
        path = printable(directory.path)
        if directory.failed:
            print(f"{path}: failed: {directory.reason}")
        elif directory.reason:
            print(f"{path}: left alone, {directory.reason}")
        else:
            change = f"{directory.files_before} files to {directory.files_after}"
            change += f", {byte_text(directory.bytes)}"
            if directory.files_kept:
                change += f" ({directory.files_kept} stay as they are)"
            kept = (
                f", the old ones are in {printable(directory.kept_at)}" if directory.kept_at else ""
            )
            print(f"{path}: {change}{kept}")
    for table in compaction.tables:
        _print_table(table, is_preview=options.dry_run)
    files, blocks, memory, space = summary(compaction.changed)
    would = "would be saved" if options.dry_run else "saved"
    print(
        f"{files} files, {blocks} blocks and {byte_text(memory)} of the namenode's memory {would}"
    )
    if space:
        coded = "of small erasure coded files, the parity of which takes whole copies"
        print(f"{byte_text(space)} on disks {would}: {coded}")
