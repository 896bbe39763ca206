"""Threads that take turns."""

from __future__ import annotations

import random
import threading

import pytest

from howdah.mount.turns import Turn, Turns


def test_turns_are_taken_in_the_order_in_which_they_were_announced() -> None:
    turns, order = Turns(), list[int]()
    announced = [(number, turns.announce()) for number in range(50)]
    inside = threading.Lock()

    def take(number: int, turn: Turn) -> None:
        with turn:
            assert inside.acquire(blocking=False)
            order.append(number)
            inside.release()

    random.Random(1).shuffle(announced)
    threads = [threading.Thread(target=take, args=one) for one in announced]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == list(range(50))


def test_a_turn_that_fails_ends() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="it failed"), turns.announce():
        raise ValueError("it failed")
    with turns.announce():
        pass


def test_a_turn_may_end_before_its_block() -> None:
    turns = Turns()
    first, second = turns.announce(), turns.announce()
    with first:
        first.end()
        with second:
            pass
    with turns.announce():
        pass
