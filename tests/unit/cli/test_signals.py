"""Signals that end a command: they are heard wherever the program is at the moment."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import gc, os, signal, sys, time, weakref
from howdah.cli.signals import Terminated, ended_by_signals

def told(*_):
    os.kill(os.getpid(), int(sys.argv[1]))
    for _ in range(1000):
        pass

class Dropped:
    pass

class Closed:
    __del__ = told

class Looped(Closed):
    def __init__(self):
        self.itself = self

def drop(kind):
    if kind == "destructor":
        Closed()
    elif kind == "collected":
        Looped()
        gc.collect()
    elif kind == "callback of a weak reference":
        dropped = Dropped()
        kept = weakref.ref(dropped, told)
        del dropped
    else:
        told()

try:
    with ended_by_signals():
        drop(sys.argv[2])
        time.sleep(60)
except Terminated as ended:
    print(ended, ended.exit_code)
"""


@pytest.mark.parametrize(
    "place", ["destructor", "collected", "callback of a weak reference", "statement"]
)
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "Interrupted 130"),
        (signal.SIGTERM, "Terminated 143"),
        (signal.SIGHUP, "Hangup 129"),
    ],
)
def test_a_signal_ends_the_program_wherever_it_comes(
    number: signal.Signals, said: str, place: str
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(int(number)), place]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.stdout, done.stderr) == (f"{said}\n", "")


def test_what_else_a_destructor_raises_is_told_as_ever() -> None:
    program = """
from howdah.cli.signals import ended_by_signals

class Faulty:
    def __del__(self):
        raise ValueError("this one")

with ended_by_signals():
    Faulty()
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0
    assert "this one" in done.stderr
