"""Source and target, listed side by side: what a task finds, on files in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common import filesystems
from howdah.copy.common.arrow_rows import decode, encode
from howdah.copy.common.failures import CopyFailed, ReadFailed, SourceGone, error_from
from howdah.copy.common.filesystems import Place
from howdah.copy.listing import walking
from howdah.copy.listing.entries import Entry, Found, Kind, entries
from howdah.copy.listing.walking import Walk
from howdah.copy.locks.tree_lock import locked
from howdah.fs.memory.filesystem import MemoryFileSystem, forget
from howdah.fs.status import FileStatus

PLACE = Place("mem://walks")
Tree = dict[str, Any]


@pytest.fixture
def fs(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    monkeypatch.setattr(filesystems, "_open", {})
    forget("walks")
    yield MemoryFileSystem("walks", Configuration())
    forget("walks")


def make(fs: MemoryFileSystem, path: str, tree: Tree) -> None:
    fs.mkdirs(path)
    for name, inner in tree.items():
        if isinstance(inner, dict):
            make(fs, f"{path}/{name}", inner)
        else:
            fs.create(f"{path}/{name}", overwrite=True).close()


def found(rows: Iterator[Entry] | list[Entry], *kinds: Kind) -> list[str]:
    return sorted(decode(row.relative) for row in rows if row.kind in kinds)


def walk(
    source: str = "/s", most: int = 10**6, kind: Kind = Kind.PENDING, **settings: Any
) -> list[Entry]:
    """All rounds, one task each."""
    begin = Entry(kind, 0, source.encode(), b"", target=Found.DIRECTORY)
    rows: list[Entry] = []
    roots: tuple[Entry, ...] = (begin,)
    while roots:
        task = Walk((PLACE,), PLACE, "/t", True, roots=roots, most_entries=most, **settings)
        listed = [row for batch in task(iter(())) for row in entries(batch)]
        for row in listed:
            if row.kind == Kind.FAILED:
                raise error_from(row.group, row.owner)
        roots = tuple(r for r in listed if r.kind in (Kind.PENDING, Kind.MISSING_PENDING))
        rows += [row for row in listed if row not in roots]
    return rows


NAMES = st.sampled_from(["a", "b", "c.tmp", "ü", "d e"])
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(NAMES, inner | st.just(None), max_size=4)
)


def flat(tree: Tree, path: str = "") -> dict[str, bool]:
    """Paths, and whether they are directories."""
    result = {}
    for name, inner in tree.items():
        result[f"{path}/{name}"] = isinstance(inner, dict)
        result |= flat(inner or {}, f"{path}/{name}")
    return result


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(TREES, TREES, st.integers(1, 5), st.integers(1, 3))
def test_every_entry_is_found_once_and_paired(
    fs: MemoryFileSystem, source: Tree, target: Tree, most: int, threads: int
) -> None:
    for name, tree in (("/s", source), ("/t", target)):
        fs.delete(name, recursive=True)
        make(fs, name, tree)
    rows = walk(most=most, threads=threads)
    here, there = flat(source), flat(target)
    assert found(rows, Kind.FILE, Kind.DIRECTORY) == sorted(here)
    for row in rows:
        path = decode(row.relative)
        if row.kind in (Kind.FILE, Kind.DIRECTORY):
            assert (row.kind == Kind.DIRECTORY) == here[path]
            # What lies below something that the source has as a file is not looked at.
            if path in there:
                assert row.target == (Found.DIRECTORY if there[path] else Found.FILE)
            else:
                assert row.target == Found.ABSENT
    paired = {""} | {path for path in here if here[path] and there.get(path)}
    missing = [p for p in there if p not in here and p.rpartition("/")[0] in paired]
    assert found(rows, Kind.MISSING) == sorted(missing)


def test_filter_leaves_out_a_path_and_not_what_is_below(fs: MemoryFileSystem) -> None:
    make(fs, "/s", {"x.tmp": {"y": None}, "z.tmp": None})
    rows = walk(filters=(r".*\.tmp",))
    assert found(rows, Kind.FILE, Kind.DIRECTORY) == ["/x.tmp/y"]


def test_filter_protects_at_the_target_and_not_what_is_below(fs: MemoryFileSystem) -> None:
    make(fs, "/s", {})
    make(fs, "/t", {"x.tmp": {"y": None, "z.tmp": None}, "w": None})
    assert found(walk(filters=(r".*\.tmp",)), Kind.MISSING) == ["/w", "/x.tmp/y"]


def test_directory_of_the_target_stays_for_what_is_below_a_filtered_one(
    fs: MemoryFileSystem,
) -> None:
    """Else `-delete` would remove what has just been copied into it."""
    make(fs, "/s", {"d": {"y": None}, "f": None})
    make(fs, "/t", {"d": {"y": None, "z": None}, "f": None})
    rows = walk(filters=(".*/s/d", ".*/s/f"))
    assert found(rows, Kind.FILE, Kind.DIRECTORY) == ["/d/y"]
    assert found(rows, Kind.MISSING) == ["/d/z", "/f"]


class Listed:
    """A filesystem of HDFS whose directories are listed in the order that is given."""

    scheme, uri = "hdfs", "hdfs://a"

    def __init__(self, names: Iterable[str]) -> None:
        self._names = names

    def list_status_iter(self, path: str) -> Iterator[Any]:
        return (Named(f"{path}/{name}", name) for name in self._names)


class Named(NamedTuple):
    path: str
    name: str


def signed(name: str) -> bytes:
    """What is in order as Hadoop's namenodes order names: by bytes as signed numbers."""
    return bytes(byte ^ 0x80 for byte in encode(name))


