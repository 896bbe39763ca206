"""A datanode says that it is alive, though nobody takes its heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from howdah.datanode.control.lifeline import PROTOCOL, lifeline_interval_s
from howdah.datanode.transfer.data_server import listen
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.rpc.service import Registry, Service
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.testing.waiting import wait_until


class LifelinePort:
    def __init__(self) -> None:
        self.taken: list[pb.HeartbeatRequestProto] = []
        listener = listen(("127.0.0.1", 0))
        self.address = ("127.0.0.1", listener.getsockname()[1])
        descriptor = pb.DESCRIPTOR.services_by_name["DatanodeLifelineProtocolService"]
        self.server = ThreadedRpcServer(
            listener, Registry([Service(PROTOCOL, 1, descriptor, self)])
        )
        self.server.start()

    def send_lifeline(
        self, request: pb.HeartbeatRequestProto, caller: Any
    ) -> pb.LifelineResponseProto:
        self.taken.append(request)
        return pb.LifelineResponseProto()


@pytest.fixture
def port() -> Iterator[LifelinePort]:
    made = LifelinePort()
    yield made
    made.server.close()


@pytest.fixture
def go_on(namenode: Any) -> Iterator[threading.Event]:
    """Heartbeats that come after this was set to be waited for wait for it."""
    event = threading.Event()
    yield event
    event.set()


def test_lifelines_go_out_while_a_heartbeat_waits_for_its_answer(
    namenode: Any, go_on: threading.Event, port: LifelinePort, start_with: Callable[..., Any]
) -> None:
    subject = start_with(
        {"": [namenode]},
        heartbeat_s=0.02,
        lifelines={namenode.address: port.address},
        lifeline_s=0.05,
    )
    namenode.wait_for("report")
    namenode.waits["heartbeat"] = go_on
    sent = len(port.taken)
    wait_until(lambda: len(port.taken) >= sent + 2)
    told = port.taken[-1]
    assert told.registration.datanodeID.datanodeUuid == subject.directories.uuid
    assert [report.storage.storageUuid for report in told.reports] == [subject.storage_id]
    assert not told.requestFullBlockReportLease, "nobody would answer"


def test_no_lifeline_goes_out_while_heartbeats_are_answered(
    make_namenode: Callable[..., Any], port: LifelinePort, start_with: Callable[..., Any]
) -> None:
    namenode = make_namenode()
    start_with(
        {"": [namenode]},
        heartbeat_s=0.01,
        lifelines={namenode.address: port.address},
        lifeline_s=30,
    )
    namenode.wait_for("heartbeat", 20)
    assert port.taken == []


def test_a_port_that_is_away_is_said_once(
    namenode: Any,
    go_on: threading.Event,
    port: LifelinePort,
    start_with: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    port.server.close()
    start_with(
        {"": [namenode]},
        heartbeat_s=0.02,
        lifelines={namenode.address: port.address},
        lifeline_s=0.02,
    )
    namenode.waits["heartbeat"] = go_on
    wait_until(lambda: "no lifeline reaches namenode" in caplog.text)
    assert caplog.text.count("no lifeline reaches namenode") == 1


def test_three_intervals_unless_more_than_one_is_configured(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert [lifeline_interval_s(each, 3) for each in (0, 3, 4)] == [9, 9, 4]
    assert caplog.text.count("not more than the 3 s") == 1
