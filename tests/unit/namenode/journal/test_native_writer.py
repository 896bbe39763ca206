"""The edit log with the kernel's writer and without: the same files, the same words."""

from __future__ import annotations

import errno
import logging
import os
import select
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal import native_writer
from howdah.namenode.journal.directories import DirectorySet, directory_set
from howdah.namenode.journal.edit_log import EditLog, LogFigures
from howdah.namenode.journal.native_writer import DirectLog, direct_log
from howdah.native.loader import kernel
from howdah.runtime import disk
from howdah.storage.segments import list_segments, read_segment, recover_segment
from howdah.testing.waiting import wait_until
from tests.support.site_faults import Gate

FAILING = {"/dev/full": errno.ENOSPC, "/dev/null": errno.EINVAL}
"""Devices that cannot be written, or not be synced, and what is said of that."""


class Loop:
    """Hears the bell, as a namenode's loop does, and what the log's thread says."""

    def __init__(self) -> None:
        self.durable_txid = 0
        self.failures: list[str] = []
        self._lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def durable(self, txid: int) -> None:
        with self._lock:
            self.durable_txid = max(txid, self.durable_txid)

    def listen(self, found: DirectLog | None) -> None:
        if found is not None:
            self._thread = threading.Thread(target=self._hear, args=[found])
            self._thread.start()

    def _hear(self, found: DirectLog) -> None:
        poll = select.poll()
        poll.register(found.bell, select.POLLIN)
        while not self._stopping:
            if poll.poll(20):
                self.durable(found.durable_txid())

    def stop(self) -> None:
        self._stopping = True
        if self._thread is not None:
            self._thread.join()


class World:
    """A log in two directories."""

    def __init__(self, root: Path, *, is_direct: bool, minimum: int = 1) -> None:
        self.directories = [root / name / "current" for name in ("a", "b")]
        for each in self.directories:
            each.mkdir(parents=True)
        self.loop = Loop()
        self.figures = LogFigures()
        self.direct = direct_log() if is_direct else None
        self.journals: DirectorySet = directory_set(self.directories, minimum=minimum)
        self.log = EditLog(
            self.journals,
            0,
            on_durable=self.loop.durable,
            on_failure=self.loop.failures.append,
            figures=self.figures,
            direct=self.direct,
        )
        self.loop.durable(self.log.durable_txid)
        self.loop.listen(self.direct)

    def write(self, count: int, *, now: bool = False) -> int:
        first = self.log.last_txid + 1
        is_durable = self.log.append(
            [
                encode_record(txid, edits.SetGenstampV2Op(txid))
                for txid in range(first, first + count)
            ],
            now=now,
        )
        if is_durable:
            self.loop.durable(self.log.last_txid)
        return self.log.last_txid

    def wait_durable(self) -> None:
        txid = self.log.last_txid
        if self.log.want(txid):
            self.loop.durable(self.log.poll_durable())
        wait_until(lambda: self.loop.durable_txid == txid)

    def wait_lent(self) -> None:
        if self.direct is not None:
            wait_until(lambda: self.log._is_direct)

    def spoil(self, name: str, device: str) -> int:
        """What is written to the segment in a directory goes to a device instead; what `errno`
        comes of that."""
        number = [each.parent.name for each in self.directories].index(name)
        writer = self.journals._working[number]._writer
        assert writer is not None
        assert writer._descriptor is not None
        put_over(writer._descriptor, device)
        if writer._past_cache is None or writer._past_cache < 0:
            return FAILING[device]
        # Past the cache there is no sync that could fail.
        put_over(writer._past_cache, "/dev/full")
        return FAILING["/dev/full"]

    def end(self) -> None:
        self.loop.stop()
        if self.direct is not None:
            self.direct.close()


def put_over(descriptor: int, device: str) -> None:
    other = os.open(device, os.O_RDWR)
    os.dup2(other, descriptor)
    os.close(other)


@pytest.fixture(params=["kernel", "kernel through the cache", "python"])
def make(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., World]]:
    is_direct = request.param != "python"
    if is_direct and kernel() is None:
        pytest.skip("the kernel is not built")
    if request.param == "kernel through the cache":
        monkeypatch.setattr(disk, "open_past_cache", lambda path: -1)
    made: list[World] = []

    def make(*, minimum: int = 1) -> World:
        world = World(tmp_path / str(len(made)), is_direct=is_direct, minimum=minimum)
        made.append(world)
        return world

    yield make
    for each in made:
        each.end()


