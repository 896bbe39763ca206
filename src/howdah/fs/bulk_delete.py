"""`BulkDelete`: delete many files below one directory, and hear of each that stayed.

Mirrors Hadoop's BulkDelete over a filesystem that deletes one path at a time. Only
files and empty directories go; what isn't there is no failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from howdah import errors
from howdah.fs import paths
from howdah.fs.paths import PathLike

PAGE_SIZE = 250


class Deletes(Protocol):
    """What a bulk delete needs of a filesystem."""

    def resolve(self, path: PathLike) -> str: ...

    def delete(self, path: PathLike, recursive: bool = False) -> bool: ...


class BulkDelete:
    """Deletes paths below `base_path`, at most `page_size` in a call."""

    page_size = PAGE_SIZE

    def __init__(self, fs: Deletes, base_path: PathLike) -> None:
        self._fs = fs
        self.base_path = fs.resolve(base_path)

    def delete(self, targets: Sequence[PathLike]) -> list[tuple[str, Exception]]:
        """Delete each; returns those that could not be, with the reason.

        Raises `IllegalArgument`, and deletes nothing, for too many paths and for one
        that isn't below the base path.
        """
        failed: list[tuple[str, Exception]] = []
        for path in self._checked(targets):
            failed += self._delete_one(path)
        return failed

    def _delete_one(self, path: str) -> list[tuple[str, Exception]]:
        """Delete one path; returns it with the reason if it could not be deleted."""
        try:
            self._fs.delete(path, recursive=False)
        except errors.PathNotFound:
            return []  # gone already, which is what was asked for
        except (errors.HowdahError, OSError) as error:
            return [(path, error)]
        return []

    def _checked(self, targets: Sequence[PathLike]) -> list[str]:
        """The targets as absolute paths; raises `IllegalArgument`."""
        if len(targets) > self.page_size:
            raise errors.IllegalArgument(
                f"{len(targets)} paths in one bulk delete; {self.page_size} are the most"
            )
        resolved = [self._fs.resolve(target) for target in targets]
        for path in resolved:
            if not paths.is_under(path, self.base_path):
                raise errors.IllegalArgument(f"{path} is not below {self.base_path}")
        return resolved
