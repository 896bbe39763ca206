"""Files of this process as a FileSystem, for tests (`mem://name/`).

Arrows: `filesystem -> streams -> tree`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.fs.memory.filesystem import MemoryFileSystem as MemoryFileSystem
    from howdah.fs.memory.filesystem import forget as forget

__all__ = ["MemoryFileSystem", "forget"]

# What needs the status of a file alone shall not load the client, too.
_HOME = {
    "MemoryFileSystem": "howdah.fs.memory.filesystem",
    "forget": "howdah.fs.memory.filesystem",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)
