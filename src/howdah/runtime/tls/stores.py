"""What ssl-server.xml and ssl-client.xml say (shell: reads files). Hadoop: SSLFactory,
FileBasedKeyStoresFactory, DFSUtil.loadSslConfiguration.

Neither file is merged into the configuration of a program: their passwords are never among what
`/conf`, `getconf` or a log shows. A password stands in the file itself; one from a credential
provider (`hadoop.security.credential.provider.path`) is refused by name.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from howdah.config import Configuration, keys
from howdah.config.value_types import parse_bool, parse_duration, parse_list
from howdah.errors import InvalidConfiguration

log = logging.getLogger(__name__)

TYPES: Final = ("jks", "pkcs12", "pem")
RELOAD_S: Final = 10.0
_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_TOO_OLD: Final = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_PROVIDERS: Final = "hadoop.security.credential.provider.path"


class Secret:
    """A text that no message, log or traceback shows."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "Secret(...)"


@dataclass(frozen=True, slots=True)
class Store:
    """A file with keys or certificates; `key` is the setting that names it."""

    key: str
    path: Path
    type: str
    password: Secret | None
    key_password: Secret | None = None


@dataclass(frozen=True, slots=True)
class Stores:
    """One side of TLS. `keystore` is what it says of itself, `truststore` whom it believes."""

    keystore: Store | None
    truststore: Store | None
    needs_client_certificate: bool
    excluded_ciphers: tuple[str, ...]
    included_ciphers: tuple[str, ...]
    versions: tuple[str, ...]
    reload_s: float


def server_stores(conf: Configuration, resource: str | None = None) -> Stores:
    """Return what a server needs; `resource` is another file than
    `dfs.https.server.keystore.resource` says. Raises InvalidConfiguration."""
    path = server_resource(conf, resource)
    file = _File(conf, path, "server")
    stores = file.stores(conf)
    if stores.keystore is None:
        raise InvalidConfiguration(
            f"{path} does not set {file.name('keystore.location')}: HTTPS needs a keystore"
        )
    if stores.needs_client_certificate and stores.truststore is None:
        raise InvalidConfiguration(
            f"{path} does not set {file.name('truststore.location')}, and certificates of clients "
            f"are asked for ({keys.DFS_CLIENT_HTTPS_NEED_AUTH.name}): nobody's would be believed"
        )
    return stores


def server_resource(conf: Configuration, resource: str | None = None) -> Path:
    """The file that describes a server's keystore. Raises InvalidConfiguration."""
    key = keys.DFS_HTTPS_SERVER_KEYSTORE_RESOURCE
    path = _resource(conf, resource or conf.get(key))
    if path is None:
        raise InvalidConfiguration(
            f"there is no file {resource or conf.get(key)} in the configuration's directory "
            f"({conf.directory or 'none'}): HTTPS needs it ({key.name}) to say where the "
            "certificate is"
        )
    return path


def client_stores(conf: Configuration) -> Stores:
    """What a client needs. Without a file, or a truststore in it, it trusts whom the system
    trusts. Raises InvalidConfiguration."""
    named = conf.get(keys.DFS_CLIENT_HTTPS_KEYSTORE_RESOURCE)
    name = conf.get(keys.HADOOP_SSL_CLIENT_CONF)
    if named is not None and not conf.is_set(keys.HADOOP_SSL_CLIENT_CONF):
        name = named
    path = _resource(conf, name)
    if path is None:
        return Stores(None, None, False, (), (), versions(conf), RELOAD_S)
    return _File(conf, path, "client").stores(conf)


