"""A namespace image as lines, one an inode (pure).

Mirrors the processor Delimited of Hadoop's offline image viewer, to the byte. What a
snapshot alone still has is not listed.

An inode's record has no path. So a first pass over the image learns of each inode
in which directory it is (`Places`), and a second one lists. The first needs memory
by the number of inodes, about 100 bytes each, unless places are kept elsewhere.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from howdah.formats.edits.edits import XAttrNamespace
from howdah.formats.image.erasure_coding import SYSTEM_POLICIES
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.inodes import OF_GROUP, OF_USER, OF_XATTR
from howdah.formats.image.message_maps import signed
from howdah.formats.viewers.text import NAME_MASK, RWX, text_of
from howdah.proto import fsimage_pb2 as pb

ROOT_ID: Final = 16385
_Node = pb.INodeSection.INode

# Names of extended attributes that hold what a directory says of what is in it.
_STORAGE_POLICY: Final = (XAttrNamespace.SYSTEM, "hsm.block.storage.policy.id")
_ERASURE_CODING: Final = (XAttrNamespace.SYSTEM, "hdfs.erasurecoding.policy")
_NOTHING: Final = "-"


# Where inodes are.


class Places(Protocol):
    """In which directory each inode is."""

    def add(self, parent_id: int, children: Iterable[int]) -> None: ...

    def parent_of(self, inode_id: int) -> int | None: ...


class PlacesInMemory:
    """Numbers of directories in one array, and where an inode's is in it."""

    def __init__(self) -> None:
        self._parents: dict[int, int] = {}

    def add(self, parent_id: int, children: Iterable[int]) -> None:
        # One object for the parent, whatever the number of its children.
        self._parents.update(dict.fromkeys(children, parent_id))

    def parent_of(self, inode_id: int) -> int | None:
        return self._parents.get(inode_id)


def children_of_directories(reader: ImageReader) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield each directory that is not empty with what is in it; references looked up.

    Raises CorruptImage for a reference that is not there.
    """
    referred = array("Q", (reference.inode_id or 0 for reference in reader.references()))
    for listed in reader.children():
        children = listed.children
        if listed.references:
            try:
                children = [*children, *(referred[place] for place in listed.references)]
            except IndexError as error:
                raise reader.sections.fail(
                    f"directory {listed.parent_id} has a reference that is not there"
                ) from error
        yield listed.parent_id, children


class Paths:
    """Paths of directories, put together once each."""

    def __init__(self, places: Places, names: dict[int, str]) -> None:
        """`names` are those of all directories."""
        self._places = places
        self._names = names
        self._known: dict[int, str | None] = {ROOT_ID: "/"}

    def directory_of(self, inode_id: int) -> str | None:
        """The path of the directory that an inode is in, with a slash at its end.

        None for what is in no directory, or in one that is not under the root.
        """
        if inode_id == ROOT_ID:
            return "/"
        parent_id = self._places.parent_of(inode_id)
        if parent_id is None:
            return None
        known = self._known
        if parent_id in known:
            return known[parent_id]
        climbed = []
        at: int | None = parent_id
        while at is not None and at not in known:
            climbed.append(at)
            # None until it is known: a directory within itself ends here.
            known[at] = None
            at = self._places.parent_of(at)
        path = None if at is None else known[at]
        while path is not None and climbed:
            at = climbed.pop()
            name = self._names.get(at)
            path = None if name is None else f"{path}{name}/"
            known[at] = path
        return path


# Delimited.


@dataclass(frozen=True, slots=True)
class Columns:
    """How a listing looks. `show_time` makes text of milliseconds."""

    show_time: Callable[[int], str]
    delimiter: str = "\t"
    with_storage_policy: bool = False
    with_erasure_coding: bool = False


def listing(reader: ImageReader, places: Places, columns: Columns) -> Iterator[str]:
    """A line of headings and one for every inode, in the image's order."""
    lines = _Lines(reader, columns)
    yield lines.heading()
    names = {
        inode.id: text_of(inode.name)
        for inode in inodes_of(reader)
        if inode.type == _Node.DIRECTORY
    }
    for parent_id, children in children_of_directories(reader):
        places.add(parent_id, children)
    paths = Paths(places, names)
    directory_of = paths.directory_of
    for inode in inodes_of(reader):
        directory = directory_of(inode.id)
        if directory is not None:
            yield lines.line(directory, inode)


def inodes_of(reader: ImageReader) -> Iterator[pb.INodeSection.INode]:
    sections = reader.sections
    messages = sections.messages("INODE")
    header = next(messages, None)
    if header is None:
        raise sections.fail("it has no inodes")
    announced = sections.parse(pb.INodeSection, header).numInodes
    count = 0
    for data in messages:
        count += 1
        yield sections.parse(_Node, data)
    if count != announced:
        raise sections.fail(f"it has {count} inodes and announces {announced}")


_QUOTED: Final = re.compile('[",\r\n]')


