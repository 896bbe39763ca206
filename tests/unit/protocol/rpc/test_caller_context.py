"""What a router tells of its client, and who is believed it."""

from __future__ import annotations

import asyncio

import pytest

from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc import wire
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.caller_context import Origin, origin_in
from howdah.protocol.rpc.service import Registry, Service, unanswered
from howdah.router.namenodes.connections import encode_call
from howdah.router.state.namenodes.identity import Identity
from howdah.rpc.server import RpcServer

pytestmark = pytest.mark.req("LM-020")

PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
CLIENT_ID = b"c" * 16
OTHER_ID = bytes(range(16))


@pytest.mark.parametrize(
    ("context", "origin"),
    [
        ("clientIp:10.0.0.9,clientPort:4711", Origin("10.0.0.9")),
        ("job_1,clientIp:fd00::1", Origin("fd00::1")),
        (
            # As Hadoop's router writes it.
            f"clientIp:10.0.0.9,clientPort:1,clientId:{OTHER_ID.hex()},clientCallId:77",
            Origin("10.0.0.9", OTHER_ID, 77),
        ),
        (f"clientId:{OTHER_ID.hex()}", Origin()),
        ("clientId:,clientCallId:5", Origin()),
        ("clientId:0102,clientCallId:5", Origin()),
        (f"clientId:{OTHER_ID.hex()},clientCallId:-5", Origin()),
        ("clientId:xyz,clientCallId:5,clientIp:10.0.0.9", Origin("10.0.0.9")),
        ("clientIp:somewhere else", Origin()),
        ("clientIp:", Origin()),
        ("", Origin()),
        # Only a whole part counts.
        ("xclientIp:10.0.0.1,clientIp:10.0.0.2", Origin("10.0.0.2")),
        ("job clientIp:10.0.0.1", Origin()),
        # The first one counts, as with Hadoop's.
        ("clientIp:10.0.0.1,clientIp:10.0.0.2", Origin("10.0.0.1")),
    ],
)
def test_what_a_context_tells(context: str, origin: Origin) -> None:
    assert origin_in(context) == origin


class Implementation:
    """Notes who calls, and what is asked by its bytes."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []
        self.quick: list[str] = []

    def get_file_info(
        self, request: pb.GetFileInfoRequestProto, caller: Caller
    ) -> pb.GetFileInfoResponseProto:
        self.callers.append(caller)
        return pb.GetFileInfoResponseProto()

    def by_bytes(self, request: bytes, user: str, address: str) -> bytes | None:
        self.quick.append(address)
        return b"" if address else None


class Anybody:
    def authorize(self, real_user: str, user: str, address: str, done: object) -> None:
        assert callable(done)
        done(None)


def heard(
    *contexts: str | None, user: str = "ann", real_user: str | None = None
) -> tuple[Implementation, list[int]]:
    """One call in each context, of a connection of this user; whom the server took for the
    caller, and under which ids it answered."""
    implementation = Implementation()
    descriptor = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
    service = Service(
        PROTOCOL,
        1,
        descriptor,
        implementation,
        refused=unanswered(descriptor, implementation),
        quick={"getFileInfo": implementation.by_bytes},
    )

    async def scene() -> list[int]:
        server = RpcServer(
            Registry([service]), impersonation=Anybody(), ip_proxy_users=frozenset({"router"})
        )
        port = await server.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(wire.preamble() + wire.encode_context(PROTOCOL, user, CLIENT_ID, real_user))
        found = []
        for number, context in enumerate(contexts):
            said = None if context is None else (context, b"")
            identity = Identity(user, CLIENT_ID, number, context=said)
            request = pb.GetFileInfoRequestProto(src="/")
            writer.write(encode_call(PROTOCOL, "getFileInfo", request, identity))
            head = await reader.readexactly(4)
            header, _ = wire.decode_answer(await reader.readexactly(int.from_bytes(head, "big")))
            assert header.clientId == CLIENT_ID
            found.append(header.callId)
        writer.close()
        await server.stop()
        return found

    return implementation, asyncio.run(asyncio.wait_for(scene(), 60))


IDS = f"clientId:{OTHER_ID.hex()},clientCallId:77"


@pytest.mark.parametrize(("user", "real_user"), [("ann", "router"), ("router", None)])
def test_a_router_is_believed_where_its_clients_are(user: str, real_user: str | None) -> None:
    found, answered = heard(
        "clientIp:10.0.0.9", None, f"clientIp:10.0.0.8,{IDS}", user=user, real_user=real_user
    )
    assert [each.machine for each in found.callers] == ["10.0.0.9", "127.0.0.1", "10.0.0.8"]
    assert {each.address for each in found.callers} == {"127.0.0.1"}
    assert [(each.client_id, each.call_id) for each in found.callers] == [
        (CLIENT_ID, 0),
        (CLIENT_ID, 1),
        (OTHER_ID, 77),
    ]
    assert answered == [0, 1, 2]
    # What is answered by its bytes is told that it does not know where the client is.
    assert set(found.quick) <= {""}


@pytest.mark.parametrize(("user", "real_user"), [("ann", None), ("router", "ann")])
def test_nobody_else_is_believed(user: str, real_user: str | None) -> None:
    found, _ = heard(f"clientIp:10.0.0.9,{IDS}", user=user, real_user=real_user)
    (caller,) = found.callers
    assert (caller.machine, caller.client_id, caller.call_id) == ("127.0.0.1", CLIENT_ID, 0)


def test_calls_of_others_are_answered_by_their_bytes() -> None:
    found, answered = heard(*["clientIp:10.0.0.9"] * 4)
    assert answered == [0, 1, 2, 3]
    assert set(found.quick) == {"127.0.0.1"}
    assert len(found.callers) + len(found.quick) == 4
