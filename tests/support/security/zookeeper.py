"""A ZooKeeper server that takes logins by SASL, with a keytab of the tests' KDC."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from howdah.config.value_types import Address
from tests.support.security.kdc import REALM, Kdc
from tests.support.zookeeper import zookeeper_server

PRINCIPAL: Final = f"zookeeper/_HOST@{REALM}"
_SETTINGS: Final[Mapping[str, str]] = {
    "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
    # nn/localhost@EXAMPLE.COM is nn in ACLs.
    "kerberos.removeHostFromPrincipal": "true",
    "kerberos.removeRealmFromPrincipal": "true",
    "4lw.commands.whitelist": "srvr,mntr",
}
_JAAS: Final = """\
Server {{
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true useTicketCache=false
  keyTab="{keytab}" principal="{principal}";
}};
"""


def sasl_zookeeper(
    directory: Path, kdc: Kdc, address: Address | None = None
) -> AbstractContextManager[Address]:
    """Where it answers. Without `address` it takes a free port. Raises NoZooKeeper or NoJava."""
    directory.mkdir(parents=True, exist_ok=True)
    jaas = directory / "jaas.conf"
    principal = PRINCIPAL.replace("_HOST", "localhost")
    jaas.write_text(_JAAS.format(keytab=kdc.services_keytab, principal=principal))
    options = (
        f"-Djava.security.auth.login.config={jaas}",
        f"-Djava.security.krb5.conf={kdc.configuration}",
    )
    return zookeeper_server(directory, address, settings=_SETTINGS, options=options)
