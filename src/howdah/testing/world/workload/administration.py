"""An administrator who rolls logs, saves images, takes datanodes out and back, and upgrades."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, Cluster
from howdah.testing.world.processes import Machine, Process

EXCLUDED_PATH: Final = "/excluded"
SETTINGS: Final = {
    "dfs.hosts.exclude": EXCLUDED_PATH,
    "dfs.namenode.decommission.interval": "1",
}
_PAUSE_S: Final = 6.0
_MOST_OUT: Final = 2
_OPERATIONS: Final = {
    "roll_edits": 3,
    "save_image": 1,
    "decommission": 3,
    "recommission": 3,
    "prepare_upgrade": 1,
    "finalize_upgrade": 2,
}


class Administrator:
    """Does these operations on one namespace until `is_over`, and undoes in the end what hinders
    replicas."""

    def __init__(
        self, cluster: Cluster, namenode: Machine, uri: str, is_over: Callable[[], bool]
    ) -> None:
        self._cluster = cluster
        self._namenode = namenode
        self._uri = uri
        self._is_over = is_over
        self._dice: random.Random = cluster.world.dice("administrator")
        self._datanodes = [s.machine for s in cluster.servers.values() if s.role is DATANODE]
        self._out: list[Machine] = []
        self.counts: Counter[str] = Counter()
        self.is_done = False
        self._write_excluded()

    def __call__(self, process: Process) -> None:
        administration = self._cluster.connect(process, self._uri).administration
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        names = list(_OPERATIONS)
        while not self._is_over():
            sleep(self._dice.random() * _PAUSE_S)
            name = self._dice.choices(names, list(_OPERATIONS.values()))[0]
            try:
                getattr(self, f"_{name}")(administration)
            except (errors.HowdahError, OSError) as error:
                self._record(f"{name}: {type(error).__name__}: {error}")
            else:
                self.counts[name] += 1
                self._record(name)
        self.is_done = True

    def settle(self, process: Process) -> None:
        """Take all datanodes back, end an upgrade, and leave safe mode."""
        administration = self._cluster.connect(process, self._uri).administration
        self._out.clear()
        self._write_excluded()
        administration.refresh_nodes()
        administration.rolling_upgrade("finalize")

    def _record(self, event: str) -> None:
        self._cluster.world.story.record("administrator", event)

    def _write_excluded(self) -> None:
        text = "".join(f"{machine.address}\n" for machine in self._out)
        self._namenode.write_file(EXCLUDED_PATH, text.encode())

    # -- operations

    def _roll_edits(self, administration: Any) -> None:
        administration.roll_edits()

    def _save_image(self, administration: Any) -> None:
        administration.safe_mode("enter")
        try:
            administration.save_namespace()
        finally:
            administration.safe_mode("leave")

    def _decommission(self, administration: Any) -> None:
        left = [machine for machine in self._datanodes if machine not in self._out]
        if len(self._out) < _MOST_OUT:
            self._out.append(self._dice.choice(left))
            self._write_excluded()
        administration.refresh_nodes()

    def _recommission(self, administration: Any) -> None:
        if self._out:
            self._out.pop(0)
            self._write_excluded()
        administration.refresh_nodes()

    def _prepare_upgrade(self, administration: Any) -> None:
        administration.rolling_upgrade("prepare")

    def _finalize_upgrade(self, administration: Any) -> None:
        administration.rolling_upgrade("finalize")
