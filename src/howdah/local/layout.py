"""What a cluster on one machine looks like: its servers, ports, directories, files.

Decided once and written to `cluster.json`, so that a restart, or another process
tomorrow, finds the same ports and the same data:

    DIR/cluster.json            the layout
    DIR/racks.txt               which address is in which rack
    DIR/conf/                   core-site.xml, hdfs-site.xml for clients, Java ones too
    DIR/NAME/conf/              the same for one server
    DIR/namenode/name/          image and edit log
    DIR/datanodeN/dataM/        blocks, a directory per volume
    DIR/logs/NAME.log           what a server says
    DIR/run/NAME.json           there when the server can serve

Each datanode has a loopback address of its own (127.0.0.11, 127.0.0.12, …), so
that racks can be assigned by address. Where the system has 127.0.0.1 only, all share
it, and racks are refused. They register by that address as their name only where racks
are asked for, or where somebody connects by name. Else they are called `localhost`, so
that no task of a Spark prefers one host to another: in its local mode a stage of tasks
that prefer other hosts than the driver's, beside others, would wait for ever.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from howdah import keys
from howdah.config import Configuration, current_name
from howdah.errors import InvalidConfiguration
from howdah.kinds import STORAGE_TYPES, parse_address

LOOPBACK = "127.0.0.1"
FIRST_DATANODE_HOST = 11
LAST_DATANODE_HOST = 254
# Below what systems hand out to connecting sockets: a port that is free while a
# server is down shall be free when it comes up again.
PORTS = range(15000, 32000)
MAX_PORT_ATTEMPTS = 200
VERSION = 1
DEFAULT_RACK = "/default-rack"
NO_HOST = "localhost"
"""The name that schedulers take for none: it prefers nothing."""

_TABLE_MAPPING = "org.apache.hadoop.net.TableMapping"
# Quick reactions on one machine: the defaults are for thousands.
QUICK = {
    "dfs.heartbeat.interval": "1",
    "dfs.namenode.redundancy.interval.seconds": "1",
    "dfs.namenode.safemode.extension": "0",
    "dfs.namenode.safemode.min.datanodes": "0",
}
_CONNECTS_BY_NAME = (
    keys.DFS_CLIENT_USE_DATANODE_HOSTNAME,
    keys.DFS_DATANODE_USE_DATANODE_HOSTNAME,
)
_NAMENODE_ADDRESS_KEYS = (keys.FS_DEFAULTFS.name, keys.DFS_NAMENODE_RPC_ADDRESS.name)
_LAYOUT_KEYS = (*_NAMENODE_ADDRESS_KEYS, keys.DFS_NAMENODE_HTTP_ADDRESS.name)


@dataclass(frozen=True, slots=True)
class Datanode:
    """One datanode of a layout."""

    name: str
    host: str
    data_port: int
    ipc_port: int
    http_port: int
    rack: str
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole cluster. `values` are what the user sets, on servers and clients."""

    dir: Path
    rpc: str
    http: str
    datanodes: tuple[Datanode, ...]
    values: Mapping[str, str]

    @classmethod
    def plan(
        cls,
        dir: Path,
        *,
        datanodes: int = 3,
        racks: Sequence[str] | None = None,
        volumes: int | Sequence[str] = 1,
        values: Mapping[str, str] | None = None,
    ) -> Layout:
        """Choose hosts and free ports.

        `racks` are assigned to the datanodes in turn. `volumes` is a number, or
        the storage types of the volumes of each datanode (`("SSD", "DISK")`).
        `values` may fix the namenode's addresses; a port 0 there is chosen too.
        """
        if datanodes < 1:
            raise InvalidConfiguration(f"a cluster needs a datanode or more, not {datanodes}")
        settings = {current_name(name): value for name, value in (values or {}).items()}
        hosts = _datanode_hosts(datanodes)
        ports = _Ports()
        rpc = next((settings[k] for k in reversed(_NAMENODE_ADDRESS_KEYS) if k in settings), None)
        http = settings.get(keys.DFS_NAMENODE_HTTP_ADDRESS.name)
        types = _volume_types(volumes)
        rack_of = _racks(racks, hosts)
        return cls(
            dir=dir,
            rpc=ports.address(rpc, 8020),
            http=ports.address(http, 9870),
            datanodes=tuple(
                Datanode(
                    name=f"datanode{number}",
                    host=host,
                    data_port=ports.free(host),
                    ipc_port=ports.free(host),
                    http_port=ports.free(host),
                    rack=rack_of[number],
                    volumes=types,
                )
                for number, host in enumerate(hosts)
            ),
            values={k: v for k, v in settings.items() if k not in _LAYOUT_KEYS},
        )

    @classmethod
    def load(cls, dir: Path) -> Layout | None:
        """The layout that was saved in `dir`, None where there is none."""
        path = dir / "cluster.json"
        try:
            saved = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise InvalidConfiguration(f"{path} is damaged: {error}") from error
        if saved.get("version") != VERSION:
            raise InvalidConfiguration(
                f"{path} has version {saved.get('version')!r}, this howdah knows {VERSION}"
            )
        nodes = tuple(
            Datanode(**{**node, "volumes": tuple(node["volumes"])}) for node in saved["datanodes"]
        )
        return cls(dir, saved["rpc"], saved["http"], nodes, saved["values"])

    def save(self) -> None:
        """Write `cluster.json` and all configuration files."""
        self.dir.mkdir(parents=True, exist_ok=True)
        for name in ("logs", "run"):
            (self.dir / name).mkdir(exist_ok=True)
        self.rack_table.write_text("".join(f"{n.host} {n.rack}\n" for n in self.datanodes))
        _write_conf(self.conf_dir, self.client_conf())
        for name in self.names:
            _write_conf(self.server_conf_dir(name), self.server_conf(name))
        saved = {
            "version": VERSION,
            "uri": self.uri,
            "rpc": self.rpc,
            "http": self.http,
            "datanodes": [asdict(node) for node in self.datanodes],
            "values": dict(self.values),
        }
        path = self.dir / "cluster.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(saved, indent=2) + "\n")
        os.replace(fresh, path)

    def with_values(self, values: Mapping[str, str]) -> Layout:
        """The same cluster with further or other values; its addresses stay."""
        fresh = {current_name(name): value for name, value in values.items()}
        for name in _LAYOUT_KEYS:
            here = self.http if name == keys.DFS_NAMENODE_HTTP_ADDRESS.name else self.rpc
            if name in fresh and not _agrees(fresh.pop(name), here):
                raise InvalidConfiguration(
                    f"{name} is {here} since the cluster in {self.dir} was made, and stays so"
                )
        return replace(self, values={**self.values, **fresh})

    # -- where things are ------------------------------------------------------------

    @property
    def uri(self) -> str:
        return f"hdfs://{self.rpc}"

    @property
    def names(self) -> list[str]:
        return ["namenode", *(node.name for node in self.datanodes)]

    @property
    def conf_dir(self) -> Path:
        return self.dir / "conf"

    @property
    def rack_table(self) -> Path:
        return self.dir / "racks.txt"

    def server_conf_dir(self, name: str) -> Path:
        return self.dir / name / "conf"

    def log_path(self, name: str) -> Path:
        return self.dir / "logs" / f"{name}.log"

    def ready_path(self, name: str) -> Path:
        return self.dir / "run" / f"{name}.json"

    def command(self, name: str) -> list[str]:
        """The arguments of `howdah` that run a server of this cluster."""
        return [
            role_of(name),
            "--conf",
            str(self.server_conf_dir(name)),
            "--ready-file",
            str(self.ready_path(name)),
        ]

    # -- configurations ----------------------------------------------------------------

    def client_conf(self) -> Configuration:
        """What a client needs."""
        replication = min(3, len(self.datanodes))
        return Configuration(
            {
                "dfs.replication": str(replication),
                **self.values,
                keys.FS_DEFAULTFS.name: self.uri,
            }
        )

    def server_conf(self, name: str) -> Configuration:
        """What the server `name` needs, on top of what clients do."""
        base = {"hadoop.tmp.dir": str(self.dir / name / "tmp"), **QUICK}
        if role_of(name) == "namenode":
            own, fixed = self._namenode_values()
        else:
            own, fixed = self._datanode_values(name)
        return Configuration({**base, **own, **dict(self.client_conf().items()), **fixed})

    def _namenode_values(self) -> tuple[dict[str, str], dict[str, str]]:
        own = {
            "dfs.namenode.name.dir": (self.dir / "namenode" / "name").as_uri(),
            "net.topology.node.switch.mapping.impl": _TABLE_MAPPING,
            "net.topology.table.file.name": str(self.rack_table),
        }
        fixed = {
            keys.DFS_NAMENODE_RPC_ADDRESS.name: self.rpc,
            keys.DFS_NAMENODE_HTTP_ADDRESS.name: self.http,
        }
        return own, fixed

    def _datanode_values(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        node = self.datanode(name)
        dirs = [
            f"[{kind}]{(self.dir / name / f'data{number}').as_uri()}"
            for number, kind in enumerate(node.volumes)
        ]
        own = {
            "dfs.datanode.data.dir": ",".join(dirs),
            "dfs.datanode.hostname": node.host if self._has_names else NO_HOST,
        }
        fixed = {
            "dfs.datanode.address": f"{node.host}:{node.data_port}",
            "dfs.datanode.ipc.address": f"{node.host}:{node.ipc_port}",
        }
        return own, fixed

    @property
    def _has_names(self) -> bool:
        """Whether racks or clients depend on the names of datanodes."""
        conf = self.client_conf()
        return any(node.rack != DEFAULT_RACK for node in self.datanodes) or any(
            conf.get(key) for key in _CONNECTS_BY_NAME
        )

    def datanode(self, name: str) -> Datanode:
        for node in self.datanodes:
            if node.name == name:
                return node
        raise InvalidConfiguration(f"there is no server {name!r}, only {', '.join(self.names)}")


def _agrees(wanted: str, here: str) -> bool:
    host, port = parse_address(here)
    try:
        wanted_host, wanted_port = parse_address(wanted, port)
    except ValueError as error:
        raise InvalidConfiguration(f"{wanted!r}: {error}") from error
    return wanted_host == host and wanted_port in (0, port)


def role_of(name: str) -> str:
    """`datanode7` is a datanode."""
    return name.rstrip("0123456789")


def _write_conf(directory: Path, conf: Configuration) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    values = dict(conf.items())
    core = {name: values.pop(name) for name in list(values) if not name.startswith("dfs.")}
    (directory / "core-site.xml").write_text(Configuration(core).to_xml())
    (directory / "hdfs-site.xml").write_text(Configuration(values).to_xml())


def _volume_types(volumes: int | Sequence[str]) -> tuple[str, ...]:
    types = ("DISK",) * volumes if isinstance(volumes, int) else tuple(volumes)
    if not types:
        raise InvalidConfiguration("a datanode needs a volume or more")
    for kind in types:
        if kind not in STORAGE_TYPES:
            raise InvalidConfiguration(
                f"{kind!r} is not a storage type ({', '.join(STORAGE_TYPES)})"
            )
    return types


def _racks(racks: Sequence[str] | None, hosts: Sequence[str]) -> list[str]:
    given = [rack if rack.startswith("/") else f"/{rack}" for rack in racks or [DEFAULT_RACK]]
    if len(set(given)) > 1 and len(set(hosts)) < len(hosts):
        raise InvalidConfiguration(
            "racks are assigned by address, but this system has no loopback address but 127.0.0.1"
        )
    return [given[number % len(given)] for number in range(len(hosts))]


def _datanode_hosts(count: int) -> list[str]:
    if count > LAST_DATANODE_HOST - FIRST_DATANODE_HOST + 1:
        raise InvalidConfiguration(f"{count} datanodes are too many for one machine")
    hosts = [f"127.0.0.{FIRST_DATANODE_HOST + number}" for number in range(count)]
    return hosts if _can_bind(hosts[0], 0) else [LOOPBACK] * count


def _can_bind(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


class _Ports:
    """Free ports, none given out twice; drawn at random, as other clusters draw too."""

    def __init__(self) -> None:
        self._given: set[tuple[str, int]] = set()
        self._random = random.SystemRandom()

    def free(self, host: str) -> int:
        for _ in range(MAX_PORT_ATTEMPTS):
            port = self._random.choice(PORTS)
            if (host, port) not in self._given and _can_bind(host, port):
                self._given.add((host, port))
                return port
        raise InvalidConfiguration(f"no free port found on {host} in {PORTS}")

    def address(self, wanted: str | None, default_port: int) -> str:
        """`wanted` with its port 0 replaced by a free one; nothing wanted is loopback."""
        try:
            host, port = parse_address(wanted or f"{LOOPBACK}:0", default_port)
        except ValueError as error:
            raise InvalidConfiguration(f"{wanted!r}: {error}") from error
        return f"{host}:{port or self.free(host)}"
