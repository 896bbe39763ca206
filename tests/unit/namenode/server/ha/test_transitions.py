"""A change of role that fails at any step leaves one of the two roles, or ends the process."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.server.ha import transitions
from howdah.namenode.server.process.resources import Resources
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.protocols.ha_service import HAService
from howdah.proto import ha_pb2
from tests.support.namenode_pair import Pair, become, call, caught_up, mkdir, run

ACTIVE, STANDBY, OBSERVER = HAState.ACTIVE, HAState.STANDBY, HAState.OBSERVER


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    pair.format()
    return pair


def fail(*args: object, **options: object) -> Any:
    raise OSError("the disk says no")


async def fail_later(*args: object, **options: object) -> Any:
    raise OSError("the disk says no")


def parts(namenode: Namenode) -> transitions.Transitions:
    assert namenode.ha is not None
    assert namenode.ha._transitions is not None
    return namenode.ha._transitions


STEPS: dict[str, Callable[[pytest.MonkeyPatch, Namenode], None]] = {
    "2 the log is taken over": lambda patched, namenode: patched.setattr(
        parts(namenode)._shared, "take_over", fail
    ),
    "3 the rest is read": lambda patched, namenode: patched.setattr(
        parts(namenode)._tailing, "catch_up", fail_later
    ),
    "4 the end is compared": lambda patched, namenode: patched.setattr(
        parts(namenode), "_seen_txid", fail
    ),
    "4 strays are set aside": lambda patched, namenode: patched.setattr(
        transitions, "set_strays_aside", fail
    ),
    "5 a segment begins here": lambda patched, namenode: patched.setattr(
        "howdah.namenode.server.ha.log_writer.EditLog", fail
    ),
    "5 a segment begins in the shared log": lambda patched, namenode: patched.setattr(
        "howdah.namenode.journal.shared_directory.SharedDirectoryJournal.begin_segment", fail
    ),
    "6 the lease is waited for": lambda patched, namenode: patched.setattr(
        parts(namenode), "_wait_for_lease", fail_later
    ),
    "7 the role changes": lambda patched, namenode: patched.setattr(namenode.active, "start", fail),
}


@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.req("FS-065", "FS-069")
def test_a_takeover_that_fails_leaves_a_standby_and_a_log_that_others_can_have(
    pair: Pair, step: str, dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/before")
        pair.kill("nn0")
        with monkeypatch.context() as patched:
            STEPS[step](patched, standby)
            with pytest.raises(errors.ServiceFailed, match="the disk says no"):
                await become(standby, ACTIVE)
        assert standby.roles.state is STANDBY
        with pytest.raises(errors.StandbyError):
            await mkdir(standby, "/refused")
        assert not standby.log_writer.is_open
        if dies:
            pair.kill("nn1")
        other = pair.start("nn0")
        await become(other, ACTIVE)
        await mkdir(other, "/by-another")
        if dies:
            standby = pair.start("nn1")
        await caught_up(standby, other.namesystem.last_txid)
        await become(other, STANDBY)
        await become(standby, ACTIVE)
        await mkdir(standby, "/after")
        for path in ("/before", "/by-another", "/after"):
            assert standby.namesystem.namespace.find(path) is not None

    run(pair, scenario)


@pytest.mark.parametrize("who", ["the log", "the namenode"])
@pytest.mark.req("FS-030", "FS-065")
def test_a_shared_log_that_lost_its_newest_segment_is_not_taken_over(pair: Pair, who: str) -> None:
    """It was begun, and its start was durable: what it held was acknowledged."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/acknowledged")
        pair.kill("nn0")
        (newest,) = (pair.shared / "current").glob("edits_inprogress_*")
        newest.unlink()
        if who == "the namenode":
            (pair.shared / "current" / "seen_txid").write_bytes(b"0\n")
        standby = pair.start("nn1" if who == "the log" else "nn0")
        with pytest.raises(errors.ServiceFailed, match=r"but it had reached 1 by seen_txid"):
            await become(standby, ACTIVE)

    run(pair, scenario)


