"""What the moves from one volume to another are to do, and when it is enough (pure).

DiskBalancerWorkItem, and the rules of DiskBalancerMover, in Hadoop:

- A replica is taken if it is no longer than what is still to be moved, and the tolerance. The
  first that fits is as good as any.
- It is enough when the bytes that were moved, and the tolerance, are more than what was asked for.
- More errors than are allowed end it.

Replicas that are gone, or wanted by a client, by the time that they would be moved are left where
they are, and are no errors (in Hadoop they are: a busy datanode ends its plan early).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.diskbalancer.planner import MoveStep
from howdah.diskbalancer.status import WorkEntry

MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class WorkRules:
    """What holds where a plan says nothing. Defaults are Hadoop's."""

    bandwidth_mib: int = 10
    """MiB a second."""
    max_errors: int = 5
    tolerance_percent: int = 10

    @classmethod
    def of(cls, bandwidth_mib: int, max_errors: int, tolerance_percent: int) -> WorkRules:
        """Values that mean nothing are the defaults, as in Hadoop."""
        default = cls()
        return cls(
            bandwidth_mib if bandwidth_mib > 0 else default.bandwidth_mib,
            max_errors if max_errors >= 0 else default.max_errors,
            tolerance_percent if tolerance_percent > 0 else default.tolerance_percent,
        )


@dataclass(frozen=True, slots=True)
class DiskBalancerSettings:
    """Defaults are Hadoop's."""

    enabled: bool = True
    plan_valid_s: float = 86_400.0
    """How old a plan may be."""
    rules: WorkRules = WorkRules()


class BalancerWork:
    """From one volume to another. Changed by one thread; what others read is a number each."""

    def __init__(self, source_id: str, destination_id: str, step: MoveStep) -> None:
        self.source_id = source_id
        self.destination_id = destination_id
        self.bytes_to_copy = step.bytes_to_move
        self.bytes_copied = 0
        self.blocks_copied = 0
        self.error_count = 0
        self.error = ""
        self.start_time_ms = 0
        self.elapsed_s = 0
        self._step = step

    def add(self, step: MoveStep) -> None:
        """One more step between the two; what it says of limits holds."""
        self.bytes_to_copy += step.bytes_to_move
        self._step = step

    # --- limits ---

    def bandwidth(self, rules: WorkRules) -> int:
        """Bytes a second."""
        return (self._step.bandwidth_mib or rules.bandwidth_mib) * MIB

    def has_failed(self, rules: WorkRules) -> bool:
        """Whether there were more errors than are allowed."""
        return self.error_count > (self._step.max_disk_errors or rules.max_errors)

    def is_enough(self, rules: WorkRules) -> bool:
        return self.bytes_to_copy < self._with_tolerance(self.bytes_copied, rules)

    def accepts(self, length_bytes: int, rules: WorkRules) -> bool:
        """Whether a replica of this length is not too much."""
        left_bytes = self.bytes_to_copy - self.bytes_copied
        return length_bytes <= self._with_tolerance(left_bytes, rules)

    def _with_tolerance(self, count_bytes: int, rules: WorkRules) -> int:
        percent = self._step.tolerance_percent or rules.tolerance_percent
        return count_bytes + count_bytes * percent // 100

    # --- what has happened ---

    def moved(self, length_bytes: int) -> None:
        self.bytes_copied += length_bytes
        self.blocks_copied += 1

    def failed(self, error: str) -> None:
        self.error_count += 1
        self.error = error

    def entry(self, source_path: str, destination_path: str) -> WorkEntry:
        """What is told of it."""
        return WorkEntry(
            source_path,
            destination_path,
            self.bytes_to_copy,
            self.bytes_copied,
            self.blocks_copied,
            self.error_count,
            self.error,
            self.start_time_ms,
            self.elapsed_s,
            self._step.max_disk_errors,
            self._step.tolerance_percent,
            self._step.bandwidth_mib,
        )
