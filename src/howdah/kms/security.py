"""How users prove themselves at a key server, by its configuration (shell: reads a keytab).

Keys are those of Hadoop's `kms-site.xml`: what `hadoop.kms.authentication.*` says goes before
`hadoop.http.authentication.*`. A cluster that is secured by Kerberos has no key server that
believes names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.kms.names import NamedGuard
from howdah.kms.pages import PATH
from howdah.protocol.encryption_zones.key_calls import VERSION
from howdah.security.delegation_tokens import ShortName
from howdah.security.server_checks import is_secured
from howdah.security.web_settings import cookie_rules, web_security
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.http import Guard

SITE_FILE: Final = "kms-site.xml"
_BELOW: Final = f"{PATH}{VERSION}/"
RULES: Final = AccessRules({_BELOW: Rule.USER}, below=(_BELOW,))
"""Of all that a key server answers."""
_KERBEROS: Final = "kerberos"
_PLAIN: Final[Mapping[Key[Any], Key[Any]]] = {
    keys.HADOOP_KMS_AUTHENTICATION_TYPE: keys.HADOOP_HTTP_AUTHENTICATION_TYPE,
    keys.HADOOP_KMS_AUTHENTICATION_KERBEROS_PRINCIPAL: (
        keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL
    ),
    keys.HADOOP_KMS_AUTHENTICATION_KERBEROS_KEYTAB: keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB,
    keys.HADOOP_KMS_AUTHENTICATION_KERBEROS_NAME_RULES: keys.HADOOP_SECURITY_AUTH_TO_LOCAL,
    keys.HADOOP_KMS_AUTHENTICATION_SIGNATURE_SECRET_FILE: (
        keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE
    ),
    keys.HADOOP_KMS_AUTHENTICATION_TOKEN_VALIDITY: keys.HADOOP_HTTP_AUTHENTICATION_TOKEN_VALIDITY,
}
"""The keys of key servers, and those of all servers that they stand for."""


def with_plain_keys(conf: Configuration) -> Configuration:
    """Return the configuration of a key server, whose own keys stand in those of all servers."""
    conf = conf.with_own_site_file(SITE_FILE)
    given = {plain.name: conf.raw(own.name) or "" for own, plain in _PLAIN.items() if conf.get(own)}
    return conf.with_values(given, source="hadoop.kms.*")


@dataclass(frozen=True, slots=True)
class KeySecurity:
    """Of one key server."""

    guard: Guard
    """Finds out who asks without a delegation token."""
    short_name: ShortName


def security_of(conf: Configuration) -> KeySecurity:
    """Return what stands before all calls. `conf` has plain keys.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    kind = conf.get(keys.HADOOP_HTTP_AUTHENTICATION_TYPE)
    if kind == _KERBEROS:
        return _by_tickets(conf)
    if is_secured(conf):
        raise errors.InvalidConfiguration(
            f"{keys.HADOOP_KMS_AUTHENTICATION_TYPE.name} has to be {_KERBEROS} on a cluster that "
            "is secured by Kerberos: a key server that believes names gives keys to everybody"
        )
    if kind != "simple":
        raise errors.InvalidConfiguration(
            f"{keys.HADOOP_KMS_AUTHENTICATION_TYPE.name} = {kind} is not supported: simple and "
            f"{_KERBEROS} are"
        )
    return KeySecurity(NamedGuard(*cookie_rules(conf), RULES), lambda name: name)


def _by_tickets(conf: Configuration) -> KeySecurity:
    # These load the library of Kerberos.
    from howdah.runtime.users.access_list import AccessList
    from howdah.runtime.users.groups import groups_from
    from howdah.security.login import default_realm
    from howdah.security.settings import SecuritySettings
    from howdah.security.spnego import SpnegoAcceptor
    from howdah.web.access.guard import Administrators, WebGuard
    from howdah.web.access.tickets import TicketProver

    host = conf.get(keys.HADOOP_KMS_HTTP_HOST)
    found = web_security(conf, host, "")
    if found is None:
        raise errors.InvalidConfiguration(
            f"{keys.HADOOP_KMS_AUTHENTICATION_KERBEROS_PRINCIPAL.name} is not set: a key server "
            "whose users prove themselves by Kerberos needs it, as HTTP/_HOST@REALM"
        )
    settings = SecuritySettings.from_configuration(conf)
    realm = default_realm()

    def short_name(principal: str) -> str:
        return settings.user_of(principal, realm)

    guard = WebGuard(
        TicketProver(found.negotiation, SpnegoAcceptor(found.identity), short_name),
        RULES,
        Administrators(AccessList(conf.get(keys.DFS_CLUSTER_ADMINISTRATORS), groups_from(conf))),
        found.pages_are_open,
        found.figures_need_admin,
    )
    return KeySecurity(guard, short_name)
