"""The pytest plugin: a cluster as a fixture, and what proves which requirement.

* `howdah_cluster`: a `MiniCluster` of three datanodes in three racks, one for the
  whole session. Tests share it, so they keep to paths of their own and leave its
  servers alone.
* `@pytest.mark.req("FS-023", …)`: the requirements that a test proves.
* `@pytest.mark.kind("hdfs", …)`: the kinds of streams that it is about.
* `--req-report`: list them after the run, each with its tests.
* `--conformance FILE`: write a page of requirements and proofs (`howdah.testing.recording`).
* a test that fails on a cluster shows the end of its servers' logs.

The plugin is loaded in every pytest run where howdah is installed, so it imports
nothing of howdah until the fixture is asked for.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from howdah.testing.minicluster import MiniCluster

LOG_LINES = 60
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
    if config.getini("requirements") or config.getoption("--conformance"):
        from howdah.testing.recording import record

        record(config)


@pytest.fixture(scope="session")
def howdah_cluster() -> Iterator[MiniCluster]:
    """Three datanodes in three racks, for the whole session."""
    from howdah.testing.minicluster import MiniCluster

    with MiniCluster(datanodes=3, racks=["/rack0", "/rack1", "/rack2"]) as cluster:
        yield cluster


def is_worker(config: pytest.Config) -> bool:
    """True in the processes that pytest-xdist starts."""
    return hasattr(config, "workerinput")


def refuse(item: pytest.Item, message: str) -> None:
    """A test that is marked wrongly ends the run; in a worker, where nobody would be told
    why, it fails with the message instead."""
    if not is_worker(item.config):
        raise pytest.UsageError(message)
    setattr(item, "runtest", partial(pytest.fail, message, pytrace=False))  # noqa: B010


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
        config.workeroutput[_SENT] = {  # type: ignore[attr-defined]
            requirement: sorted(tests) for requirement, tests in config.stash[_proofs].items()
        }


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended; one that died has sent nothing."""
    for requirement, tests in getattr(node, "workeroutput", {}).get(_SENT, {}).items():
        node.config.stash[_proofs][requirement].update(tests)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of the servers' logs with a test that failed on a cluster."""
    report = yield
    if report.failed:
        for cluster in _clusters(getattr(item, "funcargs", {})):
            for name in cluster.names:
                end = "\n".join(cluster.log(name).splitlines()[-LOG_LINES:])
                report.sections.append((f"log of {name}", end))
    return report


def _clusters(fixtures: Mapping[str, object]) -> list[MiniCluster]:
    """The clusters among the fixtures of a test."""
    module = sys.modules.get("howdah.testing.minicluster")
    if module is None:
        return []
    return [value for value in fixtures.values() if isinstance(value, module.MiniCluster)]


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
