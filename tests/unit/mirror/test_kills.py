"""A mirror that is killed anywhere publishes nothing but what the source was.

Random histories of the source (files created, appended to and replaced, entries renamed and swapped
within directories and between them, trees deleted) are mirrored by processes that are killed before
any call which changes something. The source goes on changing while the mirror works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.mirror.promotion import promote
from howdah.mirror.rounds import Mirror
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory, Refused
from howdah.mirror.state.names import key_of, own
from howdah.mirror.state.planner import Wanted
from tests.support.mirrors import Killed, MemoryHdfs, Tree, World, content_of, tree_of
from tests.support.torture import times

T = TypeVar("T")

TOP = "/top/dir"
NAMES = ("a", "b", "c")


def path_of(names: Sequence[str]) -> str:
    return "/".join((TOP, *names))


@dataclass(frozen=True)
class Change:
    """One change of the source; what is impossible does nothing."""

    kind: str
    one: tuple[str, ...]
    other: tuple[str, ...]
    content: bytes

    def do(self, fs: MemoryHdfs) -> None:
        one, other = path_of(self.one), path_of(self.other)
        try:
            match self.kind:
                case "write":
                    fs.write_bytes(one, self.content)
                case "append":
                    with fs.append(one) as out:
                        out.write(self.content)
                case "mkdir":
                    fs.mkdirs(one)
                case "rename":
                    fs.rename(one, other)
                case "replace":
                    fs.rename(one, other, overwrite=True)
                case "swap":
                    if fs.exists(one) and fs.exists(other) and not _is_above(one, other):
                        fs.rename(one, f"{TOP}/t")
                        fs.rename(other, one)
                        fs.rename(f"{TOP}/t", other)
                case "delete":
                    fs.delete(one, recursive=True)
                case "chmod":
                    fs.set_permission(one, 0o700 + len(self.content))
        except (errors.HowdahError, OSError):
            pass  # there is no such entry, or one that is in the way


def _is_above(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


KINDS = (
    "write",
    "write",
    "append",
    "mkdir",
    "rename",
    "rename",
    "replace",
    "swap",
    "delete",
    "chmod",
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple)
CHANGES = st.builds(Change, st.sampled_from(KINDS), PATHS, PATHS, st.binary(min_size=1, max_size=3))


@dataclass
class Bench:
    """A world with a mirror, and what the source was in each of its snapshots."""

    target_name: str = "b"
    world: World = field(default_factory=World)
    then: dict[str, Tree] = field(default_factory=dict)
    contents: dict[str, dict[str, bytes | None]] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    is_back: bool = False
    """Whether `b` is mirrored to `a`."""

    def __post_init__(self) -> None:
        self.users = self.world.users
        self.users["a"].mkdirs(TOP)
        self.world.life.before_change = self._meanwhile

    @property
    def source(self) -> MemoryHdfs:
        return self.users["b" if self.is_back else "a"]

    @property
    def target(self) -> MemoryHdfs:
        return self.users["a" if self.is_back else "b"]

    def _meanwhile(self) -> None:
        """Before each change of the mirror: the source may change, too."""
        self._remember()
        if self.pending and self.world.life.changes % 3 == 0:
            self.pending.pop(0).do(self.source)

    def directory(self, name: str) -> Directory:
        uri = self.world.store.uri if name == "s" else f"hdfs://{name}"
        return Directory.of(f"{uri}{TOP}", Configuration(), None)

    def mirror(self, wanted: Wanted) -> Mirror:
        names = ("a", self.target_name)
        source, target = reversed(names) if self.is_back else names
        return Mirror(
            self.directory(source),
            self.directory(target),
            Settings(wanted, begins_processes=False),
            Configuration(),
            clock_ms=self.world.clock.wall_ms,
        )

    def run(self, killed_at: int | None = None, wanted: Wanted | None = None) -> str | None:
        """A process of the mirror. Returns the point in time that it made, None if it was
        killed."""
        return self._lived(killed_at, lambda: self.mirror(wanted or Wanted()).run().common)

    def promote(self, killed_at: int | None) -> bool:
        """Whether the target was promoted, before the process was killed."""
        uri = f"{self.target.uri}{TOP}"
        settings = Settings(begins_processes=False)
        return (
            self._lived(killed_at, lambda: promote(uri, settings, conf=Configuration())) is not None
        )

    def _lived(self, killed_at: int | None, do: Callable[[], T]) -> T | None:
        self.world.life.begin(killed_at)
        try:
            return do()
        except Killed:
            return None
        finally:
            self.check()

    def _remember(self) -> None:
        for name in self.snapshots(self.source):
            if name not in self.then:
                self.then[name] = tree_of(self.source, f"{TOP}/.snapshot/{name}")
                self.contents[name] = content_of(self.source, f"{TOP}/.snapshot/{name}")

    def check(self) -> None:
        """Every published point in time of the target is the source's."""
        self._remember()
        for name in self.snapshots(self.target):
            assert tree_of(self.target, f"{TOP}/.snapshot/{name}") == self.then[name], name
        record = self.directory("s").read_record() if self.target_name == "s" else None
        if record is not None and record.goal is None and record.complete is not None:
            assert content_of(self.world.store, TOP) == self.contents[record.complete]

    def snapshots(self, fs: MemoryHdfs) -> tuple[str, ...]:
        try:
            found = [status.name for status in fs.list_status(f"{TOP}/.snapshot")]
        except (errors.PathNotFound, errors.SnapshotError):
            return ()
        return own(found, key_of(f"hdfs://a{TOP}", self._target_uri))

    @property
    def _target_uri(self) -> str:
        return f"{self.world.store.uri if self.target_name == 's' else 'hdfs://b'}{TOP}"


