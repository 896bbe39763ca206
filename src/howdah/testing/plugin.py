"""The pytest plugin: a cluster as a fixture.

* `howdah_cluster`: a `MiniCluster`, one for the whole session. Tests share it, so they keep to
  paths of their own and leave its servers alone.
* `howdah_dir`: an empty directory of it for one test, removed afterwards.
* `howdah_cluster_options`: the cluster's arguments, three datanodes in three racks. A project's
  conftest.py may override it.
* A test that fails on a cluster shows the end of its servers' logs.

The plugin is loaded in every pytest run where howdah is installed, so it adds nothing
else, and imports nothing of howdah until a fixture is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from howdah import Path
    from howdah.testing.minicluster import MiniCluster

LOG_LINES = 60


@pytest.fixture(scope="session")
def howdah_cluster_options() -> dict[str, Any]:
    """The arguments of the session's MiniCluster; override this in conftest.py."""
    return {"datanodes": 3, "racks": ["/rack0", "/rack1", "/rack2"]}


@pytest.fixture(scope="session")
def howdah_cluster(howdah_cluster_options: dict[str, Any]) -> Iterator[MiniCluster]:
    """A cluster for the whole session: three datanodes in three racks, unless
    howdah_cluster_options says otherwise."""
    from howdah.testing.minicluster import MiniCluster

    with MiniCluster(**howdah_cluster_options) as cluster:
        yield cluster


@pytest.fixture
def howdah_dir(howdah_cluster: MiniCluster, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty directory of the session's cluster, a howdah.Path; removed after the test."""
    from howdah.testing.directories import fresh_directory

    with fresh_directory(howdah_cluster, request.node.name) as directory:
        yield directory


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
