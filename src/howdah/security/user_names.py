"""The users of names that clients give without a proof (shell: may read krb5.conf).

Hadoop's servers take no name as it is: `hadoop.security.auth_to_local` makes a user of each that
is a principal, or it is refused (UserGroupInformation.createRemoteUser). Hadoop's client with a
ticket that has fallen back to a cluster without Kerberos comes as `alice@EXAMPLE.COM`, and is alice
there. Nobody is called `bob/x`, and no file belongs to such a one.
"""

from __future__ import annotations

import logging
from functools import cache

from howdah import errors
from howdah.config import Configuration, keys
from howdah.protocol.sasl.auth_to_local import UserOf, is_principal, short_name
from howdah.security.settings import rules_of

log = logging.getLogger(__name__)


def user_names(conf: Configuration) -> UserOf:
    """Return what makes a user of a name. Raises InvalidConfiguration."""
    rules, mechanism = rules_of(conf), conf.get(keys.HADOOP_SECURITY_AUTH_TO_LOCAL_MECHANISM)

    def user_of(name: str) -> str:
        if not is_principal(name):
            return name
        return short_name(name, rules, _default_realm() if "@" in name else "", mechanism)

    return user_of


@cache
def _default_realm() -> str:
    """That of krb5.conf; empty where there is none."""
    from howdah.security.login import default_realm

    try:
        return default_realm()
    except errors.LoginFailed as error:
        log.info("principals have no default realm here: %s", error)
        return ""
