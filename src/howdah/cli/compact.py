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
from howdah.config.value_types import parse_size
from howdah.fs.paths import printable
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.spark.compaction.outcome import Compaction


def main(argv: list[str], conf: Configuration) -> int:
    """Compact, and return the exit code."""
    options = _arguments().parse_args(argv)
    from howdah.spark.compaction.job import compact

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
            conf=conf,
            shows_progress=sys.stderr.isatty(),
        )
    if options.json:
        document = {
            "directories": [asdict(directory) for directory in compaction.directories],
            "recovered": list(compaction.recovered),
            "undecided": list(compaction.undecided),
            "notes": list(compaction.notes),
        }
        print(json.dumps(document))
    else:
        _print_outcome(compaction, options)
    return 1 if compaction.failed or compaction.undecided else 0


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
            kept = (
                f", the old ones are in {printable(directory.kept_at)}" if directory.kept_at else ""
            )
            print(f"{path}: {change}{kept}")
    files, blocks, memory, space = summary(compaction.changed)
    would = "would be saved" if options.dry_run else "saved"
    print(
        f"{files} files, {blocks} blocks and {byte_text(memory)} of the namenode's memory {would}"
    )
    if space:
        coded = "of small erasure coded files, the parity of which takes whole copies"
        print(f"{byte_text(space)} on disks {would}: {coded}")
