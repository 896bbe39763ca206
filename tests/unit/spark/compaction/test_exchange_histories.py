"""A compaction that is killed at each of its steps, meets another one there, or a writer.

Whatever happens: each line that was written is in the directory once when all runs have
ended, or, where somebody has removed the directory, in it no more.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import pytest

import howdah
from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.fs.streams import FSDataOutputStream
from howdah.spark.compaction.concat import count, join
from howdah.spark.compaction.directory_state import reason_to_skip
from howdah.spark.compaction.directory_swap import ChangedMeanwhile, Exchange, new_run
from howdah.spark.compaction.exchange_recovery import recover_all
from howdah.spark.compaction.plan import parse_name

CHANGES = ("create", "delete", "mkdirs", "rename", "set_times")
MOST_STEPS = 80
OLD = ("a.txt", "b.txt", "c.txt")
LARGE = {"0.txt": "large-0", "b1.txt": "large-1", "d.txt": "large-2"}
SMALL_BYTES = 2
"""With the large files: what is longer is kept."""

_numbers = itertools.count()


class Killed(Exception):
    """The process ends here."""


@dataclass
class Hook:
    """Is told before each change that a run makes, and after it."""

    at: int
    is_after: bool
    act: Callable[[], None]
    steps: int = 0
    is_dead: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def around(self, change: Callable[[], object]) -> object:
        # One change after the other; what the hook does itself is none of the run's.
        with self.lock:
            if self.is_dead:
                raise Killed
            self.steps += 1
            is_here = self.steps == self.at
            if is_here and not self.is_after:
                self._act()
            found = change()
            if is_here and self.is_after:
                self._act()
            return found

    def _act(self) -> None:
        try:
            self.act()
        except Killed:
            self.is_dead = True
            raise


@contextmanager
def hooked(fs: FileSystem, hook: Hook) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in CHANGES:
            real = getattr(fs, name)

            def changed(
                *args: object, _real: Callable[..., object] = real, **how: object
            ) -> object:
                return hook.around(lambda: _real(*args, **how))

            patch.setattr(fs, name, changed)
        yield


@dataclass
class World:
    """A directory, and what has been written to it."""

    name: str
    wanted: Counter[str] = field(default_factory=Counter)
    is_removed: bool = False
    kept: dict[str, tuple[int | None, int, int]] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def connect(self) -> FileSystem:
        return self.stack.enter_context(howdah.connect(f"mem://{self.name}/"))

    @property
    def most_bytes(self) -> int | None:
        return SMALL_BYTES if self.kept else None

    def large_files(self) -> dict[str, tuple[int | None, int, int]]:
        """By name: the inode, the time, and the mode, which no two of them have in common."""
        fs = self.connect()
        return {
            name: (status.file_id, status.modification_time_ms, status.permission)
            for name in LARGE
            for status in [fs.get_file_status(f"/t/d/{name}")]
        }

    def lines(self) -> Counter[str]:
        fs = self.connect()
        try:
            found = [status for status in fs.list_status("/t/d") if status.is_file]
        except errors.PathNotFound:
            return Counter()
        return Counter(
            line for status in found for line in fs.open(status.path).read().decode().split()
        )


@pytest.fixture
def world() -> Iterator[Callable[[bool], World]]:
    made: list[World] = []

    def make(keeps: bool) -> World:
        found = World(f"history-{next(_numbers)}")
        made.append(found)
        fs = found.connect()
        for number, name in enumerate(OLD):
            write(found, fs, f"/t/d/{name}", f"{number}")
        if keeps:
            for number, (name, line) in enumerate(LARGE.items()):
                write(found, fs, f"/t/d/{name}", line)
                fs.set_permission(f"/t/d/{name}", 0o640 + number)
            found.kept = found.large_files()
        return found

    yield make
    for each in made:
        each.stack.close()
        memory.forget(each.name)


def write(world: World, fs: FileSystem, path: str, line: str) -> None:
    with fs.create(path) as out:
        out.write(f"{line}\n".encode())
    world.wanted[line] += 1


def compact(world: World, fs: FileSystem, *, recovers: bool = True) -> list[str]:
    """A run, as `howdah compact` does it without Spark; what is left to be decided."""
    undecided: list[str] = []
    if recovers:
        found = [status.path for status in fs.list_status("/t") if parse_name(status.name)]
        _, undecided = recover_all(fs, found, lambda _: None)
    try:
        exchange = Exchange(fs, "/t/d", run=new_run(), now=lambda: 1.0, most_bytes=world.most_bytes)
    except errors.PathNotFound:
        return undecided
    reason = reason_to_skip(fs, exchange.before, most_bytes=world.most_bytes)
    if reason or len(exchange.like.statuses) < 2:
        return undecided
    share = {
        "directory": exchange.directory,
        "building": exchange.building,
        "suffix": ".txt",
        "run": new_run(),
        "number": 0,
        "shares": 1,
        "most_bytes": world.most_bytes,
    }
    exchange.begin()
    try:
        made = join(fs, share)
        if made.files != len(exchange.like.statuses):
            raise ChangedMeanwhile("other files were joined")
        assert count(fs, share) == made.records
        exchange.finish()
    except BaseException:
        exchange.drop()
        raise
    return undecided


# --- what others do in the middle of a run ----------------------------------------------


def nothing(world: World, fs: FileSystem) -> None:
    """The run has the tree for itself."""


def kill(world: World, fs: FileSystem) -> None:
    raise Killed


def twin(world: World, fs: FileSystem) -> None:
    """A second run, which takes the first for dead."""
    with suppress(ChangedMeanwhile):
        compact(world, fs)


def twin_that_recovers_nothing(world: World, fs: FileSystem) -> None:
    with suppress(ChangedMeanwhile, errors.PathNotFound):
        compact(world, fs, recovers=False)


def add(world: World, fs: FileSystem) -> None:
    write(world, fs, "/t/d/late.txt", "late")


def append(world: World, fs: FileSystem) -> None:
    with suppress(errors.PathNotFound), fs.append("/t/d/a.txt") as out:
        out.write(b"more\n")
        world.wanted["more"] += 1


def append_and_go_on(world: World, fs: FileSystem) -> None:
    """The stream is closed when all runs have ended."""
    out: FSDataOutputStream
    try:
        out = fs.append("/t/d/a.txt")
    except errors.PathNotFound:
        return
    out.write(b"first\n")
    out.hflush()
    world.wanted["first"] += 1

    def end() -> None:
        with out:
            out.write(b"last\n")
        world.wanted["last"] += 1

    world.stack.callback(end)


def remove(world: World, fs: FileSystem) -> None:
    with suppress(errors.PathNotFound):
        world.is_removed = fs.delete("/t/d", recursive=True)


def append_and_kill(world: World, fs: FileSystem) -> None:
    append_and_go_on(world, fs)
    raise Killed


def remove_and_kill(world: World, fs: FileSystem) -> None:
    remove(world, fs)
    raise Killed


OTHERS = (
    nothing,
    kill,
    twin,
    twin_that_recovers_nothing,
    add,
    append,
    append_and_go_on,
    append_and_kill,
    remove,
    remove_and_kill,
)


@pytest.mark.parametrize("keeps", [False, True], ids=["whole", "keeping"])
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("others", OTHERS, ids=lambda each: each.__name__)
def test_each_line_is_there_once_whatever_happens_at_whichever_step(
    world: Callable[[bool], World],
    others: Callable[[World, FileSystem], None],
    is_after: bool,
    keeps: bool,
) -> None:
    for at in range(1, MOST_STEPS):
        here = world(keeps)
        fs, outside = here.connect(), here.connect()
        hook = Hook(at, is_after, partial(others, here, outside))
        with hooked(fs, hook), suppress(Killed, errors.HowdahError):
            compact(here, fs)
        was_killed = hook.is_dead
        # Somebody may have been writing; the next run has to leave that alone as well.
        with suppress(ChangedMeanwhile):
            compact(here, here.connect())
        here.stack.close()
        undecided = compact(here, here.connect())
        told = f"{others.__name__} at step {at}, {'killed' if was_killed else 'alive'}"
        if here.is_removed:
            assert not here.lines(), told
        else:
            assert here.lines() == here.wanted, told
            assert not undecided, told
            left = [s.name for s in here.connect().list_status("/t") if parse_name(s.name)]
            assert not left, told
            assert not keeps or here.large_files() == here.kept, told
        if hook.steps < at:
            return
    pytest.fail(f"a run has more than {MOST_STEPS} steps")
