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
    replicated = _lines(
        figures, _REPLICATED, minimum=minimum, default_replication=default_replication
    )
    coded = _lines(groups, _CODED, minimum=None, default_replication=None)
    return (
        f"\nStatus: {status}\n"
        f" Number of data-nodes:\t{datanodes}\n"
        f" Number of racks:\t\t{racks}\n"
        f" Total dirs:\t\t\t{figures.directories}\n"
        f" Total symlinks:\t\t{figures.symlinks}\n"
        f"\nReplicated Blocks:\n{''.join(replicated)}\n"
        f"\nErasure Coded Block Groups:\n{''.join(coded)}\n"
    )


@dataclass(frozen=True, slots=True)
class _Labels:
    """What Hadoop calls the figures of one of the two kinds of blocks."""

    blocks: str
    mean_length: str
    under_minimum: str
    healths: tuple[str, str, str, str]
    """Of those that reach the minimum, have too many, have too few, and lie in the wrong place."""
    mean_replicas: str
    lacking: str
    replicas: str
    """Of those on datanodes that leave or have left, behind the state's name."""


_REPLICATED: Final = _Labels(
    "blocks",
    "block size",
    "UNDER MIN REPL'D BLOCKS",
    (
        "Minimally replicated blocks:\t",
        "Over-replicated blocks:\t",
        "Under-replicated blocks:\t",
        "Mis-replicated blocks:\t\t",
    ),
    "Average block replication",
    "Missing replicas:\t\t",
    "Replicas",
)
_CODED: Final = _Labels(
    "block groups",
    "block group size",
    "UNRECOVERABLE BLOCK GROUPS",
    (
        "Minimally erasure-coded block groups:\t",
        "Over-erasure-coded block groups:\t",
        "Under-erasure-coded block groups:\t",
        "Unsatisfactory placement block groups:\t",
    ),
    "Average block group size",
    "Missing internal blocks:\t",
    " internal blocks",
)


def _lines(
    figures: Figures, labels: _Labels, *, minimum: int | None, default_replication: int | None
) -> Iterator[str]:
    """The figures of one kind. Block groups have neither a minimum nor a replication."""
    f, blocks = figures, labels.blocks

    def share(count: int) -> str:
        return f" ({_percent(count, f.blocks)} %)" if f.blocks else ""

    yield f" Total size:\t{f.size_bytes} B"
    if f.open_size_bytes:
        yield f" (Total open files size: {f.open_size_bytes} B)"
    yield f"\n Total files:\t{f.files}"
    if f.open_files:
        yield f" (Files currently being written: {f.open_files})"
    yield f"\n Total {blocks} (validated):\t{f.blocks}"
    if f.blocks:
        yield f" (avg. {labels.mean_length} {f.size_bytes // f.blocks} B)"
    if f.open_blocks:
        yield f" (Total open file {blocks} (not validated): {f.open_blocks})"
    if f.corrupt_files or f.under_minimum:
        yield _STARS
        if f.under_minimum:
            yield f"\n  {labels.under_minimum}:\t{f.under_minimum}{share(f.under_minimum)}"
            if minimum is not None:
                yield f"\n  MINIMAL BLOCK REPLICATION:\t{minimum}"
        if f.corrupt_files:
            upper = blocks.upper()
            yield f"\n  CORRUPT FILES:\t{f.corrupt_files}"
            if f.missing_bytes:
                yield f"\n  MISSING {upper}:\t{f.missing}"
                yield f"\n  MISSING SIZE:\t\t{f.missing_bytes} B"
            if f.corrupt:
                yield f"\n  CORRUPT {upper}: \t{f.corrupt}"
                yield f"\n  CORRUPT SIZE:\t\t{f.corrupt_bytes} B"
        yield _STARS
    counts = (f.minimally_replicated, f.over_replicated, f.under_replicated, f.misplaced)
    for label, count in zip(labels.healths, counts, strict=True):
        yield f"\n {label}{count}{share(count)}"
    if default_replication is not None:
        yield f"\n Default replication factor:\t{default_replication}"
    mean = java_float(f.replicas / f.blocks if f.blocks else 0.0)
    yield f"\n {labels.mean_replicas}:\t{mean}"
    yield f"\n Missing {blocks}:\t\t{f.missing}"
    yield f"\n Corrupt {blocks}:\t\t{f.corrupt}"
    yield f"\n {labels.lacking}{f.lacking_replicas}"
    if f.replicas:
        yield f" ({_percent(f.lacking_replicas, f.expected_replicas)} %)"
    for state, count in (
        ("Decommissioned", f.decommissioned),
        ("Decommissioning", f.decommissioning),
        ("EnteringMaintenance", f.entering_maintenance),
        ("InMaintenance", f.in_maintenance),
    ):
        if count:
            yield f"\n {state}{labels.replicas}:\t{count}"
    yield f"\n Blocks queued for replication:\t{f.queued}"


def _percent(count: int, of: int) -> str:
    return java_float(100 * count / of if of else float("nan"))
