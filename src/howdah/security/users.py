"""The user that a client is on a secured cluster, with what proves it (shell).

As a `ProxyUser` is a name that says who acts for it, a `SecuredUser` is a name that carries a login
and tokens: it goes wherever names go, and only what makes a connection looks at the rest.
UserGroupInformation in Hadoop.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Address
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, WEB_KINDS, Token
from howdah.protocol.data_transfer.blocks import BlockToken
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.users.current import TOKEN_FILE, current_user
from howdah.runtime.users.names import ProvenUser, check_name, real_user_of
from howdah.security.hosts import ip_addresses
from howdah.security.login import KerberosLogin, LoginSource, default_realm
from howdah.security.settings import SecuritySettings
from howdah.security.token_file import TokenFile

LOGIN_TIMEOUT_S: Final = 30.0
"""How long KDCs are waited for where nothing else says it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What proves who a process is: all but the tokens and tickets themselves, which are found
    anew in another process. Without a `token_file` it is that of the process's environment."""

    settings: SecuritySettings
    source: LoginSource
    token_file: str | None = None
    has_login: bool = True
    has_own_tokens_alone: bool = False
    """Whether tokens of other users, which the process may have been given, are left alone: who
    says who it is means that one."""

    def find_token_file(self) -> str | None:
        """The file of tokens that this process has."""
        return self.token_file or os.environ.get(TOKEN_FILE) or None


class Prover(ProvenUser):
    """What an authentication asks of a user."""

    __slots__ = ()

    @property
    def settings(self) -> SecuritySettings:
        raise NotImplementedError

    @property
    def login(self) -> KerberosLogin | None:
        """None for who has tokens alone."""
        raise NotImplementedError

    @property
    def context_names(self) -> tuple[str, str | None]:
        """What a connection's context says behind a ticket: the user, and who acts for him."""
        raise NotImplementedError

    @property
    def real_name(self) -> str | None:
        """Who acts for the user, if somebody does."""
        return None

    def token_for(self, address: Address) -> Token | None:
        """The token for the server at an address, if there is one."""
        raise NotImplementedError

    def fell_back(self) -> None:
        """A server asked for no proof, and that was taken."""

    def was_proven(self) -> None:
        """A server asked for a proof, and has given its own."""

    def show_tokens(self) -> str:
        """What is there, for messages: kinds and services, no secrets."""
        raise NotImplementedError


