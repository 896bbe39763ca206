"""What a secondary namenode says of itself: a bean, a page, and whether its checkpoints come in
time (pure). Hadoop: SecondaryNameNodeInfoMXBean.

A checkpoint is overdue when the namenode has had edits that no image covers for longer than the
period and an allowance: half the period, or two looks at the namenode where that is longer. What
counts begins with the start, so that a new process has its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howdah import __version__
from howdah.web.jmx import Bean
from howdah.web.monitoring.health import Check, Report
from howdah.web.pages import units
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import facts, live, refresh_hint, section

ROLE = "secondarynamenode"


@dataclass(frozen=True, slots=True)
class SecondaryFacts:
    """Seconds are of a monotonic clock, milliseconds of the wall clock."""

    namenode: str
    image_directories: Sequence[str]
    edits_directories: Sequence[str]
    period_s: float
    check_period_s: float
    transactions: int
    started_ms: int
    covered_s: float
    """When nothing was uncovered for certain; the start, if that was never found."""
    checkpoint_ms: int = 0
    """0: none since the start."""
    checkpoint_s: float = 0.0
    checkpoint_txid: int = 0
    failure: str = ""
    """Why the latest look at the namenode, or the checkpoint, failed; empty if it did not."""

    @property
    def limit_s(self) -> float:
        """After so long without a checkpoint one is overdue."""
        return self.period_s + max(self.period_s / 2, 2 * self.check_period_s)


def overdue(facts: SecondaryFacts, now_s: float) -> str:
    """Why its checkpoints are not in order; empty if they are."""
    uncovered_s = now_s - facts.covered_s
    if uncovered_s <= facts.limit_s:
        return ""
    why = f": {facts.failure}" if facts.failure else ""
    return (
        f"a checkpoint is overdue: the latest edits have waited for {units.span(uncovered_s)}, "
        f"and should wait for {units.span(facts.period_s)} at most{why}"
    )


def report(facts: SecondaryFacts, now_s: float) -> Report:
    """Of `/health` and of `/ready`."""
    late = overdue(facts, now_s)
    return Report(
        ROLE,
        [
            Check("process", True, "it answers"),
            Check("checkpoint", not late, late or "none is overdue"),
        ],
        {
            "namenode": facts.namenode,
            "last_checkpoint_ms": facts.checkpoint_ms,
            "last_checkpoint_txid": facts.checkpoint_txid,
            "last_failure": facts.failure,
        },
    )


def bean(facts: SecondaryFacts, now_s: float) -> Bean:
    """Under Hadoop's names. The age is -1 before the first checkpoint, as there."""
    age_ms = round((now_s - facts.checkpoint_s) * 1000) if facts.checkpoint_ms else -1
    return {
        "name": "Hadoop:service=SecondaryNameNode,name=SecondaryNameNodeInfo",
        "modelerType": "org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode",
        "CheckpointDirectories": list(facts.image_directories),
        "CheckpointEditlogDirectories": list(facts.edits_directories),
        "CheckpointPeriod": round(facts.period_s),
        "CheckpointTxns": facts.transactions,
        "HostAndPort": facts.namenode,
        "LastCheckpointTime": facts.checkpoint_ms,
        "LastCheckpointDeltaMs": age_ms,
        "SoftwareVersion": __version__,
        "StartTime": facts.started_ms,
        "CompileInfo": f"howdah {__version__}",
        "SecurityEnabled": False,
    }


def overview(secondary: SecondaryFacts, now_s: float) -> list[Child]:
    """The body of the page."""
    late = overdue(secondary, now_s)
    level = "bad" if late else "warn" if secondary.failure else "ok"
    headline = {
        "bad": "A checkpoint is overdue",
        "warn": "The latest attempt failed, and is made again",
        "ok": "Checkpoints come in time",
    }[level]
    reason = late or secondary.failure
    last = "none since the start"
    if secondary.checkpoint_ms:
        age = units.span(now_s - secondary.checkpoint_s)
        last = f"{units.utc_text(secondary.checkpoint_ms)}, {age} ago"
    return [
        live(
            "verdict",
            tag("h2", headline, data_say=True),
            tag("ul", [tag("li", reason)]) if reason else None,
            class_=f"verdict {level}",
        ),
        refresh_hint(),
        section(
            "checkpoints",
            "Checkpoints",
            facts(
                [
                    ("Namenode", secondary.namenode),
                    ("Last checkpoint", last),
                    (
                        "Up to transaction",
                        f"{secondary.checkpoint_txid:,}"
                        if secondary.checkpoint_ms
                        else "not known yet",
                    ),
                    ("At the latest after", units.span(secondary.period_s)),
                    ("Or after", units.count(secondary.transactions, "transaction")),
                    ("Images", ", ".join(secondary.image_directories)),
                    ("Edits", ", ".join(secondary.edits_directories)),
                    ("Running since", units.utc_text(secondary.started_ms)),
                ]
            ),
        ),
    ]
