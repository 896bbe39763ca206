"""Clusters of ours for Java tests: the far side of the stand-in for `MiniDFSCluster`.

`ClusterServer` listens on the loopback interface. A connection carries calls, a
JSON object a line, each answered by one: `{"call": "start", "conf": {...},
"datanodes": 2, ...}` by the cluster's id and addresses, `{"call": "stop",
"cluster": 1, "server": "datanode0"}` by `{}`, and what fails by `{"error": ...}`.

Starting a cluster takes a second, and there are many tests. So one that is closed
as it was started is kept, and handed out again, emptied, to who wants the like. One with several
namenodes is not: all of them begin as standbys, as Hadoop's do.

Those that are to answer HTTP over TLS (`dfs.http.policy`) all have the certificates of `tls_dir`,
where Java's tests find whom to believe.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from howdah.errors import HowdahError, IllegalArgument
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local import certificates
from howdah.local.layout import role_of
from howdah.local.ports import Ports, datanode_hosts
from howdah.testing.minicluster import MiniCluster
from tests.support.failover.server_faults import haadmin

_GROUPS: Final = "hadoop.user.group.static.mapping.overrides"
_DATANODES: Final = 16
"""So many at most have a certificate."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a cluster is started with."""

    conf: tuple[tuple[str, str], ...]
    datanodes: int
    """0: there is one, which is stopped before its namenode hears of it."""
    racks: tuple[str, ...] | None
    namespaces: int = 1
    volumes: tuple[tuple[str, ...], ...] = (("DISK",),)
    """The types of the storages of each datanode, or once for all of them."""
    namenodes: int = 1
    """Of the one namespace: more are made active and standby by who has the cluster."""
    hosts: tuple[str, ...] = ()
    """The names by which datanodes register, one after the other; none for the usual ones."""

    @property
    def https(self) -> bool:
        """Whether its servers answer HTTP over TLS."""
        return dict(self.conf).get("dfs.http.policy", "HTTP_ONLY") != "HTTP_ONLY"

    @classmethod
    def of(cls, call: Mapping[str, Any]) -> Wanted:
        racks = call.get("racks")
        return cls(
            tuple(sorted(call["conf"].items())),
            int(call["datanodes"]),
            None if racks is None else tuple(racks),
            int(call["namespaces"]),
            tuple(tuple(each) for each in call.get("storages") or [["DISK"]]),
            int(call.get("namenodes", 1)),
            tuple(call.get("hosts") or ()),
        )

    @property
    def has_another_client(self) -> bool:
        """Whether its clients take `hdfs://` for a filesystem of mounts."""
        return "fs.hdfs.impl" in dict(self.conf)

    @property
    def of_several(self) -> dict[str, str]:
        """What a cluster needs of which each namenode's state is set by hand."""
        return {"dfs.ha.automatic-failover.enabled": "false"} if self.namenodes > 1 else {}

    @property
    def nameservices(self) -> list[str] | None:
        """Of several namespaces; None for a cluster with one."""
        return [f"ns{n}" for n in range(self.namespaces)] if self.namespaces > 1 else None


class GrowingCluster(MiniCluster):
    """A cluster that gets more datanodes while it runs."""

    def add_datanode(self, rack: str | None) -> str:
        """Add a datanode like the first one, in the rack, or in that of the first. Returns its
        name."""
        with self._lock:
            layout = self._cluster.layout
            number, ports = len(layout.datanodes), Ports()
            host = datanode_hosts(number + 1)[number]
            node = replace(
                layout.datanodes[0],
                name=f"datanode{number}",
                host=host,
                data_port=ports.free(host),
                ipc_port=ports.free(host),
                http_port=ports.free(host),
                rack=rack or layout.datanodes[0].rack,
            )
            self._cluster.layout = replace(layout, datanodes=(*layout.datanodes, node))
            self._cluster.layout.save()
            if node.rack != layout.datanodes[0].rack:
                # Namenodes read the table of racks when they start.
                for each in layout.namenodes:
                    self.restart(each.name)
            self.restart(node.name)
        return node.name