def no_thread(*args: object, **options: object) -> Any:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    "missing",
    [(ThreadPoolExecutor, "submit"), (threading.Thread, "start")],
    ids=["in the executor", "beside"],
)
@pytest.mark.req("FS-065", "FS-069")
def test_who_finds_no_thread_to_take_over_stays_a_standby_and_gives_the_log_up(
    pair: Pair, missing: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        first, second = pair.start("nn0"), pair.start("nn1")
        with monkeypatch.context() as patched:
            patched.setattr(*missing, no_thread)
            with pytest.raises(errors.ServiceFailed, match="there is no thread for"):
                await become(first, ACTIVE)
        assert first.roles.state is STANDBY
        assert not first.log_writer.is_open
        await become(second, ACTIVE)
        await mkdir(second, "/by-another")
        await caught_up(first, second.namesystem.last_txid)

    run(pair, scenario)


@pytest.mark.req("FS-052")
def test_an_active_steps_down_where_there_is_no_thread(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(pair: Pair) -> None:
        first, second = pair.start("nn0"), pair.start("nn1")
        await become(first, ACTIVE)
        await mkdir(first, "/a")
        with monkeypatch.context() as patched:
            patched.setattr(ThreadPoolExecutor, "submit", no_thread)
            await become(first, STANDBY)
        assert "no thread for the end of the log" in caplog.text
        await become(second, ACTIVE)
        assert second.namesystem.namespace.find("/a") is not None

    run(pair, scenario)


@pytest.mark.req("FS-052", "FS-053")
def test_a_handover_is_in_the_log_of_both(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """Of the one that was active no other line tells when it stopped, and where its log ends."""

    async def scenario(pair: Pair) -> None:
        former = pair.start("nn0")
        with caplog.at_level(logging.INFO):
            await become(former, ACTIVE)
            await become(former, STANDBY)
        said = [record.getMessage() for record in caplog.records]
        began = said.index("the namenode is active and becomes standby")
        last_txid = former.namesystem.last_txid
        (ended,) = (n for n, line in enumerate(said) if "standby from transaction" in line)
        assert f"standby from transaction {last_txid} on, after" in said[ended]
        assert said.index("the namenode is standby and becomes active") < began < ended
        assert f"the log is closed at transaction {last_txid}" in said[began:ended]

    run(pair, scenario)


@pytest.mark.req("FS-071", "LM-017")
def test_nobody_takes_the_log_of_an_active_that_holds_its_lock(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        with pytest.raises(errors.ServiceFailed, match="in use by"):
            await become(standby, ACTIVE)
        await mkdir(active, "/a")
        await caught_up(standby, active.namesystem.last_txid)

    run(pair, scenario)


def test_a_defect_on_the_way_leaves_a_standby_too(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        standby = pair.start("nn1")

        def defect(*args: object) -> None:
            raise ZeroDivisionError("a bug")

        with monkeypatch.context() as patched:
            patched.setattr(transitions, "set_strays_aside", defect)
            with pytest.raises(errors.ServiceFailed, match="ZeroDivisionError: a bug"):
                await become(standby, ACTIVE)
        assert standby.roles.state is STANDBY
        await become(standby, ACTIVE)

    run(pair, scenario)


@pytest.mark.req("FS-065")
def test_a_shared_log_that_has_lost_its_end_is_refused(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        await become(namenode, ACTIVE)
        await mkdir(namenode, "/a")
        namenode.log_writer.roll()
        await mkdir(namenode, "/b")
        await become(namenode, STANDBY)
        pair.kill("nn0")
        for segment in (pair.shared / "current").glob("edits_*"):
            segment.unlink()
        again = pair.start("nn0")
        with pytest.raises(errors.ServiceFailed, match="it had reached"):
            await become(again, ACTIVE)

    run(pair, scenario)


@pytest.mark.req("FS-053")
def test_what_an_active_wrote_and_others_never_had_is_set_aside(pair: Pair) -> None:
    """The active died between its own directory and the shared log."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/agreed")
        pair.kill("nn0")
        own = pair.directory("nn0") / "current"
        (ours,) = own.glob("edits_inprogress_*")
        (theirs,) = (pair.shared / "current").glob("edits_inprogress_*")
        whole = theirs.read_bytes()
        theirs.write_bytes(whole[: whole.rindex(b"/agreed") - 40])
        again = pair.start("nn0")
        await become(again, ACTIVE)
        assert again.namesystem.namespace.find("/agreed") is None, "it was never acknowledged"
        await mkdir(again, "/instead")
        assert [path.name for path in own.glob("*.stale")] == [f"{ours.name}.stale"]

    run(pair, scenario)


def test_an_edit_that_does_not_fit_ends_the_process(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await caught_up(standby, active.namesystem.last_txid)
        standby.namesystem.namespace.apply(
            edits.MkdirOp(
                standby.namesystem.namespace.next_inode_id,
                "/a",
                0,
                edits.Permission("root", "root", 0o755),
                (),
            )
        )
        await mkdir(active, "/a")
        while standby._failure is None:
            await asyncio.sleep(0.005)
        assert "of the shared log, failed" in standby._failure
        with pytest.raises(errors.ServiceFailed):
            await become(standby, ACTIVE)

    run(pair, scenario)


def test_a_defect_after_the_log_was_begun_ends_the_process(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        standby = pair.start("nn1")

        def defect() -> None:
            raise ZeroDivisionError("a bug")

        with monkeypatch.context() as patched:
            patched.setattr(standby.namesystem, "become_active", defect)
            with pytest.raises(errors.ServiceFailed, match="ZeroDivisionError: a bug"):
                await become(standby, ACTIVE)
        assert standby._failure is not None
        assert "by halves: a bug" in standby._failure
        with pytest.raises(errors.StandbyError):
            await mkdir(standby, "/refused")

    run(pair, scenario)


def test_a_defect_while_the_log_is_ended_ends_the_process(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)

        def defect() -> None:
            raise ZeroDivisionError("a bug")

        with monkeypatch.context() as patched:
            patched.setattr(active.log_writer, "end", defect)
            with pytest.raises(errors.ServiceFailed, match="could not be ended"):
                await become(active, STANDBY)
        assert active._failure is not None

    run(pair, scenario)


@pytest.mark.req("FS-070")
def test_a_log_that_cannot_be_ended_ends_the_process(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        with monkeypatch.context() as patched:
            patched.setattr(
                "howdah.namenode.journal.shared_directory.SharedDirectoryJournal.end_segment", fail
            )
            with pytest.raises(errors.ServiceFailed, match="could not be ended"):
                await become(active, STANDBY)
        assert active._failure is not None
        with pytest.raises(errors.StandbyError):
            await mkdir(active, "/b")
        pair.kill("nn0")
        again = pair.start("nn1")
        await become(again, ACTIVE)
        assert again.namesystem.namespace.find("/a") is not None

    run(pair, scenario)


def test_orders_are_carried_out_one_after_another(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        await asyncio.gather(
            become(namenode, ACTIVE),
            become(namenode, ACTIVE),
            become(namenode, STANDBY),
            become(namenode, OBSERVER),
        )
        assert namenode.roles.state is OBSERVER
        with pytest.raises(errors.IllegalArgument, match="observer cannot become active"):
            await become(namenode, ACTIVE)

    run(pair, scenario)


@pytest.mark.req("LM-016")
def test_a_new_active_serves_nothing_before_the_lease_of_the_former_one_has_ended(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        until_ms = transitions.boottime_ms() + 50
        monkeypatch.setattr(
            "howdah.namenode.journal.shared_directory.SharedDirectoryJournal.serve_from_ms",
            lambda journal: until_ms,
        )
        await become(namenode, ACTIVE)
        assert transitions.boottime_ms() >= until_ms

    run(pair, scenario)


@pytest.mark.req("FS-070", "LM-018")
def test_a_log_that_another_writer_has_ends_the_process(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        await become(namenode, ACTIVE)
        with monkeypatch.context() as patched:
            patched.setattr(
                "howdah.namenode.journal.shared_directory.SharedDirectoryJournal.lost",
                "epoch 1 is less than the last promised epoch 2",
            )
            namenode.tick()
        assert namenode._failure is not None
        assert "another namenode writes the shared log: epoch 1" in namenode._failure

    run(pair, scenario)


def test_an_active_without_room_for_its_log_is_in_safe_mode_until_it_is_none_any_more(
    pair: Pair,
) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        free = [0]
        active.resources = Resources(
            pair.base.iterdir(),
            [],
            reserved_bytes=100,
            minimum=1,
            interval_ms=0,
            now_ms=lambda: 0,
            free=lambda path: free[0],
        )

        async def until(on: bool) -> None:
            while active.namesystem.safe_mode.on is not on:
                active.tick()
                await asyncio.sleep(0.001)

        await until(True)
        with pytest.raises(errors.RetriableError, match="Resources are low"):
            await mkdir(active, "/b")
        request = ha_pb2.MonitorHealthRequestProto()
        with pytest.raises(errors.HealthCheckFailed, match="no resources available"):
            call(active, "monitorHealth", request, protocol=HAService.PROTOCOL)
        await become(active, STANDBY)
        await until(False)
        await become(active, ACTIVE)
        await until(True)
        free[0] = 101
        await until(False)
        await mkdir(active, "/b")

    run(pair, scenario)
