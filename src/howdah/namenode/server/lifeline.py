"""DatanodeLifelineProtocol: a port of its own, served by threads beside the loop (shell).

Hadoop gives the lifeline an RPC server with handlers of its own, and a call that takes no
lock of the namespace. The loop here does one thing at a time. While a call or a slice takes
it long, heartbeats wait at its port; so their datanodes, which have been heard of by nobody,
look dead when it goes on. These threads do nothing but note who was heard and when. They have
their turn while the loop computes, for Python switches between threads every few milliseconds;
they have none while one call of the interpreter lasts (the fork of a checkpoint, a collection
of garbage), or when the whole process stands still.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.config.value_types import Address
from howdah.namenode.service.lifelines import Lifeline, LifelineRegistry
from howdah.namenode.state.blocks.slow_nodes import address_of, check_sound
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.negotiation import ServerMethods
from howdah.protocol.rpc.service import Registry, Service
from howdah.rpc.threaded_server import ThreadedRpcServer
from howdah.runtime.users.service_authorization import OnThread
from howdah.runtime.users.service_policy import ServicePolicy

PROTOCOL: Final = "org.apache.hadoop.hdfs.server.protocol.DatanodeLifelineProtocol"
MAX_CONNECTIONS: Final = 4096
_IDLE_TIMEOUT_S: Final = 120.0


class LifelineProtocol:
    """Takes what a heartbeat has, and keeps who sent it."""

    def __init__(self, heard: LifelineRegistry, now_ms: Callable[[], int]) -> None:
        self._heard = heard
        self._now_ms = now_ms

    def service(self) -> Service:
        descriptor = pb.DESCRIPTOR.services_by_name["DatanodeLifelineProtocolService"]
        return Service(PROTOCOL, 1, descriptor, self)

    def send_lifeline(
        self, request: pb.HeartbeatRequestProto, caller: Caller
    ) -> pb.LifelineResponseProto:
        datanode_id = request.registration.datanodeID
        ip = address_of(caller.address, datanode_id.ipAddr)
        check_sound(datanode_id, ip)
        line = Lifeline(datanode_id.datanodeUuid, f"{ip}:{datanode_id.xferPort}", self._now_ms())
        if not self._heard.note(line):
            raise errors.RetriableError(
                f"the lifeline of datanode {line.uuid} at {line.address} is not kept: too many "
                "wait for the namenode"
            )
        return pb.LifelineResponseProto()


class LifelineServer:
    """The port, and a thread for each datanode that is late."""

    def __init__(
        self,
        address: Address,
        heard: LifelineRegistry,
        now_ms: Callable[[], int],
        backlog: int,
        methods: ServerMethods | None = None,
        authorization: OnThread | None = None,
    ) -> None:
        """Listens at once. Without `methods` everybody is believed, and without `authorization`
        everybody may come. Raises the `OSError` if it cannot listen."""
        listener = socket.create_server(
            address,
            family=socket.AF_INET6 if ":" in address[0] else socket.AF_INET,
            backlog=backlog,
        )
        self._authorization = authorization
        self.port: int = listener.getsockname()[1]
        self._server = ThreadedRpcServer(
            listener,
            Registry([LifelineProtocol(heard, now_ms).service()]),
            max_connections=MAX_CONNECTIONS,
            idle_timeout_s=_IDLE_TIMEOUT_S,
            methods=methods,
            authorization=authorization,
        )
        self._server.start()

    def authorize_by(self, policy: ServicePolicy) -> None:
        """Who may come is another one now."""
        if self._authorization is not None:
            self._authorization.replace(policy)
            self._server.judge_again()

    def stop(self) -> None:
        self._server.close()
