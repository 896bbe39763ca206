"""What `howdah balancer` prints: Hadoop's table, JSON, and progress on a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from howdah.balancer.runner import Progress
from howdah.balancer.state.termination import Result, Status
from howdah.runtime.units import byte_text

HEAD: Final = (
    "Time Stamp               Iteration#  Bytes Already Moved  Bytes Left To Move  "
    "Bytes Being Moved  NameNode"
)
_MONTHS: Final = "Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec"
_PROGRESS_S: Final = 0.5


def time_text(span_ms: float) -> str:
    """`812.0 milliseconds`, `9.5 seconds`, `1.25 minutes`."""
    for unit, length_ms, below_ms in (
        ("milliseconds", 1, 1000),
        ("seconds", 1000, 60_000),
        ("minutes", 60_000, 3_600_000),
    ):
        if span_ms < below_ms:
            return f"{span_ms / length_ms} {unit}"
    return f"{span_ms / 3_600_000} hours"


def java_date(now: datetime) -> str:
    """`Nov 23, 2026, 3:26:00 AM`, as Java writes it in English."""
    month = _MONTHS.split(",")[now.month - 1]
    half = "AM" if now.hour < 12 else "PM"
    return f"{month} {now.day}, {now.year}, {now.hour % 12 or 12}:{now:%M:%S} {half}"


class Output:
    """Prints text or JSON on standard output, and progress on standard error if that is a
    terminal."""

    def __init__(
        self,
        *,
        is_json: bool,
        operation: str = "Balancing",
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Name the operation that is reported; `now` gives the times of the rows."""
        self._operation = operation
        self._now = now
        self._is_json = is_json
        self._shows_progress = sys.stderr.isatty()
        self._shown_s = 0.0
        self._began_s = time.monotonic()

    def head(self) -> None:
        if not self._is_json:
            print(HEAD, flush=True)

    def iteration(self, uri: str, result: Result) -> None:
        self._clear()
        if self._is_json:
            self._json(
                iteration=result.number,
                namenode=uri,
                status=result.status.name,
                bytesAlreadyMoved=result.moved_bytes,
                bytesLeftToMove=result.left_bytes,
                bytesBeingMoved=result.planned_bytes,
                blocksMoved=result.moved_blocks,
            )
            return
        if result.status is Status.NO_MOVE_BLOCK:
            print("No block can be moved. Exiting...")
        print(
            f"{java_date(self._now()):<24} {result.number:>10}  "
            f"{byte_text(result.moved_bytes):>19}  {byte_text(result.left_bytes):>18}  "
            f"{byte_text(result.planned_bytes):>17}  {result.moved_blocks:>17}  {uri}",
            flush=True,
        )

    def facts(self, line: str, **values: object) -> None:
        """A line of text, or the same as an object."""
        self.print_line(line)
        if self._is_json:
            self._json(**values)

    def idle(self, iterations: int) -> None:
        self.print_line(f"No block has been moved for {iterations} iterations. Exiting...")

    def print_line(self, line: str) -> None:
        self._clear()
        if not self._is_json:
            print(line, flush=True)

    def end(self, status: Status, error: str = "") -> None:
        span_s = time.monotonic() - self._began_s
        if self._is_json:
            self._json(
                status=status.name,
                exitCode=status.exit_code,
                seconds=round(span_s, 3),
                **({"error": error} if error else {}),
            )
            return
        if error:
            self.print_line(f"{error}.  Exiting ...")
        self.print_line(
            f"{java_date(self._now()):<24} {self._operation} took {time_text(int(span_s * 1000))}"
        )

    def progress(self, progress: Progress) -> None:
        now_s = time.monotonic()
        if not self._shows_progress or now_s - self._shown_s < _PROGRESS_S:
            return
        self._shown_s = now_s
        sys.stderr.write(
            f"\r\x1b[K{byte_text(progress.moved_bytes)} of {byte_text(progress.planned_bytes)} "
            f"moved, {progress.running} moves under way"
        )
        sys.stderr.flush()

    def _clear(self) -> None:
        if self._shows_progress and self._shown_s:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown_s = 0.0

    @staticmethod
    def _json(**values: object) -> None:
        print(json.dumps(values), flush=True)
