"""A pytest plugin: a run ends with a list of what was skipped because a program is missing.

`./dev test` loads it with `-p`. A test that is skipped since the machine lacks something says so
with one of `PHRASES`; all other reasons are about the test's own subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

PHRASES = (
    "not installed",
    "could not import",
    "not built",
    "is needed",
    "cannot bring",
    "did not bring",
    "cannot fetch",
    "could not fetch",
    "did not fetch",
    "cannot be had",
)
_SKIPPED = "Skipped: "
_MODULE = re.compile(r"could not import '([\w.]+)'.*", re.DOTALL)


def missing(reasons: Iterable[str]) -> Counter[str]:
    """Count the tests that were skipped for something missing, by the reason that they gave."""
    plain = (reason.removeprefix(_SKIPPED).strip() for reason in reasons)
    return Counter(
        _MODULE.sub(r"the module \1 is not installed", reason)
        for reason in plain
        if any(phrase in reason for phrase in PHRASES)
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = missing(
        report.longrepr[2]
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple)
    )
    if not found:
        return
    terminalreporter.section("skipped, as something is missing on this machine")
    for reason, count in sorted(found.items()):
        terminalreporter.write_line(f"{count} {'test' if count == 1 else 'tests'}: {reason}")
