"""After a takeover everything goes on as if nothing had happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from tests.support.namenode_pair import Pair, become, caught_up, done, image, mkdir, run

ACTIVE, STANDBY = HAState.ACTIVE, HAState.STANDBY


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    pair = Pair(tmp_path)
    pair.format()
    return pair


async def failed_over(pair: Pair) -> Namenode:
    """nn0 dies, and nn1 is active."""
    pair.kill("nn0")
    standby = pair.running["nn1"][0]
    await become(standby, ACTIVE)
    return standby


def create(path: str, client: str = "DFSClient_1") -> pb.CreateRequestProto:
    return pb.CreateRequestProto(
        src=path,
        masked=types_pb2.FsPermissionProto(perm=0o644),
        clientName=client,
        createFlag=1,
        createParent=True,
        replication=1,
        blockSize=1 << 20,
    )


def delete(path: str) -> pb.DeleteRequestProto:
    return pb.DeleteRequestProto(src=path, recursive=True)


@pytest.mark.req("FS-053")
def test_a_call_that_is_repeated_at_the_new_active_is_answered_and_not_run_again(
    pair: Pair,
) -> None:
    async def scenario(pair: Pair) -> None:
        active, _ = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await done(active, "delete", delete("/a"), call_id=7)
        again = await failed_over(pair)
        await mkdir(again, "/a")
        answer = await done(again, "delete", delete("/a"), call_id=7)
        assert answer == pb.DeleteResponseProto(result=True)
        assert again.namesystem.namespace.find("/a") is not None, "the deletion did not run again"

    run(pair, scenario)


@pytest.mark.req("FS-053")
def test_a_repeated_create_gets_its_file_and_an_exclusive_one_of_others_is_refused(
    pair: Pair,
) -> None:
    async def scenario(pair: Pair) -> None:
        active, _ = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        first = await done(active, "create", create("/f"), call_id=3)
        again = await failed_over(pair)
        assert await done(again, "create", create("/f"), call_id=3) == first
        with pytest.raises(errors.AlreadyBeingCreated):
            await done(again, "create", create("/f", "DFSClient_2"), call_id=4)

    run(pair, scenario)


def test_a_call_that_was_logged_before_a_restart_of_the_standby_is_remembered_as_well(
    pair: Pair,
) -> None:
    async def scenario(pair: Pair) -> None:
        active = pair.start("nn0")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        await done(active, "delete", delete("/a"), call_id=7)
        active.log_writer.roll()
        await mkdir(active, "/b")
        pair.start("nn1")  # The deletion is in a finished segment, read at the start.
        again = await failed_over(pair)
        await mkdir(again, "/a")
        await done(again, "delete", delete("/a"), call_id=7)
        assert again.namesystem.namespace.find("/a") is not None

    run(pair, scenario)


@pytest.mark.req("FS-053")
def test_the_new_active_has_the_namespace_of_the_old_one_to_the_byte(pair: Pair) -> None:
    """Leases, snapshots, quotas, attributes, and what was deleted."""

    async def scenario(pair: Pair) -> None:
        active, standby = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        for path in ("/s/a", "/s/b", "/q", "/user/root/.Trash/Current/x"):
            await mkdir(active, path)
        await done(active, "allowSnapshot", pb.AllowSnapshotRequestProto(snapshotRoot="/s"))
        await done(
            active,
            "createSnapshot",
            pb.CreateSnapshotRequestProto(snapshotRoot="/s", snapshotName="one"),
            call_id=21,
        )
        await done(active, "delete", delete("/s/a"), call_id=22)
        await done(active, "rename", pb.RenameRequestProto(src="/s/b", dst="/s/c"), call_id=23)
        await done(
            active,
            "setQuota",
            pb.SetQuotaRequestProto(path="/q", namespaceQuota=3, storagespaceQuota=1 << 40),
        )
        await done(active, "create", create("/q/open"), call_id=24)
        before, txid = image(active), active.namesystem.last_txid
        await caught_up(standby, txid)
        assert image(standby) == before
        again = await failed_over(pair)
        assert again.namesystem.leases.held() == active.namesystem.leases.held() != []
        await mkdir(again, "/q/second")
        with pytest.raises(errors.QuotaExceeded):
            await mkdir(again, "/q/third")
        found = again.namesystem.resolver.resolve("/s/.snapshot/one/a")
        assert found.inode is not None

    run(pair, scenario)


@pytest.mark.req("FS-005")
def test_a_writer_keeps_its_lease_for_a_full_term_after_the_takeover(pair: Pair) -> None:
    """Nobody could renew a lease while no namenode was active."""

    async def scenario(pair: Pair) -> None:
        active, _ = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await done(active, "create", create("/f"), call_id=3)
        again = await failed_over(pair)
        leases, now_ms = again.namesystem.leases, again.namesystem.clock.monotonic_ms()
        assert not leases.soft_expired("DFSClient_1", now_ms + leases.soft_limit_ms - 1000)
        renewal = pb.RenewLeaseRequestProto(clientName="DFSClient_1")
        await done(again, "renewLease", renewal)

    run(pair, scenario)


def test_the_new_active_empties_the_trash(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"fs.trash.interval": "1440"}
    pair = Pair(tmp_path, **settings)
    pair.format()

    async def scenario(pair: Pair) -> None:
        active, _ = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        again = await failed_over(pair)
        await mkdir(again, "/user/root/.Trash/200101010000")
        again.active._parts.trash._next_ms = 0
        while again.namesystem.namespace.find("/user/root/.Trash/200101010000") is not None:
            again.tick()
            await asyncio.sleep(0)

    run(pair, scenario)


@pytest.mark.req("FS-052", "FS-068")
def test_roles_are_exchanged_back_and_forth_and_nothing_is_lost(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        roles = [pair.start("nn0"), pair.start("nn1")]
        for number in range(6):
            active, standby = roles
            await become(active, ACTIVE)
            await mkdir(active, f"/{number}")
            await become(active, STANDBY)
            roles = [standby, active]
        txid = max(namenode.namesystem.last_txid for namenode in roles)
        for namenode in roles:
            await caught_up(namenode, txid)
            assert all(namenode.namesystem.namespace.find(f"/{number}") for number in range(6))
        assert image(roles[0]) == image(roles[1])

    run(pair, scenario)


@pytest.mark.req("LM-013")
def test_one_of_three_takes_over_and_the_third_follows_the_new_one(tmp_path: Path) -> None:
    pair = Pair(tmp_path, names=("nn0", "nn1", "nn2"))
    pair.format()

    async def scenario(pair: Pair) -> None:
        active, _, third = (pair.start(name) for name in pair.names)
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        again = await failed_over(pair)
        await mkdir(again, "/b")
        await caught_up(third, again.namesystem.last_txid)
        assert third.namesystem.namespace.find("/a") is not None
        assert third.namesystem.namespace.find("/b") is not None

    run(pair, scenario)


async def events_since(namenode: Namenode, txid: int) -> list[int]:
    """The transactions of the events from `txid` on."""
    told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    files = namenode.client.administration.files
    assert files is not None
    files.read_events(txid, told.set_result)
    found = await told
    assert isinstance(found, pb.EventsListProto), found
    return [batch.txid for batch in found.batch]


def test_a_watching_client_misses_nothing_that_the_former_active_wrote(pair: Pair) -> None:
    async def scenario(pair: Pair) -> None:
        active, _ = pair.start("nn0"), pair.start("nn1")
        await become(active, ACTIVE)
        await mkdir(active, "/a")
        made = active.namesystem.last_txid
        again = await failed_over(pair)
        await mkdir(again, "/b")
        assert (await events_since(again, made)) == [made, again.namesystem.last_txid]

    run(pair, scenario)
