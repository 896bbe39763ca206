"""Plain inodes and lists of children of an image's XML, thousands at a time (pure).

A closed file without ACL, attributes and erasure coding, and a directory without ACL,
attributes and quotas by kind, just as both viewers write them: that is nearly all of an
image. Files become columns (`howdah.formats.image.columns`), which the kernel frames.

What is written in any other way does not match, and is read element by element in
`inodes`: other blanks, an entity or a backslash in a name, a number of more than 18
digits. So a row needs no check beyond its pattern, and means what the element would.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from itertools import chain, groupby
from typing import Final, cast

from howdah.formats.image.columns import FileColumns, Look
from howdah.formats.image.records import ChildrenRecord, DirectoryRecord
from howdah.formats.viewers.image_xml import Groups

_LONG: Final = "-?[0-9]{1,18}+"
_COUNT: Final = "[0-9]{1,18}+"
_SMALL: Final = "[0-9]{1,9}+"
# Neither what XML or the viewers escape, nor what XML cannot have.
_NAME: Final = "[^\0-\x1f<>&\\\\\ud800-\udfff\ufffe\uffff]*+"
_OWNED: Final = "[^\0-\x1f<>&\\\\:\ud800-\udfff\ufffe\uffff]*+"
_PERMISSION: Final = f"{_OWNED}:{_OWNED}:[0-7]{{1,6}}+"


def _element(name: str, text: str) -> str:
    return f"<{name}>({text})</{name}>"


_BLOCK_NUMBERS: Final = (
    _element("id", _LONG) + _element("genstamp", _COUNT) + _element("numBytes", _COUNT)
)
_BLOCK: Final = re.compile(_BLOCK_NUMBERS)
_ANY_BLOCK: Final = "<block>" + re.sub(r"[()]", "", _BLOCK_NUMBERS) + "</block>\n"

INODE: Final = re.compile(
    "\n?<inode>"
    + _element("id", _COUNT)
    + "<type>(?:FILE</type>"
    + _element("name", _NAME)
    + _element("replication", _SMALL)
    + _element("mtime", _LONG)
    + _element("atime", _LONG)
    + _element("preferredBlockSize", _COUNT)
    + _element("permission", _PERMISSION)
    + f"(?:<blocks><block>{_BLOCK_NUMBERS}</block>\n((?:{_ANY_BLOCK})*+)</blocks>\n)?+"
    + f"(?:{_element('storagePolicyId', _SMALL)})?+"
    + "|DIRECTORY</type>"
    + _element("name", _NAME)
    + _element("mtime", _LONG)
    + _element("permission", _PERMISSION)
    + _element("nsquota", _LONG + "|9223372036854775807")
    + _element("dsquota", _LONG)
    + ")</inode>"
)
"""One plain inode; see `Inodes`."""
_FILE_GROUPS: Final = 12

CHILDREN: Final = re.compile(
    "\n?<directory>"
    + _element("parent", _COUNT)
    + f"<child>((?:{_COUNT}</child><child>)*+{_COUNT})</child></directory>"
)
"""One directory's children, none of which is a reference."""


def children(row: Groups) -> ChildrenRecord:
    """Of a match of `CHILDREN`."""
    parent, listed = cast("tuple[str, str]", row)
    return ChildrenRecord(int(parent), list(map(int, listed.split("</child><child>"))))


class Inodes:
    """Makes columns and records of matches of `INODE`.

    `permission` is asked for the number of an owner, a group and a mode, in the order of
    the files.
    """

    def __init__(self, permission: Callable[[str, str, int], int]) -> None:
        self._looks = _Looks(permission)

    def read(self, rows: list[Groups]) -> Iterator[FileColumns | DirectoryRecord]:
        for is_file, run in groupby(rows, key=_is_file):
            if is_file:
                yield self._files(list(run))
            else:
                yield from map(_directory, run)

    def _files(self, rows: list[Groups]) -> FileColumns:
        # Every group of a file is there, but those of blocks and of the policy.
        columns = cast("list[tuple[str, ...]]", list(zip(*rows, strict=True))[:_FILE_GROUPS])
        ids, names, replications, mtimes, atimes, sizes, permissions = columns[:7]
        block_ids, stamps, lengths, further, policies = columns[7:]
        counts = None
        if None in block_ids or any(further):
            block_lists = [_blocks(row[7:11]) for row in rows]
            counts = array("q", map(len, block_lists))
            block_ids, stamps, lengths = list(
                zip(*chain.from_iterable(block_lists), strict=True)
            ) or [
                (),
                (),
                (),
            ]
        return FileColumns(
            array("q", map(int, ids)),
            list(names),
            array("q", map(int, mtimes)),
            array("q", map(int, atimes)),
            list(
                map(
                    self._looks.__getitem__,
                    zip(permissions, replications, sizes, policies, strict=True),
                )
            ),
            array("q", map(int, block_ids)),
            array("q", map(int, stamps)),
            array("q", map(int, lengths)),
            counts,
        )


class _Looks(dict[tuple[str, str, str, str | None], Look]):
    """What files have in common, by its texts."""

    def __init__(self, permission: Callable[[str, str, int], int]) -> None:
        self._permission = permission

    def __missing__(self, texts: tuple[str, str, str, str | None]) -> Look:
        permission, replication, block_size, policy = texts
        owner, group, mode = permission.split(":")
        look = self[texts] = Look(
            self._permission(owner, group, int(mode, 8)),
            int(replication),
            int(block_size),
            int(policy or 0),
        )
        return look


def _is_file(row: Groups) -> bool:
    return row[1] is not None


def _blocks(groups: Groups) -> list[tuple[str, ...]]:
    """The blocks of one file: the numbers of its first, and the text of all others."""
    *first, further = groups
    if first[0] is None:
        return []
    return [cast("tuple[str, ...]", tuple(first)), *_BLOCK.findall(further or "")]


def _directory(row: Groups) -> DirectoryRecord:
    inode_id, (name, mtime, permission, names, space_bytes) = (
        cast("str", row[0]),
        cast("tuple[str, ...]", row[_FILE_GROUPS:]),
    )
    owner, group, mode = permission.split(":")
    return DirectoryRecord(
        int(inode_id), name, owner, group, int(mode, 8), int(mtime), int(names), int(space_bytes)
    )