def cell(text: str) -> str:
    """Quoted as in CSV where there is a comma, whatever the delimiter; one line in any case."""
    if not _QUOTED.search(text):
        return text
    quoted = '"' + text.replace('"', '""') + '"'
    if "\r\n" in quoted:
        return quoted.replace("\r\n", "%x0D%x0A")
    return quoted.replace("\n", "%x0A")


def mode_text(mode: int) -> str:
    """`rwxr-xr-t`."""
    shown = RWX[mode >> 6 & 7] + RWX[mode >> 3 & 7] + RWX[mode & 7]
    if mode & 0o1000:
        shown = shown[:-1] + ("t" if mode & 1 else "T")
    return shown


class _Lines:
    def __init__(self, reader: ImageReader, columns: Columns) -> None:
        self._names = reader.names
        self._columns = columns
        self._delimiter = columns.delimiter
        self._owned: dict[int, tuple[str, str]] = {}
        self._never = self._time(0)

    def _time(self, time_ms: int) -> str:
        return cell(self._columns.show_time(time_ms))

    def heading(self) -> str:
        columns = [
            "Path",
            "Replication",
            "ModificationTime",
            "AccessTime",
            "PreferredBlockSize",
            "BlocksCount",
            "FileSize",
            "NSQUOTA",
            "DSQUOTA",
            "Permission",
            "UserName",
            "GroupName",
        ]
        if self._columns.with_storage_policy:
            columns.append("StoragePolicyId")
        if self._columns.with_erasure_coding:
            columns.append("ErasureCodingPolicy")
        return self._delimiter.join(columns) + "\n"

    def line(self, directory: str, inode: pb.INodeSection.INode) -> str:
        policy, coding = 0, _NOTHING
        if inode.type == _Node.FILE:
            file = inode.file
            bits = file.permission
            policy = signed(file.storagePolicyID, 32)
            if file.HasField("erasureCodingPolicyID"):
                known = SYSTEM_POLICIES.get(file.erasureCodingPolicyID)
                coding = known.name or _NOTHING if known else _NOTHING
            kind, has_acl = "-", bool(file.acl.entries) if file.HasField("acl") else False
            blocks = file.blocks
            values = (
                signed(file.replication, 32),
                self._time(signed(file.modificationTime, 64)),
                self._time(signed(file.accessTime, 64)),
                signed(file.preferredBlockSize, 64),
                len(blocks),
                sum([block.numBytes for block in blocks]),
                0,
                0,
            )
        elif inode.type == _Node.DIRECTORY:
            node = inode.directory
            bits = node.permission
            if node.HasField("xAttrs"):
                policy, coding = self._policies(node.xAttrs)
            kind, has_acl = "d", bool(node.acl.entries) if node.HasField("acl") else False
            values = (
                0,
                self._time(signed(node.modificationTime, 64)),
                self._never,
                0,
                0,
                0,
                signed(node.nsQuota, 64),
                signed(node.dsQuota, 64),
            )
        else:
            link = inode.symlink
            bits = link.permission
            kind, has_acl = "-", False
            modified = self._time(signed(link.modificationTime, 64))
            values = (0, modified, self._time(signed(link.accessTime, 64)), 0, 0, 0, 0, 0)
        delimiter = self._delimiter
        mode, owners = self._permission(bits)
        line = (
            f"{cell(directory + text_of(inode.name))}{delimiter}"
            f"{delimiter.join(map(str, values))}{delimiter}"
            f"{kind}{mode}{'+' if has_acl else ''}{delimiter}{owners}"
        )
        if self._columns.with_storage_policy:
            line += f"{delimiter}{policy}"
        if self._columns.with_erasure_coding:
            line += f"{delimiter}{cell(coding)}"
        return line + "\n"

    def _permission(self, bits: int) -> tuple[str, str]:
        """The mode; owner and group with a delimiter between."""
        known = self._owned.get(bits)
        if known is None:
            owner = self._names.get_optional(OF_USER, bits >> 40)
            group = self._names.get_optional(OF_GROUP, bits >> 16 & NAME_MASK)
            owners = self._delimiter.join(cell(name or "") for name in (owner, group))
            known = self._owned[bits] = (mode_text(bits), owners)
        return known

    def _policies(self, xattrs: pb.INodeSection.XAttrFeatureProto) -> tuple[int, str]:
        """A directory's storage policy, and the name of its erasure coding policy."""
        policy, coding = 0, _NOTHING
        for xattr in xattrs.xAttrs:
            number = xattr.name >> 30 & 3 | (xattr.name >> 5 & 1) << 2
            name = self._names.get(OF_XATTR, xattr.name >> 6 & NAME_MASK)
            if (number, name) == _STORAGE_POLICY and xattr.value:
                policy = signed(xattr.value[0], 8)
            elif (number, name) == _ERASURE_CODING and len(xattr.value) > 4:
                # A text as Java's Writables have it: its length in four bytes before it.
                coding = text_of(xattr.value[4:])
        return policy, coding
