"""A module tree for each simulated process.

Code of howdah, and of those modules of the standard library that keep state or touch the system,
is executed once for each process, in modules of its own (`primitives.PRIVATE`). Their `__import__`
gives them this process's copies, its simulated C modules, and of all other modules only those that
are listed. Code objects are compiled once and shared.

Sets in private modules keep the order in which things came: by Python's rules their order depends
on addresses, which no seed decides.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import importlib
import importlib.machinery
import importlib.metadata
import importlib.resources
import importlib.util
import io
import itertools
import os as real_os
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import howdah
from howdah.testing.world import (
    clock,
    files,
    forks,
    instrumenting,
    kerberos,
    polling,
    primitives,
    sockets,
    system,
    threads,
)
from howdah.testing.world.primitives import HIDDEN, PRIVATE, SHARED_OF_HOWDAH, SIMULATED
from howdah.testing.world.processes import Process

_SOURCE: Final = Path(howdah.__file__).parent.parent
_LIBRARY: Final = Path(real_os.__file__).parent
Code = tuple[types.CodeType, importlib.machinery.ModuleSpec, bool]
_codes: dict[str, Code] = {}
_numbers = itertools.count(1)
_SEAMS: Final = (forks.SEAM, kerberos.SEAM, kerberos.KDC_SEAM)
"""Modules of howdah that are simulated themselves."""
_TIMES_OF_LOADING: Final = (
    ("logging", "_startTime"),
    ("howdah.web.monitoring.process", "_STARTED_S"),
)
"""What modules set to the time at which they are loaded."""


@functools.cache
def _is_shared_of_howdah(name: str) -> bool:
    return any(name == shared or name.startswith(f"{shared}.") for shared in SHARED_OF_HOWDAH)


@functools.cache
def is_private(name: str) -> bool:
    """Whether each process has a copy of this module."""
    if name.partition(".")[0] == "howdah":
        return not _is_shared_of_howdah(name)
    while name:
        if name in PRIVATE:
            return True
        name = name.rpartition(".")[0]
    return False


@functools.cache
def _private_below(name: str, attributes: tuple[str, ...]) -> list[str]:
    return [each for each in attributes if each != "*" and is_private(f"{name}.{each}")]


_yielding: dict[str, types.CodeType] = {}
"""Code that lets others go first between its statements."""
_edited: dict[str, str] = {}
"""The text of modules whose code is not that of their files."""
_marks: instrumenting.Marks | None = None
_marked: dict[str, types.CodeType] = {}


def mark_statements(marks: instrumenting.Marks, names: Iterable[str]) -> None:
    """Let all processes that load these modules from now on mark which statements have run."""
    global _marks
    _marks = marks
    for name in names:
        _, spec, _ = code_of(name)
        assert spec.origin is not None, f"{name} has no file"
        _marked[name] = instrumenting.compiled(
            Path(spec.origin), functools.partial(marks.mark, name)
        )


def _code_to_run(name: str, yields_in: tuple[str, ...]) -> types.CodeType:
    code, spec, _ = code_of(name)
    if name in _marked:
        return _marked[name]
    is_chosen = any(name == each or name.startswith(f"{each}.") for each in yields_in)
    if not is_chosen or name in _edited or spec.origin is None:
        return code
    if name not in _yielding:
        path = Path(spec.origin)
        _yielding[name] = instrumenting.compiled(path, instrumenting.with_yields)
    return _yielding[name]


def code_of(name: str) -> Code:
    """Return the code of a module, its spec, and whether it is a package. Raises
    ModuleNotFoundError."""
    code = _codes.get(name)
    if code is None:
        code = _codes[name] = _find_code(name)
    return code


def _find_code(name: str) -> Code:
    root = _SOURCE if name.partition(".")[0] == "howdah" else _LIBRARY
    base = root.joinpath(*name.split("."))
    package = base / "__init__.py"
    path = package if package.exists() else base.with_suffix(".py")
    if not path.exists():
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _code_in(path, name)


def _code_in(path: Path, name: str) -> Code:
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    code = loader.get_code(name)
    assert spec is not None, f"{path} is no module"
    assert isinstance(code, types.CodeType), f"{path} has no code"
    return code, spec, path.name == "__init__.py"


@functools.cache
def _compiled(text: str) -> types.CodeType:
    return compile(text, "<string>", "exec", dont_inherit=True)


def _execute(text: Any, globals: Any = None, locals: Any = None, /) -> None:
    """Do as `exec` does, and compile a text once: each process makes the same classes again, and
    most of the time went into compiling the methods that `dataclasses` writes for them."""
    exec(_compiled(text) if isinstance(text, str) else text, globals, locals)


_is_special: Final[Any] = vars(dataclasses)["_is_type"]
_SPECIAL_TYPES: Final = ("ClassVar", "InitVar", "KW_ONLY")


def _is_type(annotation: str, *arguments: Any) -> Any:
    """Do as `dataclasses._is_type` does, which looks for these names, but do not take apart what
    has none of them."""
    if any(name in annotation for name in _SPECIAL_TYPES):
        return _is_special(annotation, *arguments)
    return False


def _compile_generated_methods_once() -> None:
    # The module is shared by all processes. A name of a module goes before the builtin one.
    vars(dataclasses)["exec"] = _execute
    vars(dataclasses)["_is_type"] = _is_type


_compile_generated_methods_once()


class OrderedSet(set[Any]):
    """Keeps the order in which its elements came."""

    __slots__ = ("_order",)

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__()
        self._order: dict[Any, None] = {}
        for item in items:
            self.add(item)

    def __iter__(self) -> Iterator[Any]:
        # As of a set, its change ends an iteration.
        return iter(self._order)

    def add(self, item: Any) -> None:
        super().add(item)
        self._order.setdefault(item)

    def discard(self, item: Any) -> None:
        super().discard(item)
        self._order.pop(item, None)

    def remove(self, item: Any) -> None:
        super().remove(item)
        self._order.pop(item, None)

    def clear(self) -> None:
        super().clear()
        self._order.clear()

    def pop(self) -> Any:
        for item in self._order:
            self.remove(item)
            return item
        raise KeyError("pop from an empty set")

    def copy(self) -> OrderedSet:
        return OrderedSet(self._order)

    __copy__ = copy

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for item in other:
                self.add(item)

    def difference_update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for item in list(other):
                self.discard(item)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        for other in others:
            kept = set(other)
            for item in [item for item in self._order if item not in kept]:
                self.discard(item)

    def symmetric_difference_update(self, other: Iterable[Any]) -> None:
        for item in list(other):
            (self.discard if item in self else self.add)(item)

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def __isub__(self, other: Any) -> Any:
        self.difference_update(other)
        return self

    def __iand__(self, other: Any) -> Any:
        self.intersection_update(other)
        return self

    def __or__(self, other: Any) -> Any:
        return self.union(other) if isinstance(other, set | frozenset) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return self.intersection(other) if isinstance(other, set | frozenset) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.difference(other) if isinstance(other, set | frozenset) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        if not isinstance(other, set | frozenset):
            return NotImplemented
        return self.symmetric_difference(other)

    def union(self, *others: Iterable[Any]) -> OrderedSet:
        result = self.copy()
        result.update(*others)
        return result

    def intersection(self, *others: Iterable[Any]) -> OrderedSet:
        result = self.copy()
        result.intersection_update(*others)
        return result

    def difference(self, *others: Iterable[Any]) -> OrderedSet:
        result = self.copy()
        result.difference_update(*others)
        return result

    def symmetric_difference(self, other: Iterable[Any]) -> OrderedSet:
        result = self.copy()
        result.symmetric_difference_update(other)
        return result

    def __reduce__(self) -> Any:
        return OrderedSet, (list(self._order),)


class ModuleTree:
    """Holds the modules of one process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        # As long in every process: messages between processes have it in them.
        self._prefix = f"process{next(_numbers):06}~"
        self._private: dict[str, types.ModuleType] = {}
        self._packages: set[str] = set()
        """The top packages of those that are below one."""
        self.files = files.Files(process)
        self.simulated: dict[str, Any] = {
            "_socket": sockets.make(process),
            "_thread": threads.make(process),
            "fcntl": files.make_fcntl(process),
            "io": files.make_io(process, self.files),
            "mmap": files.make_mmap(process),
            "posix": files.make_posix(process, self.files),
            "select": polling.make(process),
            "time": clock.make(process),
            **system.make(process),
        }
        self.simulated["importlib"] = _copy_of(importlib, import_module=self.import_module)
        self.simulated["uvloop"] = _copy_of(
            types.ModuleType("uvloop"), new_event_loop=self._new_event_loop
        )
        assert {*self.simulated} >= SIMULATED, SIMULATED - {*self.simulated}
        self.simulated[forks.SEAM] = forks.make(process)
        self.simulated[kerberos.SEAM] = kerberos.make(process)
        self.simulated[kerberos.KDC_SEAM] = kerberos.make_kdc()
        self.builtins = dict(vars(builtins))
        """Those of the code that the process runs."""
        self.builtins["__import__"] = self._import
        self.builtins["open"] = self.simulated["io"].open
        self.builtins["set"] = OrderedSet
        self.builtins["print"] = self._print
        self.builtins[instrumenting.YIELD_NAME] = process.scheduler.give_way_between_statements
        self.builtins["input"] = _no_input

    # -- what a scenario calls

    def load(self, name: str) -> Any:
        """Return a module of this process, imported if it is not yet. A task of the process calls
        it: what the module does when it is imported happens as in a thread of the process."""
        return self.import_module(name)

    def find(self, name: str) -> Any:
        """Return a module if this process has it already, else None."""
        return self._private.get(name)

    def import_module(self, name: str, package: str | None = None) -> Any:
        """Import, as of `importlib`."""
        if name.startswith("."):
            name = importlib.util.resolve_name(name, package)
        if name in self.simulated:
            return self.simulated[name]
        if is_private(name):
            return self._load(name)
        if not _is_shared_of_howdah(name):
            primitives.check_listed(name, "importlib")
        return importlib.import_module(name)

    def begin(self) -> None:
        """Say that the process begins now, which has loaded modules before."""
        self.files.begin()
        self.simulated["_socket"].socket._address = self._process.machine.address
        for name, attribute in _TIMES_OF_LOADING:
            if name in self._private:
                now_s = self._process.machine.wall.now_ns() / 1e9
                setattr(self._private[name], attribute, now_s)

    def refresh(self, name: str) -> None:
        """Give the functions of a module, if it is loaded, the code that its text has by now. What
        runs when a module is imported has run, and stays."""
        module = self._private.get(name)
        if module is None:
            return
        for function in _functions_of(module):
            new = _new_codes.get(id(function.__code__))
            if new is not None:
                function.__code__ = new

    # -- loading

    def _load(self, name: str) -> types.ModuleType:
        module = self._private.get(name)
        if module is not None:
            return module
        parent, _, last = name.rpartition(".")
        if parent and is_private(parent):
            self._load(parent)
            if name in self._private:
                return self._private[name]
        _, spec, is_package = code_of(name)
        code = _code_to_run(name, self._process.scheduler.yields_in)
        # Under this name dataclasses and enumerations find it in `sys.modules`.
        module = types.ModuleType(self._prefix + name)
        module.__package__ = name if is_package else parent
        module.__file__, module.__spec__, module.__loader__ = spec.origin, spec, spec.loader
        if is_package:
            module.__path__ = list(spec.submodule_search_locations or ())
        module.__dict__["__builtins__"] = self.builtins
        if name in _marked and _marks is not None:
            _marks.give_to(module)
        self._private[name] = module
        if parent:
            self._packages.add(name.partition(".")[0])
        sys.modules[module.__name__] = module
        real_path = sys.modules["os.path"]
        scheduler = self._process.scheduler
        scheduler.loading += 1
        try:
            exec(code, module.__dict__)
        except BaseException:
            self._private.pop(name, None)
            sys.modules.pop(module.__name__, None)
            raise
        finally:
            scheduler.loading -= 1
            sys.modules["os.path"] = real_path  # which `os` sets
        if parent in self._private:
            setattr(self._private[parent], last, module)
        self._adjust(name, module)
        return module

    def _adjust(self, name: str, module: Any) -> None:
        if name == "random":
            process, initialize = self._process, module.Random.__init__

            def __init__(generator: Any, seed: Any = None) -> None:
                if seed is None and process.scheduler.loading:
                    maker = sys._getframe(1).f_globals["__name__"]
                    initialize(generator, 0)
                    process.add_source_of_chance(generator, maker.rpartition("~")[2])
                else:
                    initialize(generator, process.random.getrandbits(128) if seed is None else seed)

            module.Random.__init__ = __init__
            process.add_source_of_chance(module._inst, name)
        elif name == "pickle":
            _adjust_pickle(module, self)
        elif name == "logging":
            module.getLogger().addHandler(system.log_handler(self._process, module))
            module.getLogger().setLevel(module.INFO)

    def _import(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        if level:
            package = globals["__package__"]
            for _ in range(level - 1):
                package = package.rpartition(".")[0]
            name = f"{package}.{name}" if name else package
        if name.startswith(self._prefix):  # by the C code of `pickle`, for a class of this process
            return sys.modules[name]
        if name in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in self.simulated:
            if name in _SEAMS and not fromlist:
                raise primitives.NotSimulated(f"import {name} without from")
            return self.simulated[name]
        if name.startswith("importlib."):
            return importlib.import_module(name) if fromlist else self.simulated["importlib"]
        if name == "os.path":
            return self._load("posixpath") if fromlist else self._load("os")
        if is_private(name):
            return self._import_private(name, fromlist)
        if not _is_shared_of_howdah(name):
            importer = str((globals or {}).get("__name__", "?"))
            primitives.check_listed(name, importer.rpartition("~")[2])
        if name.startswith("howdah"):
            return builtins.__import__(name, None, None, fromlist or ("__name__",), 0)
        package_or_module = builtins.__import__(name, None, None, fromlist, 0)
        return self._view(package_or_module, name, fromlist)

    def _import_private(self, name: str, fromlist: Any) -> Any:
        module = self._load(name)
        if not fromlist:
            top = name.partition(".")[0]
            return self._load(top) if is_private(top) else _mixed(top, self._private)
        if hasattr(module, "__path__"):
            for attribute in fromlist:
                below = f"{name}.{attribute}"
                if attribute == "*" or hasattr(module, attribute):
                    continue
                if below in self.simulated:
                    setattr(module, attribute, self.simulated[below])
                    continue
                if not is_private(below):
                    setattr(module, attribute, importlib.import_module(below))
                    continue
                try:
                    self._load(below)
                except ModuleNotFoundError as error:
                    if error.name != below:
                        raise
        return module

    def _view(self, shared: Any, name: str, fromlist: Any) -> Any:
        """Return a shared package with its private modules: `from email import utils`."""
        private = _private_below(name, tuple(fromlist or ()))
        if not private:
            top = name.partition(".")[0]
            if not fromlist and top in self._packages:
                return _mixed(top, self._private)
            return shared
        return _copy_of(
            shared, **{attribute: self._load(f"{name}.{attribute}") for attribute in private}
        )

    def _print(self, *values: object, **options: Any) -> None:
        if options.get("file") is None:
            options["file"] = self.simulated["sys"].stdout
        print(*values, **options)

    def _new_event_loop(self) -> Any:
        return self.load("asyncio").SelectorEventLoop()


def _mixed(top: str, private: dict[str, types.ModuleType]) -> Any:
    """Return a shared top package, with the private modules below it for the shared ones."""
    real = importlib.import_module(top)
    below = {
        name.partition(".")[2]: module
        for name, module in private.items()
        if name.startswith(f"{top}.") and name.count(".") == 1
    }
    return _copy_of(real, **below)


def _copy_of(module: types.ModuleType, **changes: Any) -> Any:
    copy: Any = types.ModuleType(module.__name__)
    copy.__dict__.update(vars(module))
    copy.__dict__.update(changes)
    return copy


def _adjust_pickle(module: Any, tree: ModuleTree) -> None:
    """Unpickle what another process has pickled into the classes of this one."""

    class Unpickler(module.Unpickler):  # type: ignore[misc]
        def find_class(self, name: str, attribute: str) -> Any:
            named = tree.import_module(name.rpartition("~")[2])
            for part in attribute.split("."):
                named = getattr(named, part)
            return named

    module.Unpickler = Unpickler
    module.loads = lambda data, **options: Unpickler(io.BytesIO(data), **options).load()
    module.load = lambda file, **options: Unpickler(file, **options).load()


def _no_input(*_: object) -> str:
    raise EOFError("a simulated process has no terminal")


def change_code(name: str, old: str, new: str) -> None:
    """Let all processes that start later run a module in which `old` is `new`. Raises ValueError
    unless the module has `old` exactly once. A harness puts faults back by it."""
    source = source_of(name)
    if source.count(old) != 1:
        raise ValueError(f"{name} has this text {source.count(old)} times, not once: {old!r}")
    replace_code(name, source.replace(old, new))


def replace_code(name: str, source: str) -> None:
    """Let all processes that load a module later run this text. Blank processes have loaded it:
    `BlankProcesses.refresh` gives them its functions."""
    _, spec, is_package = code_of(name)
    assert spec.origin is not None, f"{name} has no file"
    _edited[name] = source
    before = _codes[name][0]
    after: types.CodeType = compile(source, spec.origin, "exec", dont_inherit=True)
    _note_new_codes(before, after)
    _codes[name] = after, spec, is_package


def source_of(name: str) -> str:
    """Return the text that processes run as a module."""
    if name in _edited:
        return _edited[name]
    _, spec, _ = code_of(name)
    assert spec.origin is not None, f"{name} has no file"
    return Path(spec.origin).read_text(encoding="utf-8")


_new_codes: dict[int, types.CodeType] = {}
"""By the identity of a function's code: that which has replaced it."""
_old_codes: list[types.CodeType] = []
"""Kept, so that no other code gets the identity of one of them."""


def _note_new_codes(before: types.CodeType, after: types.CodeType) -> None:
    """Pair the code of functions that have the same place in two texts of a module."""
    _old_codes.append(before)
    there = _by_name(after)
    for name, olds in _by_name(before).items():
        for old, new in zip(olds, there.get(name, ()), strict=False):
            if old.co_freevars == new.co_freevars:
                _new_codes[id(old)] = new
            _note_new_codes(old, new)


def _by_name(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    found: dict[str, list[types.CodeType]] = {}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.setdefault(constant.co_name, []).append(constant)
    return found


def _functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Go over the functions that a module has defined, those of its classes among them."""
    todo: list[Any] = [value for value in vars(module).values() if _is_of(value, module.__name__)]
    while todo:
        value = todo.pop()
        if isinstance(value, types.FunctionType):
            yield value
        elif isinstance(value, type):
            todo += [each for each in vars(value).values() if not isinstance(each, type)]
            todo += [
                each
                for each in vars(value).values()
                if isinstance(each, type) and _is_of(each, module.__name__)
            ]
        elif isinstance(value, property):
            todo += [value.fget, value.fset, value.fdel]
        elif isinstance(value, functools.cached_property):
            todo.append(value.func)
        wrapped = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
        if wrapped is not None and not isinstance(value, type):
            todo.append(wrapped)


def _is_of(value: object, name: str) -> bool:
    return getattr(value, "__module__", None) == name
