"""What the doctor says: a finding is a line that says what is wrong, and what to do (pure)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class Level(enum.Enum):
    """How bad it is."""

    ERROR = "error"
    """A server will not start, or data is in danger."""
    WARNING = "warning"
    """It works, and an operator would want it otherwise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` is a short name that scripts may go by; `what` and `advice` have no full stop."""

    level: Level
    check: str
    what: str
    advice: str

    def line(self) -> str:
        """The finding as a line of text."""
        return f"{self.level.value}: {self.what}: {self.advice} [{self.check}]"

    def as_dict(self) -> dict[str, str]:
        """The finding as an object of JSON."""
        return {
            "level": self.level.value,
            "check": self.check,
            "what": self.what,
            "advice": self.advice,
        }


def error(check: str, problem: str, advice: str) -> Finding:
    return Finding(Level.ERROR, check, problem, advice)


def warning(check: str, problem: str, advice: str) -> Finding:
    return Finding(Level.WARNING, check, problem, advice)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return errors before warnings; otherwise as they came, each once."""
    once = dict.fromkeys(findings)
    return sorted(once, key=lambda finding: finding.level is not Level.ERROR)


def exit_code(findings: Sequence[Finding], *, strict: bool) -> int:
    """1 if there is an error, or with `strict` anything at all; else 0."""
    return int(any(strict or finding.level is Level.ERROR for finding in findings))
