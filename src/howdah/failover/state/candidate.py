"""One of those who want the lease of the journal nodes (pure).

The nodes' rules are `howdah.journalnode.state.election`. A candidate asks all nodes in rounds:

C1. It *looks*. Where a majority has lent its lease to one other holder, it is not elected, and
    looks again after a tenth of the lease. Where fewer than a majority answer, it is uncertain.
C2. Where a majority has a free lease, it *asks* for it, under a term above all that it has seen.
C3. Where a majority grants it, it is elected, and holds the lease by its own clock: nine tenths
    of the time to live, counted from before it asked. Else it gives back what it was granted,
    waits for a random time, and looks again.
C4. It renews after a third of the time to live. What is not renewed in time is lost, and what a
    majority has lent to another is lost at once: the candidate is uncertain and looks again.
C5. A node that has promised a later term, and has a free lease, is won back by a later term at
    the next renewal. The lease does not depend on it.
C6. The latest breadcrumb among those who granted is the one that counts.

The tenth that the holder takes off its time makes up for clocks that run up to five in a hundred
too fast or too slow. Chance is given from outside, and so is the time: milliseconds of a
monotonic clock that goes on while the machine sleeps.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from howdah.failover.state.elector import Breadcrumb, Report

HELD_SHARE: Final = 0.9
RENEWAL_SHARE: Final = 1 / 3
LOOK_SHARE: Final = 0.1
CALL_SHARE: Final = 0.5
"""Of the time to live: how long a node may take to answer."""
HASTE_MS: Final = 2000
HASTY_PAUSE_MS: Final = 20


class Kind(enum.Enum):
    LOOK = enum.auto()
    ASK = enum.auto()


@dataclass(frozen=True, slots=True)
class Round:
    """The same question to all nodes."""

    kind: Kind
    term: int
    """To ask under; 0 to look."""
    began_ms: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What one node said."""

    granted: bool = False
    promised_term: int = 0
    holder: str | None = None
    """Who has its lease now; None where it is free."""
    content: bytes = b""
    silent_ms: int = 0
    """For so long it lends nothing, as it has restarted."""
    breadcrumb: Breadcrumb | None = None
    """The version is the term. None: never written."""
    breadcrumb_is_cleared: bool = False


Answers = Mapping[int, Answer | None]
"""By node; None where it failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round came to; no report where nothing has changed."""

    report: Report | None = None
    reason: str = ""
    release_term: int | None = None
    """Give the lease back wherever it was granted under this term."""


