"""Several namenodes of one nameservice on one loop, with a directory as their shared log."""

from __future__ import annotations

import asyncio
import contextlib
import io
import shutil
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import uvloop
from google.protobuf.message import Message

from howdah.config import Configuration, keys
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of
from howdah.namenode.server.nameservice.peers import Peers
from howdah.namenode.server.process.format import format_namenode
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.server.process.server import Namenode
from howdah.namenode.service.ha.states import HAState
from howdah.namenode.service.protocols import client
from howdah.namenode.state.images.image import write_image
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Deferred
from howdah.runtime.users.current import process_user

T = TypeVar("T")
ROOT = process_user()
"""The superuser: the user that runs the namenodes."""
CLIENT = b"0123456789abcdef"


def free_ports(count: int) -> list[int]:
    """Nobody listens there now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


class Pair:
    """The directories, and the namenodes that run on them."""

    def __init__(
        self, base: Path, *, names: tuple[str, ...] = ("nn0", "nn1"), **settings: str
    ) -> None:
        self.base = base
        self._settings = settings
        self.running: dict[str, tuple[Namenode, Loaded]] = {}
        self.names = names
        free = free_ports(2 * len(self.names))
        self._addresses = {name: (free.pop(), free.pop()) for name in self.names}

    @property
    def shared(self) -> Path:
        return self.base / "shared"

    def directory(self, name: str) -> Path:
        return self.base / name

    def conf(self, name: str) -> Configuration:
        each = {}
        for other in self.names:
            rpc, http = self._addresses[other]
            each[f"{keys.DFS_NAMENODE_RPC_ADDRESS.name}.ns.{other}"] = f"127.0.0.1:{rpc}"
            each[f"{keys.DFS_NAMENODE_HTTP_ADDRESS.name}.ns.{other}"] = f"127.0.0.1:{http}"
            each[f"{keys.DFS_NAMENODE_NAME_DIR.name}.ns.{other}"] = str(self.directory(other))
            each[f"{keys.DFS_NAMENODE_EDITS_DIR.name}.ns.{other}"] = str(self.directory(other))
        return Configuration(
            {
                keys.FS_DEFAULTFS.name: "hdfs://ns",
                keys.DFS_NAMESERVICES.name: "ns",
                f"{keys.DFS_HA_NAMENODES.name}.ns": ",".join(self.names),
                keys.DFS_NAMESERVICE_ID.name: "ns",
                keys.DFS_HA_NAMENODE_ID.name: name,
                keys.DFS_NAMENODE_SHARED_EDITS_DIR.name: self.shared.as_uri(),
                keys.DFS_HA_FENCING_METHODS.name: "shell(/bin/true)",
                keys.DFS_HA_TAIL_EDITS_PERIOD.name: "10ms",
                keys.DFS_HA_TAIL_EDITS_IN_PROGRESS.name: "true",
                keys.HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES.name: f"{ROOT}=",
                keys.DFS_NAMENODE_REDUNDANCY_INTERVAL_SECONDS.name: "0",
                **each,
                **self._settings,
            }
        )

    def format(self, *, force: bool = False) -> None:
        """All of them have the same empty filesystem."""
        first, *others = self.names
        format_namenode(self.conf(first), force=force)
        for other in others:
            shutil.copytree(self.directory(first), self.directory(other))

    def start(self, name: str) -> Namenode:
        """It stands by."""
        place = place_of(self.conf(name))
        name_directories = place.conf.get(keys.DFS_NAMENODE_NAME_DIR)
        edits_directories = place.conf.get(keys.DFS_NAMENODE_EDITS_DIR)
        loaded = load(
            name_directories, edits_directories, shared_log=shared_log_of(place, lambda: None)
        )
        namenode = Namenode(place.conf, loaded, peers=Peers(place.others))
        namenode.namesystem.safe_mode.leave(force=True)
        namenode.roles.become(HAState.STANDBY)
        self.running[name] = namenode, loaded
        return namenode

    async def serve(self, name: str) -> Namenode:
        """It stands by, and listens."""
        namenode = self.start(name)
        await namenode._listen(None)
        return namenode

    def kill(self, name: str) -> None:
        """As `kill -9` would: nothing is written any more, nothing is ended in order, and
        locks are free."""
        namenode, loaded = self.running.pop(name)
        writer = namenode.log_writer
        if writer._log is not None:
            writer._log.abandon()
            writer._log = writer._barrier.log = None
        assert namenode.ha is not None
        namenode.ha.tailing.end()
        namenode.active.duties.stop()
        for lock in loaded.locks:
            lock.release()


def run(pair: Pair, scenario: Callable[[Pair], Awaitable[T]]) -> T:
    async def main() -> T:
        try:
            return await asyncio.wait_for(scenario(pair), 60)
        finally:
            for namenode, loaded in pair.running.values():
                with contextlib.suppress(OSError):
                    namenode.roles.become(HAState.STOPPING)
                if namenode.ha is not None:
                    await namenode.ha.tailing.stop()
                namenode.starting.http.stop()
                await namenode._rpc.stop()
                for lock in loaded.locks:
                    lock.release()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())


async def become(namenode: Namenode, state: HAState) -> None:
    """As an administrator orders it."""
    assert namenode.ha is not None
    told: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    namenode.ha.change(state.name, told.set_result)
    error = await told
    if isinstance(error, Exception):
        raise error


async def caught_up(namenode: Namenode, txid: int) -> None:
    """Until it has applied this transaction."""
    while namenode.namesystem.last_txid < txid:
        await asyncio.sleep(0.005)


def call(
    namenode: Namenode,
    method: str,
    request: Message,
    call_id: int = 1,
    protocol: str = client.PROTOCOL,
) -> Message:
    body, user = request.SerializeToString(), namenode.namesystem.permissions.superuser
    answer = namenode.registry.dispatch(
        Call(Caller(user, CLIENT, call_id, 0, "127.0.0.1"), protocol, 1, method, body)
    )
    assert isinstance(answer, Message), answer
    return answer


async def acknowledged(namenode: Namenode, answer: T) -> T:
    """When this answer would leave."""
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    namenode.log_writer._barrier.when_durable(lambda: gone.set_result(None))
    await gone
    assert not isinstance(answer, Deferred)
    return answer


async def mkdir(namenode: Namenode, path: str, call_id: int = 1) -> None:
    request = pb.MkdirsRequestProto(
        src=path, masked=types_pb2.FsPermissionProto(perm=0o755), createParent=True
    )
    await acknowledged(namenode, call(namenode, "mkdirs", request, call_id))


async def done(namenode: Namenode, method: str, request: Message, call_id: int = -1) -> Message:
    """The answer of a call of the superuser, when it would leave."""
    return await acknowledged(namenode, call(namenode, method, request, call_id))


def image(namenode: Namenode) -> bytes:
    """All that its namespace is."""
    sink = io.BytesIO()
    namesystem = namenode.namesystem
    write_image(namesystem.namespace, 1, namesystem.last_txid, sink)
    return sink.getvalue()
