"""What the data process does with orders that it cannot carry out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.channel import connection_passing
from howdah.datanode.channel.frames import Link
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.process.data_process import DataProcess, Inheritance
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import (
    CheckVolumes,
    Command,
    RecoverBlock,
    ReplicaReceived,
    Transfer,
)
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.data_server import listen
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock

BLOCK = ExtendedBlock("BP-7-127.0.0.1-1", 1, 1001, 10)
NODE = DatanodeAddress("127.0.0.1", "localhost", "nobody", 1)
ORDERS = [Transfer(BLOCK, (NODE,), (), ()), RecoverBlock(BLOCK, 1002, (NODE,)), CheckVolumes()]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Any]:
    volume = Volume(str(tmp_path), "DS-0")
    volume.make_pool_directories(BLOCK.pool_id)
    listeners = [listen(("127.0.0.1", 0)) for _ in range(2)]
    links = [Link.pair() for _ in range(2)]
    dialer, dialed = connection_passing.pair()
    made = DataProcess(
        Inheritance(
            data_listener=listeners[0],
            local_listener=None,
            dialed=dialed,
            ipc_listener=listeners[1],
            questions=links[0][1],
            volumes=VolumeSet([volume]),
            replicas=ReplicaMap(),
            gauges=Gauges(1),
            settings=DataSettings(),
            may_act=lambda *_: None,
            authorization=None,
        ),
        links[1][1],
    )
    yield made
    for listener in listeners:
        listener.close()
    dialer.close()
    dialed.close()
    for link in (*links[0], *links[1]):
        link.close()


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
def test_an_order_for_which_there_is_no_thread_is_told_and_the_process_goes_on(
    process: Any,
    order: Command,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever gave it gives it again."""

    def no_thread(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        process._obey(order)
    assert f"{type(order).__name__} is not carried out: can't start new thread" in caplog.text
    assert process._copies.running == 0
    assert process._workers.checking == set()


def test_news_of_replicas_and_of_lost_volumes_come_to_those_who_delete(
    process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their orders for the replica that was there before, or on that volume, are over."""
    heard: list[Any] = []
    monkeypatch.setattr(process._workers, "arrived", lambda *news: heard.append(news))
    process._send_event(ReplicaReceived(BLOCK, "DS-0"))
    assert heard == [(BLOCK, "DS-0")]
    (volume,) = process._store.volumes.all
    ordered = process._workers._ordered
    process._workers._order(BLOCK, "DS-0")
    assert ordered
    process._store.trouble.remove_volume(volume, "it is sick")
    assert not ordered
