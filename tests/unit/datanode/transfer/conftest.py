"""Packets that pass through the kernel, or through Python."""

from __future__ import annotations

import pytest

from howdah.datanode.transfer import relay
from howdah.native.loader import kernel


@pytest.fixture(params=["kernel", "python"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs once with the kernel and once as without; which it is."""
    if request.param == "python":
        monkeypatch.setattr(relay, "kernel", lambda: None)
    elif kernel() is None:
        pytest.skip("the kernel is not built here")
    return str(request.param)
