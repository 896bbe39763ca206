"""The control process's side of a datanode, and namenodes of the test's own to which it reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.config.value_types import Address
from howdah.datanode.channel.shared_counters import Gauges
from howdah.datanode.control.cache_reports import CachedBlocks
from howdah.datanode.control.directories import DataDirectories
from howdah.datanode.control.namenode_actor import PROTOCOL, ActorSettings
from howdah.datanode.control.nameservices import Nameservices
from howdah.datanode.control.replica_index import ReplicaIndex
from howdah.datanode.state.messages import Command, ServePool
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.data_server import listen
from howdah.formats.tokens.block_keys import BlockKey, ExportedKeys
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.rpc.service import Registry, Service, unanswered
from howdah.rpc.threaded_server import ThreadedRpcServer

POOL = "BP-1-127.0.0.1-1"
_states = pb.NNHAStatusHeartbeatProto


KEYS = ExportedKeys(BlockKey(1, 2, b"a"), (BlockKey(1, 2, b"a"),), 600_000, 300_000)


class FakeNamenode:
    """Answers DatanodeProtocol and keeps the calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.changed = threading.Condition()
        self.cluster, self.pool, self.namespace_id = "CID-1", POOL, 5
        self.is_active, self.txid = True, 0
        self.orders: list[pb.DatanodeCommandProto] = []
        self.failures: dict[str, errors.HowdahError] = {}
        self.always: dict[str, errors.HowdahError] = {}
        self.waits: dict[str, threading.Event] = {}
        """What calls of this name wait for, before they are answered."""
        self.lease = 1
        self.has_block_tokens = False
        self.keys = KEYS
        listener = listen(("127.0.0.1", 0))
        self.address = ("127.0.0.1", listener.getsockname()[1])
        self._serve(listener)

    def _serve(self, listener: Any) -> None:
        descriptor = pb.DESCRIPTOR.services_by_name["DatanodeProtocolService"]
        rest = unanswered(descriptor, self)
        self.server = ThreadedRpcServer(
            listener, Registry([Service(PROTOCOL, 1, descriptor, self, refused=rest)])
        )
        self.server.start()

    def restart(self) -> None:
        self._serve(listen(self.address))

    def _keep(self, name: str, request: Any) -> None:
        with self.changed:
            self.calls.append((name, request))
            self.changed.notify_all()
        if name in self.waits:
            assert self.waits[name].wait(60)
        failure = self.failures.pop(name, None) or self.always.get(name)
        if failure is not None:
            raise failure

    def version_request(self, request: Any, caller: Any) -> pb.VersionResponseProto:
        self._keep("version", request)
        return pb.VersionResponseProto(
            info=pb.NamespaceInfoProto(
                buildVersion="1",
                unused=0,
                blockPoolID=self.pool,
                softwareVersion="3.5.0",
                storageInfo=pb.StorageInfoProto(
                    layoutVersion=0, namespceID=self.namespace_id, clusterID=self.cluster, cTime=0
                ),
            )
        )

    def register_datanode(self, request: Any, caller: Any) -> pb.RegisterDatanodeResponseProto:
        self._keep("register", request)
        answer = pb.RegisterDatanodeResponseProto(registration=request.registration)
        if self.has_block_tokens:
            answer.registration.keys.CopyFrom(KEYS.to_proto())
        return answer

    def send_heartbeat(self, request: Any, caller: Any) -> pb.HeartbeatResponseProto:
        self._keep("heartbeat", request)
        orders, self.orders = self.orders, []
        return pb.HeartbeatResponseProto(
            cmds=orders,
            fullBlockReportLeaseId=self.lease if request.requestFullBlockReportLease else 0,
            haStatus=pb.NNHAStatusHeartbeatProto(
                state=_states.ACTIVE if self.is_active else _states.STANDBY, txid=self.txid
            ),
        )

    def block_report(self, request: Any, caller: Any) -> pb.BlockReportResponseProto:
        self._keep("report", request)
        return pb.BlockReportResponseProto()

    def block_received_and_deleted(
        self, request: Any, caller: Any
    ) -> pb.BlockReceivedAndDeletedResponseProto:
        self._keep("news", request)
        return pb.BlockReceivedAndDeletedResponseProto()

    def cache_report(self, request: Any, caller: Any) -> pb.CacheReportResponseProto:
        self._keep("cached", request)
        return pb.CacheReportResponseProto()

    def report_bad_blocks(self, request: Any, caller: Any) -> pb.ReportBadBlocksResponseProto:
        self._keep("bad", request)
        return pb.ReportBadBlocksResponseProto()

    def commit_block_synchronization(
        self, request: Any, caller: Any
    ) -> pb.CommitBlockSynchronizationResponseProto:
        self._keep("commit", request)
        return pb.CommitBlockSynchronizationResponseProto()

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def wait_for(self, name: str, count: int = 1) -> Any:
        """The request of the count-th call of this name."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.names().count(name) >= count, 30), (
                f"no {name} among {self.names()}"
            )
            return [request for kind, request in self.calls if kind == name][count - 1]

    def close(self) -> None:
        self.server.close()


class Subject:
    """The control process's side of one datanode, and what it did."""

    def __init__(
        self,
        nameservices: dict[str, list[FakeNamenode]],
        root: Path,
        heartbeat_s: float = 60,
        report_s: float = 3600,
        refusal_pause_s: float = 5,
        lifelines: Mapping[Address, Address] | None = None,
        lifeline_s: float = 60,
        memory_bytes: int = 0,
        *,
        wants_tokens: bool = False,
        may_lack_tokens: bool = False,
    ) -> None:
        self.cached = CachedBlocks()
        self.commands: list[Command] = []
        self.stopped: list[tuple[str, int]] = []
        self.left: list[str] = []
        self.ready = threading.Event()
        self.ended = threading.Event()
        self.directories = DataDirectories.open([("DISK", root / "data")])
        volumes = self.directories.volumes
        self.inventory = ReplicaIndex(volumes, ReplicaMap(), Gauges(1))
        self.storage_id = volumes.all[0].storage_id
        self.nameservices = Nameservices(
            {
                name: tuple(namenode.address for namenode in namenodes)
                for name, namenodes in nameservices.items()
            },
            lambda _: DatanodeAddress("127.0.0.1", "localhost", self.directories.uuid, 1, 2, 3),
            self.directories,
            self.inventory,
            Gauges(1),
            self.cached,
            ActorSettings(
                heartbeat_s,
                report_s,
                1000,
                refusal_pause_s,
                4 * refusal_pause_s,
                lifelines or {},
                lifeline_s,
                memory_bytes,
                cache_report_s=0,
                wants_tokens=wants_tokens,
                may_lack_tokens=may_lack_tokens,
            ),
            command=self._obey,
            ready=self.ready.set,
            stop=self._stop,
            left=self.left.append,
        )
        self.actor = self.nameservices.all[0].actors[0]

    def _obey(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, ServePool):
            self.nameservices.pool_served(command.pool_id)

    def _stop(self, reason: str, status: int) -> None:
        self.stopped.append((reason, status))
        self.ended.set()

    def close(self) -> None:
        self.nameservices.stop()
        self.directories.close()


@pytest.fixture
def make_namenode() -> Iterator[Callable[..., FakeNamenode]]:
    """Makes namenodes with these attributes."""
    made: list[FakeNamenode] = []

    def make(**attributes: Any) -> FakeNamenode:
        fake = FakeNamenode()
        made.append(fake)
        for name, value in attributes.items():
            setattr(fake, name, value)
        return fake

    yield make
    for fake in made:
        fake.close()


@pytest.fixture
def namenode(make_namenode: Callable[..., FakeNamenode]) -> FakeNamenode:
    return make_namenode()


@pytest.fixture
def start_with(tmp_path: Path) -> Iterator[Callable[..., Subject]]:
    """Starts a datanode with these nameservices."""
    subjects: list[Subject] = []

    def make(nameservices: dict[str, list[FakeNamenode]], **options: Any) -> Subject:
        subject = Subject(nameservices, tmp_path, **options)
        subjects.append(subject)
        subject.nameservices.start()
        return subject

    yield make
    for subject in subjects:
        subject.close()


@pytest.fixture
def start(namenode: FakeNamenode, start_with: Callable[..., Subject]) -> Callable[..., Subject]:
    """Starts a datanode with one namenode."""
    return partial(start_with, {"": [namenode]})
