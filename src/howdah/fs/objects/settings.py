"""What Hadoop's keys `fs.s3a.*` say about one bucket.

`fs.s3a.bucket.NAME.X` counts instead of `fs.s3a.X`. Secrets are kept apart, in an object that
shows none of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from howdah import errors, keys
from howdah.config import Configuration
from howdah.fs.objects.parts import MAX_COPY_BYTES
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.tuning import Tuning

_PREFIX: Final = "fs.s3a."
_FSSPEC: Final = ("fsspec.s3.", "fsspec.s3a.")
_REGION_OF_HOST: Final = re.compile(r"s3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d+)\.amazonaws")
_LARGEST_PAGE: Final = 1000
DEFAULT_REGION: Final = "us-east-1"
# Keys of S3A that change what is written; ignoring them would be worse than refusing.
_NOT_SUPPORTED: Final = (
    "fs.s3a.server-side-encryption-algorithm",
    "fs.s3a.server-side-encryption.key",
    "fs.s3a.encryption.algorithm",
    "fs.s3a.encryption.key",
    "fs.s3a.acl.default",
    "fs.s3a.create.storage.class",
    "fs.s3a.requester.pays.enabled",
    "fs.s3a.proxy.host",
    "hadoop.security.credential.provider.path",
    "fs.s3a.security.credential.provider.path",
)


class Secrets:
    """The keys that a configuration gives; neither printed nor compared by accident."""

    __slots__ = ("access_key", "secret_key", "session_token")

    def __init__(
        self, access_key: str | None, secret_key: str | None, session_token: str | None
    ) -> None:
        self.access_key = access_key
        self.secret_key = secret_key
        self.session_token = session_token

    def __repr__(self) -> str:
        return f"Secrets({'given' if self.secret_key else 'none'})"


@dataclass(frozen=True, slots=True)
class Settings(Tuning):
    """How to reach a bucket, and how to write and read there."""

    endpoint: str | None
    region: str | None
    is_path_style: bool
    providers: tuple[str, ...]
    secrets: Secrets = field(compare=False)
    compares_itself: bool
    requires_version: bool

    @property
    def is_compared_by_store(self) -> bool:
        return self.detects_changes and not (self.warns_of_changes or self.compares_itself)

    @property
    def needs_version(self) -> bool:
        return self.requires_version

    @property
    def place(self) -> str:
        """Where the bucket is, for messages."""
        return self.endpoint or f"Amazon S3 ({self.region or DEFAULT_REGION})"


def for_bucket(conf: Configuration, bucket: str) -> Configuration:
    """The configuration with what is set for this bucket in the place of the general."""
    prefix = f"{_PREFIX}bucket.{bucket}."
    own = {
        _PREFIX + name.removeprefix(prefix): value
        for name, value in conf.items()
        if name.startswith(prefix)
    }
    return conf.with_values(own, source=f"{prefix}*") if own else conf


def settings_of(conf: Configuration, bucket: str) -> Settings:
    """Raises `InvalidConfiguration` for what cannot be used or is not supported."""
    for name, _ in conf.items():
        if name.startswith(_FSSPEC):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not read: s3:// is not served by fsspec; "
                "set fs.s3a.endpoint, fs.s3a.access.key and their like"
            )
    conf = for_bucket(conf, bucket)
    for name in _NOT_SUPPORTED:
        value = (conf.raw(name) or "").strip()
        if value and value.lower() not in ("false", "none"):
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not supported for object stores"
            )
    secure = conf.get(keys.FS_S3A_CONNECTION_SSL_ENABLED)
    endpoint = _endpoint(conf.get(keys.FS_S3A_ENDPOINT), secure)
    part_bytes = conf.get(keys.FS_S3A_MULTIPART_SIZE)
    mode = conf.get(keys.FS_S3A_CHANGE_DETECTION_MODE)
    versioned = conf.get(keys.FS_S3A_CHANGE_DETECTION_SOURCE) == "versionid"
    providers: list[str] = conf.get(keys.FS_S3A_AWS_CREDENTIALS_PROVIDER)
    return Settings(
        bucket=bucket,
        endpoint=None if endpoint is None or _is_amazon(endpoint) else endpoint,
        region=_region(conf.get(keys.FS_S3A_ENDPOINT_REGION), endpoint),
        is_path_style=conf.get(keys.FS_S3A_PATH_STYLE_ACCESS),
        providers=tuple(providers),
        secrets=Secrets(
            conf.get(keys.FS_S3A_ACCESS_KEY),
            conf.get(keys.FS_S3A_SECRET_KEY),
            conf.get(keys.FS_S3A_SESSION_TOKEN),
        ),
        connections=conf.get(keys.FS_S3A_CONNECTION_MAXIMUM),
        connect_timeout_s=conf.get(keys.FS_S3A_CONNECTION_ESTABLISH_TIMEOUT),
        read_timeout_s=conf.get(keys.FS_S3A_CONNECTION_TIMEOUT),
        retries=RetryRules(
            limit=conf.get(keys.FS_S3A_RETRY_LIMIT),
            interval_s=conf.get(keys.FS_S3A_RETRY_INTERVAL),
            throttle_limit=conf.get(keys.FS_S3A_RETRY_THROTTLE_LIMIT),
            throttle_interval_s=conf.get(keys.FS_S3A_RETRY_THROTTLE_INTERVAL),
        ),
        page_keys=min(conf.get(keys.FS_S3A_PAGING_MAXIMUM), _LARGEST_PAGE),
        delete_keys=conf.get(keys.FS_S3A_BULK_DELETE_PAGE_SIZE),
        threads=conf.get(keys.FS_S3A_THREADS_MAX),
        active_parts=conf.get(keys.FS_S3A_FAST_UPLOAD_ACTIVE_BLOCKS),
        part_bytes=part_bytes,
        copy_part_bytes=part_bytes,
        copy_threshold_bytes=min(conf.get(keys.FS_S3A_MULTIPART_THRESHOLD), MAX_COPY_BYTES),
        readahead_bytes=conf.get(keys.FS_S3A_READAHEAD_RANGE),
        vectored_gap_bytes=conf.get(keys.FS_S3A_VECTORED_READ_MIN_SEEK_SIZE),
        vectored_read_bytes=conf.get(keys.FS_S3A_VECTORED_READ_MAX_MERGED_SIZE),
        detects_changes=mode != "none",
        warns_of_changes=mode == "warn",
        compares_itself=mode == "client",
        # Who asks for a version needs nothing compared. Where the reader is to compare, two
        # versions with one ETag have the same bytes.
        by_version=versioned and mode == "server",
        requires_version=versioned
        and mode != "none"
        and conf.get(keys.FS_S3A_CHANGE_DETECTION_VERSION_REQUIRED),
        with_checksums=conf.get(keys.FS_S3A_CREATE_CHECKSUM_ALGORITHM) != "NONE",
    )


def _endpoint(text: str | None, secure: bool) -> str | None:
    if not text:
        return None
    found = text.rstrip("/")
    if "://" not in found:
        found = f"{'https' if secure else 'http'}://{found}"
    if not found.startswith(("http://", "https://")) or found.endswith("://"):
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_ENDPOINT.name} = {text!r} is neither a host nor an http(s) URL"
        )
    return found


def _is_amazon(endpoint: str) -> bool:
    """Whether the endpoint is the one that the region says anyway."""
    return endpoint.endswith(".amazonaws.com") and endpoint.startswith("https://s3")


def _region(text: str | None, endpoint: str | None) -> str | None:
    if text:
        return text
    found = _REGION_OF_HOST.search(endpoint or "")
    return found[1] if found else None
