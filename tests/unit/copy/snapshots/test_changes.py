"""What reports on snapshots ask for, held against a model of a tree with inodes."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.copy.layout import InvalidInput
from howdah.copy.snapshots.changes import Change, Changes, Filters, Move, in_order
from howdah.copy.snapshots.resuming import (
    differences,
    explained_by,
    is_in_a_job,
    remaining,
    unmoved,
)

STAGING = ".distcp.tmp.0123456789abcdef"
_ids = itertools.count(1)


@dataclass
class Node:
    """An inode: a directory has `entries`, a file has `content`."""

    content: int | None = None
    entries: dict[str, Node] = field(default_factory=dict)
    number: int = field(default_factory=lambda: next(_ids))

    @property
    def is_directory(self) -> bool:
        return self.content is None

    def at(self, path: str) -> Node:
        node = self
        for name in filter(None, path.split("/")):
            node = node.entries[name]
        return node

    def has(self, path: str) -> bool:
        try:
            self.at(path)
        except KeyError:
            return False
        return True

    def paths(self, above: str = "") -> Iterator[tuple[str, Node]]:
        for name, node in sorted(self.entries.items()):
            yield above + name, node
            yield from node.paths(f"{above}{name}/")

    def put(self, path: str, node: Node) -> None:
        above, _, name = path.rpartition("/")
        parent = self.at(above)
        assert parent.is_directory
        assert name not in parent.entries
        parent.entries[name] = node

    def take(self, path: str) -> Node:
        above, _, name = path.rpartition("/")
        return self.at(above).entries.pop(name)

    def mkdirs(self, path: str) -> None:
        node = self
        for name in filter(None, path.split("/")):
            node = node.entries.setdefault(name, Node())
            assert node.is_directory

    def tree(self) -> Any:
        """What is there, whichever the inodes."""
        if not self.is_directory:
            return self.content
        return {name: node.tree() for name, node in self.entries.items()}


def report(old: Node, new: Node, forward: bool = True) -> list[Change]:
    """As namenodes make it: a walk of the earlier state `old`, read back if not `forward`."""
    later = {node.number: path for path, node in new.paths()} | {new.number: ""}
    at = {node.number: node for _, node in new.paths()} | {new.number: new}
    lines: list[Change] = []
    moved: set[int] = set()
    made: list[tuple[str, int]] = []

    def visit(path: str, node: Node) -> None:
        now = at[node.number]
        if not node.is_directory:
            if node.content != now.content:
                lines.append(Change("M", path))
            return
        below = f"{path}/" if path else ""
        ids = {name: entry.number for name, entry in now.entries.items()}
        gone = {n: e for n, e in node.entries.items() if ids.get(n) != e.number}
        added = {
            n: e
            for n, e in now.entries.items()
            if n not in node.entries or node.entries[n].number != e.number
        }
        if gone or added:
            lines.append(Change("M", path))
        made.extend((below + name, entry.number) for name, entry in added.items())
        for name, entry in node.entries.items():
            if name not in gone:
                visit(below + name, entry)
            elif entry.number in later:
                moved.add(entry.number)
                ends = below + name, later[entry.number]
                lines.append(Change("R", *(ends if forward else reversed(ends))))
                visit(below + name, entry)
            else:
                lines.append(Change("-" if forward else "+", below + name))

    visit("", old)
    lines += [Change("+" if forward else "-", path) for path, number in made if number not in moved]
    return lines


# -- trees and what is done to them ----------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.integers(0, 3).map(Node),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3).map(lambda e: Node(None, e)),
    max_leaves=8,
).map(lambda node: node if node.is_directory else Node(None, {"a": node}))
STEPS = st.lists(
    st.tuples(st.sampled_from("mrrrdw"), st.integers(0, 99), st.integers(0, 99), NAMES),
    max_size=12,
)


def renumbered(node: Node) -> Node:
    """The same with inodes of its own: Hypothesis may give one object twice."""
    return Node(node.content, {name: renumbered(each) for name, each in node.entries.items()})


def do(root: Node, steps: list[tuple[str, int, int, str]]) -> None:
    """Make, rename, delete and write; what isn't possible is left out."""
    for kind, first, second, name in steps:
        there = [path for path, _ in root.paths()]
        directories = ["", *(path for path, node in root.paths() if node.is_directory)]
        above = directories[second % len(directories)]
        free = f"{above}/{name}".lstrip("/")
        if kind == "m" and not root.has(free):
            root.put(free, Node(None if first % 2 else 9))
        if not there:
            continue
        path = there[first % len(there)]
        if kind == "d":
            root.take(path)
        elif kind == "w" and not root.at(path).is_directory:
            root.at(path).content = second
        elif kind == "r" and not root.has(free) and not f"{free}/".startswith(f"{path}/"):
            root.put(free, root.take(path))


