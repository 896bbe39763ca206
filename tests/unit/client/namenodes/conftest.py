"""Namenodes of a nameservice that answer what a test tells them, over real connections."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.client.namenodes import active_cache
from howdah.config import Configuration
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import COORDINATED_METHODS
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.server_hooks import Alignment
from howdah.protocol.rpc.service import Registry
from howdah.rpc.threaded_server import ThreadedRpcServer

Script = Callable[[Call], Message | errors.HowdahError | None]

STANDBY = errors.StandbyError("Operation category WRITE is not supported in state standby")


_ANSWERS: dict[str, Message] = {
    "delete": pb.DeleteResponseProto(result=True),
    "getFileInfo": pb.GetFileInfoResponseProto(),
    "msync": pb.MsyncResponseProto(),
}


class _Shown:
    """An alignment that says in each answer which transaction it shows, if there is one."""

    def __init__(self, namenode: FakeNamenode) -> None:
        self._namenode = namenode

    def state_id(self) -> int | None:
        return self._namenode.txid


class FakeNamenode:
    """Answers `delete` and reads as its role asks for; a standby refuses.

    `script` is asked first; None from it leaves the answer to the role. `calls` are those
    that came; `txid` is what answers show.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.role = "standby"
        self.txid: int | None = None
        self.script: Script = lambda call: None
        self.calls: list[Call] = []
        self.port = 0
        self._server: ThreadedRpcServer | None = None
        self.start()

    def start(self) -> None:
        """Serve, at the same port as before."""
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._server = ThreadedRpcServer(listener, cast(Registry, self))
        self._server.hooks.alignment = cast(Alignment, _Shown(self))
        self._server.start()

    def stop(self) -> None:
        """As if it was killed: connections end, and nobody listens."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def method_names(self) -> frozenset[str]:
        return frozenset((*_ANSWERS, "getHAServiceState"))

    def dispatch_to_wire(self, call: Call) -> Message:
        """The registry of the server."""
        self.calls.append(call)
        answer = self.script(call)
        if isinstance(answer, errors.HowdahError):
            raise answer
        if answer is not None:
            return answer
        if call.method == "getHAServiceState":
            return pb.HAServiceStateResponseProto(state=self.role.upper())
        if self.role == "standby" or (
            self.role == "observer" and call.method not in COORDINATED_METHODS
        ):
            raise STANDBY
        return _ANSWERS[call.method]

    @property
    def methods(self) -> list[str]:
        return [call.method for call in self.calls]


class FakeNameservice:
    """`nn1`, `nn2` and so on of nameservice `ns`."""

    def __init__(self, size: int) -> None:
        self.namenodes = [FakeNamenode(f"nn{number}") for number in range(1, size + 1)]

    def __getitem__(self, place: int) -> FakeNamenode:
        return self.namenodes[place]

    def conf(self, **changes: str) -> Configuration:
        """What clients know; `changes` have `_` for `.`."""
        values = {
            "fs.defaultFS": "hdfs://ns",
            "dfs.nameservices": "ns",
            "dfs.ha.namenodes.ns": ",".join(each.name for each in self.namenodes),
            "dfs.client.failover.random.order": "false",
            "dfs.client.failover.sleep.base.millis": "1",
            "dfs.client.failover.sleep.max.millis": "5",
        }
        for each in self.namenodes:
            values[f"dfs.namenode.rpc-address.ns.{each.name}"] = f"127.0.0.1:{each.port}"
        return Configuration(values | {k.replace("_", "."): v for k, v in changes.items()})

    def active(self, place: int) -> None:
        """This one is active, and no other is."""
        for index, each in enumerate(self.namenodes):
            each.role = "active" if index == place else "standby"

    def close(self) -> None:
        for each in self.namenodes:
            each.stop()


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    active_cache.forget_all()
    yield
    active_cache.forget_all()


@pytest.fixture
def nameservice() -> Iterator[Any]:
    """Makes nameservices of so many namenodes."""
    made: list[FakeNameservice] = []

    def make(size: int = 2) -> FakeNameservice:
        made.append(FakeNameservice(size))
        return made[-1]

    yield make
    for each in made:
        each.close()
