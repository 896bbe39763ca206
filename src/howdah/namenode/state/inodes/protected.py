"""The directories that nobody deletes or moves, as the configuration lists them (pure)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.namenode.state.inodes import paths


@dataclass(frozen=True, slots=True)
class ProtectedDirectories:
    """The directories that the configuration protects, sorted by path."""

    paths: tuple[str, ...] = ()

    @classmethod
    def parse(cls, listed: Iterable[str]) -> ProtectedDirectories:
        """Paths as they are configured. Raises IllegalArgument for one that names no directory
        of this namespace: it would protect nothing."""
        return cls(tuple(sorted({_normal(path) for path in listed})))

    def __contains__(self, path: str) -> bool:
        place = bisect_left(self.paths, path)
        return place < len(self.paths) and self.paths[place] == path

    def below(self, path: str) -> tuple[str, ...]:
        """The protected directories below `path`."""
        first = path.rstrip("/") + "/"
        # "0" is the character after "/".
        return self.paths[
            bisect_left(self.paths, first) : bisect_left(self.paths, first[:-1] + "0")
        ]

    def above(self, path: str) -> str | None:
        """The nearest protected directory above `path`, if there is one."""
        while path != "/":
            path = path.rpartition("/")[0] or "/"
            if path in self:
                return path
        return None


def _normal(path: str) -> str:
    if not path.startswith("/"):
        raise errors.IllegalArgument(f"{path} is no absolute path, and would protect nothing")
    components = [part for part in path.split("/") if part]
    if components[:1] == [paths.RESERVED[1:]] or {".", ".."} & {*components}:
        raise errors.IllegalArgument(f"{path} is no directory that can be protected")
    return paths.join(components)


NOTHING: Final = ProtectedDirectories()
