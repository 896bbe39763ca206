"""What each process has of its own."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from howdah.runtime import fork_safety
from howdah.runtime.fork_safety import PerProcess, asking_once, made_once


class Value:
    pass


KNOWS_ITSELF = """
import ctypes
import os
from howdah.runtime.fork_safety import process_id

def in_a_child(fork, claim):
    pid = fork()
    if pid == 0:
        found = False
        try:
            found = claim()
        finally:
            os._exit(0 if found else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

def is_right():
    return process_id() == os.getpid()

assert is_right()
for fork in os.fork, ctypes.PyDLL(None).fork:
    assert in_a_child(fork, lambda: is_right() and in_a_child(fork, is_right) and is_right()), fork
    assert is_right()
"""
"""The second fork is one that Python knows nothing of. A child of it waits for ever if another
thread wanted the interpreter at that moment, so this is a process that has one thread."""


def test_a_child_knows_its_own_id_and_so_does_its_child() -> None:
    subprocess.run([sys.executable, "-c", KNOWS_ITSELF], check=True, timeout=60)


def test_a_process_asks_for_its_id_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asking_once()
    if asked is os.getpid:
        pytest.skip("this kernel has no memory that a fork empties")
    mine = asked()
    monkeypatch.setattr(os, "getpid", lambda: pytest.fail("asked again"))
    assert asked() == mine


def test_without_such_memory_the_kernel_is_asked_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fork_safety, "_WIPE_ON_FORK", 9999)
    assert asking_once() is os.getpid


def test_a_process_keeps_its_value_and_a_child_makes_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    each = PerProcess(Value)
    parents = each.get()
    assert each.get() is parents
    pid = os.getpid()
    monkeypatch.setattr("howdah.runtime.fork_safety.process_id", lambda: pid + 1)
    assert each.get() is not parents
    assert each.get() is each.get()


def test_a_child_lets_go_of_what_was_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    each = PerProcess(Value)
    parents = weakref.ref(each.get())
    pid = os.getpid()
    monkeypatch.setattr("howdah.runtime.fork_safety.process_id", lambda: pid + 1)
    each.get()
    gc.collect()
    assert parents() is None


def test_threads_that_make_it_at_the_same_time_get_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = threading.Barrier(2)
    made: list[Value] = []

    def make() -> Value:
        if made:
            both.wait(20)
        made.append(Value())
        return made[-1]

    each = PerProcess(make)
    pid = os.getpid()
    monkeypatch.setattr("howdah.runtime.fork_safety.process_id", lambda: pid + 1)
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
