"""The figures of a run of fsck, and the summary that shows them (pure).

Hadoop's `NamenodeFsck.Result`. The labels, tabs and numbers are Hadoop's to the character.
Files with erasure coding do not exist here; their part of the summary is all zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from howdah.runtime.units import java_float

_STARS: Final = "\n  ********************************"

_NO_BLOCK_GROUPS: Final = """\
 Total size:\t0 B
 Total files:\t0
 Total block groups (validated):\t0
 Minimally erasure-coded block groups:\t0
 Over-erasure-coded block groups:\t0
 Under-erasure-coded block groups:\t0
 Unsatisfactory placement block groups:\t0
 Average block group size:\t0.0
 Missing block groups:\t\t0
 Corrupt block groups:\t\t0
 Missing internal blocks:\t0
 Blocks queued for replication:\t0
"""


@dataclass(slots=True)
class Figures:
    """Counts of what was checked. Replicas are those of checked blocks; blocks that are being
    written are not checked, and without `-openforwrite` open files are counted apart."""

    directories: int = 0
    symlinks: int = 0
    files: int = 0
    size_bytes: int = 0
    blocks: int = 0
    open_files: int = 0
    open_size_bytes: int = 0
    open_blocks: int = 0

    replicas: int = 0
    expected_replicas: int = 0
    lacking_replicas: int = 0
    excess_replicas: int = 0
    decommissioned: int = 0
    decommissioning: int = 0
    entering_maintenance: int = 0
    in_maintenance: int = 0

    under_minimum: int = 0
    minimally_replicated: int = 0
    over_replicated: int = 0
    under_replicated: int = 0
    misplaced: int = 0
    missing: int = 0
    missing_bytes: int = 0
    corrupt: int = 0
    corrupt_bytes: int = 0
    corrupt_files: int = 0
    """Files with missing or corrupt blocks."""
    queued: int = 0
    """Misplaced blocks for which work was queued."""

    @property
    def is_healthy(self) -> bool:
        return not (self.missing or self.corrupt)

    @property
    def entries(self) -> int:
        """What was counted of the tree."""
        return self.directories + self.symlinks + self.files


def summary(
    figures: Figures, *, datanodes: int, racks: int, default_replication: int, minimum: int
) -> str:
    """The whole summary, from its status on."""
    status = "HEALTHY" if figures.is_healthy else "CORRUPT"
    replicated = "".join(_replicated(figures, default_replication, minimum))
    return (
        f"\nStatus: {status}\n"
        f" Number of data-nodes:\t{datanodes}\n"
        f" Number of racks:\t\t{racks}\n"
        f" Total dirs:\t\t\t{figures.directories}\n"
        f" Total symlinks:\t\t{figures.symlinks}\n"
        f"\nReplicated Blocks:\n{replicated}\n"
        f"\nErasure Coded Block Groups:\n{_NO_BLOCK_GROUPS}"
    )


def _replicated(figures: Figures, default_replication: int, minimum: int) -> Iterator[str]:
    f = figures

    def share(count: int) -> str:
        return f" ({_percent(count, f.blocks)} %)" if f.blocks else ""

    yield f" Total size:\t{f.size_bytes} B"
    if f.open_size_bytes:
        yield f" (Total open files size: {f.open_size_bytes} B)"
    yield f"\n Total files:\t{f.files}"
    if f.open_files:
        yield f" (Files currently being written: {f.open_files})"
    yield f"\n Total blocks (validated):\t{f.blocks}"
    if f.blocks:
        yield f" (avg. block size {f.size_bytes // f.blocks} B)"
    if f.open_blocks:
        yield f" (Total open file blocks (not validated): {f.open_blocks})"
    if f.corrupt_files or f.under_minimum:
        yield _STARS
        if f.under_minimum:
            yield f"\n  UNDER MIN REPL'D BLOCKS:\t{f.under_minimum}{share(f.under_minimum)}"
            yield f"\n  MINIMAL BLOCK REPLICATION:\t{minimum}"
        if f.corrupt_files:
            yield f"\n  CORRUPT FILES:\t{f.corrupt_files}"
            if f.missing_bytes:
                yield f"\n  MISSING BLOCKS:\t{f.missing}\n  MISSING SIZE:\t\t{f.missing_bytes} B"
            if f.corrupt:
                yield f"\n  CORRUPT BLOCKS: \t{f.corrupt}\n  CORRUPT SIZE:\t\t{f.corrupt_bytes} B"
        yield _STARS
    for label, count in (
        ("Minimally replicated blocks:\t", f.minimally_replicated),
        ("Over-replicated blocks:\t", f.over_replicated),
        ("Under-replicated blocks:\t", f.under_replicated),
        ("Mis-replicated blocks:\t\t", f.misplaced),
    ):
        yield f"\n {label}{count}{share(count)}"
    yield f"\n Default replication factor:\t{default_replication}"
    mean = java_float(f.replicas / f.blocks if f.blocks else 0.0)
    yield f"\n Average block replication:\t{mean}"
    yield f"\n Missing blocks:\t\t{f.missing}"
    yield f"\n Corrupt blocks:\t\t{f.corrupt}"
    yield f"\n Missing replicas:\t\t{f.lacking_replicas}"
    if f.replicas:
        yield f" ({_percent(f.lacking_replicas, f.expected_replicas)} %)"
    for label, count in (
        ("DecommissionedReplicas", f.decommissioned),
        ("DecommissioningReplicas", f.decommissioning),
        ("EnteringMaintenanceReplicas", f.entering_maintenance),
        ("InMaintenanceReplicas", f.in_maintenance),
    ):
        if count:
            yield f"\n {label}:\t{count}"
    yield f"\n Blocks queued for replication:\t{f.queued}"


def _percent(count: int, of: int) -> str:
    return java_float(100 * count / of if of else float("nan"))
