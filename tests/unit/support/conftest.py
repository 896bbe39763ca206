"""What the tests of our pytest plugins share: runs of pytest that start quickly."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_installed_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load plugins by name only: to import all that are installed costs a new pytest more than
    the rest of its run. A run with `-n` names pytest-xdist."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
