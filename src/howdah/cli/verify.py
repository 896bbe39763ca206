"""`howdah verify`: read every replica below some paths, on Spark, and say which are bad.

Exit codes: 0 if all is well, 1 if something isn't, 255 for what can't be understood.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from howdah.cli.arguments.parser import Arguments
from howdah.cli.spark_options import add_options, add_tasks, check_default, session_of
from howdah.fs.paths import printable
from howdah.runtime.units import byte_text

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.spark.verification.job import Verified

SHOWN: Final = 100


def main(argv: list[str], conf: Configuration) -> int:
    """Verify, and return the exit code."""
    options = _arguments().parse_args(argv)
    from howdah.spark.verification.job import verify

    check_default([*options.path, options.manifest], conf)
    with (
        session_of(options.master, options.remote) as spark,
        verify(
            spark,
            options.path,
            mark=options.mark,
            manifest=options.manifest,
            most_tasks=options.m,
            locality=False if options.no_locality else None,
            conf=conf,
            shows_progress=sys.stderr.isatty(),
        ) as verified,
    ):
        if options.json:
            print(json.dumps(_as_json(verified)))
        else:
            _print_outcome(verified)
        return 0 if verified.sums.is_healthy else 1


def _arguments() -> Arguments:
    parser = Arguments(
        prog="howdah verify", description="Read every replica of every block, and compare them."
    )
    parser.add_argument("path", nargs="+", help="URI, path or pattern")
    parser.add_argument(
        "--mark", action="store_true", help="tell the namenode of bad replicas: it replaces them"
    )
    parser.add_argument(
        "--manifest", metavar="URI", help="keep digests of the files in this directory, and compare"
    )
    add_tasks(parser)
    parser.add_argument("--no-locality", action="store_true", help="let any node read any replica")
    add_options(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    return parser


def _problems(verified: Verified) -> list[dict[str, Any]]:
    return [
        {
            "path": _text(bytes(row["path"])),
            "block": row["block"],
            "offset": row["offset"],
            "length": row["length"],
            "node": row["node"],
            "verdict": row["verdict"],
            "marked": row["marked"],
            "message": row["message"],
        }
        for row in verified.problems(SHOWN)
    ]


def _as_json(verified: Verified) -> dict[str, object]:
    return {
        **verified.sums.as_dict(),
        "problems": _problems(verified),
        "rotten": [_text(path) for path in verified.rotten(SHOWN)],
    }


def _print_outcome(verified: Verified) -> None:
    sums = verified.sums
    for problem in _problems(verified):
        where = f"{problem['block']} at {problem['node'] or 'no datanode'}"
        marked = ", reported to the namenode" if problem["marked"] else ""
        why = f": {problem['message']}" if problem["message"] else ""
        print(f"{printable(problem['path'])}: {where} is {problem['verdict']}{marked}{why}")
    for path in verified.rotten(SHOWN):
        print(
            f"{printable(_text(path))}: has other bytes than at the last run, "
            "though nobody wrote it"
        )
    bad = {name: count for name, count in sums.replicas.items() if name != "sound"}
    if sum(bad.values()) > SHOWN:
        print(f"(the first {SHOWN} of {sum(bad.values())})")
    print(
        f"{sums.files} files of {byte_text(sums.bytes)}, {sums.blocks} blocks, "
        f"{sum(sums.replicas.values())} replicas read in {sums.seconds:.1f} s"
    )
    if sums.short:
        print(f"{sums.short} blocks have fewer replicas than they are to have")
    if sums.changes is not None:
        c = sums.changes
        print(
            f"since the last run: {c.added} files added, {c.gone} gone, {c.modified} modified, "
            f"{c.unchanged} unchanged, {c.rotten} rotten"
        )
    for note in sums.notes:
        print(note)
    reported = f", {sums.marked} reported to the namenode" if sums.marked else ""
    print("All replicas are sound." if not bad else f"Bad: {_counts(bad)}{reported}")


def _counts(bad: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in bad.items())


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