@dataclass(slots=True)
class _Lent:
    """A cluster, and whether it is as it was started but for its files."""

    cluster: GrowingCluster
    wanted: Wanted
    began_with: list[tuple[object, ...]]
    """The `_traits` of each namespace."""
    is_whole: bool
    directories: dict[str, list[Path]] = field(init=False)
    hosts: dict[str, str] = field(init=False)
    """The names by which datanodes register, if the test gave any."""

    def __post_init__(self) -> None:
        self.hosts = {f"datanode{at}": host for at, host in enumerate(self.wanted.hosts)}
        self.directories = {
            name: self.cluster.data_dirs(name)
            for name in self.cluster.names
            if role_of(name) in ("namenode", "datanode")
        }

    def prepare(self, server: str) -> None:
        """Have a datanode start with its own name and storages the next time."""
        if role_of(server) != "datanode":
            return
        values = {}
        if server in self.hosts:
            values["dfs.datanode.hostname"] = self.hosts[server]
        number, volumes = int(server.removeprefix("datanode")), self.wanted.volumes
        if len(volumes) > 1 and number < len(volumes):
            values["dfs.datanode.data.dir"] = ",".join(
                f"[{kind}]{path}"
                for kind, path in zip(volumes[number], self.directories[server], strict=False)
            )
        if values:
            self.cluster.configure(values)