def versions(conf: Configuration) -> tuple[str, ...]:
    """Return the versions of TLS that are spoken. Raises InvalidConfiguration."""
    key = keys.HADOOP_SSL_ENABLED_PROTOCOLS
    listed = conf.get(key)
    strange = [name for name in listed if name not in (*_VERSIONS, *_TOO_OLD)]
    supported = tuple(name for name in _VERSIONS if name in listed)
    if strange or not supported:
        raise InvalidConfiguration(
            f"{key.name} = {', '.join(listed)} (from {conf.source(key.name)}): "
            f"{' and '.join(_VERSIONS)} are supported"
        )
    old = [name for name in listed if name in _TOO_OLD]
    if old:
        log.warning("%s: %s is not spoken, %s is", key.name, ", ".join(old), ", ".join(supported))
    return supported


def _resource(conf: Configuration, name: str) -> Path | None:
    path = Path(name)
    if not path.is_absolute():
        if conf.directory is None:
            return None
        path = conf.directory / path
    if not path.is_file():
        if Path(name).is_absolute():
            raise InvalidConfiguration(f"there is no file {path}, which should describe keystores")
        return None
    return path


class _File:
    """One of the two files; `side` is in the names of its keys."""

    def __init__(self, conf: Configuration, path: Path, side: str) -> None:
        self._path = path
        self._side = side
        self._values = Configuration.load(files=[path], environment=False)
        self._has_providers = bool(conf.raw(_PROVIDERS) or self._values.raw(_PROVIDERS))

    def name(self, key: str) -> str:
        return f"ssl.{self._side}.{key}"

    def stores(self, conf: Configuration) -> Stores:
        needs = conf.get(keys.DFS_CLIENT_HTTPS_NEED_AUTH) or self._flag("need.client.auth")
        return Stores(
            keystore=self._store("keystore"),
            truststore=self._store("truststore"),
            needs_client_certificate=self._side == "server" and needs,
            excluded_ciphers=tuple(parse_list(self._text("exclude.cipher.list"))),
            included_ciphers=tuple(parse_list(self._text("include.cipher.list"))),
            versions=versions(conf),
            reload_s=self._reload_s(),
        )

    def _store(self, store_name: str) -> Store | None:
        location = self._text(f"{store_name}.location")
        if not location:
            return None
        path = Path(location.removeprefix("file://"))
        if not path.is_absolute():
            path = self._path.parent / path
        kind = self._text(f"{store_name}.type").lower() or "jks"
        if kind in ("pkcs#12", "p12"):
            kind = "pkcs12"
        if kind not in TYPES:
            raise InvalidConfiguration(
                f"{self.name(f'{store_name}.type')} = {kind} (from {self._path}) is not supported, "
                "only JKS, PKCS12 and PEM; keytool -importkeystore makes PKCS12 of it"
            )
        password = self._password(f"{store_name}.password")
        key_password = None
        if store_name == "keystore":
            key_password = self._password("keystore.keypassword") or password
        return Store(self.name(f"{store_name}.location"), path, kind, password, key_password)

    def _text(self, key: str) -> str:
        return (self._values.raw(self.name(key)) or "").strip()

    def _flag(self, key: str) -> bool:
        try:
            return parse_bool(self._text(key) or "false")
        except ValueError as error:
            raise InvalidConfiguration(f"{self.name(key)} (from {self._path}): {error}") from error

    def _password(self, key: str) -> Secret | None:
        name = self.name(key)
        try:
            text = self._values.raw(name)
        except InvalidConfiguration:
            # Its words would show the password.
            raise InvalidConfiguration(
                f"{name} (from {self._path}): its variables make no value"
            ) from None
        if text:
            return Secret(text)
        if self._has_providers:
            raise InvalidConfiguration(
                f"{name} is not in {self._path}, and {_PROVIDERS} is not supported: a password "
                "stands in that file, which its owner alone should be able to read"
            )
        return None

    def _reload_s(self) -> float:
        for key in ("stores.reload.interval", "truststore.reload.interval"):
            text = self._text(key)
            if text:
                try:
                    return max(parse_duration(text, "ms"), 0.0)
                except ValueError as error:
                    raise InvalidConfiguration(
                        f"{self.name(key)} (from {self._path}): {error}"
                    ) from error
        return RELOAD_S
