"""The figures of a run of fsck, and the summary that shows them (pure).

Hadoop's `NamenodeFsck.Result`. The labels, tabs and numbers are Hadoop's to the character.
Files that are erasure coded, and their block groups, have figures of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from howdah.runtime.units import java_float

_STARS: Final = "\n  ********************************"


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
    figures: Figures,
    groups: Figures,
    *,
    datanodes: int,
    racks: int,
    default_replication: int,
    minimum: int,
) -> str:
    """The whole summary, from its status on; `groups` are the figures of block groups."""
    status = "HEALTHY" if figures.is_healthy and groups.is_healthy else "CORRUPT"
    replicated = "".join(_replicated(figures, default_replication, minimum))
    return (
        f"\nStatus: {status}\n"
        f" Number of data-nodes:\t{datanodes}\n"
        f" Number of racks:\t\t{racks}\n"
        f" Total dirs:\t\t\t{figures.directories}\n"
        f" Total symlinks:\t\t{figures.symlinks}\n"
        f"\nReplicated Blocks:\n{replicated}\n"
        f"\nErasure Coded Block Groups:\n{''.join(_coded(groups))}\n"
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


def _coded(f: Figures) -> Iterator[str]:
    def share(count: int) -> str:
        return f" ({_percent(count, f.blocks)} %)" if f.blocks else ""

    yield f" Total size:\t{f.size_bytes} B"
    if f.open_size_bytes:
        yield f" (Total open files size: {f.open_size_bytes} B)"
    yield f"\n Total files:\t{f.files}"
    if f.open_files:
        yield f" (Files currently being written: {f.open_files})"
    yield f"\n Total block groups (validated):\t{f.blocks}"
    if f.blocks:
        yield f" (avg. block group size {f.size_bytes // f.blocks} B)"
    if f.open_blocks:
        yield f" (Total open file block groups (not validated): {f.open_blocks})"
    if f.corrupt_files or f.under_minimum:
        yield _STARS
        if f.under_minimum:
            yield f"\n  UNRECOVERABLE BLOCK GROUPS:\t{f.under_minimum}{share(f.under_minimum)}"
        if f.corrupt_files:
            yield f"\n  CORRUPT FILES:\t{f.corrupt_files}"
            if f.missing_bytes:
                yield (
                    f"\n  MISSING BLOCK GROUPS:\t{f.missing}"
                    f"\n  MISSING SIZE:\t\t{f.missing_bytes} B"
                )
            if f.corrupt:
                yield (
                    f"\n  CORRUPT BLOCK GROUPS: \t{f.corrupt}"
                    f"\n  CORRUPT SIZE:\t\t{f.corrupt_bytes} B"
                )
        yield _STARS
    for label, count in (
        ("Minimally erasure-coded block groups:\t", f.minimally_replicated),
        ("Over-erasure-coded block groups:\t", f.over_replicated),
        ("Under-erasure-coded block groups:\t", f.under_replicated),
        ("Unsatisfactory placement block groups:\t", f.misplaced),
    ):
        yield f"\n {label}{count}{share(count)}"
    mean = java_float(f.replicas / f.blocks if f.blocks else 0.0)
    yield f"\n Average block group size:\t{mean}"
    yield f"\n Missing block groups:\t\t{f.missing}"
    yield f"\n Corrupt block groups:\t\t{f.corrupt}"
    yield f"\n Missing internal blocks:\t{f.lacking_replicas}"
    if f.replicas:
        yield f" ({_percent(f.lacking_replicas, f.expected_replicas)} %)"
    for label, count in (
        ("Decommissioned internal blocks", f.decommissioned),
        ("Decommissioning internal blocks", f.decommissioning),
        ("EnteringMaintenance internal blocks", f.entering_maintenance),
        ("InMaintenance internal blocks", f.in_maintenance),
    ):
        if count:
            yield f"\n {label}:\t{count}"
    yield f"\n Blocks queued for replication:\t{f.queued}"


def _percent(count: int, of: int) -> str:
    return java_float(100 * count / of if of else float("nan"))
