"""What the data process is doing now, as numbers in memory that the control process sees too.

A heartbeat carries how many connections and copies there are and how much room
replicas being written will still take. Asking for them by message would give the
numbers of the last heartbeat; these are in a page that both processes map, made
before the fork. Each is one aligned 64-bit word with one writer, so reading needs
no lock.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable

_WORD_BYTES = 8
_CONNECTIONS, _COPIES, _LOCKED, _FIRST_FIGURE = 0, 1, 2, 3
FIGURES = 128
"""Words for figures that only grow; what they mean is said by `memory.figures`, from 0, and
`latency.activity`, from 16."""
VOLUME_FIGURES = 8
"""Words of each volume that only grow; what they mean is said by `latency.volume_figures`."""
_FIRST_VOLUME = _FIRST_FIGURE + FIGURES


SPARE = 256
"""Volumes that can be added, removed ones included."""


class Gauges:
    """Made by the control process; set by the data process."""

    def __init__(self, volumes: int) -> None:
        """`volumes` there are at the start; so many may come while it runs as `SPARE` says."""
        self.volumes = volumes + SPARE
        self._adding = threading.Lock()
        self._first_volume_figure = _FIRST_VOLUME + self.volumes
        words = self._first_volume_figure + VOLUME_FIGURES * self.volumes
        self._words = memoryview(mmap.mmap(-1, words * _WORD_BYTES)).cast("q")

    def _get(self, index: int) -> int:
        return self._words[index]

    def _set(self, index: int, value: int) -> None:
        self._words[index] = value

    @property
    def connections(self) -> int:
        return self._get(_CONNECTIONS)

    @property
    def copies(self) -> int:
        return self._get(_COPIES)

    def set_connections(self, count: int) -> None:
        self._set(_CONNECTIONS, count)

    def set_copies(self, count: int) -> None:
        self._set(_COPIES, count)

    def promised_bytes(self, volume: int) -> int:
        """Room on the volume with this number that is spoken for."""
        return self._get(_FIRST_VOLUME + volume)

    def set_promised_bytes(self, volume: int, count: int) -> None:
        self._set(_FIRST_VOLUME + volume, count)

    def volume_figure(self, volume: int, number: int) -> int:
        """What was counted of the volume with this number."""
        return self._get(self._first_volume_figure + VOLUME_FIGURES * volume + number)

    def add_to_volume_figure(self, volume: int, number: int, change: int) -> None:
        """Any thread of the data process."""
        assert 0 <= number < VOLUME_FIGURES, f"there is no figure {number} of a volume"
        index = self._first_volume_figure + VOLUME_FIGURES * volume + number
        with self._adding:
            self._words[index] += change

    @property
    def locked_bytes(self) -> int:
        """What replicas in memory take."""
        return self._get(_LOCKED)

    def set_locked_bytes(self, count: int) -> None:
        self._set(_LOCKED, count)

    def figure(self, number: int) -> int:
        return self._get(_FIRST_FIGURE + number)

    def add_to_figure(self, number: int, change: int) -> None:
        """Any thread, of the one process that this figure is of."""
        assert 0 <= number < FIGURES, f"there is no figure {number}"
        with self._adding:
            self._words[_FIRST_FIGURE + number] += change

    def add_to_figures(self, changes: Iterable[tuple[int, int]]) -> None:
        """The same to several at once."""
        with self._adding:
            for number, change in changes:
                assert 0 <= number < FIGURES, f"there is no figure {number}"
                self._words[_FIRST_FIGURE + number] += change
