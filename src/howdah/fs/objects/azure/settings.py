"""What Hadoop's keys `fs.azure.*` say about one container.

Of WASB's and ABFS's keys those that name accounts and secrets, and ABFS's for sizes and times.
A secret for an account is looked for under its host of the Blob service, of Data Lake Storage,
and, for `auth.type`, without one. What the configuration does not say, the variables of
Microsoft's tools may.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.tuning import Tuning
from howdah.runtime.tls.http_policy import Place

_SUFFIX: Final = "core.windows.net"
_BATCH: Final = 256
_THREADS: Final = 64
_FSSPEC: Final = tuple(f"fsspec.{scheme}." for scheme in ("az", "abfs", "abfss", "wasb", "wasbs"))
# Keys that change what is written, or who one is; ignoring them would be worse than refusing.
_NOT_SUPPORTED: Final = (
    "fs.azure.account.hns.enabled",
    "fs.azure.client-provided-encryption-key",
    "fs.azure.encryption.context.provider.type",
    "fs.azure.encryption.encoded.client-provided-key",
    "fs.azure.appendblob.directories",
    "fs.azure.infinite-lease.directories",
    "fs.azure.page.blob.dir",
    "fs.azure.block.blob.with.compaction.dir",
    "fs.azure.sas.token.provider.type",
    "fs.azure.authorization",
    "fs.azure.secure.mode",
    "fs.azure.storage.emulator.account.name",
)
_CREDENTIAL_FILES: Final = "hadoop.security.credential.provider.path"
_SIMPLE_PROVIDER: Final = "SimpleKeyProvider"


class Secrets:
    """What opens a container; neither printed nor compared by accident."""

    __slots__ = ("key", "sas")

    def __init__(self, key: bytes | None, sas: str | None) -> None:
        self.key = key
        self.sas = sas

    def are_those_of(self, other: Secrets) -> bool:
        return (self.key, self.sas) == (other.key, other.sas)

    def __repr__(self) -> str:
        kind = "key" if self.key else "SAS" if self.sas else "none"
        return f"Secrets({kind})"


@dataclass(frozen=True, slots=True)
class AzureSettings(Tuning):
    """How to reach a container, and how to write and read there. `root` is what goes before
    the container in the path of a request: the account, where that is not in the host."""

    _: KW_ONLY
    account: str
    place: Place
    root: str
    secrets: Secrets = field(compare=False)

    @property
    def container(self) -> str:
        return self.bucket

    def why_not_copied_from(self, other: AzureSettings) -> str | None:
        """What keeps one request from reading another container and writing this one."""
        if (self.account, self.place, self.root) != (other.account, other.place, other.root):
            return (
                f"{other.container} is in account {other.account} at {other.place}, and "
                f"{self.container} in {self.account} at {self.place}"
            )
        if not self.secrets.are_those_of(other.secrets):
            return f"{other.container} and {self.container} have other credentials"
        return None


def settings_of(
    scheme: str, authority: str, conf: Configuration, environ: Mapping[str, str] = os.environ
) -> AzureSettings:
    """Raises `IllegalArgument`, and `InvalidConfiguration` for what cannot be used or is not
    supported."""
    container, _, host = authority.partition("@")
    if not container:
        raise errors.IllegalArgument(
            f"{scheme}:// names no container: {scheme}://CONTAINER@ACCOUNT.dfs.{_SUFFIX}/"
        )
    given = _connection_string(environ.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    own = environ.get("AZURE_STORAGE_ACCOUNT") or environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    own = own or given.get("AccountName")
    host = host or own or ""
    if not host:
        raise errors.IllegalArgument(
            f"{scheme}://{container} names no account: {scheme}://{container}@ACCOUNT.dfs."
            f"{_SUFFIX}/, or AZURE_STORAGE_ACCOUNT in the environment"
        )
    if "." not in host:
        host = f"{host}.blob.{_SUFFIX}"
    account, _, domain = host.partition(".")
    domain = domain.removeprefix("dfs.").removeprefix("blob.")
    hosts = (f"{account}.blob.{domain}", f"{account}.dfs.{domain}")
    _check_supported(conf, (account, *hosts))
    secrets = _secrets(conf, container, hosts)
    if secrets.key is None and secrets.sas is None and (conf.raw(_CREDENTIAL_FILES) or "").strip():
        # Hadoop looks there; who the environment says we are may be somebody else.
        raise errors.InvalidConfiguration(
            f"{_CREDENTIAL_FILES} (from {conf.source(_CREDENTIAL_FILES)}) is not read: set "
            f"fs.azure.account.key.{hosts[1]}"
        )
    if secrets.key is None and secrets.sas is None and own in (None, account):
        secrets = Secrets(
            _key(environ.get("AZURE_STORAGE_KEY") or given.get("AccountKey"), "AZURE_STORAGE_KEY"),
            _sas(
                environ.get("AZURE_STORAGE_SAS_TOKEN") or given.get("SharedAccessSignature") or ""
            ),
        )
    place, root = _endpoint(scheme, account, hosts[0], conf)
    part_bytes = conf.get(keys.FS_AZURE_WRITE_REQUEST_SIZE)
    return AzureSettings(
        bucket=container,
        account=account,
        place=place,
        root=root,
        secrets=secrets,
        connections=_THREADS,
        connect_timeout_s=conf.get(keys.FS_AZURE_HTTP_CONNECTION_TIMEOUT),
        read_timeout_s=conf.get(keys.FS_AZURE_HTTP_READ_TIMEOUT),
        retries=_retries(conf),
        page_keys=min(conf.get(keys.FS_AZURE_LIST_MAX_RESULTS), 5000),
        delete_keys=_BATCH,
        threads=_THREADS,
        active_parts=conf.get(keys.FS_AZURE_BLOCK_UPLOAD_ACTIVE_BLOCKS),
        part_bytes=part_bytes,
        copy_part_bytes=part_bytes,
        # A copy of any size is one request.
        copy_threshold_bytes=1 << 62,
        readahead_bytes=conf.get(keys.FS_AZURE_READAHEAD_RANGE),
        vectored_gap_bytes=128 << 10,
        vectored_read_bytes=2 << 20,
        detects_changes=True,
        warns_of_changes=False,
        by_version=False,
        with_checksums=True,
    )


def _retries(conf: Configuration) -> RetryRules:
    limit = conf.get(keys.FS_AZURE_IO_RETRY_MAX_RETRIES)
    interval_s = conf.get(keys.FS_AZURE_IO_RETRY_MIN_BACKOFF_INTERVAL)
    return RetryRules(limit, interval_s, limit, interval_s)


def _check_supported(conf: Configuration, names: tuple[str, ...]) -> None:
    for name, _ in conf.items():
        if name.startswith(_FSSPEC):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not read: Azure is not served by fsspec; "
                "set fs.azure.account.key.ACCOUNT and its like"
            )
    refused = [(key, f"{key}.{host}") for key in _NOT_SUPPORTED for host in names]
    for name in dict.fromkeys(key for pair in refused for key in pair):
        value = (conf.raw(name) or "").strip()
        if value and value.lower() not in ("false", "none"):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not supported for containers of Azure"
            )
    for name in _account_keys("fs.azure.account.keyprovider", names):
        value = (conf.raw(name) or "").strip()
        if value and value.rpartition(".")[2] != _SIMPLE_PROVIDER:
            raise errors.InvalidConfiguration(
                f"{name} = {value} is not supported: give the key itself (fs.azure.account.key)"
            )


def _account_keys(name: str, names: tuple[str, ...]) -> list[str]:
    """Return the configuration key for each name of an account, then the one for all accounts."""
    return [*(f"{name}.{host}" for host in names), name]


def _first(conf: Configuration, names: list[str]) -> tuple[str, str] | None:
    for name in names:
        value = (conf.raw(name) or "").strip()
        if value:
            return name, value
    return None


def _secrets(conf: Configuration, container: str, hosts: tuple[str, ...]) -> Secrets:
    auth_type = _first(conf, _account_keys("fs.azure.account.auth.type", hosts))
    kind = "SharedKey" if auth_type is None else auth_type[1]
    key = _first(conf, _account_keys("fs.azure.account.key", hosts))
    sas = _first(
        conf,
        [
            *(f"fs.azure.sas.fixed.token.{container}.{host}" for host in hosts),
            *_account_keys("fs.azure.sas.fixed.token", hosts),
            *(f"fs.azure.sas.{container}.{host}" for host in hosts),
        ],
    )
    if kind.lower() == "sas":
        if sas is None:
            raise errors.InvalidConfiguration(
                f"fs.azure.account.auth.type is SAS, and there is no fs.azure.sas.fixed.token."
                f"{hosts[0]}"
            )
        return Secrets(None, _sas(sas[1]))
    if kind.lower() != "sharedkey":
        raise errors.InvalidConfiguration(
            f"fs.azure.account.auth.type = {kind} is not supported; there are SharedKey and SAS"
        )
    if key is not None:
        return Secrets(_key(key[1], key[0]), None)
    return Secrets(None, _sas(sas[1]) if sas else None)


def _key(text: str | None, name: str) -> bytes | None:
    if not text:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise errors.InvalidConfiguration(
            f"{name} is not Base64, as keys of accounts are"
        ) from None


def _sas(text: str) -> str | None:
    return text.strip().removeprefix("?") or None


def _connection_string(text: str) -> dict[str, str]:
    """Split `AccountName=…;AccountKey=…` into its fields. Its endpoints are not used."""
    pairs = (pair.partition("=") for pair in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if value}


def _endpoint(scheme: str, account: str, host: str, conf: Configuration) -> tuple[Place, str]:
    endpoint = conf.get(keys.FS_AZURE_ABFS_ENDPOINT)
    is_secure = scheme in ("az", "abfss", "wasbs")
    if scheme == "abfs":
        is_secure = conf.get(keys.FS_AZURE_ALWAYS_USE_HTTPS)
    if not endpoint:
        return Place(is_secure, host, 443 if is_secure else 80), ""
    name = keys.FS_AZURE_ABFS_ENDPOINT.name
    kind, mark, rest = endpoint.rpartition("://")
    if mark and kind not in ("http", "https"):
        raise errors.InvalidConfiguration(f"{name} = {endpoint!r} is neither http nor https")
    is_secure = kind == "https" if mark else is_secure
    server, colon, port = rest.rstrip("/").rpartition(":")
    if (
        not colon
        or not (port.isascii() and port.isdigit())
        or not server
        or not 0 < int(port) < 65536
    ):
        raise errors.InvalidConfiguration(f"{name} = {endpoint!r} is not HOST:PORT")
    return Place(is_secure, server.strip("[]"), int(port)), f"/{account}"
