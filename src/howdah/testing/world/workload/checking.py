"""Holds the filesystem against what clients know: all that was promised is there, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah.model.acls import Acl
from howdah.model.entries import Entry
from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.workload.clients import Expectations, Workspace
from howdah.testing.world.workload.trees import Content, Tree
from howdah.testing.world.world import Unexpected, World

_TRIES: Final = 12
_RETRY_S: Final = 5.0
_REPLICATION_S: Final = 240.0
_MOST_SHOWN: Final = 12
NOT_CLOSED: Final = "its lease is not recovered"


@dataclass(frozen=True, slots=True)
class PathState:
    """Is what a path has."""

    status: Any
    content: bytes | str
    """A text says why it cannot be read."""
    named: frozenset[tuple[str, str, int]] = frozenset()
    """The entries of its ACL that name somebody: scope, name, permission."""
    xattrs: Mapping[str, bytes] | None = None


def check_expectations(
    world: World,
    machine: Machine,
    expectations: Expectations,
    connect: Callable[[Process], Any],
) -> None:
    """Read all that clients have made. Raises Unexpected for what is lost, changed, or came
    back."""

    def look(process: Process) -> list[str]:
        observer = _Observer(connect(process), process)
        problems = list(expectations.problems)
        for workspace in expectations.workspaces:
            problems += observer.differences(workspace)
        return problems

    problems = world.call(machine, "reader", look, timeout_s=7200.0)
    if problems:
        raise Unexpected("\n".join(problems))


def check_all_replicated(
    world: World, machine: Machine, connect: Callable[[Process], Any], datanodes: int
) -> None:
    """Wait until every block of every file has all its replicas, and no more. Raises Unexpected
    if that takes too long: nothing hinders it any more. What a snapshot shows may have more: the
    file may have had another replication then."""

    def roots_with_snapshots(fs: Any) -> set[str]:
        directories = fs.list_snapshottable_directories()
        return {_root_of(each.status.path) for each in directories if each.snapshot_count}

    def lacking(fs: Any, path: str, may_have_more: set[str]) -> list[str]:
        found = []
        for status in fs.list_status(path):
            if status.is_directory:
                found += lacking(fs, status.path, may_have_more)
                continue
            if not fs.is_file_closed(status.path):
                continue
            wanted = min(status.replication, datanodes)
            counts = [len(block.hosts) for block in fs.block_locations(status.path)]
            most = datanodes if _root_of(status.path) in may_have_more else wanted
            if any(not wanted <= count <= most for count in counts):
                found.append(f"{status.path} {counts} of {wanted}")
        return found

    def look(process: Process) -> list[str]:
        fs, clock = connect(process), process.modules.load("time")
        deadline_s = clock.monotonic() + _REPLICATION_S
        errors = process.modules.load("howdah.errors")
        while True:
            try:
                found = lacking(fs, "/", roots_with_snapshots(fs))
            except errors.HowdahError as error:  # such as safe mode, behind a start
                found = [f"{type(error).__name__}: {error}"]
            if not found or clock.monotonic() > deadline_s:
                return found
            clock.sleep(_RETRY_S)

    if found := world.call(machine, "looker", look, timeout_s=3600.0):
        raise Unexpected(f"after {_REPLICATION_S:g} s of peace replicas are not right: {found}")


def _root_of(path: str) -> str:
    """Return the root of a client above a path, which has its number in its name."""
    parts = path.split("/")
    return next((part for part in parts if "-" in part), parts[-1])


class _Observer:
    """Looks at roots, with patience: what cannot be read may need a moment."""

    def __init__(self, fs: Any, process: Process) -> None:
        self._fs = fs
        self._errors = process.modules.load("howdah.errors")
        self._sleep = process.modules.load("time").sleep

    def differences(self, workspace: Workspace) -> list[str]:
        problems: list[str] = []
        for _ in range(_TRIES):
            problems = self._differences_now(workspace)
            if not problems:
                return []
            self._sleep(_RETRY_S)
        shown = problems[:_MOST_SHOWN]
        return [f"{workspace.root}: {len(problems)} differences", *shown, *workspace.steps]

    def _differences_now(self, workspace: Workspace) -> list[str]:
        try:
            there = self._everything(workspace.root)
        except (self._errors.HowdahError, OSError) as error:
            return [f"{workspace.root}: {type(error).__name__}: {error}"]
        best: list[str] | None = None
        for tree in workspace.candidates:
            problems = [*_compare(tree, there), *self._compare_snapshots(tree)]
            if best is None or len(problems) < len(best):
                best = problems
        return best or []

    # -- looking

    def _everything(self, root: str) -> dict[str, PathState]:
        try:
            status = self._fs.get_file_status(root)
        except FileNotFoundError:
            return {}
        found = {root: self._path_state(root, status)}
        for below in self._fs.list_status(root):
            if below.is_directory:
                found |= self._everything(below.path)
            else:
                found[below.path] = self._path_state(below.path, below)
        return found

    def _path_state(self, path: str, status: Any) -> PathState:
        named = frozenset(
            ("default" if entry.default else "access", entry.name, entry.permission)
            for entry in (self._fs.get_acl_status(path).entries if status.has_acl else ())
            if entry.name
        )
        xattrs = self._fs.get_xattrs(path)
        content = b"" if status.is_directory else self._content(path, is_shown=False)
        return PathState(status, content, named, xattrs)

    def _content(self, path: str, *, is_shown: bool, count: int = -1) -> bytes | str:
        try:
            if not is_shown and not self._is_closed(path):
                return NOT_CLOSED
            with self._fs.open(path) as file:
                return bytes(file.read(count))
        except (self._errors.HowdahError, OSError) as error:
            return f"{type(error).__name__}: {error}"

    def _is_closed(self, path: str) -> bool:
        return bool(self._fs.is_file_closed(path) or self._fs.recover_lease(path))

    def _compare_snapshots(self, tree: Tree) -> list[str]:
        problems = []
        for path, name in tree.snapshots():
            number = tree.entry(path).number
            top = f"{path}/.snapshot/{name}"
            for below, entry in tree.model.snapshots[number][name].items():
                try:
                    status = self._fs.get_file_status(f"{top}{below}")
                except (self._errors.HowdahError, OSError) as error:
                    problems.append(f"{top}{below}: {type(error).__name__}: {error}")
                    continue
                if status.is_directory != entry.is_directory:
                    problems.append(f"{top}{below} is of another kind")
                elif not entry.is_directory:
                    problems += self._compare_shown(
                        f"{top}{below}", tree.shown[number, name][below]
                    )
        return problems

    def _compare_shown(self, path: str, expected: Content) -> list[str]:
        found = self._content(path, is_shown=True)
        if isinstance(found, str) and expected.promised != expected.possible:
            # The file was open, and all machines may have lost their power since: the snapshot goes
            # on naming a length of which only what was synced is there.
            found = self._content(path, is_shown=True, count=len(expected.promised))
        return compare_content(path, expected, found)


# -- comparing


def _compare(tree: Tree, there: Mapping[str, PathState]) -> list[str]:
    paths = set(tree.paths)
    problems = [f"{path} is missing" for path in sorted(paths - there.keys())]
    problems += [f"{path} is there" for path in sorted(there.keys() - paths)]
    for path in sorted(paths & there.keys()):
        entry, found = tree.entry(path), there[path]
        if found.status.is_directory != entry.is_directory:
            problems.append(f"{path} is of another kind")
            continue
        problems += _compare_entry(path, entry, found)
        if not entry.is_directory:
            problems += compare_content(path, tree.content(path), found.content)
    return problems


def _compare_entry(path: str, entry: Entry, found: PathState) -> list[str]:
    status = found.status
    pairs = [
        ("owner", entry.owner, status.owner),
        ("mode", entry.mode, status.permission & 0o1777),
        ("named ACL entries", _named(entry.acl or {}), found.named),
        ("xattrs", dict(entry.xattrs), dict(found.xattrs or {})),
    ]
    if not entry.is_directory:
        pairs.append(("replication", entry.replication, status.replication))
    return [
        f"{path} has {what} {theirs!r}, not {ours!r}"
        for what, ours, theirs in pairs
        if ours != theirs
    ]


def _named(acl: Acl) -> frozenset[tuple[str, str, int]]:
    return frozenset(
        (scope, name, permission) for (scope, _, name), permission in acl.items() if name
    )


def compare_content(path: str, expected: Content, found: bytes | str) -> list[str]:
    """Return what is wrong with the bytes of a file, or why it cannot be read."""
    if found == NOT_CLOSED and expected.promised != expected.possible:
        # All machines may have lost their power, and with it what the namenode was told of: then
        # a file stays open for a datanode that may come back with more.
        return []
    if isinstance(found, str):
        return [f"{path}, {expected}: {found}"]
    if expected.allows(found):
        return []
    wanted = expected.possible
    common = next(
        (i for i, (a, b) in enumerate(zip(found, wanted, strict=False)) if a != b),
        min(len(found), len(wanted)),
    )
    return [f"{path} has {len(found)} bytes, not {expected}; they are equal up to {common}"]
