"""Clients with several threads call one server of the threaded kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from howdah.proto import client_datanode_pb2 as pb
from howdah.testing.world.processes import Process
from howdah.testing.world.world import Unexpected, World

_PROTOCOL: Final = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
_METHOD: Final = "getReplicaVisibleLength"
_PORT: Final = 9867
_CLIENTS: Final = 3
_THREADS: Final = 2
_CALLS: Final = 40


class _Lengths:
    """Serves a number that says which request it answers."""

    def get_replica_visible_length(self, request: Any, caller: Any) -> Any:
        return pb.GetReplicaVisibleLengthResponseProto(length=request.block.numBytes + 1)


def _serve(process: Process) -> None:
    socket = process.modules.load("socket")
    service = process.modules.load("howdah.protocol.rpc.service")
    threaded = process.modules.load("howdah.rpc.threaded_server")
    protocol = pb.DESCRIPTOR.services_by_name["ClientDatanodeProtocolService"]
    refused = [method.name for method in protocol.methods if method.name != _METHOD]
    registry = service.Registry(
        [service.Service(_PROTOCOL, 1, protocol, _Lengths(), refused=refused)]
    )
    listener = socket.create_server(("0.0.0.0", _PORT))
    threaded.ThreadedRpcServer(listener, registry).start()
    process.modules.load("threading").Event().wait()


def calls(world: World) -> Mapping[str, object]:
    """Check that every call gets its own answer, once."""
    server, clients = world.machine("server"), world.machine("clients")
    world.process(server, "server").start(_serve)
    world.run(lambda: world.network.listeners)
    answered: list[int] = []

    def call(process: Process) -> None:
        client = process.modules.load("howdah.rpc.client").RpcClient(
            ("server", _PORT), _PROTOCOL, user="somebody"
        )
        threading = process.modules.load("threading")

        def work(first: int) -> None:
            for number in range(first, first + _CALLS):
                request = pb.GetReplicaVisibleLengthRequestProto()
                request.block.poolId, request.block.blockId = "BP-1", 7
                request.block.generationStamp, request.block.numBytes = 1, number
                answer = client.call(_METHOD, request, pb.GetReplicaVisibleLengthResponseProto)
                if answer.length != number + 1:
                    raise Unexpected(f"call {number} got the answer {answer.length}")
                answered.append(number)

        threads = [threading.Thread(target=work, args=(1000 * index,)) for index in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()

    running = [world.process(clients, f"client{number}") for number in range(_CLIENTS)]
    for process in running:
        process.start(call)
    world.run(lambda: all(process.is_dead for process in running))
    if len(answered) != _CLIENTS * _THREADS * _CALLS:
        raise Unexpected(f"{len(answered)} calls were answered")
    return {"calls": len(answered)}
