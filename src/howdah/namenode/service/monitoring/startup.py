"""How far a start of the namenode is (pure). Hadoop: StartupProgress, `/startupProgress`.

Four phases follow each other: the image is read, the log behind it is replayed, a checkpoint is
saved, and safe mode waits for datanodes. No checkpoint is made by a start here, so that phase is
over at once. Whoever works at a phase says how it can be seen how far it is, and does nothing
more: the numbers are read when somebody asks, on any thread.

Safe mode that an administrator enters later is none of the start's.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from howdah.runtime.units import iec_size
from howdah.web.http import Response, answer
from howdah.web.jmx import Bean
from howdah.web.monitoring.health import Check, Report
from howdah.web.pages import units
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import badge, bar, live, refresh_hint, section, table

PATH: Final = "/startupProgress"


class Phase(enum.Enum):
    """In their order, by Hadoop's names."""

    IMAGE = "LoadingFsImage"
    EDITS = "LoadingEdits"
    CHECKPOINT = "SavingCheckpoint"
    SAFE_MODE = "SafeMode"


_DESCRIBED: Final = {
    Phase.IMAGE: "Loading fsimage",
    Phase.EDITS: "Loading edits",
    Phase.CHECKPOINT: "Saving checkpoint",
    Phase.SAFE_MODE: "Safe mode",
}
_SAID: Final = {
    Phase.IMAGE: "the image is read",
    Phase.EDITS: "the log is replayed",
    Phase.CHECKPOINT: "a checkpoint is saved",
    Phase.SAFE_MODE: "safe mode waits for datanodes",
}
_COUNTED: Final = {Phase.IMAGE: " inodes", Phase.EDITS: " edits", Phase.SAFE_MODE: " blocks"}
_STEPS: Final = {
    Phase.IMAGE: ("Inodes", "inodes"),
    Phase.SAFE_MODE: ("AwaitingReportedBlocks", "awaiting reported blocks"),
}
"""What is counted in a phase; that of edits has the name of what is read, and no type."""


def _nothing() -> int:
    return 0


@dataclass(slots=True)
class _Track:
    """One phase. Numbers are asked for; those of a phase that has ended stay."""

    began_ms: int | None = None
    ended_ms: int | None = None
    file: str = ""
    size_bytes: int | None = None
    count: Callable[[], int] = _nothing
    total: Callable[[], int] = _nothing
    read_bytes: Callable[[], int] | None = None
    """Of `size_bytes`, where that says better how far it is than the count does."""


@dataclass(frozen=True, slots=True)
class PhaseSeen:
    """One phase at one moment; `share` is from 0 to 1."""

    phase: Phase
    status: str
    count: int
    total: int
    share: float
    elapsed_ms: int
    file: str
    size_bytes: int | None

    @property
    def is_complete(self) -> bool:
        return self.status == "COMPLETE"


@dataclass(frozen=True, slots=True)
class Seen:
    """All of a start at one moment."""

    phases: tuple[PhaseSeen, ...]
    share: float
    elapsed_ms: int

    @property
    def current(self) -> PhaseSeen | None:
        """The phase that is under way; None between two, and behind the last."""
        return next((phase for phase in self.phases if phase.status == "RUNNING"), None)


@dataclass(slots=True)
class StartupProgress:
    """Of one start. One thread at a time changes it; any thread may ask."""

    now_ms: Callable[[], int]
    _tracks: dict[Phase, _Track] = field(default_factory=lambda: {each: _Track() for each in Phase})

    def begin(self, phase: Phase) -> None:
        """It is under way from now on."""
        self._tracks[phase] = _Track(self.now_ms())

    def reads(
        self, phase: Phase, file: str, size_bytes: int | None, read_bytes: Callable[[], int] | None
    ) -> None:
        """What the phase works at, and how much of it was read."""
        track = self._tracks[phase]
        track.read_bytes = None  # of another file
        track.file, track.size_bytes = file, size_bytes
        track.read_bytes = read_bytes

    def counts(self, phase: Phase, count: Callable[[], int], total: Callable[[], int]) -> None:
        """What is counted; a total of 0 is not known."""
        track = self._tracks[phase]
        track.count, track.total = count, total

    def end(self, phase: Phase) -> None:
        """It is over. A second time changes nothing, nor for one that was not begun."""
        track = self._tracks[phase]
        if track.began_ms is None or track.ended_ms is not None:
            return
        count, total = track.count(), track.total()
        track.ended_ms = self.now_ms()
        # What they looked at is not kept for their sake.
        track.count, track.total, track.read_bytes = lambda: count, lambda: total, None

    def see(self) -> Seen:
        """How far it is."""
        now_ms = self.now_ms()
        phases = tuple(_seen(phase, track, now_ms) for phase, track in self._tracks.items())
        image, safe_mode = self._tracks[Phase.IMAGE], self._tracks[Phase.SAFE_MODE]
        is_over = safe_mode.ended_ms is not None
        end_ms = now_ms if safe_mode.ended_ms is None else safe_mode.ended_ms
        return Seen(
            phases,
            1.0 if is_over else sum(seen.share for seen in phases) / len(phases),
            0 if image.began_ms is None else max(0, end_ms - image.began_ms),
        )


