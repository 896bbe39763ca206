"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest_plugins = ["pytester"]

# The machine is shared, with the servers under test for a start: a slow example is
# no bug. Examples are the same in every run, so that a failure can be had again.
settings.register_profile("howdah", deadline=None, derandomize=True)
settings.load_profile("howdah")


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests know no Hadoop installation, whatever the developer has."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
