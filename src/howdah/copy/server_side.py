"""Files that the target's server copies, so that their bytes do not come by here.

1. The target is asked once for each source whether it does (`FileSystem.server_copies`): object
   stores do, from bucket to bucket of one service. It never copies chunks of a file.
2. A copy is there whole or not at all, so it gets its name at once, but where attributes are to be
   preserved that are set afterwards: then under a temporary name, as any other file.
3. Without `-skipcrccheck` the server must tell a checksum of both, or an ETag that is one; if it
   cannot, or if it refuses, the bytes come by here, and the log says why.
4. What was copied is the source as it was then: if it has changed since it was listed, its new
   status counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from howdah.copy.common.filesystems import keeps_directories
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import WHOLE, Entry
from howdah.fs.api import FileSystem
from howdah.fs.status import ServerCopies

ETAG: Final = "ETag"


class Offers:
    """Which sources the server of a target copies from."""

    def __init__(self, target: FileSystem) -> None:
        self._target = target
        self._known: dict[str, ServerCopies] = {}

    def of(self, source_fs: FileSystem, source: Entry) -> ServerCopies:
        """Whether a file is to be copied so."""
        if source.chunk_length != WHOLE:
            return ServerCopies(are_offered=False, why_not="a server copies no parts of a file")
        if source_fs.uri not in self._known:
            self._known[source_fs.uri] = self._target.server_copies(source_fs)
        return self._known[source_fs.uri]


def notes_of(
    target: FileSystem, sources: Sequence[FileSystem], counters: Counters
) -> Iterator[str]:
    """Say what a user may not expect of a copy to `target`."""
    if counters.skipped_by_time:
        yield (
            f"{counters.skipped_by_time} files were taken for unchanged by length and "
            "modification time, for want of checksums that both sides have"
        )
    if not keeps_directories(target):
        yield f"{target.uri} has no directories but those of its files"
    for source in sources:
        why_not = target.server_copies(source).why_not
        if why_not and counters.files_copied:
            yield f"{target.uri} does not copy {source.uri}: {why_not}; the bytes came by here"
    if counters.refused_by_server:
        yield (
            f"{counters.refused_by_server} files were not copied by {target.uri} itself, which "
            "refused, or knew no checksum to verify them by: their bytes came by here; the log "
            "has the reasons (-log, -v)"
        )
