"""Random changes of a cluster, and what is there then."""

from __future__ import annotations

import random
from typing import Any

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.spark.tables.change_table import ChangeTable, Offset
from tests.support.tables.following import Entry
from tests.support.tables.frames import as_rows


def live(fs: HdfsFileSystem) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for _, directories, files in fs.walk("/"):
        for status in (*directories, *files):
            found[status.path] = {
                "type": "directory" if status.is_directory else "file",
                "owner": status.owner,
                "group": status.group,
                "permission": status.permission,
                "replication": status.replication,
                "length": status.length,
            }
    return found


def change(fs: HdfsFileSystem, chance: random.Random, count: int) -> None:
    """Random changes."""
    for _ in range(count):
        names = [f"/d{chance.randrange(4)}", f"/d{chance.randrange(4)}/e{chance.randrange(3)}"]
        directory = chance.choice(names)
        path = f"{directory}/f{chance.randrange(4)}"
        match chance.randrange(7):
            case 0 | 1:
                fs.mkdirs(directory)
                with fs.create(path, overwrite=True, replication=1) as out:
                    out.write(b"x" * chance.randrange(5))
            case 2:
                fs.mkdirs(directory)
            case 3 if fs.exists(path):
                with fs.append(path) as out:
                    out.write(b"yy")
            case 4 if fs.exists(directory):
                target = f"/moved{chance.randrange(3)}"
                if not fs.exists(target):
                    fs.rename(directory, target)
            case 5 if fs.exists(path):
                fs.delete(path, recursive=True)
            case 6 if fs.exists(directory):
                fs.set_owner(directory, f"user{chance.randrange(3)}", "staff")
                fs.set_permission(directory, chance.choice([0o755, 0o700]))


def drain(
    table: ChangeTable, start: Offset, most: int | None
) -> tuple[list[dict[str, Any]], Offset]:
    """The rows of all batches up to now, and where the last one ends."""
    rows: list[dict[str, Any]] = []
    while (end := table.latest_offset(start, most)) != start:
        for part in table.parts_between(start, end):
            for batch in table.read(part):
                rows += as_rows(batch)
        start = end
    return rows, start
