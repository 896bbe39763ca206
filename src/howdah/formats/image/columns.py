"""Many files of an image at once, as columns (pure).

A namespace of a million files has a million messages that nearly all look alike. To
parse them one by one, and to ask each for ten values, takes seven microseconds a file.
But the parser merges messages that follow each other: where the schema says that a
field is repeated, it makes a list of what each of them has (`image_columns.proto`). So
a thousand messages are one, of which the values come as lists, in half a microsecond a
file.

The way back is the kernel's: it writes a file in a tenth of a microsecond. Without it the
numbers of a column are written at once, as a packed field has them, and cut where each
ends, which takes as long for each number.

What makes columns of it is that every file has just one of each value. How many blocks
there are in each file, separators between the messages say: they add a block of the
id 0, which no block has. Files that have what few have (a writer, an ACL, …) are taken
out, by halving until they are found, and decoded one by one, as are directories and
links.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, islice, pairwise
from operator import not_
from types import ModuleType
from typing import Final, NamedTuple, Protocol, overload

from google.protobuf.message import DecodeError

from howdah.native.loader import kernel
from howdah.proto import fsimage_pb2, image_columns_pb2
from howdah.protocol.varint import encode_varint

BATCH: Final = 4096
"""So many messages are parsed at a time."""

_FILE: Final = fsimage_pb2.INodeSection.INode.FILE
_DIRECTORY: Final = fsimage_pb2.INodeSection.INode.DIRECTORY
_SEPARATOR: Final = image_columns_pb2.INodeColumns(
    file=image_columns_pb2.FileColumns(blocks=image_columns_pb2.BlockColumns(blockId=[0]))
).SerializeToString()
_ALONE: Final = 4
"""Batches that do not fit and are as small as that are not halved any more."""


class Look(NamedTuple):
    """What many files have in common. `permission` is as the image has it."""

    permission: int
    replication: int
    block_size_bytes: int
    storage_policy_id: int


class Page(Protocol):
    """Rows of a table that have names."""

    @property
    def names(self) -> Sequence[str]: ...


class NamesInPages(Sequence[str]):
    """The names of inodes by their ids, where a table has them: in a forked child a reference more
    of each would copy the memory that they are in."""

    def __init__(self, pages: Mapping[int, Page], shift: int, ids: Sequence[int]) -> None:
        """An id without its last `shift` bits is the number of its page, and those are the place
        there."""
        self.pages = pages
        self.shift = shift
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return list(map(self._name, self._ids[at]))
        return self._name(self._ids[at])

    def _name(self, inode_id: int) -> str:
        return self.pages[inode_id >> self.shift].names[inode_id & ((1 << self.shift) - 1)]


@dataclass(slots=True)
class FileColumns:
    """Closed files, without ACLs and attributes: what each has, list by list.

    The blocks of all files follow each other; `block_counts` says how many each has, and is
    None if each has one.
    """

    ids: Sequence[int]
    names: Sequence[str]
    mtimes_ms: Sequence[int]
    atimes_ms: Sequence[int]
    looks: Sequence[Look]
    block_ids: Sequence[int]
    generation_stamps: Sequence[int]
    lengths_bytes: Sequence[int]
    block_counts: Sequence[int] | None


class PackedFiles(NamedTuple):
    """The same as arrays of bytes, without an object for each value, as the kernel makes them of
    messages. `places`, `name_ends`, which begin with 0, and `looks` have 32 bits each, `names` are
    UTF-8, and all else has signed numbers of 64 bits. `places` are those of the files among the
    messages, `looks` are places in `different_looks`."""

    places: bytes
    ids: bytes
    name_ends: bytes
    names: bytes
    mtimes_ms: bytes
    atimes_ms: bytes
    looks: bytes
    different_looks: list[tuple[int, int, int, int]]
    block_counts: bytes
    block_ids: bytes
    generation_stamps: bytes
    lengths_bytes: bytes


def pack_files(messages: list[bytes]) -> PackedFiles | None:
    """The files among messages of inodes that have nothing that few have. None where there is no
    kernel: then `split_files` does the same."""
    native = getattr(kernel(), "pack_files", None)
    return None if native is None else PackedFiles._make(native(messages))


def split_files(messages: Sequence[bytes]) -> Iterator[FileColumns | bytes]:
    """Yield messages of inodes as columns, and as they are where they do not fit in."""
    split = _columns(messages)
    if split is not None:
        columns, others = split
        if columns.ids:
            yield columns
        yield from others
    elif len(messages) <= _ALONE:
        yield from messages
    else:
        middle = len(messages) // 2
        yield from split_files(messages[:middle])
        yield from split_files(messages[middle:])


def _columns(messages: Sequence[bytes]) -> tuple[FileColumns, list[bytes]] | None:
    """The files among the messages, and the rest; None if not all files fit in."""
    try:
        merged = image_columns_pb2.INodeColumns.FromString(_SEPARATOR.join(messages))
    except DecodeError:
        return None
    file, blocks = merged.file, merged.file.blocks
    if file.fileUC or file.acl or file.xAttrs or file.erasureCodingPolicyID:
        return None
    kinds, ids, names = merged.type[:], merged.id[:], merged.name[:]
    if not len(kinds) == len(ids) == len(names) == len(messages):
        return None
    counts = _block_counts(blocks.blockId[:], len(messages))
    if counts is None:
        return None
    others: list[bytes] = []
    if kinds.count(_FILE) != len(kinds):
        is_file = [kind == _FILE for kind in kinds]
        others = [data for data, one in zip(messages, is_file, strict=True) if not one]
        ids, names = list(compress(ids, is_file)), list(compress(names, is_file))
        counts = list(compress(counts, is_file))
    texts = _decoded(names)
    if texts is None:
        return None
    # Images of old layouts have no policies.
    policies = file.storagePolicyID[:] or [0] * len(ids)
    looks = (file.permission[:], file.replication[:], file.preferredBlockSize[:], policies)
    columns = FileColumns(
        ids,
        texts,
        file.modificationTime[:],
        file.accessTime[:],
        [],
        [block_id for block_id in blocks.blockId if block_id],
        blocks.genStamp[:],
        blocks.numBytes[:],
        None if counts.count(1) == len(counts) else counts,
    )
    if not _are_whole(columns) or any(len(column) != len(ids) for column in looks):
        return None
    columns.looks = list(map(_SameLooks().__getitem__, zip(*looks, strict=True)))
    return columns, others


class FileSizes(NamedTuple):
    """Of some inodes: how many they are, how many of them are directories, how many blocks
    the files have, and the files' lengths and replications."""

    inodes: int
    directories: int
    blocks: int
    sizes_bytes: Sequence[int]
    replications: Sequence[int]


