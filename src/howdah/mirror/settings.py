"""How a mirror works (pure)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from howdah.copy.options import Attribute
from howdah.mirror.state.planner import Wanted

DEFAULT_INTERVAL_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How to mirror. `preserve` None: all attributes that both sides have."""

    wanted: Wanted = field(default_factory=Wanted)
    preserve: frozenset[Attribute] | None = None
    bandwidth_mb: float | None = None
    processes: int | None = None
    interval_s: float = DEFAULT_INTERVAL_S
    decrypts: bool = False
    """Whether files of encryption zones may become plain files at the target."""
    most_files: int | None = None
    most_bytes: int | None = None
    """Above these Spark copies."""
    master: str | None = None
    remote: str | None = None
    begins_processes: bool = True

    @property
    def has_spark(self) -> bool:
        return self.master is not None or self.remote is not None
