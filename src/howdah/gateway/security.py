"""How users prove themselves at a gateway, and as whom it calls HDFS (shell: reads a keytab).

A gateway before a secured cluster

1. logs in by `httpfs.hadoop.authentication.kerberos.*`, and acts for its users by that login: the
   namenodes have to let it (`hadoop.proxyuser.*` there), and name the user in their audit log;
2. asks by SPNEGO who comes, for WebHDFS always. Whoever acts for another there (`doas`) is judged
   by `httpfs.proxyuser.*`;
3. issues delegation tokens of its own (`howdah.gateway.tokens`).

Before a cluster without Kerberos it may ask its users for tickets as well. It never believes users
before a secured cluster, as Hadoop's HttpFS can be told to: everybody would be anybody there.

Keys are Hadoop's: what `httpfs.authentication.*` says goes before `hadoop.http.authentication.*`.
Hadoop: HttpFSAuthenticationFilter, FileSystemAccessService.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, unquote_plus

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.config.settings import read
from howdah.config.value_types import Key
from howdah.formats.tokens.token import SWEBHDFS_DELEGATION, WEBHDFS_DELEGATION
from howdah.gateway.tokens import TokensInMemory, TokenTimes
from howdah.runtime.users.access_list import AccessList
from howdah.runtime.users.groups import groups_from
from howdah.security.confinement import Confinement
from howdah.security.server_checks import (
    THERE_WITH_KERBEROS,
    check_calls_secured,
    check_needed,
    is_secured,
)
from howdah.security.server_login import log_in_server
from howdah.security.server_tokens import ServerTokens, TokenStore
from howdah.security.settings import SecuritySettings
from howdah.security.spnego import SpnegoAcceptor
from howdah.security.web_settings import web_security
from howdah.security.zookeeper_tokens import (
    TokensInZooKeeper,
    ZooKeeperTokenKeys,
    token_place,
)
from howdah.web.access.guard import Administrators, WebGuard
from howdah.web.access.rules import AccessRules, Rule
from howdah.web.access.tickets import TicketProver
from howdah.web.http import Admitted, Guard, NeedsBody, Request, Response
from howdah.web.webhdfs.parameters import PREFIX, InvalidParameter, is_webhdfs, parameters_of
from howdah.web.webhdfs.tokens import OF_TOKENS

log = logging.getLogger(__name__)

RULES: Final = AccessRules({PREFIX: Rule.FILES})
"""Of all that a gateway answers."""
_KERBEROS: Final = "kerberos"
_SIMPLE: Final = "simple"
_TOKEN_HEADER: Final = "x-hadoop-delegation-token"
_TOKEN: Final = "delegation"
_MAY_BE_ASKED_OF_CLIENTS: Final = frozenset(
    {keys.DFS_ENCRYPT_DATA_TRANSFER.name, keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name}
)
"""A gateway reads and writes as a client does, which has these where its namenode says so."""
_PLAIN: Final[Mapping[Key[Any], Key[Any]]] = {
    keys.HTTPFS_HADOOP_AUTHENTICATION_TYPE: keys.HADOOP_SECURITY_AUTHENTICATION,
    keys.HTTPFS_AUTHENTICATION_TYPE: keys.HADOOP_HTTP_AUTHENTICATION_TYPE,
    keys.HTTPFS_AUTHENTICATION_SIGNATURE_SECRET_FILE: (
        keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE
    ),
    keys.HTTPFS_AUTHENTICATION_TOKEN_VALIDITY: keys.HADOOP_HTTP_AUTHENTICATION_TOKEN_VALIDITY,
    keys.HTTPFS_AUTHENTICATION_COOKIE_DOMAIN: keys.HADOOP_HTTP_AUTHENTICATION_COOKIE_DOMAIN,
    keys.HTTPFS_AUTHENTICATION_COOKIE_PATH: keys.HADOOP_HTTP_AUTHENTICATION_COOKIE_PATH,
    keys.HTTPFS_HTTP_ADMINISTRATORS: keys.DFS_CLUSTER_ADMINISTRATORS,
}
"""The keys of gateways, and those of all servers that they stand for."""
ZOOKEEPER_KEYS: Final = ZooKeeperTokenKeys(
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ENABLE,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKCONNECTIONSTRING,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZNODEWORKINGPATH,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKAUTHTYPE,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_PRINCIPAL,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_KEYTAB,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKSESSIONTIMEOUT,
    keys.HTTPFS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKNUMRETRIES,
)
_PRINCIPALS: Final = (
    keys.HTTPFS_AUTHENTICATION_KERBEROS_PRINCIPAL,
    keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_PRINCIPAL,
    keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL,
)
_KEYTABS: Final = (
    keys.HTTPFS_AUTHENTICATION_KERBEROS_KEYTAB,
    keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_KEYTAB,
    keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB,
)


def with_plain_keys(conf: Configuration) -> Configuration:
    """Return the configuration of a gateway, whose own keys stand in those of all servers."""
    given = {plain.name: conf.raw(own.name) or "" for own, plain in _PLAIN.items() if conf.get(own)}
    for names, plain in (
        (_PRINCIPALS, keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL),
        (_KEYTABS, keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB),
    ):
        value = next((conf.get(each) for each in names if conf.get(each)), None)
        if value is not None:
            given[plain.name] = value
    return conf.with_values(given, source="httpfs.*")


def asks_for_proof(conf: Configuration) -> bool:
    """Whether users of a gateway have to prove who they are. `conf` has plain keys."""
    return is_secured(conf) or conf.get(keys.HADOOP_HTTP_AUTHENTICATION_TYPE) == _KERBEROS


def check_gateway_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a gateway lacks.
    `conf` has plain keys."""
    if not asks_for_proof(conf):
        check_protection(conf, _MAY_BE_ASKED_OF_CLIENTS)
        return
    check_calls_secured(conf)
    if is_secured(conf):
        check_needed(
            conf,
            (
                keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_PRINCIPAL,
                keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_KEYTAB,
            ),
        )
        of_users = keys.HTTPFS_AUTHENTICATION_TYPE
        if conf.get(of_users) == _SIMPLE:
            raise errors.InvalidConfiguration(
                f"{of_users.name} = {_SIMPLE} (from {conf.source(of_users.name)}) is not supported "
                "before a cluster that is secured by Kerberos: whoever reaches the gateway would "
                "be anybody there"
            )
    check_protection(conf, THERE_WITH_KERBEROS | _MAY_BE_ASKED_OF_CLIENTS)