def file_sizes(messages: Sequence[bytes]) -> Iterator[FileSizes | bytes]:
    """Yield the sizes of files alone, open ones and those with attributes too; messages of inodes
    as they are where they do not fit in."""
    if not messages:
        return
    sizes = _file_sizes(messages)
    if sizes is not None:
        yield sizes
    elif len(messages) <= _ALONE:
        yield from messages
    else:
        middle = len(messages) // 2
        yield from file_sizes(messages[:middle])
        yield from file_sizes(messages[middle:])


def _file_sizes(messages: Sequence[bytes]) -> FileSizes | None:
    try:
        merged = image_columns_pb2.INodeColumns.FromString(_SEPARATOR.join(messages))
    except DecodeError:
        return None
    file, blocks = merged.file, merged.file.blocks
    kinds, lengths, replications = merged.type[:], blocks.numBytes[:], file.replication[:]
    counts = _block_counts(blocks.blockId[:], len(messages))
    if counts is None or len(kinds) != len(messages):
        return None
    if kinds.count(_FILE) != len(kinds):
        counts = [count for kind, count in zip(kinds, counts, strict=True) if kind == _FILE]
    # No length of a file is negative, nor has it no replication, unless it is striped.
    if (
        len(replications) != len(counts)
        or sum(counts) != len(lengths)
        or min(lengths, default=0) < 0
    ):
        return None
    sizes = lengths
    if counts.count(1) != len(counts):
        following = iter(lengths)
        sizes = [sum(islice(following, count)) for count in counts]
    return FileSizes(len(messages), kinds.count(_DIRECTORY), len(lengths), sizes, replications)


class _SameLooks(dict[tuple[int, ...], Look]):
    """Looks by what is in them. Files that look alike share one: to make it takes longer."""

    def __missing__(self, values: tuple[int, ...]) -> Look:
        look = self[values] = Look._make(values)
        return look


def _block_counts(block_ids: list[int], files: int) -> list[int] | None:
    """How many ids there are before each 0, and behind the last one."""
    if block_ids.count(0) != files - 1:
        return None
    if len(block_ids) == 2 * files - 1 and not any(block_ids[1::2]):
        return [1] * files
    zeros = compress(range(len(block_ids)), map(not_, block_ids))
    return [end - begin - 1 for begin, end in pairwise((-1, *zeros, len(block_ids)))]


def _decoded(names: list[bytes]) -> list[str] | None:
    try:
        texts = b"\0".join(names).decode("utf-8", "surrogatepass").split("\0")
    except UnicodeDecodeError:
        return None
    if not names:
        return []
    return texts if len(texts) == len(names) else None


def _are_whole(columns: FileColumns) -> bool:
    """Every file has one of each, every block too."""
    return len(columns.mtimes_ms) == len(columns.atimes_ms) == len(columns.ids) and len(
        columns.block_ids
    ) == len(columns.generation_stamps) == len(columns.lengths_bytes)