class SecuredUser(Prover):
    """A user's short name, whom `principal` acts for if that is another one.

    One that carries tokens has them in place of those of a file, and takes them to other
    processes. Such a one is made for that alone (`carrying`).
    """

    __slots__ = (
        "_carried",
        "_login",
        "_tokens",
        "has_fallen_back",
        "identity",
        "principal",
        "real_user",
    )

    identity: Identity
    principal: str
    real_user: str | None
    has_fallen_back: bool
    """Whether the namenode asked for no proof that was spoken to last, which this client is allowed
    to take. It may ask for one when it was restarted, or another namenode may be active then."""
    _carried: tuple[Token, ...]
    _login: PerProcess[KerberosLogin]
    _tokens: TokenFile

    def __new__(
        cls,
        user: str,
        identity: Identity,
        principal: str,
        real_user: str | None = None,
        carried: tuple[Token, ...] = (),
    ) -> SecuredUser:
        made = super().__new__(cls, user)
        made.identity = identity
        made.principal = principal
        made.real_user = real_user
        made.has_fallen_back = False
        made._carried = carried
        made._login = PerProcess(lambda: KerberosLogin(identity.source))
        made._tokens = TokenFile(identity.find_token_file())
        return made

    def __reduce__(self) -> tuple[type[SecuredUser], tuple[object, ...]]:
        given = str(self), self.identity, self.principal, self.real_user, self._carried
        return type(self), given

    @property
    def carried(self) -> tuple[Token, ...]:
        return self._carried

    def carrying(self, tokens: Iterable[Token]) -> SecuredUser:
        """The same user in any process, by these tokens alone."""
        alone = Identity(self.settings, LoginSource(), has_login=False)
        return SecuredUser(str(self), alone, str(self), carried=tuple(tokens))

    def acting_for(self, user: str) -> SecuredUser:
        """Another user, for whom this one acts by its own login. Raises IllegalArgument for what is
        no name."""
        check_name(user)
        made = SecuredUser(user, self.identity, self.principal, self.principal)
        made._login = self._login
        return made

    def proves_itself_at(self, address: Address) -> bool:
        settings = self.settings
        if settings.is_enabled or settings.needs_token:
            return True
        return self.delegation_token(address) is not None

    @property
    def settings(self) -> SecuritySettings:
        return self.identity.settings

    @property
    def context_names(self) -> tuple[str, str | None]:
        return (self.principal, None) if self.real_user is None else (str(self), self.real_user)

    @property
    def real_name(self) -> str | None:
        return self.real_user

    @property
    def login(self) -> KerberosLogin | None:
        if not self.identity.has_login or not self.settings.is_enabled:
            return None
        return self._login.get()

    def fell_back(self) -> None:
        self.has_fallen_back = True

    def was_proven(self) -> None:
        self.has_fallen_back = False

    def token_for(self, address: Address) -> Token | None:
        return self.delegation_token(address)

    def tokens(self) -> list[Token]:
        """All that this process was given for this user. Raises LoginFailed where the file cannot
        be read."""
        tokens = self._carried or tuple(self._tokens.credentials().tokens.values())
        if self._carried or not self.identity.has_own_tokens_alone:
            return list(tokens)
        names = None, str(self), self.principal, self.principal.partition("@")[0]
        return [token for token in tokens if _owner((token,)) in names]

    def delegation_token(self, address: Address) -> Token | None:
        """The token for the namenode at an address, if there is one.

        Raises LoginFailed where the file of tokens cannot be read.
        """
        if self.real_user is not None:
            return None  # It would be the real user's, who acts for nobody by a token.
        services = None
        for token in self.tokens():
            if token.kind != HDFS_DELEGATION:
                continue
            if services is None:
                services = set(self._services(address))
            if token.service in services:
                return token
        return None

    def _services(self, address: Address) -> Iterator[str]:
        """The names that tokens have for the server at an address."""
        logical = self.settings.logical_services.get(address)
        if logical is not None:
            yield logical
        host, port = address
        yield f"{host.lower()}:{port}"
        for ip in ip_addresses(host):
            yield f"{ip}:{port}"

    def show_tokens(self) -> str:
        where = f" in {self._tokens.path}" if self._tokens.path and not self._carried else ""
        return f"tokens{where}: {'; '.join(map(str, self.tokens())) or 'none'}"


class BlockTokenUser(Prover):
    """Who asks a datanode of one block: the block's token is all that proves the right to."""

    __slots__ = ("_settings", "_token")

    _settings: SecuritySettings
    _token: Token

    def __new__(cls, user: str, settings: SecuritySettings, token: BlockToken) -> BlockTokenUser:
        made = super().__new__(cls, user)
        made._settings = settings
        made._token = Token(token.identifier, token.password, token.kind, token.service)
        return made

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("the right to one block goes to no other process")

    @property
    def settings(self) -> SecuritySettings:
        return self._settings

    @property
    def login(self) -> None:
        return None

    @property
    def context_names(self) -> tuple[str, str | None]:
        return str(self), None

    def token_for(self, address: Address) -> Token | None:
        return self._token

    def show_tokens(self) -> str:
        return "the block's token"


def asking_of_a_block(user: str, token: BlockToken) -> str:
    """As whom a datanode is asked of a block: who has a token of the block goes by that, with or
    without security otherwise; by a ticket where a secured cluster has no such tokens."""
    if not token.identifier:
        return user if isinstance(user, SecuredUser) and user.settings.is_enabled else str(user)
    settings = user.settings if isinstance(user, SecuredUser) else SecuritySettings()
    return BlockTokenUser(user, settings, token)


