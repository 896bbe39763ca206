"""Functions of a user's module, as a simulated process runs them.

A workload is written as any other code: it imports `time`, `threading` or `howdah.errors` where its
module begins. Those are the real ones. A process runs a copy of the function, with the same code,
whose global names stand for the process's own modules, functions and classes; so `time.sleep` takes
virtual time, and `except howdah.errors.SafeModeError` catches what the process raises. Functions of
the same module that it calls are copied in the same way. What a process shares with the real
program, such as `json` or a user's values, stays as it is.

A class of the user's module cannot be copied like this, as its methods know their class. One whose
methods use what has to be the process's own is refused by its name.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from howdah.testing.world.loader import is_private
from howdah.testing.world.primitives import HIDDEN, SIMULATED, NotSimulated
from howdah.testing.world.processes import Process

_SAME: Final = object()


def bring_into(process: Process, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as the process runs it. Raises NotSimulated for one that cannot be
    copied."""
    return _Copies(process).callable(function)


class _Copies:
    def __init__(self, process: Process) -> None:
        self._process = process
        self._globals: dict[int, dict[str, Any]] = {}
        """By the identity of those of the module."""
        self._functions: dict[int, types.FunctionType] = {}
        self._cells: dict[int, types.CellType] = {}

    def callable(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, functools.partial):
            copy = self.callable(function.func)
            return functools.partial(copy, *function.args, **function.keywords)
        if isinstance(function, types.FunctionType):
            return self._function(function)
        raise NotSimulated(
            f"a workload is a function, or a functools.partial of one, and not {function!r}"
        )

    def _function(self, function: types.FunctionType) -> types.FunctionType:
        known = self._functions.get(id(function))
        if known is not None:
            return known
        own = self._own_globals(function.__globals__)
        code = function.__code__
        closure = tuple(map(self._cell, function.__closure__ or ()))
        copy = types.FunctionType(code, own, function.__name__, function.__defaults__, closure)
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__qualname__ = function.__qualname__
        self._functions[id(function)] = copy
        for name in _global_names(code):
            if name in function.__globals__:
                own[name] = self._value(function.__globals__[name], function, name)
        return copy

    def _own_globals(self, names: dict[str, Any]) -> dict[str, Any]:
        own = self._globals.get(id(names))
        if own is None:
            own = self._globals[id(names)] = dict(names)
            own["__builtins__"] = self._process.modules.builtins
        return own

    def _cell(self, cell: types.CellType) -> types.CellType:
        """Share the variables of an outer function, but for those that name something of the
        process's own."""
        known = self._cells.get(id(cell))
        if known is not None:
            return known
        self._cells[id(cell)] = cell
        try:
            value = cell.cell_contents
        except ValueError:
            return cell  # It has no value yet.
        owned = self._replacement(value, "an outer function")
        if owned is not _SAME:
            cell = self._cells[id(cell)] = types.CellType(owned)
        return cell

    def _load_below(self, package: str, names: frozenset[str]) -> None:
        """Load the modules of a package that code names behind it, as in `howdah.errors`."""
        for name in sorted(names):
            below = f"{package}.{name}"
            if below in sys.modules and _is_own(below):
                self._process.modules.load(below)
                self._load_below(below, names)

    def _value(self, value: Any, function: types.FunctionType, name: str) -> Any:
        if isinstance(value, types.ModuleType) and _is_own(value.__name__):
            names = frozenset(_global_names(function.__code__))
            self._load_below(value.__name__, names)
        owned = self._replacement(value, f"{function.__qualname__} ({name})")
        return value if owned is _SAME else owned

    def _replacement(self, value: Any, user: str) -> Any:
        """Return what stands for a value in the process; _SAME if it is shared."""
        if isinstance(value, types.ModuleType):
            if _is_own(value.__name__):
                return self._process.modules.load(value.__name__)
            return _SAME
        module = getattr(value, "__module__", None)
        name = getattr(value, "__qualname__", None)
        if isinstance(module, str) and isinstance(name, str) and "<" not in name:
            for known in _modules_of(module):
                if _is_own(known):
                    owned: Any = self._process.modules.load(known)
                    for part in name.split("."):
                        owned = getattr(owned, part)
                    return owned
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type) and not value.__module__.startswith("builtins"):
            self._check_class(value, user)
        return _SAME

    def _check_class(self, cls: type, user: str) -> None:
        for method in vars(cls).values():
            if not isinstance(method, types.FunctionType):
                continue
            for name in _global_names(method.__code__):
                value = method.__globals__.get(name, _SAME)
                module = value.__name__ if isinstance(value, types.ModuleType) else None
                if module is None:
                    module = getattr(value, "__module__", None)
                if isinstance(module, str) and any(map(_is_own, _modules_of(module))):
                    raise NotSimulated(
                        f"{user} uses the class {cls.__qualname__}, whose method "
                        f"{method.__name__} uses {name}, which each simulated process has of its "
                        "own: define the class inside the function, and import there"
                    )


def _modules_of(name: str) -> tuple[str, ...]:
    """Return the names under which Python code imports a module: `os` for the functions of
    `posix`."""
    return {"posix": ("os", "posix"), "_thread": ("_thread",), "_io": ("io",)}.get(name, (name,))


def _is_own(module: str) -> bool:
    """Tell whether each process has a module of its own."""
    if module.partition(".")[0] == "howdah" and module.startswith("howdah.testing"):
        return False
    return module in SIMULATED or (is_private(module) and module not in HIDDEN)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Go over the names that code, and the functions in it, may look up outside."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
