"""Tell names from patterns in the paths of a call, and pair sources and targets of copies.

fsspec's calls take either: `rm("/d/*")`, `rm("/d/r[1].csv")`. A name may contain `*`, `?` and `[`,
so a path from a listing must not act as a pattern. A path is a name

- if a file or directory of exactly this name exists;
- if the caller is a library whose own calls take names only (`NAMES_ONLY`). If such a name does not
  exist it is missing; it never matches other files;
- if `rm` is the whole work of a thread of a pool. So zarr deletes, through fsspec's
  `AsyncFileSystemWrapper`, by names; its own frames are in another thread.

`glob` takes patterns only. There a path that exists is a name if it would not match itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from glob import has_magic
from types import FrameType
from typing import Any, Final

from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from fsspec.utils import other_paths

from howdah import errors
from howdah.fs.paths import text_of

NAMES_ONLY: Final = ("fsspec.mapping", "pyarrow", "upath")
"""Modules, with what is below them: fsspec's mappings (`get_mapper`), pyarrow's filesystems,
paths of universal_pathlib."""
_BETWEEN: Final = ("fsspec", "howdah.fsspec")

Paths = str | list[str]


class NamingFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """A filesystem on which a path that exists is a name, whatever its characters."""

    def is_pattern(self, path: str) -> bool:
        """Return True if a path of a call is a pattern."""
        return has_magic(path) and not caller_gives_names() and not self.lexists(path)

    def expand_path(
        self,
        path: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        assume_literal: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        """Return names and the matches of patterns; with `recursive` all that is below them too."""
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        names: set[str] = set()
        for given in [path] if isinstance(path, str | os.PathLike) else path:
            name = self._strip_protocol(given)
            tops, depth = [name], maxdepth
            if not assume_literal and self.is_pattern(name):
                tops = self.glob(name, maxdepth=maxdepth, **kwargs)
                names.update(tops)
                # The matches are the first level.
                depth = None if maxdepth is None else maxdepth - 1
                if not recursive or depth == 0:
                    continue
            for top in tops:
                if recursive:
                    names.update(self.find(top, maxdepth=depth, withdirs=True, **kwargs))
                if top not in names and (not recursive or self.exists(top)):
                    names.add(top)
        if not names:
            raise errors.PathNotFound(f"{path} does not exist").about(str(path))
        return sorted(names)

    def glob(self, path: str, maxdepth: int | None = None, **kwargs: Any) -> Any:
        """As fsspec's. A path that exists and does not match itself, as `/d/r[1].csv`, is
        itself: dask and others pass every path to `glob`."""
        name = self._strip_protocol(path)
        if has_magic(name) and not fnmatchcase(name, name) and self.lexists(name):
            return {name: self.info(name)} if kwargs.get("detail") else [name]
        return super().glob(path, maxdepth=maxdepth, **kwargs)

    def paired(
        self,
        sources: Paths,
        target: Paths,
        is_directory: Callable[[str], bool],
        *,
        recursive: bool,
        maxdepth: int | None,
    ) -> tuple[list[str], list[str]]:
        """The files and directories to copy, and a target for each, by fsspec's rules.

        One source goes into a target that is a directory; the sources of a list go below the
        target by their last names; two lists are pairs already.
        """
        if isinstance(sources, list) and isinstance(target, list):
            return sources, target
        is_one = isinstance(sources, str | os.PathLike)
        given = "" if isinstance(sources, list) else text_of(sources)
        is_pattern = is_one and self.is_pattern(self._strip_protocol(given))
        # No second look: a source that was removed since must not become a pattern.
        is_name = is_one and not is_pattern
        names = self.expand_path(sources, recursive, maxdepth, assume_literal=is_name)
        if is_one and (not recursive or maxdepth is not None):
            names = [name for name in names if not self.isdir(name)]
        if not names:
            return [], []
        if is_pattern:
            goes_into = len(names) == 1
        else:
            goes_into = (
                is_one
                and not given.endswith("/")
                and isinstance(target, str)
                and (target.endswith("/") or is_directory(target))
            )
        return names, other_paths(names, target, exists=goes_into, flatten=not is_one)


class LocalNames(NamingFileSystem, LocalFileSystem):  # type: ignore[misc]
    """The local disk, whose names are not taken for patterns either."""


def caller_gives_names() -> bool:
    """Return True if one of `NAMES_ONLY` called, directly or through fsspec."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if is_below(module, NAMES_ONLY):
            return True
        if not is_below(module, _BETWEEN):
            return False
        frame = frame.f_back
    return False


def a_pool_calls() -> bool:
    """Return True if this call of fsspec's is the whole work of an executor's thread: then no
    caller is known who could have passed a pattern."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not is_below(module, _BETWEEN):
            return module == "concurrent.futures.thread"
        frame = frame.f_back
    return False


def check_names(fs: NamingFileSystem, paths: Sequence[str]) -> None:
    """Raises PathNotFound for a path that would be a pattern."""
    for path in paths:
        name = fs._strip_protocol(path)
        if fs.is_pattern(name):
            raise errors.PathNotFound(
                f"{name} does not exist; rm as the whole task of a thread pool takes no patterns: "
                "pass fs.glob(pattern) instead"
            ).about(name)


def is_below(module: str, packages: Sequence[str]) -> bool:
    """Return True if a module is one of the packages or in one.

    >>> is_below("pyarrow.fs", ["pyarrow"]), is_below("pyarrows", ["pyarrow"])
    (True, False)
    """
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def check_below(target: Paths, names: Sequence[str]) -> None:
    """Raises ValueError if a name that a server gave leads out of the target."""
    if isinstance(target, list):
        return
    root = os.path.abspath(target)
    for name in names:
        place = os.path.abspath(name)
        if place != root and not place.startswith(root.rstrip(os.sep) + os.sep):
            raise ValueError(f"{name!r} would be copied to {place!r}, which is not in {target!r}")
