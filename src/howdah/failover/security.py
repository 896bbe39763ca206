"""What a failover controller asks for that is secured by Kerberos. It has the principal of its
namenode, takes tickets at its port, and obeys administrators (`howdah.failover.service_calls`).

Its znodes are not protected by that: `ha.zookeeper.acl` is, with `ha.zookeeper.auth`, or with a
login by SASL, which has the same principal.
"""

from __future__ import annotations

from howdah.config import Configuration, check_protection, keys
from howdah.protocol.zookeeper import Acls, ProvenBy
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_calls_secured,
    is_secured,
)
from howdah.security.server_login import log_in_namenode


def check_controller_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a controller
    lacks."""
    if not is_secured(conf):
        check_believing(conf)
        return
    check_calls_secured(conf)
    check_protection(conf, THERE_WITH_KERBEROS)


def zookeeper_mechanism(conf: Configuration, acls: Acls, timeout_s: float) -> ProvenBy | None:
    """How a controller logs in to ZooKeeper; None without SASL. `conf` is specialised. Raises as
    `zookeeper_login`."""
    key = keys.HOWDAH_HA_ZOOKEEPER_SERVER_PRINCIPAL
    if not conf.get(key):
        return None
    # Loads the library of Kerberos.
    from howdah.security.zookeeper import zookeeper_login

    return zookeeper_login(conf, key, acls, keys.HA_ZOOKEEPER_ACL, timeout_s, log_in_namenode)
