"""The pytest plugin of our own runs: which tests prove which requirement.

* `@pytest.mark.req("FS-023", …)`: the requirements that a test proves.
* `@pytest.mark.kind("hdfs", …)`: the kinds of streams that it is about.
* `--req-report`: list them after the run, each with its tests.
* `--conformance FILE`: write a page of requirements and proofs (`recording`).

pyproject.toml loads it with `-p`: so its options are known before any conftest.py is.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.support.requirements.marks import is_worker, refuse
from tests.support.requirements.recording import record

_SENT = "howdah_proofs"
_proofs: pytest.StashKey[dict[str, set[str]]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("howdah").addoption(
        "--req-report",
        action="store_true",
        help="list the requirements (marker req) and the tests that prove them",
    )
    parser.getgroup("howdah").addoption(
        "--conformance",
        metavar="FILE",
        help="write which requirement is proved by which tests, after a run of all tests",
    )
    parser.addini("requirements", "the table of requirements that tests prove")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "req(id, ...): the requirements that the test proves")
    config.addinivalue_line("markers", "kind(name, ...): the kinds of streams that it is about")
    proofs: dict[str, set[str]] = defaultdict(set)
    config.stash[_proofs] = proofs
    record(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for marker in item.iter_markers("req"):
            if not marker.args:
                refuse(item, f"{item.nodeid}: the marker req needs an id")
            for requirement in marker.args:
                # A test with parameters is one proof, not one for each.
                config.stash[_proofs][requirement].add(item.nodeid.partition("[")[0])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells the first process what it collected."""
    config = session.config
    if is_worker(config):
        # pytest-xdist gives the attribute to the configuration of a worker.
        config.workeroutput[_SENT] = {  # type: ignore[attr-defined]
            requirement: sorted(tests) for requirement, tests in config.stash[_proofs].items()
        }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended; one that died has sent nothing."""
    for requirement, tests in getattr(node, "workeroutput", {}).get(_SENT, {}).items():
        node.config.stash[_proofs][requirement].update(tests)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not config.getoption("--req-report"):
        return
    terminalreporter.section("requirements")
    for requirement, tests in sorted(config.stash[_proofs].items()):
        terminalreporter.write_line(requirement)
        for test in sorted(tests):
            terminalreporter.write_line(f"    {test}")
