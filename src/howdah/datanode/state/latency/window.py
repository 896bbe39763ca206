"""Means over the last hours, by name (pure).

MutableRollingAverages in Hadoop. What is added counts in the window of its time. Means are
those of the last windows, so that a trouble of long ago is forgotten, one window after the other.
"""

from __future__ import annotations

from typing import Final

WINDOW_S: Final = 300.0
WINDOWS: Final = 36
MAX_NAMES: Final = 4096
"""Some megabytes. A client says which datanode is next in a pipeline, so there may be any."""


class RollingMeans:
    """Keeps sums and counts by name and window. One thread at a time."""

    def __init__(
        self, window_s: float = WINDOW_S, windows: int = WINDOWS, max_names: int = MAX_NAMES
    ) -> None:
        self._window_s = window_s
        self._windows = windows
        self._max_names = max_names
        # Of each name, the one heard of last at the end: sum and count by number of window.
        self._sums: dict[str, dict[int, tuple[float, int]]] = {}

    def add(self, name: str, total_ms: float, count: int, now_s: float) -> None:
        """`count` samples took `total_ms` together."""
        number = int(now_s // self._window_s)
        windows = self._sums.pop(name, None)
        if windows is None:
            windows = {}
            if len(self._sums) >= self._max_names:
                del self._sums[next(iter(self._sums))]
        elif number not in windows:
            for old in [n for n in windows if n <= number - self._windows]:
                del windows[old]
        before_ms, before = windows.get(number, (0.0, 0))
        windows[number] = before_ms + total_ms, before + count
        self._sums[name] = windows

    def means(self, least: int, now_s: float) -> dict[str, float]:
        """Return the milliseconds a sample, of the names that have at least so many samples."""
        oldest = int(now_s // self._window_s) - self._windows + 1
        means = {}
        for name, windows in self._sums.items():
            sums = [window for number, window in windows.items() if number >= oldest]
            count = sum(samples for _, samples in sums)
            if count >= max(least, 1):
                means[name] = sum(total for total, _ in sums) / count
        return means
