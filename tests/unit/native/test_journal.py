"""`DirectWriter` of the kernel: what it writes, what it says of failures, what it refuses.

Its files are real, and so are the devices that fail: /dev/full has no space, and /dev/null is
written but cannot be synced.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from howdah.native.loader import kernel
from howdah.testing.waiting import wait_until

from .running import (
    ALLOCATING,
    DURABLE,
    QUEUED,
    REFUSED,
    STEP_BYTES,
    SYNCING,
    WRITING,
    Running,
)

if TYPE_CHECKING:
    pass


@pytest.fixture
def native() -> ModuleType:
    found = kernel()
    if found is None:
        pytest.skip("the kernel is not built")
    return found


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    path = tmp_path / "segment"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield path, descriptor
    os.close(descriptor)


@pytest.fixture
def bell() -> Iterator[int]:
    descriptor = os.eventfd(0, os.EFD_NONBLOCK)
    yield descriptor
    os.close(descriptor)


def has_rung(bell: int) -> bool:
    try:
        os.eventfd_read(bell)
    except BlockingIOError:
        return False
    return True


def test_what_is_put_is_behind_what_was_written_and_the_rest_is_fill(
    native: ModuleType, file: tuple[Path, int], bell: int
) -> None:
    path, descriptor = file
    os.pwrite(descriptor, b"head", 0)
    writer = native.DirectWriter(bell)
    writer.open([(descriptor, -1, 4, 4)], 10)
    running = Running(writer)
    assert writer.put([b"one", b"two"], 12, False) == QUEUED
    wait_until(lambda: writer.durable() == 12)
    assert writer.put([b"three"], 13, False) == QUEUED
    wait_until(lambda: writer.durable() == 13)
    assert running.end() == ([(15, 4 + STEP_BYTES)], 13, 13, b"")
    assert path.read_bytes() == b"headonetwothree" + b"\xff" * (STEP_BYTES - 11)


def test_a_record_longer_than_a_step_takes_several(
    native: ModuleType, file: tuple[Path, int]
) -> None:
    path, descriptor = file
    writer = native.DirectWriter(-1)
    writer.open([(descriptor, -1, 0, 0)], 0)
    running = Running(writer)
    record = os.urandom(3 * STEP_BYTES + 5)
    writer.put([record], 1, False)
    wait_until(lambda: writer.durable() == 1)
    assert running.end()[0] == [(len(record), 4 * STEP_BYTES)]
    assert path.read_bytes()[: len(record)] == record


def test_every_file_gets_everything(native: ModuleType, tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(3)]
    descriptors = [os.open(path, os.O_RDWR | os.O_CREAT) for path in paths]
    writer = native.DirectWriter(-1)
    writer.open([(each, -1, 0, 0) for each in descriptors], 0)
    running = Running(writer)
    for txid in range(1, 200):
        writer.put([b"%4d" % txid], txid, False)
    wait_until(lambda: writer.durable() == 199)
    states, durable_txid, last_txid, rest = running.end()
    assert states == [(796, STEP_BYTES)] * 3
    assert (durable_txid, last_txid, rest) == (199, 199, b"")
    wanted = b"".join(b"%4d" % txid for txid in range(1, 200))
    assert all(path.read_bytes()[:796] == wanted for path in paths)
    for each in descriptors:
        os.close(each)


def test_the_bell_rings_once_for_who_wants_it_until_it_is_heard(
    native: ModuleType, file: tuple[Path, int], bell: int
) -> None:
    writer = native.DirectWriter(bell)
    writer.open([(file[1], -1, 0, 0)], 0)
    running = Running(writer)

    def is_at(txid: int) -> bool:
        return bool(writer.figures()[0] == txid)

    for txid in (1, 2):
        assert not writer.want(txid)
        writer.put([b"x"], txid, False)
        wait_until(partial(is_at, txid))
    wait_until(lambda: bool(select.select([bell], [], [], 0)[0]))
    assert os.eventfd_read(bell) == 1
    assert writer.durable() == 2
    assert writer.want(2), "it is durable"
    assert not writer.want(3)
    writer.put([b"x"], 3, False)
    wait_until(lambda: bool(select.select([bell], [], [], 0)[0]))
    assert writer.durable() == 3
    assert not has_rung(bell), "who asks has heard it"
    writer.put([b"x"], 4, False)
    wait_until(lambda: writer.look() == 4)
    running.end()
    assert not has_rung(bell), "nobody wanted to know"


def test_the_bell_waits_for_the_transaction_that_is_wanted(
    native: ModuleType, file: tuple[Path, int], bell: int
) -> None:
    writer = native.DirectWriter(bell)
    writer.open([(file[1], -1, 0, 0)], 0)
    running = Running(writer)
    assert not writer.want(5)
    assert not writer.want(2)
    writer.put([b"x"], 1, False)
    wait_until(lambda: writer.look() == 1)
    running.end()
    assert not has_rung(bell)
    writer.open([(file[1], -1, 1, 1)], 1)
    running = Running(writer)
    writer.put([b"x"], 3, False)
    wait_until(lambda: writer.look() == 3)
    running.end()
    assert has_rung(bell), "the lowest counts; who wants more has to say so again"


def test_now_is_durable_on_return_and_rings_no_bell(native: ModuleType, bell: int) -> None:
    descriptor = os.memfd_create("segment")  # Its syncs are quick.
    writer = native.DirectWriter(bell)
    writer.open([(descriptor, -1, 0, 0)], 0)
    running = Running(writer)
    txid = 0

    def is_done_at_once() -> bool:
        """Not where the thread is still on its way, or was kept from its processor."""
        nonlocal txid
        txid += 1
        took = writer.put([b"record"], txid, True)
        if took == DURABLE:
            assert writer.figures()[0] == txid
            assert not has_rung(bell)
            return True
        wait_until(lambda: writer.durable() == txid)
        return False

    wait_until(is_done_at_once)
    assert running.end()[0] == [(6 * txid, STEP_BYTES)]
    assert os.pread(descriptor, 6 * txid, 0) == b"record" * txid
    os.close(descriptor)


def test_what_was_put_and_not_written_is_given_back(
    native: ModuleType, file: tuple[Path, int]
) -> None:
    writer = native.DirectWriter(-1)
    writer.open([(file[1], -1, 0, 0)], 7)
    assert writer.put([b"ab", b"c"], 9, True) == QUEUED, "nobody runs"
    assert writer.put([b"d"], 10, False) == QUEUED
    assert writer.close() == ([(0, 0)], 7, 10, b"abcd")
    assert writer.put([b"e"], 11, False) == REFUSED
    writer.open([(file[1], -1, 0, 0)], 10)
    assert writer.put([b"e"], 11, False) == QUEUED
    assert Running(writer).end()[1:] in ((11, 11, b""), (10, 11, b"e"))


@pytest.mark.req("FS-030")
@pytest.mark.parametrize("now", [False, True])
@pytest.mark.parametrize(
    ("device", "step", "code"),
    [("/dev/full", ALLOCATING, errno.ENOSPC), ("/dev/null", SYNCING, errno.EINVAL)],
)
def test_a_failure_names_file_step_and_errno_and_loses_nothing(
    native: ModuleType, file: tuple[Path, int], device: str, step: int, code: int, now: bool
) -> None:
    bad = os.open(device, os.O_RDWR)
    writer = native.DirectWriter(-1)
    writer.open([(file[1], -1, 0, 0), (bad, -1, 0, 0)], 0)
    running = Running(writer)
    assert writer.put([b"one"], 1, now) == QUEUED
    assert running.join() == (1, step, code)
    assert writer.put([b"two"], 2, now) == REFUSED
    states, durable_txid, last_txid, rest = writer.close()
    assert (durable_txid, last_txid, rest) == (0, 1, b"one")
    assert [written for written, _ in states] == [0, 0], "what is not everywhere is nowhere"
    assert writer.durable() == 0
    os.close(bad)


def test_a_record_that_cannot_be_written_is_a_failure_of_writing(
    native: ModuleType, file: tuple[Path, int]
) -> None:
    bad = os.open("/dev/full", os.O_RDWR)
    writer = native.DirectWriter(-1)
    writer.open([(bad, -1, 0, STEP_BYTES)], 0)
    running = Running(writer)
    writer.put([b"one"], 1, False)
    assert running.join() == (0, WRITING, errno.ENOSPC)
    writer.close()
    os.close(bad)


def test_syncs_are_counted_by_how_long_they_took(
    native: ModuleType, file: tuple[Path, int]
) -> None:
    writer = native.DirectWriter(-1)
    writer.open([(file[1], -1, 0, 0)], 0)
    running = Running(writer)
    writer.put([b"a", b"b"], 2, False)
    wait_until(lambda: writer.durable() == 2)
    transactions, syncs, total_ns, buckets = writer.figures()
    assert (transactions, syncs, sum(buckets), len(buckets)) == (2, 1, 1, 64)
    assert buckets[(total_ns >> 10).bit_length()] == 1
    running.end()


@pytest.mark.parametrize(
    "act",
    [
        lambda w: w.open(),
        lambda w: w.open([], 0),
        lambda w: w.open([(1, -1, 0, 0)] * 65, 0),
        lambda w: w.open([(-1, -1, 0, 0)], 0),
        lambda w: w.open([(1, -2, 0, 0)], 0),
        lambda w: w.open([(1, -1, -1, 0)], 0),
        lambda w: w.open([(1, -1, 2, 1)], 0),
        lambda w: w.open([(1, -1, 2)], 0),
        lambda w: w.open([[1, -1, 2, 3]], 0),
        lambda w: w.open([(1, -1, 1 << 70, 0)], 0),
        lambda w: w.open(((1, -1, 2, 3),), 0),
        lambda w: w.open([(1, -1, 0, 0)], "0"),
        lambda w: w.open([(1, -1, 0, 0)], 1 << 63),
        lambda w: w.put([b"a"], 1),
        lambda w: w.put((b"a",), 1, False),
        lambda w: w.put([b"a", "b"], 1, False),
        lambda w: w.put([bytearray(b"a")], 1, False),
        lambda w: w.put([b"a"], "1", False),
        lambda w: w.put([b"a"], 1 << 64, False),
        lambda w: w.run(),
        lambda w: w.run(1),
        lambda w: w.close(),
        lambda w: w.interrupt(1),
        lambda w: w.durable(1),
        lambda w: w.figures(1),
    ],
)
def test_what_makes_no_sense_is_refused_while_it_is_closed(
    native: ModuleType, act: Callable[[Any], object]
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError)):
        act(native.DirectWriter(-1))


def test_what_makes_no_sense_is_refused_while_it_is_open(
    native: ModuleType, file: tuple[Path, int]
) -> None:
    writer = native.DirectWriter(-1)
    writer.open([(file[1], -1, 0, 0)], 5)
    with pytest.raises(RuntimeError, match="open already"):
        writer.open([(file[1], -1, 0, 0)], 5)
    for records, last_txid in (([b"a"], 5), ([b"a"], 4), ([], 6), ([b""], 6)):
        with pytest.raises(ValueError, match="transactions only rise"):
            writer.put(records, last_txid, False)
    running = Running(writer)
    writer.put([b"a"], 6, False)
    wait_until(lambda: writer.durable() == 6)
    for act in (writer.run, writer.close):
        with pytest.raises(RuntimeError, match="run"):
            act()
    running.end()
    for arguments in ((), ("1",), (1, 2)):
        with pytest.raises(TypeError):
            native.DirectWriter(*arguments)
    with pytest.raises(TypeError):
        native.DirectWriter(bell=1)


def test_nothing_that_it_was_given_is_kept(native: ModuleType, file: tuple[Path, int]) -> None:
    writer = native.DirectWriter(-1)
    record = os.urandom(100)
    files = [(file[1], -1, 0, 0)]
    records = [record]
    before = [sys.getrefcount(each) for each in (record, files, files[0], records)]
    for txid in range(50):
        writer.open(files, txid)
        writer.put(records, txid + 1, False)
        writer.close()
        writer.figures()
    assert [sys.getrefcount(each) for each in (record, files, files[0], records)] == before
    kind = type(writer)
    count = sys.getrefcount(kind)
    for _ in range(50):
        native.DirectWriter(-1)
    assert sys.getrefcount(kind) == count
