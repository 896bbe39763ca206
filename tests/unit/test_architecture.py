"""Keep the shape of the house: what a module may do is said by its path, and arrows lead down.

1. A module is pure if it lies in a room called `state`, `service`, `protocol`, `formats`, `keys`
   or `model`, or if the first paragraph of its docstring says "(pure)". It knows no socket, file,
   thread, clock or random source, and imports only modules that don't either.
2. The rooms of a package don't import each other in a circle, at any depth, and no more do modules.
3. Servers know neither the client nor each other, and clients know no server. Production knows
   neither `howdah.testing` nor the tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import howdah
from tests.support.requirements.sources import tree_of

ROOT = Path(howdah.__file__).parent
IMPORTS = (ast.Import, ast.ImportFrom)

# -- 1. purity ---------------------------------------------------------------------

PURE_ROOMS = {"formats", "keys", "model", "protocol", "service", "state"}
WORLD = {
    "asyncio",
    "concurrent",
    "fcntl",
    "mmap",
    "multiprocessing",
    "os",
    "queue",
    "random",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uvloop",
}
# Of the world, checksums and the loader of the native code know one environment variable and the
# CPU's instructions; paths know the type of Python's own paths.
PURE_ENOUGH = {
    "howdah.fs.paths",
    "howdah.native.loader",
    "howdah.protocol.data_transfer.checksum",
}

# -- 3. arrows -----------------------------------------------------------------------

SERVERS = {"namenode", "datanode", "journalnode", "router", "failover", "kms"}
CLIENTS = {
    *(
        "aio",
        "client",
        "fs",
        "fsspec",
        "balancer",
        "copy",
        "gateway",
        "mirror",
        "mount",
        "spark",
        "sync",
    ),
}
# Rooms of a package of which none knows another one.
APART = {
    "howdah.copy": {"common", "locks"},
    "howdah.fs": {"hdfs", "local", "memory", "objects", "typed_data"},
    "howdah.fs.objects": {"amazon", "azure", "google"},
    "howdah.spark": {"compaction", "snapshots", "usage_report", "verification"},
    "howdah.testing": {"contract", "histories"},
}


@cache
def modules() -> tuple[str, ...]:
    """All modules by their files; a package's own ends in `__init__`."""
    return tuple(
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for path in sorted(ROOT.rglob("*.py"))
        if not path.name.endswith("_pb2.py")
    )


