"""The order of names in listings of namenodes.

howdah's namenodes list names in the order of their bytes, as all tools compare them. Hadoop's
compare bytes as signed numbers (DFSUtilClient.compareBytes): names with other characters than
ASCII's come before those that they are after elsewhere. Names in ASCII alone have one order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from howdah import errors

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy
    from howdah.fs.status import FileStatus

T = TypeVar("T")

ListAfter = Callable[[str, str], "Iterator[tuple[FileStatus, bool]]"]
_MOST_KNOWN: Final = 1000


def encoded(name: str) -> bytes:
    """Return the bytes of a name."""
    return name.encode("utf-8", "surrogateescape")


def by_unsigned_bytes(
    listing: Iterable[T], name_of: Callable[[T], bytes]
) -> Iterator[tuple[bytes, T]]:
    """Yield a listing that is in either order in that of its names' bytes, with the names, and
    without keeping all of it in memory.

    Names with other characters than ASCII's wait for the next name in ASCII that is behind them.
    What follows that name, in either order, is behind it in both.
    """
    waiting: list[tuple[bytes, int, T]] = []
    for number, entry in enumerate(listing):
        name = name_of(entry)
        if not name.isascii():
            heapq.heappush(waiting, (name, number, entry))
            continue
        while waiting and waiting[0][0] < name:
            early, _, early_entry = heapq.heappop(waiting)
            yield early, early_entry
        yield name, entry
    while waiting:
        early, _, early_entry = heapq.heappop(waiting)
        yield early, early_entry


class HadoopListings:
    """Lists directories of one of Hadoop's namenodes from any name on, in the order of bytes.

    What is behind a name there may be before it here, and the other way round, so a directory is
    listed from its beginning. One whose names are in ASCII is listed from that name, for as long
    as it has not changed since all of its names were seen. Thread-safe: what two threads find out
    about one directory is the same.
    """

    def __init__(self, namenode: NamenodeProxy, list_after: ListAfter) -> None:
        self._namenode = namenode
        self._list_after = list_after
        self._in_ascii: dict[str, tuple[int, int]] = {}
        """Ids and times of directories, the last ones that were asked for."""

    def behind(self, directory: str, after: str) -> Iterator[tuple[FileStatus, bool]]:
        """Yield what is behind a name. Raises PathNotFound."""
        name = encoded(after)
        begin = after if name.isascii() and name and self._is_in_ascii(directory) else ""
        listing = self._list_after(directory, begin)
        for found, entry in by_unsigned_bytes(listing, lambda entry: encoded(entry[0].name)):
            if found > name:
                yield entry

    def _is_in_ascii(self, directory: str) -> bool:
        status = self._namenode.get_file_info(directory)
        if status is None:
            raise errors.PathNotFound(f"File does not exist: {directory}").about(directory)
        version = status.fileId, status.modification_time
        if self._in_ascii.get(directory) == version:
            return True
        self._in_ascii.pop(directory, None)
        if not all(entry.name.isascii() for entry, _ in self._list_after(directory, "")):
            return False
        if len(self._in_ascii) >= _MOST_KNOWN:
            for oldest in list(self._in_ascii)[: _MOST_KNOWN // 10]:
                self._in_ascii.pop(oldest, None)
        self._in_ascii[directory] = version
        return True
