"""Namenodes that are measured, and what was measured of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness import group_cpu, progress
from load import Request, Run, run_load

from howdah.config import namenode_address
from howdah.local.cluster import LocalCluster
from howdah.local.layout import Layout
from howdah.local.servers import Detached

OURS = "howdah"
APACHE = "Hadoop's namenode"


@dataclass(slots=True)
class Subject:
    """A namenode, and what was measured of it by figure."""

    address: tuple[str, int]
    pid: int
    made: int = 0
    rates: dict[str, list[float]] = field(default_factory=dict)
    cpu_us: dict[str, list[float]] = field(default_factory=dict)

    def run(self, callers: list[list[Request]], calls_an_operation: int, name: str | None) -> None:
        """Put the load on, and remember how it went under `name`, if there is one."""
        before = group_cpu(self.pid)
        took = run_load(self.address, callers)
        after = group_cpu(self.pid)
        if name is None:
            return
        operations = took.calls / calls_an_operation
        self.rates.setdefault(name, []).append(operations / took.wall_s)
        if before is not None and after is not None:
            used_us = (after - before).total_s * 1e6
            self.cpu_us.setdefault(name, []).append(used_us / operations)
        _tell(name, took, operations)

    def add_up(self, first: str, second: str, by: str) -> None:
        """Two steps become one operation."""
        one, two, both = (f"{what}, {by}" for what in (first, second, f"{first}+{second}"))
        pairs = zip(self.rates.pop(one), self.rates.pop(two), strict=True)
        self.rates[both] = [1 / (1 / a + 1 / b) for a, b in pairs]
        if one in self.cpu_us:
            times = zip(self.cpu_us.pop(one), self.cpu_us.pop(two), strict=True)
            self.cpu_us[both] = [a + b for a, b in times]


@contextmanager
def howdah(base: Path) -> Iterator[Subject]:
    """A namenode of ours, alone, as a process of its own."""
    layout = Layout.plan(base, datanodes=1)
    layout.save()
    cluster = LocalCluster(layout, Detached())
    cluster.start_all(["namenode"])
    try:
        cluster.wait_ready(["namenode"])
        yield Subject(namenode_address(layout.client_conf()), cluster.pids["namenode"])
    finally:
        cluster.stop(["namenode"])


def _tell(name: str, took: Run, operations: float) -> None:
    progress(
        f"    {name}: {operations / took.wall_s:,.0f}/s, "
        f"the load was busy {took.load_cpu_s / took.wall_s:.0%} of the time"
    )
