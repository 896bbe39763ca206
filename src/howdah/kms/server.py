"""`howdah kms`: the process (shell). Hadoop: KMSWebServer, KMSWebApp."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, check_protection, keys
from howdah.config.settings import read
from howdah.config.value_types import Key
from howdah.formats.tokens.token import KMS_DELEGATION
from howdah.kms import vault
from howdah.kms.call_audit import CallAudit
from howdah.kms.key_file import KeyFile, token_secrets_beside
from howdah.kms.pages import PATH, ROLE, KeyPages
from howdah.kms.security import RULES, KeySecurity, security_of
from howdah.kms.service import KeyService
from howdah.kms.state.access import FILE, PREFIXES, KeyAccess
from howdah.kms.token_guard import TokenGuard
from howdah.kms.token_records import TokenRecords
from howdah.kms.tokens import TokensInFiles, TokenTimes
from howdah.protocol.encryption_zones.provider_address import ProviderAddress
from howdah.runtime import serve
from howdah.runtime.process_identity import AskedToEnd
from howdah.runtime.tls.http_policy import Place
from howdah.runtime.tls.server import ServerTls
from howdah.runtime.users.groups import groups_from
from howdah.runtime.users.impersonation import OnThread
from howdah.security.guarded_file import signature_of
from howdah.security.sealing import passphrase_in
from howdah.security.server_checks import THERE_WITH_KERBEROS, is_secured
from howdah.security.server_tokens import ServerTokens, TokenStore
from howdah.security.zookeeper_tokens import (
    TokensInZooKeeper,
    ZooKeeperTokenKeys,
    token_place,
)
from howdah.web.channel import Patience
from howdah.web.own_hosts import hosts_of
from howdah.web.server import HttpServer

log = logging.getLogger(__name__)

PROXY_PREFIX: Final = "hadoop.kms.proxyuser."
ZOOKEEPER_KEYS: Final = ZooKeeperTokenKeys(
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ENABLE,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKCONNECTIONSTRING,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZNODEWORKINGPATH,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKAUTHTYPE,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_PRINCIPAL,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_KERBEROS_KEYTAB,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKSESSIONTIMEOUT,
    keys.HADOOP_KMS_AUTHENTICATION_ZK_DT_SECRET_MANAGER_ZKNUMRETRIES,
)
_LOOK_S: Final = 1.0


class AccessFile:
    """The lists of `kms-acls.xml`, which are read anew when the file has changed. Thread-safe.

    A file that cannot be read any more leaves the lists as they were, and says so.
    """

    def __init__(self, conf: Configuration) -> None:
        """Raises InvalidConfiguration."""
        self._conf = conf
        self._path = None if conf.directory is None else conf.directory / FILE
        self._groups = groups_from(conf)
        self._lock = threading.Lock()
        self._seen = self._signature()
        self._looked_s = time.monotonic()
        self._access = self._read()

    def _signature(self) -> tuple[int, ...]:
        return () if self._path is None else signature_of(self._path)

    def _read(self) -> KeyAccess:
        conf = self._conf.with_own_site_file(FILE)
        settings = [(key, conf.raw(key) or "") for key, _ in conf.items()]
        return KeyAccess(
            [setting for setting in settings if setting[0].startswith(PREFIXES)], self._groups
        )

    def get(self) -> KeyAccess:
        """Return the lists as they are now."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._looked_s >= _LOOK_S:
                self._looked_s = now_s
                seen = self._signature()
                if seen != self._seen:
                    self._seen = seen
                    try:
                        self._access = self._read()
                        log.info("%s was read anew", self._path)
                    except errors.InvalidConfiguration as error:
                        log.error("%s; who may do what stays as it was", error)
            return self._access


def check_kms_protection(conf: Configuration) -> None:
    """Raises InvalidConfiguration for a protection that is asked for and that a key server
    lacks."""
    check_protection(
        conf,
        (THERE_WITH_KERBEROS if is_secured(conf) else frozenset())
        | {keys.DFS_ENCRYPT_DATA_TRANSFER.name, keys.DFS_BLOCK_ACCESS_TOKEN_ENABLE.name},
    )


