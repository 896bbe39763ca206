"""What makes a planned cluster a secured one: keys, principals, keytabs (pure).

1. Each machine has a keytab, with the keys of its servers alone. All servers of all machines are
   the user `hdfs`, by `auth_to_local`; whoever has the principal `hdfs@REALM` is administrator.
2. Calls and data are encrypted, and blocks have tokens.
3. Web ports speak TLS alone, since cookies and tokens go over them; who comes is asked by SPNEGO.
4. A router is the user `router`, a gateway the user `httpfs`. Namenodes let both act for the
   members of one group, which the superuser is none of, and from their own machines alone. A
   gateway has a keytab of its own: it is no server that is the superuser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

KADMIN_SCRIPT: Final = "principals.kadmin"
KEYTAB: Final = "servers.keytab"
ADMINISTRATOR: Final = "hdfs"
GATEWAY_KEYTAB: Final = "httpfs.keytab"
GATEWAY_SECRET: Final = "httpfs-signature.secret"
ROUTER: Final = "router"
GATEWAY: Final = "httpfs"
USERS: Final = "users"
SUPERGROUP: Final = "supergroup"
GROUP: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
REALM: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_ADDRESS: Final = re.compile(r"[0-9.]+|\[.*\]")


def is_address(host: str) -> bool:
    """Whether this is no name: principals are of names."""
    return _ADDRESS.fullmatch(host) is not None


def values(
    realm: str,
    keytab: str,
    routers: Sequence[str] = (),
    gateways: Sequence[str] = (),
    users_group: str = USERS,
    *,
    has_journal: bool,
    has_secondary: bool = False,
) -> dict[str, str]:
    """The keys of all servers and clients. `keytab` is where each machine has its own, `routers`
    and `gateways` are the machines of these, which act for `users_group`."""
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
        # Whose principal is not a router's is its superuser by a group.
        found["hadoop.user.group.static.mapping.overrides"] = (
            f"dr.who=;{ADMINISTRATOR}={SUPERGROUP}"
        )
    for user, hosts in ((ROUTER, routers), (GATEWAY, gateways)):
        if hosts:
            found[f"hadoop.proxyuser.{user}.hosts"] = ",".join(hosts)
            found[f"hadoop.proxyuser.{user}.groups"] = users_group
    if has_secondary:
        # That of namenodes: a namenode of Hadoop's answers no other one.
        found["dfs.secondary.namenode.kerberos.principal"] = f"nn/_HOST@{realm}"
        found["dfs.secondary.namenode.keytab.file"] = keytab
    if has_journal or routers:
        # Routers ask for it, also where there are no journal nodes yet.
        found["dfs.journalnode.kerberos.principal"] = f"jn/_HOST@{realm}"
    if has_journal:
        found["dfs.journalnode.keytab.file"] = keytab
        found["dfs.journalnode.kerberos.internal.spnego.principal"] = f"HTTP/_HOST@{realm}"
    return found


def gateway_values(realm: str, conf_dir: str, gateways: Sequence[str]) -> dict[str, str]:
    """The keys of gateways alone."""
    keytab = f"{conf_dir}/{GATEWAY_KEYTAB}"
    return {
        # For several gateways `_HOST` is what each machine calls itself.
        "httpfs.http.hostname": gateways[0] if len(gateways) == 1 else "0.0.0.0",
        "httpfs.ssl.enabled": "true",
        "httpfs.hadoop.authentication.type": "kerberos",
        "httpfs.hadoop.authentication.kerberos.principal": f"{GATEWAY}/_HOST@{realm}",
        "httpfs.hadoop.authentication.kerberos.keytab": keytab,
        "httpfs.authentication.type": "kerberos",
        "httpfs.authentication.kerberos.principal": f"HTTP/_HOST@{realm}",
        "httpfs.authentication.kerberos.keytab": keytab,
        "httpfs.authentication.signature.secret.file": f"{conf_dir}/{GATEWAY_SECRET}",
    }


@dataclass(frozen=True, slots=True)
class Places:
    """Which servers are on which machines."""

    machines: Sequence[str]
    namenodes: Sequence[str]
    journal_nodes: Sequence[str] = ()
    routers: Sequence[str] = ()
    gateways: Sequence[str] = ()
    secondary: str | None = None

    def keytabs(self, realm: str) -> dict[str, list[str]]:
        """The principals of each keytab by its name, in the order of the machines. A machine has
        one for its servers, and another one for a gateway."""
        found: dict[str, list[str]] = {}
        namenodes = {*self.namenodes, self.secondary}
        for host in dict.fromkeys((*self.machines, *self.routers, self.secondary)):
            if host is not None:
                of_servers = (
                    (ROUTER, host in self.routers),
                    ("nn", host in namenodes),
                    ("dn", host in self.machines),
                    ("jn", host in self.journal_nodes),
                    ("HTTP", True),
                )
                found[host] = [_named(one, host, realm) for one, is_here in of_servers if is_here]
        for host in self.gateways:
            found[f"{host}.{GATEWAY}"] = [_named(one, host, realm) for one in (GATEWAY, "HTTP")]
        return found


def _named(primary: str, host: str, realm: str) -> str:
    return f"{primary}/{host.lower()}@{realm}"


def kadmin_script(keytabs: Mapping[str, Sequence[str]]) -> str:
    """Lines for kadmin, which make the principals and the keytabs."""
    made = dict.fromkeys(name for names in keytabs.values() for name in names)
    lines = [f"addprinc -randkey {name}" for name in made]
    lines += [f"ktadd -norandkey -k {stem}.keytab {' '.join(keytabs[stem])}" for stem in keytabs]
    return "".join(f"{line}\n" for line in lines)


def steps(
    realm: str, conf_dir: str, *, acting: Sequence[str] = (), users_group: str = USERS
) -> list[str]:
    """What to do with that, before a server is started; a line each. `acting` are the users who act
    for others."""
    lines = [
        f"on the KDC of {realm}, as root, in a directory of its own: umask 077; kadmin.local -r "
        f"{realm} < {KADMIN_SCRIPT}; it makes the principals, and HOST.keytab for each machine",
        f"put HOST.keytab on HOST as {conf_dir}/{KEYTAB}, for the user of the servers alone "
        f"(chmod 600), nowhere else, and remove it from the KDC",
    ]
    if GATEWAY in acting:
        secret = f"{conf_dir}/{GATEWAY_SECRET}"
        lines += [
            f"put HOST.{GATEWAY}.keytab on the gateway HOST as {conf_dir}/{GATEWAY_KEYTAB} in the "
            "same way, for the user of the gateway",
            f"make a secret for the cookies of gateways, the same on all of them: openssl rand "
            f"-hex 32 > {secret}; chmod 600 {secret}",
        ]
    if acting:
        lines.append(
            f"let the group {users_group} on the namenodes have everybody who comes by "
            f"{' or '.join(acting)}, and not {ADMINISTRATOR}: these act for its members"
        )
    return [
        *lines,
        f"make an administrator: kadmin.local -r {realm} addprinc {ADMINISTRATOR}; and a principal "
        "for each user",
        f"on each machine and client: krb5.conf, in which {realm} is the default realm, clocks by "
        "NTP, and 'howdah[tls]'",
    ]
