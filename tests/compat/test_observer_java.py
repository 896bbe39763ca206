"""Java's client reads from our observer, and sees what it has done itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.namenode.service.ha.states import HAState
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.service import WireAnswer
from tests.support.namenode_pair import Pair, become, run
from tests.support.routing.observed import ObservedRouter, before_an_observer

pytestmark = pytest.mark.timeout(200)

READER = Path(__file__).with_name("ObserverReader.java")
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"
DIRECTORIES = 20


def test_java_reads_what_it_wrote_from_an_observer(
    tmp_path: Path, hadoop_run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Pair(tmp_path / "pair")
    pair.format()
    site = tmp_path / "site.xml"
    values = {"dfs.client.failover.proxy.provider.ns": PROVIDER}
    site.write_text(pair.conf("nn0").with_values(values).to_xml())
    asked: list[str] = []

    async def scenario(pair: Pair) -> str:
        active, observer = await pair.serve("nn0"), await pair.serve("nn1")
        await become(active, HAState.ACTIVE)
        await become(observer, HAState.OBSERVER)
        dispatch = observer.registry.dispatch_to_wire

        def noting(call: Call) -> WireAnswer:
            asked.append(call.method)
            return dispatch(call)

        monkeypatch.setattr(observer.registry, "dispatch_to_wire", noting)
        return await asyncio.to_thread(hadoop_run, READER, site, str(DIRECTORIES))

    assert f"seen {DIRECTORIES}" in run(pair, scenario)
    assert asked.count("getFileInfo") >= DIRECTORIES
    assert asked.count("getListing") == DIRECTORIES


@pytest.mark.req("LM-020")
def test_java_reads_what_it_wrote_through_a_router_from_an_observer(
    tmp_path: Path, hadoop_run: Callable[..., str]
) -> None:
    def work(scene: ObservedRouter) -> str:
        site = tmp_path / "site.xml"
        site.write_text(Configuration(scene.client_values).to_xml())
        printed = hadoop_run(READER, site, str(DIRECTORIES))
        assert scene.asked["observer"]["getFileInfo"] >= DIRECTORIES - 1
        assert scene.asked["observer"]["getListing"] >= DIRECTORIES - 1
        return printed

    values = {"dfs.federation.router.default.nameserviceId": "ns"}
    assert f"seen {DIRECTORIES}" in before_an_observer(tmp_path, work, **values)