def _key_file_of(conf: Configuration, passphrase: str) -> KeyFile:
    found = KeyFile(_path_of(conf, keys.HOWDAH_KMS_KEYS_FILE), passphrase)
    found.keys()
    return found


def passphrase_of(conf: Configuration) -> str:
    """Return the passphrase of the file of keys, which may have to be decrypted by Vault. Raises
    InvalidConfiguration."""
    text = passphrase_in(_path_of(conf, keys.HOWDAH_KMS_PASSPHRASE_FILE))
    return vault.opened(conf, text) if vault.is_of_vault(text) else text


def _path_of(conf: Configuration, key: Key[str | None]) -> Path:
    path = conf.get(key)
    if not path:
        raise errors.InvalidConfiguration(f"{key.name} is not set: {key.doc}")
    return Path(path).expanduser()


def _tokens_of(
    conf: Configuration, store: KeyFile, passphrase: str, security: KeySecurity
) -> ServerTokens:
    place = token_place(conf, ZOOKEEPER_KEYS, conf.get(keys.HADOOP_KMS_HTTP_HOST))
    kept: TokenStore
    if place is not None:
        kept = TokensInZooKeeper(place, "the key servers")
        kept.prepare()
    else:
        made_by = token_secrets_beside(store.path, passphrase)
        made_by.entries()
        records = TokenRecords(store.path.with_name(f"{store.path.name}.tokens"))
        kept = TokensInFiles(made_by, records)
    return ServerTokens(read(TokenTimes, conf), kept, KMS_DELEGATION, security.short_name)


def run(conf: Configuration, ready_file: Path | None = None) -> int:
    """Serve until SIGTERM; the exit code. What hinders the start is logged and gives 1. `conf` has
    plain keys (`howdah.kms.security`)."""
    stop = AskedToEnd()
    serve.on_signals(stop.set)
    server = None
    try:
        passphrase = passphrase_of(conf)
        store = _key_file_of(conf, passphrase)
        access = AccessFile(conf)
        audit = CallAudit(conf.get(keys.HADOOP_KMS_AUDIT_AGGREGATION_WINDOW_MS))
        service = KeyService(store, access.get, audit=audit)
        security = security_of(conf)
        tokens = _tokens_of(conf, store, passphrase, security)
        impersonation = OnThread.of(conf, PROXY_PREFIX)
        pages = KeyPages(service, store, tokens, impersonation, short_name=security.short_name)
        timeout_s = conf.get(keys.HADOOP_HTTP_IDLE_TIMEOUT_MS)
        server = HttpServer(
            pages.answer,
            timeout_s=timeout_s,
            patience=Patience.of(timeout_s),
            max_connections=conf.get(keys.HADOOP_HTTP_MAX_THREADS),
            remembers_heads=True,
        )
        server.hosts = hosts_of(conf)
        server.guard = TokenGuard(security.guard, tokens, RULES)
        tls = None
        if conf.get(keys.HADOOP_KMS_SSL_ENABLED):
            tls = ServerTls.of(conf, conf.get(keys.HADOOP_SSL_SERVER_CONF))
        host, port = conf.get(keys.HADOOP_KMS_HTTP_HOST), conf.get(keys.HADOOP_KMS_HTTP_PORT)
        place = Place(tls is not None, host, server.start(host, port, tls))
    except (errors.HowdahError, OSError) as error:
        log.critical("the key server cannot start: %s", error)
        return 1
    try:
        serve.warn_if_exposed("key server", server.bound)
        address = ProviderAddress(place.is_secure, (place.host,), place.port, PATH)
        log.info("%d keys in %s", len(store.keys()), store.path)
        log.info("serving keys at %s", address)
        serve.write_ready_file(ready_file, ROLE, **{place.scheme: place.header})
        while not stop.wait(_LOOK_S):
            audit.write_due()
    finally:
        server.stop()
        tokens.close()
        audit.write_all()
    log.info("stopped")
    return 0
