"""The page of a journal node: its journals, and how far each is (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah.web.pages import units
from howdah.web.pages.html import Child
from howdah.web.pages.layout import Link, badge, refresh_hint, section, table, verdict

LINKS: Final = (Link("/", "Overview"),)


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """`missing` transactions are to come by journal sync; without a vote it takes no part in a
    failover; `trouble` says why it cannot be used. Times are of the wall clock, 0 for never."""

    name: str
    highest_txid: int
    committed_txid: int
    missing: int
    promised_epoch: int
    writer_epoch: int
    has_vote: bool
    trouble: str
    last_write_ms: int
    transactions_written: int
    cache_misses: int


def overview(journals: Sequence[JournalFacts], now_ms: int) -> list[Child]:
    """The body of the page."""
    bad = [f"{journal.name}: {journal.trouble}" for journal in journals if journal.trouble]
    warn = [f"{journal.name} has no vote yet" for journal in journals if not journal.has_vote]
    warn += [
        f"{journal.name} lacks {units.count(journal.missing, 'transaction')}, "
        "which journal sync brings"
        for journal in journals
        if journal.missing
    ]
    level = "bad" if bad else "warn" if warn else "ok"
    headline = {
        "bad": "A journal cannot be used",
        "warn": "The journals are written, and something is to come",
        "ok": "All journals are whole" if journals else "There is no journal yet",
    }[level]
    return [
        verdict(level, headline, [*bad, *warn]),
        refresh_hint(),
        section(
            "journals",
            "Journals",
            table(
                "Each journal of this node",
                (
                    "Journal",
                    "State",
                    "Last transaction",
                    "Lag",
                    "Missing",
                    "Epoch",
                    "Last write",
                    "Written since the start",
                ),
                [_row(journal, now_ms) for journal in journals],
                numbers=(2, 3, 4, 5, 6, 7),
                empty="No namenode has formatted one.",
            ),
        ),
    ]


def _row(journal: JournalFacts, now_ms: int) -> list[Child]:
    state = badge("ok", "whole")
    if journal.trouble:
        state = badge("bad", "cannot be used")
    elif not journal.has_vote:
        state = badge("warn", "no vote yet")
    elif journal.missing:
        state = badge("warn", "catches up")
    age = units.span((now_ms - journal.last_write_ms) / 1000)
    return [
        journal.name,
        state,
        f"{journal.highest_txid:,}",
        f"{max(0, journal.committed_txid - journal.highest_txid):,}",
        f"{journal.missing:,}",
        f"{journal.promised_epoch:,}",
        f"{age} ago" if journal.last_write_ms else "never",
        f"{journal.transactions_written:,}",
    ]