def log_in(
    conf: Configuration,
    user: str | None,
    keytab: str | None,
    principal: str | None,
    token_file: str | None,
) -> str:
    """`howdah.security.identity.user_of`, where that is not decided by a glance."""
    settings = SecuritySettings.from_configuration(conf)
    if token_file is not None:
        token_file = os.path.abspath(os.path.expanduser(token_file))
        TokenFile(token_file).credentials()  # What was named has to be there.
    if not settings.is_enabled:
        return _with_tokens(Identity(settings, LoginSource(), token_file, has_login=False), user)
    source = login_source(conf, keytab, principal)
    says_who = bool(keytab or principal) and token_file is None
    identity, name, full = _log_in(
        Identity(settings, source, token_file, has_own_tokens_alone=says_who)
    )
    acts_for = os.environ.get("HADOOP_PROXY_USER") or None
    if user is None and acts_for is not None:
        check_name(acts_for)
        return SecuredUser(acts_for, identity, full, full)
    if user is None or user in (name, full):
        return SecuredUser(name, identity, full)
    real_user = real_user_of(user)
    if real_user in (name, full):
        return SecuredUser(str(user), identity, full, full)
    raise errors.LoginFailed(
        f"this process is {full}, and not {real_user or user}: on a secured cluster a user is who "
        f"he can prove to be. To act for {user}, give it as the user who is acted for "
        "(HADOOP_PROXY_USER, proxy_user=)"
    )


def user_by_tokens(
    conf: Configuration, tokens: Sequence[Token], *, needs_token: bool = False
) -> SecuredUser:
    """The user that tokens were issued to, who has them alone, in any process. With `needs_token`
    no namenode is asked in his name that does not look at one."""
    settings = replace(SecuritySettings.from_configuration(conf), needs_token=needs_token)
    owner = _owner(tokens) or current_user()
    alone = Identity(settings, LoginSource(), has_login=False)
    name = settings.user_of(owner, default_realm()) if settings.is_enabled else owner
    return SecuredUser(name, alone, owner, carried=tuple(tokens))


def _with_tokens(identity: Identity, user: str | None) -> str:
    """On a cluster that is not secured, or is said not to be, tokens are used where there are any,
    as Hadoop's clients do."""
    name = user or current_user()
    token_file = identity.find_token_file()
    if token_file is None or real_user_of(name) is not None:
        return name
    if not any(_delegation_tokens(token_file)):
        return name
    return SecuredUser(name, identity, name)


def login_source(
    conf: Configuration, keytab: str | None = None, principal: str | None = None
) -> LoginSource:
    """What this process logs in from: what is given goes before what is configured."""
    if keytab or principal:
        return LoginSource(keytab or "", principal or "", _cache_of(conf) if not keytab else "")
    keytab = conf.get(keys.HOWDAH_CLIENT_KEYTAB_FILE) or os.environ.get("KRB5KEYTAB") or ""
    principal = conf.get(keys.HOWDAH_CLIENT_KERBEROS_PRINCIPAL) or ""
    if keytab:
        return LoginSource(keytab, principal or os.environ.get("KRB5PRINCIPAL", ""))
    return LoginSource("", principal, _cache_of(conf))


def _cache_of(conf: Configuration) -> str:
    return conf.get(keys.HADOOP_SECURITY_KERBEROS_TICKET_CACHE_PATH) or ""


def _log_in(identity: Identity) -> tuple[Identity, str, str]:
    """Who that is: short name and principal; and the identity, which may have tokens alone."""
    settings = identity.settings
    try:
        login = KerberosLogin(identity.source)
        full = login.keytab_principal() or login.inquire(LOGIN_TIMEOUT_S).principal
    except errors.LoginFailed as error:
        token_file = identity.find_token_file()
        if identity.source.keytab or token_file is None:
            raise
        tokens = list(_delegation_tokens(token_file))
        if not tokens:
            raise errors.LoginFailed(
                f"{error}; and {token_file} ({TOKEN_FILE}) has no delegation token of HDFS"
            ) from error
        owner = _owner(tokens) or current_user()
        without = Identity(settings, identity.source, identity.token_file, has_login=False)
        return without, settings.user_of(owner, default_realm()), owner
    return identity, settings.user_of(full, default_realm()), full


def _delegation_tokens(path: str) -> Iterator[Token]:
    for token in TokenFile(path).credentials().tokens.values():
        if token.kind in WEB_KINDS:
            yield token


def _owner(tokens: Iterable[Token]) -> str | None:
    for token in tokens:
        try:
            return DelegationTokenIdentifier.decode(token.identifier).owner
        except MalformedRecord:
            continue  # Of a kind of namenode that writes another one.
    return None
