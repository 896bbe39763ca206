"""The pytest plugin: the marker `req` and the report of what proves which requirement.

Loaded in every pytest run where howdah is installed, so it imports nothing of
howdah until a fixture is asked for.
"""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "req(id, ...): the requirements that the test proves")