Rounds = list[tuple[list[Change], list[Change], list[int]]]
ROUNDS = st.lists(
    st.tuples(
        st.lists(CHANGES, max_size=8),
        st.lists(CHANGES, max_size=3),
        st.lists(st.integers(0, 40), max_size=3),
    ),
    min_size=1,
    max_size=4,
)


def play(target: str, rounds: Rounds) -> None:
    """Histories: changes before a round, changes while it runs, and when its processes are
    killed."""
    bench = Bench(target)
    with bench.world.entered():
        for before, meanwhile, kills in rounds:
            for change in before:
                change.do(bench.source)
            bench.pending = list(meanwhile)
            for killed_at in kills:
                bench.run(killed_at)
            bench.pending = []
            last = bench.run()
            assert last is not None
            assert bench.contents[last] == content_of(bench.source, TOP)
            if target == "b":
                assert tree_of(bench.target, TOP) == bench.then[last]
            else:
                assert content_of(bench.world.store, TOP) == bench.contents[last]


@dataclass(frozen=True)
class Disaster:
    """The source is lost in the middle of a round, and comes back."""

    before: list[Change]
    round_killed_at: int
    is_target_changed: bool
    promotion_killed_at: int
    at_new_source: list[Change]
    at_old_source: list[Change]
    return_killed_at: int


DISASTERS = st.lists(
    st.builds(
        Disaster,
        st.lists(CHANGES, min_size=1, max_size=5),
        st.integers(0, 40),
        st.booleans(),
        st.integers(0, 40),
        st.lists(CHANGES, max_size=4),
        st.lists(CHANGES, max_size=4),
        st.integers(0, 60),
    ),
    min_size=1,
    max_size=3,
)


def play_disasters(first: list[Change], disasters: list[Disaster]) -> None:
    bench = Bench()
    reverting = Wanted(reverts=True)
    with bench.world.entered():
        for change in first:
            change.do(bench.source)
        bench.run()
        for disaster in disasters:
            for change in disaster.before:
                change.do(bench.source)
            bench.run(disaster.round_killed_at)
            if disaster.is_target_changed:
                bench.target.write_bytes(f"{TOP}/stranger", b"x")
            newest = max(bench.snapshots(bench.target))
            if not bench.promote(disaster.promotion_killed_at):
                assert bench.promote(None)
            assert tree_of(bench.target, TOP) == bench.then[newest]
            # Nothing is mirrored to it any more.
            with pytest.raises(Refused):
                bench.run(None, reverting)
            bench.is_back = not bench.is_back
            for change in disaster.at_new_source:
                change.do(bench.source)
            for change in disaster.at_old_source:
                change.do(bench.target)
            bench.run(disaster.return_killed_at, reverting)
            last = bench.run(None, reverting)
            assert last is not None
            assert tree_of(bench.target, TOP) == bench.then[last]
            assert content_of(bench.target, TOP) == content_of(bench.source, TOP)


FEW = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(FEW, max_examples=times(200))


@given(ROUNDS)
@FEW
def test_the_target_is_always_some_snapshot_of_the_source(rounds: Rounds) -> None:
    play("b", rounds)


@given(ROUNDS)
@FEW
def test_a_target_without_snapshots_is_what_its_state_file_says(rounds: Rounds) -> None:
    play("s", rounds)


@given(st.lists(CHANGES, min_size=1, max_size=6), DISASTERS)
@FEW
def test_a_promoted_target_is_a_point_in_time_and_the_old_source_follows(
    first: list[Change], disasters: list[Disaster]
) -> None:
    play_disasters(first, disasters)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("target", ["b", "s"])
@given(rounds=ROUNDS)
@MANY
def test_many_histories(target: str, rounds: Rounds) -> None:
    play(target, rounds)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@given(st.lists(CHANGES, min_size=1, max_size=6), DISASTERS)
@MANY
def test_many_disasters(first: list[Change], disasters: list[Disaster]) -> None:
    play_disasters(first, disasters)


def test_a_revert_that_is_killed_leaves_no_staging() -> None:
    """Also where the source has not changed since, so that no round follows."""
    killed_at, is_killed = 0, True
    while is_killed:
        bench = Bench()
        with bench.world.entered():
            Change("write", ("a",), (), b"1").do(bench.source)
            bench.run()
            Change("write", ("b",), (), b"2").do(bench.target)
            is_killed = bench.run(killed_at, Wanted(reverts=True)) is None
            last = bench.run(None, Wanted(reverts=True))
            assert last is not None
            assert tree_of(bench.target, TOP) == bench.then[last]
        killed_at += 1
    assert killed_at > 5


@pytest.mark.parametrize("target", ["b", "s"])
def test_a_round_is_gone_on_with_from_each_of_its_steps(target: str) -> None:
    """Killed before each of its calls, one after the other."""
    first = [
        *(Change("write", path, (), b"1") for path in (("a",), ("b", "a"), ("b", "b"), ("c", "a"))),
    ]
    second = [
        Change("swap", ("a",), ("b",), b""),
        Change("append", ("a", "a"), (), b"1"),
        Change("delete", ("c", "a"), (), b""),
        Change("rename", ("a", "b"), ("c", "x"), b""),
        Change("write", ("a", "b"), (), b"22"),
        Change("chmod", ("b",), (), b""),
    ]
    killed_at, is_killed = 0, True
    while is_killed:
        bench = Bench(target)
        with bench.world.entered():
            for change in first:
                change.do(bench.source)
            bench.run()
            for change in second:
                change.do(bench.source)
            is_killed = bench.run(killed_at) is None
            last = bench.run()
            assert last is not None
            assert bench.contents[last] == content_of(bench.source, TOP)
        killed_at += 1
    assert killed_at > 15
