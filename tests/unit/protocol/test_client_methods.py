"""The table of ClientProtocol's methods, held against the protocol and against the code."""

from __future__ import annotations

import inspect

import pytest
from google.protobuf.message_factory import GetMessageClass

from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import METHODS, Category, Observer, Route, Trait
from howdah.testing.in_memory import InMemoryNamenode
from howdah.web.webhdfs.requests import REQUESTS, make_request

PROTOCOL = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
REQUEST_TYPES = {method.name: GetMessageClass(method.input_type) for method in PROTOCOL.methods}


def test_every_method_of_the_protocol_has_a_row() -> None:
    assert METHODS.keys() == REQUEST_TYPES.keys()


@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_a_field_of_the_request(method: str) -> None:
    path = METHODS[method].path
    assert not path or path in REQUEST_TYPES[method].DESCRIPTOR.fields_by_name
    if METHODS[method].route in (Route.ONE, Route.EVERY):
        assert path, "a router has to know where to send it"
    if Trait.SHOWS_OWNER in METHODS[method].traits:
        assert path, "of which the owner is shown"


@pytest.mark.parametrize("method", METHODS)
def test_an_observer_answers_nothing_that_changes_something(method: str) -> None:
    row = METHODS[method]
    if row.observer is not Observer.NO:
        assert row.category in (Category.READ, Category.UNCHECKED)
        assert row.traits in (Trait.NONE, Trait.SHOWS_OWNER)


def test_every_operation_of_webhdfs_is_in_the_table() -> None:
    assert {method for method, row in METHODS.items() if row.webhdfs} == REQUESTS.keys()


@pytest.mark.parametrize("method", REQUESTS)
def test_a_method_is_asked_for_by_its_operation(method: str) -> None:
    request = REQUEST_TYPES[method]()
    if method == "mkdirs":
        assert isinstance(request, pb.MkdirsRequestProto)
        request.createParent = True
    assert make_request(method, request).operation == METHODS[method].webhdfs


def test_calls_that_are_answered_once_go_by_the_retry_cache() -> None:
    handlers = InMemoryNamenode().client.service().methods
    once = {method for method, row in METHODS.items() if Trait.ONCE in row.traits}
    assert once <= handlers.keys()
    assert {
        method
        for method, (_, handler) in handlers.items()
        if "self._once(" in inspect.getsource(inspect.unwrap(handler))
    } == once - {"append"}, "an append may have to wait for its file, and asks the cache itself"
