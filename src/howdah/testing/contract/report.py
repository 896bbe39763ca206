"""Running the checks, and what came of it."""

from __future__ import annotations

import enum
import traceback
from collections.abc import Iterable
from dataclasses import dataclass

from howdah import errors
from howdah.testing.contract.registry import Check, all_checks
from howdah.testing.contract.subject import ContractViolated, Subject


class Outcome(enum.Enum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """A check with its outcome; `reason` says what failed, or why it was not run."""

    check: Check
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.outcome.value:>7}  {self.check.topic}/{self.check.name}{reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a filesystem makes of the contract."""

    uri: str
    results: tuple[Result, ...]

    def of(self, outcome: Outcome) -> list[Result]:
        return [result for result in self.results if result.outcome is outcome]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.of(Outcome.FAILED)

    @property
    def proved(self) -> frozenset[str]:
        """The requirements of which every check that was run has passed."""
        passed = {
            requirement
            for result in self.of(Outcome.PASSED)
            for requirement in result.check.requirements
        }
        failed = {
            requirement
            for result in self.of(Outcome.FAILED)
            for requirement in result.check.requirements
        }
        return frozenset(passed - failed)

    def __str__(self) -> str:
        counts = ", ".join(f"{len(self.of(outcome))} {outcome.value}" for outcome in Outcome)
        return "\n".join((*map(str, self.results), f"{self.uri}: {counts}"))


def run_check(check: Check, subject: Subject) -> Result:
    """One check, whose errors become its result."""
    missing = check.missing(subject)
    if missing:
        return Result(check, Outcome.SKIPPED, check.why_skipped(missing))
    try:
        check(subject)
    except ContractViolated as error:
        return Result(check, Outcome.FAILED, str(error))
    except Exception as error:  # noqa: BLE001 (a stranger's filesystem may raise anything)
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Result(
            check, Outcome.FAILED, f"{type(error).__name__}: {error} ({where.name}:{where.lineno})"
        )
    return Result(check, Outcome.PASSED)


def check_subject(subject: Subject, checks: Iterable[Check] | None = None) -> Report:
    """Every check, or `checks`, one after the other, in a root of their own."""
    chosen = all_checks() if checks is None else checks
    if subject.fs.exists(subject.root) and subject.fs.list_status(subject.root):
        raise errors.IllegalArgument(
            f"{subject.root} is not empty; it would be removed with what is in it"
        )
    subject.fs.mkdirs(subject.root)
    try:
        results = tuple(run_check(check, subject) for check in chosen)
    finally:
        subject.fs.delete(subject.root, recursive=True)
    return Report(subject.fs.uri, results)
