"""Namenodes that share their log on journal nodes: failovers, and journal nodes that restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config import keys
from howdah.namenode.journal.quorum.settings import boottime_ms
from howdah.namenode.service.ha.stall_detection import STALL_MS, LeaseChange
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.monitoring.families import of_status
from howdah.namenode.state.edit_log.shared_log import Silence
from howdah.protocol.client_methods import Category
from howdah.web.pages.health import judge
from tests.support.journals.quorum import Quorum
from tests.support.namenode_pair import Pair, become, caught_up, mkdir, run

ACTIVE, STANDBY = HAState.ACTIVE, HAState.STANDBY


@pytest.fixture
def pair(tmp_path: Path, quorum: Quorum) -> Pair:
    return paired(tmp_path, quorum)


def paired(tmp_path: Path, quorum: Quorum, **settings: str) -> Pair:
    hosts = ";".join(f"{host}:{port}" for host, port in quorum.uri.nodes)
    uri = f"qjournal://{hosts}/{quorum.uri.journal_id}"
    whole: dict[str, Any] = {
        keys.DFS_NAMENODE_SHARED_EDITS_DIR.name: uri,
        keys.HOWDAH_HA_LEASE_MS.name: "300",
        **settings,
    }
    pair = Pair(tmp_path / "pair", **whole)
    pair.format(force=True)
    return pair


@pytest.fixture
def idle(tmp_path: Path, quorum: Quorum) -> Pair:
    """One whose log may be without a majority for two seconds."""
    return paired(tmp_path, quorum, **{keys.DFS_QJOURNAL_WRITE_TXNS_TIMEOUT_MS.name: "2000"})


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


@pytest.mark.req("FS-053", "FS-055", "FS-060", "FS-065", "LM-010")
def test_what_a_killed_active_acknowledged_is_there_after_the_takeover(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        for number in range(20):
            await mkdir(active, f"/{number}")
        await caught_up(standby, active.namesystem.last_txid)
        await mkdir(active, "/last")
        pair.kill("nn0")
        await become(standby, ACTIVE)
        assert all(standby.namesystem.namespace.find(f"/{number}") for number in range(20))
        assert standby.namesystem.namespace.find("/last") is not None
        await mkdir(standby, "/later")
        again = pair.start("nn0")
        await caught_up(again, standby.namesystem.last_txid)
        assert again.namesystem.namespace.find("/later") is not None

    run(pair, scenario)


@pytest.mark.req("FS-052", "FS-068", "LM-012")
def test_an_orderly_failover_waits_for_no_lease(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        for number in range(3):
            await become(active, ACTIVE)
            shared = active.log_writer.shared
            assert shared is not None
            assert shared.serve_from_ms() <= boottime_ms()
            await mkdir(active, f"/{number}")
            await become(active, STANDBY)
            active, standby = standby, active
        await become(active, ACTIVE)
        assert all(active.namesystem.namespace.find(f"/{number}") for number in range(3))

    run(pair, scenario)


@pytest.mark.req("FS-069", "FS-070", "FS-071", "FS-072", "LM-016", "LM-018")
def test_an_active_that_is_replaced_behind_its_back_acknowledges_nothing_more(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await become(standby, ACTIVE)
        assert active.log_writer._barrier.must_wait(), "reads are held before the new one serves"
        assert standby.namesystem.namespace.find("/a") is not None
        lost = active.log_writer.shared
        assert lost is not None
        stale = asyncio.ensure_future(mkdir(active, "/stale"))

        def has_ended() -> bool:
            active.tick()
            return active._failure is not None

        await until(has_ended)
        assert lost.lost is not None
        lease_until_ms = lost.lease_until_ms()
        assert lease_until_ms is not None
        assert lease_until_ms <= boottime_ms()
        await mkdir(standby, "/b")
        assert not stale.done()
        stale.cancel()
        assert standby.namesystem.namespace.find("/stale") is None
        pair.kill("nn0")

    run(pair, scenario)


@pytest.mark.req("FS-061")
def test_without_a_majority_of_journal_nodes_nobody_becomes_active(
    pair: Pair, quorum: Quorum
) -> None:
    async def scenario(pair: Pair) -> None:
        standby = pair.start("nn1")
        quorum.stop(0)
        quorum.stop(1)
        with pytest.raises(errors.ServiceFailed, match="stays a standby"):
            await become(standby, ACTIVE)
        assert standby.roles.state is STANDBY
        quorum.start(0)
        await become(standby, ACTIVE)
        await mkdir(standby, "/a")

    run(pair, scenario)


@pytest.mark.req("FS-061", "FS-172", "LM-012", "LM-015")
def test_journal_nodes_restart_one_after_the_other_and_writes_go_on(
    pair: Pair, quorum: Quorum
) -> None:
    """Within one segment, but for the rolls that let them in again."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        for number in range(3):
            await asyncio.to_thread(quorum.stop, number)
            await mkdir(active, f"/without-{number}")
            await asyncio.to_thread(quorum.start, number)
            await until(lambda: active.log_writer.wants_segment)
            active.active._next_rejoin_ms = 0
            first_txid = active.namesystem.last_txid

            def rolled(first_txid: int = first_txid) -> bool:
                active.tick()
                return active.log_writer.durable_txid > first_txid + 1

            await until(rolled)
            assert not active.log_writer.wants_segment
            await mkdir(active, f"/with-{number}")
        assert active._failure is None

    run(pair, scenario)


