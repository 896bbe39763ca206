"""Failovers in tests of clusters, against a cluster that a test makes up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.failover import server_faults


class Cluster:
    """Two namenodes, of which the one that stands by has just ended."""

    def __init__(self) -> None:
        self.running = {"namenode0"}
        self.elected = "namenode0"

    def active(self, but: str = "", timeout_s: float = 0.0) -> str:
        assert self.elected != but
        return self.elected

    def ha_states(self) -> dict[str, str]:
        return {"namenode0": "active", "namenode1": "standby"}

    def process(self, name: str) -> Any:
        return SimpleNamespace(alive=name in self.running)

    def start(self, name: str) -> None:
        assert name not in self.running
        self.running.add(name)


def test_failover_to_a_namenode_that_ended_meanwhile_starts_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A former active is seen as a standby, and ends if it finds itself fenced."""
    cluster = Cluster()

    def haadmin(_: Any, order: str, old: str, new: str) -> tuple[int, str]:
        if new not in cluster.running:
            return 255, "NameNode at 127.0.0.1:8020 is not currently healthy."
        cluster.elected = new
        return 0, ""

    monkeypatch.setattr(server_faults, "haadmin", haadmin)
    monkeypatch.setattr(server_faults, "TIMEOUT_S", 1.0)
    done = server_faults.fail_over(cluster)  # type: ignore[arg-type]
    assert (done.old, done.new) == ("namenode0", "namenode1")
