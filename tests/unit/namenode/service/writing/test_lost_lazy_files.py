"""Lazy persist files that are lost are deleted; nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.formats.edits import edits
from howdah.namenode.service.calls.namespace_changes import TreeCalls
from howdah.namenode.service.writing.lost_lazy_files import LazyPersistScrubber
from howdah.namenode.state.inodes import storage_policies
from howdah.proto import client_namenode_pb2 as pb
from howdah.testing.in_memory import InMemoryDatanode

pytestmark = pytest.mark.req("FS-214")

Nodes = list[InMemoryDatanode]
EVERY_MS = 300_000


class Scrubber:
    def __init__(self, client: Any, interval_ms: int = EVERY_MS) -> None:
        self.client = client
        namesystem = client.namenode.namesystem
        self.scrubber = LazyPersistScrubber(
            namesystem, TreeCalls(namesystem), interval_ms=interval_ms
        )

    def after(self, ms: int) -> list[str]:
        """Time passes; what is said."""
        self.client.namenode.clock.advance(ms)
        if not self.scrubber.is_due():
            return []
        return [said for said in self.scrubber.round() if said]


def write(client: Any, path: str, *, lazy: bool = True) -> list[int]:
    """A whole file of one block; its block's id."""
    flags = pb.CREATE | (pb.LAZY_PERSIST if lazy else 0)
    client.create(path, replication=1, flag=flags)
    located = client.add_block(path)
    assert client.complete(path, client.store(located, 10)) is True
    return [located.b.blockId]


def lose(nodes: Nodes, block_ids: list[int]) -> None:
    """No datanode has these any more."""
    for node in nodes:
        for block_id in block_ids:
            node.drop(block_id)


def test_only_lazy_persist_files_that_have_lost_a_block_go(client: Any, nodes: Nodes) -> None:
    lost = write(client, "/lost")
    write(client, "/kept")
    other = write(client, "/other", lazy=False)
    scrubber = Scrubber(client)
    lose(nodes, lost + other)
    assert scrubber.after(EVERY_MS - 1) == []
    assert scrubber.after(1) == ["Removing lazyPersist file /lost with no replicas."]
    there = client.namenode.namesystem.namespace
    assert there.find("/lost") is None
    assert there.find("/kept") is not None
    assert there.find("/other") is not None
    assert scrubber.after(EVERY_MS) == []


def test_nothing_is_deleted_without_an_interval_or_in_safe_mode(client: Any, nodes: Nodes) -> None:
    lose(nodes, write(client, "/lost"))
    assert Scrubber(client, 0).after(10 * EVERY_MS) == []
    scrubber = Scrubber(client)
    client.namenode.namesystem.safe_mode.enter()
    assert scrubber.after(EVERY_MS) == []
    client.namenode.namesystem.safe_mode.leave()
    assert scrubber.after(0) == ["Removing lazyPersist file /lost with no replicas."]


@pytest.mark.req("FS-211")
def test_the_flag_of_a_new_file_means_the_policy_whatever_else_is_said(
    client: Any, nodes: Nodes
) -> None:
    client.create("/f", replication=2, flag=pb.CREATE | pb.LAZY_PERSIST, storagePolicy="COLD")
    file = client.namenode.namesystem.namespace.find("/f")
    assert storage_policies.own_id(file) == storage_policies.LAZY_PERSIST.policy_id
    added = next(e for e in reversed(client.namenode.edits()) if isinstance(e, edits.AddOp))
    assert added.storage_policy_id == 15
