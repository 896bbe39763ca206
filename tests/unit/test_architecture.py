"""The shape of the house, kept by a test.

Rules, from the design:
1. Pure modules (codecs, state machines, the namespace) know no socket, file,
   thread, clock or random source, and import only modules that don't either.
2. Imports point downward: `cli, web, spark, fsspec -> fs -> client -> rpc, transfer
   -> proto, errors` and `namenode, datanode, journalnode -> storage, rpc, transfer`.
3. Servers import neither the client nor each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import howdah

ROOT = Path(howdah.__file__).parent

# -- 1. purity ---------------------------------------------------------------------

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

# In these packages a module is pure unless it is named here as a shell.
SHELLS = {
    "model": set[str](),
    "namenode": {
        "aside",
        "checkpoint",
        "checkpoint_directories",
        "edit_log",
        "edit_segments",
        "format",
        "groups",
        "image_senders",
        "image_server",
        "importing",
        "journal",
        "listening",
        "loading",
        "lookups",
        "primary",
        "racks",
        "restoring",
        "secondary",
        "server",
        "settings",
        "upgrading",
        "watching",
    },
    "rpc": {"client", "notices", "server", "threaded", "wrong_port"},
    "storage": {
        "atomic",
        "files",
        "image_files",
        "image_places",
        "layout",
        "retention",
        "segments",
        "transitions",
    },
    "transfer": {"checksum", "packed_kernel", "sockets"},
}
# These packages are shells, but for what is named here.
PURE = {
    "client": {
        "actions",
        "attempts",
        "block_map",
        "blocks",
        "create_flags",
        "excluded",
        "naming",
        "output_statistics",
        "packetizer",
        "pipeline",
        "pipeline_rules",
        "queues",
        "ranges",
        "recovery",
        "replacement",
        "restart",
        "slow_nodes",
        "unsynced",
    },
    "datanode": {
        "block_files",
        "block_recovery",
        "commands",
        "fault_points",
        "messages",
        "page_cache",
        "replicas",
        "report_schedule",
        "write_plan",
    },
    "fs": {"capabilities", "data_codec", "glob", "path_handle", "status"},
    "spark": {
        "arguments",
        "compaction_plan",
        "compare",
        "counters",
        "judging",
        "layout",
        "locality",
        "namespace_page",
        "options",
        "treemap",
    },
    "web": {"configuration", "http", "image_transfer", "jmx", "status"},
}
# Reading one environment variable at import and the CPU's CRC instruction are all
# the world that checksums know.
PURE_ENOUGH = {"howdah.transfer.checksum"}

# -- 2. and 3. arrows ----------------------------------------------------------------

BOTTOM = {
    "errors",
    "exposure",
    "forks",
    "kinds",
    "keys",
    "config",
    "options",
    "proto",
    "trash_names",
    "wording",
}
SERVER_MAY = BOTTOM | {"storage", "rpc", "transfer", "web"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "exposure": set(),
    "forks": set(),
    "kinds": {"errors"},
    "options": {"errors"},
    "trash_names": set(),
    "wording": set(),
    "keys": {"kinds"},
    "config": {"errors", "keys", "kinds"},
    "model": set(),
    "proto": set(),
    "rpc": BOTTOM,
    "transfer": BOTTOM,
    "storage": BOTTOM | {"transfer"},
    "namenode": SERVER_MAY,
    "datanode": SERVER_MAY,
    "journalnode": SERVER_MAY,
    "failover": BOTTOM | {"rpc"},
    # The pages that servers show: they are given what they say.
    "web": BOTTOM,
    "client": BOTTOM | {"rpc", "transfer"},
    "fs": BOTTOM | {"client", "rpc", "transfer"},
    "fsspec": BOTTOM | {"fs"},
    "spark": BOTTOM | {"fs", "storage", "transfer"},
    # What runs on this machine, for those who start it and those who look for it.
    "local": BOTTOM,
    # Starts servers, as the command line does.
    "testing": BOTTOM
    | {
        "cli",
        "client",
        "local",
        "namenode",
        "datanode",
        "model",
        "rpc",
        "fs",
        "storage",
        "transfer",
    },
    "cli": BOTTOM
    | {"fs", "local", "namenode", "datanode", "journalnode", "spark", "storage"}
    | {"testing", "transfer"},
}


def modules() -> Iterator[str]:
    for path in sorted(ROOT.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            yield ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)


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

    def visit_Import(self, node: ast.Import) -> None:
        self.names |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "imports are absolute"
        assert node.module is not None
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            self.names.add(whole if path_of(whole) else node.module)


@cache
def parsed(module: str) -> ast.Module:
    path = path_of(module)
    assert path is not None
    return ast.parse(path.read_text())


@cache
def imports(module: str) -> frozenset[str]:
    visitor = Imports()
    visitor.visit(parsed(module))
    return frozenset(visitor.names)


def package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_pure(module: str) -> bool:
    own = module.split(".")[2:]
    if package(module) in SHELLS:
        return not own or own[0] not in SHELLS[package(module)]
    if package(module) in PURE:
        return bool(own) and own[0] in PURE[package(module)]
    return package(module) in ("errors", "kinds", "keys", "options", "trash_names", "wording")


PURE_MODULES = [module for module in modules() if is_pure(module)]


@pytest.mark.parametrize("module", PURE_MODULES)
def test_pure_module_does_not_import_the_world(module: str) -> None:
    assert not {name.partition(".")[0] for name in imports(module)} & WORLD


@pytest.mark.parametrize("module", PURE_MODULES)
def test_pure_module_opens_no_file(module: str) -> None:
    calls = [node.func for node in ast.walk(parsed(module)) if isinstance(node, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    assert not (names & {"open", "input", "print"})
    assert not (methods & {"read_text", "read_bytes", "write_text", "write_bytes"})


@pytest.mark.parametrize("module", PURE_MODULES)
def test_pure_module_imports_pure_modules_only(module: str) -> None:
    ours = {name for name in imports(module) if name.startswith("howdah.") and path_of(name)}
    impure = {
        name
        for name in ours
        if not is_pure(name) and name not in PURE_ENOUGH and package(name) != "proto"
    }
    assert not impure


# The public face imports what it shows.
ROOMS = [module for module in modules() if package(module) not in ("__init__", "__main__")]


@pytest.mark.parametrize("module", ROOMS)
def test_imports_point_downward(module: str) -> None:
    here = package(module)
    targets = {package(name) for name in imports(module) if name.startswith("howdah.")}
    assert targets - {here} <= MAY_IMPORT[here]


@pytest.mark.parametrize("server", ["namenode", "datanode", "journalnode"])
def test_servers_know_neither_the_client_nor_each_other(server: str) -> None:
    others = {"client", "fs", "cli", "namenode", "datanode", "journalnode"} - {server}
    assert not MAY_IMPORT[server] & others


@pytest.mark.parametrize(
    ("packages", "name"),
    [(SHELLS, "a shell"), (PURE, "pure")],
)
def test_lists_name_modules_that_exist(packages: dict[str, set[str]], name: str) -> None:
    for package_name, members in packages.items():
        for member in members:
            module = f"howdah.{package_name}.{member}"
            assert path_of(module), f"{module} is listed as {name} and doesn't exist"
