"""A directory of its own on a cluster that is shared (the fixture `howdah_dir`)."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from howdah import Path
from howdah.fs.hdfs.filesystem import HdfsFileSystem

if TYPE_CHECKING:
    from howdah import FileSystem
    from howdah.testing.minicluster import MiniCluster

PARENT: Final = "/howdah-tests"
_LONGEST_NAME: Final = 60


@contextmanager
def fresh_directory(cluster: MiniCluster, name: str = "") -> Iterator[Path]:
    """An empty directory, by a connection of its own; it is removed at the end, snapshots and
    files that are open for writing included."""
    readable = re.sub(r"\W+", "_", name)[:_LONGEST_NAME].strip("_")
    place = "-".join(filter(None, (readable, secrets.token_hex(4))))
    path = f"{PARENT}/{place}"
    try:
        # Its end closes the files that are open for writing.
        with cluster.connect() as fs:
            directory = fs.path(path)
            directory.mkdir(parents=True)
            yield directory
    finally:
        with cluster.connect() as fs:
            _remove(fs, path)


def _remove(fs: FileSystem, directory: str) -> None:
    if isinstance(fs, HdfsFileSystem):
        # A directory with snapshots cannot be deleted.
        for found in fs.list_snapshottable_directories():
            if found.path == directory or found.path.startswith(f"{directory}/"):
                for snapshot in fs.list_snapshots(found.path):
                    fs.delete_snapshot(found.path, snapshot.name)
                fs.disallow_snapshot(found.path)
    fs.delete(directory, recursive=True)
