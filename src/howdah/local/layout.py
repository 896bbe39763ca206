"""What a cluster on one machine looks like: its servers, ports, directories, files.

Decided once and written to `cluster.json`, so that a restart, or another process
tomorrow, finds the same ports and the same data:

    DIR/cluster.json            the layout
    DIR/racks.txt               which address is in which rack
    DIR/conf/                   core-site.xml, hdfs-site.xml for clients, Java ones too
    DIR/NAME/conf/              the same for one server
    DIR/namenode/name/          image and edit log; with several namenodes, namenodeN
    DIR/journalnodeN/edits/     the shared edit log of several namenodes
    DIR/datanodeN/dataM/        blocks, a directory per volume
    DIR/tls/                    certificates, where servers have HTTPS
    DIR/kerberos/               the realm of a secured cluster (`howdah.local.kdc`)
    DIR/logs/NAME.log           what a server says
    DIR/run/NAME.json           there when the server can serve

Each datanode has a loopback address of its own (127.0.0.11, 127.0.0.12, …), so
that racks can be assigned by address. Where the system has 127.0.0.1 only, all share
it, and racks are refused. They register by that address as their name only where racks
are asked for, or where somebody connects by name. Else they are called `localhost`, so
that no task of a Spark prefers one host to another: in its local mode a stage of tasks
that prefer other hosts than the driver's, beside others, would wait for ever.

Several namenodes are a `Nameservice`, which brings journal nodes and failover controllers;
several nameservices over the same datanodes are a `Federation`.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from howdah.config import Configuration, current_name, keys
from howdah.config.value_types import STORAGE_TYPES, parse_address
from howdah.errors import InvalidConfiguration
from howdah.local import certificates
from howdah.local import nameservice as ha
from howdah.local.kdc import KDC, Realm, client_environment
from howdah.local.nameservice import Federation, Namenode, Nameservice
from howdah.local.ports import Ports, datanode_hosts
from howdah.runtime.tls.http_policy import among_servers

VERSION = 2
FORMER_VERSION = 1
"""Its clusters have one namenode, whose addresses are `rpc` and `http`."""
FEDERATION_VERSION = 3
"""That of clusters with several nameservices; the others keep theirs."""
SECURED_VERSION = 4
"""That of clusters with Kerberos, whatever their namenodes."""
_VERSIONS = (FORMER_VERSION, VERSION, FEDERATION_VERSION, SECURED_VERSION)
ServedBy = Namenode | Nameservice | Federation
DEFAULT_RACK = "/default-rack"
LOOPBACK = "127.0.0.1"
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
    """Describes a whole cluster. `values` are the user's settings, on servers and clients.

    `served_by` is the one namenode, the nameservice of several, or several nameservices.
    """

    dir: Path
    served_by: ServedBy
    datanodes: tuple[Datanode, ...]
    values: Mapping[str, str]
    https: Mapping[str, int] = field(default_factory=dict)
    """The ports of namenodes, datanodes and journal nodes for HTTP over TLS, by name; empty
    where there are none."""
    realm: Realm | None = None
    """Where clients and servers prove who they are."""

    @classmethod
    def plan(
        cls,
        dir: Path,
        *,
        datanodes: int = 3,
        namenodes: int = 1,
        nameservices: Sequence[str] | None = None,
        zookeeper: bool = False,
        racks: Sequence[str] | None = None,
        volumes: int | Sequence[str] = 1,
        values: Mapping[str, str] | None = None,
        https: bool = False,
        users: Sequence[str] | None = None,
        realm: str | None = None,
    ) -> Layout:
        """Choose hosts and free ports.

        More than one of `namenodes` are highly available, with journal nodes and automatic
        failover; `zookeeper`: they hold their elections there. Each of the `nameservices`,
        given by name, has so many namenodes.

        `racks` are assigned to the datanodes in turn. `volumes` is a number, or
        the storage types of the volumes of each datanode (`("SSD", "DISK")`).
        `values` may fix the namenode's addresses; a port 0 there is chosen too. With `https`
        servers answer HTTP over TLS too, or alone if `dfs.http.policy` is HTTPS_ONLY.

        With `users` the cluster is secured by Kerberos, in a realm that has them, called `realm`;
        who runs this is among them.
        """
        if datanodes < 1:
            raise InvalidConfiguration(f"a cluster needs a datanode or more, not {datanodes}")
        settings = {current_name(name): value for name, value in (values or {}).items()}
        hosts = datanode_hosts(datanodes)
        ports = Ports()
        served_by: ServedBy
        policy = settings.get(keys.DFS_HTTP_POLICY.name, "HTTP_ONLY")
        if policy != "HTTP_ONLY" and not https:
            raise InvalidConfiguration(
                f"{keys.DFS_HTTP_POLICY.name} = {policy}: a cluster here has certificates only if "
                "HTTPS is asked for (MiniCluster(https=True), howdah up --https)"
            )
        if nameservices is not None:
            _refuse_addresses(settings)
            ha.check_names(nameservices)
            served_by = Federation(
                Nameservice.plan_all(
                    ports, nameservices, namenodes, zookeeper=zookeeper, settings=settings
                )
            )
            served_by.check_same(settings)
        elif namenodes == 1:
            if zookeeper:
                raise InvalidConfiguration("one namenode holds no election: no ZooKeeper is wanted")
            served_by = _lone_namenode(ports, settings)
        else:
            _refuse_addresses(settings)
            served_by = Nameservice.plan(ports, namenodes, zookeeper=zookeeper, settings=settings)
        types = _volume_types(volumes)
        rack_of = _racks(racks, hosts)
        planned = cls(
            dir=dir,
            served_by=served_by,
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
            realm=(
                None
                if users is None
                else Realm.plan(ports.address(), getpass.getuser(), users, realm)
            ),
        )
        return replace(planned, https=planned.plan_https(ports)) if https else planned

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
        version = saved.get("version")
        if version not in _VERSIONS:
            known = ", ".join(map(str, _VERSIONS))
            raise InvalidConfiguration(f"{path} has version {version!r}, this howdah knows {known}")
        nodes = tuple(
            Datanode(**{**node, "volumes": tuple(node["volumes"])}) for node in saved["datanodes"]
        )
        served_by: ServedBy
        if version == FORMER_VERSION:
            served_by = Namenode("namenode", saved["rpc"], saved["http"])
        elif "nameservices" in saved:
            served_by = Federation.from_saved(saved["nameservices"])
        elif saved["nameservice"] is None:
            served_by = Namenode(**saved["namenode"])
        else:
            served_by = Nameservice.from_saved(saved["nameservice"])
        realm = Realm.from_saved(saved["kerberos"]) if version == SECURED_VERSION else None
        return cls(dir, served_by, nodes, saved["values"], saved.get("https", {}), realm)

    def save(self) -> None:
        """Write `cluster.json` and all configuration files."""
        self.dir.mkdir(parents=True, exist_ok=True)
        for name in ("logs", "run"):
            (self.dir / name).mkdir(exist_ok=True)
        if self.https:
            certificates.make(self.tls_dir, {node.host for node in self.datanodes})
        if self.realm is not None:
            self.realm.make(self.kerberos_dir, [LOOPBACK, *(node.host for node in self.datanodes)])
        self.rack_table.write_text("".join(f"{n.host} {n.rack}\n" for n in self.datanodes))
        _write_conf(self.conf_dir, self.client_conf())
        if self.https:
            certificates.lay_beside(self.tls_dir, self.conf_dir, for_server=False)
        for name in self.names:
            if name == KDC:
                continue
            _write_conf(self.server_conf_dir(name), self.server_conf(name))
            if self.https:
                certificates.lay_beside(self.tls_dir, self.server_conf_dir(name), for_server=True)
        saved = {
            "version": VERSION,
            "uri": self.uri,
            **self._saved_namenodes(),
            "datanodes": [asdict(node) for node in self.datanodes],
            "values": dict(self.values),
            **({"https": dict(self.https)} if self.https else {}),
            **self._saved_realm(),
        }
        path = self.dir / "cluster.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(saved, indent=2) + "\n")
        os.replace(fresh, path)

    def _saved_namenodes(self) -> dict[str, object]:
        match self.served_by:
            case Namenode() as namenode:
                return {"namenode": asdict(namenode), "nameservice": None}
            case Nameservice() as nameservice:
                return {"namenode": None, "nameservice": asdict(nameservice)}
            case Federation(nameservices):
                return {
                    "version": FEDERATION_VERSION,
                    "nameservices": [asdict(nameservice) for nameservice in nameservices],
                }

    def _saved_realm(self) -> dict[str, object]:
        if self.realm is None:
            return {}
        return {"version": SECURED_VERSION, "kerberos": asdict(self.realm)}

    def with_values(self, values: Mapping[str, str]) -> Layout:
        """The same cluster with further or other values; its addresses stay."""
        fresh = {current_name(name): value for name, value in values.items()}
        if not isinstance(self.served_by, Namenode):
            _refuse_addresses(fresh)
            self.served_by.check_same(fresh)
            return replace(self, values={**self.values, **fresh})
        (namenode,) = self.namenodes
        for name in _LAYOUT_KEYS:
            here = namenode.http if name == keys.DFS_NAMENODE_HTTP_ADDRESS.name else namenode.rpc
            if name in fresh and not _agrees(fresh.pop(name), here):
                raise InvalidConfiguration(
                    f"{name} is {here} since the cluster in {self.dir} was made, and stays so"
                )
        return replace(self, values={**self.values, **fresh})

    def check_same(
        self,
        *,
        datanodes: int | None,
        namenodes: int | None,
        nameservices: Sequence[str] | None = None,
        zookeeper: bool | None = None,
    ) -> None:
        """Raise InvalidConfiguration if this cluster has other numbers of servers.

        `namenodes` are those of each nameservice.
        """
        here = {
            "datanodes": (datanodes, len(self.datanodes)),
            "namenodes": (namenodes, len(self.namenodes) // max(len(self.nameservices), 1)),
        }
        for kind, (wanted, count) in here.items():
            if wanted is not None and wanted != count:
                raise InvalidConfiguration(
                    f"the cluster in {self.dir} has {count} {kind}, not {wanted}; "
                    "another cluster takes another directory"
                )
        names = [nameservice.name for nameservice in self.nameservices]
        if nameservices is not None and list(nameservices) != names:
            raise InvalidConfiguration(
                f"the cluster in {self.dir} has the nameservices {', '.join(names) or '(none)'}, "
                f"not {', '.join(nameservices)}; another cluster takes another directory"
            )
        if zookeeper and self.zookeeper is None:
            raise InvalidConfiguration(f"the cluster in {self.dir} has no ZooKeeper")

    # -- where things are ------------------------------------------------------------

    @property
    def nameservice(self) -> Nameservice | None:
        """What several namenodes of the only namespace share; None where there is one."""
        return self.served_by if isinstance(self.served_by, Nameservice) else None

    @property
    def nameservices(self) -> tuple[Nameservice, ...]:
        """Those that have a name."""
        match self.served_by:
            case Federation(nameservices):
                return nameservices
            case Nameservice() as nameservice:
                return (nameservice,)
            case Namenode():
                return ()

    def check_secured(self, wanted: bool) -> None:
        """Raise InvalidConfiguration if Kerberos is wanted and not there."""
        if wanted and self.realm is None:
            raise InvalidConfiguration(
                f"the cluster in {self.dir} has no Kerberos; another cluster takes another "
                "directory"
            )

    def with_users(self, users: Sequence[str]) -> Layout:
        """The same with these users too. Raises InvalidConfiguration."""
        self.check_secured(wanted=True)
        assert self.realm is not None, "checked"
        return replace(self, realm=self.realm.with_users(users))

    def check_user(self, user: str) -> None:
        """Raise InvalidConfiguration for one who has no keytab here."""
        self.check_secured(wanted=True)
        assert self.realm is not None, "checked"
        if user not in self.realm.users:
            raise InvalidConfiguration(
                f"the realm {self.realm.name} of the cluster in {self.dir} has no user {user}, "
                f"only {', '.join(self.realm.users)}"
            )

    def user_environment(self, user: str | None) -> dict[str, str]:
        """What a client needs in its environment; as a user, if his ticket is there."""
        return {
            "HADOOP_CONF_DIR": str(self.conf_dir),
            **client_environment(self.kerberos_dir, user),
        }

    def nameservice_of(self, name: str) -> Nameservice:
        """That of a namenode or failover controller. Raises InvalidConfiguration."""
        for nameservice in self.nameservices:
            if name in nameservice.controllers or name in [
                node.name for node in nameservice.namenodes
            ]:
                return nameservice
        raise InvalidConfiguration(f"{name} serves no nameservice of this cluster")

    def nameservice_called(self, name: str) -> Nameservice:
        """Raises InvalidConfiguration for one that isn't there."""
        for nameservice in self.nameservices:
            if nameservice.name == name:
                return nameservice
        names = ", ".join(nameservice.name for nameservice in self.nameservices)
        raise InvalidConfiguration(
            f"there is no nameservice {name!r}, only {names}"
            if names
            else f"there is no nameservice {name!r}: this cluster has one namenode"
        )

    @property
    def namenodes(self) -> tuple[Namenode, ...]:
        if isinstance(self.served_by, Namenode):
            return (self.served_by,)
        return tuple(node for nameservice in self.nameservices for node in nameservice.namenodes)

    @property
    def has_roles(self) -> bool:
        """Whether namenodes are active or standby."""
        return any(nameservice.is_highly_available for nameservice in self.nameservices)

    @property
    def controllers(self) -> list[str]:
        """All failover controllers."""
        return [name for nameservice in self.nameservices for name in nameservice.controllers]

    @property
    def shared_names(self) -> list[str]:
        """Servers that run before any namenode does; all nameservices share them."""
        return self.nameservices[0].shared_names if self.nameservices else []

    @property
    def zookeeper(self) -> str | None:
        """Its address."""
        return self.nameservices[0].zookeeper if self.nameservices else None

    def web_url(self, namenode: Namenode) -> str:
        """Where a namenode has its pages: over TLS where there is nothing else."""
        if among_servers(self.client_conf()):
            return f"https://{LOOPBACK}:{self.https[namenode.name]}"
        if self.realm is not None and namenode.http.startswith(f"{LOOPBACK}:"):
            # Tickets are for names of hosts.
            return f"http://localhost:{namenode.http.rpartition(':')[2]}"
        return f"http://{namenode.http}"

    @property
    def uri(self) -> str:
        """What clients call it: a logical name where there is one; the first of several."""
        if self.nameservices:
            return self.nameservices[0].uri
        return f"hdfs://{self.namenodes[0].rpc}"

    @property
    def uris(self) -> tuple[str, ...]:
        """One for each namespace."""
        return tuple(nameservice.uri for nameservice in self.nameservices) or (self.uri,)

    @property
    def names(self) -> list[str]:
        """All servers, in the order in which they are shown."""
        return [
            *([] if self.realm is None else [KDC]),
            *(node.name for node in self.namenodes),
            *self.controllers,
            *self.shared_names,
            *(node.name for node in self.datanodes),
        ]

    @property
    def conf_dir(self) -> Path:
        return self.dir / "conf"

    @property
    def tls_dir(self) -> Path:
        """Certificates, where there is HTTPS."""
        return self.dir / "tls"

    @property
    def kerberos_dir(self) -> Path:
        """The realm, where there is one."""
        return self.dir / "kerberos"

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
        ready = str(self.ready_path(name))
        if name == ha.ZOOKEEPER and self.zookeeper is not None:
            directory, address = str(self.dir / name), self.zookeeper
            return [name, "--dir", directory, "--address", address, "--ready-file", ready]
        if name == KDC and self.realm is not None:
            directory, address = str(self.kerberos_dir), self.realm.kdc
            return [name, "--dir", directory, "--address", address, "--ready-file", ready]
        return [
            role_of(name),
            "--conf",
            str(self.server_conf_dir(name)),
            "--ready-file",
            ready,
        ]

    # -- configurations ----------------------------------------------------------------

    def client_conf(self) -> Configuration:
        """What a client needs."""
        values = {"dfs.replication": str(min(3, len(self.datanodes)))}
        fixed = {keys.FS_DEFAULTFS.name: self.uri}
        if self.has_roles:
            values |= ha.QUICK_CLIENT
        for nameservice in self.nameservices:
            fixed |= nameservice.client_values()
        if self.nameservices:
            fixed[keys.DFS_NAMESERVICES.name] = ",".join(
                nameservice.name for nameservice in self.nameservices
            )
        else:  # fsck goes to the namenode's web server
            (namenode,) = self.namenodes
            fixed[keys.DFS_NAMENODE_HTTP_ADDRESS.name] = namenode.http
        if self.https:
            values[keys.DFS_HTTP_POLICY.name] = "HTTP_AND_HTTPS"
            fixed |= certificates.client_settings(self.tls_dir) | self._namenode_https_values()
        if self.realm is not None:
            values |= self.realm.default_values
            fixed |= self.realm.client_values
        return Configuration({**values, **self.values, **fixed})

    def plan_https(self, ports: Ports) -> dict[str, int]:
        """A free port of each server that has HTTPS, by its name."""
        hosts = {node.name: node.host for node in self.datanodes}
        roles = ("namenode", "datanode", "journalnode")
        return {
            name: ports.free(hosts.get(name, LOOPBACK))
            for name in self.names
            if role_of(name) in roles
        }

    def _namenode_https_values(self) -> dict[str, str]:
        key = keys.DFS_NAMENODE_HTTPS_ADDRESS.name
        if not self.nameservices:
            return {key: f"{LOOPBACK}:{self.https[self.namenodes[0].name]}"}
        return {
            f"{key}.{nameservice.suffix_of(node)}": f"{LOOPBACK}:{self.https[node.name]}"
            for nameservice in self.nameservices
            for node in nameservice.namenodes
        }

    def server_conf(self, name: str) -> Configuration:
        """What the server `name` needs, on top of what clients do."""
        base = {"hadoop.tmp.dir": str(self.dir / name / "tmp"), **QUICK}
        if self.has_roles:
            base |= ha.QUICK
        own, fixed = self._own_and_fixed_values(name)
        if self.realm is not None:
            own["dfs.cluster.administrators"] = self.realm.superuser
            host = self.datanode(name).host if role_of(name) == "datanode" else LOOPBACK
            web_host = NO_HOST if host == LOOPBACK else host
            fixed |= self.realm.server_values(self.kerberos_dir, web_host)
        return Configuration({**base, **own, **dict(self.client_conf().items()), **fixed})

    def _own_and_fixed_values(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """What `self.values` may replace, and what it may not."""
        role = role_of(name)
        if role == "datanode":
            return self._datanode_values(name)
        own: dict[str, str] = {}
        if role == "namenode":
            own = {
                "dfs.namenode.name.dir": (self.dir / name / "name").as_uri(),
                "net.topology.node.switch.mapping.impl": _TABLE_MAPPING,
                "net.topology.table.file.name": str(self.rack_table),
            }
        if not self.nameservices:
            (namenode,) = self.namenodes
            fixed = {
                keys.DFS_NAMENODE_RPC_ADDRESS.name: namenode.rpc,
                keys.DFS_NAMENODE_HTTP_ADDRESS.name: namenode.http,
            }
            return own, fixed
        if role == "journalnode":
            edits = self.dir / name / "edits"
            values = self.nameservices[0].journalnode_values(name, edits)
            if self.https:
                values["dfs.journalnode.https-address"] = f"{LOOPBACK}:{self.https[name]}"
            return own, values
        if name in self.shared_names:
            return own, {}
        nameservice = self.nameservice_of(name)
        if role == "zkfc":  # which says in its ready file what it took
            own[keys.HOWDAH_FAILOVER_CONTROLLER_HTTP_ADDRESS.name] = f"{LOOPBACK}:0"
            if self.https:
                own[keys.HOWDAH_FAILOVER_CONTROLLER_HTTPS_ADDRESS.name] = f"{LOOPBACK}:0"
        if nameservice.is_highly_available:
            own["dfs.namenode.shared.edits.dir"] = nameservice.shared_edits
        return own, nameservice.namenode_values(name)

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
            "dfs.datanode.http.address": f"{node.host}:{node.http_port}",
        }
        if self.https:
            fixed["dfs.datanode.https.address"] = f"{node.host}:{self.https[name]}"
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


def _lone_namenode(ports: Ports, settings: Mapping[str, str]) -> Namenode:
    rpc = next((settings[k] for k in reversed(_NAMENODE_ADDRESS_KEYS) if k in settings), None)
    http = settings.get(keys.DFS_NAMENODE_HTTP_ADDRESS.name)
    return Namenode("namenode", ports.address(rpc, 8020), ports.address(http, 9870))


def _refuse_addresses(settings: Mapping[str, str]) -> None:
    for name in _LAYOUT_KEYS:
        if name in settings:
            raise InvalidConfiguration(
                f"{name} = {settings[name]}: of several namenodes none has this address alone"
            )


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