def _seen(phase: Phase, track: _Track, now_ms: int) -> PhaseSeen:
    if track.began_ms is None:
        return PhaseSeen(phase, "PENDING", 0, 0, 0.0, 0, "", None)
    ended_ms = track.ended_ms
    count, total, read_bytes = track.count(), track.total(), track.read_bytes
    if ended_ms is not None:
        share = 1.0
    elif read_bytes is not None and track.size_bytes:
        share = read_bytes() / track.size_bytes
    else:
        share = count / total if total else 0.0
    return PhaseSeen(
        phase,
        "RUNNING" if ended_ms is None else "COMPLETE",
        count,
        total,
        max(0.0, min(1.0, share)),
        max(0, (now_ms if ended_ms is None else ended_ms) - track.began_ms),
        track.file,
        track.size_bytes,
    )


# -- how it is told ----------------------------------------------------------------------------


def startup_text(seen: Seen) -> str:
    """For people and logs."""
    current = seen.current
    if current is None:
        return "it begins" if seen.share == 0 else "it is about to serve"
    counted = ""
    if current.total or current.count:
        total = f" of {current.total:,}" if current.total else ""
        counted = f" ({current.count:,}{total}{_COUNTED.get(current.phase, '')})"
    return f"{_SAID[current.phase]}: {current.share:.0%}{counted}"


def report(seen: Seen) -> Report:
    """Of `/health` and `/ready` while nothing is served yet."""
    current = seen.current
    return Report(
        "namenode",
        [Check("started", False, f"the namenode is starting: {startup_text(seen)}")],
        {
            "ha_state": "initializing",
            "phase": current.phase.value if current else None,
            "percent_complete": round(100 * seen.share, 1),
        },
    )


def bean(seen: Seen) -> Bean:
    """Hadoop's StartupProgress."""
    attributes: Bean = {
        "name": "Hadoop:service=NameNode,name=StartupProgress",
        "modelerType": "StartupProgress",
        "tag.Context": "dfs",
        "ElapsedTime": seen.elapsed_ms,
        "PercentComplete": seen.share,
    }
    for progress in seen.phases:
        name = progress.phase.value
        attributes[f"{name}Count"] = progress.count
        attributes[f"{name}ElapsedTime"] = progress.elapsed_ms
        attributes[f"{name}Total"] = progress.total
        attributes[f"{name}PercentComplete"] = progress.share
    return attributes


def respond(seen: Seen) -> Response:
    """The answer to `PATH`, in Hadoop's JSON."""
    progress = {
        "elapsedTime": seen.elapsed_ms,
        "percentComplete": seen.share,
        "phases": [_phase_json(phase) for phase in seen.phases],
    }
    body = json.dumps(progress).encode("utf-8", "replace")
    return answer(200, body, "application/json; charset=utf-8", {"Cache-Control": "no-store"})


def _phase_json(progress: PhaseSeen) -> dict[str, object]:
    of_file: dict[str, object] = {}
    if progress.file:
        of_file["file"] = progress.file
    if progress.size_bytes is not None:
        of_file["size"] = progress.size_bytes
    steps: list[dict[str, object]] = []
    if progress.status != "PENDING" and progress.phase is not Phase.CHECKPOINT:
        step: dict[str, object] = {}
        if progress.phase in _STEPS:
            step["name"], step["desc"] = _STEPS[progress.phase]
        else:
            step |= of_file
        step |= {
            "count": progress.count,
            "total": progress.total,
            "percentComplete": progress.share,
            "elapsedTime": progress.elapsed_ms,
        }
        steps.append(step)
    return {
        "name": progress.phase.value,
        "desc": _DESCRIBED[progress.phase],
        "status": progress.status,
        "percentComplete": progress.share,
        "elapsedTime": progress.elapsed_ms,
        **of_file,
        "steps": steps,
    }


def page(seen: Seen) -> list[Child]:
    """The body of the page of a namenode that does not serve yet."""
    return [
        live(
            "starting",
            tag("h2", "The namenode is starting", data_say=True),
            tag("p", startup_text(seen)),
            class_="verdict warn",
        ),
        refresh_hint(),
        section(
            "phases",
            "Start-up",
            table(
                "What a start consists of",
                ("Phase", "State", "Done", "Counted", "Time", "File"),
                [_row(phase) for phase in seen.phases],
                numbers=(3, 4),
            ),
        ),
    ]


def _row(progress: PhaseSeen) -> list[Child]:
    level = {"PENDING": "idle", "RUNNING": "warn", "COMPLETE": "ok"}[progress.status]
    percent = 100 * progress.share
    counted = (
        f"{progress.count:,} of {progress.total:,}" if progress.total else f"{progress.count:,}"
    )
    size = "" if progress.size_bytes is None else f" ({iec_size(progress.size_bytes)})"
    return [
        _DESCRIBED[progress.phase],
        badge(level, progress.status.lower()),
        bar(percent, "ok", f"{percent:.0f} %"),
        counted if progress.count or progress.total else "",
        units.span(progress.elapsed_ms / 1000) if progress.status != "PENDING" else "",
        f"{progress.file}{size}",
    ]