@dataclass(frozen=True, slots=True)
class Security:
    """Of one gateway whose users prove who they are."""

    web: Guard
    tokens: ServerTokens
    short_name: Callable[[str], str]
    """The user of a principal. Raises AuthenticationFailed."""
    own_user: str | None
    """The gateway itself, with the login that proves it; None where HDFS believes it."""
    caller_for: Callable[[str], str] | None
    """As whom to call HDFS for a user; None as well then."""


def security_of(conf: Configuration) -> Security | None:
    """None where everybody is believed. `conf` has plain keys.

    Raises InvalidConfiguration, and LoginFailed for a keytab by which nobody can log in.
    """
    check_gateway_protection(conf)
    if not asks_for_proof(conf):
        return None
    # These load the library of Kerberos.
    from howdah.security.login import default_realm
    from howdah.security.users import SecuredUser

    host = conf.get(keys.HTTPFS_HTTP_HOSTNAME)
    settings = SecuritySettings.from_configuration(conf)
    realm, keytab = default_realm(), ""
    own: SecuredUser | None = None
    if is_secured(conf):
        login = log_in_server(
            conf,
            keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_PRINCIPAL,
            keys.HTTPFS_HADOOP_AUTHENTICATION_KERBEROS_KEYTAB,
            host,
        )
        keytab, caller = login.identity.keytab, login.caller
        assert isinstance(caller, SecuredUser), "a server that is secured calls others so"
        own = caller
    found = web_security(conf, host, keytab)
    if found is None:
        raise errors.InvalidConfiguration(
            f"{keys.HTTPFS_AUTHENTICATION_KERBEROS_PRINCIPAL.name} is not set: a gateway whose "
            "users prove themselves by Kerberos needs it, as HTTP/_HOST@REALM"
        )

    def short_name(principal: str) -> str:
        return settings.user_of(principal, realm)

    administrators = Administrators(
        AccessList(conf.get(keys.DFS_CLUSTER_ADMINISTRATORS), groups_from(conf)),
        None if own is None else str(own),
        is_confined=Confinement.from_configuration(conf).confines,
    )
    guard = WebGuard(
        TicketProver(found.negotiation, SpnegoAcceptor(found.identity), short_name),
        RULES,
        administrators,
        found.pages_are_open,
        found.figures_need_admin,
    )
    kind = SWEBHDFS_DELEGATION if conf.get(keys.HTTPFS_SSL_ENABLED) else WEBHDFS_DELEGATION
    tokens = ServerTokens(read(TokenTimes, conf), _token_store(conf, host), kind, short_name)
    if own is None:
        return Security(GatewayGuard(guard), tokens, short_name, None, None)
    login_user = own
    return Security(
        GatewayGuard(guard), tokens, short_name, own, lambda user: _caller(login_user, user)
    )


