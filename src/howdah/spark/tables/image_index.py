"""Cut an image into parts that tasks read without each other (pure).

An inode of an image has an id and a name; which directory it is in is said in another section. So
the driver reads the image once, without taking the messages of files apart:

1. The ids and kinds of all inodes are in the first bytes of their messages. They are taken for a
   whole chunk of the section at a time.
2. The section of children says in which directory each id is. With it every inode gets the number
   of its directory, 4 bytes.
3. A part is a range of the section of inodes, at borders of messages, with these numbers. The names
   of directories, and in which other one each is, go with all parts (`DirectoryTree`).

What is only in snapshots, and what is in no directory, has no number and no row.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from howdah.formats.image.fsimage import ImageReader
from howdah.formats.viewers.image_lines import ROOT_ID, children_of_directories
from howdah.proto import fsimage_pb2 as pb
from howdah.spark.tables.columns import as_text

INODES: Final = "INODE"
NOWHERE: Final = -1
ROOT: Final = -2
"""The number of the root's directory, which it has none of."""
PART_BYTES: Final = 4 << 20
"""The least size of a part."""

Numbers = npt.NDArray[np.int32]
Ids = npt.NDArray[np.int64]

_DIRECTORY: Final = pb.INodeSection.INode.DIRECTORY
_TYPE_TAG: Final = 0x08
_ID_TAG: Final = 0x10
_MOST_DIGITS: Final = 10
_DENSE: Final = 8
"""Up to so many times as many ids as inodes are looked up in an array by id."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A range of the section of inodes. `numbers` has the number of the directory of each inode in
    it, as 32 bits each, compressed."""

    begin: int
    end: int
    numbers: bytes

    @property
    def directories(self) -> Numbers:
        return np.frombuffer(zlib.decompress(self.numbers), dtype=np.int32)


@dataclass(frozen=True)
class DirectoryTree:
    """The directories of an image by number. `parents` are numbers, NOWHERE of those that are in
    no directory."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    root: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Paths are made again where they are needed: they take more room than names."""
        return _unpacked, (self._packed,)

    @cached_property
    def _packed(self) -> bytes:
        """All that goes with each part: a fifth of its bytes."""
        own = self.names, array("i", self.parents), self.root
        return zlib.compress(pickle.dumps(own), 1)

    @cached_property
    def paths(self) -> list[str | None]:
        """The path of each directory, with a slash at its end; None for one that is not below the
        root."""
        paths: list[str | None] = [None] * len(self.names)
        is_known = bytearray(len(self.names))
        paths[self.root], is_known[self.root] = "/", 1
        for number in range(len(self.names)):
            climbed = []
            at = number
            while at != NOWHERE and not is_known[at]:
                climbed.append(at)
                is_known[at] = 1  # A directory within itself ends here.
                at = self.parents[at]
            path = None if at == NOWHERE else paths[at]
            while climbed:
                at = climbed.pop()
                path = None if path is None else f"{path}{self.names[at]}/"
                paths[at] = path
        return paths


def _unpacked(data: bytes) -> DirectoryTree:
    names, parents, root = pickle.loads(zlib.decompress(data))
    return DirectoryTree(names, tuple(parents), root)


def index_image(
    reader: ImageReader,
    most_parts: int,
    has_rows: Callable[[str], bool] | None = None,
) -> tuple[DirectoryTree, list[ImagePart]]:
    """The directories of an image, and its parts. `has_rows` says of a directory, whose path ends
    in a slash, whether its entries are wanted; parts without such entries are left out.

    Raises CorruptImage.
    """
    scan = _Scan(reader)
    ids = np.concatenate([chunk.ids for chunk in scan.chunks]) if scan.chunks else _no_ids()
    numbers = _places(reader, scan.numbers).of(ids)
    numbers[ids == ROOT_ID] = ROOT
    tree = _tree(scan, ids, numbers)
    numbers = _wanted(numbers, tree, has_rows)
    return tree, list(_parts(scan.chunks, numbers, most_parts))


def _no_ids() -> Ids:
    return np.zeros(0, dtype=np.int64)


