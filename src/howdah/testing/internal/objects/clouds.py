"""What tests ask of a store's server, whatever its protocol."""

from __future__ import annotations

from typing import Protocol

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
