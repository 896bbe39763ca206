"""`MiniCluster`: real namenodes and real datanodes for as long as a test needs them.

Every server is a process (a datanode is two), with its own directory, log and
loopback address. Servers can be killed, paused and restarted by name; a restart
has the same ports and the same data. Everything ends with the cluster, or with
the process that made it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration
from howdah.local import kdc
from howdah.local.cluster import ACTIVE, READY_TIMEOUT_S, LocalCluster
from howdah.local.layout import Layout, role_of
from howdah.local.processes import POLL_S
from howdah.local.servers import Server, ServerFailed, Spawner
from howdah.testing.faults import Faults, fault_directory
from howdah.testing.forked import Forked
from howdah.testing.storage_faults import StorageFaults

if TYPE_CHECKING:
    from howdah.fs.hdfs.filesystem import HdfsFileSystem

CLOSE_TIMEOUT_S = 5.0
_NO_SCANS = {"dfs.datanode.scan.period.hours": "-1", "dfs.datanode.directoryscan.interval": "-1"}


class MiniCluster:
    """A cluster of processes on this machine, as a context manager.

    `datanodes`: how many; they are called datanode0, datanode1, …, and the
    namenode is called namenode.
    `namenodes`: with more than one the cluster is highly available. They are called namenode0,
    namenode1, …, each with a failover controller zkfc0, …; journalnode0 to journalnode2 keep
    their log. With `dfs.ha.automatic-failover.enabled` = false there are no controllers, and
    the first namenode is made active at the start.
    `nameservices`: names of several namespaces over the same datanodes, each with so many
    `namenodes`, which are numbered through: of `["a", "b"]` with one each, namenode0 serves a
    and namenode1 serves b (`namenodes_of`). Journal nodes serve all.
    `zookeeper`: elections are held in a ZooKeeper (wants Java), not on the journal nodes.
    `racks`: a rack for each datanode in turn (`["/a", "/b"]` alternate).
    `conf`: values for all servers and for clients, as in `-D`; booleans and
    numbers may be given as they are.
    `volumes`: data directories of each datanode, a number or their storage types.
    `dir`: the cluster's directory, in which a later MiniCluster finds the same data;
    without it, a temporary one that is removed at the end.
    `https`: servers answer HTTP over TLS too (`dfs.http.policy` in `conf` may say: alone), with
    certificates of a CA of the cluster's own, `DIR/tls/ca.pem`; wants `howdah[tls]`.
    `faults`: datanodes can be made to fail at an exact point (`howdah.testing.faults`).
    `secure`: clients and servers prove who they are by Kerberos, calls and data are encrypted,
    blocks have tokens, and web ports ask by SPNEGO. The KDC is the cluster's own, a server called
    kdc; it wants MIT's programs and `howdah[tls]`, or `NoKdc` says what is missing. Its realm has
    `users` and who runs the test, who is the superuser; each has a keytab (`keytab_of`), and they
    have home directories. Until the cluster is closed this process finds the realm by KRB5_CONFIG;
    other programs are given `environment(user)`. Values of `conf` may ask for other protections.

    Heartbeats come every second and safe mode has no extension, so that tests need not
    wait. Datanodes look at their disks for damage only if `conf` says how often
    (`dfs.datanode.scan.period.hours`, `dfs.datanode.directoryscan.interval`), so that what a
    test damages is found by the test. Everything else has Hadoop's defaults. A datanode that
    is killed counts as dead after ten minutes, unless
    `dfs.namenode.heartbeat.recheck-interval` says otherwise.

    >>> with MiniCluster(datanodes=1) as cluster:
    ...     cluster.kill("namenode")
    ...     cluster.restart("namenode")
    """

    def __init__(
        self,
        datanodes: int = 3,
        racks: Sequence[str] | None = None,
        conf: Mapping[str, str | int | float | bool] | None = None,
        volumes: int | Sequence[str] = 1,
        dir: str | os.PathLike[str] | None = None,
        *,
        namenodes: int = 1,
        nameservices: Sequence[str] | None = None,
        zookeeper: bool = False,
        faults: bool = False,
        https: bool = False,
        secure: bool = False,
        users: Sequence[str] = kdc.DEFAULT_USERS,
        timeout_s: float = READY_TIMEOUT_S,
    ) -> None:
        if secure:
            kdc.check_available()
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._own_dir = dir is None
        base = Path(tempfile.mkdtemp(prefix="howdah-") if dir is None else dir).absolute()
        values = {name: _text(value) for name, value in (conf or {}).items()}
        layout = Layout.load(base)
        if layout is None:
            layout = Layout.plan(
                base,
                datanodes=datanodes,
                namenodes=namenodes,
                nameservices=nameservices,
                zookeeper=zookeeper,
                racks=racks,
                volumes=volumes,
                values={**_NO_SCANS, **values},
                https=https,
                users=users if secure else None,
                realm=kdc.free_realm(),
            )
        else:
            layout.check_same(datanodes=datanodes, namenodes=namenodes, nameservices=nameservices)
            layout.check_secured(wanted=secure)
            layout = layout.with_values(values)
            if secure:
                layout = layout.with_users(users)
        layout = self._prepare(layout)
        layout.save()
        if layout.realm is not None:
            kdc.enter(layout.kerberos_dir, layout.realm)
        self._cluster = LocalCluster(layout, self._spawner(layout))
        if faults:
            fault_directory(base).mkdir(exist_ok=True)
        # Also where close() is never called: at exit of Python, but not in a fork.
        self._finalizer = weakref.finalize(
            self, _close, self._cluster, base if self._own_dir else None, os.getpid()
        )
        try:
            self._cluster.start_all(layout.names, timeout_s)
            self.wait_ready()
            if layout.realm is not None:
                self._cluster.make_homes(layout.realm.users)
        except BaseException:
            self.close()
            raise

    # What kinds of clusters differ in.

    def _prepare(self, layout: Layout) -> Layout:
        """The layout that is saved and started, once it is planned or loaded."""
        return layout

    def _spawner(self, layout: Layout) -> Spawner:
        """What starts the servers."""
        return Forked.shared()

    # -- where it is ---------------------------------------------------------------------

    @property
    def uri(self) -> str:
        """`hdfs://host:port`, or the logical name of several namenodes; with several
        nameservices the first one's."""
        return self._cluster.layout.uri

    def uri_of(self, nameservice: str) -> str:
        """The URI of one of the nameservices, such as `hdfs://a`."""
        return self._cluster.layout.nameservice_called(nameservice).uri

    def namenodes_of(self, nameservice: str) -> list[str]:
        """The names of the namenodes that serve one of the nameservices."""
        layout = self._cluster.layout.nameservice_called(nameservice)
        return [node.name for node in layout.namenodes]

    @property
    def http(self) -> str:
        """The web address of the namenode, `http://host:port` (`https://` if it has no other);
        of the active one of several, and with several nameservices the first one's."""
        layout = self._cluster.layout
        namenodes = {node.name: node for node in layout.namenodes}
        first = layout.nameservices[0].name if layout.nameservices else None
        return layout.web_url(namenodes[self.active(nameservice=first)])

    @property
    def dir(self) -> Path:
        """The directory with all that the cluster has on disk."""
        return self._cluster.layout.dir

    @property
    def conf(self) -> Configuration:
        """The configuration for clients."""
        return self._cluster.layout.client_conf()

    @property
    def conf_dir(self) -> Path:
        """The same as files: a HADOOP_CONF_DIR, or an entry of a Java class path."""
        return self._cluster.layout.conf_dir

    @property
    def names(self) -> list[str]:
        """The names of all servers, running or not."""
        return self._cluster.layout.names

    @property
    def processes(self) -> list[Server]:
        """All servers, with process id (None where it doesn't run) and addresses."""
        with self._lock:
            return [self._cluster.server(name) for name in self.names]

    def process(self, name: str) -> Server:
        """One server."""
        with self._lock:
            return self._cluster.server(name)

    def log(self, name: str) -> str:
        """All that a server has logged, over all its restarts."""
        self._check(name)
        path = self._cluster.layout.log_path(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def data_dirs(self, name: str) -> list[Path]:
        """The storage directories of a server: volumes, or where images are."""
        self._check(name)
        conf = self._cluster.layout.server_conf(name)
        match role_of(name):
            case "namenode":
                return conf.get(keys.DFS_NAMENODE_NAME_DIR)
            case "journalnode":
                return [Path(conf.raw("dfs.journalnode.edits.dir") or "")]
            case "zkfc" | "zookeeper" | "kdc":
                return []
        return [path for _, path in conf.get(keys.DFS_DATANODE_DATA_DIR)]

    @property
    def faults(self) -> Faults:
        """What makes datanodes fail, for a cluster that was made with `faults=True`."""
        return Faults(fault_directory(self.dir), self._cluster.signal)

    def storage_faults(self, name: str) -> StorageFaults:
        """What makes changes of a server's metadata fail, as `faults` does with data."""
        self._check(name)
        return StorageFaults(fault_directory(self.dir), name)

    def connect(
        self,
        user: str | None = None,
        *,
        nameservice: str | None = None,
        real_user: str | None = None,
    ) -> HdfsFileSystem:
        """A client of the cluster, by default as the user who runs this, and of the first
        nameservice. `real_user` acts for `user`. On a secured cluster they prove themselves by
        their keytabs; raises InvalidConfiguration for one who has none."""
        from howdah.fs.hdfs.filesystem import HdfsFileSystem
        from howdah.fs.registry import connect

        uri = self.uri if nameservice is None else self.uri_of(nameservice)
        realm = self._cluster.layout.realm
        if realm is None:
            fs = connect(uri, conf=self.conf, user=user, real_user=real_user)
        else:
            acts_for = user if real_user is not None else None
            whose = self._cluster.user(real_user or user or realm.superuser, acts_for=acts_for)
            fs = connect(uri, conf=self.conf, user=whose)
        assert isinstance(fs, HdfsFileSystem), f"{uri} is HDFS"
        return fs

    # -- who its users are, where it is secured ------------------------------------------

    @property
    def _realm(self) -> kdc.Realm:
        realm = self._cluster.layout.realm
        if realm is None:
            raise InvalidConfiguration("this cluster has no Kerberos: MiniCluster(secure=True)")
        return realm

    def keytab_of(self, user: str) -> Path:
        """The file with the key of a user of a secured cluster. Raises InvalidConfiguration."""
        self._cluster.layout.check_user(user)
        return kdc.user_keytab(self._cluster.layout.kerberos_dir, user)

    def principal_of(self, user: str) -> str:
        """His full name, such as alice@HOWDAH.TEST. Raises InvalidConfiguration."""
        self._cluster.layout.check_user(user)
        return self._realm.principal(user)

    def environment(self, user: str | None = None) -> dict[str, str]:
        """What a program needs beside the environment of this process to be a client of a secured
        cluster, as a user who has a fresh ticket: howdah, Java, Spark, curl. Without a user it
        finds the realm, and has no ticket. Raises InvalidConfiguration.

        >>> subprocess.run(["hdfs", "dfs", "-ls"], env=os.environ | cluster.environment("alice"))
        """
        realm, layout = self._realm, self._cluster.layout
        if user is not None:
            self._cluster.layout.check_user(user)
            realm.log_in(layout.kerberos_dir, user)
        return layout.user_environment(user)

    def add_user(self, user: str) -> None:
        """Give the realm of a secured cluster another user, with a keytab and a home directory.
        Raises InvalidConfiguration."""
        with self._lock:
            self._cluster.layout = self._cluster.layout.with_users([user])
            self._cluster.layout.save()
            self._cluster.make_homes([user])

    def ha_states(self) -> dict[str, str]:
        """What each of several namenodes says that it is: `{"namenode0": "active", …}`.

        `standby`, `observer`, `initializing`; `down` where it doesn't say. {} of one namenode.
        """
        with self._lock:
            if not self._cluster.layout.has_roles:
                return {}
            return self._cluster.ha_states()

    def _ha_state(self, name: str) -> str:
        with self._lock:
            return self._cluster.ha_state(name)

    def active(
        self,
        *,
        but: str | None = None,
        nameservice: str | None = None,
        timeout_s: float | None = None,
    ) -> str:
        """The name of the active namenode, waited for; another one than `but`. With several
        nameservices the active one of `nameservice`.

        >>> old = cluster.active()
        >>> cluster.kill(old)
        >>> cluster.active(but=old)
        'namenode1'
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + limit_s
        layout = self._cluster.layout
        if nameservice is None and len(layout.nameservices) > 1:
            raise InvalidConfiguration("of several nameservices, each has an active namenode")
        names = [node.name for node in layout.namenodes]
        if nameservice is not None:
            names = self.namenodes_of(nameservice)
        if not layout.has_roles:
            return names[0]
        while True:
            states = {}
            for name in names:
                if name != but:
                    states[name] = self._ha_state(name)
                    if states[name] == ACTIVE:
                        return name
            if time.monotonic() > deadline:
                raise ServerFailed(f"no namenode became active within {limit_s:g} s: {states}")
            time.sleep(POLL_S * 5)

    # -- what can be done to it ------------------------------------------------------------

    def wait_ready(self, timeout_s: float | None = None) -> None:
        """Return when every server that was started can serve, and files can be written."""
        with self._lock:
            names = [name for name in self.names if name in self._cluster.pids]
            self._cluster.wait_ready(names, self._timeout_s if timeout_s is None else timeout_s)

    def kill(self, *names: str) -> None:
        """`kill -9` servers, all at once, with all that they started; they are gone on return."""
        for name in names:
            self._check(name)
        with self._lock:
            self._cluster.kill(names)
            for name in names:
                self._cluster.pids.pop(name, None)

    def stop(self, name: str) -> None:
        """Stop a server in an orderly way; it is gone on return."""
        self._check(name)
        with self._lock:
            self._cluster.stop([name])

    def start(self, name: str) -> None:
        """Start a server that doesn't run, and don't wait for it."""
        self._check(name)
        with self._lock:
            self._cluster.start([name])

    def restart(self, name: str | None = None) -> None:
        """Stop a server (or all), where it runs, start it, and wait until it can serve."""
        if name is not None:
            self._check(name)
        with self._lock:
            names = self.names if name is None else [name]
            self._cluster.stop(names)
            self._cluster.start_all(names, self._timeout_s)
            self._cluster.wait_ready(names, self._timeout_s)

    def configure(self, conf: Mapping[str, str | int | float | bool]) -> None:
        """Change values for clients and for servers that are started from now on."""
        with self._lock:
            values = {name: _text(value) for name, value in conf.items()}
            self._cluster.layout = self._cluster.layout.with_values(values)
            self._cluster.layout.save()

    def pause(self, name: str) -> None:
        """Freeze a server (SIGSTOP): it keeps its connections and says nothing."""
        self._check(name)
        with self._lock:
            self._cluster.pause(name)

    def resume(self, name: str) -> None:
        """Let a paused server go on."""
        self._check(name)
        with self._lock:
            self._cluster.signal(name, signal.SIGCONT)

    def close(self) -> None:
        """Stop everything, and remove the directory if it was a temporary one."""
        with self._lock:
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<MiniCluster {self.uri} in {self.dir}>"

    def _check(self, name: str) -> None:
        if name not in self.names:
            raise InvalidConfiguration(f"there is no server {name!r}, only {', '.join(self.names)}")


def _close(cluster: LocalCluster, own_dir: Path | None, owner: int) -> None:
    if os.getpid() != owner:
        return
    # Where the launcher has ended before us, it has taken the servers along.
    with contextlib.suppress(ServerFailed):
        cluster.stop(list(cluster.pids), CLOSE_TIMEOUT_S)
    if cluster.layout.realm is not None:
        kdc.leave(cluster.layout.kerberos_dir)
    if own_dir is not None:
        shutil.rmtree(own_dir, ignore_errors=True)


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
