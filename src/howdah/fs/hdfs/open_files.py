"""Which files of a directory somebody is writing: said by a listing with locations.

Names, lengths and times of a file don't change at the namenode while it is written to. That
it is open is told with the locations of its blocks, for a page of a directory in one call;
so everybody who may list the directory may know.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from howdah import errors
from howdah.fs import paths
from howdah.fs.hdfs.status import file_status, name_of
from howdah.fs.status import FileStatus

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy


def list_with_writers(namenode: NamenodeProxy, directory: str) -> Iterator[tuple[FileStatus, bool]]:
    """What is in a directory, and whether it is a file that is open for writing.

    Raises `PathNotFound`.
    """
    last = b""
    while page := namenode.get_listing(directory, last, need_location=True):
        for proto in page.partialListing:
            status = file_status(proto, paths.join(directory, name_of(proto.path)))
            yield status, status.is_file and proto.locations.underConstruction
        if not page.remainingEntries or not page.partialListing:
            return
        last = page.partialListing[-1].path
    raise errors.PathNotFound(f"File does not exist: {directory}").about(directory)
