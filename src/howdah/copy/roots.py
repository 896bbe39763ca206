"""The first rows of a listing: each source itself, and the directories to be listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from howdah.copy.common.arrow_rows import encode
from howdah.copy.common.filesystems import for_each, prefix, status_of
from howdah.copy.context import CopyContext
from howdah.copy.layout import Placed
from howdah.copy.listing.entries import Entry, Found, Kind
from howdah.copy.options import Options
from howdah.fs.status import FileStatus


def roots_of(
    context: CopyContext, options: Options, placed: Sequence[Placed], path: str
) -> list[Entry]:
    """Return the first rows; `path` is where the target is written."""
    named = zip(placed, context.sources, strict=True)
    by_source = for_each(
        lambda pair: _of_source(context, options, path, pair[0], pair[1][1]), named
    )
    roots = [row for rows in by_source for row in rows]
    if is_unpaired(context, options, placed):
        roots.append(Entry(Kind.MISSING_PENDING, 0, b"", b"", target=Found.DIRECTORY))
    return roots


def own_roots(roots: Iterable[Entry]) -> list[Entry]:
    """The sources of the attributes of the target's own directory, which are set last."""
    return [row for row in roots if row.kind == Kind.DIRECTORY and not row.relative]


def is_unpaired(context: CopyContext, options: Options, placed: Sequence[Placed]) -> bool:
    """Return whether entries that only the target has are wanted, and no source is paired with its
    directory."""
    is_paired = any(root.source.is_directory and not root.relative for root in placed)
    return options.wants_missing and context.target_state is Found.DIRECTORY and not is_paired


def missing_rows(rows: Sequence[Entry]) -> list[Entry]:
    """What only the target has, each once, by the listings of several sources. An entry that one
    source does not have another one may have, also in a directory that could not be listed."""
    there = {row.relative for row in rows if row.kind in (Kind.FILE, Kind.DIRECTORY)}
    # A directory that a filter leaves out has no row of its own.
    there.update(above for relative in list(there) for above in _above(relative))
    unread = tuple(row.relative + b"/" for row in rows if row.kind == Kind.UNREADABLE)
    missing = {row.relative: row for row in rows if row.kind == Kind.MISSING}
    return [
        row
        for relative, row in missing.items()
        if relative not in there and not (relative + b"/").startswith(unread)
    ]


def _above(relative: bytes) -> Iterator[bytes]:
    """The directories that a path lies in, but for the target's own.

    >>> list(_above(b"/a/b/c"))
    [b'/a/b', b'/a']
    """
    while relative := relative.rpartition(b"/")[0]:
        yield relative


def _of_source(
    context: CopyContext, options: Options, path: str, placed: Placed, status: FileStatus
) -> list[Entry]:
    """The first rows of a source: itself, and the directory to be listed."""
    there = None
    if context.target_status is not None and not options.atomic:
        there = context.target_status
        if placed.relative:
            there = status_of(context.target_fs, prefix(path) + placed.relative)
    kind = Kind.DIRECTORY if status.is_directory else Kind.FILE
    number = placed.source.filesystem
    entry = Entry.of(kind, number, status, encode(placed.relative), there)
    is_filtered = context.is_filtered(placed.source.uri)
    rows = [] if placed.skips_itself or is_filtered else [entry]
    if status.is_directory:
        rows.append(replace(entry, kind=Kind.ROOT))
    return rows
