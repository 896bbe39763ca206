"""Rows of a namespace, made of the inodes of an image (pure).

Nearly all inodes are closed files without attributes. Thousands of these are columns at once
(`howdah.formats.image.columns`), and become arrays without an object for each file or value. All
other inodes are rows of their own.

`NAMESPACE` has the columns of `howdah.spark.namespace`, with the same meaning, so the reports of
`namespace_reports` take either. More are `block_list`, `snapshot_names`, `target` and `has_acl`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from howdah import errors
from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.formats.image.columns import (
    BATCH,
    FileColumns,
    Look,
    PackedFiles,
    pack_files,
    split_files,
)
from howdah.formats.image.inodes import InodeDecoder, LoadedStrings
from howdah.formats.image.records import (
    DirectoryRecord,
    FileRecord,
    InodeRecord,
    SymlinkRecord,
)
from howdah.proto import fsimage_pb2 as pb
from howdah.protocol.messages import parse
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import Policy
from howdah.spark.listing.kinds import DIRECTORY, FILE, LAST_MS, SYMLINK
from howdah.spark.tables import columns as of
from howdah.spark.tables.columns import Columns, as_text, micros
from howdah.spark.tables.image_index import ROOT, DirectoryTree, Numbers, heads

if TYPE_CHECKING:
    import pyarrow as pa

NAMESPACE: Final = Columns(
    {
        "path": of.STRING,
        "parent": of.STRING,
        "name": of.STRING,
        "type": of.STRING,
        "owner": of.STRING,
        "group": of.STRING,
        "permission": of.INT,
        "length": of.LONG,
        "replication": of.INT,
        "block_size": of.LONG,
        "space": of.LONG,
        "blocks": of.LONG,
        "erasure_coding_policy": of.STRING,
        "modification_time": of.TIMESTAMP,
        "access_time": of.TIMESTAMP,
        "storage_policy": of.INT,
        "inode_id": of.LONG,
        "depth": of.INT,
        "quota_names": of.LONG,
        "quota_space": of.LONG,
        "is_open": of.BOOLEAN,
        "snapshots": of.INT,
        "snapshot_names": of.STRINGS,
        "block_list": of.BLOCKS,
        "target": of.STRING,
        "has_acl": of.BOOLEAN,
    }
)

_FILE: Final = pb.INodeSection.INode.FILE
_ENDLESS: Final = (1 << 63) - 1
_STORAGE_POLICY: Final = (XAttrNamespace.SYSTEM, "hsm.block.storage.policy.id")

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ImageFacts:
    """What rows need of an image besides its inodes. `snapshots` are the names of the snapshots of
    a directory by its id, oldest first."""

    name: str
    mask_bits: int
    strings: Mapping[int, str]
    policies: Mapping[int, Policy]
    tree: DirectoryTree
    snapshots: Mapping[int, tuple[str, ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        own = (self.name, self.mask_bits, self.strings, self.policies, self.tree, self.snapshots)
        return ImageFacts, own

    @cached_property
    def _decoder(self) -> InodeDecoder:
        return InodeDecoder(LoadedStrings(self.mask_bits, dict(self.strings)))

    def parsed(self, kind: type[pb.INodeSection.INode], data: bytes) -> pb.INodeSection.INode:
        """Raises CorruptImage."""
        try:
            return parse(kind, data)
        except DecodeError as error:
            raise errors.CorruptImage(
                f"image {self.name}: an inode is unreadable: {error}"
            ) from error

    def record(self, message: bytes) -> InodeRecord:
        """Raises CorruptImage."""
        try:
            return self._decoder.record(self.parsed(pb.INodeSection.INode, message))
        except errors.CorruptImage as error:
            raise errors.CorruptImage(f"image {self.name}: {error.message}") from error

    def permission(self, bits: int) -> tuple[str, str, int]:
        """Owner, group and mode. Raises CorruptImage."""
        return self._decoder.permission(bits)

    @cached_property
    def directories(self) -> pa.Array:
        """The paths of directories, with a slash at the end."""
        return of.array(self.tree.paths, of.STRING)

    @cached_property
    def parents(self) -> pa.Array:
        """The same without the slash, but for the root's."""
        paths = [path and (path[:-1] or "/") for path in self.tree.paths]
        return of.array(paths, of.STRING)

    @cached_property
    def depths(self) -> npt.NDArray[np.int32]:
        """How deep the entries of each directory are."""
        counts = [path.count("/") if path else 0 for path in self.tree.paths]
        return np.array(counts, dtype=np.int32)


