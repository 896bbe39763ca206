"""In which directory each inode of an image is, kept on disk (shell).

For an image whose inodes are too many for memory: `howdah.formats.viewers` asks here then. One
table of a SQLite database, in a directory that is made for it and goes with it. The
database is scratch: nothing is synced, and nothing outlives a crash.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from howdah import errors

_CACHE_KIB: Final = 64 << 10


class PlacesOnDisk:
    """Used in a `with`, behind which the directory is gone."""

    def __init__(self, directory: Path) -> None:
        """Raises PathExists if the directory is there: it is somebody else's."""
        try:
            directory.mkdir(parents=True)
        except FileExistsError as error:
            raise errors.PathExists(
                f"{directory} exists; name a directory that does not"
            ) from error
        self._directory = directory
        self._database = sqlite3.connect(directory / "places", isolation_level=None)
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("CREATE TABLE places (inode INTEGER PRIMARY KEY, parent INTEGER)")
        self._database.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        shutil.rmtree(self._directory)

    def add(self, parent_id: int, children: Iterable[int]) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO places VALUES (?, ?)",
            ((inode_id, parent_id) for inode_id in children),
        )

    def parent_of(self, inode_id: int) -> int | None:
        row = self._database.execute(
            "SELECT parent FROM places WHERE inode = ?", (inode_id,)
        ).fetchone()
        return None if row is None else int(row[0])
