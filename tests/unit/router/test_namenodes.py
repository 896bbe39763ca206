"""Whom a router asks, and under which name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TypeVar, cast

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import ha_pb2
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.caller_context import Origin, origin_in
from howdah.router.calls.core import Core
from howdah.router.calls.forwarding import Forwarding
from howdah.router.namenodes.connections import Connections
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.state.methods import (
    ANSWERS,
    DESCRIPTOR,
    EVERY,
    ONE,
    QUOTA_COUNTS,
    REFUSED,
    is_write,
)
from howdah.router.state.namenodes.identity import MOST_CONTEXT_CHARACTERS, Identity, identity_of
from howdah.router.state.namenodes.membership import Members, State
from howdah.runtime.users.names import real_user_of

pytestmark = pytest.mark.req("LM-020")

M = TypeVar("M", bound=Message)

CALLER = Caller("eve", b"0123456789abcdef", 7, 1, "10.0.0.9", 4711, ("job_1", b"sig"))


def test_a_call_goes_on_under_the_clients_ids() -> None:
    found = identity_of(CALLER)
    assert (found.user, found.client_id, found.call_id) == ("eve", CALLER.client_id, 7)
    assert found.context == ("clientIp:10.0.0.9,clientPort:4711,job_1", b"sig")


def test_who_acts_for_the_client_does_so_at_the_namenode() -> None:
    acting = replace(CALLER, real_user="hive")
    found = identity_of(acting)
    assert (found.user, real_user_of(found.user)) == ("eve", "hive")
    assert real_user_of(identity_of(CALLER).user) is None


def test_parts_of_a_call_have_ids_of_their_own_that_stay_the_same() -> None:
    part = identity_of(CALLER, "#1").client_id
    assert part != CALLER.client_id
    assert part == identity_of(CALLER, "#1").client_id
    assert part != identity_of(CALLER, "#2").client_id
    assert len(part) == 16


def test_a_context_cannot_say_where_the_client_is_nor_grow() -> None:
    said = Caller("eve", bytes(16), 7, 1, "10.0.0.9", 1, ("clientIp:1.1.1.1," + "x" * 500, b""))
    context = identity_of(said).context
    assert context is not None
    assert "1.1.1.1" not in context[0]
    assert context[0].startswith("clientIp:10.0.0.9,clientPort:1,xxx")
    assert len(context[0]) <= MOST_CONTEXT_CHARACTERS


def test_a_context_says_who_acts_at_the_router_and_clients_cannot() -> None:
    lying = replace(CALLER, context=("realUser:root,job_1", b""))
    assert identity_of(lying).context == ("clientIp:10.0.0.9,clientPort:4711,job_1", b"")
    acting = replace(lying, real_user="hive")
    place = "clientIp:10.0.0.9,clientPort:4711"
    assert identity_of(acting).context == (f"{place},realUser:hive,job_1", b"")
    long = replace(acting, real_user="h" * 200)
    context = identity_of(long).context
    assert context is not None
    assert len(context[0]) == MOST_CONTEXT_CHARACTERS
    assert context[0].startswith(f"{place},realUser:hhh")


@pytest.mark.parametrize(
    "own",
    [
        "xclientIp:1.1.1.1",
        "a clientId:00112233445566778899aabbccddeeff",
        "clientCallId:5",
        "clientId:00112233445566778899aabbccddeeff,clientCallId:5",
        "; clientPort:1",
        "_realUser:root",
    ],
)
def test_nothing_of_the_clients_can_be_taken_for_the_routers(own: str) -> None:
    place = "clientIp:10.0.0.9,clientPort:4711"
    assert identity_of(replace(CALLER, context=(own, b""))).context == (place, b"")
    assert identity_of(replace(CALLER, context=(f"{own},job", b""))).context == (
        f"{place},job",
        b"",
    )
    acting = replace(CALLER, context=None, real_user=f"x,{own}")
    context = identity_of(acting).context
    assert context is not None
    assert origin_in(context[0]) == Origin("10.0.0.9")
    assert context[0].count(":") == 3


def test_the_active_is_asked_first_and_the_unavailable_last() -> None:
    members = Members("n", {name: (name, 1) for name in "abcd"})
    a, b, c, d = members.namenodes
    members.note_state(a, State.UNAVAILABLE, 1.0, "refused")
    members.note_state(b, State.STANDBY, 1.0)
    members.note_state(d, State.ACTIVE, 1.0)
    assert members.in_order() == [d, c, b, a]
    assert members.active is d
    assert members.note_state(b, State.ACTIVE, 2.0) is State.STANDBY
    assert members.active is b
    assert d.state is State.UNKNOWN
    assert not members.is_unavailable


def test_the_late_answer_of_a_former_active_does_not_make_it_the_active_again() -> None:
    members = Members("n", {name: (name, 1) for name in "ab"})
    former, present = members.namenodes
    members.note_state(former, State.ACTIVE, 1.0)
    members.note_state(present, State.ACTIVE, 5.0, asked_s=4.0)
    members.note_state(former, State.ACTIVE, 9.0, asked_s=3.0)
    assert members.active is present
    members.note_state(former, State.ACTIVE, 9.0, asked_s=6.0)
    assert members.active is former


def test_a_call_that_timed_out_says_nothing_of_a_namenode_that_has_answered_since() -> None:
    members = Members("n", {name: (name, 1) for name in "ab"})
    a, _ = members.namenodes
    members.note_state(a, State.ACTIVE, 50.0, asked_s=49.0)
    members.note_state(a, State.UNAVAILABLE, 60.0, "no answer within 60 s", asked_s=0.0)
    kept = a.state
    members.note_state(a, State.UNAVAILABLE, 70.0, "refused", asked_s=65.0)
    assert (kept, a.state) == (State.ACTIVE, State.UNAVAILABLE)


def test_a_call_that_timed_out_late_does_not_spare_others_the_namenode() -> None:
    """It has answered since: calls go to it, though that one waited in vain."""

    async def work() -> None:
        found = Nameservices(
            {"n": {"a": ("a", 1), "b": ("b", 1)}},
            cast(Connections, None),
            user="router",
            heartbeat_interval_s=1000.0,
            heartbeat_timeout_s=1.0,
        )
        namenode = found.members["n"].namenodes[0]
        now_s = asyncio.get_running_loop().time()
        why = "no answer within 60 s"
        found._note_state(namenode, State.ACTIVE, now_s)
        found._note_state(namenode, State.UNAVAILABLE, now_s - 60.0, why, was_slow=True)
        assert namenode.given_up_until_s == 0.0
        found._note_state(namenode, State.UNAVAILABLE, now_s, why, was_slow=True)
        assert namenode.given_up_until_s > now_s

    asyncio.run(work())


def test_every_method_has_one_home() -> None:
    service = Forwarding(cast(Core, None)).service
    assert service.methods.keys() == {method.name for method in DESCRIPTOR.methods}


def test_tables_of_methods_name_fields_that_are_there() -> None:
    for method, field in {**ONE, **EVERY}.items():
        request = DESCRIPTOR.methods_by_name[method].input_type
        assert field in request.fields_by_name, method
    assert not ONE.keys() & EVERY.keys()
    assert not (ONE.keys() | EVERY.keys()) & REFUSED
    assert all(is_write(method) for method in [*EVERY, *QUOTA_COUNTS])
    assert not is_write("getFileInfo")
    assert ANSWERS["create"] is pb.CreateResponseProto


class Telling(Connections):
    """A pair that tells a superuser alone how it is, and a client its role."""

    def __init__(self) -> None:
        super().__init__(connect_timeout_s=1, call_timeout_s=1, idle_limit_s=1, most_bytes=1 << 20)
        self.asked: list[tuple[str, str]] = []

    async def call(
        self,
        address: Address,
        protocol: str,
        method: str,
        request: Message,
        kind: type[M],
        identity: Identity,
        *,
        timeout_s: float | None = None,
        state_id: int | None = None,
    ) -> M:
        self.asked.append((address[0], method))
        if method == "getServiceStatus":
            raise errors.AccessDenied("Superuser privilege is required")
        if method == "getHAServiceState":
            state = ha_pb2.ACTIVE if address[0] == "b" else ha_pb2.STANDBY
            return cast("M", pb.HAServiceStateResponseProto(state=state))
        return kind()


def test_a_namenode_that_tells_superusers_alone_is_asked_for_its_role_as_by_clients() -> None:
    async def work() -> None:
        connections = Telling()
        nameservices = Nameservices(
            {"n": {name: (name, 1) for name in "ab"}},
            connections,
            user="router",
            heartbeat_interval_s=1,
            heartbeat_timeout_s=1,
        )
        for _ in range(2):
            await nameservices.heartbeat()
        states = {each.name: each.state for each in nameservices.members["n"].namenodes}
        assert states == {"a": State.STANDBY, "b": State.ACTIVE}
        assert connections.asked.count(("a", "getServiceStatus")) == 1
        assert connections.asked.count(("a", "getHAServiceState")) == 2

    asyncio.run(work())
