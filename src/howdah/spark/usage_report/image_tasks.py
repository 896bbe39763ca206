"""The tasks that read a namespace image: read its sections, turn messages into rows.

A section can only be cut into messages from its start. That is quick; to parse the messages is
slow. So one task cuts each section, and passes batches of messages to all other tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from google.protobuf.message import DecodeError, Message

from howdah import errors
from howdah.copy.common.arrow_rows import Row, batches
from howdah.copy.common.filesystems import Place
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.inodes import InodeDecoder, LoadedStrings
from howdah.formats.image.records import (
    DirectoryRecord,
    ErasureCodingPolicyRecord,
    FileRecord,
    InodeRecord,
)
from howdah.proto import fsimage_pb2 as pb
from howdah.protocol.messages import parse
from howdah.protocol.striping.layout import GroupLayout
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema
from howdah.spark.listing.tree import DIRECTORY, FILE, SYMLINK

if TYPE_CHECKING:
    import pyarrow as pa

INODES: Final = "INODE"
CHILDREN: Final = "INODE_DIR"

MESSAGES_SCHEMA: Final = "section string, messages array<binary>"
INODE_SCHEMA: Final = (
    "inode_id long, name string, type string, owner string, `group` string, permission int, "
    "modification_time_ms long, access_time_ms long, length long, replication int, "
    "block_size long, blocks int, storage_policy int, quota_names long, quota_space long, "
    "is_open boolean, erasure_coding_policy string, space long"
)
CHILD_SCHEMA: Final = "parent_id long, child_id long"

BATCH_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadSections:
    """A task that reads the messages of sections, in batches of about 1 MiB."""

    place: Place
    path: str

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        wanted = [name for batch in given for name in batch.column(0).to_pylist()]
        if not wanted:
            return
        with self.place.connect().open(self.path) as file:
            reader = ImageReader(file, self.path)
            for name in wanted:
                for messages in _in_batches(reader, name):
                    yield pa.RecordBatch.from_pydict(
                        {
                            "section": pa.array([name]),
                            "messages": pa.array([messages], type=pa.list_(pa.binary())),
                        }
                    )


def _in_batches(reader: ImageReader, section: str) -> Iterator[list[bytes]]:
    messages = reader.sections.messages(section)
    if section == INODES:
        # The first message has the number of inodes.
        next(messages, None)
    batch: list[bytes] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def coding_policies_of(records: Iterable[ErasureCodingPolicyRecord]) -> Mapping[int, Policy]:
    """The erasure coding policies of an image by id, but for those that make no sense."""
    policies = dict(SYSTEM_POLICIES)
    for record in records:
        schema, cell_bytes = record.schema, record.cell_size_bytes
        if schema is not None and min(schema.data_units, schema.parity_units, cell_bytes or 0) > 0:
            assert cell_bytes is not None
            named = Schema(schema.codec, schema.data_units, schema.parity_units)
            policies.setdefault(record.policy_id, Policy(record.policy_id, named, cell_bytes))
    return policies


@dataclass(frozen=True, slots=True)
class ParseInodes:
    """A task that parses inodes. `strings` is the image's string table, `policies` are the erasure
    coding policies by id."""

    name: str
    mask_bits: int
    strings: dict[int, str]
    policies: Mapping[int, Policy]

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), INODE_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        decode = InodeDecoder(LoadedStrings(self.mask_bits, self.strings)).record
        for message in _messages(given):
            try:
                yield self._row(decode(_parsed(pb.INodeSection.INode, message)))
            except errors.CorruptImage as error:
                raise errors.CorruptImage(f"image {self.name}: {error.message}") from error

    def _row(self, inode: InodeRecord) -> Row:
        common = (
            inode.inode_id,
            as_text(inode.name),
            FILE,
            inode.owner,
            inode.group,
            inode.mode,
            inode.mtime_ms,
        )
        if isinstance(inode, FileRecord):
            return (*common, *self._of_file(inode))
        kind, names, space = SYMLINK, None, None
        if isinstance(inode, DirectoryRecord):
            kind = DIRECTORY
            # -1, and the value that Hadoop writes for the root, mean no quota.
            names = inode.namespace_quota if 0 <= inode.namespace_quota < _ENDLESS else None
            space = inode.space_quota_bytes if inode.space_quota_bytes >= 0 else None
        return (*common[:2], kind, *common[3:], 0, 0, 0, 0, 0, 0, names, space, False, None, 0)

    def _of_file(self, inode: FileRecord) -> tuple[Any, ...]:
        lengths = [block.length_bytes for block in inode.blocks]
        policy_id = inode.erasure_coding_policy_id
        if policy_id is None:
            policy_name, replication = None, inode.replication
            space = sum(lengths) * replication
        else:
            policy = self.policies.get(policy_id)
            if policy is None:
                raise errors.CorruptImage(
                    f"inode {inode.inode_id} has erasure coding policy {policy_id}, which the "
                    "image does not have"
                )
            # As the namenode says of it.
            policy_name, replication = policy.name, 1
            space = sum(GroupLayout(policy, length).space for length in lengths)
        return (
            inode.atime_ms,
            sum(lengths),
            replication,
            inode.block_size_bytes,
            len(lengths),
            inode.storage_policy_id,
            None,
            None,
            inode.writer is not None,
            policy_name,
            space,
        )


@dataclass(frozen=True, slots=True)
class ParseChildren:
    """A task that parses pairs of directory and child. `references` are the inode ids of the
    image's reference section, in its order."""

    name: str
    references: tuple[int, ...]

    def __call__(self, given: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(self._rows(given), CHILD_SCHEMA)

    def _rows(self, given: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for message in _messages(given):
            try:
                entry = _parsed(pb.INodeDirectorySection.DirEntry, message)
            except errors.CorruptImage as error:
                raise errors.CorruptImage(f"image {self.name}: {error.message}") from error
            for child in entry.children:
                yield entry.parent, child
            for reference in entry.refChildren:
                if reference >= len(self.references):
                    raise errors.CorruptImage(f"image {self.name}: no reference {reference}")
                yield entry.parent, self.references[reference]


M = TypeVar("M", bound=Message)


def _parsed(kind: type[M], message: bytes) -> M:
    try:
        return parse(kind, message)
    except DecodeError as error:
        raise errors.CorruptImage(
            f"an entry of {len(message)} bytes is not readable: {error}"
        ) from error


def _messages(given: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in given:
        for messages in batch.column(1).to_pylist():
            yield from messages


_ENDLESS: Final = (1 << 63) - 1


def as_text(name: str) -> str:
    """A name as valid UTF-8."""
    return name.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
