"""How servers prove who they are to ZooKeeper by Kerberos (shell: keytabs, and names of hosts).

A configuration that names the principal of the ZooKeeper servers wants SASL: no session goes on
that is not proven, on both sides. Hadoop turns it on by a JAAS file for the whole process; here the
login is the one that the server has for its calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from howdah import errors
from howdah.config import Configuration
from howdah.config.value_types import Key
from howdah.protocol.sasl.gssapi import GssapiClient
from howdah.protocol.sasl.mechanism import ClientMechanism
from howdah.protocol.sasl.principals import HOST_PLACEHOLDER, Principal
from howdah.protocol.sasl.protection import Protection
from howdah.protocol.zookeeper import Acls
from howdah.security.hosts import canonical_host
from howdah.security.login import KerberosLogin
from howdah.security.server_checks import is_secured
from howdah.security.server_login import ServerLogin
from howdah.security.users import SecuredUser


@dataclass(frozen=True, slots=True)
class ZooKeeperLogin:
    """What `howdah.protocol.zookeeper.Ensemble` has mechanisms from."""

    login: KerberosLogin
    server: Principal
    key: str
    timeout_s: float

    def __call__(self, host: str, address: str) -> ClientMechanism:
        """The mechanism for a server, by the name and the IP address that it was reached at. Raises
        LoginFailed."""
        server = self.server
        if server.instance == HOST_PLACEHOLDER:
            known = canonical_host(address)
            name = host if known == address else known
            server = Principal(server.primary, name.lower(), server.realm)
        context = self.login.context(server, self.timeout_s)
        return GssapiClient(context, (Protection.AUTHENTICATION,), setting=self.key)


def zookeeper_login(
    conf: Configuration,
    key: Key[str | None],
    acls: Acls,
    acl_key: Key[str],
    timeout_s: float,
    log_in: Callable[[Configuration], ServerLogin | None],
) -> ZooKeeperLogin | None:
    """How a server logs in to ZooKeeper; None where `key`, which names the principal of the
    ZooKeeper servers, is not set. `log_in` is the server's own login.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    named = conf.get(key)
    if not named:
        return None
    said = f"{key.name} = {named} (from {conf.source(key.name)})"
    if not is_secured(conf):
        raise errors.InvalidConfiguration(
            f"{said} asks for a login by Kerberos, which hadoop.security.authentication does not "
            "turn on"
        )
    server = Principal.parse(named)
    if not server.instance:
        raise errors.InvalidConfiguration(
            f"{said} has no host: write it as {server.primary}/{HOST_PLACEHOLDER}@"
            f"{server.realm or 'REALM'}"
        )
    if not acls or any(scheme == "auth" for scheme, _, _ in acls):
        raise errors.InvalidConfiguration(
            f"{acl_key.name} has to say who may, as sasl:nn:rwcda: which name a principal has at "
            f"ZooKeeper is known to that alone, so `auth` cannot be checked with {said}"
        )
    login = log_in(conf)
    assert login is not None, "a server of a secured cluster has a login"
    caller = login.caller
    assert isinstance(caller, SecuredUser), "it calls others by that"
    kerberos = caller.login
    assert kerberos is not None, "a keytab is a login"
    return ZooKeeperLogin(kerberos, server, key.name, timeout_s)
