"""What a failover controller asks for that is secured by Kerberos. It has the principal of its
namenode, takes tickets at its port, and obeys administrators (`howdah.failover.service_calls`).

Its znodes are not protected by that: `ha.zookeeper.acl` and `ha.zookeeper.auth` are.
"""

from __future__ import annotations

from howdah.config import Configuration, check_protection
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_believing,
    check_calls_secured,
    is_secured,
)


def check_controller_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a controller
    lacks."""
    if not is_secured(conf):
        check_believing(conf)
        return
    check_calls_secured(conf)
    check_protection(conf, THERE_WITH_KERBEROS)
