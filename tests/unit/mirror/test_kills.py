"""A mirror that is killed anywhere publishes nothing but what the source was.

Random histories of the source (files created, appended to and replaced, entries renamed and swapped
within directories and between them, trees deleted) are mirrored by processes that are killed before
any call which changes something. The source goes on changing while the mirror works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.mirror.rounds import Mirror
from howdah.mirror.settings import Settings
from howdah.mirror.sides import Directory
from howdah.mirror.state.names import key_of, own
from howdah.mirror.state.planner import Wanted
from tests.support.mirrors import Killed, MemoryHdfs, Tree, World, tree_of

SOURCE, TARGET = "/src", "/dst"
NAMES = ("a", "b", "c")
KEY = key_of(f"hdfs://a{SOURCE}", f"hdfs://b{TARGET}")

Operation = Callable[[MemoryHdfs], None]


def path_of(names: Sequence[str]) -> str:
    return "/".join((SOURCE, *names))


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
                        fs.rename(one, f"{SOURCE}/t")
                        fs.rename(other, one)
                        fs.rename(f"{SOURCE}/t", other)
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

    world: World = field(default_factory=World)
    then: dict[str, Tree] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)
    every: int = 3

    def __post_init__(self) -> None:
        self.source, self.target = self.world.users["a"], self.world.users["b"]
        self.source.mkdirs(SOURCE)
        self.world.life.before_change = self._meanwhile

    def _meanwhile(self) -> None:
        """Before each change of the mirror: the source may change, too."""
        self._remember()
        if self.pending and self.world.life.changes % self.every == 0:
            self.pending.pop(0).do(self.source)

    def mirror(self, wanted: Wanted | None = None) -> Mirror:
        conf = Configuration()
        return Mirror(
            Directory.of(f"hdfs://a{SOURCE}", conf, None),
            Directory.of(f"hdfs://b{TARGET}", conf, None),
            Settings(wanted or Wanted(), begins_processes=False),
            conf,
            clock_ms=self.world.clock.wall_ms,
        )

    def run(self, killed_at: int | None = None) -> str | None:
        """A process of the mirror. Returns the point in time that it made, None if it was
        killed."""
        self.world.life.begin(killed_at)
        try:
            return self.mirror().run().common
        except Killed:
            return None
        finally:
            self.check()

    def _remember(self) -> None:
        for name in self._snapshots(self.source, SOURCE):
            if name not in self.then:
                self.then[name] = tree_of(self.source, f"{SOURCE}/.snapshot/{name}")

    def check(self) -> None:
        """Every published snapshot of the target is the source's of that name."""
        self._remember()
        for name in self._snapshots(self.target, TARGET):
            assert tree_of(self.target, f"{TARGET}/.snapshot/{name}") == self.then[name], name

    def _snapshots(self, fs: MemoryHdfs, top: str) -> tuple[str, ...]:
        try:
            found = [status.name for status in fs.list_status(f"{top}/.snapshot")]
        except (errors.PathNotFound, errors.SnapshotError):
            return ()
        return own(found, KEY)


def play(rounds: list[tuple[list[Change], list[Change], list[int]]]) -> None:
    """Histories: changes before a round, changes while it runs, and when its processes are
    killed."""
    bench = Bench()
    with bench.world.entered():
        for before, meanwhile, kills in rounds:
            for change in before:
                change.do(bench.source)
            bench.pending = list(meanwhile)
            for killed_at in kills:
                if bench.run(killed_at) is not None:
                    break
            bench.pending = []
            last = bench.run()
            assert last is not None
            assert tree_of(bench.target, TARGET) == bench.then[last]
            assert tree_of(bench.target, TARGET) == tree_of(bench.source, SOURCE)


ROUNDS = st.lists(
    st.tuples(
        st.lists(CHANGES, max_size=8),
        st.lists(CHANGES, max_size=3),
        st.lists(st.integers(0, 40), max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@given(ROUNDS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_target_is_always_some_snapshot_of_the_source(
    rounds: list[tuple[list[Change], list[Change], list[int]]],
) -> None:
    play(rounds)
