"""What an election says of the active namenode, hostile contents included."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.failover.settings import is_same_host
from howdah.failover.state.active_node import ActiveNode, decode, encode, target_of
from howdah.failover.state.service import Target
from howdah.proto import failover_pb2

NN1 = Target("east", "nn1", ("nn1.example.com", 8020), 8019, True, None)
TARGETS = {"nn1": NN1}


def by_address(one: str, other: str) -> bool:
    """Two names of one host, as a look-up would say."""
    return {one, other} == {"nn1.example.com", "alias.example.com"}


def named(data: bytes) -> Target:
    return target_of(data, TARGETS, by_address)


def content(**changes: object) -> bytes:
    fields: dict[str, Any] = {
        "nameserviceId": "east",
        "namenodeId": "nn1",
        "hostname": "nn1.example.com",
        "port": 8020,
        "zkfcPort": 8019,
    }
    return failover_pb2.ActiveNodeInfo(**(fields | changes)).SerializeToString()


def test_the_content_is_that_of_hadoop() -> None:
    # Fields 1 to 5 of its HAZKInfo.proto, in this order.
    assert encode(NN1) == (
        b"\x0a\x04east\x12\x03nn1\x1a\x0fnn1.example.com\x20\xd4\x3e\x28\xd3\x3e"
    )


def test_a_content_is_read_as_it_was_written() -> None:
    assert decode(encode(NN1)) == ActiveNode("east", "nn1", "nn1.example.com", 8020, 8019)


def test_the_port_of_the_controller_is_the_one_that_the_election_says() -> None:
    assert named(content(zkfcPort=1234)).controller_port == 1234
    for none in (0, -5, 70000):
        assert named(content(zkfcPort=none)).controller_port == 8019


def test_another_name_of_the_host_is_accepted_and_not_used() -> None:
    assert named(content(hostname="alias.example.com")).address == NN1.address


def test_names_of_one_host_have_an_address_in_common() -> None:
    assert is_same_host("localhost", "127.0.0.1")
    assert not is_same_host("127.0.0.1", "127.0.0.2")
    for nonsense in ("", "a b", "x" * 300, "no-such-host.invalid"):
        assert not is_same_host(nonsense, "127.0.0.1")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "names no namenode"),
        (b"\xff" * 30, "names no namenode"),
        (content()[:-2], "names no namenode"),
        (content(hostname="a" * 5000), "names no namenode"),
        (content(namenodeId="nn1\n"), "names no namenode"),
        (content().replace(b"east", b"e\xff\xffst"[:4]), "names no namenode"),
        (content(namenodeId="nn7"), "which is not in the configuration"),
        (content(nameserviceId="west"), "which is not in the configuration"),
        (content(hostname="evil.example.com"), "Both must agree"),
        (content(port=22), "Both must agree"),
    ],
)
def test_what_does_not_agree_with_the_configuration_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(errors.ServiceFailed, match=message):
        named(data)


@given(st.binary(max_size=200))
def test_any_content_names_a_namenode_or_is_refused(data: bytes) -> None:
    try:
        assert named(data).address == NN1.address
    except errors.ServiceFailed:
        pass