# Writing.

_LONG: Final = (1 << 64) - 1
_VARINT: Final = re.compile(rb"[\x80-\xff]*[\x00-\x7f]", re.DOTALL)
_SHORT: Final = [encode_varint(number) for number in range(1 << 14)]
"""Lengths of nearly all that has a length here."""
# Tags: a field's number << 3 | how its value is written.
_INODE: Final = b"\x08\x01\x10"
_NAME: Final = b"\x1a"
_FILE_TAG: Final = b"\x22"
_REPLICATION: Final = b"\x08"
_MTIME: Final = b"\x10"
_ATIME: Final = b"\x18"
_BLOCK_SIZE: Final = b"\x20"
_PERMISSION: Final = b"\x29"
_BLOCK: Final = b"\x32"
_POLICY: Final = b"\x50"
_CONTIGUOUS: Final = b"\x58\x00"


def frame_files(columns: FileColumns) -> bytes:
    """The files' messages, each behind its length, just as one by one they would be."""
    native = kernel()
    if native is not None:
        try:
            return _framed_by(native, columns)
        except OverflowError:
            pass  # A number has 64 bits and no sign: Python takes any.
    return b"".join(part for message in join_files(columns) for part in (_length(message), message))


def _framed_by(native: ModuleType, columns: FileColumns) -> bytes:
    names: object = columns.names
    if isinstance(names, NamesInPages):
        names = names.pages, names.shift
    elif not isinstance(names, list):
        names = list(columns.names)
    counts = columns.block_counts
    framed: bytes = native.frame_files(
        _numbers(columns.ids),
        names,
        _numbers(columns.mtimes_ms),
        _numbers(columns.atimes_ms),
        list(map(_Heads().__getitem__, columns.looks)),
        _numbers(columns.block_ids),
        _numbers(columns.generation_stamps),
        _numbers(columns.lengths_bytes),
        None if counts is None else _numbers(counts),
    )
    return framed


def _numbers(column: Sequence[int]) -> array[int]:
    return column if isinstance(column, array) else array("q", column)


def join_files(columns: FileColumns) -> Iterator[bytes]:
    """The files' messages, just as one by one they would be."""
    names = [name.encode("utf-8", "surrogatepass") for name in columns.names]
    for inode_id, name, mtime, atime, (head, middle, tail), blocks in zip(
        _varints(columns.ids),
        names,
        _varints(columns.mtimes_ms),
        _varints(columns.atimes_ms),
        map(_Heads().__getitem__, columns.looks),
        _blocks(columns),
        strict=True,
    ):
        file = b"".join((head, mtime, _ATIME, atime, middle, blocks, tail))
        yield b"".join(
            (_INODE, inode_id, _NAME, _length(name), name, _FILE_TAG, _length(file), file)
        )


class _Heads(dict[Look, tuple[bytes, bytes, bytes]]):
    """What is before, between and behind what differs from file to file."""

    def __missing__(self, look: Look) -> tuple[bytes, bytes, bytes]:
        encoded = self[look] = (
            _REPLICATION + encode_varint(look.replication) + _MTIME,
            b"".join(
                (
                    _BLOCK_SIZE,
                    encode_varint(look.block_size_bytes & _LONG),
                    _PERMISSION,
                    look.permission.to_bytes(8, "little"),
                )
            ),
            _POLICY + encode_varint(look.storage_policy_id) + _CONTIGUOUS,
        )
        return encoded


def _blocks(columns: FileColumns) -> Iterator[bytes]:
    """The blocks of each file."""
    parts = (
        b"\x08%b\x10%b\x18%b" % numbers
        for numbers in zip(
            _varints(columns.block_ids),
            _varints(columns.generation_stamps),
            _varints(columns.lengths_bytes),
            strict=True,
        )
    )
    framed = (b"%b%b%b" % (_BLOCK, _SHORT[len(part)], part) for part in parts)
    if columns.block_counts is None:
        return framed
    return (b"".join([next(framed) for _ in range(count)]) for count in columns.block_counts)


def _varints(numbers: Sequence[int]) -> list[bytes]:
    try:
        packed = image_columns_pb2.Numbers(values=numbers)
    except ValueError:  # Java's negative numbers.
        packed = image_columns_pb2.Numbers(values=[number & _LONG for number in numbers])
    data = packed.SerializeToString()
    varints: list[bytes] = _VARINT.findall(data, _payload_begin(data))
    return varints


def _payload_begin(data: bytes) -> int:
    """Behind the tag and the length of the only field."""
    if not data:
        return 0
    begin = 1
    while data[begin] > 0x7F:
        begin += 1
    return begin + 1


def _length(data: bytes) -> bytes:
    count = len(data)
    return _SHORT[count] if count < len(_SHORT) else encode_varint(count)
