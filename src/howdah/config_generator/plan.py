"""What the configuration files of a cluster say (pure).

1. One machine, or two: a single namenode on the first, with as many directories as were named.
2. Three machines or more, unless it is not wished: two or three namenodes on the first ones, with
   journal nodes on the first three (five from five machines on, if asked for), failover
   controllers that elect on the journal nodes (or in a ZooKeeper), and the clients' side of it.
3. Every machine has a datanode, and all have the same files: a server finds out by its address
   which one it is.
4. With `https` pages, WebHDFS, images and segments go over TLS alone. Certificates are of the
   users' own authority, or come from elsewhere with the files that describe them (`self_signed`).
5. With a `realm` servers and clients prove themselves by Kerberos (`kerberos`), and web ports speak
   TLS alone.
6. A single namenode may have a `secondary`; the `gateways` of a secured cluster have a file of
   their own.
7. Values that are given win over those that follow from the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah.config.site_files import site_file
from howdah.config_generator import kerberos
from howdah.errors import InvalidConfiguration

DEFAULT_BASE: Final = "/var/lib/howdah"
DEFAULT_CONF: Final = "/etc/howdah"
NAMESERVICE: Final = "howdah"
MOST_NAMENODES: Final = 3
JOURNAL_NODES: Final = 3
ENOUGH_FOR_TAKEOVERS: Final = 3
"""Machines; with fewer no majority of journal nodes is left when one is lost."""
RACK_TABLE: Final = "topology.table"
RACK_SCRIPT: Final = "topology.sh"
HOSTS_FILE: Final = "hosts.include"
EXCLUDE_FILE: Final = "hosts.exclude"
CORE: Final = "core-site.xml"
HDFS: Final = "hdfs-site.xml"
HTTPFS: Final = "httpfs-site.xml"
SSL_SERVER: Final = "ssl-server.xml"
SSL_CLIENT: Final = "ssl-client.xml"
TLS_DIR: Final = "tls"
"""In the directory of the configuration: keys and certificates."""
SELF_SIGNED_WARNING: Final = (
    "the certificates are of an authority that was made for this and nobody knows: good for a try. "
    "All machines share one key, in tls/keystore.p12, and whoever gets it with ssl-server.xml can "
    "pass for any of them. For more than a try: --https, and certificates of your own authority"
)

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?")
_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]")
_RACK: Final = re.compile(r"(/[A-Za-z0-9._-]+)+")
_PROVIDER: Final = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_CORE_KEYS: Final = ("fs.", "hadoop.", "io.", "ipc.", "net.", "ha.")
"""What keys begin with that belong to core-site.xml."""
_SCRIPT: Final = """\
#!/bin/sh
# Prints the rack of each address or name that is given, as {table} beside it says.
table=$(dirname "$0")/{table}
for node in "$@"; do
    awk -v node="$node" '$1 == node {{ rack = $2 }}
        END {{ print rack ? rack : "/default-rack" }}' "$table"
