"""The namenode's hot modules as mypyc compiled them, where such a build is there and is fresh.

`HOWDAH_COMPILE=1 python setup.py build_ext --inplace` (`./dev compiled`) makes them of the modules
that pyproject.toml names, and puts them beside each other into `howdah/_compiled`, where Python
finds none of them by itself. `use` has them found, before the first of them is imported: all of
them or none, since compiled modules know the layout of each other's objects. It is called by the
program of a namenode; `HOWDAH_COMPILED=on` has every program call it, and `off` none.

A build is fresh if the sources are those that it was made of, and those of all modules that they
import, whose constants the compiler takes over. So a source that was changed since is never
shadowed: then Python runs the sources, and `state` says so.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

DIRECTORY: Final = "_compiled"
"""Beside this package: the libraries, and the list of what they were made of."""
SOURCES: Final = "sources.txt"
"""A line for each source: `compiled` or `imported`, the module, its path below `howdah`, and the
SHA-256 of its bytes."""
GROUP: Final = "howdah__mypyc"
"""What the compiled modules share; each of them is an entry into it."""

_WITHOUT: Final = "the sources run: "
_state = ""


class Finder:
    """Finds compiled modules by their names (`importlib.abc.MetaPathFinder`)."""

    def __init__(self, libraries: dict[str, str]) -> None:
        """`libraries` are the paths of the modules' libraries by the modules' names."""
        self._libraries = libraries

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        library = self._libraries.get(name)
        if library is None:
            return None
        return spec_from_file_location(name, library, loader=ExtensionFileLoader(name, library))


def use(package: Path | None = None) -> bool:
    """Use compiled modules from now on, if there are any that may be used; return whether.
    `package` is the directory of `howdah`."""
    global _state
    if is_used():
        return True
    if os.environ.get("HOWDAH_COMPILED", "").lower() == "off":
        _state = _WITHOUT + "HOWDAH_COMPILED=off is set"
        return False
    libraries = _libraries(package or Path(__file__).parents[1])
    if isinstance(libraries, str):
        _state = _WITHOUT + libraries
        return False
    loaded = sorted(name for name in libraries if name in sys.modules)
    if loaded:
        _state = _WITHOUT + f"{loaded[0]} was imported before"
        return False
    sys.meta_path.insert(0, Finder(libraries))
    _state = _compiled(libraries)
    return True


def _compiled(libraries: dict[str, str]) -> str:
    return f"{len(libraries) - 1} modules are compiled"


def fresh(package: Path | None = None) -> str:
    """Return in a line what a program would find that calls `use` when it begins."""
    if os.environ.get("HOWDAH_COMPILED", "").lower() == "off":
        return _WITHOUT + "HOWDAH_COMPILED=off is set"
    libraries = _libraries(package or Path(__file__).parents[1])
    return _WITHOUT + libraries if isinstance(libraries, str) else _compiled(libraries)


def is_used() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def state() -> str:
    """What `use` found, in a line; empty if it was not called."""
    return _state


def _libraries(package: Path) -> dict[str, str] | str:
    """Return the libraries by the modules' names, or why they are not to be used."""
    directory = package / DIRECTORY
    try:
        lines = (directory / SOURCES).read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):  # the latter in a zip
        return "no module is compiled"
    suffix = EXTENSION_SUFFIXES[0]
    libraries = {GROUP: str(directory / f"{GROUP}{suffix}")}
    for line in lines:
        if line.count(" ") != 3:
            return f"{directory / SOURCES} is cut off: build it again"
        kind, name, path, digest = line.split(" ")
        try:
            source = (package / path).read_bytes()
        except FileNotFoundError:
            source = b""
        if hashlib.sha256(source).hexdigest() != digest:
            return f"{path} is another one than when modules were compiled"
        if kind == "compiled":
            libraries[name] = str(directory / f"{name.replace('.', '__')}{suffix}")
    for library in libraries.values():
        if not os.path.exists(library):
            return f"modules were compiled for another Python than this one ({suffix})"
    return libraries
