"""`howdah lsSnapshottableDir`, `lsSnapshot` and `snapshotDiff`.

Output and exit codes are those of `hdfs` with the same names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from howdah.cli.arguments.administered import administered
from howdah.cli.arguments.command_format import check_count
from howdah.cli.arguments.usage import EXIT_FAILURE, UsageError
from howdah.cli.dfs.shell.text import minute
from howdah.config import Configuration
from howdah.errors import HowdahError, IllegalArgument
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus, permission_string

USAGE = {
    "lsSnapshottableDir": "lsSnapshottableDir: \n\tList the snapshottable directories that you "
    "own; as the superuser, all of them.",
    "lsSnapshot": "lsSnapshot <snapshotDir>: \n\tList the snapshots of a directory.",
    "snapshotDiff": "snapshotDiff <snapshotDir> <from> <to>:\n\tSay what differs between two "
    'snapshots of a directory,\n\tor a snapshot and what is there now, which is ".".\n\t'
    "A snapshot is given by its name, which .snapshot/ may precede",
}


def ls_snapshottable_dir(argv: list[str], conf: Configuration) -> int:
    return _run("lsSnapshottableDir", 0, argv, conf, _list_directories)


def ls_snapshot(argv: list[str], conf: Configuration) -> int:
    return _run("lsSnapshot", 1, argv, conf, _list_snapshots)


def snapshot_diff(argv: list[str], conf: Configuration) -> int:
    return _run("snapshotDiff", 3, argv, conf, _compare)


def _run(
    name: str,
    words: int,
    argv: list[str],
    conf: Configuration,
    run: Callable[[HdfsFileSystem, list[str]], None],
) -> int:
    try:
        check_count(argv, words, words)
    except UsageError:
        print(f"Usage: \nhowdah {USAGE[name]}", file=sys.stderr)
        return EXIT_FAILURE
    try:
        with administered(conf) as fs:
            if not isinstance(fs, HdfsFileSystem):
                raise IllegalArgument(f"{fs.uri} is no HDFS")
            run(fs, argv)
    except HowdahError as error:
        print(f"{name}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        return EXIT_FAILURE
    return 0


def _list_directories(fs: HdfsFileSystem, argv: list[str]) -> None:
    directories = fs.list_snapshottable_directories()
    _print_table(
        [
            [*_columns(one.status), f">{one.snapshot_count}", f">{one.snapshot_quota}", one.path]
            for one in directories
        ]
    )


def _list_snapshots(fs: HdfsFileSystem, argv: list[str]) -> None:
    snapshots = fs.list_snapshots(argv[0])
    _print_table(
        [
            [
                *_columns(one.status),
                f">{one.snapshot_id}",
                "DELETED" if one.is_deleted else "ACTIVE",
                one.path,
            ]
            for one in snapshots
        ]
    )


def _columns(status: FileStatus) -> list[str]:
    return [
        permission_string(status.permission, "d"),
        f">{status.replication}",
        status.owner,
        status.group,
        f">{status.length}",
        minute(status.modification_time_ms),
    ]


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns that begin with `>` are flush right."""
    if not rows:
        print()
        return
    widths = [max(len(cell.lstrip(">")) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell[1:].rjust(width) if cell.startswith(">") else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        print(" ".join(cells).rstrip())


def _compare(fs: HdfsFileSystem, argv: list[str]) -> None:
    path, old, new = argv
    print(fs.snapshot_diff(path, _snapshot_name(old), _snapshot_name(new)))


def _snapshot_name(text: str) -> str:
    """`.` is what is there now; the name may come as the end of its path."""
    if text == ".":
        return ""
    for before in ("/.snapshot/", ".snapshot/"):
        if before in text:
            return text.partition(before)[2]
    return text
