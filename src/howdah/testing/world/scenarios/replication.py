"""Files whose replication changes all the time, while datanodes come and go.

Orders to copy and to delete are given, lost, given again and taken back. In the end each file has
its replicas, and the namenode knows each of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, RPC_PORT, Cluster
from howdah.testing.world.faults import (
    AWAY,
    CUT,
    ISOLATE,
    KILL,
    LOSE,
    ONE_WAY,
    PAUSE,
    RESET,
    SPLIT,
    FaultPlan,
    Supervisor,
)
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.workload.checking import check_all_replicated
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_DATANODES: Final = 4
_FILES: Final = 8
_LARGEST_BYTES: Final = 40_000
_FAULTS: Final = 16
_WORK_S: Final = 45.0
_QUIET_S: Final = 15.0
_PACES_S: Final = (0.1, 0.5)
_KINDS: Final = (
    *(AWAY, AWAY, AWAY, PAUSE, PAUSE, PAUSE, RESET, RESET, RESET),
    *(KILL, ISOLATE, CUT, ONE_WAY, SPLIT),
)
_BREAKS: Final = (RESET, RESET, SPLIT)
"""What no datanode registers after, and tells anew what it has."""
_SETTINGS: Final = {
    "dfs.blocksize": "16384",
    "dfs.namenode.reconstruction.pending.timeout-sec": "5",
    "dfs.namenode.redundancy.interval.seconds": "1",
}


def replicas_follow_the_replication(world: World) -> Mapping[str, object]:
    """Change the replication of files, write some anew and append to some, while datanodes are
    away, paused and cut off, or do nothing but lose what is under way; then heal all, and look at
    every file and every replica."""
    return _follow(world, world.dice("kinds").choice((_KINDS, _KINDS, _BREAKS)))


def replicas_follow_though_messages_are_lost(world: World) -> Mapping[str, object]:
    """The same while all servers run, and single messages to and from datanodes are lost: orders,
    and news of what was done. Nobody registers after that, or reports all that it has."""
    return _follow(world, (LOSE,))


def _follow(world: World, kinds: Sequence[str]) -> Mapping[str, object]:
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    cluster, watch = build(world, _SETTINGS, datanodes=_DATANODES)
    changing = _Changing(cluster, world.dice("client"))
    world.process(clients, "client").start(changing.work)
    supervisor = Supervisor(cluster)
    only = {s.machine.name for s in cluster.servers.values() if s.role is DATANODE}
    plan = FaultPlan.draw(
        world.dice("faults"), cluster, _FAULTS, kinds, only=only if kinds == (LOSE,) else ()
    )
    supervisor.follow(plan)
    world.run(lambda: changing.is_done, timeout_s=600.0)
    supervisor.heal()
    world.run_for(_QUIET_S)
    if world.dice("end").random() < 0.5:
        # A replica that was to be deleted must not be in the way.
        world.call(clients, "client", changing.spread)
    check_all_replicated(world, clients, changing.connect, _DATANODES)
    world.call(clients, "reader", changing.check)
    watch.check_at_rest()
    return {
        "changes": changing.changes,
        "unanswered": changing.unanswered,
        "faults": supervisor.count,
        "ended": supervisor.ended,
        "compared": watch.compared,
    }


class _Changing:
    """Is a client that changes files, and knows what they have."""

    def __init__(self, cluster: Cluster, dice: random.Random) -> None:
        self._cluster = cluster
        self._world = cluster.world
        self._dice = dice
        self._files: dict[str, bytes | None] = {f"/{number}": None for number in range(_FILES)}
        """None where nobody knows what a file has."""
        self.changes = 0
        self.unanswered = 0
        self.is_done = False

    def connect(self, process: Process) -> Any:
        return self._cluster.connect(process, _URI)

    def work(self, process: Process) -> None:
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        fs, dice = self.connect(process), self._dice
        until_s = self._world.now_s + _WORK_S
        for path in self._files:
            self._write(fs, path)
        while self._world.now_s < until_s:
            path = dice.choice(list(self._files))
            try:
                self._change(fs, path)
                self.changes += 1
            except (errors.HowdahError, OSError) as error:
                self._world.story.record(process.name, f"{path}: {type(error).__name__}: {error}")
                self.unanswered += 1
            sleep(dice.random() * dice.choice(_PACES_S))
        self.is_done = True
        process.exit(0)

    def _change(self, fs: Any, path: str) -> None:
        kind = self._dice.choices(["replication", "write", "append"], [12, 2, 1])[0]
        if kind == "write" or self._files[path] is None:
            self._write(fs, path)
        elif kind == "append":
            self._append(fs, path)
        else:
            replication = self._dice.randrange(1, _DATANODES + 1)
            fs.set_replication(path, replication)
            self._world.story.record("client", f"{path} has {replication} replicas")

    def _write(self, fs: Any, path: str) -> None:
        data = self._dice.randbytes(self._dice.randrange(1, _LARGEST_BYTES))
        self._files[path] = None
        with fs.create(path, overwrite=True, replication=3) as output:
            output.write(data)
        self._files[path] = data

    def _append(self, fs: Any, path: str) -> None:
        before, more = self._files[path], self._dice.randbytes(1000)
        assert before is not None, f"nobody knows what {path} has"
        self._files[path] = None
        with fs.append(path) as output:
            output.write(more)
        self._files[path] = before + more

    def spread(self, process: Process) -> None:
        """Have all files on all datanodes."""
        fs = self.connect(process)
        for path, data in self._files.items():
            if data is not None:
                fs.set_replication(path, _DATANODES)

    def check(self, process: Process) -> None:
        fs = self.connect(process)
        for path, data in self._files.items():
            if data is None:
                continue
            with fs.open(path) as stream:
                found = stream.read()
            if found != data:
                raise Unexpected(f"{path} has {len(found)} bytes, or other ones, not {len(data)}")
