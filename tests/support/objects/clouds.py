"""What tests ask of a store's server and of filesystems on it, whatever its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from howdah.fs.objects.copying import Copying
from howdah.fs.objects.filesystem import ObjectFileSystem


class CloudServer(Protocol):
    """A store that runs, itself or behind a proxy."""

    @property
    def port(self) -> int: ...
    def behind(self, port: int) -> CloudServer: ...
    def keys(self, **more: str) -> dict[str, str]: ...
    def uri(self, bucket: str) -> str: ...
    def new_bucket(self) -> str: ...
    def connect(
        self, bucket: str, *, part_bytes: int | None = None, retries: int | None = None
    ) -> ObjectFileSystem: ...


def dotted(prefix: str, more: Mapping[str, str]) -> dict[str, str]:
    """Keys of Hadoop's that are written as names of Python's.

    >>> dotted("fs.s3a.", {"retry_limit": "0"})
    {'fs.s3a.retry.limit': '0'}
    """
    return {prefix + name.replace("_", "."): value for name, value in more.items()}


def tune(fs: ObjectFileSystem, **changes: Any) -> None:
    """Change settings of a filesystem, to values that its keys do not take if need be."""
    fs._settings = replace(fs._settings, **changes)
    fs._copying = Copying(fs._store, fs._settings, fs._workers)