done
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wished. Paths are those on the machines of the cluster."""

    machines: tuple[str, ...]
    name: str = NAMESERVICE
    highly_available: bool | None = None
    """None: from three machines on."""
    namenodes: int | None = None
    journal_nodes: int = JOURNAL_NODES
    name_dirs: tuple[str, ...] = ()
    data_dirs: tuple[str, ...] = ()
    base: str = DEFAULT_BASE
    conf_dir: str = DEFAULT_CONF
    replication: int | None = None
    racks: Mapping[str, str] = field(default_factory=dict)
    rack_script: bool = False
    hosts_files: bool = False
    zookeeper: str | None = None
    https: bool = False
    """Web ports speak TLS, and nothing else."""
    self_signed: bool = False
    """Whoever writes the files makes the certificates, and the two files that describe them."""
    realm: str | None = None
    """Where servers and users have principals; None without Kerberos."""
    routers: tuple[str, ...] = ()
    """Machines of routers that are to be let in by secured namenodes."""
    gateways: tuple[str, ...] = ()
    """Machines of HttpFS gateways before a secured cluster."""
    users_group: str = kerberos.USERS
    """For whose members routers and gateways act at secured namenodes."""
    secondary: str | None = None
    """The machine of a secondary namenode."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Further values of configuration keys, which win."""

    def __post_init__(self) -> None:
        for is_wrong, message in self._contradictions():
            if is_wrong:
                raise InvalidConfiguration(message)

    def _contradictions(self) -> Iterator[tuple[bool, str]]:
        yield not self.machines, "name at least one machine"
        yield len(set(self.machines)) < len(self.machines), "a machine is named twice"
        yield (
            bool(self.routers) and self.realm is None,
            "routers are named where Kerberos is: without it they need no principals",
        )
        yield (
            bool(self.gateways) and self.realm is None,
            "gateways are named where Kerberos is: without it they need no principals",
        )
        yield (
            self.secondary is not None and self.has_takeovers,
            "a secondary namenode is for a single namenode: standbys merge the log themselves",
        )
        yield (
            not kerberos.GROUP.fullmatch(self.users_group),
            f"{self.users_group!r} is no name of a group",
        )
        yield (
            self.users_group == kerberos.SUPERGROUP,
            f"routers and gateways do not act for {kerberos.SUPERGROUP}: whoever has their keytab "
            "would be the superuser",
        )
        for host in self.hosts:
            yield not _HOST.fullmatch(host), f"{host!r} is no host name or address"
        yield (
            not _NAME.fullmatch(self.name),
            f"{self.name!r}: the name of a nameservice has letters, digits and -",
        )
        count = len(self.machines)
        yield (
            self.highly_available is True and count < ENOUGH_FOR_TAKEOVERS,
            f"high availability takes {ENOUGH_FOR_TAKEOVERS} machines or more, for as many "
            f"journal nodes; {count} were named",
        )
        yield (
            self.namenodes is not None and self.has_takeovers and not 2 <= self.namenodes <= count,
            f"{self.namenodes} namenodes: 2 to {count} go on {count} machines",
        )
        yield (
            self.namenodes is not None and not self.has_takeovers and self.namenodes != 1,
            f"{self.namenodes} namenodes take high availability, and so three machines",
        )
        yield (
            self.has_takeovers and (self.journal_nodes % 2 == 0 or self.journal_nodes > count),
            f"{self.journal_nodes} journal nodes: an odd number, and no more than machines",
        )
        yield (
            self.has_takeovers and self.journal_nodes < JOURNAL_NODES,
            f"{self.journal_nodes} journal nodes: {JOURNAL_NODES} bear the loss of one",
        )
        yield (
            self.zookeeper is not None and not self.has_takeovers,
            "a single namenode holds no election: no ZooKeeper is wanted",
        )
        yield (
            self.replication is not None and not 1 <= self.replication <= max(count, 1),
            f"{self.replication} replicas: {count} machines can hold 1 to {count}",
        )
        for host, rack in self.racks.items():
            yield host not in self.machines, f"{host} has a rack and is none of the machines"
            yield not _RACK.fullmatch(rack), f"{rack!r} is no rack: /name, or /hall/name"
        if self.racks:
            without = [host for host in self.machines if host not in self.racks]
            yield bool(without), f"no rack is named for {', '.join(without)}"
        yield self.rack_script and not self.racks, "a rack script wants racks"
        yield self.self_signed and not self.https, "certificates are for TLS"
        if self.realm is not None:
            yield not kerberos.REALM.fullmatch(self.realm), f"{self.realm!r} is no realm"
            yield not self.https, "Kerberos takes TLS: cookies and tokens go over web ports"
            for host in self.hosts:
                yield (
                    kerberos.is_address(host),
                    f"{host} is an address, and Kerberos has principals of names: name the machine "
                    "by what hostname -f says on it",
                )
        for path in (*self.name_dirs, *self.data_dirs, self.base, self.conf_dir):
            bare = re.sub(r"^\[\w+\]|^file://", "", path)
            yield not bare.startswith("/"), f"{path!r} is no absolute path"

    @property
    def hosts(self) -> tuple[str, ...]:
        """All machines with a server, each once."""
        secondary = () if self.secondary is None else (self.secondary,)
        return tuple(dict.fromkeys((*self.machines, *secondary, *self.routers, *self.gateways)))

    @property
    def has_takeovers(self) -> bool:
        """Whether there are several namenodes."""
        if self.highly_available is None:
            return len(self.machines) >= ENOUGH_FOR_TAKEOVERS
        return self.highly_available

    @property
    def namenode_hosts(self) -> tuple[str, ...]:
        """The machines with a namenode."""
        if not self.has_takeovers:
            return self.machines[:1]
        return self.machines[: self.namenodes or min(MOST_NAMENODES, len(self.machines))]

    @property
    def journal_hosts(self) -> tuple[str, ...]:
        """The machines with a journal node."""
        return self.machines[: self.journal_nodes] if self.has_takeovers else ()


