"""A cluster of howdah's servers in a world: who runs where, with which settings, and again."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

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


class Printed(io.TextIOWrapper):
    """Keeps what a command prints."""

    buffer: io.BytesIO

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)


class Server:
    """Runs one server on one machine, over all its starts."""

    def __init__(self, cluster: Cluster, role: Role, name: str, machine: Machine) -> None:
        self.cluster = cluster
        self.role = role
        self.name = name
        self.machine = machine
        self.settings: dict[str, str] = {}
        """What this server has other than the cluster."""
        self.reads_files = False
        """Whether it reads its settings from a file (`write_settings`), and may read them anew."""
        self.rolls_back = False
        """Whether a datanode follows a namenode that was rolled back, from its next start on."""
        self.process: Process | None = None
        self.adjust: Callable[[Process], None] = lambda process: None
        """Called in each new process before its server starts."""

    @property
    def is_up(self) -> bool:
        return self.process is not None and not self.process.is_dead

    @property
    def is_gone(self) -> bool:
        """Whether its last process has ended, and those that it has forked, too."""
        process = self.process
        return process is None or (
            process.is_dead and all(child.is_dead for child in process.children.values())
        )

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
        if self.reads_files:
            self.write_settings()

        def run(own: Process) -> int:
            self.adjust(own)
            path = own.modules.load("pathlib").Path(self._ready_path)
            server = own.modules.load(self.role.module)
            conf = self.cluster.configuration(own, self)
            status: int = server.run(conf, path, **self._options(own, conf))
            return status

        process.start(run)

    def mount(self, path: str) -> None:
        """Give its machine one more disk there."""
        disk = self.machine.new_disk()
        disk.is_strict = self.machine.disk.is_strict
        self.machine.mounts.mount(path, disk)

    def write_settings(self) -> None:
        """Write the file that this server reads, with its settings as they are now."""
        values = {**self.cluster.settings, **self.settings}
        lines = [
            f"<property><name>{name}</name><value>{escape(value)}</value></property>"
            for name, value in values.items()
        ]
        text = "\n".join(["<configuration>", *lines, "</configuration>"])
        self.machine.make_directory(self.settings_directory)
        self.machine.write_file(f"{self.settings_directory}/hdfs-site.xml", text.encode())

    @property
    def settings_directory(self) -> str:
        return f"/etc/{self.name}"

    def _options(self, process: Process, conf: Any) -> dict[str, Any]:
        if self.role is not DATANODE:
            return {}

        def make_files(uuid: str, dial: Callable[[], Any], has_read: Callable[[int], None]) -> Any:
            files = process.modules.load("howdah.gateway.files").FileGateway
            return files.of_datanode(conf, uuid, dial, has_read)

        return {"make_files": make_files, "rolls_back": self.rolls_back}

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
                # A type of storage may stand before it, in brackets.
                made.mount(volume.rpartition("]")[2])
        if "var" not in machine.disk.root.entries:
            directory = machine.disk.new_directory(0o755)
            machine.disk.change_names((machine.disk.root, "var", directory))
            machine.disk.sync(machine.disk.root)
        return made

    def configuration(
        self,
        process: Process,
        server: Server | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the settings, and those of `more`, as an object of howdah's in a process."""
        own = self.client_settings if server is None else server.settings
        configuration = process.modules.load("howdah.config").Configuration
        if server is not None and server.reads_files:
            path = process.modules.load("pathlib").Path(server.settings_directory)
            return configuration.load(path, environment=False)
        return configuration({**self.settings, **own, **(more or {})})

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

    def run_command(
        self,
        process: Process,
        name: str,
        *words: str,
        server: Server | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run a command of howdah in a process, with the settings of clients or of a server, and
        some more. Return its status and what it prints."""
        command = process.modules.load("howdah.cli.main").COMMANDS[name]
        usage = process.modules.load("howdah.cli.arguments.usage")
        errors = process.modules.load("howdah.errors")
        system = process.modules.load("sys")
        module, _, function = command.target.partition(":")
        run = getattr(process.modules.load(module), function)
        kept, output = (system.stdout, system.stderr), Printed()
        system.stdout = system.stderr = output
        try:
            status: int = run(list(words), self.configuration(process, server, settings))
        except usage.UsageError as error:
            status = usage.EXIT_USAGE
            output.write(f"{error}\n")
        except (errors.HowdahError, OSError) as error:
            status = usage.EXIT_FAILURE
            output.write(f"{type(error).__name__}: {error}\n")
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
        finally:
            system.stdout, system.stderr = kept
        output.flush()
        text = output.buffer.getvalue().decode()
        self.world.story.record(process.name, f"{name} {' '.join(words)}: {status}\n{text}")
        return status, text

    def connect(
        self,
        process: Process,
        uri: str,
        user: str = "hdfs",
        settings: Mapping[str, str] | None = None,
    ) -> Any:
        """Return a client's filesystem in a process, with settings of its own."""
        registry = process.modules.load("howdah.fs.registry")
        conf = self.configuration(process, more=settings)
        return registry.connect(uri, conf=conf, user=user)
