"""A standby follows the active and takes its place, by a shared directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah import errors
from howdah.namenode.service.ha.states import HAState
from tests.support.namenode_pair import Pair, become, caught_up, mkdir, run

ACTIVE, STANDBY, OBSERVER = HAState.ACTIVE, HAState.STANDBY, HAState.OBSERVER


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    pair.format()
    return pair


@pytest.mark.req("FS-053", "FS-055")
def test_a_standby_reads_what_the_active_writes(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await caught_up(standby, active.namesystem.last_txid)
        assert standby.namesystem.namespace.find("/a") is not None
        with pytest.raises(errors.StandbyError):
            await mkdir(standby, "/b")

    run(pair, scenario)


@pytest.mark.req("FS-053", "FS-065")
def test_what_a_killed_active_acknowledged_is_there_after_the_takeover(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        for number in range(20):
            await mkdir(active, f"/{number}")
        pair.kill("nn0")
        await become(standby, ACTIVE)
        assert all(standby.namesystem.namespace.find(f"/{number}") for number in range(20))
        await mkdir(standby, "/later")
        again = pair.start("nn0")
        await caught_up(again, standby.namesystem.last_txid)
        assert again.namesystem.namespace.find("/later") is not None

    run(pair, scenario)


@pytest.mark.req("FS-050", "FS-057")
def test_callers_try_again_while_a_new_active_is_in_safe_mode_by_itself(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        safe_mode = active.namesystem.safe_mode
        safe_mode.on = True
        with pytest.raises(errors.RetriableError, match="SafeModeException: Cannot create"):
            await mkdir(active, "/a")
        safe_mode.enter()
        with pytest.raises(errors.SafeMode):
            await mkdir(active, "/a")

    run(pair, scenario)


def test_a_standby_sorts_the_blocks_that_changed(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        standby = pair.start("nn1")
        rounds: list[str] = []

        def a_round() -> Iterator[None]:
            rounds.append("sorted")
            yield

        monkeypatch.setattr(standby.namesystem.block_manager, "redundancy_round", a_round)
        standby.tick()
        assert rounds == ["sorted"]
        assert not standby.namesystem.role.writable

    run(pair, scenario)


def test_a_standby_has_no_datanode_give_up_what_it_keeps_of_before_an_upgrade(
    pair: Pair,
) -> None:
    """To finalize is an order, and orders are the active's."""

    async def scenario(pair: Pair) -> None:
        namenode = pair.start("nn0")
        tells = namenode.datanode._is_upgrade_finalized
        assert not tells()
        await become(namenode, ACTIVE)
        assert tells()

    run(pair, scenario)
