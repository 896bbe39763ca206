"""Where the time of a world goes: samples of what runs, in processor time.

A timer interrupts the process each millisecond of processor time, and the frames that run then are
counted. Time of functions in C counts for the Python code that calls them. The samples change
nothing in the world: its time is virtual.
"""

from __future__ import annotations

import signal
import types
from collections import Counter
from typing import Final

_INTERVAL_S: Final = 0.001
_WORLD: Final = "howdah.testing.world"
_LOADING: Final = f"{_WORLD}.loader"
_DEPTH: Final = 2


class Profile:
    """Counts samples while it is entered."""

    def __init__(self) -> None:
        self.samples = 0
        self.parts: Counter[str] = Counter()
        """By the part of the world, of howdah or of Python to which the running code belongs."""
        self.functions: Counter[str] = Counter()
        """By the running function alone."""
        self.callers: Counter[str] = Counter()
        """By each function that is on the stack."""

    def __enter__(self) -> Profile:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def _sample(self, _number: int, frame: types.FrameType | None) -> None:
        if frame is None:
            return
        self.samples += 1
        self.functions[_function(frame)] += 1
        self.parts[_part(frame)] += 1
        seen = set()
        outer: types.FrameType | None = frame
        while outer is not None:
            seen.add(_function(outer))
            outer = outer.f_back
        self.callers.update(seen)

    def report(self, rows: int = 25) -> str:
        """Return tables of the parts and functions that take the most time, in percent."""
        total = max(self.samples, 1)
        lines = [f"{self.samples} samples, one each {_INTERVAL_S * 1000:g} ms of processor time"]
        for title, counts in (
            ("part of the program", self.parts),
            ("function itself", self.functions),
            ("function and what it calls", self.callers),
        ):
            lines += ["", f"   %  {title}"]
            lines += [f"{100 * n / total:5.1f} {name}" for name, n in counts.most_common(rows)]
        return "\n".join(lines)


def _module(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?")).rpartition("~")[2]


def _function(frame: types.FrameType) -> str:
    return f"{_module(frame)}:{frame.f_code.co_qualname}"


def _part(frame: types.FrameType) -> str:
    """Name what a sample counts for: loading modules, a module of the simulation, a package of
    howdah, or Python's own."""
    outer: types.FrameType | None = frame
    while outer is not None:
        if outer.f_code.co_name == "_load" and _module(outer) == _LOADING:
            return "loading modules into processes"
        outer = outer.f_back
    name = _module(frame)
    if name.startswith(_WORLD):
        return f"simulation: {name.removeprefix(_WORLD).lstrip('.')}"
    if name.startswith("howdah"):
        return ".".join(name.split(".")[: _DEPTH + 1])
    return f"Python: {name.partition('.')[0]}"
