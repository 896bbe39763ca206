"""What a client tells datanodes about their page caches: from the caller, or configured."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.client.settings.settings import ClientSettings
from howdah.config import Configuration
from howdah.protocol.data_transfer.op_requests import CachingHints

FakeCluster = Any
BLOCK = 64 * 1024


@pytest.mark.req("OS-115", "OS-118")
def test_a_writers_wish_is_for_the_blocks_that_begin_after_it(cluster: FakeCluster) -> None:
    with cluster.create(block_size=BLOCK) as out:
        out.write(bytes(BLOCK))
        out.hflush()
        out.set_drop_behind(True)
        out.write(bytes(BLOCK))
        out.hflush()
        out.set_drop_behind(False)
        out.write(b"x")
    wishes = [write.hints.drop_behind for write in cluster.datanodes[0].writes]
    assert wishes == [None, True, False]


@pytest.mark.req("OS-115")
def test_none_takes_a_writers_wish_back(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        out.set_drop_behind(True)
        out.set_drop_behind(None)
        out.write(b"x")
    assert cluster.datanodes[0].writes[0].hints == CachingHints()


@pytest.mark.req("OS-115")
def test_none_takes_a_readers_wish_back(cluster: FakeCluster) -> None:
    cluster.put(b"content")
    with cluster.open() as stream:
        stream.set_drop_behind(True)
        stream.set_drop_behind(None)
        stream.read()
    assert cluster.datanodes[0].reads[0].hints == CachingHints()


@pytest.mark.req("OS-115")
def test_a_writer_that_wishes_nothing_goes_by_the_configuration(cluster: FakeCluster) -> None:
    with cluster.create(drop_behind_writes=True) as out:
        out.write(b"x")
    assert cluster.datanodes[0].writes[0].hints.drop_behind is True


def test_the_configuration_is_hadoops() -> None:
    conf = Configuration().with_values(
        {
            "dfs.client.cache.drop.behind.reads": "true",
            "dfs.client.cache.drop.behind.writes": "false",
            "dfs.client.cache.readahead": "64k",
        }
    )
    found = ClientSettings.from_configuration(conf)
    assert found.drop_behind_reads is True
    assert found.drop_behind_writes is False
    assert found.readahead_bytes == 64 * 1024


def test_nothing_is_wished_by_default() -> None:
    found = ClientSettings.from_configuration(Configuration())
    assert (found.drop_behind_reads, found.drop_behind_writes) == (None, None)
    assert found.readahead_bytes is None
