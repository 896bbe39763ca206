"""How directories are exchanged: whoever fails, and wherever."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import howdah
from howdah import errors
from howdah.fs.api import FileSystem
from howdah.fs.memory import filesystem as memory
from howdah.fs.trash import Trash
from howdah.spark.compaction.directory_swap import ChangedMeanwhile, Exchange
from howdah.spark.compaction.exchange_recovery import Undecided, recover, recover_all
from howdah.spark.compaction.plan import came_name

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


def recovered(fs: FileSystem) -> tuple[list[str], list[str]]:
    found = [f"/t/{name}" for name in names(fs, "/t")]
    return recover_all(fs, found, lambda _: None)


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
    if "~building." in source:
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
    recovered(fs)
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
        # The old one could not be put back, either.
        (left,) = names(fs, "/t")
        assert recover(fs, f"/t/{left}") == "/t/d"
        assert names(fs, "/t/d") == ["new"]


def test_old_directory_leaves_as_what_is_moved_to_the_trash(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = exchange_of(fs)
    real, moved = fs.rename_to_trash, []

    def noted(src: str, dst: str) -> None:
        moved.append((src, dst))
        real(src, dst)

    monkeypatch.setattr(fs, "rename_to_trash", noted)
    kept_at = exchange.finish()
    assert moved == [("/t/d", kept_at)]


def test_who_may_not_delete_the_old_directory_does_not_replace_it(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(fs, "/t/d/old1", b"1")
    fs.set_permission("/t/d", 0o555)
    exchange = Exchange(fs, "/t/d", now=lambda: 1.0)
    exchange.begin()
    put(fs, f"{exchange.building}/new", b"1")
    delete = fs.delete

    def check(path: str) -> None:
        if not fs.get_file_status(path).permission & 0o200:
            raise errors.AccessDenied(f"Permission denied: {path} is read-only")

    def refusing_delete(path: str, recursive: bool = False) -> bool:
        check(path)
        return delete(path, recursive)

    monkeypatch.setattr(fs, "rename_to_trash", lambda src, dst: check(src))
    monkeypatch.setattr(fs, "delete", refusing_delete)
    with pytest.raises(errors.AccessDenied, match="/t/d is read-only"):
        exchange.finish()
    ready = next(name for name in names(fs, "/t") if "~ready." in name)
    assert fs.get_file_status(f"/t/{ready}").permission == 0o555
    exchange.drop()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["old1"]


def test_leftover_that_is_as_read_only_as_the_old_directory_is_removed(
    fs: FileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = exchange_of(fs)

    def until_killed(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) >= 1:
            raise Killed
        real(src, dst)

    with with_renames(fs, until_killed), pytest.raises(Killed):
        exchange.finish()
    (left,) = [name for name in names(fs, "/t") if "~ready." in name]
    fs.set_permission(f"/t/{left}", 0o555)
    delete = fs.delete

    def refusing_delete(path: str, recursive: bool = False) -> bool:
        if not fs.get_file_status(path).permission & 0o200:
            raise errors.AccessDenied(f"Permission denied: {path} is read-only")
        return delete(path, recursive)

    monkeypatch.setattr(fs, "delete", refusing_delete)
    assert recovered(fs) == ([], [])
    assert names(fs, "/t") == ["d"]


def test_second_rename_that_fails_alone_puts_the_old_directory_back(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def that_fail(real: Renames, src: str, dst: str) -> None:
        if "~ready." in src:
            raise errors.QuotaExceeded("the directory is full")
        real(src, dst)

    with with_renames(fs, that_fail), pytest.raises(errors.QuotaExceeded, match="is full"):
        exchange.finish()
    exchange.drop()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["old1", "old2"]


def test_second_rename_whose_answer_is_lost_has_happened(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def without_answer(real: Renames, src: str, dst: str) -> None:
        real(src, dst)
        if "~ready." in src:
            raise errors.Unreachable("the namenode is away")

    with with_renames(fs, without_answer):
        kept_at = exchange.finish()
    assert names(fs, "/t/d") == ["new"]
    assert names(fs, kept_at) == ["old1", "old2"]


def test_second_rename_is_not_tried_in_a_spin(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    tries = itertools.count(1)
    enough = threading.Event()

    def slowly(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) == 1:
            # As long as a sick disk takes for the edit.
            enough.wait(0.5)
        if "~ready." in src:
            next(tries)
        real(src, dst)

    with with_renames(fs, slowly):
        exchange.finish()
    # 1, 2, 4 … 64, 100, 100 … ms: not thousands.
    assert next(tries) < 25


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
    put(fs, f"/t/{came_name('d', 7, 'ab')}/late", b"3")
    recovered(fs)
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == (["late", "new"] if is_there else ["late"])


def test_root_cannot_be_exchanged(fs: FileSystem) -> None:
    with pytest.raises(errors.IllegalArgument):
        Exchange(fs, "/")


# --- who writes, and how that shows --------------------------------------------------------


def test_file_that_is_being_written_keeps_its_directory_in_place(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    with fs.append("/t/d/old1") as out:
        out.write(b"more")
        out.hflush()
        with pytest.raises(ChangedMeanwhile, match=r"/t/d was written to .*\(old1 is open\)"):
            exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["old1", "old2"]


def test_writer_of_the_last_moment_who_goes_on_gets_its_directory_back(fs: FileSystem) -> None:
    exchange = exchange_of(fs)
    writers = []

    def just_before(real: Renames, src: str, dst: str) -> None:
        if src == "/t/d" and "/.Trash/" in dst:
            writers.append(fs.append("/t/d/old1"))
        real(src, dst)

    with with_renames(fs, just_before), pytest.raises(ChangedMeanwhile):
        exchange.finish()
    with writers[0] as out:
        out.write(b"more")
    assert names(fs, "/t") == ["d"]
    assert fs.open("/t/d/old1").read() == b"1more"


def test_what_others_put_to_new_files_that_go_again_stays(fs: FileSystem) -> None:
    exchange = exchange_of(fs)

    def just_before(real: Renames, src: str, dst: str) -> None:
        if src == "/t/d" and "/.Trash/" in dst:
            put(fs, "/t/d/late", b"3")
        real(src, dst)
        if step_of(src, dst) == 2 and "~ready." in src:
            put(fs, "/t/d/later", b"4")

    with with_renames(fs, just_before), pytest.raises(ChangedMeanwhile):
        exchange.finish()
    assert names(fs, "/t") == ["d"]
    assert names(fs, "/t/d") == ["late", "later", "old1", "old2"]


def test_lines_put_to_a_new_file_that_goes_again_are_said_to_be_in_the_trash(
    fs: FileSystem,
) -> None:
    exchange = exchange_of(fs)

    def just_before(real: Renames, src: str, dst: str) -> None:
        if src == "/t/d" and "/.Trash/" in dst:
            put(fs, "/t/d/late", b"3")
        real(src, dst)
        if step_of(src, dst) == 2 and "~ready." in src:
            with fs.append("/t/d/new") as out:
                out.write(b"4")

    with (
        with_renames(fs, just_before),
        pytest.raises(ChangedMeanwhile, match=r"they are in .*/\.Trash/") as raised,
    ):
        exchange.finish()
    where = str(raised.value).rpartition(" ")[2]
    assert fs.open(f"{where}/new").read() == b"124"
    assert names(fs, "/t/d") == ["late", "old1", "old2"]


# --- what a run that was killed leaves, and others do then ---------------------------------


def killed_before_step(fs: FileSystem, step: int) -> Exchange:
    exchange = exchange_of(fs)

    def until_killed(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) >= step:
            raise Killed
        real(src, dst)

    with with_renames(fs, until_killed), pytest.raises(Killed):
        exchange.finish()
    return exchange


@pytest.mark.parametrize("to_trash", [False, True])
def test_directory_that_is_removed_after_a_kill_does_not_come_back(
    fs: FileSystem, to_trash: bool
) -> None:
    killed_before_step(fs, 1)
    if to_trash:
        assert Trash(fs, now=lambda: 2.0).move("/t/d") is not None
    else:
        fs.delete("/t/d", recursive=True)
    done, (undecided,) = recovered(fs)
    assert done == []
    assert "/t/d was removed since then" in undecided
    (left,) = names(fs, "/t")
    assert left in undecided


def test_old_directory_is_known_in_a_trash_that_was_closed_since(fs: FileSystem) -> None:
    killed_before_step(fs, 2)
    assert Trash(fs, now=lambda: 1e9).checkpoint() is not None
    assert recovered(fs) == (["/t/d"], [])
    assert names(fs, "/t/d") == ["new"]


def test_old_directory_that_is_written_to_in_the_trash_comes_back_after_a_kill(
    fs: FileSystem,
) -> None:
    exchange = exchange_of(fs)
    writers = []

    def until_killed(real: Renames, src: str, dst: str) -> None:
        if step_of(src, dst) >= 2:
            raise Killed
        if step_of(src, dst) == 1:
            writers.append(fs.append("/t/d/old1"))
        real(src, dst)

    with with_renames(fs, until_killed), pytest.raises(Killed):
        exchange.finish()
    done, (undecided,) = recovered(fs)
    assert done == []
    assert "written to when a run was killed" in undecided
    with writers[0] as out:
        out.write(b"more")
    assert names(fs, "/t") == ["d"]
    assert fs.open("/t/d/old1").read() == b"1more"
