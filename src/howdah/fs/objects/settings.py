"""What Hadoop's keys `fs.s3a.*` say about one bucket.

`fs.s3a.bucket.NAME.X` counts instead of `fs.s3a.X`. Secrets are kept apart, in an object that
shows none of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs.objects import credentials
from howdah.fs.objects.amazon.request_options import Additions, additions_of
from howdah.fs.objects.amazon.roles import Role, role_of
from howdah.fs.objects.credentials import Secrets
from howdah.fs.objects.parts import MAX_COPY_BYTES
from howdah.fs.objects.read_plan import Manner
from howdah.fs.objects.retrying import RetryRules
from howdah.fs.objects.tuning import Tuning
from howdah.runtime.users.current import current_user

_PREFIX: Final = "fs.s3a."
_FSSPEC: Final = ("fsspec.s3.", "fsspec.s3a.")
_REGION_OF_HOST: Final = re.compile(r"s3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d+)\.amazonaws")
_LARGEST_PAGE: Final = 1000
_OF_THE_SESSION: Final = "sdk"
DEFAULT_REGION: Final = "us-east-1"
_OFF: Final = ("", "false", "none")
# Keys of S3A that change what is written, or who one is, and that howdah does not have: ignoring
# them would be worse than refusing. With each, what it may say all the same.
_NOT_SUPPORTED: Final[dict[str, tuple[str, ...]]] = {
    "fs.s3a.accesspoint.arn": _OFF,
    "fs.s3a.accesspoint.required": _OFF,
    "fs.s3a.client.s3.custom.headers": _OFF,
    "fs.s3a.custom.signers": _OFF,
    "fs.s3a.delegation.token.binding": _OFF,
    "fs.s3a.directory.marker.retention": ("", "keep"),
    "fs.s3a.multipart.uploads.enabled": ("", "true"),
    "fs.s3a.proxy.host": _OFF,
    "fs.s3a.s3.signing-algorithm": ("", "aws4signertype", "awss3v4signertype"),
    "fs.s3a.signing-algorithm": ("", "aws4signertype", "awss3v4signertype"),
}
_NOT_SUPPORTED_BEGINNINGS: Final = ("fs.s3a.create.header.",)
_CREDENTIAL_FILES: Final = (
    "fs.s3a.security.credential.provider.path",
    "hadoop.security.credential.provider.path",
)
_MANNERS: Final = {
    **dict.fromkeys(("default", "normal", "adaptive", "vector"), Manner.LEARNT),
    **dict.fromkeys(("sequential", "whole-file", "avro", "csv", "json"), Manner.STRAIGHT),
    **dict.fromkeys(("random", "columnar", "hbase", "orc", "parquet"), Manner.RANDOM),
}


@dataclass(frozen=True, slots=True)
class Settings(Tuning):
    """How to reach a bucket, and how to write and read there."""

    _: KW_ONLY
    endpoint: str | None
    region: str | None
    is_path_style: bool
    providers: tuple[str, ...]
    role: Role | None
    secrets: Secrets = field(compare=False)
    additions: Additions = field(compare=False)
    fips: bool
    content_encoding: str | None
    has_conditions: bool
    """Whether the store makes sure that a new file is new."""
    deletes_many: bool
    compares_itself: bool
    requires_version: bool

    @property
    def is_compared_by_store(self) -> bool:
        return self.detects_changes and not (self.warns_of_changes or self.compares_itself)

    @property
    def needs_version(self) -> bool:
        return self.requires_version

    @property
    def location(self) -> str:
        """Where the bucket is, for messages."""
        return self.endpoint or f"Amazon S3 ({self.region or DEFAULT_REGION})"

    def why_not_copied_from(self, other: Settings) -> str | None:
        """What keeps one request from reading another bucket and writing this one."""
        if (self.endpoint, self.fips) != (other.endpoint, other.fips):
            return f"{other.bucket} is at {other.location}, and {self.bucket} at {self.location}"
        if (self.providers, self.role) != (other.providers, other.role) or not (
            self.secrets.are_those_of(other.secrets)
        ):
            return f"{other.bucket} and {self.bucket} have other credentials"
        if not self.additions.read_like(other.additions):
            return f"{other.bucket} and {self.bucket} are encrypted or paid for in two ways"
        return None


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
    _check_supported(conf)
    secure = conf.get(keys.FS_S3A_CONNECTION_SSL_ENABLED)
    endpoint = _endpoint(conf.get(keys.FS_S3A_ENDPOINT), secure)
    part_bytes = conf.get(keys.FS_S3A_MULTIPART_SIZE)
    mode = conf.get(keys.FS_S3A_CHANGE_DETECTION_MODE)
    versioned = conf.get(keys.FS_S3A_CHANGE_DETECTION_SOURCE) == "versionid"
    providers: list[str] = conf.get(keys.FS_S3A_AWS_CREDENTIALS_PROVIDER)
    secrets = Secrets(
        conf.get(keys.FS_S3A_ACCESS_KEY),
        conf.get(keys.FS_S3A_SECRET_KEY),
        conf.get(keys.FS_S3A_SESSION_TOKEN),
    )
    role = _role(conf, providers)
    asked = (*providers, *(role.providers if role else ()))
    _check_credential_files(conf, asked, secrets)
    fips = conf.get(keys.FS_S3A_ENDPOINT_FIPS)
    if fips and endpoint is not None and not _is_amazon(endpoint):
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_ENDPOINT_FIPS.name} is of Amazon's endpoints, and "
            f"{keys.FS_S3A_ENDPOINT.name} = {endpoint} is none of them"
        )
    return Settings(
        bucket=bucket,
        endpoint=None if endpoint is None or _is_amazon(endpoint) else endpoint,
        region=_region(conf.get(keys.FS_S3A_ENDPOINT_REGION), endpoint),
        is_path_style=conf.get(keys.FS_S3A_PATH_STYLE_ACCESS),
        providers=tuple(providers),
        role=role,
        secrets=secrets,
        additions=additions_of(conf),
        fips=fips,
        content_encoding=conf.get(keys.FS_S3A_OBJECT_CONTENT_ENCODING) or None,
        has_conditions=conf.get(keys.FS_S3A_CREATE_CONDITIONAL_ENABLED),
        deletes_many=conf.get(keys.FS_S3A_MULTIOBJECTDELETE_ENABLE),
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
        manner=_manner(conf),
        looks_at_create=_looks_at_create(conf),
    )


def _check_supported(conf: Configuration) -> None:
    for name, value in conf.items():
        if name.startswith(_NOT_SUPPORTED_BEGINNINGS) and value.strip():
            raise _not_supported(conf, name)
    for name, harmless in _NOT_SUPPORTED.items():
        if (conf.raw(name) or "").strip().lower() not in harmless:
            raise _not_supported(conf, name)


def _not_supported(conf: Configuration, name: str) -> errors.HowdahError:
    return errors.InvalidConfiguration(
        f"{name} (from {conf.source(name)}) is not supported for object stores"
    )


def _check_credential_files(
    conf: Configuration, providers: Sequence[str], secrets: Secrets
) -> None:
    """Hadoop looks there first. If there is no key besides, ours would be another identity."""
    if secrets.is_complete or not credentials.are_in_configuration(tuple(providers)):
        return
    for name in _CREDENTIAL_FILES:
        if (conf.raw(name) or "").strip():
            raise errors.InvalidConfiguration(
                f"{name} (from {conf.source(name)}) is not read: set "
                f"{keys.FS_S3A_ACCESS_KEY.name} and {keys.FS_S3A_SECRET_KEY.name}, or have "
                f"{keys.FS_S3A_AWS_CREDENTIALS_PROVIDER.name} name providers that need neither"
            )


def _role(conf: Configuration, providers: Sequence[str]) -> Role | None:
    """The role that one of the providers assumes."""
    if not credentials.are_of_role(tuple(providers)):
        return None
    role = role_of(conf, current_user())
    if role is None:
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_AWS_CREDENTIALS_PROVIDER.name} names a role's provider, and "
            f"{keys.FS_S3A_ASSUMED_ROLE_ARN.name} is not set"
        )
    if credentials.are_of_role(role.providers):
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_ASSUMED_ROLE_CREDENTIALS_PROVIDER.name} names a role's provider, whose "
            "keys it is to find"
        )
    return role


def _manner(conf: Configuration) -> Manner:
    """Return the first known one of a list, as Hadoop does."""
    said = conf.get(keys.FS_S3A_INPUT_FADVISE) or "default"
    names = [word.strip().lower() for word in said.split(",")]
    for name in names:
        if name in _MANNERS:
            return _MANNERS[name]
    raise errors.InvalidConfiguration(
        f"{keys.FS_S3A_INPUT_FADVISE.name} = {said} is not supported; there are "
        f"{', '.join(_MANNERS)}"
    )


def _looks_at_create(conf: Configuration) -> bool:
    """Return whether a create looks for an existing file first. A store without conditions is
    always asked: otherwise nobody would notice an old file."""
    flags = {flag.lower() for flag in conf.get(keys.FS_S3A_PERFORMANCE_FLAGS)}
    is_hasty = conf.get(keys.FS_S3A_CREATE_PERFORMANCE) or not flags.isdisjoint(("create", "*"))
    return not (is_hasty and conf.get(keys.FS_S3A_CREATE_CONDITIONAL_ENABLED))


def _endpoint(text: str | None, secure: bool) -> str | None:
    if not text:
        return None
    url = text.rstrip("/")
    if "://" not in url:
        url = f"{'https' if secure else 'http'}://{url}"
    if not url.startswith(("http://", "https://")) or url.endswith("://"):
        raise errors.InvalidConfiguration(
            f"{keys.FS_S3A_ENDPOINT.name} = {text!r} is neither a host nor an http(s) URL"
        )
    return url


def _is_amazon(endpoint: str) -> bool:
    """Whether the endpoint is the one that the region says anyway."""
    return endpoint.endswith(".amazonaws.com") and endpoint.startswith("https://s3")


def _region(text: str | None, endpoint: str | None) -> str | None:
    if text and text.lower() != _OF_THE_SESSION:
        return text
    match = _REGION_OF_HOST.search(endpoint or "")
    return match[1] if match else None