def _wanted(
    numbers: Numbers, tree: DirectoryTree, has_rows: Callable[[str], bool] | None
) -> Numbers:
    is_wanted = np.array(
        [path is not None and (has_rows is None or has_rows(path)) for path in tree.paths],
        dtype=np.bool_,
    )
    chosen = numbers >= 0
    chosen[chosen] = is_wanted[numbers[chosen]]
    return np.where(chosen | (numbers == ROOT), numbers, np.int32(NOWHERE)).astype(np.int32)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Messages that were read together: where they are in the section, and their ids."""

    begin: int
    end: int
    ids: Ids


class _Scan:
    """One pass over the inodes: their ids, and the directories among them."""

    def __init__(self, reader: ImageReader) -> None:
        self.chunks: list[_Chunk] = []
        self.names: list[str] = []
        self.numbers: dict[int, int] = {}
        """Numbers of directories by their ids."""
        sections = reader.sections
        announced = reader.inode_count()
        at = count = 0
        is_first = True
        for messages in sections.batches(INODES):
            begin = at
            at += _framed_length(messages)
            if is_first:
                begin += _framed_length(messages[:1])
                messages = messages[1:]
                is_first = False
            if messages:
                ids, kinds = heads(messages, sections.parse)
                for place in np.flatnonzero(kinds == _DIRECTORY).tolist():
                    inode = sections.parse(pb.INodeSection.INode, messages[place])
                    self.numbers[inode.id] = len(self.names)
                    self.names.append(as_text(inode.name))
                self.chunks.append(_Chunk(begin, at, ids))
                count += len(messages)
        if count != announced:
            raise sections.fail(f"it has {count} inodes and announces {announced}")
        if ROOT_ID not in self.numbers:
            raise sections.fail("it has no root")


def _framed_length(messages: Sequence[bytes]) -> int:
    """The bytes of messages with their lengths before them."""
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    digits = sum((lengths >> (7 * digit) > 0).sum() for digit in range(1, 5))
    return int(lengths.sum()) + len(messages) + int(digits)


def heads(
    messages: Sequence[bytes],
    parse: Callable[[type[pb.INodeSection.INode], bytes], pb.INodeSection.INode],
) -> tuple[Ids, Numbers]:
    """The ids of inodes, and their types, from the first bytes of all messages at once: the type
    and the id, in that order, as all writers have them."""
    lengths = np.fromiter(map(len, messages), np.int64, len(messages))
    data = np.frombuffer(b"".join(messages) + bytes(_MOST_DIGITS + 4), dtype=np.uint8)
    starts = np.cumsum(lengths) - lengths
    kinds = data[starts + 1].astype(np.int32)
    is_usual = (data[starts] == _TYPE_TAG) & (kinds < 0x80) & (data[starts + 2] == _ID_TAG)
    ids = np.zeros(len(messages), dtype=np.int64)
    goes_on = is_usual.copy()
    for digit in range(_MOST_DIGITS):
        byte = data[starts + 3 + digit].astype(np.int64)
        ids |= np.where(goes_on, (byte & 0x7F) << (7 * digit), 0)
        goes_on &= byte >= 0x80
        if not goes_on.any():
            break
    for place in np.flatnonzero(~is_usual | goes_on).tolist():
        inode = parse(pb.INodeSection.INode, messages[place])
        ids[place] = inode.id
        kinds[place] = inode.type
    return ids, kinds


class _Places:
    """The numbers of the directories of inodes by id."""

    def __init__(self, ids: Ids, numbers: Numbers) -> None:
        self._first = int(ids.min()) if len(ids) else 0
        span = int(ids.max()) - self._first + 1 if len(ids) else 0
        self._is_dense = span <= _DENSE * len(ids)
        if self._is_dense:
            self._dense = np.full(span, NOWHERE, dtype=np.int32)
            self._dense[ids - self._first] = numbers
        else:
            order = np.argsort(ids, kind="stable")
            self._ids, self._numbers = ids[order], numbers[order]

    def of(self, ids: Ids) -> Numbers:
        found = np.full(len(ids), NOWHERE, dtype=np.int32)
        if self._is_dense:
            places = ids - self._first
            is_there = (places >= 0) & (places < len(self._dense))
            found[is_there] = self._dense[places[is_there]]
            return found
        places = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        is_there = self._ids[places] == ids
        found[is_there] = self._numbers[places[is_there]]
        return found


def _places(reader: ImageReader, numbers: Mapping[int, int]) -> _Places:
    children: list[Ids] = []
    parents: list[int] = []
    counts: list[int] = []
    for parent_id, listed in children_of_directories(reader):
        number = numbers.get(parent_id)
        if number is not None:
            children.append(np.array(listed, dtype=np.uint64).view(np.int64))
            parents.append(number)
            counts.append(len(listed))
    ids = np.concatenate(children) if children else _no_ids()
    return _Places(ids, np.repeat(np.array(parents, dtype=np.int32), counts).astype(np.int32))


def _tree(scan: _Scan, ids: Ids, numbers: Numbers) -> DirectoryTree:
    parents = [NOWHERE] * len(scan.names)
    own = scan.numbers
    order = np.fromiter(own, np.int64, len(own))
    for place in np.flatnonzero(np.isin(ids, order)).tolist():
        number = int(numbers[place])
        parents[own[int(ids[place])]] = number if number >= 0 else NOWHERE
    return DirectoryTree(tuple(scan.names), tuple(parents), own[ROOT_ID])


def _parts(chunks: Sequence[_Chunk], numbers: Numbers, most_parts: int) -> Iterator[ImagePart]:
    """Ranges of about the same size."""
    total = sum(chunk.end - chunk.begin for chunk in chunks)
    size = max(-(-total // most_parts), PART_BYTES)
    at = 0
    waiting: list[_Chunk] = []
    for place, chunk in enumerate(chunks):
        waiting.append(chunk)
        is_last = place == len(chunks) - 1
        if is_last or chunk.end - waiting[0].begin >= size:
            count = sum(len(each.ids) for each in waiting)
            own = numbers[at : at + count]
            if (own != NOWHERE).any():
                packed = zlib.compress(own.tobytes(), 1)
                yield ImagePart(waiting[0].begin, chunk.end, packed)
            at += count
            waiting = []


def inodes_of(part: ImagePart, reader: ImageReader) -> Iterator[tuple[list[bytes], Numbers]]:
    """The messages of a part that have rows, many at a time, with the numbers of their
    directories."""
    numbers = part.directories
    at = 0
    for messages in reader.sections.batches_between(INODES, part.begin, part.end):
        own: Any = numbers[at : at + len(messages)]
        at += len(messages)
        if (own == NOWHERE).any():
            chosen = np.flatnonzero(own != NOWHERE)
            messages, own = [messages[place] for place in chosen], own[chosen]
        if messages:
            yield messages, own
    if at != len(numbers):
        raise reader.sections.fail(f"a part of its inodes has {at} of {len(numbers)}")
