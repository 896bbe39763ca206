"""Clusters that are upgraded and go back: what was there when an upgrade began is there after a
rollback, and nothing else; and what came since is there once it is final."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from howdah.testing.world.cluster import DATANODE, RPC_PORT, Cluster, Role
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios.datanodes import build
from howdah.testing.world.watching import Watch
from howdah.testing.world.workload.console import Console
from howdah.testing.world.world import Unexpected, World

_URI: Final = f"hdfs://nn:{RPC_PORT}"
_UPGRADING: Final = "howdah.namenode.server.process.upgrading"
_ROLLING_BACK: Final = "howdah.namenode.server.process.rolling_back"
_IMPORTING: Final = "howdah.namenode.server.process.checkpoint_import"
_SECONDARY: Final = Role("secondary", "howdah.namenode.server.process.secondary")
_LONGEST_BYTES: Final = 400_000
_CHANGES: Final = 25
_QUIET_S: Final = 10.0
_HEARD_S: Final = 4.0
_SETTINGS: Final = {
    "dfs.namenode.name.dir": "file:///name,file:///copy",
    "dfs.namenode.edits.dir": "file:///name,file:///edits",
    "dfs.namenode.checkpoint.dir": "file:///checkpoint",
    "dfs.namenode.checkpoint.txns": "20",
    "dfs.namenode.checkpoint.check.period": "2",
    "dfs.namenode.checkpoint.period": "3600",
    "dfs.namenode.http-address": "nn:9870",
    "dfs.namenode.secondary.http-address": "second:9868",
    "dfs.datanode.data.dir": "/data,/volume1",
    "dfs.datanode.failed.volumes.tolerated": "1",
    "dfs.replication": "2",
    "dfs.blocksize": "131072",
}


class _Story:
    """Changes a tree of files, and knows what it holds."""

    def __init__(self, world: World, cluster: Cluster) -> None:
        self.dice = world.dice("story")
        self.cluster = cluster
        self.files: dict[str, bytes] = {}

    def change(self, process: Process, count: int = _CHANGES) -> None:
        """Write, append to, cut, rename and delete files."""
        fs = self.cluster.connect(process, _URI)
        fs.mkdirs("/story")
        for _ in range(count):
            kind = self.dice.choice(("write", "write", "append", "cut", "rename", "delete"))
            path = f"/story/{self.dice.randrange(12)}"
            data = self.dice.randbytes(self.dice.randrange(1, _LONGEST_BYTES))
            if kind == "write" or path not in self.files:
                fs.write_bytes(path, data)
                self.files[path] = data
            elif kind == "append":
                with fs.append(path) as stream:
                    stream.write(data)
                self.files[path] += data
            elif kind == "cut":
                length = self.dice.randrange(len(self.files[path]))
                if not fs.truncate(path, length):
                    self._wait_until_closed(process, fs, path)
                self.files[path] = self.files[path][:length]
            elif kind == "rename":
                target = f"/story/{self.dice.randrange(12, 20)}"
                fs.rename(path, target, overwrite=True)
                self.files[target] = self.files.pop(path)
            else:
                fs.delete(path)
                del self.files[path]

    def _wait_until_closed(self, process: Process, fs: Any, path: str) -> None:
        while not fs.is_file_closed(path):
            process.modules.load("time").sleep(0.5)

    def check(self, process: Process) -> None:
        """Everything is there, and no more."""
        fs = self.cluster.connect(process, _URI)
        found = {status.path for status in fs.list_status("/story")}
        if found != set(self.files):
            raise Unexpected(f"{sorted(found)} is there, not {sorted(self.files)}")
        for path, data in self.files.items():
            content = fs.read_bytes(path)
            if content != data:
                raise Unexpected(f"{path} has {len(content)} bytes, or others, not {len(data)}")


def upgrades(world: World) -> Mapping[str, object]:
    """Upgrade a cluster and roll it back, then upgrade it for good; prepare a rolling upgrade and
    roll it back, then another one that is final. A secondary namenode makes images meanwhile, and
    in the end a namenode begins anew with one of them."""
    world.machine("clients")
    cluster, watch = build(world, _SETTINGS)
    story = _Story(world, cluster)
    secondary = cluster.server(_SECONDARY, "second", world.machine("second"))
    secondary.start()
    cluster.wait_ready("second")
    operator = _Operator(world, cluster, story, watch)
    operator.change()
    operator.give_up_upgrade()
    operator.upgrade_for_good()
    operator.give_up_rolling_upgrade()
    operator.roll_to_the_end()
    _go_on_from_checkpoint(world, cluster, story)
    watch.forget()
    operator.start()
    operator.check()
    operator.change()
    operator.check()
    watch.check_at_rest()
    return {"files": len(story.files), "compared": watch.compared}


class _Operator:
    """Upgrades a cluster, and goes back, while the story goes on."""

    def __init__(self, world: World, cluster: Cluster, story: _Story, watch: Watch) -> None:
        self._world, self._cluster, self._story, self._watch = world, cluster, story, watch
        self._clients = world.machines["clients"]
        self._namenode = cluster.servers["nn"]
        self._datanodes = [each for each in cluster.servers.values() if each.role is DATANODE]

    def give_up_upgrade(self) -> None:
        """What came since it began is gone."""
        self._stop()
        self._offline(_UPGRADING, "upgrade")
        self.start()
        self._console("dfsadmin", "-upgrade", "query", shows="not finalized")
        before = dict(self._story.files)
        self.change()
        self.check()
        self._stop()
        self._offline(_UPGRADING, "roll_back")
        self._go_back_to(before)
        self.change()

    def upgrade_for_good(self) -> None:
        """It becomes final under the namenode, or behind its back."""
        self._stop()
        self._offline(_UPGRADING, "upgrade")
        self.start()
        self.change()
        if self._story.dice.random() < 0.5:
            self._console("dfsadmin", "-finalizeUpgrade", shows="successful")
        else:
            self._stop()
            self._offline(_UPGRADING, "finalize_offline")
            self.start()
        self._console("dfsadmin", "-upgrade", "query", shows="finalized")
        self.check()

    def give_up_rolling_upgrade(self) -> None:
        """What came since it was prepared is gone."""
        self._prepare_rolling_upgrade()
        before = dict(self._story.files)
        self.change()
        _restart_datanode(self._world, self._cluster, self._datanodes[0].name)
        self.check()
        self._stop()
        self._offline(_ROLLING_BACK, "roll_back_upgrade")
        self._go_back_to(before)

    def roll_to_the_end(self) -> None:
        """One server after the other is upgraded, and that is final."""
        self._prepare_rolling_upgrade()
        self.change()
        for server in self._datanodes:
            _restart_datanode(self._world, self._cluster, server.name)
        self._stop()
        self.start()
        self.check()
        self._console("dfsadmin", "-rollingUpgrade", "finalize", shows="finalized")
        self.change()
        self.check()

    def change(self) -> None:
        """Go on with the story."""
        self._world.call(self._clients, "writer", self._story.change, timeout_s=600.0)
        self._world.run_for(_QUIET_S)

    def check(self) -> None:
        """Everything is as the story says."""
        self._world.call(self._clients, "reader", self._story.check, timeout_s=600.0)

    def start(self, *, rolls_back: bool = False) -> None:
        """Start all servers, and wait until they take calls."""
        self._namenode.start()
        self._cluster.wait_ready("nn")
        for server in self._datanodes:
            server.rolls_back = rolls_back
            server.start()
        self._cluster.wait_ready(*(server.name for server in self._datanodes))
        for server in self._datanodes:
            server.rolls_back = False
        self._world.call(self._clients, "operator", self._wait)

    def _wait(self, process: Process) -> None:
        fs = self._cluster.connect(process, _URI)
        Console(self._cluster, process).wait("it takes calls", lambda: not fs.set_safe_mode("get"))

    def _stop(self) -> None:
        for server in (*self._datanodes, self._namenode):
            server.kill()
        self._world.run_for(1.0)

    def _go_back_to(self, before: dict[str, bytes]) -> None:
        """Start servers whose directories were rolled back."""
        self._watch.forget()
        self.start(rolls_back=True)
        self._story.files = before
        self.check()

    def _prepare_rolling_upgrade(self) -> None:
        self._console("dfsadmin", "-safemode", "enter")
        self._console("dfsadmin", "-rollingUpgrade", "prepare", shows="REPARE")
        # Datanodes hear of it with their next heartbeats. What is appended to before is not kept
        # as it was by those that have not.
        self._world.run_for(_HEARD_S)

    def _offline(self, module: str, function: str) -> None:
        """Do something with the namenode's directories."""

        def run(process: Process) -> None:
            conf = self._cluster.configuration(process, self._namenode)
            getattr(process.modules.load(module), function)(conf)

        self._world.call(self._namenode.machine, function, run)

    def _console(self, name: str, *words: str, shows: str = "") -> None:
        def run(process: Process) -> None:
            own = Console(self._cluster, process)
            own.run(name, *words, shows=shows)
            own.settle()

        self._world.call(self._clients, "operator", run)


