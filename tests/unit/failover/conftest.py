"""Namenodes that only know their state, and journal nodes that only elect, served over RPC."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.failover.namenodes import HA_PROTOCOL
from howdah.failover.server import FailoverServer, setup
from howdah.journalnode.election_service import Elections, election_service
from howdah.proto import election_pb2, ha_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Registry, Service
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.testing.waiting import wait_until

STATE_NAMES = {
    ha_pb2.INITIALIZING: "initializing",
    ha_pb2.ACTIVE: "active",
    ha_pb2.STANDBY: "standby",
    ha_pb2.OBSERVER: "observer",
}


class FakeNamenode:
    """HAServiceProtocol over a state that a test can change."""

    def __init__(self, name: str, orders: list[tuple[str, str]]) -> None:
        self.name = name
        self._state = ha_pb2.STANDBY
        self.is_healthy = True
        self.is_ready = True
        self.refuses: str | None = None
        """The method that fails."""
        self.sources: list[int] = []
        self._orders = orders
        self._lock = threading.Lock()
        self.port = 0
        self._server: ThreadedRpcServer | None = None
        self.start()

    @property
    def state(self) -> str:
        return STATE_NAMES[self._state]

    def become(self, state: ha_pb2.HAServiceStateProto) -> None:
        """Without being ordered to."""
        self._state = state

    def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        descriptor = ha_pb2.DESCRIPTOR.services_by_name["HAServiceProtocolService"]
        service = Service(HA_PROTOCOL, 1, descriptor, self)
        self._server = ThreadedRpcServer(listener, Registry([service]))
        self._server.start()

    def stop(self) -> None:
        """Like a process that was killed."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._state = ha_pb2.STANDBY

    # -- HAServiceProtocol

    def monitor_health(
        self, request: ha_pb2.MonitorHealthRequestProto, _: Caller
    ) -> ha_pb2.MonitorHealthResponseProto:
        if not self.is_healthy:
            raise errors.HealthCheckFailed("the disk is full")
        return ha_pb2.MonitorHealthResponseProto()

    def get_service_status(
        self, request: ha_pb2.GetServiceStatusRequestProto, _: Caller
    ) -> ha_pb2.GetServiceStatusResponseProto:
        return ha_pb2.GetServiceStatusResponseProto(
            state=self._state,
            readyToBecomeActive=self.is_ready,
            notReadyReason="" if self.is_ready else "it is in safe mode",
        )

    def transition_to_active(
        self, request: ha_pb2.TransitionToActiveRequestProto, _: Caller
    ) -> ha_pb2.TransitionToActiveResponseProto:
        self._obey("transitionToActive", ha_pb2.ACTIVE, request.reqInfo)
        return ha_pb2.TransitionToActiveResponseProto()

    def transition_to_standby(
        self, request: ha_pb2.TransitionToStandbyRequestProto, _: Caller
    ) -> ha_pb2.TransitionToStandbyResponseProto:
        self._obey("transitionToStandby", ha_pb2.STANDBY, request.reqInfo)
        return ha_pb2.TransitionToStandbyResponseProto()

    def transition_to_observer(
        self, request: ha_pb2.TransitionToObserverRequestProto, _: Caller
    ) -> ha_pb2.TransitionToObserverResponseProto:
        self._obey("transitionToObserver", ha_pb2.OBSERVER, request.reqInfo)
        return ha_pb2.TransitionToObserverResponseProto()

    def _obey(
        self,
        method: str,
        state: ha_pb2.HAServiceStateProto,
        info: ha_pb2.HAStateChangeRequestInfoProto,
    ) -> None:
        with self._lock:
            self.sources.append(info.reqSource)
            if method == self.refuses:
                raise errors.ServiceFailed(f"{self.name} refuses {method}")
            self._state = state
            self._orders.append((self.name, STATE_NAMES[state]))