# -- a run ------------------------------------------------------------------------------


class Stopped(Exception):
    pass


class Run:
    """What `-diff` does, on the model; it stops after so many steps."""

    def __init__(self, target: Node, most: int = 10**6) -> None:
        self.target = target
        self.left = most

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stopped

    def move(self, moves: list[Move], begun: list[Move], run: str) -> None:
        self._step()
        self.target.mkdirs(f"{STAGING}/{run}")
        waiting = list(begun)
        for number, move in enumerate(in_order(moves)[0]):
            self._step()
            place = f"{STAGING}/{run}/{number}"
            self.target.put(place, self.target.take(move.source))
            waiting.append(Move(place, move.target))
        for move in in_order(waiting)[1]:
            assert move.target is not None
            self.target.mkdirs(move.target.rpartition("/")[0])
            self._step()
            self.target.put(move.target, self.target.take(move.source))

    def copy(self, changes: Changes, lines: list[Change], source: Node) -> None:
        over = {change.target for change in changes.renames}
        for line in lines:
            path = changes.copied(line)
            if path:
                self._copy(path, source.at(path), over, whole=line.label != "M")

    def _copy(self, path: str, node: Node, over: set[str], whole: bool) -> None:
        self._step()
        if node.is_directory:
            self.target.mkdirs(path)
        elif not self.target.has(path) or self.target.at(path).content != node.content:
            self.target.mkdirs(path.rpartition("/")[0])
            if self.target.has(path):
                self.target.take(path)
            self.target.put(path, Node(node.content))
        for name, inner in node.entries.items() if whole else ():
            if f"{path}/{name}" not in over:
                self._copy(f"{path}/{name}", inner, over, whole)

    def end(self) -> None:
        self._step()
        self.target.take(STAGING)


def unexplained(
    asked: list[Change], changes: Changes, found: list[Change], staging: str
) -> list[Change]:
    """The changes that nothing explains; Spark joins the same keys."""
    known = set(explained_by(asked, changes))
    return [change for change, key in unmoved(changes, found, staging) if key not in known]


@settings(max_examples=400)
@given(TREES, STEPS)
def test_target_becomes_the_second_state(first: Node, steps: Any) -> None:
    source = renumbered(first)
    target = renumbered(first)
    old = copy.deepcopy(source)
    do(source, steps)
    lines = report(old, source)
    changes = Changes.of(lines, True, Filters())
    run = Run(target)
    run.move(changes.moves(), [], "r")
    run.copy(changes, lines, source)
    run.end()
    assert target.tree() == source.tree()


@settings(max_examples=400)
@given(TREES, STEPS)
def test_target_becomes_the_first_state_again(first: Node, steps: Any) -> None:
    source = renumbered(first)
    target = renumbered(first)
    old = copy.deepcopy(target)
    do(target, steps)
    lines = report(old, target, forward=False)
    changes = Changes.of(lines, False, Filters())
    run = Run(target)
    run.move(changes.moves(), [], "r")
    run.copy(changes, lines, source)
    run.end()
    assert target.tree() == source.tree()


