"""A cluster of howdah's servers in a world: who runs where, with which settings, and again."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah.testing.world.processes import Machine, Process
from howdah.testing.world.world import Unexpected, World

RPC_PORT: Final = 8020
_READY: Final = "/var/ready"
_START_TIMEOUT_S: Final = 120.0

SETTINGS: Final = {
    "dfs.blocksize": "262144",
    "dfs.client.socket-timeout": "10000",
    "dfs.datanode.data.dir": "/data",
    "dfs.datanode.synconclose": "true",
    "dfs.datanode.socket.write.timeout": "10000",
    "dfs.heartbeat.interval": "1",
    "dfs.journalnode.edits.dir": "/journal",
    "dfs.namenode.fs-limits.min-block-size": "1024",
    "dfs.namenode.heartbeat.recheck-interval": "2000",
    "dfs.namenode.name.dir": "file:///name",
    "dfs.namenode.reconstruction.pending.timeout-sec": "20",
    "dfs.namenode.safemode.extension": "1000",
    "dfs.permissions.superusergroup": "hadoop",
    "dfs.replication": "3",
}
"""Hadoop's, with times and blocks that suit a world of a minute."""


_RANGES: Final = {
    "dfs.blocksize": ("16384", "65536", "262144", "1048576"),
    "dfs.blockreport.incremental.intervalMsec": ("0", "0", "300"),
    "dfs.client-write-packet-size": ("4096", "16384", "65536"),
    "dfs.client.block.write.replace-datanode-on-failure.policy": ("NEVER", "DEFAULT"),
    "dfs.namenode.checkpoint.check.period": ("1", "60"),
    "dfs.namenode.checkpoint.txns": ("20", "100", "1000000"),
    "dfs.namenode.redundancy.interval.seconds": ("1", "3"),
}


_MOST_VOLUMES: Final = 3
_DATA_DIRECTORIES: Final = "dfs.datanode.data.dir"


def draw_settings(dice: random.Random) -> dict[str, str]:
    """Draw settings from the ranges in which clusters use them, and how many volumes datanodes
    have."""
    settings = {key: dice.choice(values) for key, values in _RANGES.items()}
    volumes = dice.randrange(1, _MOST_VOLUMES + 1)
    directories = ["/data", *(f"/volume{number}" for number in range(1, volumes))]
    settings[_DATA_DIRECTORIES] = ",".join(directories)
    settings["dfs.datanode.failed.volumes.tolerated"] = str(volumes - 1)
    return settings


@dataclass(frozen=True, slots=True)
class Role:
    """Names a kind of server, and the module whose `run(conf, ready_file)` it is."""

    name: str
    module: str


NAMENODE: Final = Role("namenode", "howdah.namenode.server.process.server")
DATANODE: Final = Role("datanode", "howdah.datanode.server")
JOURNALNODE: Final = Role("journalnode", "howdah.journalnode.server")
ROUTER: Final = Role("router", "howdah.router.server")
CONTROLLER: Final = Role("controller", "howdah.failover.server")


class Server:
    """Runs one server on one machine, over all its starts."""

    def __init__(self, cluster: Cluster, role: Role, name: str, machine: Machine) -> None:
        self.cluster = cluster
        self.role = role
        self.name = name
        self.machine = machine
        self.settings: dict[str, str] = {}
        """What this server has other than the cluster."""
        self.process: Process | None = None
        self.adjust: Callable[[Process], None] = lambda process: None
        """Called in each new process before its server starts."""

    @property
    def is_up(self) -> bool:
        return self.process is not None and not self.process.is_dead

    @property
    def is_ready(self) -> bool:
        """Whether it has said that it serves, since its last start."""
        if not self.is_up:
            return False
        try:
            self.machine.mounts.find(self._ready_path)
        except OSError:
            return False
        return True

    @property
    def _ready_path(self) -> str:
        return f"{_READY}-{self.name}"

    def start(self) -> None:
        """Begin; `is_ready` later. Its machine has to have power."""
        assert not self.is_up, f"{self.name} runs already"
        self.machine.start()
        self._forget_ready()
        world = self.cluster.world
        process = self.process = world.process(self.machine, self.name, kind=self.role.module)
        process.on_end = self._ended
        world.story.record(self.name, "starts")

        def run(own: Process) -> int:
            self.adjust(own)
            path = own.modules.load("pathlib").Path(self._ready_path)
            server = own.modules.load(self.role.module)
            status: int = server.run(self.cluster.configuration(own, self), path)
            return status

        process.start(run)

    def _forget_ready(self) -> None:
        disk = self.machine.disk
        directory = self.machine.mounts.find("/var")
        name = self._ready_path.rpartition("/")[2]
        if name in directory.entries:
            disk.change_names((directory, name, None))
            disk.sync(directory)

    def _ended(self, process: Process) -> None:
        self.cluster.world.story.record(self.name, f"ends with status {process.status}")
        self.cluster.ended(self, process)

    def kill(self) -> None:
        """End it as by SIGKILL; its children see that it is gone."""
        if self.process is not None and not self.process.is_dead:
            self.cluster.world.story.record(self.name, "is killed")
            self.process.on_end = None
            self.process.kill()


class Cluster:
    """Servers, and what they have in common."""

    def __init__(self, world: World, settings: Mapping[str, str] | None = None) -> None:
        self.world = world
        self.settings = {**SETTINGS, **(settings or {})}
        self.client_settings: dict[str, str] = {}
        """What clients have other than servers."""
        self.servers: dict[str, Server] = {}
        self.ended: Callable[[Server, Process], None] = lambda server, process: None
        """Hears when a server ends by itself."""

    def server(self, role: Role, name: str, machine: Machine) -> Server:
        """Add one; it does not run yet."""
        made = self.servers[name] = Server(self, role, name, machine)
        if role is DATANODE:
            # The first volume is on the machine's root disk, each other one on a disk of its own.
            for volume in self.settings[_DATA_DIRECTORIES].split(",")[1:]:
                disk = machine.new_disk()
                disk.is_strict = machine.disk.is_strict
                machine.mounts.mount(volume, disk)
        if "var" not in machine.disk.root.entries:
            directory = machine.disk.new_directory(0o755)
            machine.disk.change_names((machine.disk.root, "var", directory))
            machine.disk.sync(machine.disk.root)
        return made

    def configuration(self, process: Process, server: Server | None = None) -> Any:
        """Return the settings, as an object of howdah's in a process."""
        own = self.client_settings if server is None else server.settings
        values = {**self.settings, **own}
        return process.modules.load("howdah.config").Configuration(values)

    def wait_ready(self, *names: str, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Go on until these servers serve, or all. Raises Unexpected if one ends."""
        waited = [self.servers[name] for name in names] if names else list(self.servers.values())

        def is_ready() -> bool:
            for server in waited:
                if not server.is_up:
                    raise Unexpected(f"{server.name} has ended instead of serving")
            return all(server.is_ready for server in waited)

        self.world.run(is_ready, timeout_s=timeout_s)

    def power_off(self, machine: Machine) -> None:
        """Stop everything on a machine at once."""
        self.world.story.record(machine.name, "loses its power")
        machine.lose_power()

    def connect(self, process: Process, uri: str, user: str = "hdfs") -> Any:
        """Return a client's filesystem in a process."""
        registry = process.modules.load("howdah.fs.registry")
        return registry.connect(uri, conf=self.configuration(process), user=user)
