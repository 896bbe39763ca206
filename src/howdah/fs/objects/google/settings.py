"""What Hadoop's keys `fs.gs.*` say about one bucket.

`google.cloud.auth.X` counts where `fs.gs.auth.X` is not set, as in Hadoop.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final
from urllib.parse import urlsplit

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import Key
from howdah.fs.objects.google.resumable import UNIT_BYTES
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.tuning import Tuning
from howdah.runtime.tls.http_policy import Place

_BATCH: Final = 100
_THREADS: Final = 64
_RETRY_INTERVAL_S: Final = 0.5
_LARGEST_PAGE: Final = 1000
_ROOT: Final = "https://storage.googleapis.com"
_FSSPEC: Final = ("fsspec.gs.", "fsspec.gcs.")
KINDS: Final = (
    "APPLICATION_DEFAULT",
    "COMPUTE_ENGINE",
    "SERVICE_ACCOUNT_JSON_KEYFILE",
    "USER_CREDENTIALS",
    "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE",
    "UNAUTHENTICATED",
)
# Keys that change what is written, or who one is; ignoring them would be worse than refusing.
_NOT_SUPPORTED: Final = (
    "fs.gs.encryption.algorithm",
    "fs.gs.encryption.key",
    "fs.gs.encryption.key.hash",
    "fs.gs.proxy.address",
    "fs.gs.requester.pays.mode",
    "fs.gs.auth.impersonation.service.account",
    "fs.gs.auth.access.token.provider",
    "fs.gs.auth.access.token.provider.impl",
    "fs.gs.auth.service.account.keyfile",
    "fs.gs.hierarchical.namespace.folders.enable",
)
_CREDENTIAL_FILES: Final = "hadoop.security.credential.provider.path"
_OF_A_STREAM: Final = "fs.gs.outputstream.type"


class Secrets:
    """The configuration's own credentials; neither printed nor compared by accident."""

    __slots__ = ("client_id", "client_secret", "refresh_token")

    def __init__(
        self, client_id: str | None, client_secret: str | None, refresh_token: str | None
    ) -> None:
        self.client_id = client_id
        self.client_secret = client_secret
        self.refresh_token = refresh_token

    def are_those_of(self, other: Secrets) -> bool:
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __repr__(self) -> str:
        return f"Secrets({'given' if self.client_secret else 'none'})"


@dataclass(frozen=True, slots=True)
class GoogleSettings(Tuning):
    """How to reach a bucket, and how to write and read there."""

    _: KW_ONLY
    place: Place
    auth: str
    key_file: str | None
    token_url: str | None
    secrets: Secrets = field(compare=False)

    def why_not_copied_from(self, other: GoogleSettings) -> str | None:
        """What keeps one request from reading another bucket and writing this one."""
        if self.place != other.place:
            return f"{other.bucket} is at {other.place}, and {self.bucket} at {self.place}"
        if (self.auth, self.key_file) != (other.auth, other.key_file) or not (
            self.secrets.are_those_of(other.secrets)
        ):
            return f"{other.bucket} and {self.bucket} have other credentials"
        return None


