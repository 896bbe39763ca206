"""What a standby counts of the log that it follows (pure), for NameNodeActivity."""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah.runtime.metrics.histogram import Times


@dataclass(slots=True)
class TailerMetrics:
    """What was read since the start of the process."""

    reads: Times = field(default_factory=Times)
    """Batches, on the thread that reads."""
    turns: Times = field(default_factory=Times)
    """Reading and applying, to the end that was known."""
    pauses: Times = field(default_factory=Times)
    """From one turn's begin to the next one's."""
    loads: int = 0
    """Turns that brought edits, and how many edits they brought."""
    edits: int = 0
    loaded_ms: int = 0
    """When the last edits were applied, by the namesystem's monotonic clock; 0 if none were."""
