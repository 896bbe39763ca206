"""What a namespace image lists and does not have (pure).

Mirrors the processor DetectCorruption of Hadoop's offline image viewer, to the byte: a
line for each inode that a directory lists and that is not there, and for each
directory that lists such a one. It finds nothing else; damage to the file itself is
refused when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from howdah.formats.image.fsimage import ImageReader
from howdah.formats.viewers.image_lines import (
    Paths,
    Places,
    cell,
    children_of_directories,
    inodes_of,
)
from howdah.formats.viewers.text import text_of
from howdah.proto import fsimage_pb2 as pb

_MISSING = "Missing"


@dataclass(slots=True)
class _Problem:
    """`missing_children` counts those that a directory lists and that are not there."""

    is_missing: bool = False
    missing_children: int = 0

    def kind(self) -> str:
        missing = "CorruptNode" if self.is_missing else ""
        lacking = "MissingChild" if self.missing_children else ""
        return "With".join(filter(None, (missing, lacking)))


def problems(reader: ImageReader, places: Places, delimiter: str = "\t") -> Iterator[str]:
    """Yield a line of headings and one for each that something is wrong with."""
    columns = ("CorruptionType", "Id", "IsSnapshot", "ParentPath", "ParentId", "Name")
    yield delimiter.join((*columns, "NodeType", "CorruptChildren")) + "\n"
    names: dict[int, str] = {}
    there: set[int] = set()
    for inode in inodes_of(reader):
        there.add(inode.id)
        if inode.type == pb.INodeSection.INode.DIRECTORY:
            names[inode.id] = text_of(inode.name)
    by_id = _find(reader, places, there)
    referred = {reference.inode_id for reference in reader.references()}

    def line(inode_id: int, name: str, directory: str | None) -> str:
        problem = by_id.pop(inode_id)
        parent_id = places.parent_of(inode_id)
        kind = "Node" if inode_id in there else "Ref" if inode_id in referred else "Unknown"
        cells = (
            str(inode_id),
            "true" if directory is None else "false",
            directory or "",
            _MISSING if parent_id is None else str(parent_id),
            name,
            kind,
            str(problem.missing_children),
        )
        return delimiter.join((problem.kind(), *map(cell, cells))) + "\n"

    paths = Paths(places, names)
    if by_id:
        for inode in inodes_of(reader):
            if inode.id in by_id:
                directory = paths.directory_of(inode.id)
                if directory is not None:
                    yield line(inode.id, text_of(inode.name), directory.rstrip("/") or "/")
    # Those that are not there, and those that are in no directory.
    for inode_id in sorted(by_id):
        yield line(inode_id, names.get(inode_id, ""), None)


def _find(reader: ImageReader, places: Places, there: set[int]) -> dict[int, _Problem]:
    by_id: dict[int, _Problem] = {}
    for listed in reader.children():
        if listed.parent_id not in there:
            by_id.setdefault(listed.parent_id, _Problem()).is_missing = True
        missing = [inode_id for inode_id in listed.children if inode_id not in there]
        for inode_id in missing:
            by_id.setdefault(inode_id, _Problem()).is_missing = True
        if missing:
            by_id.setdefault(listed.parent_id, _Problem()).missing_children = len(missing)
    for parent_id, children in children_of_directories(reader):
        places.add(parent_id, children)
    return by_id
