"""What each process has of its own."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from howdah.forks import PerProcess, made_once


class Value:
    pass


def test_a_process_keeps_its_value_and_a_child_makes_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = PerProcess(Value)
    parents = each.get()
    assert each.get() is parents
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    assert each.get() is not parents
    assert each.get() is each.get()


def test_a_child_lets_go_of_what_was_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    each = PerProcess(Value)
    parents = weakref.ref(each.get())
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    each.get()
    gc.collect()
    assert parents() is None


def test_threads_that_make_it_at_the_same_time_get_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = threading.Barrier(2)
    made = []

    def make() -> Value:
        if made:
            both.wait(20)
        made.append(Value())
        return made[-1]

    each = PerProcess(make)
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(each.get) for _ in range(2)]
        first, second = (one.result(20) for one in asked)
    assert len(made) == 3
    assert first is second


def test_a_property_that_two_threads_make_is_one() -> None:
    both = threading.Barrier(2)

    class Holder:
        @made_once
        def value(self) -> Value:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(20)
            return Value()

    holder = Holder()
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(lambda: holder.value) for _ in range(2)]
        first, second = (one.result(20) for one in asked)
    assert first is second is holder.value
