"""Gathers what is judged: configuration, this machine, other servers (shell).

Nothing is changed. Each host is looked up and each namenode asked in a thread of its own, so an
installation with several that are silent takes as long as with one.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri, is_journal_uri
from howdah.config.nameservices import (
    namenode_ids,
    nameservices,
    rpc_addresses,
    specialise,
    value_of,
)
from howdah.config.value_types import Address, Key, parse_dir
from howdah.datanode.settings import reserves
from howdah.doctor import clock, disks, key_servers, ports
from howdah.doctor.build import build_here
from howdah.doctor.certificates import certificate_of
from howdah.doctor.inputs import (
    CONTROLLER,
    DATANODE,
    GATEWAY,
    JOURNALNODE,
    NAMENODE,
    ROUTER,
    Directory,
    EncryptedZone,
    ErasureCoding,
    Facts,
    Host,
    JournalNode,
    Kerberos,
    Limits,
    Listener,
    Namenode,
)
from howdah.errors import AuthorizationFailed, HowdahError, InvalidConfiguration, ServiceFailed
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.registry import connect
from howdah.proto import qjournal_pb2
from howdah.rpc.client import RpcClient
from howdah.runtime.bind_warning import is_loopback
from howdah.runtime.local_addresses import is_this_host
from howdah.runtime.process_identity import descriptors_after_raise
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place, is_http_served, is_https_served, namenode_places
from howdah.runtime.users.service_policy import FILE as POLICY_FILE
from howdah.runtime.users.service_policy import ServicePolicy
from howdah.security.openid.documents import ProviderUnreachable
from howdah.security.openid.provider import provider_of
from howdah.security.openid.settings import openid_settings
from howdah.security.password_file import read_passwords
from howdah.security.server_checks import uses_openid

T = TypeVar("T")
R = TypeVar("R")

TIMEOUT_S: Final = 5.0
QJOURNAL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_THREADS: Final = 16
_MOST_DATANODES: Final = 8
"""So many are asked how data connections begin."""
_NAME_DIRECTORIES: Final = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
_BLOCK_GROUPS: Final = "/jmx?qry=Hadoop:service=NameNode,name=ECBlockGroupsState"
_MOST_BEAN_BYTES: Final = 16 << 20
_WILDCARDS: Final = ("0.0.0.0", "::", "")
_IMPATIENT: Final = {
    "ipc.client.connect.timeout": "3000",
    "ipc.client.connect.max.retries": "0",
    "ipc.client.connect.max.retries.on.timeouts": "0",
    "ipc.client.rpc-timeout.ms": str(int(TIMEOUT_S * 1000)),
    "dfs.client.retry.policy.enabled": "false",
}


def gather(conf: Configuration, roles: Iterable[str] | None = None, *, asks: bool = True) -> Facts:
    """Gather all facts of an installation. `roles` are the servers that this machine is to run, by
    default those that the configuration says; without `asks` no other server is spoken to."""
    problems: list[str] = []
    conf = _readable(_with_policy(conf, problems), problems)
    gateway = _gateway(conf, problems)
    secured = conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple"
    user, why_nobody = _login(conf) if secured else (None, "")
    places = _Places.of(conf, gateway, problems, user)
    hosts = _map_concurrently(_host, dict.fromkeys(places.hosts()))
    here = {host.name for host in hosts if host.is_here}
    if roles is not None:
        mine = frozenset(roles)
    else:
        # A secured cluster is another one's: servers here have no Kerberos.
        mine = frozenset() if secured else places.roles(here)
    own = places.namenodes_at(here) if NAMENODE in mine else []
    # Who cannot say who it is does not ask by a mere name.
    calls = asks and not why_nobody
    namenodes = places.query_all() if calls else ()
    journals = places.query_journals() if calls else ()
    if ROUTER in mine:
        problems += _without_store(conf)
    return Facts(
        conf=conf,
        roles=mine,
        build=build_here(),
        unreadable=tuple(dict.fromkeys(problems)),
        missing_files=tuple(_missing_files(conf)),
        nameservices=places.ids,
        hosts=tuple(hosts),
        listeners=tuple(_map_concurrently(_looked_at, _listeners(conf, gateway, mine, own))),
        namenodes=tuple(namenode for namenode, _ in namenodes),
        racks=next((racks for _, racks in namenodes if racks is not None), None),
        coding=places.coding,
        encryption=key_servers.look(conf, user, places.provider, places.zones, asks=calls),
        shared_edits=places.shared_edits,
        journal_nodes={name: len(nodes) for name, nodes in places.journals.items()},
        journals=tuple(journals),
        directories=tuple(_directories(conf, mine, own, _used_ones(places, own) if asks else {})),
        limits=_limits(),
        certificate=certificate_of(conf) if mine and is_https_served(conf) else None,
        logins_problem=_logins_problem(conf) if mine else "",
        provider_problem=_provider_problem(conf) if mine and asks else "",
        clock_is_kept=clock.is_kept(),
        kerberos=_kerberos(conf, user, why_nobody, places, asks=asks) if secured else None,
    )


def _logins_problem(conf: Configuration) -> str:
    """What keeps servers from knowing who may log in."""
    if uses_openid(conf):
        try:
            openid_settings(conf)
        except InvalidConfiguration as error:
            return error.message
        return ""
    if conf.get(keys.HOWDAH_HTTP_AUTHENTICATION) != "file":
        return ""
    key = keys.HOWDAH_HTTP_AUTHENTICATION_FILE
    path = conf.get(key)
    if not path:
        return f"{key.name} is not set"
    try:
        read_passwords(Path(path).expanduser())
    except InvalidConfiguration as error:
        return error.message
    return ""


def _provider_problem(conf: Configuration) -> str:
    """What keeps the provider from answering by which users log in."""
    if not uses_openid(conf):
        return ""
    try:
        provider_of(openid_settings(conf)).check()
    except InvalidConfiguration:
        return ""  # That is the problem of logins.
    except ProviderUnreachable as error:
        return str(error)
    return ""


def _login(conf: Configuration) -> tuple[str | None, str]:
    """Who this process is on a secured cluster; or None, and why."""
    from howdah.security.identity import user_of

    try:
        return user_of(conf), ""
    except HowdahError as error:
        return None, str(error)


def _kerberos(
    conf: Configuration, user: str | None, problem: str, places: _Places, *, asks: bool
) -> Kerberos | None:
    from howdah.doctor import kerberos

    try:
        return kerberos.look(
            conf,
            user,
            problem,
            places.rpc_addresses(),
            places.datanodes[:_MOST_DATANODES],
            timeout_s=TIMEOUT_S,
            asks=asks,
            encrypts_data=places.encrypts_data,
        )
    except InvalidConfiguration as error:
        return Kerberos(problem=str(error))


def _map_concurrently(ask: Callable[[T], R], many: Iterable[T]) -> list[R]:
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="doctor") as pool:
        return list(pool.map(ask, many))


# -- the configuration ------------------------------------------------------------------


def _readable(conf: Configuration, problems: list[str]) -> Configuration:
    """The configuration with its defaults where a value has no sense, which is a problem."""
    defaults = {}
    for name, _ in conf.items():
        key = keys.KNOWN.get(name)
        try:
            if key is not None:
                conf.get(key)
        except InvalidConfiguration as error:
            problems.append(str(error))
            assert key is not None
            defaults[name] = key.default or ""
    return conf.with_values(defaults, source="default") if defaults else conf


def _gateway(conf: Configuration, problems: list[str]) -> Configuration:
    """What a gateway would have, which reads a site file of its own."""
    try:
        return _readable(conf.with_own_site_file("httpfs-site.xml"), problems)
    except InvalidConfiguration as error:
        problems.append(str(error))
        return conf


def _with_policy(conf: Configuration, problems: list[str]) -> Configuration:
    """With who may speak which protocol, which servers read from a file of its own."""
    try:
        conf = conf.with_own_site_file(POLICY_FILE)
        if conf.get(keys.HADOOP_SECURITY_AUTHORIZATION):
            ServicePolicy.parse(conf.raw)
    except InvalidConfiguration as error:
        problems.append(str(error))
    return conf


def _without_store(conf: Configuration) -> Iterator[str]:
    if _keeps_files(conf) and not conf.get(keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_FILE_DIRECTORY):
        key = keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_FILE_DIRECTORY
        yield f"{key.name} is not set: a router needs a directory for its mount table"


def _keeps_files(conf: Configuration) -> bool:
    driver = conf.get(keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_CLASS)
    return driver.rpartition(".")[2] == "StateStoreFileImpl"


class _Places:
    """Says where the servers are, by the configuration."""

    def __init__(
        self, conf: Configuration, gateway: Configuration, user: str | None = None
    ) -> None:
        """Servers are asked as `user`, by default as whoever runs this."""
        self._user = user
        self.datanodes: list[tuple[str, Address]] = []
        """Where those that live take data connections, as a namenode said when it was asked."""
        self.coding: ErasureCoding | None = None
        """What an active namenode said of it."""
        self.encrypts_data = False
        """Whether it said that all data is encrypted."""
        self.provider: str | None = None
        """Where it said that key servers are; None if none was asked."""
        self.zones: list[EncryptedZone] = []
        """The encryption zones, as it says to superusers."""
        self._conf = conf
        self._gateway = gateway
        self.ids: dict[str, tuple[str, ...]] = {}
        self._rpc: dict[tuple[str, str], Address] = {}
        self._http: dict[tuple[str, str], Place] = {}
        self.shared_edits: dict[str, tuple[str, ...]] = {}
        self.journals: dict[str, tuple[Address, ...]] = {}
        self._journal_ids: dict[str, str] = {}

    @classmethod
    def of(
        cls,
        conf: Configuration,
        gateway: Configuration,
        problems: list[str],
        user: str | None = None,
    ) -> _Places:
        places = cls(conf, gateway, user)
        for name in nameservices(conf) or ("",):
            try:
                places._add(name)
            except HowdahError as error:
                problems.append(str(error))
        return places

    def _add(self, name: str) -> None:
        conf = self._conf
        ids = namenode_ids(conf, name) or ("",)
        self.ids[name] = ids
        for namenode, address in rpc_addresses(conf, name).items():
            self._rpc[name, namenode] = address
        for namenode, place in namenode_places(conf, name).items():
            self._http[name, namenode] = place
        if len(ids) < 2:
            return
        key = keys.DFS_NAMENODE_SHARED_EDITS_DIR
        shared: dict[str, None] = {}
        for namenode in ids:
            own: list[str] | None = value_of(conf, key, name, namenode)
            shared.update(dict.fromkeys(own or conf.get(key)))
        self.shared_edits[name] = tuple(shared)
        nodes: dict[Address, None] = {}
        for uri in filter(is_journal_uri, shared):
            journal = JournalUri.parse(uri)
            nodes.update(dict.fromkeys(journal.nodes))
            self._journal_ids[name] = journal.journal_id
        if nodes:
            self.journals[name] = tuple(nodes)

    def hosts(self) -> Iterator[str]:
        """The hosts of namenodes and journal nodes, some of them twice, and those at which this
        configuration has a router and a gateway listen."""
        for host, _ in self._rpc.values():
            if host not in _WILDCARDS:
                yield host
        for nodes in self.journals.values():
            yield from (host for host, _ in nodes)
        for host in self._own.values():
            if host not in _WILDCARDS:
                yield host

    @property
    def _own(self) -> dict[str, str]:
        """Return the hosts of a router and a gateway, where they are set: nobody but a machine that
        runs one has a use for that."""
        hosts = {}
        if self._conf.is_set(keys.DFS_FEDERATION_ROUTER_RPC_ADDRESS):
            hosts[ROUTER], _ = self._conf.get(keys.DFS_FEDERATION_ROUTER_RPC_ADDRESS)
        gateway = self._gateway
        if gateway.is_set(keys.HTTPFS_HTTP_PORT) or gateway.is_set(keys.HTTPFS_HTTP_HOSTNAME):
            hosts[GATEWAY] = gateway.get(keys.HTTPFS_HTTP_HOSTNAME)
        return hosts

    def roles(self, here: set[str]) -> frozenset[str]:
        """Return what this machine runs: a datanode where directories are named for one, the others
        by their addresses."""
        roles = set()
        if self.namenodes_at(here):
            roles.add(NAMENODE)
        if any(host in here for nodes in self.journals.values() for host, _ in nodes):
            roles.add(JOURNALNODE)
        if self._conf.is_set(keys.DFS_DATANODE_DATA_DIR):
            roles.add(DATANODE)
        roles |= {role for role, host in self._own.items() if host in here or host in _WILDCARDS}
        return frozenset(roles)

    def namenodes_at(self, here: set[str]) -> list[tuple[str, str]]:
        """The namenodes of this machine; all but the one that the configuration names, if it
        names one, are others."""
        wanted = self._conf.get(keys.DFS_HA_NAMENODE_ID)
        return [
            (name, namenode)
            for (name, namenode), (host, _) in self._rpc.items()
            if (host in here or host in _WILDCARDS) and wanted in (None, "", namenode)
        ]

    def name_directories(self, whose: tuple[str, str]) -> tuple[Path, ...]:
        """What a namenode says of its directories on its web port; nothing if it does not."""
        try:
            bean = self._bean(whose, _NAME_DIRECTORIES)
            return () if bean is None else tuple(map(Path, _active_of(bean)))
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return ()  # then the configuration's are looked at

    def erasure_coding(self, whose: tuple[str, str]) -> ErasureCoding | None:
        """What a namenode says of erasure coding on its web port; None if it does not."""
        try:
            bean = self._bean(whose, _BLOCK_GROUPS)
            if bean is None:
                return None
            enabled = [name.strip() for name in bean["EnabledEcPolicies"].split(",")]
            return ErasureCoding(tuple(filter(None, enabled)), int(bean["TotalECBlockGroups"]))
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return None  # One of before erasure coding has no such bean.

    def _bean(self, whose: tuple[str, str], query: str) -> dict[str, Any] | None:
        place = self._http.get(whose)
        if place is None:
            return None
        connection = ClientTls(self._conf).http(place, TIMEOUT_S)
        try:
            connection.request("GET", query)
            bean: dict[str, Any]
            [bean] = json.loads(connection.getresponse().read(_MOST_BEAN_BYTES))["beans"]
            return bean
        finally:
            connection.close()

    def rpc_addresses(self) -> list[tuple[str, Address]]:
        """The namenodes, by their names or addresses."""
        return [
            (".".join(filter(None, whose)) or f"{at[0]}:{at[1]}", at)
            for whose, at in self._rpc.items()
        ]

    def query_all(self) -> list[tuple[Namenode, tuple[str, ...] | None]]:
        """What each namenode says of itself, and the active ones of the racks of datanodes."""
        return _map_concurrently(self._query, self._rpc)

    def _query(self, whose: tuple[str, str]) -> tuple[Namenode, tuple[str, ...] | None]:
        name, _ = whose
        host, port = self._rpc[whose]
        host = "127.0.0.1" if host in _WILDCARDS else host
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        shown = ".".join(part for part in whose if part) or address
        racks: tuple[str, ...] | None = None
        try:
            conf = Configuration(_IMPATIENT)
            with connect(f"hdfs://{address}", conf=conf, user=self._user) as fs:
                assert isinstance(fs, HdfsFileSystem)
                state = _state_of(fs)
                if state == "ACTIVE":
                    self.coding = self.coding or self.erasure_coding(whose)
                    datanodes = fs.administration.datanodes("LIVE")
                    racks = tuple(datanode.location for datanode in datanodes)
                    defaults = fs.client.namenode.get_server_defaults()
                    if self._user is not None:
                        self.encrypts_data = defaults.encryptDataTransfer
                    self.provider = self.provider or defaults.keyProviderUri
                    self.zones += key_servers.zones_of(fs)
                    self.datanodes = [
                        (node.id.hostName, (node.id.ipAddr, node.id.xferPort)) for node in datanodes
                    ]
        except (HowdahError, OSError) as error:
            return Namenode(shown, name, address, None, str(error)), None
        ahead = (
            clock.seconds_ahead(self._http[whose], TIMEOUT_S, ClientTls(self._conf))
            if whose in self._http
            else None
        )
        ahead_s, doubt_s = ahead or (None, 0.0)
        return Namenode(shown, name, address, state, "", ahead_s, doubt_s), racks

    def query_journals(self) -> list[JournalNode]:
        """What each journal node says of the journal of each nameservice."""
        answers = _map_concurrently(
            self._query_journal,
            [(name, address) for name, nodes in self.journals.items() for address in nodes],
        )
        return [answer for answer in answers if answer is not None]

    def _query_journal(self, whose: tuple[str, Address]) -> JournalNode | None:
        """None where the journal node tells namenodes alone, as on secured clusters."""
        name, (host, port) = whose
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        request = qjournal_pb2.IsFormattedRequestProto(
            jid=qjournal_pb2.JournalIdProto(identifier=self._journal_ids[name]),
            nameServiceId=name or None,
        )
        try:
            with contextlib.closing(
                RpcClient(
                    (host, port),
                    QJOURNAL,
                    user=self._user,
                    connect_timeout_s=TIMEOUT_S,
                    call_timeout_s=TIMEOUT_S,
                )
            ) as client:
                answer = client.call("isFormatted", request, qjournal_pb2.IsFormattedResponseProto)
        except AuthorizationFailed:
            return None
        except (HowdahError, OSError) as error:
            return JournalNode(name, address, None, str(error))
        return JournalNode(name, address, answer.isFormatted)


def _active_of(bean: dict[str, Any]) -> list[str]:
    directories: list[str] = list(json.loads(bean["NameDirStatuses"])["active"])
    return directories


def _state_of(fs: HdfsFileSystem) -> str:
    try:
        return fs.administration.ha_state()
    except ServiceFailed:
        return "ACTIVE"  # One of Hadoop's that is the only one has no role.


def _missing_files(conf: Configuration) -> Iterator[tuple[str, str]]:
    for key in (
        keys.DFS_HOSTS,
        keys.DFS_HOSTS_EXCLUDE,
        keys.NET_TOPOLOGY_TABLE_FILE_NAME,
        keys.NET_TOPOLOGY_SCRIPT_FILE_NAME,
    ):
        path = conf.get(key)
        if not path:
            continue
        if not os.path.exists(path):
            yield key.name, f"{path}, which is not there"
        elif key is keys.NET_TOPOLOGY_SCRIPT_FILE_NAME and not os.access(path, os.X_OK):
            yield key.name, f"{path}, which cannot be executed"


# -- hosts and ports ----------------------------------------------------------------------


def _host(name: str) -> Host:
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return Host(name, (), False, False)
    addresses = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
    return Host(name, addresses, is_this_host(name), all(map(is_loopback, addresses)))


def _listeners(
    conf: Configuration,
    gateway: Configuration,
    roles: frozenset[str],
    own: list[tuple[str, str]],
) -> Iterator[Listener]:
    yield from _namenode_listeners(conf, own)
    if JOURNALNODE in roles:
        yield from _journalnode_listeners(conf)
    if DATANODE in roles:
        yield from _datanode_listeners(conf)
    if ROUTER in roles:
        yield from _router_listeners(conf)
    if GATEWAY in roles:
        port_key = keys.HTTPFS_HTTP_PORT
        host = gateway.get(keys.HTTPFS_HTTP_HOSTNAME)
        yield Listener(port_key.name, GATEWAY, host, gateway.get(port_key))


def _namenode_listeners(conf: Configuration, own: list[tuple[str, str]]) -> Iterator[Listener]:
    """Yield those of the namenodes and failover controllers of this machine."""
    for name, namenode in own:
        mine = specialise(conf, name or None, namenode or None)
        suffix = "".join(f".{part}" for part in (name, namenode) if part)

        def listener(
            key: Key[Address] | Key[Address | None],
            bind: Key[str | None],
            address: Address | None,
            mine: Configuration = mine,
            suffix: str = suffix,
        ) -> Iterator[Listener]:
            if address is not None:
                host = mine.get(bind) or address[0]
                yield Listener(f"{key.name}{suffix}", NAMENODE, host, address[1])

        rpc = rpc_addresses(conf, name)[namenode]
        yield from listener(keys.DFS_NAMENODE_RPC_ADDRESS, keys.DFS_NAMENODE_RPC_BIND_HOST, rpc)
        yield from listener(
            keys.DFS_NAMENODE_SERVICERPC_ADDRESS,
            keys.DFS_NAMENODE_SERVICERPC_BIND_HOST,
            mine.get(keys.DFS_NAMENODE_SERVICERPC_ADDRESS),
        )
        yield from listener(
            keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS,
            keys.DFS_NAMENODE_LIFELINE_RPC_BIND_HOST,
            mine.get(keys.DFS_NAMENODE_LIFELINE_RPC_ADDRESS),
        )
        if is_http_served(conf):
            yield from listener(
                keys.DFS_NAMENODE_HTTP_ADDRESS,
                keys.DFS_NAMENODE_HTTP_BIND_HOST,
                mine.get(keys.DFS_NAMENODE_HTTP_ADDRESS),
            )
        if is_https_served(conf):
            yield from listener(
                keys.DFS_NAMENODE_HTTPS_ADDRESS,
                keys.DFS_NAMENODE_HTTPS_BIND_HOST,
                mine.get(keys.DFS_NAMENODE_HTTPS_ADDRESS),
            )
        if mine.get(keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED):
            for wanted, key in (
                (is_http_served(conf), keys.HOWDAH_FAILOVER_CONTROLLER_HTTP_ADDRESS),
                (is_https_served(conf), keys.HOWDAH_FAILOVER_CONTROLLER_HTTPS_ADDRESS),
            ):
                at = mine.get(key)
                if wanted and at is not None:
                    yield Listener(f"{key.name}{suffix}", CONTROLLER, *at)


def _journalnode_listeners(conf: Configuration) -> Iterator[Listener]:
    http = (keys.DFS_JOURNALNODE_HTTP_ADDRESS, keys.DFS_JOURNALNODE_HTTP_BIND_HOST)
    https = (keys.DFS_JOURNALNODE_HTTPS_ADDRESS, keys.DFS_JOURNALNODE_HTTPS_BIND_HOST)
    for key, bind in (
        (keys.DFS_JOURNALNODE_RPC_ADDRESS, keys.DFS_JOURNALNODE_RPC_BIND_HOST),
        *((http,) if is_http_served(conf) else ()),
        *((https,) if is_https_served(conf) else ()),
    ):
        host, port = conf.get(key)
        yield Listener(key.name, JOURNALNODE, conf.get(bind) or host, port)


def _datanode_listeners(conf: Configuration) -> Iterator[Listener]:
    for key in (
        keys.DFS_DATANODE_ADDRESS,
        keys.DFS_DATANODE_IPC_ADDRESS,
        *((keys.DFS_DATANODE_HTTP_ADDRESS,) if is_http_served(conf) else ()),
        *((keys.DFS_DATANODE_HTTPS_ADDRESS,) if is_https_served(conf) else ()),
    ):
        yield Listener(key.name, DATANODE, *conf.get(key))


def _router_listeners(conf: Configuration) -> Iterator[Listener]:
    has_http = conf.get(keys.DFS_FEDERATION_ROUTER_HTTP_ENABLE)
    for is_served, its_key, bind in (
        (
            True,
            keys.DFS_FEDERATION_ROUTER_RPC_ADDRESS,
            keys.DFS_FEDERATION_ROUTER_RPC_BIND_HOST,
        ),
        (
            conf.get(keys.DFS_FEDERATION_ROUTER_ADMIN_ENABLE),
            keys.DFS_FEDERATION_ROUTER_ADMIN_ADDRESS,
            keys.DFS_FEDERATION_ROUTER_ADMIN_BIND_HOST,
        ),
        (
            has_http and is_http_served(conf),
            keys.DFS_FEDERATION_ROUTER_HTTP_ADDRESS,
            keys.DFS_FEDERATION_ROUTER_HTTP_BIND_HOST,
        ),
        (
            has_http and is_https_served(conf),
            keys.DFS_FEDERATION_ROUTER_HTTPS_ADDRESS,
            keys.DFS_FEDERATION_ROUTER_HTTPS_BIND_HOST,
        ),
    ):
        host, port = conf.get(its_key)
        if is_served:
            yield Listener(its_key.name, ROUTER, conf.get(bind) or host, port)


def _looked_at(given: Listener) -> Listener:
    holder, refused = ports.try_to_bind(given.host, given.port) if given.port else (None, "")
    addresses: tuple[str, ...] = ()
    if given.host not in _WILDCARDS:
        with contextlib.suppress(OSError, UnicodeError):
            infos = socket.getaddrinfo(given.host, None, type=socket.SOCK_STREAM)
            addresses = tuple(str(info[4][0]) for info in infos)
    return Listener(
        given.key,
        given.role,
        given.host,
        given.port,
        holder,
        is_loopback=bool(addresses) and all(map(is_loopback, addresses)),
        refused=refused,
        is_ephemeral=ports.is_ephemeral(given.port),
    )


# -- this machine -------------------------------------------------------------------------


def _used_ones(
    places: _Places, own: list[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Path, ...]]:
    """Return the directories that each namenode of this machine says it uses. One that runs may
    have them from files of its own, which are not those that were read here."""
    used = zip(own, _map_concurrently(places.name_directories, own), strict=True)
    return {whose: directories for whose, directories in used if directories}


def _directories(
    conf: Configuration,
    roles: frozenset[str],
    own: list[tuple[str, str]],
    used: dict[tuple[str, str], tuple[Path, ...]],
) -> Iterator[Directory]:
    for name, namenode in own:
        mine = specialise(conf, name or None, namenode or None)
        if (name, namenode) in used and not mine.is_set(keys.DFS_NAMENODE_NAME_DIR):
            for path in used[name, namenode]:
                yield disks.inspect_directory(keys.DFS_NAMENODE_NAME_DIR.name, NAMENODE, path)
            continue
        images = mine.get(keys.DFS_NAMENODE_NAME_DIR)
        for path in images:
            yield disks.inspect_directory(keys.DFS_NAMENODE_NAME_DIR.name, NAMENODE, path)
        for path in mine.get(keys.DFS_NAMENODE_EDITS_DIR):
            if path not in images:
                yield disks.inspect_directory(keys.DFS_NAMENODE_EDITS_DIR.name, NAMENODE, path)
    if JOURNALNODE in roles:
        for path in conf.get(keys.DFS_JOURNALNODE_EDITS_DIR):
            yield disks.inspect_directory(keys.DFS_JOURNALNODE_EDITS_DIR.name, JOURNALNODE, path)
    if DATANODE in roles:
        for kind, path in conf.get(keys.DFS_DATANODE_DATA_DIR):
            if kind != "PROVIDED":
                yield _volume(conf, kind, path)
    shared_key = keys.DFS_FEDERATION_ROUTER_STORE_DRIVER_FILE_DIRECTORY
    shared = conf.get(shared_key)
    if ROUTER in roles and shared and _keeps_files(conf):
        yield disks.inspect_directory(shared_key.name, ROUTER, parse_dir(shared))


def _volume(conf: Configuration, kind: str, path: Path) -> Directory:
    reserve = reserves(conf)(kind, path)
    key = keys.DFS_DATANODE_DATA_DIR.name
    total_bytes = disks.inspect_directory(key, DATANODE, path).total_bytes
    return disks.inspect_directory(key, DATANODE, path, kind=kind, reserved=reserve.of(total_bytes))


def _limits() -> Limits:
    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Limits(descriptors_after_raise(), None if locked == resource.RLIM_INFINITY else locked)
