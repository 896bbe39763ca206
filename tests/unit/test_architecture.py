"""The shape of the house, kept by a test.

Rules, from the design:
1. Pure modules (codecs, state machines, the namespace) know no socket, file,
   thread, clock or random source, and import only modules that don't either.
2. Imports point downward: `cli, web, spark, fsspec -> fs -> client -> rpc, transfer
   -> proto, errors` and `namenode, datanode, journalnode -> storage, rpc, transfer`.
3. Servers import neither the client nor each other.
4. Within a package rooms import downward.
5. No module imports, by way of others, itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import howdah
from tests.support.requirements.sources import tree_of

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

# In these packages a module, or all of a room, is pure unless it is named here as a shell.
SHELLS = {
    "doctor": {"build", "certificates", "clock", "disks", "collect", "ports"},
    "failover": {
        "process_watch",
        "graceful",
        "lease",
        "manual_failover",
        "fencing_methods",
        "monitoring.pages",
        "namenodes",
        "controller_loop",
        "server",
        "service_calls",
        "settings",
        "zookeeper",
    },
    "config_generator": {"writing"},
    "journalnode": {
        "election_service",
        "journal",
        "journal_storage",
        "loading",
        "node",
        "pages",
        "protocol",
        "server",
        "settings",
        "sync",
        "upgrading",
    },
    "diskbalancer": set[str](),
    "router": {
        "admin",
        "administration",
        "calls",
        "namenodes.connections",
        "namenodes.locality",
        "namenodes.nameservices",
        "pages",
        "server",
        "settings",
        "store.worker",
        "store.factory",
        "store.files",
        "store.state_store",
        "store.zookeeper",
    },
    "model": set[str](),
    "namenode": {
        "audit.factory",
        "audit.files",
        "audit.log",
        "checkpoints",
        "ha.active",
        "ha.log_writer",
        "ha.edit_log_tailer",
        "ha.transitions",
        "journal.native_writer",
        "journal.directories",
        "journal.directory_journal",
        "journal.edit_log",
        "journal.stray_segments",
        "journal.manifest",
        "journal.log_reader",
        "journal.recovery",
        "journal.directory_restore",
        "journal.segment_files",
        "journal.shared_directory",
        "journal.edit_events",
        "lifeline.server",
        "monitoring.startup_http",
        "monitoring.metrics_service",
        "nameservice",
        "quorum.channel",
        "quorum.loggers",
        "quorum.quorum_journal",
        "quorum.quorum_log",
        "quorum.settings",
        "process.admin_tasks",
        "process.bootstrap",
        "process.clock",
        "process.format",
        "process.fsck_pages",
        "process.checkpoint_import",
        "process.loading",
        "process.name_directories",
        "process.pages",
        "process.impersonation",
        "process.racks",
        "process.resources",
        "process.rolling_back",
        "process.secondary",
        "process.server",
        "process.settings",
        "process.shared_edits",
        "process.upgrading",
        "web_ui",
        "webhdfs.calls",
        "webhdfs.pages",
        "webhdfs.relay",
        "webhdfs.impersonation",
    },
    "rpc": {
        "client",
        "connection",
        "call_pair",
        "http_detection",
        "identity",
        "wait_notices",
        "response_writer",
        "round_trip",
        "server",
        "threaded_server",
        "tracing",
    },
    "storage": {
        "edits.segments",
        "image.files",
        "image.parent_index",
        "layout",
        "retention",
        "transitions",
        "dir_walk",
    },
    "native": {"compiled", "loader", "socket_io", "zip_loader"},
    "protocol": set[str](),
    "transfer": {"checksum", "short_read", "sockets"},
}
# These packages are shells, but for what is named here.
PURE = {
    "config": {"journal_uri", "keys", "settings", "value_types"},
    "runtime": {
        "byte_rate",
        "log_throttle",
        "metrics",
        "state_table",
        "tls.expiry",
        "tls.jks",
        "tracing.context",
        "tracing.span",
        "unexpected_errors",
        "units",
        "users.access_list",
        "users.names",
        "users.proxy_users",
    },
    "balancer": {
        "iteration",
        "nodes",
        "matching",
        "termination",
        "satisfier.work_queue",
        "utilization",
        "violations",
    },
    "client": {
        "blocks",
        "create_flags",
        "reading.attempts",
        "reading.block_map",
        "reading.ranges",
        "settings.pipeline_rules",
        "writing.actions",
        "writing.packetizer",
        "writing.phases",
        "writing.pipeline",
        "writing.queues",
        "writing.recovery",
        "writing.restart_wait",
        "writing.statistics",
    },
    "datanode": {
        "channel.commands",
        "channel.fault_points",
        "channel.messages",
        "disk_balancer.checks",
        "disk_balancer.work",
        "control.actor_status",
        "control.report_schedule",
        "latency.outliers",
        "latency.window",
        "latency.volume_metrics",
        "memory.metrics",
        "memory.tracker",
        "recovery.block_recovery",
        "replicas.page_cache",
        "replicas.reconciliation",
        "replicas.replicas",
        "replicas.states",
        "replicas.write_plan",
        "scanners.comparison",
        "scanners.cursor",
        "scanners.volume_schedule",
        "volumes.block_files",
        "volumes.choosing",
        "volumes.reserve",
    },
    "fs": {
        "capabilities",
        "typed_data.codec",
        "glob",
        "objects.amazon.field_codec",
        "objects.amazon.listing",
        "objects.amazon.signing",
        "objects.azure.documents",
        "objects.azure.names",
        "objects.azure.signing",
        "objects.batches",
        "objects.google.resumable",
        "objects.names",
        "objects.parts",
        "objects.read_plan",
        "objects.store",
        "path_handle",
        "status",
        "viewfs.links",
        "viewfs.mount_table",
        "viewfs.patterns",
        "viewfs.rename_rules",
    },
    "copy": {
        "arguments",
        "common.arrow_rows",
        "compare",
        "counters",
        "layout",
        "listing.entries",
        "options",
    },
    "spark": {
        "compaction.outcome",
        "compaction.plan",
        "locality.nodes",
        "usage_report.page",
        "usage_report.treemap",
        "snapshots.changes",
        "verification.verdict",
    },
    "sync": {"options", "outcome"},
    "web": {
        "acl_text",
        "admission.cost_limiter",
        "admission.head_limits",
        "admission.cpu_budget",
        "configuration",
        "encoding",
        "http",
        "image_transfer",
        "jmx",
        "json_slices",
        "process_bridge",
        "monitoring.families",
        "monitoring.health",
        "monitoring.namenode_beans",
        "monitoring.rpc_beans",
        "pages.cluster",
        "pages.datanode",
        "pages.explorer",
        "pages.html",
        "pages.journalnode",
        "pages.layout",
        "pages.namenode",
        "pages.nodes",
        "pages.progress",
        "pages.racks",
        "pages.settings",
        "pages.snapshots",
        "pages.health",
        "pages.units",
        "segment_transfer",
        "status",
        "webhdfs",
    },
}
# And of what lies at the bottom of the house:
PURE_BELOW = {"errors", "options", "trash_names"}
# Reading one environment variable at import and the CPU's CRC instruction are all
# the world that checksums know; paths know the type that Python's own paths have.
PURE_ENOUGH = {"howdah.fs.paths", "howdah.native.loader", "howdah.transfer.checksum"}

# -- 2. and 3. arrows ----------------------------------------------------------------

BOTTOM = {
    "config",
    "diskbalancer",
    "errors",
    "native",
    "options",
    "proto",
    "protocol",
    "runtime",
    "trash_names",
}
SERVER_MAY = BOTTOM | {"storage", "rpc", "transfer", "web"}
MAY_IMPORT: dict[str, set[str]] = {
    "config": {"errors"},
    "diskbalancer": {"errors"},
    "errors": set(),
    "options": {"errors"},
    "protocol": {"errors"},
    "runtime": {"config", "errors"},
    "trash_names": set(),
    "model": set(),
    "native": set(),
    "proto": set(),
    "rpc": BOTTOM,
    "transfer": BOTTOM,
    "storage": BOTTOM | {"transfer"},
    "namenode": SERVER_MAY,
    "datanode": SERVER_MAY,
    "journalnode": SERVER_MAY,
    "router": SERVER_MAY,
    "failover": BOTTOM | {"rpc", "storage", "web"},
    # The pages that servers show: they are given what they say.
    "web": BOTTOM,
    # Clients that speak HTTP to others.
    "gateway": BOTTOM | {"client", "fs", "storage", "web"},
    "client": BOTTOM | {"rpc", "transfer"},
    # Of `web` the tables of WebHDFS, which are pure.
    "fs": BOTTOM | {"client", "rpc", "transfer", "web"},
    "balancer": BOTTOM | {"fs", "rpc", "transfer"},
    "doctor": BOTTOM | {"datanode", "fs", "rpc"},
    "config_generator": BOTTOM | {"storage"},
    "fsspec": BOTTOM | {"fs"},
    "java": {"errors", "runtime"},
    # What a copy does, whoever has it done: Spark's executors, or threads of this process.
    "copy": BOTTOM | {"fs", "storage", "transfer"},
    "spark": BOTTOM | {"copy", "fs", "storage", "transfer"},
    # A mirror is distcp without Spark.
    "sync": BOTTOM | {"copy", "fs"},
    # A cluster on this machine: servers are programs to it, which it formats and asks.
    "local": BOTTOM | {"failover", "java", "namenode", "rpc", "storage"},
    "testing": BOTTOM
    | {
        "cli",
        "client",
        "datanode",
        "fs",
        "java",
        "journalnode",
        "local",
        "model",
        "namenode",
        "router",
        "rpc",
        "storage",
        "transfer",
    },
    "cli": BOTTOM
    | {
        "balancer",
        "copy",
        "datanode",
        "doctor",
        "failover",
        "fs",
        "gateway",
        "config_generator",
        "java",
        "journalnode",
        "local",
        "namenode",
        "router",
        "spark",
        "storage",
        "sync",
        "transfer",
        "web",
    },
}


# -- 4. rooms ------------------------------------------------------------------------

# The rooms of each package, from the bottom to the top: a room imports only rooms that
# stand before it. A module that lies in no room stands where its imports let it.
ROOMS = {
    "balancer": ("satisfier",),
    "cli": (
        "arguments",
        "dfs",
        "dfsadmin",
        "fsck",
        "balancer",
        "diskbalancer",
        "cacheadmin",
        "router",
        "info",
        "setup",
        "completion",
    ),
    "cli.dfs": ("shell", "copying", "decoding", "commands"),
    "client": ("settings", "namenodes", "reading", "shortcircuit", "writing"),
    "datanode": (
        "channel",
        "latency",
        "volumes",
        "memory",
        "replicas",
        "transfer",
        "recovery",
        "lazy_persist",
        "caching",
        "disk_balancer",
        "process",
        "scanners",
        "control",
    ),
    "failover": ("monitoring",),
    "fs": ("typed_data", "hdfs", "local", "memory", "objects", "viewfs", "webhdfs"),
    "namenode": (
        "inodes",
        "snapshots",
        "caching",
        "tree",
        "images",
        "blocks",
        "lifeline",
        "calls",
        "attributes",
        "writing",
        "fsck",
        "protocols",
        "webhdfs",
        "web_ui",
        "audit",
        "journal",
        "quorum",
        "checkpoints",
        "ha",
        "nameservice",
        "monitoring",
        "process",
    ),
    "router": ("table", "store", "namenodes", "calls"),
    "copy": ("common", "locks", "listing"),
    "spark": (
        "listing",
        "locality",
        "snapshots",
        "copy_job",
        "compaction",
        "verification",
        "usage_report",
    ),
    "storage": ("edits", "image", "viewers"),
    "web": ("admission", "webhdfs", "monitoring", "pages"),
    "testing": ("contract", "simulator"),
}
# Rooms that know none of the others, though they stand above some.
BY_THEMSELVES = {
    ("cli", "arguments"),
    ("fs", "local"),
    ("fs", "memory"),
    ("fs", "objects"),
    ("fs", "typed_data"),
    ("namenode", "journal"),
    ("copy", "common"),
    ("copy", "locks"),
    ("testing", "contract"),
    ("testing", "simulator"),
}
# Groups of rooms of which none knows another: each is a job of its own.
APART = {
    "spark": (
        {"snapshots", "copy_job"},
        {"compaction"},
        {"verification"},
        {"usage_report"},
    ),
}

# -- 5. circles ----------------------------------------------------------------------

# Modules that import each other, each circle whole, until somebody cuts it.
CIRCLES: list[set[str]] = []


def modules() -> Iterator[str]:
    for path in sorted(ROOT.rglob("*.py")):
        if not path.name.endswith("_pb2.py"):
            yield ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)


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
    return tree_of(path.read_text())


@pytest.fixture(scope="module", autouse=True)
def _trees_go_with_their_tests() -> Iterator[None]:
    """They are a million objects, which any later collection of garbage would go through."""
    yield
    parsed.cache_clear()


@cache
def imports(module: str) -> frozenset[str]:
    visitor = Imports()
    visitor.visit(parsed(module))
    return frozenset(visitor.names)


def package(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def is_named(names: set[str], own: list[str]) -> bool:
    """True if the module is one of the names, or lies in a room that is."""
    return any(".".join(own[:depth]) in names for depth in range(1, len(own) + 1))


def is_pure(module: str) -> bool:
    own = module.split(".")[2:]
    if package(module) in SHELLS:
        return not is_named(SHELLS[package(module)], own)
    if package(module) in PURE:
        return is_named(PURE[package(module)], own)
    return package(module) in PURE_BELOW


def by_package(found: Iterator[str]) -> dict[str, list[str]]:
    """Modules with the package in which they lie. A test takes a package: one a module and rule
    would cost more than what it asks."""
    packages: dict[str, list[str]] = {}
    for module in found:
        packages.setdefault(package(module), []).append(module)
    return packages


PURE_MODULES = by_package(module for module in modules() if is_pure(module))


def offences(found: dict[str, set[str]]) -> dict[str, list[str]]:
    """What a message shows: the modules that break a rule, each with what breaks it."""
    return {module: sorted(names) for module, names in found.items() if names}


@pytest.mark.parametrize("name", PURE_MODULES)
def test_pure_modules_do_not_import_the_world(name: str) -> None:
    found = {m: {each.partition(".")[0] for each in imports(m)} & WORLD for m in PURE_MODULES[name]}
    assert offences(found) == {}


def file_calls(module: str) -> set[str]:
    calls = [node.func for node in ast.walk(parsed(module)) if isinstance(node, ast.Call)]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    methods = {func.attr for func in calls if isinstance(func, ast.Attribute)}
    return (names & {"open", "input", "print"}) | (
        methods & {"read_text", "read_bytes", "write_text", "write_bytes"}
    )


@pytest.mark.parametrize("name", PURE_MODULES)
def test_pure_modules_open_no_file(name: str) -> None:
    assert offences({module: file_calls(module) for module in PURE_MODULES[name]}) == {}


def impure_imports(module: str) -> set[str]:
    ours = {name for name in imports(module) if name.startswith("howdah.") and path_of(name)}
    return {
        name
        for name in ours
        if not is_pure(name) and name not in PURE_ENOUGH and package(name) != "proto"
    }


@pytest.mark.parametrize("name", PURE_MODULES)
def test_pure_modules_import_pure_modules_only(name: str) -> None:
    assert offences({module: impure_imports(module) for module in PURE_MODULES[name]}) == {}


# The public face imports what it shows.
BEHIND_THE_FACE = by_package(m for m in modules() if package(m) not in ("__init__", "__main__"))


@pytest.mark.parametrize("name", BEHIND_THE_FACE)
def test_imports_point_downward(name: str) -> None:
    allowed = MAY_IMPORT[name] | {name}
    found = {
        module: {each for each in imports(module) if is_ours(each) and package(each) not in allowed}
        for module in BEHIND_THE_FACE[name]
    }
    assert offences(found) == {}


def is_ours(name: str) -> bool:
    return name.startswith("howdah.")


def test_production_does_not_import_testing() -> None:
    assert {name for name, targets in MAY_IMPORT.items() if "testing" in targets} == set()


def test_the_package_does_not_import_tests() -> None:
    assert [m for m in modules() for name in imports(m) if name.startswith("tests")] == []


@pytest.mark.parametrize("server", ["namenode", "datanode", "journalnode", "router"])
def test_servers_know_neither_the_client_nor_each_other(server: str) -> None:
    others = {"client", "fs", "cli", "namenode", "datanode", "journalnode", "router"} - {server}
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


def rooms(module: str) -> dict[str, str]:
    """The packages with rooms in which a module lies, and its room in each; `""` for none."""
    parts = [part for part in module.split(".")[1:] if part != "__init__"]
    found = {}
    for depth in range(1, len(parts) + 1):
        here = ".".join(parts[:depth])
        if here in ROOMS:
            found[here] = next((p for p in parts[depth : depth + 1] if p in ROOMS[here]), "")
    return found


IN_ROOMS = by_package(module for module in modules() if any(rooms(module).values()))


def upward_imports(module: str) -> set[str]:
    """What a module imports from rooms that its own one does not know."""
    found = set()
    for here, mine in rooms(module).items():
        for name in imports(module):
            theirs = rooms(name).get(here) if is_ours(name) else None
            if mine and theirs and theirs != mine:
                if (here, mine) in BY_THEMSELVES:
                    found.add(f"{name}: {mine} knows no other room")
                elif ROOMS[here].index(theirs) >= ROOMS[here].index(mine):
                    found.add(name)
    return found


@pytest.mark.parametrize("name", IN_ROOMS)
def test_rooms_import_downward(name: str) -> None:
    assert offences({module: upward_imports(module) for module in IN_ROOMS[name]}) == {}


@pytest.mark.parametrize("package_name", APART)
def test_groups_of_rooms_do_not_know_each_other(package_name: str) -> None:
    group_of = {room: number for number, rooms in enumerate(APART[package_name]) for room in rooms}
    for module in modules():
        mine = group_of.get(rooms(module).get(package_name, ""))
        for name in imports(module) if mine is not None else ():
            theirs = group_of.get(rooms(name).get(package_name, ""))
            assert theirs in (mine, None), f"{module} imports {name}"


def test_every_package_below_a_package_is_a_room() -> None:
    for package_name, names in ROOMS.items():
        directory = ROOT.joinpath(*package_name.split("."))
        below = {path.parent.name for path in directory.glob("*/__init__.py")}
        assert below == set(names)


def statements(body: list[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those in functions and branches included."""
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                yield from statements(inner)


def everything_imported(module: str) -> frozenset[str]:
    """What a module imports at any time: in functions and for the type checker as well."""
    visitor = Imports()
    for node in statements([parsed(module)]):
        if isinstance(node, ast.Import | ast.ImportFrom):
            visitor.visit(node)
    return frozenset(visitor.names)


def is_lazy_face(module: str) -> bool:
    """A package that shows names of its modules, and imports them when they are asked for."""
    own = [node.name for node in parsed(module).body if isinstance(node, ast.FunctionDef)]
    return module.endswith("__init__") and "__getattr__" in own


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
    """A circle that is listed and cut, wholly or in part, has to be taken off the list."""
    nodes = {m.removesuffix(".__init__"): m for m in modules() if not is_lazy_face(m)}
    graph = {
        name: set(everything_imported(module) & nodes.keys()) for name, module in nodes.items()
    }
    found = [{name.removeprefix("howdah.") for name in circle} for circle in circles(graph)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, CIRCLES))
