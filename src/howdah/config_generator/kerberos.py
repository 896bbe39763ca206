"""What makes a planned cluster a secured one: keys, principals, keytabs (pure).

1. Each machine has a keytab, with the keys of its servers alone. All servers of all machines are
   the user `hdfs`, by `auth_to_local`; whoever has the principal `hdfs@REALM` is administrator.
2. Calls and data are encrypted, and blocks have tokens.
3. Web ports speak TLS alone, since cookies and tokens go over them; who comes is asked by SPNEGO.
4. A router is the user `router`, who acts for everybody, from the machines of routers alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

KADMIN_SCRIPT: Final = "principals.kadmin"
KEYTAB: Final = "servers.keytab"
ADMINISTRATOR: Final = "hdfs"
ROUTER: Final = "router"
REALM: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_ADDRESS: Final = re.compile(r"[0-9.]+|\[.*\]")


def is_address(host: str) -> bool:
    """Whether this is no name: principals are of names."""
    return _ADDRESS.fullmatch(host) is not None


def values(
    realm: str, keytab: str, routers: Sequence[str] = (), *, has_journal: bool
) -> dict[str, str]:
    """The keys of all servers and clients. `keytab` is where each machine has its own, `routers`
    the machines of routers."""
    servers = ("nn", "dn", *(("jn",) if has_journal else ()))
    rules = [f"RULE:[2:$1@$0]({one}@{realm})s/.*/{ADMINISTRATOR}/" for one in servers]
    found = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.security.auth_to_local": "\n".join([*rules, "DEFAULT"]),
        "hadoop.rpc.protection": "privacy",
        "hadoop.http.filter.initializers": (
            "org.apache.hadoop.security.AuthenticationFilterInitializer"
        ),
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": f"HTTP/_HOST@{realm}",
        "hadoop.http.authentication.kerberos.keytab": keytab,
        "dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{realm}",
        "dfs.web.authentication.kerberos.keytab": keytab,
        "dfs.namenode.kerberos.principal": f"nn/_HOST@{realm}",
        "dfs.namenode.keytab.file": keytab,
        "dfs.datanode.kerberos.principal": f"dn/_HOST@{realm}",
        "dfs.datanode.keytab.file": keytab,
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "privacy",
        "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding",
        "dfs.cluster.administrators": ADMINISTRATOR,
    }
    if routers:
        prefix = "dfs.federation.router"
        found[f"{prefix}.kerberos.principal"] = f"{ROUTER}/_HOST@{realm}"
        found[f"{prefix}.keytab.file"] = keytab
        found[f"{prefix}.kerberos.internal.spnego.principal"] = f"HTTP/_HOST@{realm}"
        found[f"hadoop.proxyuser.{ROUTER}.hosts"] = ",".join(routers)
        found[f"hadoop.proxyuser.{ROUTER}.users"] = "*"
        # Whose principal is not a router's is its superuser by a group.
        found["hadoop.user.group.static.mapping.overrides"] = f"dr.who=;{ADMINISTRATOR}=supergroup"
    if has_journal or routers:
        # Routers ask for it, also where there are no journal nodes yet.
        found["dfs.journalnode.kerberos.principal"] = f"jn/_HOST@{realm}"
    if has_journal:
        found["dfs.journalnode.keytab.file"] = keytab
        found["dfs.journalnode.kerberos.internal.spnego.principal"] = f"HTTP/_HOST@{realm}"
    return found


def principals(
    realm: str,
    machines: Sequence[str],
    namenodes: Sequence[str],
    journal_nodes: Sequence[str],
    routers: Sequence[str] = (),
) -> dict[str, list[str]]:
    """Those of each machine, in the order of the machines; machines of routers alone come last."""
    found = {host: list(_of(realm, host, namenodes, journal_nodes)) for host in machines}
    for host in routers:
        found.setdefault(host, [f"HTTP/{host.lower()}@{realm}"]).insert(
            0, f"{ROUTER}/{host.lower()}@{realm}"
        )
    return found


def _of(
    realm: str, host: str, namenodes: Sequence[str], journal_nodes: Sequence[str]
) -> Iterator[str]:
    if host in namenodes:
        yield f"nn/{host.lower()}@{realm}"
    yield f"dn/{host.lower()}@{realm}"
    if host in journal_nodes:
        yield f"jn/{host.lower()}@{realm}"
    yield f"HTTP/{host.lower()}@{realm}"


def kadmin_script(of_machines: Mapping[str, Sequence[str]]) -> str:
    """Lines for kadmin, which make the principals and a keytab of each machine."""
    lines = [f"addprinc -randkey {name}" for names in of_machines.values() for name in names]
    lines += [
        f"ktadd -norandkey -k {host}.keytab {' '.join(names)}"
        for host, names in of_machines.items()
    ]
    return "".join(f"{line}\n" for line in lines)


def steps(realm: str, conf_dir: str) -> list[str]:
    """What to do with that, before a server is started; a line each."""
    return [
        f"on the KDC of {realm}, as root, in a directory of its own: umask 077; kadmin.local -r "
        f"{realm} < {KADMIN_SCRIPT}; it makes the principals, and HOST.keytab for each machine",
        f"put HOST.keytab on HOST as {conf_dir}/{KEYTAB}, for the user of the servers alone "
        f"(chmod 600), nowhere else, and remove it from the KDC",
        f"make an administrator: kadmin.local -r {realm} addprinc {ADMINISTRATOR}; and a principal "
        "for each user",
        f"on each machine and client: krb5.conf, in which {realm} is the default realm, clocks by "
        "NTP, and 'howdah[tls]'",
    ]
