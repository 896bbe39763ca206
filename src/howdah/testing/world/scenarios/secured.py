"""Clusters that are secured by Kerberos, under faults, while keys and tokens come and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from howdah.testing.world.cluster import CONTROLLER, DATANODE, JOURNALNODE, NAMENODE, Cluster
from howdah.testing.world.faults import FaultPlan
from howdah.testing.world.kerberos import REALM, give_keytab
from howdah.testing.world.processes import Process
from howdah.testing.world.scenarios import highly_available
from howdah.testing.world.scenarios.datanodes import write_and_check
from howdah.testing.world.workload.clients import Client, Expectations
from howdah.testing.world.world import Unexpected, World

_URI: Final = "hdfs://ns"
_FAULTS: Final = 12
_KEYTAB: Final = "/etc/servers.keytab"
_CLIENT_KEYTAB: Final = "/etc/hdfs.keytab"
_KEYTAB_SETTING: Final = "howdah.client.keytab.file"
_SECRET: Final = "/etc/cookies"
_TOKENS: Final = "/etc/tokens"
_BY_TOKEN: Final = "client2"
"""The client that has no key, but a delegation token."""
_SERVICES: Final = {NAMENODE: "nn", CONTROLLER: "nn", JOURNALNODE: "jn", DATANODE: "dn"}
_RULES: Final = " ".join(
    [*(f"RULE:[2:$1@$0]({name}@{REALM})s/.*/hdfs/" for name in ("nn", "dn", "jn")), "DEFAULT"]
)
_WEB: Final = f"HTTP/_HOST@{REALM}"
_PROTECTIONS: Final = ("authentication", "integrity", "privacy")
_SUITES: Final = ("", "AES/CTR/NoPadding")
SETTINGS: Final = {
    "hadoop.security.authentication": "kerberos",
    "hadoop.security.authorization": "true",
    "hadoop.security.auth_to_local": _RULES,
    "hadoop.http.authentication.type": "kerberos",
    "hadoop.http.authentication.kerberos.principal": _WEB,
    "hadoop.http.authentication.kerberos.keytab": _KEYTAB,
    "hadoop.http.authentication.signature.secret.file": _SECRET,
    "hadoop.http.filter.initializers": (
        "org.apache.hadoop.security.AuthenticationFilterInitializer"
    ),
    "dfs.web.authentication.kerberos.principal": _WEB,
    "dfs.web.authentication.kerberos.keytab": _KEYTAB,
    "dfs.namenode.kerberos.principal": f"nn/_HOST@{REALM}",
    "dfs.namenode.keytab.file": _KEYTAB,
    "dfs.namenode.kerberos.internal.spnego.principal": _WEB,
    "dfs.datanode.kerberos.principal": f"dn/_HOST@{REALM}",
    "dfs.datanode.keytab.file": _KEYTAB,
    "dfs.datanode.http.address": "0.0.0.0:9864",
    "dfs.journalnode.kerberos.principal": f"jn/_HOST@{REALM}",
    "dfs.journalnode.keytab.file": _KEYTAB,
    "dfs.journalnode.kerberos.internal.spnego.principal": _WEB,
    "dfs.cluster.administrators": "hdfs",
    "dfs.block.access.token.enable": "true",
    # Of minutes there are no fewer: a world lasts two or three.
    "dfs.block.access.key.update.interval": "1",
    "dfs.block.access.token.lifetime": "1",
    "dfs.namenode.delegation.key.update-interval": "15000",
    "ignore.secure.ports.for.testing": "true",
}


def _give_keys(cluster: Cluster) -> None:
    """Let each machine have the keys of its servers, and those of clients the user's."""
    services: dict[str, set[str]] = {}
    for server in cluster.servers.values():
        names = services.setdefault(server.machine.name, {"HTTP"})
        names.add(_SERVICES[server.role])
    for host, names in services.items():
        machine = cluster.world.machines[host]
        give_keytab(machine, _KEYTAB, *(f"{name}/{host}" for name in sorted(names)))
        machine.write_file(_SECRET, b"what signs the cookies of a world\n", 0o600)
    for machine in cluster.world.machines.values():
        give_keytab(machine, _CLIENT_KEYTAB, "hdfs")


def _client_of(cluster: Cluster) -> type[Client]:
    """Clients of which one has no key."""

    class SecuredClient(Client):
        def __init__(
            self,
            world: World,
            name: str,
            expectations: Expectations,
            connect: Callable[[Process], Any],
            **how: Any,
        ) -> None:
            if name == _BY_TOKEN:
                connect = partial(_connect_by_token, cluster)
            super().__init__(world, name, expectations, connect, **how)

    return SecuredClient


def _connect_by_token(cluster: Cluster, process: Process) -> Any:
    process.modules.load("os").environ["HADOOP_TOKEN_FILE_LOCATION"] = _TOKENS
    return cluster.connect(process, _URI, settings={_KEYTAB_SETTING: ""})


def _fetch_token(cluster: Cluster, process: Process) -> None:
    words = "--renewer", "hdfs", _TOKENS
    status, said = cluster.run_command(process, "fetchdt", *words)
    if status:
        raise Unexpected(f"there is no delegation token: {said}")


def writes_secured(world: World) -> Mapping[str, object]:
    """Write files to a highly available cluster that is secured, while everything breaks that may,
    keys change all the time and tokens are soon over; then heal all, and read what was
    promised."""
    dice = world.dice("security")
    world.scheduler.yield_chance = world.dice("yields").choice([0.02, 0.1, 0.4])
    clients = world.machine("clients")
    settings = {
        **SETTINGS,
        "hadoop.rpc.protection": dice.choice(_PROTECTIONS),
        "dfs.data.transfer.protection": dice.choice(_PROTECTIONS),
        "dfs.encrypt.data.transfer": dice.choice(("false", "false", "true")),
        "dfs.encrypt.data.transfer.cipher.suites": dice.choice(_SUITES),
    }
    cluster, watch = highly_available.build(world, settings, prepare=_give_keys)
    cluster.client_settings[_KEYTAB_SETTING] = _CLIENT_KEYTAB
    world.call(clients, "fetchdt", partial(_fetch_token, cluster))
    plan = FaultPlan.draw(world.dice("faults"), cluster, _FAULTS)
    make_client = _client_of(cluster)
    return write_and_check(cluster, clients, _URI, plan, watch, make_client=make_client)
