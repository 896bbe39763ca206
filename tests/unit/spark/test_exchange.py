"""How directories are exchanged: whoever fails, and wherever."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import howdah
from howdah import errors
from howdah.fs import memory
from howdah.fs.api import FileSystem
from howdah.spark.compaction_plan import came_name, parse_name
from howdah.spark.exchange import ChangedMeanwhile, Exchange, Undecided, recover

_numbers = itertools.count()
Renames = Callable[[str, str], None]


@pytest.fixture
def fs() -> Iterator[FileSystem]:
    name = f"exchange-{next(_numbers)}"
    with howdah.connect(f"mem://{name}/") as connected:
        yield connected
    memory.forget(name)


def put(fs: FileSystem, path: str, data: bytes) -> None:
    with fs.create(path, overwrite=True) as out:
        out.write(data)


def names(fs: FileSystem, path: str) -> list[str]:
    return [status.name for status in fs.list_status(path)]


def recover_all(fs: FileSystem) -> None:
    found = [name for name in names(fs, "/t") if parse_name(name) is not None]
    for name in sorted(found, key=lambda each: "~ready" not in each):
        recover(fs, f"/t/{name}")


def exchange_of(fs: FileSystem) -> Exchange:
    put(fs, "/t/d/old1", b"1")
    put(fs, "/t/d/old2", b"2")
    exchange = Exchange(fs, "/t/d", now=lambda: 1.0)
    exchange.begin()
    put(fs, f"{exchange.building}/new", b"12")
    return exchange


class Killed(Exception):
    """The process ends here."""


@contextmanager
def with_renames(fs: FileSystem, renames: Callable[[Renames, str, str], None]) -> Iterator[None]:
    """In here `fs` renames by `renames`, which is given the real function."""
    real = fs.rename
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs, "rename", lambda src, dst: renames(real, src, dst))
        yield


def step_of(source: str, target: str) -> int:
    """0: the new files are complete; 1: the old ones leave; 2: the new ones take the place."""
    if source.endswith("~building"):
        return 0
    return 2 if target == "/t/d" else 1


def test_new_directory_takes_the_place_and_the_old_one_can_be_had_back(fs: FileSystem) -> None:
    kept_at = exchange_of(fs).finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["new"]
    assert names(fs, kept_at) == ["old1", "old2"]


def test_new_directory_and_its_files_are_like_the_old_ones(fs: FileSystem) -> None:
    put(fs, "/t/d/old1", b"1")
    put(fs, "/t/d/old2", b"2")
    fs.set_permission("/t/d", 0o750)
    for name, time_ms in (("old1", 5000), ("old2", 3000)):
        fs.set_permission(f"/t/d/{name}", 0o640)
        fs.set_times(f"/t/d/{name}", time_ms, time_ms)
    fs.set_times("/t/d", 7000)
    exchange = Exchange(fs, "/t/d")
    exchange.begin()
    put(fs, f"{exchange.building}/new", b"12")
    exchange.finish()
    directory, file = fs.get_file_status("/t/d"), fs.get_file_status("/t/d/new")
    assert (directory.permission, directory.modification_time_ms) == (0o750, 7000)
    assert (file.permission, file.modification_time_ms) == (0o640, 5000)


def test_directory_that_was_written_to_is_left_alone(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    put(fs, "/t/d/old3", b"3")
    with pytest.raises(ChangedMeanwhile, match="/t/d"):
        exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["old1", "old2", "old3"]


@pytest.mark.parametrize("step", range(3))
def test_killed_at_any_rename_the_next_run_puts_it_right(fs: FileSystem, step: int) -> None:
    exchange = exchange_of(fs)

    def until_killed(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) >= step:
            raise Killed
        real(src, dst)

    with with_renames(fs, until_killed), pytest.raises(Killed):
        exchange.finish()
    recover_all(fs)
    assert names(fs, "/t") == ["d"]
    # Until the old one has gone nothing has happened; from then on it all has.
    assert names(fs, "/t/d") == (["new"] if step == 2 else ["old1", "old2"])


@pytest.mark.parametrize("step", range(3))
def test_rename_that_fails_leaves_the_old_directory_or_what_is_to_take_its_place(
    fs: FileSystem, step: int
) -> None:
    exchange = exchange_of(fs)

    def that_fail(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) >= step:
            raise errors.RemoteError("the namenode is away")
        real(src, dst)

    with (
        with_renames(fs, that_fail),
        pytest.raises(errors.RemoteError, match="is away"),
    ):
        exchange.finish()
    exchange.drop()
    if step < 2:
        assert names(fs, "/t") == ["d"]
        assert names(fs, "/t/d") == ["old1", "old2"]
    else:
        (left,) = names(fs, "/t")
        assert recover(fs, f"/t/{left}") == "/t/d"
        assert names(fs, "/t/d") == ["new"]


def test_second_rename_is_tried_until_the_first_has_happened(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    was_refused = threading.Event()

    def in_the_wrong_order(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) == 1:
            assert was_refused.wait(30)
        try:
            real(src, dst)
        except errors.PathExists:
            was_refused.set()
            raise

    with with_renames(fs, in_the_wrong_order):
        exchange.finish()
    assert names(fs, "/t/d") == ["new"]


def test_what_is_written_between_the_two_renames_comes_to_the_new_files(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    others = iter((b"first", b"second"))

    one_by_one = threading.Lock()

    def with_somebody_between(real: Renames, src: str, dst: str) -> None:
        with one_by_one:
            real(src, dst)
            if src == "/t/d" and (data := next(others, None)) is not None:
                put(fs, f"/t/d/{data.decode()}", data)

    with with_renames(fs, with_somebody_between):
        exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["first", "new", "second"]


def test_file_that_comes_in_the_last_moment_brings_the_old_directory_back(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def just_before(real: Renames, src: str, dst: str) -> None:
        if src == "/t/d" and "/.Trash/" in dst:
            put(fs, "/t/d/late", b"3")
        real(src, dst)

    with with_renames(fs, just_before), pytest.raises(ChangedMeanwhile):
        exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["late", "old1", "old2"]


def test_directory_that_somebody_deletes_meanwhile_stays_deleted(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def just_before(real: Renames, src: str, dst: str) -> None:
        if src == "/t/d" and "/.Trash/" in dst:
            fs.delete("/t/d", recursive=True)
        real(src, dst)

    with with_renames(fs, just_before), pytest.raises(ChangedMeanwhile):
        exchange.finish()
    assert names(fs, "/t") == []


def test_directory_made_anew_after_a_kill_is_not_mixed_with_old_rows(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def until_killed(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) == 2:
            raise Killed
        real(src, dst)

    with with_renames(fs, until_killed), pytest.raises(Killed):
        exchange.finish()
    put(fs, "/t/d/other", b"3")
    left = next(name for name in names(fs, "/t") if name != "d")
    with pytest.raises(Undecided, match="made anew"):
        recover(fs, f"/t/{left}")
    assert names(fs, "/t/d") == ["other"]
    assert names(fs, f"/t/{left}") == ["new"]


@pytest.mark.parametrize("is_there", [True, False])
def test_what_came_between_is_put_in_its_place_by_the_next_run(
    fs: FileSystem, is_there: bool
) -> None:
    if is_there:
        put(fs, "/t/d/new", b"12")
    put(fs, f"/t/{came_name('d', 7)}/late", b"3")
    recover_all(fs)
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == (["late", "new"] if is_there else ["late"])


def test_root_cannot_be_exchanged(fs: FileSystem) -> None:
    with pytest.raises(errors.IllegalArgument):
        Exchange(fs, "/")
