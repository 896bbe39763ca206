"""Every call has an operation category, and each role serves what the table says."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.message import Message

from howdah import errors
from howdah.namenode.service.ha.categories import CATEGORIES, CategoryGate
from howdah.namenode.service.ha.states import HAContext, HAState
from howdah.namenode.service.protocols import client
from howdah.namenode.service.protocols.ha_service import HAService, HASettings
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.namenode.service.protocols.refresh import Reconfiguration, refresh_services
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import Category
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Registry, Service
from howdah.testing.in_memory import CLUSTER, InMemoryNamenode

ALICE = Caller("alice", b"c" * 16, 3, 1, "10.0.0.1")

UNUSED: Any = SimpleNamespace()


def services() -> list[Service]:
    """All that `process.server` serves."""
    namenode = InMemoryNamenode()
    return [
        namenode.client.service(),
        namenode.datanode.service(),
        NamenodeProtocol(namenode.namesystem, CLUSTER, UNUSED, UNUSED).service(),
        HAService(
            namenode.namesystem, lambda: "ACTIVE", lambda: "", None, HASettings(False, False)
        ).service(),
        Reconfiguration(namenode.namesystem, {}, UNUSED, UNUSED).service(),
        *refresh_services(namenode.namesystem, UNUSED, UNUSED, UNUSED),
    ]


def test_every_call_of_every_protocol_has_a_category_and_no_other_has() -> None:
    served = {service.protocol: set(service.methods) for service in services()}
    assert {protocol: set(methods) for protocol, methods in CATEGORIES.items()} == served


def test_an_active_in_doubt_refuses_reads_and_answers_what_is_asked_of_the_process() -> None:
    here = context(HAState.ACTIVE)
    here.doubt("nobody confirms it")
    gate = CategoryGate(here)
    with pytest.raises(errors.StandbyError, match="nobody confirms it"):
        gate(client.PROTOCOL, "getFileInfo", UNUSED)
    gate(HAService.PROTOCOL, "getServiceStatus", UNUSED)
    here.doubt("")
    gate(client.PROTOCOL, "getFileInfo", UNUSED)


def test_answers_about_high_availability_wait_for_no_lease() -> None:
    """A namenode that is cut off has to say so."""
    registry = Registry(services())
    shows = [name for name in registry.services if registry.shows_state(name, UNUSED)]
    assert [name for name in registry.services if name not in shows] == [HAService.PROTOCOL]


CALLS = [
    (protocol, method, category)
    for protocol, methods in CATEGORIES.items()
    for method, category in methods.items()
    if isinstance(category, Category)
]


def context(state: HAState) -> HAContext:
    made = HAContext(lambda: 0)
    made.enter(state)
    return made


@pytest.mark.parametrize(("protocol", "method", "category"), CALLS)
def test_a_standby_refuses_whatever_is_checked(
    protocol: str, method: str, category: Category
) -> None:
    gate = CategoryGate(context(HAState.STANDBY))
    if category is Category.UNCHECKED:
        gate(protocol, method, UNUSED)
        return
    with pytest.raises(errors.StandbyError) as caught:
        gate(protocol, method, UNUSED)
    assert caught.value.remote_class == "org.apache.hadoop.ipc.StandbyException"
    assert caught.value.message == (
        f"Operation category {category.name} is not supported in state standby. "
        "Visit https://s.apache.org/sbnn-error"
    )


def test_an_observer_serves_reads_and_sends_writers_to_the_active() -> None:
    gate = CategoryGate(context(HAState.OBSERVER))
    gate(client.PROTOCOL, "getFileInfo", UNUSED)
    with pytest.raises(errors.ObserverRetryOnActive, match=r"WRITE .* in state observer") as caught:
        gate(client.PROTOCOL, "mkdirs", UNUSED)
    assert caught.value.remote_class == "org.apache.hadoop.ipc.ObserverRetryOnActiveException"
    with pytest.raises(errors.StandbyError, match="JOURNAL"):
        gate(client.PROTOCOL, "rollEdits", UNUSED)


@pytest.mark.parametrize("state", [HAState.INITIALIZING, HAState.STOPPING])
def test_who_is_not_there_yet_or_leaves_serves_nothing(state: HAState) -> None:
    here = HAContext(lambda: 0)
    if state is not HAState.INITIALIZING:
        here.enter(state)
    with pytest.raises(errors.StandbyError, match=f"UNCHECKED .* in state {state.value}"):
        CategoryGate(here)(client.PROTOCOL, "getDatanodeReport", UNUSED)


@pytest.mark.parametrize(
    ("request_", "method", "served"),
    [
        (pb.SetSafeModeRequestProto(action=pb.SAFEMODE_ENTER), "setSafeMode", True),
        (pb.SetSafeModeRequestProto(action=pb.SAFEMODE_GET, checked=True), "setSafeMode", False),
        (pb.SetSafeModeRequestProto(action=pb.SAFEMODE_ENTER, checked=True), "setSafeMode", False),
        (pb.RollingUpgradeRequestProto(action=pb.QUERY), "rollingUpgrade", False),
        (pb.RollingUpgradeRequestProto(action=pb.START), "rollingUpgrade", False),
    ],
)
def test_some_calls_have_the_category_that_the_request_asks_for(
    request_: Message, method: str, served: bool
) -> None:
    gate = CategoryGate(context(HAState.STANDBY))
    if served:
        gate(client.PROTOCOL, method, request_)
    else:
        with pytest.raises(errors.StandbyError):
            gate(client.PROTOCOL, method, request_)


def test_a_standby_tells_a_balancer_of_its_blocks_where_that_is_configured() -> None:
    here = context(HAState.STANDBY)
    with pytest.raises(errors.StandbyError):
        CategoryGate(here)(NamenodeProtocol.PROTOCOL, "getBlocks", UNUSED)
    CategoryGate(here, checks_get_blocks=False)(NamenodeProtocol.PROTOCOL, "getBlocks", UNUSED)


def call(method: str, request: Message) -> Call:
    body = request.SerializeToString()
    return Call(ALICE, client.PROTOCOL, 1, method, body)


def test_the_dispatch_asks_the_role_before_anything_else() -> None:
    namenode, here = InMemoryNamenode(), context(HAState.STANDBY)
    registry = Registry([namenode.client.service()], CategoryGate(here))
    request = pb.SetOwnerRequestProto(src="/", username="alice")
    with pytest.raises(errors.StandbyError):
        registry.dispatch(call("setOwner", request))
    here.enter(HAState.ACTIVE)
    with pytest.raises(errors.AccessDenied):
        registry.dispatch(call("setOwner", request))


def test_long_work_ends_when_the_role_does_not_serve_it_any_more() -> None:
    namenode, here = InMemoryNamenode(), context(HAState.ACTIVE)
    registry = Registry([namenode.client.service()], CategoryGate(here))
    slices = registry.dispatch(
        call("getContentSummary", pb.GetContentSummaryRequestProto(path="/"))
    )
    assert isinstance(slices, Iterator)
    here.enter(HAState.STANDBY)
    with pytest.raises(errors.StandbyError):
        next(slices)
