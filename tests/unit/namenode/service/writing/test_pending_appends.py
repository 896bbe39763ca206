"""Appends that come before all replicas of the last block are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.namenode.service.writing.pending_appends import WAIT_MS
from howdah.protocol.rpc.service import Deferred
from howdah.testing.in_memory import InMemoryDatanode

Nodes = list[InMemoryDatanode]


class JustClosed:
    """A file of one block, closed when only the first of its datanodes had reported."""

    def __init__(self, client: Any, nodes: Nodes, length: int = 10) -> None:
        client.create("/a", replication=3)
        self.block = client.add_block("/a").b
        self.nodes = nodes[:3]
        self.report(0)
        self.block.numBytes = length
        assert client.complete("/a", self.block) is True

    def report(self, index: int) -> None:
        self.nodes[index].store(self.block.blockId, self.block.generationStamp, 10)


@pytest.fixture
def closed(client: Any, nodes: Nodes) -> JustClosed:
    return JustClosed(client, nodes)


def names(answer: Any) -> set[str]:
    """The pipeline that an append was given."""
    response: Any = answer._outcome if isinstance(answer, Deferred) else answer
    return {node.id.datanodeUuid for node in response.block.locs}


@pytest.mark.req("OS-015", "FS-135")
def test_an_append_right_after_the_close_gets_the_whole_pipeline(
    client_of: Any, closed: JustClosed
) -> None:
    answer = client_of().append("/a")
    assert isinstance(answer, Deferred)
    closed.report(1)
    assert not answer.settled
    closed.report(2)
    assert names(answer) == {node.uuid for node in closed.nodes}


def test_an_append_does_not_wait_for_what_has_been_reported(
    client_of: Any, closed: JustClosed
) -> None:
    closed.report(1)
    closed.report(2)
    assert names(client_of().append("/a")) == {node.uuid for node in closed.nodes}


def test_a_report_that_does_not_come_is_waited_for_once(
    client: Any, client_of: Any, closed: JustClosed
) -> None:
    answer = client_of().append("/a")
    client.namenode.tick(WAIT_MS - 1)
    assert not answer.settled
    client.namenode.tick(1)
    assert names(answer) == {closed.nodes[0].uuid}


def test_a_held_append_is_refused_as_any_other_in_the_end(
    client: Any, client_of: Any, closed: JustClosed
) -> None:
    answer = client_of().append("/a")
    client.delete("/a")
    client.namenode.tick(0)
    assert isinstance(answer._outcome, errors.PathNotFound)


def test_of_two_held_appends_the_first_gets_the_file(
    client_of: Any, closed: JustClosed, settled: Callable[[Any], Any]
) -> None:
    first, second = client_of().append("/a"), client_of().append("/a")
    closed.report(1)
    closed.report(2)
    assert names(first) == {node.uuid for node in closed.nodes}
    assert isinstance(second._outcome, errors.HowdahError)


def test_a_defect_in_one_held_append_is_told_to_its_caller_alone(
    client: Any, client_of: Any, closed: JustClosed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the others' answers are lost by it, nor the datanode's report."""
    held = [client_of().append("/a"), client_of().append("/a")]
    appends = client.namenode.client._files.appends
    run = appends._run

    def fail_once(*call: Any) -> Any:
        appends._run = run
        raise AssertionError("nobody foresaw this")

    appends._run = fail_once
    closed.report(1)
    closed.report(2)
    assert [answer.settled for answer in held] == [True, True]
    assert "AssertionError: nobody foresaw this" in str(held[0]._outcome)
    assert names(held[1]) == {node.uuid for node in closed.nodes}


def test_a_defect_while_an_append_is_looked_at_is_told_to_its_caller(
    client: Any, client_of: Any, closed: JustClosed, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = client_of().append("/a")

    def fail(*_: Any) -> Any:
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(client.namenode.namesystem.resolver, "resolve", fail)
    client.namenode.client.look_at_waiting()
    assert "KeyError" in str(answer._outcome)
