"""The checks of the contract: functions that take a `Subject`, with their requirements.

A check returns when the filesystem does what its name says, and raises otherwise. What it
`needs` (`Subject.claims`) decides whether it is run at all: a filesystem that doesn't
claim something is held against the check which says that the thing is refused then.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from howdah.testing.contract.subject import FAULTS, Subject

Function = Callable[[Subject], None]

_MODULES = (
    "creating",
    "writing",
    "typed",
    "flushing",
    "syncing",
    "closing",
    "probing",
    "sharing",
    "metadata",
    "reading",
    "paths",
)
_checks: list[Check] = []


@dataclass(frozen=True)
class Check:
    """One claim of the contract; calling it tests the claim."""

    function: Function
    requirements: tuple[str, ...]
    needs: tuple[str, ...]
    topic: str

    @property
    def name(self) -> str:
        """What is claimed, such as `a_closed_stream_refuses_to_write`."""
        return self.function.__name__

    @property
    def description(self) -> str:
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    def missing(self, subject: Subject) -> list[str]:
        """What the check needs and the filesystem doesn't claim."""
        return [need for need in self.needs if not subject.claims(need)]

    def why_skipped(self, missing: list[str]) -> str:
        """What to say of a check that is not run.

        That a thing is not claimed is an answer; that nothing can be made to fail here
        leaves a question open.
        """
        if missing == [FAULTS]:
            return "nothing can be made to fail here"
        return f"not claimed: {', '.join(need for need in missing if need != FAULTS)}"

    def __call__(self, subject: Subject) -> None:
        self.function(subject)


def check(*requirements: str, needs: str | tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Make a function a check that proves `requirements`."""

    def register(function: Function) -> Function:
        topic = function.__module__.rpartition(".")[2]
        wanted = (needs,) if isinstance(needs, str) else needs
        _checks.append(Check(function, requirements, wanted, topic))
        return function

    return register


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, by topic."""
    for module in _MODULES:
        importlib.import_module(f"howdah.testing.contract.{module}")
    return tuple(sorted(_checks, key=lambda one: _MODULES.index(one.topic)))