def batches_of(
    parts: Iterator[tuple[list[bytes], Numbers]], facts: ImageFacts, columns: Columns
) -> Iterator[pa.RecordBatch]:
    """The rows of messages, each with the number of its directory. Raises CorruptImage."""
    for messages, numbers in parts:
        for begin in range(0, len(messages), BATCH):
            some = messages[begin : begin + BATCH]
            yield from _batches(some, numbers[begin : begin + BATCH], facts, columns)


def _batches(
    messages: list[bytes], numbers: Numbers, facts: ImageFacts, columns: Columns
) -> Iterator[pa.RecordBatch]:
    packed = pack_files(messages)
    if packed is None:
        yield from _split(messages, numbers, facts, columns)
        return
    places = np.frombuffer(packed.places, np.int32)
    if len(places):
        yield _batch(_of_packed(packed, numbers[places], facts), columns)
    if len(places) < len(messages):
        is_other = np.ones(len(messages), np.bool_)
        is_other[places] = False
        others = np.flatnonzero(is_other).tolist()
        rows = [_row(facts.record(messages[at]), int(numbers[at]), facts) for at in others]
        yield columns.batch_of_rows(rows)


def _split(
    messages: Sequence[bytes], numbers: Numbers, facts: ImageFacts, columns: Columns
) -> Iterator[pa.RecordBatch]:
    """The same without the kernel."""
    ids, kinds = heads(messages, facts.parsed)
    is_file = kinds == _FILE
    count = int(is_file.sum())
    by_id: dict[int, int] = {}
    others: list[Mapping[str, Any]] = []
    for split in split_files(messages):
        is_all = isinstance(split, FileColumns) and len(split.ids) == count
        if not is_all and not by_id:
            by_id = dict(zip(ids.tolist(), numbers.tolist(), strict=True))
        if isinstance(split, FileColumns):
            # Columns have the files in the order of the messages.
            own = numbers[is_file] if is_all else _numbers_of(split.ids, by_id)
            yield _batch(_of_columns(split, own, facts), columns)
        else:
            inode = facts.record(split)
            others.append(_row(inode, by_id[inode.inode_id], facts))
    if others:
        yield columns.batch_of_rows(others)


def _batch(files: _Files, columns: Columns) -> pa.RecordBatch:
    return columns.batch({name: _ARRAYS[name](files) for name in columns.types})


def _numbers_of(ids: Sequence[int], by_id: Mapping[int, int]) -> Numbers:
    return np.fromiter(map(by_id.__getitem__, ids), np.int32, len(ids))


# Files as columns.


@dataclass(frozen=True)
class _Files:
    """Files that are columns, with the numbers of their directories. Files that look alike share
    a look; `look_places` says which each has. `block_counts` is None if each has one block."""

    facts: ImageFacts
    numbers: Numbers
    ids: Longs
    names: pa.Array
    mtimes_ms: Longs
    atimes_ms: Longs
    looks: Sequence[Look]
    look_places: npt.NDArray[np.int32]
    counts: Longs | None
    block_ids: Longs
    generation_stamps: Longs
    block_lengths: Longs

    @property
    def count(self) -> int:
        return len(self.ids)

    @cached_property
    def block_counts(self) -> Longs:
        return np.ones(self.count, dtype=np.int64) if self.counts is None else self.counts

    @cached_property
    def lengths(self) -> Longs:
        if self.counts is None:
            return self.block_lengths
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.block_lengths)])
        ends = np.cumsum(self.counts)
        found: Longs = sums[ends] - sums[ends - self.counts]
        return found

    def of_looks(self, value: Callable[[Any], Any], kind: str) -> pa.Array:
        """A column of what files have in common."""
        values = of.array([value(look) for look in self.looks], kind)
        return values.take(of.numbers(self.look_places))

    def of_permissions(self, place: int, kind: str) -> pa.Array:
        permission = self.facts.permission
        return self.of_looks(lambda look: permission(look.permission)[place], kind)

    @property
    def replications(self) -> Longs:
        looks = np.array([look.replication for look in self.looks], dtype=np.int64)
        found: Longs = looks[self.look_places]
        return found

    @property
    def paths(self) -> pa.Array:
        import pyarrow.compute as pc

        # No text between them: for one of Python's Arrow imports pandas (see `of.array`).
        nothing = of.texts_between(bytes(4 * (self.count + 1)), b"")
        return pc.binary_join_element_wise(self._directories(), self.names, nothing)

    def _directories(self) -> pa.Array:
        return self.facts.directories.take(of.numbers(self.numbers))

    @property
    def parents(self) -> pa.Array:
        return self.facts.parents.take(of.numbers(self.numbers))

    @property
    def block_list(self) -> pa.Array:
        import pyarrow as pa

        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(self.block_counts)])
        kind = of.arrow_type(of.BLOCKS)
        columns = (self.block_ids, self.block_lengths, self.generation_stamps)
        blocks = pa.StructArray.from_arrays(
            [of.numbers(column) for column in columns], fields=list(kind.value_type)
        )
        return pa.ListArray.from_arrays(of.numbers(offsets.astype(np.int32)), blocks, type=kind)

    def nothing(self, kind: str) -> pa.Array:
        import pyarrow as pa

        return pa.nulls(self.count, of.arrow_type(kind))

    def same(self, value: Any, kind: str) -> pa.Array:
        return of.array([value], kind).take(of.numbers(np.zeros(self.count, dtype=np.int32)))


