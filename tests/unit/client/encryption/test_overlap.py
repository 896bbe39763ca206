"""Large reads in encryption zones: parts are decrypted while the next ones are received."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from howdah import errors
from howdah.client.encryption import input as encrypted_input
from howdah.client.encryption import overlap
from howdah.client.encryption.overlap import OverlappedDecryption
from howdah.client.reading.input import DFSInputStream
from howdah.client.thread_pool import Workers
from howdah.testing.waiting import wait_until
from tests.unit.client.conftest import FakeCluster
from tests.unit.client.encryption.test_streams import CIPHER, DATA, Zone, encrypted

PART = 10_000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large begins at two bytes, whatever the number of processors is."""
    monkeypatch.setattr(encrypted_input, "LEAST_BYTES", 2)
    monkeypatch.setattr(overlap, "_PART_BYTES", PART)
    monkeypatch.setattr(overlap, "_IS_ALONE", False)


@pytest.fixture
def zone(cluster: FakeCluster) -> Zone:
    zone = Zone(cluster)
    zone.put(DATA)
    return zone


@pytest.mark.parametrize("size", [3, PART - 1, PART, 3 * PART + 7, len(DATA), len(DATA) + 1])
def test_sequential_reads_of_any_size_give_plain_text(zone: Zone, size: int) -> None:
    with zone.client().open("/f") as stream:
        buffer, read = bytearray(size), bytearray()
        while count := stream.readinto(buffer):
            read += buffer[:count]
            if len(read) > len(DATA):
                break
        assert read == DATA


def test_seeks_positions_and_the_whole_give_plain_text(zone: Zone) -> None:
    with zone.client().open("/f") as stream:
        assert stream.readall() == DATA
        stream.seek(12_345)
        assert stream.readall() == DATA[12_345:]
        for offset, length in ((0, len(DATA)), (17, 5 * PART), (64 * 1024 - 3, PART + 6)):
            assert stream.pread(offset, length) == DATA[offset : offset + length]


def test_what_came_before_a_failure_is_delivered_and_the_failure_is_met_again(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_some = DFSInputStream._read_some
    calls: list[int] = []

    def failing(stream: DFSInputStream, view: memoryview) -> int:
        calls.append(len(view))
        if len(calls) in (3, 4):
            raise errors.RemoteError("no replica is left")
        return read_some(stream, view[: PART + 100])

    monkeypatch.setattr(DFSInputStream, "_read_some", failing)
    with zone.client().open("/f") as stream:
        buffer = bytearray(len(DATA))
        count = stream.readinto(buffer)
        assert 0 < count < len(DATA)
        assert buffer[:count] == DATA[:count]
        with pytest.raises(errors.RemoteError, match="no replica"):
            stream.readinto(buffer)
        assert stream.tell() == count
        assert stream.readall() == DATA[count:]


def test_parts_are_decrypted_by_other_threads_until_none_is_free() -> None:
    by: list[threading.Thread] = []

    class Noting:
        def apply(self, offset: int, view: memoryview) -> None:
            by.append(threading.current_thread())
            CIPHER.apply(offset, view)

    buffer = bytearray(encrypted(DATA))
    workers, release = Workers(1, "decrypts"), threading.Event()
    with OverlappedDecryption(Noting(), workers) as decryption:  # type: ignore[arg-type]
        _add(decryption, buffer, 0, PART)
        wait_until(lambda: bool(by))
        held = workers.submit(release.wait)
        _add(decryption, buffer, PART, len(DATA))
        release.set()
        held.result()
    assert buffer == DATA
    assert by[0].name == "decrypts"
    assert set(by[1:]) == {threading.current_thread()}


def test_a_buffer_is_whole_when_a_read_was_interrupted() -> None:
    buffer = bytearray(encrypted(DATA))

    def read() -> None:
        with OverlappedDecryption(CIPHER) as decryption:
            _add(decryption, buffer, 0, 5 * PART)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read()
    assert buffer[: 5 * PART] == DATA[: 5 * PART]
    assert buffer[5 * PART :] == encrypted(DATA)[5 * PART :]


def test_who_interrupts_the_end_of_a_read_waits_for_its_threads() -> None:
    class Slow(Future[None]):
        """Is interrupted once while it is waited for."""

        is_interrupted = False

        def exception(self, timeout: float | None = None) -> BaseException | None:
            if not self.is_interrupted:
                self.is_interrupted = True
                raise KeyboardInterrupt
            self.set_result(None)
            return super().exception(timeout)

    class Workers:
        def try_submit(self, task: Callable[[], None]) -> Slow:
            task()
            slow.append(Slow())
            return slow[-1]

    slow: list[Slow] = []
    buffer = bytearray(encrypted(DATA))

    def read() -> None:
        with OverlappedDecryption(CIPHER, Workers()) as decryption:  # type: ignore[arg-type]
            _add(decryption, buffer, 0, len(DATA))

    with pytest.raises(KeyboardInterrupt):
        read()
    assert len(slow) > 1
    assert all(future.done() for future in slow)
    assert buffer == DATA


def test_pieces_that_do_not_follow_each_other_are_told_apart() -> None:
    whole = encrypted(DATA)
    first, second = bytearray(whole[100:200]), bytearray(whole[5000:5003])
    with OverlappedDecryption(CIPHER) as decryption:
        decryption.add(100, memoryview(first), 100)
        decryption.add(5000, memoryview(second), 3)
    assert bytes(first) == DATA[100:200]
    assert bytes(second) == DATA[5000:5003]


def _add(decryption: OverlappedDecryption, buffer: bytearray, start: int, end: int) -> None:
    for offset in range(start, end, 1000):
        decryption.add(offset, memoryview(buffer)[offset:], min(1000, end - offset))
