"""How who asks a secured server over HTTP proves who he is, by its configuration (shell: reads the
file by which cookies are signed)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.protocol.web_authentication.negotiation import Negotiation
from howdah.protocol.web_authentication.signed_cookie import CookieScope, CookieSigner
from howdah.runtime.secret_files import LEAST_BYTES, refuse_if_others_write, warn_if_shared
from howdah.security.server_checks import own_principal
from howdah.security.server_methods import ServerIdentity

_RANDOM_BYTES: Final = 32
_KNOWN_SECRET: Final = b"hadoop httpfs secret"
"""That of many installations, which was in Hadoop's files."""
_ANY_PRINCIPAL: Final = "*"
PRINCIPAL_KEY: Final = keys.DFS_WEB_AUTHENTICATION_KERBEROS_PRINCIPAL
_KEYTABS: Final[tuple[Key[str | None], ...]] = (
    keys.DFS_WEB_AUTHENTICATION_KERBEROS_KEYTAB,
    keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_KEYTAB,
)


@dataclass(frozen=True, slots=True)
class WebSecurity:
    """Of the web ports of one server."""

    identity: ServerIdentity
    negotiation: Negotiation = field(repr=False)
    pages_are_open: bool
    """Whether everybody may look at pages that are not an administrator's."""
    figures_need_admin: bool


def web_security(
    conf: Configuration, host: str, own_keytab: str, own_key: Key[str | None] | None = None
) -> WebSecurity | None:
    """Return how web ports at `host` prove who asks; None where no principal is configured for
    them, so that they prove nobody. `own_keytab` is the server's; `own_key` says the principal for
    this kind of server, where none is said for all.

    `check_secured` has looked at the rest. Raises InvalidConfiguration, and LoginFailed for a
    keytab without a key of the principal.
    """
    key = _principal_key(conf, own_key)
    if key is None:
        return None
    if conf.get(key) == _ANY_PRINCIPAL:
        raise errors.InvalidConfiguration(
            f"{key.name} = * (from {conf.source(key.name)}) is not supported: name one principal, "
            "such as HTTP/_HOST@REALM"
        )
    keytab = next((conf.get(each) for each in _KEYTABS if conf.get(each)), None) or own_keytab
    identity = ServerIdentity(own_principal(conf, key, host), keytab)
    identity.check()
    of_type = keys.HADOOP_HTTP_AUTHENTICATION_TYPE
    return WebSecurity(
        identity,
        Negotiation(*cookie_rules(conf)),
        # It is the default of clusters without Kerberos, too: nothing is open by an omission.
        pages_are_open=conf.is_set(of_type)
        and conf.get(of_type) == "simple"
        and conf.get(keys.HADOOP_HTTP_AUTHENTICATION_SIMPLE_ANONYMOUS_ALLOWED),
        figures_need_admin=conf.get(keys.HADOOP_SECURITY_INSTRUMENTATION_REQUIRES_ADMIN),
    )


def cookie_rules(conf: Configuration) -> tuple[CookieSigner, int, CookieScope]:
    """Return by what cookies are signed, for how many milliseconds they count, and where browsers
    show them. Raises InvalidConfiguration."""
    return (
        CookieSigner(_secret(conf)),
        conf.get(keys.HADOOP_HTTP_AUTHENTICATION_TOKEN_VALIDITY) * 1000,
        CookieScope(
            _fit_for_cookie(conf, keys.HADOOP_HTTP_AUTHENTICATION_COOKIE_DOMAIN.name),
            _fit_for_cookie(conf, keys.HADOOP_HTTP_AUTHENTICATION_COOKIE_PATH.name),
        ),
    )


def check_web_principal(conf: Configuration, own_key: Key[str | None], purpose: str) -> None:
    """Raises InvalidConfiguration where a server that is secured has no principal for its web
    ports, which other servers need for a `purpose`."""
    if _principal_key(conf, own_key) is None:
        raise errors.InvalidConfiguration(
            f"{PRINCIPAL_KEY.name} is not set, nor is {own_key.name}: other servers prove "
            f"themselves by it at web ports, and without it {purpose}. Set it to HTTP/_HOST@REALM, "
            f"and {_KEYTABS[0].name} to a keytab with its key"
        )


def _principal_key(conf: Configuration, own_key: Key[str | None] | None) -> Key[str | None] | None:
    """By which key the principal of web ports is set."""
    named = (PRINCIPAL_KEY, own_key, keys.HADOOP_HTTP_AUTHENTICATION_KERBEROS_PRINCIPAL)
    return next((each for each in named if each is not None and conf.get(each)), None)


def _secret(conf: Configuration) -> bytes:
    """Return the whole content of the file, as Hadoop's servers take it, or dice."""
    key = keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE
    path = Path(conf.get(key))
    try:
        secret = path.read_bytes()
        refuse_if_others_write(path, "sign cookies of anybody")
        warn_if_shared(path, f"the secret of cookies ({key.name})", "sign cookies of anybody")
    except FileNotFoundError:
        if not conf.is_set(key):
            return os.urandom(_RANDOM_BYTES)
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): there is no file {path}"
        ) from None
    except errors.InvalidConfiguration as error:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): {error.message}"
        ) from None
    except OSError as error:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): {path} cannot be read: {error.strerror}"
        ) from error
    length = len(secret.strip())
    if length < LEAST_BYTES:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): the secret in {path} has {length} bytes, "
            f"and anybody could guess it who has a cookie: make one of {LEAST_BYTES} at least, by "
            f"'openssl rand -hex 32 > {path}; chmod 600 {path}', the same for all servers that "
            "share it"
        )
    if secret.strip() == _KNOWN_SECRET:
        raise errors.InvalidConfiguration(
            f"{key.name} (from {conf.source(key.name)}): the secret in {path} is the one that "
            f"everybody knows from Hadoop's files: make another, by 'openssl rand -hex 32 > {path}'"
        )
    return secret


def _fit_for_cookie(conf: Configuration, name: str) -> str:
    value = conf.raw(name) or ""
    if not value.isascii() or not value.isprintable() or set(value) & set(';," '):
        raise errors.InvalidConfiguration(
            f"{name} = {value!r} (from {conf.source(name)}) does not fit into a cookie"
        )
    return value