def settings_of(
    authority: str, conf: Configuration, environ: Mapping[str, str] = os.environ
) -> GoogleSettings:
    """Raises `IllegalArgument`, and `InvalidConfiguration` for what cannot be used or is not
    supported."""
    if not authority:
        raise errors.IllegalArgument("gs:// names no bucket: gs://BUCKET/")
    if "@" in authority or ":" in authority:
        raise errors.IllegalArgument(f"gs://{authority} is not supported: gs://BUCKET/")
    _check_supported(conf)
    emulator = environ.get("STORAGE_EMULATOR_HOST")
    root = conf.get(keys.FS_GS_STORAGE_ROOT_URL)
    usual = "APPLICATION_DEFAULT"
    if not root and emulator:
        root = emulator if "://" in emulator else f"http://{emulator}"
        usual = "UNAUTHENTICATED"
    auth = (_auth(conf, keys.FS_GS_AUTH_TYPE) or usual).upper()
    if auth not in KINDS:
        raise errors.InvalidConfiguration(
            f"{keys.FS_GS_AUTH_TYPE.name} = {auth} is not supported; there are {', '.join(KINDS)}"
        )
    retries = conf.get(keys.FS_GS_HTTP_MAX_RETRY)
    part_bytes = conf.get(keys.FS_GS_OUTPUTSTREAM_BUFFER_SIZE) // UNIT_BYTES * UNIT_BYTES
    return GoogleSettings(
        bucket=authority,
        place=_endpoint(root or _ROOT),
        auth=auth,
        key_file=_key_file(conf, auth),
        token_url=conf.get(keys.FS_GS_TOKEN_SERVER_URL),
        secrets=_secrets(conf, auth),
        connections=_THREADS,
        connect_timeout_s=conf.get(keys.FS_GS_HTTP_CONNECT_TIMEOUT),
        read_timeout_s=conf.get(keys.FS_GS_HTTP_READ_TIMEOUT),
        retries=RetryRules(retries, _RETRY_INTERVAL_S, retries, _RETRY_INTERVAL_S),
        page_keys=min(conf.get(keys.FS_GS_LIST_MAX_ITEMS_PER_CALL), _LARGEST_PAGE),
        delete_keys=_BATCH,
        threads=_THREADS,
        # A session takes one request after the other; the next part fills meanwhile.
        active_parts=1,
        part_bytes=part_bytes,
        copy_part_bytes=part_bytes,
        # A copy of any size is one call.
        copy_threshold_bytes=1 << 62,
        readahead_bytes=conf.get(keys.FS_GS_INPUTSTREAM_MIN_RANGE_REQUEST_SIZE),
        vectored_gap_bytes=128 << 10,
        vectored_read_bytes=2 << 20,
        detects_changes=True,
        warns_of_changes=False,
        by_version=False,
        with_checksums=True,
    )


def _check_supported(conf: Configuration) -> None:
    for name, _ in conf.items():
        if name.startswith(_FSSPEC):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not read: gs:// is not served by fsspec; "
                "set fs.gs.auth.type and its like"
            )
    for name in _NOT_SUPPORTED:
        value = (conf.raw(name) or "").strip()
        if value and value.lower() not in ("false", "none", "disabled"):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not supported for buckets of Google"
            )
    kind = (conf.raw(_OF_A_STREAM) or "BASIC").strip()
    if kind.upper() != "BASIC":
        raise errors.InvalidConfiguration(
            f"{_OF_A_STREAM} = {kind} is not supported: a file is there when it is closed"
        )


def _auth(conf: Configuration, key: Key[str | None]) -> str | None:
    value = conf.get(key) or conf.raw(key.name.replace("fs.gs.", "google.cloud.", 1))
    return value.strip() if value else None


def _key_file(conf: Configuration, auth: str) -> str | None:
    key = {
        "SERVICE_ACCOUNT_JSON_KEYFILE": keys.FS_GS_AUTH_SERVICE_ACCOUNT_JSON_KEYFILE,
        "WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE": (
            keys.FS_GS_AUTH_WORKLOAD_IDENTITY_FEDERATION_CREDENTIAL_CONFIG_FILE
        ),
    }.get(auth)
    if key is None:
        return None
    path = _auth(conf, key)
    if not path:
        raise errors.InvalidConfiguration(f"fs.gs.auth.type is {auth}, and {key.name} is not set")
    return path


def _secrets(conf: Configuration, auth: str) -> Secrets:
    if auth != "USER_CREDENTIALS":
        return Secrets(None, None, None)
    names = (
        keys.FS_GS_AUTH_CLIENT_ID,
        keys.FS_GS_AUTH_CLIENT_SECRET,
        keys.FS_GS_AUTH_REFRESH_TOKEN,
    )
    values = [_auth(conf, key) for key in names]
    for key, value in zip(names, values, strict=True):
        if not value:
            files = (conf.raw(_CREDENTIAL_FILES) or "").strip()
            unread = f" ({_CREDENTIAL_FILES} is not read)" if files else ""
            raise errors.InvalidConfiguration(
                f"fs.gs.auth.type is {auth}, and {key.name} is not set{unread}"
            )
    return Secrets(*values)


def _endpoint(url: str) -> Place:
    name = keys.FS_GS_STORAGE_ROOT_URL.name
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise errors.InvalidConfiguration(f"{name} = {url!r}: {error}") from error
    if parts.scheme not in ("http", "https") or not host or parts.path.strip("/"):
        raise errors.InvalidConfiguration(f"{name} = {url!r} is not an http(s) URL of a host")
    is_secure = parts.scheme == "https"
    return Place(is_secure, host, port or (443 if is_secure else 80))
