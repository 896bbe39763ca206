"""Clients that do random operations, each in a directory of its own, and keep what is certain.

A client does one thing at a time below its root, so the model says what every answer has to be.
Where an operation gets no answer, both its outcomes are possible from then on, and a request that
is still on its way may arrive at any time: so the client leaves its root for a new one, and the
old one is held against all its candidates in the end (`checking`).
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.model.entries import Refused
from howdah.testing.world.processes import Process
from howdah.testing.world.workload.operations import (
    REPLICATIONS,
    SIMPLE,
    Draw,
    Drawing,
    Step,
)
from howdah.testing.world.workload.trees import Tree, name_of
from howdah.testing.world.world import World

_WRITING: Final = {
    "create": 6.0,
    "append": 3.0,
    "write": 8.0,
    "hflush": 2.0,
    "hsync": 3.0,
    "close": 5.0,
    "take_over": 1.0,
    "read": 4.0,
    "list": 1.5,
    "read_snapshot": 1.0,
}
_SWARM: Final = (0.0, 0.3, 1.0, 1.0, 3.0)
"""What a seed multiplies each weight with: so some operations are rare or missing in a world."""
_ALWAYS: Final = ("create", "write", "close")
_MOST_OPEN: Final = 3
_WRITE_BYTES: Final = 90_000
_LARGEST_BYTES: Final = 500_000
_PACES_S: Final = (0.02, 0.1, 0.4)
_PATIENCE_S: Final = 90.0
"""How long a client waits for the end of a recovery."""
_KEPT_STEPS: Final = 60
_REFUSALS: Final = (
    "AccessDenied",
    "AttributeNotFound",
    "DirectoryNotEmpty",
    "IllegalArgument",
    "InvalidAcl",
    "InvalidPath",
    "LeaseExpired",
    "NamespaceQuotaExceeded",
    "ParentNotDirectory",
    "PathExists",
    "PathIsDirectory",
    "PathIsNotDirectory",
    "PathNotFound",
    "PathThroughFile",
    "QuotaExceeded",
    "SnapshotError",
    "SnapshotReadOnly",
    "UnsupportedOperation",
)
"""Errors by which a namenode says that an operation cannot be done: they are answers."""
_VAGUE_REFUSALS: Final = ("AlreadyBeingCreated", "RemoteError")
"""Errors that say so where the model says so too, and otherwise perhaps something else."""


@dataclass
class Workspace:
    """Is the root of a client, what may be there, and what was done last."""

    root: str
    candidates: list[Tree]
    steps: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_STEPS))


@dataclass
class Expectations:
    """Keeps all that has to be there, and what clients found wrong."""

    workspaces: list[Workspace] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Of operations that were answered, by kind; `refused` and `unanswered` of all kinds."""
    errors: Counter[str] = field(default_factory=Counter)
    """Why operations were not answered, by the name of the error."""


class Unanswered(Exception):
    """Says that nobody knows whether an operation happened."""


class Wrong(Exception):
    """Says that an answer cannot be right."""


@dataclass
class _Stream:
    """Is a file that this client writes."""

    number: int
    """The model's number of the file."""
    output: Any


