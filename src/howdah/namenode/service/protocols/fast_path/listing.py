"""Entries of a directory as bytes, from the tables and the datanodes (pure).

`DirectoryListingProto.partialListing` (fields and numbers: hdfs.proto of Hadoop), as the handler of
`getListing` would write it: to make a message of each entry takes ten times as long, and one answer
has a thousand (`dfs.ls.limit`), behind which all other callers wait. `list_entries_here` is the
twin of the kernel's function.

Left to the handler, one by one, are files that are written, are erasure coded or have an ACL,
attributes or a storage policy, directories with any of these or with snapshots, what is in
snapshots, symbolic links, and files that `locations` leaves to it, if blocks are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from howdah.namenode.service.protocols.fast_path.file_status import (
    Tables,
    directory_status,
    length_of,
    status_of,
)
from howdah.namenode.service.protocols.fast_path.locations import Lacking, Locating, View
from howdah.namenode.state.blocks.datanodes import Datanode
from howdah.namenode.state.inodes.directory import Directory, INode
from howdah.namenode.state.inodes.file_table import ATIME, BLOCK, MTIME, TRAITS, WIDTH
from howdah.namenode.state.inodes.row_table import MASK, SHIFT
from howdah.native.loader import kernel
from howdah.protocol.varint import encode_field

Listed = tuple[bytes, int, int, Datanode | str | None]
"""Entries, the place of the first one that is not among them, how many places of blocks may still
be told, and what has to be supplied before that entry can be shown, if something has
(`locations.Found`)."""


def list_entries_here(
    names: Sequence[str],
    entries: Sequence[INode | int],
    at: int,
    directory_type: type[Directory] | None,
    policy_id: int,
    tables: Tables,
    view: View | None,
    places_left: int,
) -> Listed:
    """Plain entries from the place `at` on, as many as follow each other. `directory_type` is None
    where no directory is plain, `view` where nobody asks for blocks. `policy_id` is the storage
    policy of the directory that they are in."""
    locating = None if view is None else Locating(view, tables[4])
    parts: list[bytes] = []
    while at < len(entries) and (locating is None or places_left > 0):
        entry, name = entries[at], names[at].encode()
        status = None
        places = 0 if locating is None else locating.places
        try:
            if isinstance(entry, int):
                status = _file_status(entry, name, policy_id, tables, locating)
            elif type(entry) is directory_type:
                status = directory_status(entry, tables, name, policy_id)
        except Lacking as lacking:
            return b"".join(parts), at, places_left, lacking.what
        if status is None:
            break
        parts.append(encode_field(b"\x0a", status))
        if locating is not None:
            places_left -= locating.places - places
        at += 1
    return b"".join(parts), at, places_left, None


def _file_status(
    inode_id: int, name: bytes, policy_id: int, tables: Tables, locating: Locating | None
) -> bytes | None:
    page = tables[0].get(inode_id >> SHIFT)
    at = (inode_id & MASK) * WIDTH
    if inode_id in tables[2] or page is None or not page[at + TRAITS] & 1:
        return None
    only = page[at + BLOCK]
    length = length_of(inode_id, only, tables)
    if length is None:
        return None
    located = b""
    if locating is not None:
        block_ids: Sequence[int] = (only,) if only > 0 else tables[3].get(inode_id, ())
        if only and not block_ids:
            return None
        located = locating.located(block_ids, 0, length)
    traits = tables[1][page[at + TRAITS] >> 1]
    times = page[at + MTIME], page[at + ATIME]
    return status_of(2, inode_id, length, traits, *times, 0, name, policy_id, located)


list_entries: Final[Callable[..., Listed]] = getattr(kernel(), "list_entries", list_entries_here)
