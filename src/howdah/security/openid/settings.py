"""How users log in by OpenID Connect, by the configuration (shell: reads the client's secret)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.protocol.sasl.auth_to_local import Rule, parse_rules
from howdah.protocol.web_authentication.openid.metadata import check_address
from howdah.protocol.web_authentication.openid.tokens import ALGORITHMS
from howdah.runtime.secret_files import refuse_if_others_write, warn_if_shared
from howdah.security.server_checks import OPENID

_OPENID_SCOPE: Final = "openid"
_MOST_SECRET_BYTES: Final = 4096
_STAMP_CHARACTERS: Final = 16


@dataclass(frozen=True, slots=True)
class OpenIdSettings:
    """Of one server."""

    issuer: str
    client_id: str
    client_secret: str | None = field(repr=False)
    scopes: Sequence[str]
    username_claim: str
    user_rules: Sequence[Rule]
    rules_text: str
    algorithms: tuple[str, ...]
    bearer_audience: str | None
    """For whom access tokens have to be that programs show; None: none are taken."""
    ca_file: Path | None
    allows_plain: bool
    logs_out_at_provider: bool = True
    """Whether a log-out here leads to the provider's page for that."""

    @property
    def stamp(self) -> str:
        """Names all that decides which user somebody is: cookies end where that changes."""
        text = "\0".join((self.issuer, self.client_id, self.username_claim, self.rules_text))
        return hashlib.sha256(text.encode()).hexdigest()[:_STAMP_CHARACTERS]


def openid_settings(conf: Configuration) -> OpenIdSettings:
    """Raises InvalidConfiguration for what is missing, and for what lets nobody in."""
    _check_library()
    issuer = _needed(conf, keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_ISSUER)
    client_id = _needed(conf, keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_CLIENT_ID)
    allows_plain = conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP)
    try:
        check_address(issuer, allows_plain=allows_plain)
        if "?" in issuer:
            raise ValueError("an issuer has no query")
    except ValueError as error:
        raise _invalid(conf, keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_ISSUER, str(error)) from None
    of_rules = keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_USER_RULES
    rules_text = conf.get(of_rules) or ""
    try:
        rules = parse_rules(rules_text)
    except ValueError as error:
        raise _invalid(conf, of_rules, str(error)) from None
    of_algorithms = keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_ALGORITHMS
    allowed = conf.get(of_algorithms)
    algorithms = tuple(allowed)
    strange = [each for each in algorithms if each not in ALGORITHMS]
    if strange or not algorithms:
        raise _invalid(conf, of_algorithms, f"these are supported: {', '.join(ALGORITHMS)}")
    scopes = conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_SCOPES)
    if _OPENID_SCOPE not in scopes:
        scopes = [_OPENID_SCOPE, *scopes]
    return OpenIdSettings(
        issuer,
        client_id,
        _secret(conf),
        tuple(scopes),
        conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_USERNAME_CLAIM),
        rules,
        rules_text,
        algorithms,
        conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_BEARER_AUDIENCE),
        _file(conf, keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_CA_FILE),
        allows_plain,
        conf.get(keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_LOGOUT_AT_PROVIDER),
    )


def _check_library() -> None:
    """Raises InvalidConfiguration."""
    if find_spec("authlib") is None or find_spec("joserfc") is None:
        raise errors.InvalidConfiguration(
            f"{keys.HOWDAH_HTTP_AUTHENTICATION.name} = {OPENID} needs the package authlib: "
            "pip install 'howdah[oidc]'"
        )


def _needed(conf: Configuration, key: Key[str | None]) -> str:
    value = conf.get(key)
    if not value:
        raise errors.InvalidConfiguration(
            f"{keys.HOWDAH_HTTP_AUTHENTICATION.name} = {OPENID}, and {key.name} is not set"
        )
    return value


def _file(conf: Configuration, key: Key[str | None]) -> Path | None:
    named = conf.get(key)
    if not named:
        return None
    path = Path(named).expanduser()
    if not path.is_file():
        raise _invalid(conf, key, f"there is no file {path}")
    return path


def _secret(conf: Configuration) -> str | None:
    """Return the client's secret, without the end of its line; None where it has none. Raises
    InvalidConfiguration."""
    key = keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_CLIENT_SECRET_FILE
    path = _file(conf, key)
    if path is None:
        return None
    try:
        refuse_if_others_write(path, "have passwords of users sent to another provider")
        warn_if_shared(path, f"the client's secret ({key.name})", "log in as this client")
        with path.open("rb") as file:
            secret = file.read(_MOST_SECRET_BYTES + 1).strip()
    except errors.InvalidConfiguration as error:
        raise _invalid(conf, key, error.message) from None
    except OSError as error:
        raise _invalid(conf, key, f"{path} cannot be read: {error.strerror}") from None
    if not secret or len(secret) > _MOST_SECRET_BYTES or not secret.isascii():
        raise _invalid(conf, key, f"{path} has no secret: a line of ASCII")
    return secret.decode()


def _invalid(conf: Configuration, key: Key[str | None] | Key[list[str]], reason: str) -> Exception:
    return errors.InvalidConfiguration(f"{key.name} (from {conf.source(key.name)}): {reason}")
