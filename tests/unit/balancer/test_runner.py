"""What a defect on a balancer's thread does: it is logged, and the iteration hears of it."""

from __future__ import annotations

import logging
from queue import SimpleQueue
from typing import Any, NoReturn, cast

import pytest

from howdah.balancer import runner, target
from howdah.balancer.namenode import BalancedNamenode
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import ListBlocks, Move
from howdah.balancer.state.nodes import BlockPlaces, Group
from howdah.balancer.state.termination import Rounds
from howdah.balancer.state.utilization import Rules
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

NODES = [
    DatanodeAddress("127.0.0.1", f"host{number}", f"uuid{number}", 9866 + number)
    for number in range(2)
]


class Broken:
    """A namenode whose answers nobody foresaw."""

    pool_id = "BP-1"

    def blocks(self, *_: object) -> NoReturn:
        raise KeyError("no such field")


def balancer() -> runner.Balancer:
    return runner.Balancer(
        cast(BalancedNamenode, Broken()),
        cast(Rules, None),
        cast(Rounds, None),
        BalancerSettings(),
    )


def test_a_move_that_a_defect_ends_has_failed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise KeyError("no such field")

    monkeypatch.setattr(target, "move", fail)
    source, to = (Group(node, "/r", StorageType.DISK, 50.0, 1 << 30) for node in NODES)
    move = Move(BlockPlaces(1, 1001, 10, (source.key,)), source, to, NODES[0])
    happened: SimpleQueue[Any] = SimpleQueue()
    with caplog.at_level(logging.ERROR):
        balancer()._move(move, lambda: False, happened)
    ended = happened.get_nowait()
    assert (ended.move, ended.is_success) == (move, False)
    (record,) = caplog.records
    assert "failed on a defect" in record.getMessage()
    assert record.exc_info is not None


def test_a_listing_that_a_defect_ends_has_no_blocks_and_lets_the_next_begin(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = ListBlocks(Group(NODES[0], "/r", StorageType.DISK, 50.0, 1 << 30), 1000)
    happened: SimpleQueue[Any] = SimpleQueue()
    mine = balancer()
    with caplog.at_level(logging.ERROR):
        for _ in range(BalancerSettings().listings + 1):
            mine._list(asked, happened)
            assert happened.get_nowait().blocks is None
    assert "listing blocks of" in caplog.records[0].getMessage()
    assert "failed on a defect" in caplog.records[0].getMessage()
