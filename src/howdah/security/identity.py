"""As whom a client calls, by its configuration (shell: asks the environment, files, the system).

On clusters without security a glance decides it. All else is `howdah.security.users`, which is
imported when it is needed.
"""

from __future__ import annotations

import os

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime.users.current import TOKEN_FILE, current_user, process_user
from howdah.runtime.users.names import ProvenUser


def user_of(
    conf: Configuration,
    user: str | None = None,
    *,
    keytab: str | None = None,
    principal: str | None = None,
    token_file: str | None = None,
) -> str:
    """Who calls are made as: on a secured cluster the user of the ticket, of the keytab or of the
    token that there is, else `current_user`.

    `user` is who is asked for: on a secured cluster that user himself, or a `ProxyUser`. A keytab,
    a principal and a file of tokens that are given go before those of the configuration and the
    environment.
    Raises LoginFailed where nothing proves who this process is, and IllegalArgument for a keytab
    without a secured cluster.
    """
    if isinstance(user, ProvenUser):
        return user
    if conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "simple":
        if keytab or principal:
            raise errors.IllegalArgument(
                "a keytab or a principal is for a cluster that is secured by Kerberos: set "
                f"{keys.HADOOP_SECURITY_AUTHENTICATION.name} = kerberos"
            )
        if not token_file and not os.environ.get(TOKEN_FILE):
            return user or current_user()
    from howdah.security.users import log_in

    return log_in(conf, user, keytab, principal, token_file)


def acting_user(
    conf: Configuration,
    *,
    keytab: str | None = None,
    principal: str | None = None,
    token_file: str | None = None,
) -> str:
    """Who this process is, whomever it acts for: the name to act by. Raises as `user_of`."""
    if conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) == "simple":
        return process_user()
    user = user_of(conf, keytab=keytab, principal=principal, token_file=token_file)
    return getattr(user, "real_user", None) or str(user)
