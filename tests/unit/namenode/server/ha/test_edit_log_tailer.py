"""A standby follows the log: what it reads, when it asks for a roll, and what may fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest
import uvloop

from howdah import errors
from howdah.formats.edits import edits
from howdah.formats.edits.edits import LoggedEdit
from howdah.namenode.server.ha import edit_log_tailer
from howdah.namenode.server.ha.edit_log_tailer import EditLogTailer, TailSettings
from howdah.testing.in_memory import InMemoryNamenode

PERMISSION = edits.Permission("root", "root", 0o755)


class Log:
    """A shared log of directories `/1`, `/2` and so on, up to `end`."""

    name = "the shared log"

    def __init__(self) -> None:
        self.end = 0
        self.failure: Exception | None = None
        self.reading = 0
        self.most = 0
        self.gate = threading.Event()
        self.gate.set()

    def edits(self, from_txid: int, *, unfinished: bool) -> Iterator[LoggedEdit]:
        self.reading += 1
        self.most = max(self.most, self.reading)
        try:
            for txid in range(from_txid, self.end + 1):
                self.gate.wait()
                if self.failure is not None:
                    raise self.failure
                edit = edits.MkdirOp(16385 + txid, f"/{txid}", 0, PERMISSION, ())
                yield LoggedEdit(txid, edit)
            if self.failure is not None:
                raise self.failure
        finally:
            self.reading -= 1


class World:
    def __init__(self, roll_period_s: float = -1) -> None:
        self.log = Log()
        namenode = InMemoryNamenode()
        self.namesystem, self.clock = namenode.namesystem, namenode.clock
        self.namesystem.become_standby()
        self.begin = self.namesystem.last_txid
        self.log.end = self.begin
        self.rolls: list[int] = []
        self.applied = 0
        self.tailing = EditLogTailer(
            self.namesystem,
            self.log,  # type: ignore[arg-type]  # what tailing uses of it
            TailSettings(0.001, True, roll_period_s),
            ask_for_roll=self.roll,
            applied=self.count,
        )

    def roll(self) -> None:
        self.rolls.append(self.namesystem.last_txid)

    def count(self) -> None:
        self.applied += 1

    async def until(self, txid: int) -> None:
        while self.namesystem.last_txid < txid:
            await asyncio.sleep(0.001)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(scenario(), 60))


def test_it_goes_on_where_it_was_and_is_told_after_each_slice() -> None:
    async def scenario() -> None:
        world = World()
        world.tailing.start()
        for _ in range(3):
            world.log.end += edit_log_tailer.SLICE_EDITS + 1
            await world.until(world.log.end)
        assert world.applied >= 6
        assert not world.namesystem.is_behind
        await world.tailing.stop()

    run(scenario)


def test_nothing_is_applied_after_it_was_ended() -> None:
    async def scenario() -> None:
        world = World()
        world.log.end += 10 * edit_log_tailer.SLICE_EDITS
        world.tailing.start()
        await world.until(world.begin + 1)
        world.tailing.end()
        stopped_at = world.namesystem.last_txid
        await world.tailing.stop()
        assert world.namesystem.last_txid == stopped_at < world.log.end
        await world.tailing.catch_up()
        assert world.namesystem.last_txid == world.log.end

    run(scenario)


@pytest.mark.parametrize("slices", [1, 2, 5])
def test_a_takeover_in_the_middle_of_a_batch_applies_each_edit_once(slices: int) -> None:
    """It stops the tail between two slices of what was read, and reads the rest itself."""

    async def scenario() -> None:
        world = World()
        world.log.end += 10 * edit_log_tailer.SLICE_EDITS
        stopped: list[asyncio.Task[None]] = []
        applied_at_stop: list[int] = []

        async def take_over() -> None:
            await world.tailing.stop()
            applied_at_stop.append(world.namesystem.last_txid)
            # Whoever catches up has the log for itself.
            assert world.log.reading == 0
            await world.tailing.catch_up()

        def applied() -> None:
            world.count()
            if world.applied == slices:
                stopped.append(asyncio.ensure_future(take_over()))

        world.tailing._applied = applied
        world.tailing.start()
        await world.until(world.begin + slices * edit_log_tailer.SLICE_EDITS)
        await stopped[0]
        # One more slice at most: `stop` has its turn behind it.
        assert world.begin + slices * edit_log_tailer.SLICE_EDITS <= applied_at_stop[0]
        assert applied_at_stop[0] <= world.begin + (slices + 1) * edit_log_tailer.SLICE_EDITS
        assert world.namesystem.last_txid == world.log.end
        assert world.log.most == 1

    run(scenario)


def test_a_stop_waits_for_a_reading_that_is_under_way() -> None:
    async def scenario() -> None:
        world = World()
        world.log.end += 5
        world.log.gate.clear()
        world.tailing.start()
        while not world.log.reading:
            await asyncio.sleep(0.001)
        stop = asyncio.ensure_future(world.tailing.stop())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not stop.done()
        world.log.gate.set()
        await stop
        # What was read is not applied any more.
        assert (world.log.reading, world.namesystem.last_txid) == (0, world.begin)

    run(scenario)


def test_one_reads_at_a_time_though_it_ends_and_starts_again() -> None:
    async def scenario() -> None:
        world = World()
        world.log.end += 5
        world.log.gate.clear()
        world.tailing.start()
        while not world.log.reading:
            await asyncio.sleep(0.001)
        world.tailing.end()
        world.tailing.start()
        await asyncio.sleep(0)
        world.log.gate.set()
        await world.until(world.log.end)
        assert world.log.most == 1
        await world.tailing.stop()

    run(scenario)


@pytest.mark.parametrize("failure", [OSError("gone"), errors.CorruptEditLog("gone")])
def test_a_log_that_cannot_be_read_is_read_again_and_said_once(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def scenario() -> None:
        world = World()
        world.log.failure = failure
        world.tailing.start()
        while not world.tailing.failure:
            await asyncio.sleep(0.001)
        # The same trouble in other words: of several nodes another one fails first.
        world.log.failure = OSError("gone, too")
        while world.tailing.failure != "gone, too":
            await asyncio.sleep(0.001)
        world.log.failure = None
        world.log.end += 1
        await world.until(world.log.end)
        while world.tailing.failure:
            await asyncio.sleep(0.001)
        await world.tailing.stop()

    run(scenario)
    assert caplog.text.count("is read again later") == 1
    assert "the shared log the shared log is read again later: gone\n" in caplog.text
    assert caplog.text.count("is read again\n") == 1


def test_a_defect_in_reading_does_not_end_the_tail() -> None:
    async def scenario() -> None:
        world = World()
        world.log.failure = ZeroDivisionError("a bug")
        world.tailing.start()
        while not world.tailing.failure:
            await asyncio.sleep(0.001)
        assert "ZeroDivisionError" in world.tailing.failure
        world.log.failure = None
        world.log.end += 1
        await world.until(world.log.end)
        await world.tailing.stop()

    run(scenario)


@pytest.mark.req("FS-055")
def test_a_roll_is_asked_for_once_as_long_as_it_brings_nothing() -> None:
    async def scenario() -> None:
        world = World(roll_period_s=0)
        world.log.end += 1
        world.tailing.start()
        await world.until(world.log.end)
        while len(world.rolls) < 1:
            world.clock.advance(1)
            await asyncio.sleep(0.001)
        read_ms = world.tailing.last_read_ms
        while world.tailing.last_read_ms < read_ms + 10:
            world.clock.advance(1)
            await asyncio.sleep(0.001)
        assert len(world.rolls) == 1
        world.log.end += 1
        while len(world.rolls) < 2:
            world.clock.advance(1)
            await asyncio.sleep(0.001)
        await world.tailing.stop()

    run(scenario)


@pytest.mark.req("FS-063", "LM-014")
def test_an_active_that_hangs_on_a_roll_holds_up_no_takeover_and_no_end() -> None:
    hangs, asked = threading.Event(), threading.Event()
    gave_up = threading.Event()

    def hang() -> None:
        asked.set()
        if not hangs.wait(20):
            gave_up.set()

    async def scenario() -> None:
        world = World(roll_period_s=0)

        world.tailing._ask_for_roll = hang
        world.log.end += 1
        world.tailing.start()
        while not asked.is_set():
            world.clock.advance(1)
            await asyncio.sleep(0.001)
        await world.tailing.stop()
        await world.tailing.catch_up()

    run(scenario)
    assert not gave_up.is_set(), "the loop has ended while the other one hangs"
    hangs.set()


def test_the_log_is_followed_on_after_a_roll_that_met_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        world = World()

        def defect() -> None:
            world.rolls.append(0)
            raise RuntimeError("a defect of this test")

        monkeypatch.setattr(world.tailing, "_roll_if_long", defect)
        world.tailing.start()
        while not world.rolls:
            await asyncio.sleep(0.001)
        world.log.end += 1
        await world.until(world.log.end)
        await world.tailing.stop()

    run(scenario)