class ClusterServer:
    """Starts and stops clusters on request, all of them below `scratch`.

    >>> with ClusterServer(scratch, {}) as clusters:
    ...     run_suites(..., properties={"howdah.clusters": clusters.address})
    """

    def __init__(
        self, scratch: Path, conf: Mapping[str, str], superusers: Iterable[str] = ()
    ) -> None:
        """`conf` is for every cluster; what a test sets wins. `superusers` are such whatever groups
        a test gives them: with Hadoop whoever starts a cluster is its superuser."""
        self._scratch = scratch
        self._conf = dict(conf)
        self._superusers = "".join(f";{user}=supergroup" for user in superusers)
        self._conf[_GROUPS] = self._conf.get(_GROUPS, "") + self._superusers
        # Java looks for directories of its class path when it starts, and never again.
        self.tls_dir.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._lent: dict[int, _Lent] = {}
        self._kept: _Lent | None = None
        # Where the cluster was that was closed last: the next one may want its data.
        self._last_dir: Path | None = None
        self._last_wanted: Wanted | None = None
        self._ids = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._accept, name="clusters", daemon=True)
        self._thread.start()

    @property
    def tls_dir(self) -> Path:
        """Of the certificates of all clusters; with `ssl-client.xml`, for Java's class path."""
        return self._scratch / "tls"

    @property
    def address(self) -> str:
        """`host:port`."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def close(self) -> None:
        """Close all clusters, and take no more calls."""
        self._listener.close()
        with self._lock:
            for lent in self._lent.values():
                lent.cluster.close()
            self._lent.clear()
            self._drop_kept()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- the wire ------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rw", encoding="utf-8") as stream:
            for line in stream:
                stream.write(json.dumps(self._answer(json.loads(line))) + "\n")
                stream.flush()

    def _answer(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            with self._lock:
                if call["call"] == "start":
                    return self._start(self._wanted(call), keeps_data=not call["format"])
                return self._on_server(call)
        except (HowdahError, OSError, KeyError) as error:
            return {"error": f"{call.get('call')}: {type(error).__name__}: {error}"}

    # -- the calls -----------------------------------------------------------------------

    def _wanted(self, call: Mapping[str, Any]) -> Wanted:
        """As the call has it, with the groups of the test's users beside those of `conf`."""
        groups = str(call.get("groups", ""))
        if not groups:
            return Wanted.of(call)
        joined = ";".join(filter(None, (self._conf[_GROUPS], groups.rstrip(";"))))
        joined += self._superusers
        return Wanted.of({**call, "conf": {_GROUPS: joined, **call["conf"]}})

    def _start(self, wanted: Wanted, *, keeps_data: bool) -> Mapping[str, Any]:
        kept, self._kept = self._kept, None
        if kept is not None and not keeps_data and kept.wanted == wanted and _is_emptied(kept):
            lent = kept
        else:
            if kept is not None:
                kept.cluster.close()
            directory = self._last_dir if keeps_data else None
            if directory is not None and self._last_wanted is not None:
                # Of a cluster that goes on, all servers go on.
                wanted = replace(wanted, datanodes=self._last_wanted.datanodes)
            if directory is None:
                self._remove_last()
                directory = Path(tempfile.mkdtemp(prefix="cluster-", dir=self._scratch))
                if wanted.https:
                    self._lay_certificates(directory)
            cluster = GrowingCluster(
                datanodes=wanted.datanodes or 1,
                racks=wanted.racks,
                volumes=max(wanted.volumes, key=len),
                nameservices=wanted.nameservices,
                conf={**self._conf, **dict(wanted.conf), **wanted.of_several},
                dir=directory,
                namenodes=wanted.namenodes,
                https=wanted.https,
            )
            lent = _Lent(cluster, wanted, [], is_whole=False)
            if wanted.hosts or len(wanted.volumes) > 1:
                for number in range(wanted.datanodes):
                    lent.prepare(f"datanode{number}")
                    cluster.restart(f"datanode{number}")
            if not wanted.datanodes:
                cluster.stop("datanode0")
                if wanted.namenodes == 1:
                    for name in cluster.names:
                        if role_of(name) == "namenode":
                            cluster.restart(name)
            lent.is_whole = wanted.namenodes == 1 and not wanted.has_another_client
            if lent.is_whole:
                lent.began_with = _traits(cluster, wanted)
            for name, state in cluster.ha_states().items():
                if state == "active" and not keeps_data:
                    _bring(cluster, wanted, name, "standby")
        self._ids += 1
        self._lent[self._ids] = lent
        cluster = lent.cluster
        return {
            "cluster": self._ids,
            "namenodes": [
                {
                    "uri": f"hdfs://{server.addresses['rpc']}",
                    # One of both may be missing.
                    "http": _uri("http", server.addresses.get("http")),
                    "https": server.addresses.get("https", ""),
                }
                for server in cluster.processes
                if role_of(server.name) == "namenode"
            ],
            "dir": str(cluster.dir),
            "directories": {
                name: [str(path) for path in paths] for name, paths in lent.directories.items()
            },
            "datanodes": {
                server.name: server.addresses["data"]
                for server in cluster.processes
                if role_of(server.name) == "datanode" and wanted.datanodes
            },
        }

    def _lay_certificates(self, directory: Path) -> None:
        """The cluster takes what it finds there for its own."""
        certificates.make(self.tls_dir, datanode_hosts(_DATANODES))
        shutil.copytree(self.tls_dir, directory / "tls")

    def _on_server(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        lent = self._lent.get(call["cluster"])
        if lent is None:
            return {}  # Closing twice is no error.
        match call["call"]:
            case "close":
                del self._lent[call["cluster"]]
                self._close(lent)
            case "stop":
                lent.is_whole = False
                lent.cluster.stop(call["server"])
            case "configure":
                # The values are this server's; clients hardly notice.
                lent.is_whole = False
                lent.cluster.configure(call["conf"])
                lent.cluster.restart(call["server"])
            case "add":
                lent.is_whole = False
                host = call["host"]
                named = {} if host is None else {"dfs.datanode.hostname": host}
                lent.cluster.configure({**call["conf"], **named})
                name = lent.cluster.add_datanode(call["rack"])
                if host is not None:
                    lent.hosts[name] = host
                lent.directories[name] = lent.cluster.data_dirs(name)
                return {
                    "datanode": name,
                    "address": lent.cluster.process(name).addresses["data"],
                    "directories": [str(path) for path in lent.directories[name]],
                }
            case "restart-soon":
                lent.is_whole = False
                lent.cluster.stop(call["server"])
                lent.prepare(call["server"])
                lent.cluster.start(call["server"])
            case "active" | "standby" | "observer" as state:
                lent.is_whole = False
                _bring(lent.cluster, lent.wanted, call["server"], state)
            case "restart":
                lent.is_whole = False
                lent.prepare(call["server"])
                lent.cluster.restart(call["server"])
            case other:
                raise IllegalArgument(f"there is no call {other!r}")
        return {}

    def _close(self, lent: _Lent) -> None:
        if lent.is_whole and self._kept is None:
            self._kept = lent
        else:
            lent.cluster.close()
        self._last_dir = lent.cluster.dir
        self._last_wanted = lent.wanted

    def _drop_kept(self) -> None:
        if self._kept is not None:
            self._kept.cluster.close()
            self._kept = None

    def _remove_last(self) -> None:
        if self._last_dir is not None:
            shutil.rmtree(self._last_dir, ignore_errors=True)
            self._last_dir = None


def _bring(cluster: MiniCluster, of: Wanted, name: str, state: str) -> None:
    """Have a namenode of several active, and others of its namespace that were so standby; or
    standby or observer. Raises IllegalArgument where `howdah haadmin` refuses."""
    states = cluster.ha_states()
    where: tuple[str, ...] = ()
    for nameservice in of.nameservices or []:
        names = cluster.namenodes_of(nameservice)
        if name in names:
            where = ("-ns", nameservice)
            states = {each: states[each] for each in names}
    wanted = [each for each in states if each != name] if state == "active" else [name]
    leave = "observer" if state == "standby" and states[name] == "observer" else "active"
    orders = [("-transitionToStandby", each) for each in wanted if states[each] == leave]
    if state == "observer" and states[name] != "observer":
        orders.append(("-transitionToObserver", name))
    if state == "active" and states[name] != "active":
        orders.append(("-transitionToActive", name))
    for order in orders:
        # Another one may be down: whether it is active is known here.
        forced = ("--forceactive",) if order[0] == "-transitionToActive" else ()
        status, said = haadmin(cluster, *where, order[0], *forced, order[1])
        if status:
            raise IllegalArgument(said)


def _uri(scheme: str, address: str | None) -> str:
    return f"{scheme}://{address}" if address else ""


def _is_emptied(lent: _Lent) -> bool:
    """False where that cannot be done: there are snapshots, or more was changed than files."""
    try:
        for fs in _connected(lent.cluster, lent.wanted):
            with fs:
                for status in fs.list_status("/"):
                    fs.delete(status.path, recursive=True)
                fs.set_permission("/", 0o755)
        return _traits(lent.cluster, lent.wanted) == lent.began_with
    except HowdahError:
        return False


def _connected(cluster: MiniCluster, wanted: Wanted) -> Iterator[HdfsFileSystem]:
    """Each of its namespaces."""
    nameservices: Sequence[str | None] = wanted.nameservices or [None]
    for nameservice in nameservices:
        yield cluster.connect(nameservice=nameservice)


def _traits(cluster: MiniCluster, wanted: Wanted) -> list[tuple[object, ...]]:
    """Of each namespace, what is left of it without its files."""
    conf = dict(wanted.conf)
    # Where these are switched off nobody can set them, nor ask for them.
    has_acls, has_xattrs = (
        conf.get(f"dfs.namenode.{kind}.enabled", "true") != "false" for kind in ("acls", "xattrs")
    )
    found: list[tuple[object, ...]] = []
    for fs in _connected(cluster, wanted):
        with fs:
            root, quotas = fs.get_file_status("/"), fs.quota_usage("/")
            found.append(
                (
                    *(root.owner, root.group, root.permission),
                    fs.get_acl_status("/") if has_acls else None,
                    *(fs.get_xattrs("/") if has_xattrs else None, fs.get_storage_policy("/").name),
                    *(quotas.quota, quotas.space_quota, quotas.type_quotas),
                    *(fs.list_snapshottable_directories(), fs.list_cache_pools()),
                    *(fs.get_erasure_coding_policies(), fs.get_erasure_coding_policy("/")),
                )
            )
    return found