def _of_packed(files: PackedFiles, numbers: Numbers, facts: ImageFacts) -> _Files:
    counts = _view(files.block_counts)
    return _Files(
        facts,
        numbers,
        _view(files.ids),
        of.texts_between(files.name_ends, files.names),
        _view(files.mtimes_ms),
        _view(files.atimes_ms),
        list(map(Look._make, files.different_looks)),
        np.frombuffer(files.looks, np.int32),
        None if (counts == 1).all() else counts,
        _view(files.block_ids),
        _view(files.generation_stamps),
        _view(files.lengths_bytes),
    )


def _view(data: bytes) -> Longs:
    return np.frombuffer(data, np.int64)


def _of_columns(files: FileColumns, numbers: Numbers, facts: ImageFacts) -> _Files:
    objects = np.fromiter(map(id, files.looks), np.int64, len(files.ids))
    _, firsts, places = np.unique(objects, return_index=True, return_inverse=True)
    counts = files.block_counts
    return _Files(
        facts,
        numbers,
        _longs(files.ids),
        of.array(files.names, of.STRING),
        _longs(files.mtimes_ms),
        _longs(files.atimes_ms),
        [files.looks[first] for first in firsts.tolist()],
        places.astype(np.int32),
        None if counts is None else _longs(counts),
        _longs(files.block_ids),
        _longs(files.generation_stamps),
        _longs(files.lengths_bytes),
    )