@cache
def path_of(module: str) -> Path | None:
    base = ROOT.parent.joinpath(*module.split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.exists():
            return path
    return None


class Imports(ast.NodeVisitor):
    """What a module imports when it runs: what only the type checker sees is left out."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        # No expression imports anything.
        for inner in _bodies(node):
            for statement in inner:
                self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None:
        self.names |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "imports are absolute"
        assert node.module is not None
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            self.names.add(whole if path_of(whole) else node.module)


@dataclass(frozen=True, slots=True)
class Source:
    """What the rules ask about a module. Its tree is dropped: all trees together are a million
    objects, which every later garbage collection would visit."""

    docstring: str
    imports: frozenset[str]
    imports_at_any_time: frozenset[str]
    """Also in functions and for the type checker."""
    file_calls: frozenset[str]
    functions: frozenset[str]
    """The functions on the top level."""


@cache
def source(module: str) -> Source:
    path = path_of(module)
    assert path is not None
    text = path.read_text()
    tree = tree_of(text)
    return Source(
        ast.get_docstring(tree) or "",
        imports_of([tree]),
        imports_of(each for each in statements([tree]) if isinstance(each, IMPORTS)),
        file_calls(text, tree),
        frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef)),
    )


def imports_of(nodes: Iterable[ast.AST]) -> frozenset[str]:
    visitor = Imports()
    for node in nodes:
        visitor.visit(node)
    return frozenset(visitor.names)


def statements(body: list[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those in functions and branches included."""
    for node in body:
        yield node
        for inner in _bodies(node):
            yield from statements(inner)


def _bodies(node: ast.AST) -> Iterator[list[ast.AST]]:
    """The lists of statements of a statement."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(node, name, None)
        if isinstance(inner, list):
            yield inner


FUNCTIONS = frozenset({"open", "input", "print"})
METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})


def file_calls(text: str, tree: ast.Module) -> frozenset[str]:
    if not any(f"{name}(" in text for name in FUNCTIONS | METHODS):
        return frozenset()
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    return frozenset((names & FUNCTIONS) | (methods & METHODS))


def package(module: str) -> str:
    """The top package or module below `howdah`."""
    return module.partition(".")[2].partition(".")[0]


@cache
def is_pure(module: str) -> bool:
    """Whether the path of a module or its head says so."""
    path = path_of(module)
    assert path is not None
    if PURE_ROOMS & set(path.parent.relative_to(ROOT).parts):
        return True
    head = source(module).docstring.partition("\n\n")[0]
    return "(pure)" in " ".join(head.split()) or "(pure;" in head


@cache
def pure_modules() -> tuple[str, ...]:
    return tuple(module for module in modules() if is_pure(module))


def offences(found: dict[str, set[str]]) -> dict[str, list[str]]:
    """What a message shows: the modules that break a rule, each with what breaks it."""
    return {
        module: sorted(names)
        for module, names in found.items()
        if names and module not in PURE_ENOUGH
    }


def test_the_core_is_pure() -> None:
    """Whoever renames a room doesn't take it out of the rule by that."""
    wanted = {"namenode", "datanode", "journalnode", "router", "failover", "client", "protocol"}
    assert wanted | {"formats", "model", "config"} <= set(map(package, pure_modules()))
    assert len(pure_modules()) > 500


def test_pure_modules_do_not_import_the_world() -> None:
    found = {m: {each.partition(".")[0] for each in source(m).imports} for m in pure_modules()}
    assert offences({module: names & WORLD for module, names in found.items()}) == {}


def test_pure_modules_open_no_file() -> None:
    assert offences({module: set(source(module).file_calls) for module in pure_modules()}) == {}


def impure_imports(module: str) -> set[str]:
    ours = {name for name in source(module).imports if is_ours(name) and path_of(name)}
    return {
        name
        for name in ours
        if not is_pure(name) and name not in PURE_ENOUGH and package(name) != "proto"
    }


def test_pure_modules_import_pure_modules_only() -> None:
    assert offences({module: impure_imports(module) for module in pure_modules()}) == {}


def is_ours(name: str) -> bool:
    return name.startswith("howdah.")


# -- 2. circles ----------------------------------------------------------------------


@cache
def room(module: str, house: str) -> str:
    """The room of a package in which a module lies; "" for a module that lies in none."""
    if not module.startswith(f"{house}."):
        return ""
    name = module.removeprefix(f"{house}.").partition(".")[0]
    return name if ROOT.parent.joinpath(*house.split("."), name, "__init__.py").exists() else ""


def arrows(house: str) -> dict[str, set[str]]:
    """The rooms of a package, each with those that it imports."""
    found: dict[str, set[str]] = {}
    for module in modules():
        if mine := room(module, house):
            theirs = {room(name, house) for name in source(module).imports}
            found.setdefault(mine, set()).update(theirs - {"", mine})
    return found


def houses() -> list[str]:
    """The packages that have rooms."""
    inits = sorted(path.parent.parent for path in ROOT.rglob("*/__init__.py"))
    return sorted({".".join(path.relative_to(ROOT.parent).parts) for path in inits})


@pytest.mark.parametrize("house", houses())
def test_rooms_do_not_import_each_other_in_a_circle(house: str) -> None:
    assert circles(arrows(house)) == []


def is_lazy_face(module: str) -> bool:
    """A package that shows names of its modules, and imports them when they are asked for."""
    return module.endswith("__init__") and "__getattr__" in source(module).functions


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of nodes that reach each other (Tarjan's strongly connected components)."""
    found: list[set[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            start = path.index(node)
            if len(path) - start > 1 or node in graph[node]:
                found.append(set(path[start:]))
            del path[start:]

    for node in graph:
        if node not in number:
            visit(node)
    return found


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"d"}, "e": {"a"}}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["d"]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    nodes = {m.removesuffix(".__init__"): m for m in modules() if not is_lazy_face(m)}
    graph = {
        name: set(source(module).imports_at_any_time & nodes.keys())
        for name, module in nodes.items()
    }
    assert circles(graph) == []


# -- 3. arrows -----------------------------------------------------------------------


def test_servers_know_neither_the_client_nor_each_other() -> None:
    known = arrows("howdah")
    found = {name: known[name] & ((SERVERS | CLIENTS) - {name}) for name in SERVERS}
    assert offences(found) == {}


def test_clients_know_no_server() -> None:
    known = arrows("howdah")
    assert offences({name: known[name] & SERVERS for name in CLIENTS}) == {}


def test_production_imports_neither_testing_nor_tests() -> None:
    found = {
        module: {
            name
            for name in source(module).imports
            if f"{name}.".startswith(("howdah.testing.", "tests."))
        }
        for module in modules()
        if package(module) != "testing"
    }
    assert offences(found) == {}
    assert [
        m for m in modules() for name in source(m).imports if f"{name}.".startswith("tests.")
    ] == []


@pytest.mark.parametrize("house", APART)
def test_rooms_that_are_apart_do_not_know_each_other(house: str) -> None:
    known = arrows(house)
    assert offences({name: known[name] & APART[house] for name in APART[house]}) == {}
