"""A router sends reads to an observer, and every client sees what it has done itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from tests.support.routing.observed import ObservedRouter, before_an_observer

pytestmark = [pytest.mark.req("LM-020"), pytest.mark.timeout(240)]


def test_clients_see_what_they_have_done_and_after_msync_what_others_have(tmp_path: Path) -> None:
    def work(scene: ObservedRouter) -> None:
        with scene.client() as one, scene.client() as other:
            assert isinstance(other, HdfsFileSystem)
            for number in range(20):
                one.mkdirs(f"/m/one/{number}")
                assert one.get_file_status(f"/m/one/{number}").is_directory
                other.msync()
                assert len(list(other.list_status("/m/one"))) == number + 1
        assert scene.asked["observer"]["getFileInfo"] >= 19
        assert scene.asked["observer"]["getListing"] >= 19
        assert scene.asked["active"]["mkdirs"] == 20
        assert not scene.asked["observer"]["mkdirs"]

    before_an_observer(tmp_path, work)


def test_who_does_not_say_what_it_has_seen_is_served_by_the_active(tmp_path: Path) -> None:
    def work(scene: ObservedRouter) -> None:
        def asked_of_the_observer() -> int:
            return scene.asked["observer"]["getFileInfo"]

        with scene.single() as fs:
            fs.mkdirs("/m/one")
            assert fs.exists("/m/one")
        assert not asked_of_the_observer()
        with scene.single(**{"dfs.client.rbf.observer.read.enable": "true"}) as fs:
            fs.mkdirs("/m/two")
            assert fs.exists("/m/two")
        assert asked_of_the_observer() == 1
        provider = "dfs.client.failover.proxy.provider.127.0.0.1"
        with scene.single(**{provider: "RouterObserverReadProxyProvider"}) as fs:
            assert fs.exists("/m/two")
        assert scene.asked["active"]["msync"] == 1
        assert asked_of_the_observer() == 2

    before_an_observer(tmp_path, work)


def test_the_active_serves_a_nameservice_that_is_left_out(tmp_path: Path) -> None:
    def work(scene: ObservedRouter) -> None:
        with scene.client() as fs:
            fs.mkdirs("/m/one")
            assert fs.exists("/m/one")
        assert not scene.asked["observer"]["getFileInfo"]
        assert not scene.asked["active"]["msync"], "reads are up to date"

    before_an_observer(tmp_path, work, **{"dfs.federation.router.observer.read.overrides": "ns"})


def test_without_its_observer_reads_go_on_at_the_active(tmp_path: Path) -> None:
    def work(scene: ObservedRouter) -> None:
        with scene.client() as fs:
            fs.mkdirs("/m/one")
            assert fs.exists("/m/one")
            before = scene.asked["observer"]["getFileInfo"]
            assert before
            observer, _ = scene.pair.running["nn1"]
            loop = observer._rpc._listening[0].get_loop()
            asyncio.run_coroutine_threadsafe(observer._rpc.stop(), loop).result(60)
            for number in range(5):
                fs.mkdirs(f"/m/{number}")
                assert fs.exists(f"/m/{number}")
        assert scene.asked["observer"]["getFileInfo"] == before

    before_an_observer(tmp_path, work)


def test_an_observer_that_cannot_catch_up_is_left_for_the_active(tmp_path: Path) -> None:
    def work(scene: ObservedRouter) -> None:
        observer, _ = scene.pair.running["nn1"]
        assert observer.ha is not None
        loop = observer._rpc._listening[0].get_loop()

        async def stand_still() -> None:
            assert observer.ha is not None
            await observer.ha.tailing.stop()

        asyncio.run_coroutine_threadsafe(stand_still(), loop).result(60)
        with scene.client() as fs:
            fs.mkdirs("/m/one")
            assert fs.exists("/m/one"), "the observer does not know it"

    before_an_observer(tmp_path, work)
