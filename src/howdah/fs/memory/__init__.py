"""Files of this process as a FileSystem, for tests (`mem://name/`).

Arrows: `filesystem -> streams -> tree`.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

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
    return import_name(__name__, _HOME, name)