def _longs(values: Sequence[int]) -> Longs:
    """Numbers of 64 bits, those without a sign as Java reads them."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=np.uint64).view(np.int64)


def _times(milliseconds: Longs) -> pa.Array:
    is_there = (milliseconds > 0) & (milliseconds <= LAST_MS)
    return of.numbers(milliseconds * 1000, of.TIMESTAMP, is_there=is_there)


_ARRAYS: Final[Mapping[str, Callable[[_Files], Any]]] = {
    "path": lambda files: files.paths,
    "parent": lambda files: files.parents,
    "name": lambda files: files.names,
    "type": lambda files: files.same(FILE, of.STRING),
    "owner": lambda files: files.of_permissions(0, of.STRING),
    "group": lambda files: files.of_permissions(1, of.STRING),
    "permission": lambda files: files.of_permissions(2, of.INT),
    "length": lambda files: of.numbers(files.lengths),
    "replication": lambda files: files.of_looks(lambda look: look.replication, of.INT),
    "block_size": lambda files: files.of_looks(lambda look: look.block_size_bytes, of.LONG),
    "space": lambda files: of.numbers(files.lengths * files.replications),
    "blocks": lambda files: of.numbers(files.block_counts),
    "erasure_coding_policy": lambda files: files.nothing(of.STRING),
    "modification_time": lambda files: _times(files.mtimes_ms),
    "access_time": lambda files: _times(files.atimes_ms),
    "storage_policy": lambda files: files.of_looks(lambda look: look.storage_policy_id, of.INT),
    "inode_id": lambda files: of.numbers(files.ids),
    "depth": lambda files: of.numbers(files.facts.depths[files.numbers]),
    "quota_names": lambda files: files.nothing(of.LONG),
    "quota_space": lambda files: files.nothing(of.LONG),
    "is_open": lambda files: files.same(False, of.BOOLEAN),
    "snapshots": lambda files: files.same(0, of.INT),
    "snapshot_names": lambda files: files.nothing(of.STRINGS),
    "block_list": lambda files: files.block_list,
    "target": lambda files: files.nothing(of.STRING),
    "has_acl": lambda files: files.same(False, of.BOOLEAN),
}
assert _ARRAYS.keys() == NAMESPACE.types.keys()


# Rows of all others.


def _row(inode: InodeRecord, number: int, facts: ImageFacts) -> dict[str, Any]:
    name = as_text(inode.name)
    row: dict[str, Any] = dict.fromkeys(NAMESPACE.types)
    if number == ROOT:
        row |= {"path": "/", "parent": "", "name": "", "depth": 0}
    else:
        directory = facts.tree.paths[number] or "/"
        row |= {"path": directory + name, "parent": directory[:-1] or "/", "name": name}
        row["depth"] = directory.count("/")
    row |= {
        "owner": inode.owner,
        "group": inode.group,
        "permission": inode.mode,
        "inode_id": inode.inode_id,
        "modification_time": micros(inode.mtime_ms),
        "length": 0,
        "replication": 0,
        "block_size": 0,
        "space": 0,
        "blocks": 0,
        "storage_policy": 0,
        "is_open": False,
        "snapshots": 0,
        "has_acl": False,
    }
    if isinstance(inode, FileRecord):
        return row | _of_file(inode, facts)
    if isinstance(inode, DirectoryRecord):
        return row | _of_directory(inode, facts)
    assert isinstance(inode, SymlinkRecord), inode
    return row | {
        "type": SYMLINK,
        "access_time": micros(inode.atime_ms),
        "target": as_text(inode.target),
    }


def _of_file(inode: FileRecord, facts: ImageFacts) -> dict[str, Any]:
    lengths = [block.length_bytes for block in inode.blocks]
    policy_id = inode.erasure_coding_policy_id
    policy = None
    replication = inode.replication
    space = sum(lengths) * replication
    if policy_id is not None:
        policy = facts.policies.get(policy_id)
        if policy is None:
            raise errors.CorruptImage(
                f"image {facts.name}: inode {inode.inode_id} has erasure coding policy "
                f"{policy_id}, which the image does not have"
            )
        replication = 1  # As the namenode says of it.
        space = sum(GroupLayout(policy, length).space for length in lengths)
    return {
        "type": FILE,
        "access_time": micros(inode.atime_ms),
        "length": sum(lengths),
        "replication": replication,
        "block_size": inode.block_size_bytes,
        "space": space,
        "blocks": len(lengths),
        "erasure_coding_policy": None if policy is None else policy.name,
        "storage_policy": inode.storage_policy_id,
        "is_open": inode.writer is not None,
        "block_list": [
            {
                "block_id": block.block_id,
                "length": block.length_bytes,
                "generation_stamp": block.generation_stamp,
            }
            for block in inode.blocks
        ],
        "has_acl": bool(inode.acl),
    }


def _of_directory(inode: DirectoryRecord, facts: ImageFacts) -> dict[str, Any]:
    names, space = inode.namespace_quota, inode.space_quota_bytes
    snapshots = facts.snapshots.get(inode.inode_id)
    return {
        "type": DIRECTORY,
        "access_time": micros(inode.atime_ms),
        # -1, and the value that Hadoop writes for the root, mean no quota.
        "quota_names": names if 0 <= names < _ENDLESS else None,
        "quota_space": space if space >= 0 else None,
        "storage_policy": _policy_of(inode.xattrs),
        "snapshots": len(snapshots or ()),
        "snapshot_names": None if snapshots is None else list(snapshots),
        "has_acl": bool(inode.acl),
    }


def _policy_of(xattrs: Sequence[XAttr]) -> int:
    """The storage policy that a directory has in an attribute; 0 for none."""
    for xattr in xattrs:
        if (xattr.namespace, xattr.name) == _STORAGE_POLICY and xattr.value:
            return xattr.value[0]
    return 0
