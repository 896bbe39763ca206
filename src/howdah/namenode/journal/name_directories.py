"""Which directories of a running namenode can be used (pure).

Those of the start, without the ones that the journal has dropped since: a mount that is
gone costs its own copy, and nothing in the directories that are left. One that takes part
again is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path


class Directories:
    """The `current` directories of images and of edits, which may be the same."""

    def __init__(
        self,
        images: Sequence[Path],
        edits: Sequence[Path] | None = None,
        failed: Callable[[], Collection[Path]] = frozenset,
    ) -> None:
        """`failed` are those that do not work now; any thread may ask."""
        self._images = list(images)
        self._edits = list(images if edits is None else edits)
        self._failed = failed

    def images(self) -> list[Path]:
        """Those of images. All, if none is known to work: then the attempt says why."""
        return self._working(self._images) or list(self._images)

    def edits(self) -> list[Path]:
        """Those of edits."""
        return self._working(self._edits)

    def _working(self, directories: list[Path]) -> list[Path]:
        failed = self._failed()
        return [directory for directory in directories if directory not in failed]