def _restart_datanode(world: World, cluster: Cluster, name: str) -> None:
    """As an operator does in a rolling upgrade: it tells its clients that it comes back."""
    server = cluster.servers[name]

    def run(process: Process) -> None:
        console = Console(cluster, process)
        console.run("dfsadmin", "-shutdownDatanode", f"{name}:9867", "upgrade", shows="Submitted")
        console.wait("the datanode ends", lambda: server.is_gone)
        console.settle()

    world.call(world.machines["clients"], "operator", run)
    server.start()
    cluster.wait_ready(name)


def _go_on_from_checkpoint(world: World, cluster: Cluster, story: _Story) -> None:
    """The namenode loses its directories, and begins with the image of the secondary one."""
    namenode, second = cluster.servers["nn"], cluster.servers["second"]

    def checkpoint(process: Process) -> None:
        module = process.modules.load("howdah.namenode.server.process.secondary")
        server = module.SecondaryServer(cluster.configuration(process, second))
        try:
            server.secondary.checkpoint()
        finally:
            server.close()

    second.kill()
    world.call(second.machine, "checkpoint", checkpoint)
    for server in cluster.servers.values():
        server.kill()
    world.run_for(1.0)
    # It is carried over: the disk of one machine is that of the other now.
    _copy(second.machine, namenode.machine, "/checkpoint")
    for path in ("/name", "/copy", "/edits"):
        namenode.machine.empty_directory(path)

    def begin(process: Process) -> None:
        module = process.modules.load(_IMPORTING)
        module.import_checkpoint(cluster.configuration(process, namenode))

    world.call(namenode.machine, "import", begin)


def _copy(source: Any, target: Any, path: str) -> None:
    """Copy a directory of files from one machine to another."""
    node = source.mounts.find(path)
    disk = target.disk
    directory, last = target.mounts.parent(path)
    made = disk.new_directory(0o755)
    disk.change_names((directory, last, made))
    for name, child in node.entries.items():
        if child.is_directory:
            _copy(source, target, f"{path}/{name}")
        else:
            target.write_file(f"{path}/{name}", bytes(child.data))