@settings(max_examples=400)
@given(TREES, STEPS, st.lists(st.integers(0, 20), max_size=3), st.booleans())
def test_run_that_is_stopped_anywhere_is_gone_on_with(
    first: Node, steps: Any, stops: list[int], forward: bool
) -> None:
    source, target = renumbered(first), renumbered(first)
    changed = source if forward else target
    old = copy.deepcopy(changed)
    do(changed, steps)
    lines = report(old, changed, forward)
    changes = Changes.of(lines, forward, Filters())
    base = copy.deepcopy(target)
    for number, most in enumerate([*stops, 10**6]):
        run = Run(target, most)
        found = differences(report(base, target))
        assert unexplained(lines, changes, found, STAGING) == []
        left = remaining(changes.moves(), found, STAGING)
        try:
            run.move(list(left.moves), list(left.begun), f"r{number}")
            run.copy(changes, lines, source)
            run.end()
        except Stopped:
            continue
        break
    assert target.tree() == source.tree()


# -- filters ----------------------------------------------------------------------------

OUTSIDE = Filters((r"/x(/.*)?",))


@pytest.mark.parametrize(
    ("line", "moves", "copied"),
    [
        (Change("R", "a", "b"), [Move("a", "b")], None),
        (Change("R", "a", "x/a"), [Move("a", None)], "x/a"),  # the listing leaves it out
        (Change("R", "x/a", "a"), [], "a"),
        (Change("-", "a"), [Move("a", None)], None),
        (Change("-", "x/a"), [], None),
        (Change("M", "a/b"), [], "a/b"),
    ],
)
def test_filter_makes_of_a_rename_what_is_left_of_it(
    line: Change, moves: list[Move], copied: str | None
) -> None:
    changes = Changes.of([line], True, OUTSIDE)
    assert changes.moves() == moves
    assert changes.copied(line) == copied


@pytest.mark.parametrize(
    ("line", "moves", "copied"),
    [
        (Change("R", "d/.distcp.tmp.0123456789abcdef/run/0", "d/f"), [], "d/f"),
        (Change("R", "d", ".distcp.tmp.0123456789abcdef/moved/0"), [Move("d", None)], None),
        (Change("R", ".howdah.mirror.a.x", ".howdah.mirror.a"), [], None),
        (Change("-", "d/.howdah.lock.e"), [], None),
        (Change("-", "d/.distcp.tmp.0123456789abcdef"), [], None),
        (Change("+", "d/.distcp.tmp.0123456789abcdef"), [], None),
        (Change("M", ".howdah.mirror.a"), [], None),
        (Change("R", "d/.distcp.tmp.0123", "d/f"), [Move("d/.distcp.tmp.0123", "d/f")], None),
    ],
)
def test_entries_of_jobs_are_at_the_source_only(
    line: Change, moves: list[Move], copied: str | None
) -> None:
    changes = Changes.of([line], True, Filters(is_of_a_job=is_in_a_job))
    assert changes.moves() == moves
    assert changes.copied(line) == copied


def test_what_a_filter_keeps_is_not_run_over() -> None:
    changes = Changes.of([Change("-", "x"), Change("R", "a", "x")], True, Filters((r"/x",)))
    assert changes.moves() == [Move("a", None)]
    changes = Changes.of(
        [Change("-", "d/x"), Change("R", "d", "e"), Change("R", "a", "e/x")],
        True,
        Filters((r"/d/x",)),
    )
    with pytest.raises(InvalidInput, match="left out by a filter"):
        changes.moves()


# -- somebody else ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        Change("+", "mine"),
        Change("-", "kept"),
        Change("-", "moved"),
        Change("M", "kept"),
        Change("R", "kept", "elsewhere"),
        Change("R", "moved", "elsewhere"),
    ],
)
def test_what_somebody_else_has_done_is_found(line: Change) -> None:
    lines = [Change("R", "moved", "there"), Change("-", "old"), Change("+", "new")]
    changes = Changes.of(lines, True, Filters())
    done = [Change("R", "moved", f"{STAGING}/r/0"), Change("-", "old"), Change("+", "new")]
    assert unexplained(lines, changes, done, STAGING) == []
    assert unexplained(lines, changes, [*done[1:], line], STAGING) == [line]


def test_staging_directory_and_what_came_back_are_no_difference() -> None:
    assert differences([Change("M", ""), Change("+", STAGING)]) == []
    assert differences([Change("M", "d"), Change("R", "d/x", "d/x")]) == []
    for line in (Change("M", ""), Change("M", "d/x"), Change("R", "x", "d/x")):
        assert differences([line]) == [line]
