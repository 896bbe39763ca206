"""A router's process, without anybody who calls it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.server import Router, run
from howdah.router.settings import Settings
from howdah.router.state.namenodes.membership import State
from howdah.router.state.table.mount_table import Destination, MountEntry, MountTable, Quota
from howdah.router.state.table.quotas import Usage
from howdah.router.store.factory import store_at
from howdah.router.store.state_store import StateStore
from howdah.router.store.worker import StoreWorker
from howdah.runtime import bind_warning, unexpected_errors

pytestmark = pytest.mark.req("LM-020")

CONF = {
    "dfs.nameservices": "n1",
    "dfs.namenode.rpc-address.n1": "127.0.0.1:1",
    "dfs.federation.router.safemode.expiration": "0",
}


def conf(directory: Path) -> Configuration:
    place = str(directory / "store")
    return Configuration({**CONF, "dfs.federation.router.store.driver.file.directory": place})


def test_a_store_that_cannot_be_read_ends_in_safe_mode_and_the_table_stays(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        store = store_at(tmp_path / "store")
        store.prepare()
        store.add_mount(MountEntry("/m", (Destination("n1", "/x"),)))
        await router.reload()
        (tmp_path / "store").rename(tmp_path / "away")
        router._read_at_s -= 1.0
        await router._read_again()
        assert router.core.safe_mode.is_on
        assert list(router.core.table.entries) == ["/m"]
        with pytest.raises(errors.StandbyError, match="is in safe mode"):
            router.core.check_writes("mkdirs")
        router.core.check_writes("getListing")
        (tmp_path / "away").rename(tmp_path / "store")
        await router._read_again()
        assert not router.core.safe_mode.is_on

    asyncio.run(scene())


def test_a_damaged_record_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        store = store_at(tmp_path / "store")
        store.prepare()
        store.add_mount(MountEntry("/m", (Destination("n1", "/x"),)))
        store.add_mount(MountEntry("/m/n", (Destination("n1", "/y"),)))
        await router.reload()
        (tmp_path / "store" / "MountTable" / "0SLASH0m0SLASH0n").write_bytes(b"?")
        await router._read_again()
        assert list(router.core.table.entries) == ["/m", "/m/n"]
        with pytest.raises(OSError, match="0SLASH0m0SLASH0n"):
            await Router(conf(tmp_path)).reload()

    asyncio.run(scene())


def test_a_store_that_hangs_ends_in_safe_mode_and_the_router_goes_on(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        store = store_at(tmp_path / "store")
        store.prepare()
        store.add_mount(MountEntry("/m", (Destination("n1", "/x"),)))
        await router.reload()
        router._store = StoreWorker(store_at(tmp_path / "store"), limit_s=0.01)
        # As a directory of a file server that has gone: who opens the record waits.
        pipe = tmp_path / "store" / "MountTable" / "0SLASH0n"
        os.mkfifo(pipe)
        router._read_at_s -= 1.0
        before = threading.active_count()
        for _ in range(3):
            await router._read_again()
        assert router.core.safe_mode.is_on
        assert list(router.core.table.entries) == ["/m"]
        assert threading.active_count() <= before + 1, "one thread waits, not one for each try"
        # It comes back: its thread must not wait on beside the tests to come.
        hung = [each for each in threading.enumerate() if each.name == "state-store"]
        await asyncio.to_thread(lambda: pipe.open("wb").close())
        for each in hung:
            await asyncio.to_thread(each.join, 30)
            assert not each.is_alive()
        await router.stop()

    asyncio.run(scene())


def test_a_table_that_was_read_before_a_change_is_not_taken_after_it(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        store = store_at(tmp_path / "store")
        store.prepare()
        was_read, may_go_on = threading.Event(), threading.Event()
        real = StateStore.mount_entries
        reads = count()

        def slow_at_first(self: StateStore) -> list[MountEntry]:
            found = real(self)
            if next(reads) == 0:
                was_read.set()
                assert may_go_on.wait(20)
            return found

        with mock.patch.object(StateStore, "mount_entries", slow_at_first):
            early = asyncio.create_task(router.reload())
            await asyncio.to_thread(was_read.wait, 20)
            store.add_mount(MountEntry("/m", (Destination("n1", "/x"),)))
            late = asyncio.create_task(router.reload())
            await asyncio.wait({late}, timeout=0.05)
            may_go_on.set()
            await asyncio.gather(early, late)
        assert list(router.core.table.entries) == ["/m"]
        await router.stop()

    asyncio.run(scene())


def test_what_a_router_does_by_itself_is_tried_again_after_a_defect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        troubles = iter([ZeroDivisionError("a defect"), errors.Unreachable("away"), None])
        done = asyncio.Event()

        async def work() -> None:
            trouble = next(troubles)
            if trouble is not None:
                raise trouble
            done.set()

        router._repeat(0.001, "heartbeats", work)
        await asyncio.wait_for(done.wait(), 20)
        await router.stop()

    before = unexpected_errors.seen["heartbeats"]
    asyncio.run(scene())
    assert unexpected_errors.seen["heartbeats"] == before + 1
    assert "heartbeats failed on a defect; it has another turn" in caplog.text
    assert "heartbeats failed: away; again in" in caplog.text


def test_a_nameservice_without_namenodes_fails_at_once_by_its_name(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        with pytest.raises(errors.NoNamenodes, match="under nameservice n1: n1: Cannot connect"):
            await _ask(router, "n1")
        with pytest.raises(errors.NoNamenodes, match=r"dfs\.nameservices does not have it"):
            await _ask(router, "n9")
        router.nameservices.disabled = frozenset({"n1"})
        with pytest.raises(errors.NoNamenodes, match="it is disabled"):
            await _ask(router, "n1")

    asyncio.run(scene())


async def _ask(router: Router, nameservice: str) -> None:
    await router.nameservices.call(
        nameservice,
        "getFileInfo",
        pb.GetFileInfoRequestProto(src="/"),
        pb.GetFileInfoResponseProto,
        router.nameservices.own_identity(),
    )


def test_a_router_that_is_to_rename_between_nameservices_does_not_start(tmp_path: Path) -> None:
    key = "dfs.federation.router.federation.rename.option"
    with pytest.raises(errors.InvalidConfiguration, match=f"{key} = DISTCP is not supported"):
        Settings.of(conf(tmp_path).with_values({key: "distcp"}))
    assert Settings.of(conf(tmp_path).with_values({key: "NONE"}))


def test_a_configuration_that_cannot_be_ends_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = conf(tmp_path).with_values({"dfs.nameservices": ""})
    assert run(broken) == 1
    assert "the router cannot start: a router needs nameservices" in caplog.text


PAIR = {
    "dfs.nameservices": "n1",
    "dfs.ha.namenodes.n1": "a,b",
    "dfs.namenode.rpc-address.n1.a": "127.0.0.1:1",
    "dfs.namenode.rpc-address.n1.b": "127.0.0.1:2",
}


class Waiting:
    """Connections over which the first namenode answers late."""

    def __init__(self) -> None:
        self.is_called = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.done: list[Callable[[object], None]] = []

    async def call(self, address: tuple[str, int], *_: object, **named: object) -> object:
        assert address[1] == 1, "the other one is not asked"
        self.is_called.set()
        await self.goes_on.wait()
        return pb.GetFileInfoResponseProto()

    def send(self, *arguments: object, **named: object) -> bool:
        (heard,) = (each for each in arguments if callable(each))
        self.done.append(heard)
        return True


def pair(directory: Path) -> Nameservices:
    place = {"dfs.federation.router.store.driver.file.directory": str(directory / "store")}
    made = Router(Configuration({**CONF, **PAIR, **place})).core.nameservices
    made._connections = Waiting()  # type: ignore[assignment]
    return made


GET, GOT = pb.GetFileInfoRequestProto(src="/"), pb.GetFileInfoResponseProto


def test_the_answer_to_a_call_that_waited_for_long_makes_no_active_of_a_former_one(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        nameservices, loop = pair(tmp_path), asyncio.get_running_loop()
        members = nameservices.members["n1"]
        former, present = members.namenodes
        nameservices._note_state(former, State.ACTIVE, loop.time())
        identity = nameservices.own_identity()
        call = asyncio.create_task(nameservices.call("n1", "getFileInfo", GET, GOT, identity))
        waiting: Any = nameservices._connections
        await waiting.is_called.wait()
        nameservices._note_state(present, State.ACTIVE, loop.time() + 0.001)
        waiting.goes_on.set()
        await call
        assert members.active is present

    asyncio.run(scene())


def test_a_late_refusal_of_a_quick_call_makes_no_standby_of_the_active(tmp_path: Path) -> None:
    async def scene() -> None:
        nameservices, loop = pair(tmp_path), asyncio.get_running_loop()
        members = nameservices.members["n1"]
        active, _ = members.namenodes
        nameservices._note_state(active, State.ACTIVE, loop.time())
        identity = nameservices.own_identity()
        assert nameservices.send("n1", "getFileInfo", GET, identity, lambda _: None)
        nameservices._note_state(active, State.ACTIVE, loop.time() + 0.001)
        waiting: Any = nameservices._connections
        waiting.done[0](errors.StandbyError("it was one then"))
        assert members.active is active

    asyncio.run(scene())


def test_what_a_mount_point_uses_does_not_count_for_the_one_in_its_place(tmp_path: Path) -> None:
    async def scene() -> None:
        router = Router(conf(tmp_path))
        limited = Quota(names=10)
        before = MountEntry("/m", (Destination("n1", "/x"),), quota=limited)
        router.core.table = MountTable([before])

        async def measure(entry: MountEntry) -> Usage:
            assert entry == before
            elsewhere = replace(before, destinations=(Destination("n1", "/y"),))
            router.core.table = MountTable([elsewhere])
            return Usage()

        with mock.patch.object(router._forwarding.listing, "measure", measure):
            await router.measure()
        assert not router.core.usage

    asyncio.run(scene())


def test_a_router_starts_whose_addresses_have_the_name_of_a_host(tmp_path: Path) -> None:
    """What it warns of are the IP addresses behind the names."""

    async def scene() -> None:
        named = {
            "dfs.federation.router.rpc-address": "localhost:0",
            "dfs.federation.router.admin-address": "localhost:0",
            "dfs.federation.router.http.enable": "false",
        }
        router = Router(conf(tmp_path).with_values(named))
        await router.start()
        try:
            assert len(router.bound) >= 2
            assert not bind_warning.warning("router", router.bound)
        finally:
            await router.stop()

    asyncio.run(scene())
