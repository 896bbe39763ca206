"""howdah: an HDFS-compatible distributed filesystem in Python.

>>> import howdah
>>> fs = howdah.connect("hdfs://namenode:8020")  # doctest: +SKIP
>>> with fs.create("/greeting", overwrite=True) as out:  # doctest: +SKIP
...     out.write(b"hello")

`import howdah` loads nothing; names are imported when they are used first.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in typing, which takes two milliseconds to import
if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.errors import HowdahError
    from howdah.fs.api import FileSystem
    from howdah.fs.arrow_filesystem import arrow as arrow
    from howdah.fs.filesystem_path import Path
    from howdah.fs.filesystem_path import open as open
    from howdah.fs.registry import connect
    from howdah.fs.status import (
        BlockLocation,
        ContentSummary,
        DatanodeReport,
        FileChecksum,
        FileStatus,
        FsStatistics,
        FsStatus,
        QuotaUsage,
        ServerDefaults,
    )
    from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
    from howdah.options import CreateFlag, FileRange, SyncFlag

__version__ = "0.1.0"

__all__ = [
    "BlockLocation",
    "Configuration",
    "ContentSummary",
    "CreateFlag",
    "DatanodeReport",
    "FSDataInputStream",
    "FSDataOutputStream",
    "FileChecksum",
    "FileRange",
    "FileStatus",
    "FileSystem",
    "FsStatistics",
    "FsStatus",
    "HowdahError",
    "Path",
    "QuotaUsage",
    "ServerDefaults",
    "SyncFlag",
    "__version__",
    "connect",
]

_HOME = {
    "Configuration": "howdah.config",
    "HowdahError": "howdah.errors",
    "FileSystem": "howdah.fs.api",
    "arrow": "howdah.fs.arrow_filesystem",
    "Path": "howdah.fs.filesystem_path",
    "open": "howdah.fs.filesystem_path",
    "connect": "howdah.fs.registry",
    "BlockLocation": "howdah.fs.status",
    "ContentSummary": "howdah.fs.status",
    "DatanodeReport": "howdah.fs.status",
    "FileChecksum": "howdah.fs.status",
    "FileStatus": "howdah.fs.status",
    "FsStatistics": "howdah.fs.status",
    "FsStatus": "howdah.fs.status",
    "QuotaUsage": "howdah.fs.status",
    "ServerDefaults": "howdah.fs.status",
    "FSDataInputStream": "howdah.fs.streams",
    "FSDataOutputStream": "howdah.fs.streams",
    "CreateFlag": "howdah.options",
    "FileRange": "howdah.options",
    "SyncFlag": "howdah.options",
}


if os.environ.get("HOWDAH_COMPILED", "").lower() == "on":
    from howdah.native import compiled

    if not compiled.use():
        raise ImportError(f"HOWDAH_COMPILED=on is set, but {compiled.state()}")


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise _unknown(name)
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def _unknown(name: str) -> AttributeError:
    place = os.path.join(__path__[0], name)
    if os.path.isdir(place) or os.path.exists(f"{place}.py"):
        # `from howdah import x` asks for a name before it imports the module.
        return AttributeError(f"howdah.{name} is a module: import howdah.{name}", name=name)
    from howdah.wrong_names import MODULE, WrongName

    return WrongName(__name__, name, __dir__, MODULE)


def __dir__() -> list[str]:
    # `from howdah import *` takes neither: one would hide Python's own, the other wants pyarrow.
    return [*__all__, "arrow", "open"]
