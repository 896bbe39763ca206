"""Namenodes that share a log in a rolling upgrade: every one has the same image to go back to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.namenode.journal.checkpoints.checkpoint import ImageSource
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.proto import client_namenode_pb2 as pb
from howdah.storage.image_files import ImageFile, list_images, read_sum
from tests.support.namenode_pair import Pair, become, caught_up, done, mkdir, run

ACTIVE, STANDBY = HAState.ACTIVE, HAState.STANDBY
PREPARE = pb.RollingUpgradeRequestProto(action=pb.START)
FINALIZE = pb.RollingUpgradeRequestProto(action=pb.FINALIZE)
QUERY = pb.RollingUpgradeRequestProto(action=pb.QUERY)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    pair.format()
    return pair


def rollback_images(pair: Pair, name: str) -> list[ImageFile]:
    found = list_images([pair.directory(name) / "current"])
    return [image for image in found if image.rollback]


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


async def info(namenode: Namenode) -> pb.RollingUpgradeResponseProto:
    answer = await done(namenode, "rollingUpgrade", QUERY)
    assert isinstance(answer, pb.RollingUpgradeResponseProto)
    return answer


@pytest.mark.req("FS-201")
def test_active_and_standby_make_one_image_though_the_standby_follows_unfinished_segments(
    pair: Pair,
) -> None:
    async def scenario(pair: Pair) -> None:
        active, standby = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/before")
        await done(active, "rollingUpgrade", PREPARE)
        for number in range(50):
            await mkdir(active, f"/after-{number}", call_id=100 + number)
        await caught_up(standby, active.namesystem.last_txid)
        await until(lambda: rollback_images(pair, "nn0") and rollback_images(pair, "nn1"))
        (ours,), (theirs,) = rollback_images(pair, "nn0"), rollback_images(pair, "nn1")
        assert ours.txid == theirs.txid < active.namesystem.last_txid - 50
        await until(lambda: active.checkpoints.has_rollback_image)
        assert read_sum(ours.path) == read_sum(theirs.path)
        assert (await info(active)).rollingUpgradeInfo.createdRollbackImages

    run(pair, scenario)


@pytest.mark.req("FS-201")
def test_who_takes_over_goes_on_with_the_upgrade_and_finalizes_it_for_all(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        first, second = await pair.serve("nn0"), await pair.serve("nn1")
        await become(first, ACTIVE)
        await done(first, "rollingUpgrade", PREPARE)
        await until(lambda: first.checkpoints.has_rollback_image)
        await until(lambda: second.checkpoints.has_rollback_image)
        await become(first, STANDBY)
        await become(second, ACTIVE)
        before = (await info(second)).rollingUpgradeInfo
        answer = await done(second, "rollingUpgrade", FINALIZE)
        assert isinstance(answer, pb.RollingUpgradeResponseProto)
        ended = answer.rollingUpgradeInfo
        assert (ended.startTime, ended.status.finalized) == (before.startTime, True)
        await until(lambda: not first.namesystem.namespace.rolling_upgrade.is_under_way)
        await until(lambda: not rollback_images(pair, "nn0") and not rollback_images(pair, "nn1"))
        assert not (await info(second)).HasField("rollingUpgradeInfo")

    run(pair, scenario)


@pytest.mark.req("FS-201")
def test_a_namenode_that_was_down_makes_its_image_later(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active = await pair.serve("nn0")
        await become(active, ACTIVE)
        await done(active, "rollingUpgrade", PREPARE)
        await until(lambda: active.checkpoints.has_rollback_image)
        await mkdir(active, "/after")
        late = await pair.serve("nn1")
        await caught_up(late, active.namesystem.last_txid)
        active.log_writer.roll()
        await mkdir(active, "/later", call_id=9)
        await until(lambda: late.checkpoints.has_rollback_image)
        (image,) = rollback_images(pair, "nn1")
        assert image.txid > rollback_images(pair, "nn0")[0].txid

    run(pair, scenario)


@pytest.mark.req("FS-201", "FS-205")
def test_an_active_whose_image_failed_makes_another_one(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(pair: Pair) -> None:
        active = await pair.serve("nn0")
        await become(active, ACTIVE)
        with monkeypatch.context() as patched:
            patched.setattr(ImageSource, "write", None)
            await done(active, "rollingUpgrade", PREPARE)
            await until(lambda: not active.checkpoints.busy)
        assert not (await info(active)).rollingUpgradeInfo.createdRollbackImages
        active.checkpoints._next_check_s = 0.0
        active.checkpoints.tick()
        await until(lambda: active.checkpoints.has_rollback_image)
        assert len(rollback_images(pair, "nn0")) == 1

    run(pair, scenario)