@pytest.mark.req("FS-061", "FS-070", "LM-016")
def test_an_idle_active_notices_that_it_lost_the_majority(
    idle: Pair, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody writes, so nothing but the lease tells it. Whoever asks hears of it: an operator,
    monitoring, the failover controller, a client. Then it ends."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        active.tick()
        assert active._health_problem() == ""
        with caplog.at_level(logging.WARNING):
            await asyncio.to_thread(quorum.stop, 0)
            await asyncio.to_thread(quorum.stop, 1)

            def is_refused() -> bool:
                active.tick()
                return not active.context.is_open

            await until(is_refused)
        silent = [f"{host}:{port}" for host, port in quorum.uri.nodes[:2]]
        (warned,) = (r.getMessage() for r in caplog.records if "the lease on" in r.getMessage())
        assert all(f"{node}: " in warned for node in silent)
        # The page, /prom, /ready and the controller.
        status = active._pages.status()
        verdict = judge(status)
        assert verdict.level == "bad"
        assert "no majority of the journal nodes" in verdict.headline
        (shared,) = (each for each in status.edits_directories if each.nodes)
        assert shared.failure == active._health_problem() != ""
        assert sorted(node.name for node in shared.nodes if node.silent) == sorted(silent)
        prom = {family.name: family.samples for family in of_status(status)}
        assert {"journal": shared.path} in [at for at, v in prom["howdah_journal_failed"] if v]
        assert len([v for _, v in prom["howdah_journal_node_silent"] if v]) == 2
        assert not active._watch._ready().ok
        # A client.
        for category in (Category.READ, Category.WRITE):
            with pytest.raises(errors.StandbyError, match="no majority of the journal nodes"):
                active.context.check(category)
        active.context.check(Category.UNCHECKED)
        assert not active.registry.is_open()

        def has_ended() -> bool:
            active.tick()
            return active._failure is not None

        await until(has_ended)
        assert "no majority of the journal nodes" in str(active._failure)
        pair.kill("nn0")

    run(idle, scenario)


@pytest.mark.req("FS-061", "LM-015")
def test_an_idle_active_goes_on_when_its_majority_is_back_in_time(
    pair: Pair, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        for _ in range(2):
            await asyncio.to_thread(quorum.stop, 0)
            await asyncio.to_thread(quorum.stop, 1)

            def is_refused() -> bool:
                active.tick()
                return not active.context.is_open

            await until(is_refused)
            await asyncio.to_thread(quorum.start, 0)
            with caplog.at_level(logging.INFO):

                def is_served() -> bool:
                    active.tick()
                    return active.context.is_open

                await until(is_served)
            assert "confirms this namenode again" in caplog.text
            assert active._health_problem() == ""
            await asyncio.to_thread(quorum.start, 1)
            await mkdir(active, f"/b{active._lease.losses}")
        assert active._failure is None
        assert active._lease.losses == 2

    run(pair, scenario)


@pytest.mark.req("FS-061", "LM-015")
def test_an_idle_active_goes_on_when_all_its_journal_nodes_were_restarted(
    pair: Pair, quorum: Quorum
) -> None:
    """They have closed the segment, and the writer goes on with it; so nothing has to be rolled."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        for number in range(3):
            await asyncio.to_thread(quorum.stop, number)
            await asyncio.to_thread(quorum.start, number)
        before = active.namesystem.last_txid
        await mkdir(active, "/b")
        assert active.namesystem.last_txid == before + 1
        pair.kill("nn0")
        standby = pair.start("nn1")
        await become(standby, ACTIVE)
        for path in ("/a", "/b"):
            assert standby.namesystem.namespace.find(path) is not None

    run(pair, scenario)


@pytest.mark.req("FS-054")
def test_the_page_of_a_standby_says_that_it_cannot_read_the_log(pair: Pair, quorum: Quorum) -> None:
    async def scenario(pair: Pair) -> None:
        standby = pair.start("nn1")
        assert not standby._pages.status().warnings
        await asyncio.to_thread(quorum.stop, 0)
        await asyncio.to_thread(quorum.stop, 1)
        await until(lambda: bool(standby._pages.status().warnings))
        (warning,) = standby._pages.status().warnings
        assert warning.startswith("the shared log cannot be read: ")

    run(pair, scenario)


@pytest.mark.req("LM-016")
def test_an_active_whose_nodes_are_slow_for_a_moment_stays_the_active(pair: Pair) -> None:
    """Another namenode would wait for the same nodes. So its controller hears of them when
    callers do, and the page before."""

    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        watch, slow = active._lease, Silence("a: no answer; b: no answer", is_certain=False)
        assert watch.check(1, slow, 1) is LeaseChange.NONE
        assert watch.check(1, slow, 301) is LeaseChange.LOST
        assert active._health_problem() == ""
        for now_ms in range(551, 1552, 250):
            watch.check(1, slow, now_ms)
        assert watch.refuses
        assert active._health_problem() == watch.trouble != ""

    run(pair, scenario)


@pytest.mark.req("LM-016")
def test_a_log_that_stalled_is_no_trouble_of_a_standby(pair: Pair) -> None:
    """Else its controller would never let it be the active one again."""

    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        await become(namenode, ACTIVE)
        for now_ms in range(0, STALL_MS + 1, 250):
            namenode._stalled.check(9, 7, now_ms)
        assert "is not durable" in namenode._health_problem()
        await become(namenode, STANDBY)
        namenode.tick()
        assert namenode._health_problem() == ""

    run(pair, scenario)
