"""Namenodes that share a log call each other: for a roll, for an image, at a new one's start."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from howdah.errors import CheckpointFailed, RemoteError
from howdah.namenode.server.nameservice.identity import place_of
from howdah.namenode.server.nameservice.peers import Peers
from howdah.namenode.server.process.bootstrap import (
    ALREADY_FORMATTED,
    FAILED_CONNECT,
    LOGS_UNAVAILABLE,
    BootstrapFailed,
    bootstrap_standby,
)
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.storage.image_files import WrittenImage, list_images
from tests.support.namenode_pair import Pair, become, caught_up, mkdir, run

ACTIVE, STANDBY, OBSERVER = HAState.ACTIVE, HAState.STANDBY, HAState.OBSERVER


def images(pair: Pair, name: str) -> list[int]:
    return [image.txid for image in list_images([pair.directory(name) / "current"])]


async def saved(namenode: Namenode) -> None:
    told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    namenode.checkpoints.save(told.set_result)
    assert await told is None


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    pair.format()
    return pair


@pytest.mark.req("FS-058")
def test_a_standby_makes_an_image_and_the_active_gets_it(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        txid = active.namesystem.last_txid
        await caught_up(standby, txid)
        await saved(standby)
        while active.checkpoints.image_txid < txid:
            await asyncio.sleep(0.005)
        assert images(pair, "nn0")[0] == images(pair, "nn1")[0] == txid
        assert active.namesystem.last_txid == txid, "nothing was rolled for it"

    run(pair, scenario)


@pytest.mark.req("FS-058")
def test_an_image_is_due_at_a_standby_as_it_is_at_an_active(tmp_path: Path) -> None:
    due: dict[str, Any] = {
        "dfs.namenode.checkpoint.txns": "2",
        "dfs.namenode.checkpoint.check.period": "0",
    }
    pair = Pair(tmp_path, **due)
    pair.format()

    async def scenario(pair: Pair) -> None:
        active, standby = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await caught_up(standby, active.namesystem.last_txid)
        while not standby.checkpoints.image_txid:
            standby.tick()
            await asyncio.sleep(0.005)

    run(pair, scenario)


def test_a_standby_takes_no_image_and_says_so_as_hadoop_does(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        first, second = await pair.serve("nn0"), await pair.serve("nn1")
        await become(first, ACTIVE)
        await mkdir(first, "/a")
        await caught_up(second, first.namesystem.last_txid)
        await become(first, STANDBY)
        await caught_up(second, first.namesystem.last_txid)
        await saved(second)
        while second.ha is None or second.ha._sending:
            await asyncio.sleep(0.005)
        assert images(pair, "nn0") == [0]
        assert images(pair, "nn1")[0] == second.namesystem.last_txid

    run(pair, scenario)


def test_an_observer_takes_the_images_of_a_standby(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        first, second = await pair.serve("nn0"), await pair.serve("nn1")
        await become(first, ACTIVE)
        await mkdir(first, "/a")
        await become(first, STANDBY)
        await become(first, OBSERVER)
        await caught_up(second, first.namesystem.last_txid)
        await saved(second)
        while first.checkpoints.image_txid < second.namesystem.last_txid:
            await asyncio.sleep(0.005)

    run(pair, scenario)


def test_an_image_that_nobody_takes_is_said(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(pair: Pair) -> None:
        standby = await pair.serve("nn1")
        await saved(standby)
        while standby.ha is None or standby.ha._sending:
            await asyncio.sleep(0.005)
        assert "the image of transaction 0 was not sent: nn0:" in caplog.text

    run(pair, scenario)


@pytest.mark.req("FS-055")
def test_a_standby_that_reads_finished_segments_asks_the_active_for_a_roll(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "dfs.ha.tail-edits.in-progress": "false",
        "dfs.ha.log-roll.period": "0",
    }
    pair = Pair(tmp_path, **settings)
    pair.format()

    async def scenario(pair: Pair) -> None:
        active, standby = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await caught_up(standby, active.namesystem.last_txid)
        assert standby.namesystem.namespace.find("/a") is not None

    run(pair, scenario)


def test_a_roll_that_nobody_makes_names_everybody(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        await pair.serve("nn0")
        peers = Peers(place_of(pair.conf("nn1")).others)
        with pytest.raises(RemoteError, match=r"nn0: .*category JOURNAL is not supported"):
            await asyncio.to_thread(peers.roll_active)

    run(pair, scenario)


# A new standby.


@pytest.mark.req("FS-055", "LM-013")
def test_a_new_standby_gets_image_and_log_and_follows(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        shutil.rmtree(pair.directory("nn1"))
        active = await pair.serve("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/in-the-image")
        await saved(active)
        await mkdir(active, "/in-the-log")
        await asyncio.to_thread(bootstrap_standby, pair.conf("nn1"))
        assert images(pair, "nn1") == [active.checkpoints.image_txid]
        standby = pair.start("nn1")
        await caught_up(standby, active.namesystem.last_txid)
        assert standby.namesystem.namespace.find("/in-the-image") is not None
        assert standby.namesystem.namespace.find("/in-the-log") is not None

    run(pair, scenario)


async def _refused(pair: Pair, code: int, *, force: bool = False) -> str:
    with pytest.raises(BootstrapFailed) as caught:
        await asyncio.to_thread(bootstrap_standby, pair.conf("nn1"), force=force)
    assert caught.value.code == code
    return caught.value.message


def test_a_namenode_with_an_image_is_not_written_over(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        await pair.serve("nn0")
        assert "is not empty" in await _refused(pair, ALREADY_FORMATTED)
        await asyncio.to_thread(bootstrap_standby, pair.conf("nn1"), force=True)

    run(pair, scenario)


def test_a_new_standby_needs_another_namenode_that_answers(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        assert "nn0:" in await _refused(pair, FAILED_CONNECT, force=True)

    run(pair, scenario)


def test_a_shared_log_that_lacks_what_the_image_lacks_is_no_beginning(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active = await pair.serve("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        active.log_writer.roll()
        await mkdir(active, "/b")
        for segment in (pair.shared / "current").glob("edits_*-*"):
            segment.unlink()
        before = images(pair, "nn1")
        why = await _refused(pair, LOGS_UNAVAILABLE, force=True)
        assert "has no transactions 1 to" in why or "lacks transactions 1 to" in why
        assert images(pair, "nn1") == before, "nothing was formatted"

    run(pair, scenario)


def test_send_image_fails_when_all_fail(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        standby = await pair.serve("nn1")
        assert standby.ha is not None
        peers, version = standby.ha._peers, standby._pages._version
        written = WrittenImage(5, "", 0, (pair.base,))
        with pytest.raises(CheckpointFailed, match="nn0"):
            await asyncio.to_thread(peers.send_image, version, written)

    run(pair, scenario)
