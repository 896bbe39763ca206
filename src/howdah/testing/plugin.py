"""The pytest plugin: a cluster as a fixture.

* `howdah_cluster`: a `MiniCluster` of three datanodes in three racks, one for the
  whole session. Tests share it, so they keep to paths of their own and leave its
  servers alone.
* A test that fails on a cluster shows the end of its servers' logs.

The plugin is loaded in every pytest run where howdah is installed, so it adds nothing
else, and imports nothing of howdah until the fixture is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from howdah.testing.minicluster import MiniCluster

LOG_LINES = 60


@pytest.fixture(scope="session")
def howdah_cluster() -> Iterator[MiniCluster]:
    """Three datanodes in three racks, for the whole session."""
    from howdah.testing.minicluster import MiniCluster

    with MiniCluster(datanodes=3, racks=["/rack0", "/rack1", "/rack2"]) as cluster:
        yield cluster


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
