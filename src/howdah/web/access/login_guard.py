"""The guard of a server's web ports on a cluster without Kerberos whose users log in, as it is
configured (shell: reads a file)."""

from __future__ import annotations

import getpass
import logging
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime.tls.http_policy import is_https_served
from howdah.runtime.users.access_list import AccessList
from howdah.runtime.users.groups import groups_from
from howdah.security.password_file import PasswordFile
from howdah.security.passwords import KnownPasswords, PasswordChecker
from howdah.security.server_checks import has_logins, uses_openid
from howdah.security.server_cookies import NOBODY
from howdah.security.web_settings import cookie_rules
from howdah.web.access.guard import Administrators, Prover, WebGuard
from howdah.web.access.logins import KIND, LoginCookies, PasswordProver
from howdah.web.access.rules import AccessRules
from howdah.web.http import Guard

log = logging.getLogger(__name__)


def login_guard(conf: Configuration, role: str, rules: AccessRules) -> Guard | None:
    """Make the guard of the web ports of a server without Kerberos; None where no logins are
    configured.

    Raises InvalidConfiguration.
    """
    if not has_logins(conf):
        return None
    key = keys.HOWDAH_HTTP_AUTHENTICATION
    allows_plain = conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP)
    if not is_https_served(conf):
        log.warning(
            "%s, and there is no TLS (%s): %s",
            f"{key.name} = {conf.get(key)}",
            keys.DFS_HTTP_POLICY.name,
            "what users prove themselves by goes over the network as it is"
            if allows_plain
            else "users can log in from this machine alone",
        )
    return WebGuard(
        _prover(conf, role, rules),
        rules,
        Administrators(
            AccessList(conf.get(keys.DFS_CLUSTER_ADMINISTRATORS), groups_from(conf)),
            getpass.getuser(),
            lambda full_name, address: full_name == NOBODY,
            is_confined=lambda full_name: full_name == NOBODY,
        ),
        figures_need_admin=conf.get(keys.HADOOP_SECURITY_INSTRUMENTATION_REQUIRES_ADMIN),
    )


def _prover(conf: Configuration, role: str, rules: AccessRules) -> Prover:
    """Raises InvalidConfiguration."""
    if not uses_openid(conf):
        signer, validity_ms, scope = cookie_rules(conf)
        return PasswordProver(
            PasswordChecker(password_file(conf)),
            LoginCookies(signer, validity_ms, scope, KIND),
            role,
            rules,
            conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP),
        )
    # What only these servers need.
    from howdah.web.access.openid_logins import openid_prover

    return openid_prover(conf, role, rules)


def known_users(conf: Configuration) -> KnownPasswords | None:
    """Return who can log in; None where only a provider knows that. Raises InvalidConfiguration."""
    return password_file(conf) if has_logins(conf) and not uses_openid(conf) else None


def password_file(conf: Configuration) -> PasswordFile:
    """Return the file of those who log in. Raises InvalidConfiguration where nobody can."""
    key = keys.HOWDAH_HTTP_AUTHENTICATION_FILE
    path = conf.get(key)
    if not path:
        raise errors.InvalidConfiguration(
            f"{keys.HOWDAH_HTTP_AUTHENTICATION.name} = file, and {key.name} does not say which "
            "one: howdah passwd makes it"
        )
    passwords = PasswordFile(Path(path).expanduser())
    try:
        passwords.records()
    except errors.InvalidConfiguration as error:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): {error.message}"
        ) from None
    return passwords
