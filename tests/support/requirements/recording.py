"""Gathering what tests prove, in a run of pytest.

It is active where the ini option `requirements` names a table (see `conformance`). Then
marks must name requirements that exist, and the outcome of each test that names one is
kept in pytest's cache. `--conformance FILE` writes the page from the last outcome of each
test, at the end of a run of all tests, or with `--collect-only` at once: so a page can be
brought up to date after partial runs.

In a run that pytest-xdist gives to several processes the workers see the tests and the
first process sees what comes of them: each worker sends what it collected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.requirements.conformance import (
    CONTRACT,
    FAILED,
    NOT_CLAIMED,
    PASSED,
    SKIPPED,
    Proof,
    Table,
    load,
    render,
)
from tests.support.requirements.marks import is_worker, refuse

_CACHE = "howdah/outcomes"
_ORDER = (FAILED, PASSED, NOT_CLAIMED, SKIPPED)
_SENT = "howdah_marked"


class Recorder:
    """What the tests of a session prove."""

    def __init__(self, config: pytest.Config, table: Table, page: Path | None) -> None:
        self._config = config
        self._table = table
        self._page = page
        self._marked: dict[str, Proof] = {}
        self._outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Before anything is deselected: the page speaks of all tests."""
        for item in items:
            names = frozenset(name for marker in item.iter_markers("req") for name in marker.args)
            unknown = sorted(names - self._table.requirements.keys())
            if unknown:
                refuse(item, f"{item.nodeid}: no such requirement: {unknown}")
            if names:
                self._marked[item.nodeid] = Proof(_name(item), names, self._kinds(item), "")

    def _kinds(self, item: pytest.Item) -> tuple[str, ...]:
        marker = item.get_closest_marker("kind")
        if marker is None:
            return self._table.kinds_of(item.nodeid)
        unknown = sorted(set(marker.args) - self._table.kinds.keys())
        if unknown:
            refuse(item, f"{item.nodeid}: no such kind: {unknown}")
        return tuple(marker.args)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown each have a report; the worst of them counts."""
        before = self._outcomes.get(report.nodeid)
        if report.failed or before == FAILED:
            self._outcomes[report.nodeid] = FAILED
        elif report.skipped:
            not_claimed = NOT_CLAIMED in str(report.longrepr)
            self._outcomes[report.nodeid] = NOT_CLAIMED if not_claimed else SKIPPED
        elif report.when == "call" and before is None:
            self._outcomes[report.nodeid] = PASSED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended; one that died has sent nothing."""
        sent = getattr(node, "workeroutput", {}).get(_SENT, {})
        for nodeid, (name, requirements, kinds) in sent.items():
            self._marked[nodeid] = Proof(name, frozenset(requirements), tuple(kinds), "")

    def pytest_sessionfinish(self) -> None:
        if is_worker(self._config):
            self._config.workeroutput[_SENT] = {  # type: ignore[attr-defined]
                nodeid: (each.test, sorted(each.requirements), each.kinds)
                for nodeid, each in self._marked.items()
            }
            return
        cache = getattr(self._config, "cache", None)  # -p no:cacheprovider
        kept: dict[str, str] = {} if cache is None else cache.get(_CACHE, {})
        proving = {
            nodeid: self._outcomes[nodeid] for nodeid in self._outcomes.keys() & self._marked.keys()
        }
        if proving and cache is not None:
            kept.update(proving)
            cache.set(_CACHE, kept)
        if self._page is None:
            return
        proofs = _together(
            [
                Proof(each.test, each.requirements, each.kinds, kept.get(nodeid, SKIPPED))
                for nodeid, each in self._marked.items()
            ]
        )
        command = f"./dev test --conformance {self._config.option.conformance}"
        self._page.write_text(render(self._table, proofs, command), encoding="utf-8")


def _name(item: pytest.Item) -> str:
    """A test with parameters is one; a check of the contract is one wherever it is run."""
    callspec = getattr(item, "callspec", None)
    check = None if callspec is None else callspec.params.get("check")
    if type(check).__module__.startswith("howdah.testing.contract."):
        return f"{CONTRACT}{check.name}"  # type: ignore[union-attr]
    return item.nodeid.partition("[")[0]


def _together(proofs: list[Proof]) -> list[Proof]:
    """One proof for each test and kinds: the first of `_ORDER` that any of them has."""
    found: dict[tuple[str, tuple[str, ...], frozenset[str]], set[str]] = {}
    for each in proofs:
        found.setdefault((each.test, each.kinds, each.requirements), set()).add(each.outcome)
    return [
        Proof(test, names, kinds, min(outcomes, key=_ORDER.index))
        for (test, kinds, names), outcomes in found.items()
    ]


def record(config: pytest.Config) -> None:
    """Gather what tests prove, where there is a table of requirements."""
    option = config.getoption("--conformance")
    named = config.getini("requirements")
    if not named:
        if option:
            raise pytest.UsageError("--conformance needs the ini option requirements")
        return
    if (
        option
        and not is_worker(config)
        and config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    ):
        raise pytest.UsageError("--conformance is about all tests; name no paths")
    page = config.invocation_params.dir / option if option else None
    config.pluginmanager.register(Recorder(config, load(config.rootpath / named), page))