def _token_store(conf: Configuration, host: str) -> TokenStore:
    place = token_place(conf, ZOOKEEPER_KEYS, host)
    if place is None:
        return TokensInMemory()
    store = TokensInZooKeeper(place, "the gateways")
    store.prepare()
    return store


def _caller(own: str, user: str) -> str:
    from howdah.security.users import SecuredUser

    assert isinstance(own, SecuredUser), "it has logged in"
    return own if user == own else own.acting_for(user)


@dataclass(frozen=True, slots=True)
class GatewayGuard:
    """Lets tokens come in a header, too, by which clients of Hadoop's HttpFS send them. A request
    about a token has to show a ticket: the token that it comes with is not looked at, as at
    Hadoop's."""

    inner: Guard

    def admit(self, request: Request) -> Admitted | Response | NeedsBody:
        return self.inner.admit(with_token_in_query(request))


def with_token_in_query(request: Request) -> Request:
    """Return the request with the token that counts, where all that reads it looks for it.

    >>> shown = Request("GET", "/webhdfs/v1/", {"op": "OPEN"}, {"x-hadoop-delegation-token": "KA"},
    ...     target="/webhdfs/v1/?op=OPEN")
    >>> with_token_in_query(shown).target
    '/webhdfs/v1/?op=OPEN&delegation=KA'
    """
    if not is_webhdfs(request.path):
        return request
    try:
        operation = parameters_of(request).get("op", "").upper()
    except InvalidParameter:
        return request  # It is refused, whoever sends it.
    token = token_in_header(request)
    if operation in OF_TOKENS:
        return _without_token(request)
    if not token:
        return request
    bare = _without_token(request)
    mark = "&" if "?" in bare.target else "?"
    return replace(
        bare,
        query={**bare.query, _TOKEN: token},
        target=f"{bare.target}{mark}{_TOKEN}={quote(token, safe='')}",
    )


def token_in_header(request: Request) -> str | None:
    """Return the delegation token that came by the header; None if there is none."""
    return request.headers.get(_TOKEN_HEADER) or None


def _without_token(request: Request) -> Request:
    path, mark, query = request.target.partition("?")
    fields = [field for field in query.split("&") if not _is_token(field)]
    return replace(
        request,
        query={key: value for key, value in request.query.items() if key.lower() != _TOKEN},
        target=path + mark + "&".join(fields),
    )


def _is_token(field: str) -> bool:
    return unquote_plus(field.partition("=")[0]).lower() == _TOKEN
