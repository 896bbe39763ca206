"""The stream contract as a suite that can be held against any filesystem.

    from howdah.testing.contract import check_filesystem

    report = check_filesystem(fs, root="/tmp/contract")
    print(report)

`check_filesystem` asks the filesystem what it can do, tests what it claims, and tests
that what it doesn't claim is refused. `fs` is a `howdah.fs.api.FileSystem` or an object
with its methods; `howdah.testing.contract.adapters` makes one of an fsspec filesystem.
`python -m howdah.testing.contract URI` does the same from a shell.

In pytest each check is a test of its own:

    from howdah.testing.contract import Check, Subject, contract_parameters

    @pytest.mark.parametrize("check", contract_parameters())
    def test_contract(check: Check, subject: Subject) -> None:
        run(check, subject)

- `subject`    the filesystem under test, what is expected of it, and how to look at it
- `registry`   the checks, each with its requirements
- `report`     running them
- `machine`    random operations against `howdah.model` (needs Hypothesis)
- `adapters`   strangers' filesystems
- the others   the checks by topic
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from howdah.testing.contract.registry import Check, all_checks
from howdah.testing.contract.report import Outcome, Report, Result, check_subject, run_check
from howdah.testing.contract.subject import ContractViolated, Faults, Subject, Traits

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

__all__ = [
    "Check",
    "ContractViolated",
    "Outcome",
    "Report",
    "Result",
    "Subject",
    "Traits",
    "all_checks",
    "check_filesystem",
    "check_subject",
    "contract_parameters",
    "run",
    "run_check",
]


def check_filesystem(
    fs: FileSystem,
    root: str = "/tmp/howdah-contract",
    *,
    other: FileSystem | None = None,
    traits: Traits = Traits(),  # noqa: B008 (frozen)
    write_faults: Faults | None = None,
    only: Iterable[str] = (),
    strict: bool = True,
) -> Report:
    """Hold a filesystem against the contract, below the directory `root`.

    That must be empty or not be there, and is removed in the end.

    `other` is a second client of the same filesystem, if there is one: it looks at what
    the first one writes. `traits` say what the filesystem does where the contract leaves
    a choice, `only` names checks or topics. Raises `ContractViolated` with the whole
    report if a check fails, unless `strict` is false.
    """
    wanted = frozenset(only)
    chosen = [check for check in all_checks() if not wanted or wanted & {check.name, check.topic}]
    subject = Subject(fs, root, other=other, traits=traits, write_faults=write_faults)
    report = check_subject(subject, chosen)
    if strict and not report.ok:
        raise ContractViolated(f"the contract is not kept:\n{report}")
    return report


def contract_parameters() -> list[object]:
    """The checks as parameters of a pytest test, each marked with its requirements."""
    import pytest

    return [
        pytest.param(check, id=check.name, marks=pytest.mark.req(*check.requirements))
        for check in all_checks()
    ]


def run(check: Check, subject: Subject) -> None:
    """A check as the body of a pytest test; it is skipped if its needs are not claimed."""
    import pytest

    missing = check.missing(subject)
    if missing:
        pytest.skip(check.why_skipped(missing))
    check(subject)
