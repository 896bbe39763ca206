"""`UPath("howdah://host:port/a")`: paths of universal_pathlib that keep host and port.

Without a class of its own a path knows its host among its options, and works, but prints
itself as `howdah:///a`: what was printed, or handed on as text, would be another file.
universal_pathlib finds the class by its entry point; that of other schemes is made known by
`howdah.fsspec.install`. Its own class for `hdfs://` prints paths without host and port, too.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterator
from glob import escape, has_magic
from typing import Any

import fsspec
from upath import UPath
from upath.registry import register_implementation

# universal_pathlib parses by the rules of the class that fsspec has, once it has it.
fsspec.get_filesystem_class("howdah")


class HowdahPath(UPath):  # type: ignore[misc, unused-ignore]  # may not be installed
    """Represents a path of HDFS."""

    __slots__ = ()

    def __str__(self) -> str:
        if self._relative_base is not None:
            return str(super().__str__())
        # Not by the filesystem: that is made when it is first needed, with this text.
        options = self.storage_options
        user, port = options.get("user"), options.get("port")
        place = f"{user}@" if user else ""
        place += str(options.get("host", "")) + (f":{port}" if port else "")
        return f"{self.protocol}://{place}{self.path}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a directory; `FileExistsError` unless `exist_ok` allows that it is there."""
        if not exist_ok and self.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))
        super().mkdir(mode=mode, parents=parents, exist_ok=exist_ok)

    def glob(self, pattern: str, **options: Any) -> Iterator[HowdahPath]:
        """What matches below this path, whose own name is no pattern."""
        return self._matching(pattern, options) or super().glob(pattern, **options)

    def rglob(self, pattern: str, **options: Any) -> Iterator[HowdahPath]:
        """What matches anywhere below this path, whose own name is no pattern."""
        return self._matching(f"**/{pattern}", options) or super().rglob(pattern, **options)

    def _matching(self, pattern: str, options: dict[str, Any]) -> Iterator[HowdahPath] | None:
        """Return the matches below a path that could be a pattern itself; None for other paths."""
        top = self if self._relative_base is None else self.absolute()
        if not has_magic(top.path):
            return None
        for name in sorted(name for name, value in options.items() if value not in (None, False)):
            warnings.warn(f"{name} is ignored", UserWarning, stacklevel=3)
        matches = top.fs.glob(f"{escape(top.path).rstrip('/')}/{pattern}")
        return (top.joinpath(name.removeprefix(top.path).removeprefix("/")) for name in matches)


def take_over(*schemes: str) -> None:
    """Let paths of these schemes be of this class for the rest of the process."""
    for scheme in schemes:
        register_implementation(scheme, HowdahPath, clobber=True)
