"""What of a namenode's directory may go: images and segments that no start needs.

Mirrors Hadoop's rule. The newest `images` images stay, and with them every
transaction after the oldest of those. Before it `extra_edits` more transactions
stay, for whoever lags behind, in at most `extra_segments` segments.

Images to go back to from a rolling upgrade do not count, and stay; so does every transaction
after the oldest of them, until the upgrade is finalized.

`purgeable` decides (from names alone), `purge` removes. What cannot be removed is
left for the next time, and so is a directory that cannot be read: the others are purged
by the images that can be.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from howdah.runtime import disk
from howdah.storage.image_files import ImageFile, list_readable_images, md5_path
from howdah.storage.segments import Segment, list_segments

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retention:
    """How much stays; the defaults are Hadoop's."""

    images: int = 2
    extra_edits: int = 1_000_000
    extra_segments: int = 10_000


def oldest_kept(images: Sequence[ImageFile], retention: Retention) -> int | None:
    """The transaction of the oldest image that stays and is no rollback image; None where there
    is none."""
    txids = sorted({image.txid for image in images if not image.rollback}, reverse=True)
    return txids[: retention.images][-1] if txids else None


def log_kept_from(images: Sequence[ImageFile], retention: Retention) -> int | None:
    """The transaction after which the log stays; None where all of it does."""
    kept = oldest_kept(images, retention)
    rollback = [image.txid for image in images if image.rollback]
    return None if kept is None else min([kept, *rollback])


def purgeable(
    images: Sequence[ImageFile], segments: Sequence[Segment], retention: Retention
) -> tuple[list[ImageFile], list[Segment]]:
    """The images and segments that may go. A segment in progress never does."""
    kept = oldest_kept(images, retention)
    if kept is None:
        return [], []
    finished = [(s.first_txid, s.last_txid) for s in segments if s.last_txid is not None]
    before = purge_before(log_kept_from(images, retention) or 0, finished, retention)
    return (
        [image for image in images if image.txid < kept and not image.rollback],
        [s for s in segments if s.last_txid is not None and s.last_txid < before],
    )


def purge_before(kept_txid: int, finished: Iterable[tuple[int, int]], retention: Retention) -> int:
    """Finished segments (first and last transaction) that end before it may go, if the oldest
    image that stays is of `kept_txid`."""
    needed = kept_txid + 1
    before = max(0, needed - retention.extra_edits)
    extra = sorted(s for s in finished if before <= s[1] and s[0] < needed)
    surplus = len(extra) - retention.extra_segments
    return min(needed, extra[surplus - 1][1] + 1) if surplus > 0 else before


def purge(
    image_directories: Sequence[Path], edits_directories: Sequence[Path], retention: Retention
) -> None:
    """Remove what may go from the `current` directories. Raises nothing: whether it
    succeeds says nothing about the image that made something superfluous."""
    images = list_readable_images(image_directories)
    for image in purgeable(images, [], retention)[0]:
        log.info("removing %s: newer images are there", image.path)
        _remove(image.path)
        _remove(md5_path(image.path))
    for directory in edits_directories:
        try:
            segments = list_segments(directory)
        except OSError as error:
            log.error("nothing is purged in %s: %s", directory, error)
            continue
        for segment in purgeable(images, segments, retention)[1]:
            log.info("removing %s: images make it superfluous", segment.path)
            _remove(segment.path)


def _remove(path: Path) -> None:
    try:
        disk.unlink(path, missing_ok=True)
    except OSError as error:
        log.warning("%s stays for now: %s", path, error)
