"""A filesystem in memory with extended attributes, which the product's has not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.paths import PathLike


class AttributedFiles(MemoryFileSystem):
    """Attributes belong to files by their ids, and to all who have the filesystem."""

    attributes: ClassVar[dict[tuple[int | None, str], bytes]] = {}

    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        place = self.get_file_status(path).file_id, name
        if place in self.attributes and not replace:
            raise errors.RemoteError(f"{name} is there")
        self.attributes[place] = value or b""

    def remove_xattr(self, path: PathLike, name: str) -> None:
        del self.attributes[self.get_file_status(path).file_id, name]

    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        file_id = self.get_file_status(path).file_id
        return {name: value for (of, name), value in self.attributes.items() if of == file_id}

    def get_xattr(self, path: PathLike, name: str) -> bytes:
        try:
            return self.get_xattrs(path)[name]
        except KeyError:
            raise errors.AttributeNotFound(name) from None

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        return super().path_capabilities(path) | {capabilities.XATTRS}