def segments(directory: Path) -> dict[str, list[int]]:
    found = {}
    for segment in list_segments(directory):
        found[segment.path.name] = [placed.logged.txid for placed in read_segment(segment)]
    return found


@pytest.mark.req("FS-030")
@settings(max_examples=12, deadline=None)
@given(acts=st.lists(st.sampled_from(["1", "5", "now", "roll", "wait", "lent"]), max_size=25))
def test_whatever_comes_between_the_files_are_the_same(
    acts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    files: list[dict[str, bytes]] = []
    for is_direct in (True, False):
        world = World(tmp_path_factory.mktemp("log"), is_direct=is_direct)
        for act in acts:
            if act == "roll":
                world.log.roll()
            elif act == "wait":
                world.wait_durable()
            elif act == "lent":
                world.wait_durable()
                world.wait_lent()
            else:
                world.write(5 if act == "5" else 1, now=act == "now")
        world.log.close()
        world.end()
        assert not world.loop.failures
        assert world.log.durable_txid == world.log.last_txid
        # The beginning of each log is written before anybody counts.
        assert world.figures.transactions == world.log.last_txid - 1 - acts.count("roll")
        for directory in world.directories:
            files.append({each.name: each.read_bytes() for each in directory.glob("edits_*")})
    assert files[1:] == files[:-1]


@pytest.mark.req("FS-030")
def test_edits_are_durable_in_every_directory_before_they_are_called_so(
    make: Callable[..., World],
) -> None:
    world = make()
    for count in (1, 3, 40):
        last = world.write(count)
        world.wait_durable()
        for directory in world.directories:
            (found,) = segments(directory).values()
            assert found == list(range(1, last + 1))
    world.log.abandon()
    for directory in world.directories:
        (segment,) = list_segments(directory)
        _, end = recover_segment(segment)
        assert (end.last_txid, end.torn_bytes) == (45, 0), "as if the process had died"


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("now", [False, True])
@pytest.mark.parametrize("device", FAILING)
def test_a_directory_that_fails_is_dropped_and_named_and_the_other_goes_on(
    make: Callable[..., World],
    device: str,
    now: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = make()
    world.write(3)
    world.wait_durable()
    world.wait_lent()
    code = world.spoil("a", device)
    with caplog.at_level(logging.ERROR):
        world.write(4, now=now)
        world.wait_durable()
    bad, good = world.directories
    path = bad / "edits_inprogress_0000000000000000001"
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"edits directory {bad.parent} failed and is dropped: "
        f"[Errno {code}] {os.strerror(code)}: '{path}'"
    ]
    world.wait_lent()
    last = world.write(2, now=now)
    world.wait_durable()
    world.log.roll()
    world.write(1)
    world.log.close()
    assert not world.loop.failures
    found = segments(good)
    assert [txid for txids in found.values() for txid in txids] == list(range(1, last + 5))
    assert len(found) == 2


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("now", [False, True])
def test_where_too_few_are_left_nothing_is_durable_any_more(
    make: Callable[..., World], now: bool
) -> None:
    world = make(minimum=2)
    before = world.write(3)
    world.wait_durable()
    world.wait_lent()
    world.spoil("b", "/dev/null")
    world.write(1, now=now)
    wait_until(lambda: bool(world.loop.failures))
    world.write(1, now=now)
    (why,) = world.loop.failures
    assert why.startswith("only 1 edits directories are left that can be written, and 2 have to")
    assert world.loop.durable_txid == before
    with pytest.raises(OSError, match="only 1 edits directories"):
        world.log.close()


def test_a_burst_during_a_roll_stays_in_order(make: Callable[..., World]) -> None:
    world = make()
    for number in range(30):
        world.write(2)
        if number % 5 == 4:
            world.log.roll()
    world.wait_durable()
    world.log.close()
    for directory in world.directories:
        found = segments(directory)
        assert [txid for txids in found.values() for txid in txids] == list(
            range(1, world.log.last_txid + 1)
        )
        assert len(found) == 7


def test_a_test_that_watches_every_write_gets_every_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(disk, "gate", Gate())
    assert direct_log() is None


def test_without_a_kernel_the_log_is_written_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_writer, "kernel", lambda: None)
    assert direct_log() is None