class Client:
    """Does so many operations."""

    leaves_out: frozenset[str] = frozenset()
    """Operations that it never does."""
    replications: Sequence[int] = REPLICATIONS
    """What it draws the replication of files from."""

    def __init__(
        self,
        world: World,
        name: str,
        expectations: Expectations,
        connect: Callable[[Process], Any],
        *,
        operations: int,
        pace_s: float | None = None,
        above: str = "",
    ) -> None:
        """Its roots are directories in `above`."""
        self._world = world
        self._dice: random.Random = world.dice(name)
        self._name = name
        self._expectations = expectations
        self._connect = connect
        self._operations = operations
        self._pace_s = self._dice.choice(_PACES_S) if pace_s is None else pace_s
        self._above = above
        self._roots = 0
        self._streams: list[_Stream] = []
        self._dead: list[Any] = []
        """Streams that nobody uses any more; kept, as closing them would do something."""
        self._weights = self._draw_weights()
        self.is_done = False

    def _draw_weights(self) -> dict[str, float]:
        every = {**_WRITING, **{name: weight for name, (weight, _) in SIMPLE.items()}}
        return {
            name: weight * (1.0 if name in _ALWAYS else self._dice.choice(_SWARM))
            for name, weight in every.items()
            if name not in self.leaves_out
        }

    # -- the loop

    def __call__(self, process: Process) -> None:
        self._fs = self._connect(process)
        self._errors = process.modules.load("howdah.errors")
        self._clock = process.modules.load("time")
        acl_entry = process.modules.load("howdah.fs.acl").AclEntry
        self._drawing = Drawing(self._dice, self._fs, acl_entry, self.replications)
        self._begin()
        for _ in range(self._operations):
            try:
                self._do_one()
            except Unanswered as why:
                self._record(f"gets no answer: {why}")
                self._begin()
            except Wrong as why:
                self._record(f"finds it wrong: {why}")
                self._expectations.problems.append(
                    f"{self._name}: {why}\n  " + "\n  ".join(self._workspace.steps)
                )
                self._begin()
            self._clock.sleep(self._dice.random() * self._pace_s)
        self._leave()
        self.is_done = True
        process.exit(0)  # at once: closing what has failed before would fail again

    def _record(self, event: str) -> None:
        self._workspace.steps.append(f"{self._world.now_s:.3f} {event}")
        self._world.story.record(self._name, event)

    @property
    def _tree(self) -> Tree:
        return self._workspace.candidates[0]

    def _begin(self) -> None:
        """Go on in a new root."""
        self._dead += [stream.output for stream in self._streams]
        self._streams.clear()
        while True:
            self._roots += 1
            root = f"{self._above}/{self._name}-{self._roots}"
            self._workspace = Workspace(root, [Tree(root)])
            self._expectations.workspaces.append(self._workspace)
            step = Step(
                f"mkdirs {root}",
                lambda after, root=root: after.mkdirs(root, 0o777),  # type: ignore[misc]
                lambda root=root: self._fs.mkdirs(root, 0o777),  # type: ignore[misc]
            )
            try:
                self._perform("mkdirs", step)
            except Unanswered as why:
                self._record(f"gets no answer: {why}")
                self._clock.sleep(self._dice.random() * 5)
            else:
                return

    def _leave(self) -> None:
        """Close what is open, and go."""
        try:
            for stream in list(self._streams):
                self._close(stream)
        except (Unanswered, Wrong) as why:
            self._record(f"leaves: {why}")
            if isinstance(why, Wrong):
                self._expectations.problems.append(f"{self._name}: {why}")

    def _do_one(self) -> None:
        names = list(self._weights)
        name = self._dice.choices(names, [self._weights[each] for each in names])[0]
        if name in SIMPLE:
            self._simple(name, SIMPLE[name][1])
        else:
            getattr(self, f"_do_{name}")()

    # -- one call

    def _simple(self, name: str, draw: Draw) -> None:
        step = draw(self._drawing, self._tree)
        if step is None:
            return
        answer = self._perform(name, step)
        if name == "truncate" and answer is False:
            self._wait_until_closed(step.path)
        self._forget_deleted()

    def _perform(self, kind: str, step: Step) -> Any:
        """Do it, and hold the answer against the model's. Raises Unanswered, and Wrong."""
        before, after = self._tree, self._tree.copy()
        refused = ""
        try:
            step.change(after)
        except Refused as why:
            refused, after = why.why, before
        self._workspace.candidates = [before] if refused else [before, after]
        try:
            answer = step.act()
        except (self._errors.HowdahError, OSError, ValueError) as error:
            name = type(error).__name__
            if name not in _REFUSALS and not (refused and name in _VAGUE_REFUSALS):
                self._expectations.counts["unanswered"] += 1
                self._expectations.errors[name] += 1
                raise Unanswered(f"{step}: {name}: {error}") from error
            self._workspace.candidates = [before]
            if not refused:
                raise Wrong(f"{step} is refused: {name}: {error}") from error
            self._expectations.counts["refused"] += 1
            self._workspace.steps.append(f"{self._world.now_s:.3f} {step} is refused: {refused}")
            return None
        if refused and answer is not False:
            raise Wrong(f"{step} is done, which the model refuses: {refused}")
        self._workspace.candidates = [after]
        self._expectations.counts[kind] += 1
        self._record(str(step))
        return answer

    def _wait_until_closed(self, path: str) -> None:
        until_s = self._world.now_s + _PATIENCE_S
        try:
            while not self._fs.is_file_closed(path):
                if self._world.now_s > until_s:
                    raise Unanswered(f"{path} is not closed")
                self._clock.sleep(0.5)
        except (self._errors.HowdahError, OSError) as error:
            raise Unanswered(f"{path}: {type(error).__name__}: {error}") from error

    # -- writing

    def _is_open(self, path: str) -> bool:
        entry = self._tree.model.entries.get(path)
        return entry is not None and any(s.number == entry.number for s in self._streams)

    def _forget_deleted(self) -> None:
        for stream in list(self._streams):
            if self._tree.path_of(stream.number) is None:
                self._streams.remove(stream)
                self._dead.append(stream.output)

    def _do_create(self) -> None:
        self._open(self._drawing.create(self._tree, self._is_open), "create")

    def _do_append(self) -> None:
        self._open(self._drawing.append(self._tree), "append")

    def _open(self, step: Step | None, kind: str) -> None:
        if step is None or len(self._streams) >= _MOST_OPEN:
            return
        output = self._perform(kind, step)
        if output is not None:
            self._streams.append(_Stream(self._tree.entry(step.path).number, output))
            self._forget_deleted()

    def _any_stream(self) -> _Stream | None:
        return self._dice.choice(self._streams) if self._streams else None

    def _on_stream(self, kind: str, stream: _Stream, act: Callable[[], Any]) -> None:
        """Do something with a stream. Raises Unanswered where that fails."""
        path = self._tree.path_of(stream.number)
        try:
            act()
        except (self._errors.HowdahError, OSError, ValueError) as error:
            name = type(error).__name__
            self._expectations.counts["unanswered"] += 1
            self._expectations.errors[name] += 1
            raise Unanswered(f"{kind} {path}: {name}: {error}") from error
        self._expectations.counts[kind] += 1
        self._record(f"{kind} {path}, {self._tree.contents[stream.number]}")

    def _do_write(self) -> None:
        stream = self._any_stream()
        if stream is None:
            return
        if len(self._tree.contents[stream.number].possible) > _LARGEST_BYTES:
            self._close(stream)
            return
        data = self._dice.randbytes(self._dice.randrange(1, _WRITE_BYTES))
        self._tree.wrote(stream.number, data)
        self._on_stream("write", stream, lambda: stream.output.write(data))

    def _do_hflush(self) -> None:
        stream = self._any_stream()
        if stream is not None:
            self._on_stream("hflush", stream, stream.output.hflush)
            path = self._tree.path_of(stream.number)
            if path is not None and self._dice.random() < 0.5:
                self._read_and_compare(path, self._tree.contents[stream.number].possible)

    def _do_hsync(self) -> None:
        stream = self._any_stream()
        if stream is not None:
            self._on_stream("hsync", stream, stream.output.hsync)
            self._tree.synced(stream.number)

    def _do_close(self) -> None:
        stream = self._any_stream()
        if stream is not None:
            self._close(stream)

    def _close(self, stream: _Stream) -> None:
        self._streams.remove(stream)
        self._dead.append(stream.output)
        self._on_stream("close", stream, stream.output.close)
        self._tree.close(stream.number)

    def _do_take_over(self) -> None:
        """Take a file from its writer, which is then refused."""
        stream = self._any_stream()
        path = None if stream is None else self._tree.path_of(stream.number)
        if stream is None or path is None:
            return
        self._streams.remove(stream)
        self._dead.append(stream.output)
        self._record(f"takes {path} over")
        until_s = self._world.now_s + _PATIENCE_S
        try:
            while not self._fs.recover_lease(path):
                if self._world.now_s > until_s:
                    raise Unanswered(f"the lease of {path} is not recovered")
                self._clock.sleep(1.0)
            found = self._content_of(path)
        except (self._errors.HowdahError, OSError) as error:
            raise Unanswered(f"{path}: {type(error).__name__}: {error}") from error
        expected = self._tree.contents[stream.number]
        if not expected.allows(found):
            raise Wrong(f"{path} is taken over with {len(found)} bytes, not {expected}")
        self._tree.settle(stream.number, found)
        self._expectations.counts["take_over"] += 1
        if self._dice.random() < 0.5:
            try:
                stream.output.write(b"too late")
                stream.output.hsync()
            except (self._errors.HowdahError, OSError, ValueError):
                return
            raise Wrong(f"{path} was taken over, and its former writer may sync")

    # -- looking

    def _content_of(self, path: str) -> bytes:
        with self._fs.open(path) as file:
            return bytes(file.read())

    def _do_read(self) -> None:
        closed = self._tree.closed_files()
        if closed:
            path = self._dice.choice(closed)
            self._read_and_compare(path, self._tree.content(path).promised)

    def _read_and_compare(self, path: str, expected: bytes) -> None:
        try:
            found = self._content_of(path)
        except FileNotFoundError as error:
            raise Wrong(f"{path} is not there: {error}") from error
        except (self._errors.HowdahError, OSError) as error:
            self._expectations.errors[f"read: {type(error).__name__}"] += 1
            return
        if found != expected:
            raise Wrong(f"{path} has {len(found)} bytes, or other ones, not {len(expected)}")
        self._expectations.counts["read"] += 1

    def _do_read_snapshot(self) -> None:
        there = self._tree.snapshots()
        if not there:
            return
        path, name = self._dice.choice(there)
        contents = self._tree.shown[self._tree.entry(path).number, name]
        if not contents:
            return
        below = self._dice.choice(sorted(contents))
        shown = f"{path}/.snapshot/{name}{below}"
        try:
            found = self._content_of(shown)
        except FileNotFoundError as error:
            raise Wrong(f"{shown} is not there: {error}") from error
        except (self._errors.HowdahError, OSError) as error:
            self._expectations.errors[f"read: {type(error).__name__}"] += 1
            return
        if not contents[below].allows(found):
            raise Wrong(f"{shown} has {len(found)} bytes, not {contents[below]}")
        self._expectations.counts["read_snapshot"] += 1

    def _do_list(self) -> None:
        path = self._dice.choice(self._tree.directories())
        try:
            found = sorted(name_of(status.path) for status in self._fs.list_status(path))
        except FileNotFoundError as error:
            raise Wrong(f"{path} is not there: {error}") from error
        except (self._errors.HowdahError, OSError) as error:
            self._expectations.errors[f"list: {type(error).__name__}"] += 1
            return
        expected = self._tree.model.children(path)
        if found != expected:
            raise Wrong(f"{path} has {found}, not {expected}")
        self._expectations.counts["list"] += 1
