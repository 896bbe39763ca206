"""This machine's files as a FileSystem (`file:///`).

`filesystem` keeps a checksum file beside each file (`checksums`), as Hadoop's does; `raw`
keeps none. Arrows: `filesystem -> raw -> streams, status`.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.fs.local.filesystem import LocalFileSystem as LocalFileSystem
    from howdah.fs.local.raw import RawLocalFileSystem as RawLocalFileSystem

__all__ = ["LocalFileSystem", "RawLocalFileSystem"]

# What needs the status of a file alone shall not load the client, too.
_HOME = {
    "LocalFileSystem": "howdah.fs.local.filesystem",
    "RawLocalFileSystem": "howdah.fs.local.raw",
}


def __getattr__(name: str) -> object:
    return import_name(__name__, _HOME, name)