class Candidate:
    """One candidate among `nodes` journal nodes. `holder` is its name, and nobody else's."""

    def __init__(self, holder: str, nodes: int, ttl_ms: int, random: Callable[[], float]) -> None:
        self.holder = holder
        self.ttl_ms = ttl_ms
        self._nodes = nodes
        self._majority = nodes // 2 + 1
        self._random = random
        self._held_until_ms: int | None = None
        self._next_kind = Kind.LOOK
        self._next_term = 0
        self._highest_term = 0
        self._hasty_until_ms: int | None = None
        self._reported: Report | None = None
        self.elected_term: int | None = None
        """Under which a majority granted the lease that is held."""
        self.breadcrumb: Breadcrumb | None = None
        """The latest, as the elected knows it."""
        self.next_at_ms = 0

    def start(self, now_ms: int) -> None:
        """Take part from now on."""
        self._lose()
        self._reported = None
        self.next_at_ms = now_ms

    def hasten(self, now_ms: int) -> None:
        """The lease is about to be free: look more often for a while."""
        self._hasty_until_ms = now_ms + HASTE_MS
        if self._held_until_ms is None:
            self.next_at_ms = now_ms

    def stop(self) -> None:
        """Hold nothing any more. What was granted has to be given back."""
        self._lose()

    def holds(self, now_ms: int) -> bool:
        """Whether it is elected for certain."""
        return self._held_until_ms is not None and now_ms < self._held_until_ms

    def left_ms(self, now_ms: int) -> int:
        """For so long the lease is its own yet; 0 if it is not."""
        return max(0, (self._held_until_ms or now_ms) - now_ms)

    def begin(self, now_ms: int) -> Round:
        """The next round. It is to end within half the time to live."""
        if self._held_until_ms is None and self._next_kind is Kind.LOOK:
            return Round(Kind.LOOK, 0, now_ms)
        is_held = self._held_until_ms is not None
        term = self._next_term if is_held else self._highest_term + 1
        # No term is asked for in two candidacies: what is given back of one is none of the other.
        self._highest_term = max(self._highest_term, term)
        return Round(Kind.ASK, term, now_ms)

    def is_decided(self, question: Round, answers: Answers) -> bool:
        """Whether the answers that are still to come change nothing."""
        if len(answers) == self._nodes:
            return True
        if question.kind is Kind.ASK:
            granted = sum(answer is not None and answer.granted for answer in answers.values())
            return granted >= self._majority
        free = sum(self._is_free(answer) for answer in answers.values())
        return free >= self._majority or self._holder_of_majority(answers) is not None

    def end(self, question: Round, answers: Answers, now_ms: int) -> Outcome:
        """Take in what was answered in time; `next_at_ms` says when the next round begins."""
        for answer in answers.values():
            if answer is not None:
                self._highest_term = max(self._highest_term, answer.promised_term)
        if question.kind is Kind.LOOK:
            return self._after_inspection(answers, now_ms)
        granted = [answer for answer in answers.values() if answer is not None and answer.granted]
        if len(granted) >= self._majority:
            return self._was_granted(question, answers, granted, now_ms)
        if self._held_until_ms is not None:
            return self._was_not_renewed(question, answers, now_ms)
        self._next_kind = Kind.LOOK
        self.next_at_ms = now_ms + self._pause_ms(2 * LOOK_SHARE)
        outcome = self._report(Report.UNCERTAIN, f"{self._failures_text(answers)} granted no lease")
        return Outcome(outcome.report, outcome.reason, question.term)

    # -- what a round means ----------------------------------------------------------------

    def _after_inspection(self, answers: Answers, now_ms: int) -> Outcome:
        answered = [answer for answer in answers.values() if answer is not None]
        other = self._holder_of_majority(answers)
        self.next_at_ms = now_ms + self._pause_ms(LOOK_SHARE)
        if self._hasty_until_ms is not None and now_ms < self._hasty_until_ms:
            self.next_at_ms = now_ms + HASTY_PAUSE_MS
        if other is not None:
            return self._report(Report.NOT_ELECTED, f"{other} has the lease")
        if sum(self._is_free(answer) for answer in answers.values()) >= self._majority:
            self._next_kind = Kind.ASK
            self.next_at_ms = now_ms
            return Outcome()
        if len(answered) < self._majority:
            return self._report(Report.UNCERTAIN, f"only {self._failures_text(answers)} answered")
        return self._report(Report.UNCERTAIN, "no majority of journal nodes has a free lease")

    def _was_granted(
        self, question: Round, answers: Answers, granted: list[Answer], now_ms: int
    ) -> Outcome:
        self._held_until_ms = question.began_ms + int(self.ttl_ms * HELD_SHARE)
        if not self.holds(now_ms):
            # The answers took longer than the lease is long.
            return self._give_up(question, "the answers of the journal nodes came too late", now_ms)
        newest = max(
            (a for a in granted if a.breadcrumb is not None),
            key=lambda answer: answer.breadcrumb.version if answer.breadcrumb else 0,
            default=None,
        )
        is_there = newest is not None and not newest.breadcrumb_is_cleared
        self.breadcrumb = newest.breadcrumb if newest is not None and is_there else None
        self.elected_term = self._next_term = question.term
        refused = [a for a in answers.values() if a is not None and not a.granted]
        if any(self._is_free(a) and a.promised_term >= question.term for a in refused):
            self._next_term = self._highest_term + 1
        self.next_at_ms = question.began_ms + int(self.ttl_ms * RENEWAL_SHARE)
        return self._report(Report.ELECTED, f"granted under term {question.term}")

    def _was_not_renewed(self, question: Round, answers: Answers, now_ms: int) -> Outcome:
        assert self._held_until_ms is not None
        other = self._holder_of_majority(answers)
        if other is not None:
            return self._give_up(question, f"the lease was lent to {other}", now_ms)
        if now_ms >= self._held_until_ms:
            return self._give_up(
                question, f"only {self._failures_text(answers)} renewed it in time", now_ms
            )
        if self._highest_term > question.term:
            self._next_term = self._highest_term + 1
        self.next_at_ms = min(now_ms + self._pause_ms(LOOK_SHARE), self._held_until_ms)
        return Outcome()

    def _give_up(self, question: Round, reason: str, now_ms: int) -> Outcome:
        self._lose()
        self.next_at_ms = now_ms + self._pause_ms(LOOK_SHARE)
        outcome = self._report(Report.UNCERTAIN, reason)
        return Outcome(outcome.report, outcome.reason, question.term)

    def _lose(self) -> None:
        self._held_until_ms = self.elected_term = self.breadcrumb = None
        self._next_kind = Kind.LOOK

    def _report(self, report: Report, reason: str) -> Outcome:
        before, self._reported = self._reported, report
        return Outcome(None if report is before else report, reason)

    def _is_free(self, answer: Answer | None) -> bool:
        """Whether the node would grant a lease under a later term."""
        if answer is None or answer.silent_ms:
            return False
        return answer.holder in (None, self.holder)

    def _holder_of_majority(self, answers: Answers) -> str | None:
        """Another candidate who has the lease of a majority."""
        holders = [answer.holder for answer in answers.values() if answer is not None]
        for holder in set(holders):
            is_other = holder is not None and holder != self.holder
            if is_other and holders.count(holder) >= self._majority:
                return holder
        return None

    def _pause_ms(self, share: float) -> int:
        """A share of the time to live, up to twice as long by chance."""
        return max(1, int(self.ttl_ms * share * (1 + self._random())))

    def _failures_text(self, answers: Answers) -> str:
        count = sum(answer is not None for answer in answers.values())
        return f"{count} of {self._nodes} journal nodes"
