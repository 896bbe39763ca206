"""A filesystem in memory with extended attributes, which the product's has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from howdah import errors
from howdah.fs import capabilities
from howdah.fs.memory.filesystem import MemoryFileSystem
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus


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


class FilesInTurn(AttributedFiles):
    """Has what a client of howdah's namenode has beside: renames in one turn, and changes of a file
    that is known."""

    def rename_in_turn(
        self, renames: Sequence[tuple[PathLike, PathLike]], *, known: FileStatus | None = None
    ) -> int:
        (src, dst), *others = renames
        if known is not None and self.exists(src):
            self._check(src, known)
        self.rename(src, dst)
        for number, (src, dst) in enumerate(others, 1):
            try:
                self.rename(src, dst)
            except errors.HowdahError:
                return number
        return len(renames)

    def rename_over(self, src: PathLike, dst: PathLike, known: FileStatus | None) -> None:
        if known is not None:
            self._check(dst, known)
        self.rename(src, dst, overwrite=known is not None)

    def delete_known(self, path: PathLike, known: FileStatus) -> bool:
        if self.exists(path):
            self._check(path, known)
        return self.delete(path)

    def list_with_writers(
        self, path: PathLike, after: str = ""
    ) -> Iterator[tuple[FileStatus, bool]]:
        for status in self.list_status_iter(path):
            if status.name > after:
                yield status, False

    def _check(self, path: PathLike, known: FileStatus) -> None:
        found = self.get_file_status(path) if self.exists(path) else None
        if found is None or (found.file_id, found.length) != (known.file_id, known.length):
            raise errors.NotTheKnownFile(f"{path}")
