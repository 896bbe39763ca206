"""What all tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

# Servers and JVMs of one wait while those of the other work; more would only get in
# each other's way on a small machine.
WORKERS = 2
# What starts Spark's JVM is done by one of them, else there would be two such.
SPARK = frozenset(
    f"tests/compat/{name}.py"
    for name in (
        "test_datanode_restart_java",
        "test_failure_matrix",
        "test_java_client",
        "test_local_java",
        "test_pipeline_recovery_java",
        "test_pyspark",
    )
)

# The machine is shared, with the servers under test for a start: a slow example is
# no bug. Examples are the same in every run, so that a failure can be had again.
settings.register_profile("howdah", deadline=None, derandomize=True)
settings.load_profile("howdah")


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests know no Hadoop installation, whatever the developer has."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers for `-n auto`; none where few tests are named: they would cost more than
    they save."""
    names_files = config.args_source is pytest.Config.ArgsSource.ARGS
    if names_files and not any(Path(argument).is_dir() for argument in config.args):
        return 0
    return WORKERS


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker gets a module as a whole, for its fixtures, and all of Spark's."""
    from xdist.scheduler import LoadFileScheduling

    class ByModule(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            scope = super()._split_scope(nodeid)
            return "spark" if scope in SPARK else scope

    return ByModule(config, log)