@given(
    names=st.sets(st.text("aé~\x7f\u0100\U0001f600\udcff", min_size=1, max_size=4), max_size=30),
    order=st.sampled_from([signed, encode, lambda name: name]),
)
def test_names_are_in_one_order_whichever_namenode_lists_them(
    names: set[str], order: Callable[[str], Any]
) -> None:
    fs = cast(Any, Listed(sorted(names, key=order)))
    listed = [status.name for status in walking._sorted(fs, "/d")]
    assert listed == sorted(names, key=encode)


def test_a_listing_without_any_order_is_refused() -> None:
    for names in (["b", "a"], ["a", "a"], ["é", "b", "a"]):
        with pytest.raises(ReadFailed, match="/d is listed in no order: 'a' comes behind"):
            list(walking._sorted(cast(Any, Listed(names)), "/d"))


def test_a_huge_directory_is_not_kept_in_memory() -> None:
    read = 0

    def names() -> Iterator[str]:
        nonlocal read
        for number in range(1000):
            read = number
            yield f"{number:06}{'é' * (number % 2)}"

    listing = walking._sorted(cast(Any, Listed(names())), "/d")
    for number in range(1000):
        next(listing)
        assert read <= number + 2


@pytest.mark.parametrize("here", [signed, encode])
@pytest.mark.parametrize("there", [signed, encode])
def test_clusters_that_order_names_differently_have_the_same_entries(
    fs: MemoryFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    here: Callable[[str], bytes],
    there: Callable[[str], bytes],
) -> None:
    """Else what both have is missing in the one, and `-delete` removes it from the other."""
    tree = {"a": {"x": None}, "é": None, "aé": None, "az": None, "z": None}
    make(fs, "/s", tree)
    make(fs, "/t", {**tree, "ä": None})
    del tree["é"]
    fs.delete("/s/é")
    real = MemoryFileSystem.list_status_iter

    def listed(self: MemoryFileSystem, path: str) -> Iterator[FileStatus]:
        order = here if path.startswith("/s") else there
        return iter(sorted(real(self, path), key=lambda status: order(status.name)))

    monkeypatch.setattr(MemoryFileSystem, "list_status_iter", listed)
    monkeypatch.setattr(MemoryFileSystem, "scheme", "hdfs")
    rows = walk()
    assert found(rows, Kind.MISSING) == ["/ä", "/é"]
    copied = [row for row in rows if row.kind in (Kind.FILE, Kind.DIRECTORY)]
    assert {decode(row.relative) for row in copied} == {"/a", "/a/x", "/aé", "/az", "/z"}
    assert all(row.target != Found.ABSENT for row in copied)


