"""Moves that fail are tried again, and hold nobody up meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from howdah import errors
from howdah.balancer import moves, target
from howdah.balancer.settings import BalancerSettings
from howdah.balancer.state.iteration import Limits, Move
from howdah.balancer.state.nodes import BlockPlaces, Group
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType

NODES = [
    DatanodeAddress("127.0.0.1", f"host{number}", f"uuid{number}", 9866 + number)
    for number in range(2)
]
ONE_AT_A_TIME = BalancerSettings(limits=Limits(moves=1, moves_per_node=1))


def move(block_id: int) -> Move:
    source, to = (Group(node, "/r", StorageType.DISK, 50.0, 1 << 30) for node in NODES)
    return Move(BlockPlaces(block_id, 1001, 10, (source.key,)), source, to, NODES[0])


class Tries:
    """Datanodes that refuse a block so many times, and what was tried."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refusals: dict[int, int]) -> None:
        self.refusals = refusals
        self.order: list[int] = []
        self.ended: list[tuple[int, bool]] = []
        monkeypatch.setattr(target, "move", self._move)

    def _move(self, move: Move, pool_id: str, **how: Any) -> None:
        block_id = move.block.block_id
        self.order.append(block_id)
        if self.refusals.get(block_id, 0):
            self.refusals[block_id] -= 1
            raise errors.RemoteError("the datanode has it already")

    def run(self, retries: int, pause_s: float, *block_ids: int) -> None:
        def ended(move: Move, is_success: bool) -> None:
            self.ended.append((move.block.block_id, is_success))

        begun = moves.Moves("BP-1", ONE_AT_A_TIME, ended, retries=retries, pause_s=pause_s)
        threads: list[threading.Thread] = [begun.begin(move(each)) for each in block_ids]
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("refusals", "tries", "is_success"), [(0, 1, True), (2, 3, True), (3, 3, False), (9, 3, False)]
)
def test_a_move_is_tried_as_often_as_was_said(
    monkeypatch: pytest.MonkeyPatch, refusals: int, tries: int, is_success: bool
) -> None:
    found = Tries(monkeypatch, {1: refusals})
    found.run(2, 0.0, 1)
    assert (len(found.order), found.ended) == (tries, [(1, is_success)])


def test_who_waits_to_try_again_leaves_its_turn_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one turn in all, and the second move begins while the first one pauses."""
    found = Tries(monkeypatch, {1: 1})
    found.run(1, 1.0, 1, 2)
    assert found.order == [1, 2, 1]
    assert sorted(found.ended) == [(1, True), (2, True)]
