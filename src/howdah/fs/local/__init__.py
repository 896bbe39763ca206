"""This machine's files as a FileSystem (`file:///`).

`filesystem` keeps a checksum file beside each file (`checksums`), as Hadoop's does; `raw`
keeps none. Arrows: `filesystem -> raw -> streams, status`.
"""

from __future__ import annotations

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
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)