def test_staging_directories_are_not_taken_for_the_targets(fs: MemoryFileSystem) -> None:
    make(fs, "/s", {})
    make(fs, "/t", {".distcp.tmp.0123456789abcdef": {"x": None}})
    assert found(walk(), Kind.MISSING) == []


def test_directory_that_is_gone_has_no_entries_and_costs_the_target_none(
    fs: MemoryFileSystem,
) -> None:
    make(fs, "/t", {"a": None})
    assert found(walk("/nothing"), *Kind) == [""]  # the sums


def test_directory_that_goes_while_it_is_listed_costs_the_target_nothing(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(fs, "/s", {"b": None, "c": None})
    make(fs, "/t", {"a": None, "c": None, "d": None})

    def list_status_iter(self: MemoryFileSystem, path: str) -> Any:
        entries = original(self, path)
        if path != "/s":
            yield from entries
            return
        yield next(entries)
        raise errors.PathNotFound("renamed between two pages")

    original = MemoryFileSystem.list_status_iter
    monkeypatch.setattr(MemoryFileSystem, "list_status_iter", list_status_iter)
    monkeypatch.setattr(walking, "_sorted", lambda fs, path, _: fs.list_status_iter(path))
    rows = walk()
    assert found(rows, Kind.FILE) == ["/b"]
    # What comes before the last name that was seen is missing, of the rest nobody knows.
    assert found(rows, Kind.MISSING) == ["/a"]


@pytest.mark.parametrize("ignores", [False, True])
def test_source_itself_has_to_be_there(fs: MemoryFileSystem, ignores: bool) -> None:
    make(fs, "/t", {"a": None})
    with pytest.raises(SourceGone, match="mem://walks/s is gone"):
        walk(kind=Kind.ROOT, ignore_failures=ignores)


def test_lock_at_the_target_ends_the_walk_if_somebody_has_it(fs: MemoryFileSystem) -> None:
    make(fs, "/s", {"b": {"c": None}, ".howdah.lock.c": None})
    make(fs, "/t", {"b": {"d": None}})
    with locked(fs, "/t/b", "compact") as lock:
        with pytest.raises(CopyFailed, match="held by compact"):
            walk(own_lock="")
        # Who changes nothing may look, and so may the one who has it.
        for own in (None, lock.path):
            assert found(walk(own_lock=own), Kind.FILE, Kind.MISSING) == ["/b/c", "/b/d"]
    make(fs, "/t", {".howdah.lock.b": None})
    assert found(walk(own_lock=""), Kind.FILE, Kind.MISSING) == ["/b/c", "/b/d"]


def test_directory_that_cannot_be_listed_ends_the_walk(
    fs: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(fs, "/s", {"a": None})
    make(fs, "/t", {"b": None})

    def list_status_iter(self: MemoryFileSystem, path: str) -> Any:
        if path == "/s":
            raise errors.AccessDenied("Permission denied")
        return original(self, path)

    original = MemoryFileSystem.list_status_iter
    monkeypatch.setattr(MemoryFileSystem, "list_status_iter", list_status_iter)
    with pytest.raises(ReadFailed, match="Cannot list /s: Permission denied"):
        walk()
    rows = walk(ignore_failures=True)
    assert found(rows, Kind.UNREADABLE) == [""]
    # Nothing is missing just because the source could not be read.
    assert found(rows, Kind.MISSING) == []