class JournalNode:
    """A journal node that only elects."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.port = 0
        self._server: ThreadedRpcServer | None = None
        self.start()

    def start(self) -> None:
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._elections = Elections(self._directory)
        registry = Registry([election_service(self._elections)])
        self._server = ThreadedRpcServer(listener, registry)
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def lends(self) -> bool:
        """Whether somebody has its lease."""
        request = election_pb2.GetElectionRequestProto(electionId="east")
        caller = Caller("test", b"", 0, -1, "127.0.0.1")
        return self._elections.get_election(request, caller).state.HasField("holder")


@dataclass
class Zkfc:
    """A controller in a thread of this process."""

    server: FailoverServer
    thread: threading.Thread
    codes: list[int] = field(default_factory=list)

    def stop(self) -> None:
        self.server.stop()
        self.thread.join(10)
        assert not self.thread.is_alive()


class Cluster:
    """Namenodes nn0…, journal nodes, and controllers that a test starts."""

    def __init__(self, directory: Path, namenodes: int, journal_nodes: int) -> None:
        self.orders: list[tuple[str, str]] = []
        """Every change of state that a namenode was ordered into, in order."""
        self.namenodes = [FakeNamenode(f"nn{i}", self.orders) for i in range(namenodes)]
        self.journal_nodes = [JournalNode(directory / f"jn{i}") for i in range(journal_nodes)]
        self.zkfcs: dict[int, Zkfc] = {}
        self.settings = {
            "dfs.nameservices": "east",
            "dfs.ha.namenodes.east": ",".join(nn.name for nn in self.namenodes),
            "dfs.ha.automatic-failover.enabled": "true",
            "dfs.ha.fencing.methods": "shell(true)",
            "dfs.namenode.shared.edits.dir": "qjournal://"
            + (";".join(f"127.0.0.1:{jn.port}" for jn in self.journal_nodes) or "127.0.0.1:1")
            + "/east",
            "howdah.ha.election.lease.ms": "3000",
            "ha.health-monitor.check-interval.ms": "50",
            "ha.health-monitor.connect-retry-interval.ms": "50",
            "ha.health-monitor.sleep-after-disconnect.ms": "50",
            "dfs.ha.zkfc.port": "0",
        }
        for nn in self.namenodes:
            key = f"dfs.namenode.rpc-address.east.{nn.name}"
            self.settings[key] = f"127.0.0.1:{nn.port}"

    def conf(self, namenode: int | None = None) -> Configuration:
        conf = Configuration(self.settings)
        for number, zkfc in self.zkfcs.items():
            port = str(zkfc.server.own.controller_port)
            conf = conf.with_values({f"dfs.ha.zkfc.port.east.nn{number}": port})
        if namenode is None:
            return conf
        own = {"dfs.ha.namenode.id": f"nn{namenode}", f"dfs.ha.zkfc.port.east.nn{namenode}": "0"}
        return conf.with_values(own)

    def start_zkfc(self, number: int) -> Zkfc:
        server = FailoverServer(setup(self.conf(number)))
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(server.serve()))
        zkfc = self.zkfcs[number] = Zkfc(server, thread, codes)
        thread.start()
        return zkfc

    def start_zkfcs(self) -> int:
        """All controllers; the number of the active, once each has found its namenode healthy.

        One that has not checked it yet refuses a graceful failover.
        """
        for number in range(len(self.namenodes)):
            self.start_zkfc(number)
        active = self.wait_for_active()
        runnings = [zkfc.server.running for zkfc in self.zkfcs.values()]
        wait_until(
            lambda: all("healthy" not in (each.not_eligible() or "") for each in runnings),
            what="each controller has found its namenode healthy",
        )
        return active

    def states(self) -> list[str]:
        return [nn.state for nn in self.namenodes]

    def wait_for_active(self, *among: int) -> int:
        """Wait until one of them, and no other, is active; its number."""
        numbers = among or tuple(range(len(self.namenodes)))

        def is_there() -> bool:
            active = [i for i, state in enumerate(self.states()) if state == "active"]
            return len(active) == 1 and active[0] in numbers

        wait_until(is_there, what=f"one of {numbers} is active")
        return self.states().index("active")

    def close(self) -> None:
        for zkfc in self.zkfcs.values():
            zkfc.stop()
        for namenode in self.namenodes:
            namenode.stop()
        for journal_node in self.journal_nodes:
            journal_node.stop()


MakeCluster = Callable[..., Cluster]


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[MakeCluster]:
    made: list[Cluster] = []

    def make(namenodes: int = 2, journal_nodes: int = 3) -> Cluster:
        made.append(Cluster(tmp_path / str(len(made)), namenodes, journal_nodes))
        return made[-1]

    yield make
    for cluster in made:
        cluster.close()