def files(wish: Wish, addresses: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the text of each file by its name. `addresses` are those of the hosts, as far as they
    could be looked up: Hadoop's namenodes ask for the racks of addresses, not of names."""
    values = {**_values(wish), **wish.values}
    core = {name: text for name, text in values.items() if name.startswith(_CORE_KEYS)}
    httpfs = {name: text for name, text in values.items() if name.startswith("httpfs.")}
    hdfs = {name: text for name, text in values.items() if name not in core | httpfs}
    texts = {CORE: site_file(core), HDFS: site_file(hdfs)}
    if httpfs:
        texts[HTTPFS] = site_file(httpfs)
    if wish.racks:
        rows = [
            f"{name} {rack}\n"
            for host, rack in wish.racks.items()
            for name in dict.fromkeys((host, *addresses.get(host, ())))
        ]
        texts[RACK_TABLE] = "".join(rows)
    if wish.rack_script:
        texts[RACK_SCRIPT] = _SCRIPT.format(table=RACK_TABLE)
    if wish.https and not wish.self_signed:
        texts[SSL_SERVER] = site_file(
            {
                "ssl.server.keystore.type": "pem",
                "ssl.server.keystore.location": f"{wish.conf_dir}/{TLS_DIR}/server.pem",
            }
        )
        texts[SSL_CLIENT] = site_file(
            {
                "ssl.client.truststore.type": "pem",
                "ssl.client.truststore.location": f"{wish.conf_dir}/{TLS_DIR}/ca.pem",
            }
        )
    if wish.realm is not None:
        places = kerberos.Places(
            wish.machines,
            wish.namenode_hosts,
            wish.journal_hosts,
            wish.routers,
            wish.gateways,
            wish.secondary,
        )
        texts[kerberos.KADMIN_SCRIPT] = kerberos.kadmin_script(places.keytabs(wish.realm))
    if wish.hosts_files:
        texts[HOSTS_FILE] = "".join(f"{host}\n" for host in wish.machines)
        texts[EXCLUDE_FILE] = ""
    return texts


def next_steps(wish: Wish) -> list[str]:
    """What to do with the files, in order; a line each."""
    first, *others = wish.namenode_hosts
    lines = [
        f"put these files into {wish.conf_dir} on {_listed(wish.hosts)}, and on clients",
        f"on each machine, as the user of the servers: export HADOOP_CONF_DIR={wish.conf_dir}",
        *_certificates(wish),
        *_principals(wish),
        f"on each machine: {'' if wish.realm is None else 'kinit hdfs, and '}howdah doctor",
    ]
    if not wish.has_takeovers:
        lines.append(f"on {first}: howdah namenode -format, once, and then howdah namenode")
    else:
        lines += [
            f"on {_listed(wish.journal_hosts)}: howdah journalnode",
            f"on {first}: howdah namenode -format, once, and then howdah namenode",
            f"on {_listed(others)}: howdah namenode -bootstrapStandby, once, and then "
            "howdah namenode",
        ]
        if wish.zookeeper:
            lines.append(f"on {first}: howdah zkfc -formatZK, once")
        lines.append(f"on {_listed(wish.namenode_hosts)}: howdah zkfc")
    lines.append(f"on {_listed(wish.machines)}: howdah datanode")
    if wish.secondary is not None:
        lines.append(f"on {wish.secondary}: howdah secondarynamenode")
    if wish.gateways:
        lines.append(f"on {_listed(wish.gateways)}: howdah httpfs")
    return lines


def _principals(wish: Wish) -> list[str]:
    if wish.realm is None:
        return []
    acting = [
        user
        for user, hosts in ((kerberos.ROUTER, wish.routers), (kerberos.GATEWAY, wish.gateways))
        if hosts
    ]
    return kerberos.steps(wish.realm, wish.conf_dir, acting=acting, users_group=wish.users_group)


def _certificates(wish: Wish) -> list[str]:
    if not wish.https:
        return []
    tls = f"{wish.conf_dir}/{TLS_DIR}"
    if wish.self_signed:
        return [
            f"put {TLS_DIR} into {wish.conf_dir} on each machine, for the servers' user alone "
            f"(chmod 600 {tls}/keystore.p12 {wish.conf_dir}/{SSL_SERVER}), and install "
            "'howdah[tls]' there",
            f"give clients {TLS_DIR}/truststore.p12 and {SSL_CLIENT}, or {TLS_DIR}/ca.pem (curl "
            "--cacert), and neither the keystore nor "
            f"{SSL_SERVER}",
        ]
    return [
        "on each machine make a key and a request for a certificate: openssl req -newkey ec "
        "-pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=$(hostname -f) -addext "
        "subjectAltName=DNS:$(hostname -f) -keyout server.key -out server.csr; the name has to "
        "be the one that the configuration calls the machine by",
        "have your authority sign server.csr as server.crt; on each machine: cat server.key "
        f"server.crt > {tls}/server.pem && chmod 600 {tls}/server.pem",
        f"put the certificate of the authority into {tls}/ca.pem on all machines and clients",
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def _values(wish: Wish) -> dict[str, str]:
    first = wish.namenode_hosts[0]
    values = {
        "fs.defaultFS": f"hdfs://{wish.name if wish.has_takeovers else f'{first}:8020'}",
        "hadoop.tmp.dir": f"{wish.base}/tmp",
        "fs.trash.interval": "1440",
        "dfs.replication": str(wish.replication or min(3, len(wish.machines))),
        "dfs.namenode.name.dir": ",".join(wish.name_dirs or (f"{wish.base}/name",)),
        "dfs.datanode.data.dir": ",".join(wish.data_dirs or (f"{wish.base}/data",)),
    }
    if wish.racks:
        by = "ScriptBasedMapping" if wish.rack_script else "TableMapping"
        values["net.topology.node.switch.mapping.impl"] = f"org.apache.hadoop.net.{by}"
        if wish.rack_script:
            values["net.topology.script.file.name"] = f"{wish.conf_dir}/{RACK_SCRIPT}"
        else:
            values["net.topology.table.file.name"] = f"{wish.conf_dir}/{RACK_TABLE}"
    if wish.hosts_files:
        values["dfs.hosts"] = f"{wish.conf_dir}/{HOSTS_FILE}"
        values["dfs.hosts.exclude"] = f"{wish.conf_dir}/{EXCLUDE_FILE}"
    if len(wish.data_dirs) > 2:
        values["dfs.datanode.failed.volumes.tolerated"] = "1"
    if len(wish.machines) > 1:
        values["dfs.datanode.address"] = "0.0.0.0:9866"
        values["dfs.datanode.ipc.address"] = "0.0.0.0:9867"
        values["dfs.datanode.http.address"] = "0.0.0.0:9864"
    if wish.https:
        values["dfs.http.policy"] = "HTTPS_ONLY"
        if len(wish.machines) > 1:
            values["dfs.datanode.https.address"] = "0.0.0.0:9865"
    if wish.secondary is not None:
        values["dfs.namenode.secondary.http-address"] = f"{wish.secondary}:9868"
        values["dfs.namenode.checkpoint.dir"] = f"{wish.base}/checkpoint"
        if wish.https:
            values["dfs.namenode.secondary.https-address"] = f"{wish.secondary}:9869"
    if wish.realm is not None:
        keytab = f"{wish.conf_dir}/{kerberos.KEYTAB}"
        values |= kerberos.values(
            wish.realm,
            keytab,
            wish.routers,
            wish.gateways,
            wish.users_group,
            has_journal=wish.has_takeovers,
            has_secondary=wish.secondary is not None,
        )
        if wish.gateways:
            values |= kerberos.gateway_values(wish.realm, wish.conf_dir, wish.gateways)
        if len(wish.machines) == 1:  # which may be called localhost
            values["dfs.datanode.hostname"] = first
    return {**values, **(_several(wish) if wish.has_takeovers else _single(wish, first))}


def _single(wish: Wish, host: str) -> dict[str, str]:
    values = {"dfs.namenode.http-address": f"{host}:9870"}
    if wish.https:
        values["dfs.namenode.https-address"] = f"{host}:9871"
    return values


def _several(wish: Wish) -> dict[str, str]:
    name = wish.name
    ids = {f"nn{number + 1}": host for number, host in enumerate(wish.namenode_hosts)}
    values = {"dfs.nameservices": name, f"dfs.ha.namenodes.{name}": ",".join(ids)}
    for namenode, host in ids.items():
        values[f"dfs.namenode.rpc-address.{name}.{namenode}"] = f"{host}:8020"
        values[f"dfs.namenode.http-address.{name}.{namenode}"] = f"{host}:9870"
        if wish.https:
            values[f"dfs.namenode.https-address.{name}.{namenode}"] = f"{host}:9871"
    nodes = ";".join(f"{host}:8485" for host in wish.journal_hosts)
    values |= {
        "dfs.namenode.shared.edits.dir": f"qjournal://{nodes}/{name}",
        "dfs.journalnode.edits.dir": f"{wish.base}/journal",
        "dfs.journalnode.rpc-address": "0.0.0.0:8485",
        "dfs.journalnode.http-address": "0.0.0.0:8480",
        "howdah.failover-controller.http-address": "0.0.0.0:8018",
        f"dfs.client.failover.proxy.provider.{name}": _PROVIDER,
        "dfs.ha.automatic-failover.enabled": "true",
        # The journal nodes let one namenode write, and ours stop answering when they are not it.
        "dfs.ha.fencing.methods": "shell(/bin/true)",
        "dfs.ha.tail-edits.in-progress": "true",
        "dfs.ha.tail-edits.period": "1s",
    }
    if wish.https:
        values["dfs.journalnode.https-address"] = "0.0.0.0:8481"
        values["howdah.failover-controller.https-address"] = "0.0.0.0:8017"
    if wish.zookeeper:
        values["ha.zookeeper.quorum"] = wish.zookeeper
    return values
