"""A namespace image: its sections in order, as records (pure).

`ImageWriter` has one method a section, to be called in the order in which they
stand here, which is Hadoop's. `ImageReader` gives the records of any section;
inodes, lists of children and diffs come one by one.

>>> writer = ImageWriter(file)
>>> writer.namesystem(NamesystemRecord(…))
>>> writer.inodes(last_inode_id, len(records), records)
>>> …
>>> writer.finish()
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.edits.codec import LAYOUT_VERSION
from howdah.formats.image import records as rec
from howdah.formats.image.columns import BATCH, FileColumns, frame_files, split_files
from howdah.formats.image.inodes import (
    MASK_BITS,
    InodeDecoder,
    InodeEncoder,
    LoadedStrings,
    StringTable,
    block_of,
    blocks_to_messages,
)
from howdah.formats.image.message_maps import from_message, signed, to_message
from howdah.formats.image.sections import SectionReader, SectionWriter, Sink, Source
from howdah.proto import client_namenode_pb2
from howdah.proto import fsimage_pb2 as pb

_Diffs = pb.SnapshotDiffSection
R = TypeVar("R")
M = TypeVar("M", bound=Message)


class ImageWriter:
    """Writes an image, section by section."""

    def __init__(
        self,
        sink: Sink,
        *,
        codec: str = "",
        layout_version: int = LAYOUT_VERSION,
        strings: Iterable[tuple[int, str]] = (),
    ) -> None:
        """`strings` are what the string table has from the start, by number.

        Raises UnsupportedOperation for a codec that is not there.
        """
        self._out = SectionWriter(sink, codec=codec, layout_version=layout_version)
        self._strings = StringTable(strings)
        self._inodes = InodeEncoder(self._strings)

    def namesystem(self, record: rec.NamesystemRecord) -> None:
        self._out.message(to_message(record, pb.NameSystemSection()))
        self._out.end_section("NS_INFO")

    def erasure_coding(self, policies: Iterable[rec.ErasureCodingPolicyRecord]) -> None:
        section = pb.ErasureCodingSection()
        for policy in policies:
            to_message(policy, section.policies.add())
        self._out.message(section.SerializeToString())
        self._out.end_section("ERASURE_CODING")

    def inodes(
        self, last_inode_id: int, count: int, records: Iterable[FileColumns | rec.InodeRecord]
    ) -> None:
        """Inodes one by one, or many files at a time. `permission` may be called between."""
        out = self._out
        header = pb.INodeSection(lastInodeId=last_inode_id, numInodes=count)
        out.message(header.SerializeToString())
        encode = self._inodes.encode
        written = 0
        for record in records:
            if isinstance(record, FileColumns):
                out.framed(frame_files(record))
                written += len(record.ids)
            else:
                out.message(encode(record))
                written += 1
        assert written == count, f"{written} inodes were written, {count} announced"
        out.end_section("INODE")

    def permission(self, owner: str, group: str, mode: int) -> int:
        """As columns have it."""
        return self._inodes.permission(owner, group, mode)

    def children(self, records: Iterable[rec.ChildrenRecord]) -> None:
        entry = pb.INodeDirectorySection.DirEntry
        for record in records:
            self._out.message(
                entry(
                    parent=record.parent_id,
                    children=record.children,
                    refChildren=record.references,
                ).SerializeToString()
            )
        self._out.end_section("INODE_DIR")

    def open_files(self, records: Iterable[rec.OpenFileRecord]) -> None:
        for record in records:
            message = pb.FilesUnderConstructionSection.FileUnderConstructionEntry()
            self._out.message(to_message(record, message))
        self._out.end_section("FILES_UNDERCONSTRUCTION")

    def snapshots(
        self,
        record: rec.SnapshotsRecord,
        diffs: Iterable[rec.InodeDiffsRecord] | None = None,
        references: Iterable[rec.ReferenceRecord] = (),
    ) -> None:
        """`diffs` None leaves their section out, as Hadoop does where no snapshot is."""
        header = pb.SnapshotSection(
            snapshotCounter=record.counter,
            snapshottableDir=record.snapshottable_ids,
            numSnapshots=len(record.snapshots),
        )
        self._out.message(header.SerializeToString())
        for snapshot in record.snapshots:
            message = pb.SnapshotSection.Snapshot(
                snapshotId=snapshot.snapshot_id, root=self._inodes.message(snapshot.root)
            )
            self._out.message(message.SerializeToString())
        self._out.end_section("SNAPSHOT")
        if diffs is not None:
            for inode in diffs:
                self._inode_diffs(inode)
            self._out.end_section("SNAPSHOT_DIFF")
        for reference in references:
            self._out.message(to_message(reference, pb.INodeReferenceSection.INodeReference()))
        self._out.end_section("INODE_REFERENCE")

    def _inode_diffs(self, inode: rec.InodeDiffsRecord) -> None:
        kind = _Diffs.DiffEntry.DIRECTORYDIFF if inode.is_directory else _Diffs.DiffEntry.FILEDIFF
        entry = _Diffs.DiffEntry(type=kind, inodeId=inode.inode_id, numOfDiff=len(inode.diffs))
        self._out.message(entry.SerializeToString())
        for diff in inode.diffs:
            if isinstance(diff, rec.FileDiffRecord):
                self._out.message(self._file_diff(diff).SerializeToString())
            else:
                self._out.message(self._directory_diff(diff).SerializeToString())
                for name in diff.created_names:
                    created = _Diffs.CreatedListEntry(name=name)
                    self._out.message(created.SerializeToString())

    def _file_diff(self, diff: rec.FileDiffRecord) -> pb.SnapshotDiffSection.FileDiff:
        message = _Diffs.FileDiff(
            snapshotId=diff.snapshot_id & 0xFFFFFFFF,
            fileSize=diff.size_bytes,
            name=diff.name,
            blocks=blocks_to_messages(diff.blocks),
            blockStates=diff.block_states,
        )
        if diff.copy is not None:
            message.snapshotCopy.CopyFrom(self._inodes.file(diff.copy))
        return message

    def _directory_diff(
        self, diff: rec.DirectoryDiffRecord
    ) -> pb.SnapshotDiffSection.DirectoryDiff:
        message = _Diffs.DirectoryDiff(
            snapshotId=diff.snapshot_id & 0xFFFFFFFF,
            childrenSize=diff.children_size,
            isSnapshotRoot=diff.is_snapshot_root,
            name=diff.name,
            createdListSize=len(diff.created_names),
            deletedINode=diff.deleted_ids,
            deletedINodeRef=diff.deleted_references,
        )
        if diff.copy is not None:
            message.snapshotCopy.CopyFrom(self._inodes.directory(diff.copy))
        return message

    def secrets(self, record: rec.SecretsRecord) -> None:
        header = pb.SecretManagerSection(
            currentId=record.current_key_id & 0xFFFFFFFF,
            tokenSequenceNumber=record.token_sequence_number & 0xFFFFFFFF,
            numKeys=len(record.keys),
            numTokens=len(record.tokens),
        )
        self._out.message(header.SerializeToString())
        for key in record.keys:
            self._out.message(to_message(key, pb.SecretManagerSection.DelegationKey()))
        for token in record.tokens:
            self._out.message(to_message(token, pb.SecretManagerSection.PersistToken()))
        self._out.end_section("SECRET_MANAGER")

    def cache(self, record: rec.CacheRecord) -> None:
        header = pb.CacheManagerSection(
            nextDirectiveId=record.next_directive_id,
            numPools=len(record.pools),
            numDirectives=len(record.directives),
        )
        self._out.message(header.SerializeToString())
        for pool in record.pools:
            self._out.message(to_message(pool, client_namenode_pb2.CachePoolInfoProto()))
        for directive in record.directives:
            message = client_namenode_pb2.CacheDirectiveInfoProto()
            self._out.message(to_message(directive, message))
        self._out.end_section("CACHE_MANAGER")

    def finish(self) -> None:
        """The string table and the summary; the image is complete."""
        strings = self._strings
        header = pb.StringTableSection(numEntry=len(strings), maskBits=MASK_BITS)
        self._out.message(header.SerializeToString())
        for number, text in strings:
            entry = pb.StringTableSection.Entry(id=number, str=text)
            self._out.message(entry.SerializeToString())
        self._out.end_section("STRING_TABLE")
        self._out.finish()


class ImageReader:
    """Reads an image. `name` is for errors.

    Every method raises CorruptImage for what cannot be, some UnsupportedOperation.
    """

    def __init__(self, source: Source, name: str) -> None:
        self._in = SectionReader(source, name)
        self.layout_version = self._in.layout_version
        self.codec = self._in.codec
        self._strings = self._load_strings()
        self.names = LoadedStrings(*self._strings)
        self._decoder = InodeDecoder(self.names)

    @property
    def strings(self) -> dict[int, str]:
        """The string table."""
        return self._strings[1]

    @property
    def mask_bits(self) -> int:
        """How many bits of a string's number say what kind it is of."""
        return self._strings[0]

    @property
    def sections(self) -> SectionReader:
        """The sections as messages, for those who show what is in them."""
        return self._in

    def namesystem(self) -> rec.NamesystemRecord:
        _, message = self._headed("NS_INFO", pb.NameSystemSection)
        return self._record(rec.NamesystemRecord, message)

    def erasure_coding(self) -> tuple[rec.ErasureCodingPolicyRecord, ...]:
        if "ERASURE_CODING" not in self._in:
            return ()
        _, message = self._headed("ERASURE_CODING", pb.ErasureCodingSection)
        return tuple(
            self._record(rec.ErasureCodingPolicyRecord, policy) for policy in message.policies
        )

    def last_inode_id(self) -> int:
        return self._headed("INODE", pb.INodeSection)[1].lastInodeId

    def inode_count(self) -> int:
        """How many inodes it announces."""
        return self._headed("INODE", pb.INodeSection)[1].numInodes

    def inodes(self) -> Iterator[rec.InodeRecord]:
        messages, header = self._headed("INODE", pb.INodeSection)
        count = 0
        for data in messages:
            yield self._inode(data)
            count += 1
        if count != header.numInodes:
            raise self._in.fail(f"it has {count} inodes and announces {header.numInodes}")

    def inodes_in_bulk(self) -> Iterator[FileColumns | rec.InodeRecord]:
        """Yield the same, in about that order: columns of what all files have, and records of those
        inodes that have more."""
        _, header = self._headed("INODE", pb.INodeSection)
        count = -1
        for batch in self._in.batches("INODE"):
            messages = batch if count >= 0 else batch[1:]
            count += len(batch)
            for begin in range(0, len(messages), BATCH):
                for part in split_files(messages[begin : begin + BATCH]):
                    yield part if isinstance(part, FileColumns) else self._inode(part)
        if count != header.numInodes:
            raise self._in.fail(f"it has {count} inodes and announces {header.numInodes}")

    def permission(self, bits: int) -> tuple[str, str, int]:
        """Owner, group and mode, as columns have them in one."""
        try:
            return self._decoder.permission(bits)
        except errors.CorruptImage as error:
            raise self._in.fail(error.message) from error

    def _inode(self, data: bytes) -> rec.InodeRecord:
        message = self._in.parse(pb.INodeSection.INode, data)
        try:
            return self._decoder.record(message)
        except errors.CorruptImage as error:
            raise self._in.fail(error.message) from error

    def children(self) -> Iterator[rec.ChildrenRecord]:
        for data in self._in.messages("INODE_DIR"):
            message = self._in.parse(pb.INodeDirectorySection.DirEntry, data)
            yield rec.ChildrenRecord(
                message.parent, list(message.children), list(message.refChildren)
            )

    def open_files(self) -> Iterator[rec.OpenFileRecord]:
        kind = pb.FilesUnderConstructionSection.FileUnderConstructionEntry
        for data in self._in.messages("FILES_UNDERCONSTRUCTION"):
            yield self._record(rec.OpenFileRecord, self._in.parse(kind, data))

    def snapshots(self) -> rec.SnapshotsRecord:
        if "SNAPSHOT" not in self._in:
            return rec.SnapshotsRecord()
        messages, header = self._headed("SNAPSHOT", pb.SnapshotSection)
        snapshots = []
        for data in self._counted(messages, header.numSnapshots, "SNAPSHOT"):
            message = self._in.parse(pb.SnapshotSection.Snapshot, data)
            root = self._decoded(message.root)
            if not isinstance(root, rec.DirectoryRecord):
                raise self._in.fail(f"the root of snapshot {message.snapshotId} is no directory")
            snapshots.append(rec.SnapshotRecord(message.snapshotId, root))
        return rec.SnapshotsRecord(
            header.snapshotCounter, tuple(header.snapshottableDir), tuple(snapshots)
        )

    def snapshot_diffs(self) -> Iterator[rec.InodeDiffsRecord] | None:
        """None if the image does not have the section."""
        return self._snapshot_diffs() if "SNAPSHOT_DIFF" in self._in else None

    def _snapshot_diffs(self) -> Iterator[rec.InodeDiffsRecord]:
        messages = self._in.messages("SNAPSHOT_DIFF")
        for data in messages:
            entry = self._in.parse(_Diffs.DiffEntry, data)
            is_directory = entry.type == _Diffs.DiffEntry.DIRECTORYDIFF
            diffs: Any = [
                self._directory_diff(messages) if is_directory else self._file_diff(messages)
                for _ in range(entry.numOfDiff)
            ]
            yield rec.InodeDiffsRecord(entry.inodeId, is_directory, tuple(diffs))

    def _file_diff(self, messages: Iterator[bytes]) -> rec.FileDiffRecord:
        message = self._next(messages, _Diffs.FileDiff, "SNAPSHOT_DIFF")
        name = message.name if message.HasField("name") else None
        copy = None
        if message.HasField("snapshotCopy"):
            copy = self._decoder.file(0, "", message.snapshotCopy)
        states = tuple(message.blockStates)
        if states and len(states) != len(message.blocks):
            raise self._in.fail(
                f"a file of a snapshot has {len(message.blocks)} blocks and {len(states)} states"
            )
        return rec.FileDiffRecord(
            signed(message.snapshotId, 32),
            message.fileSize,
            name,
            copy,
            tuple(map(block_of, message.blocks)),
            states,
        )

    def _directory_diff(self, messages: Iterator[bytes]) -> rec.DirectoryDiffRecord:
        message = self._next(messages, _Diffs.DirectoryDiff, "SNAPSHOT_DIFF")
        name = message.name if message.HasField("name") else None
        copy = None
        if message.HasField("snapshotCopy"):
            copy = self._decoder.directory(0, "", message.snapshotCopy)
        created = [
            self._next(messages, _Diffs.CreatedListEntry, "SNAPSHOT_DIFF").name
            for _ in range(message.createdListSize)
        ]
        return rec.DirectoryDiffRecord(
            signed(message.snapshotId, 32),
            message.childrenSize,
            message.isSnapshotRoot,
            name,
            copy,
            tuple(created),
            tuple(message.deletedINode),
            tuple(message.deletedINodeRef),
        )

    def references(self) -> Iterator[rec.ReferenceRecord]:
        for data in self._in.messages("INODE_REFERENCE"):
            message = self._in.parse(pb.INodeReferenceSection.INodeReference, data)
            yield self._record(rec.ReferenceRecord, message)

    def secrets(self) -> rec.SecretsRecord:
        if "SECRET_MANAGER" not in self._in:
            return rec.SecretsRecord()
        section = pb.SecretManagerSection
        messages, header = self._headed("SECRET_MANAGER", section)
        entries = list(self._counted(messages, header.numKeys + header.numTokens, "SECRET_MANAGER"))
        keys, tokens = entries[: header.numKeys], entries[header.numKeys :]
        return rec.SecretsRecord(
            signed(header.currentId, 32),
            signed(header.tokenSequenceNumber, 32),
            tuple(self._parsed(rec.DelegationKeyRecord, section.DelegationKey, keys)),
            tuple(self._parsed(rec.DelegationTokenRecord, section.PersistToken, tokens)),
        )

    def cache(self) -> rec.CacheRecord:
        if "CACHE_MANAGER" not in self._in:
            return rec.CacheRecord()
        messages, header = self._headed("CACHE_MANAGER", pb.CacheManagerSection)
        entries = list(
            self._counted(messages, header.numPools + header.numDirectives, "CACHE_MANAGER")
        )
        pools, directives = entries[: header.numPools], entries[header.numPools :]
        pool, directive = (
            client_namenode_pb2.CachePoolInfoProto,
            client_namenode_pb2.CacheDirectiveInfoProto,
        )
        return rec.CacheRecord(
            header.nextDirectiveId,
            tuple(self._parsed(rec.CachePoolRecord, pool, pools)),
            tuple(self._parsed(rec.CacheDirectiveRecord, directive, directives)),
        )

    # Pieces.

    def _load_strings(self) -> tuple[int, dict[int, str]]:
        section = pb.StringTableSection
        messages, header = self._headed("STRING_TABLE", section)
        strings: dict[int, str] = {}
        for data in self._counted(messages, header.numEntry, "STRING_TABLE"):
            entry = self._in.parse(section.Entry, data)
            if not isinstance(entry.str, str):
                raise self._in.fail(f"string {entry.id} is not UTF-8")
            strings[entry.id] = entry.str
        return header.maskBits, strings

    def _headed(self, section: str, kind: type[M]) -> tuple[Iterator[bytes], M]:
        """A section's messages behind its first, and that one."""
        if section not in self._in:
            raise self._in.fail(f"it has no section {section}")
        messages = self._in.messages(section)
        return messages, self._next(messages, kind, section)

    def _next(self, messages: Iterator[bytes], kind: type[M], section: str) -> M:
        data = next(messages, None)
        if data is None:
            raise self._in.fail(f"section {section} ends before its last message")
        return self._in.parse(kind, data)

    def _counted(self, messages: Iterator[bytes], count: int, section: str) -> Iterator[bytes]:
        """Yield the messages, which have to be so many."""
        read_count = 0
        for data in messages:
            read_count += 1
            yield data
        if read_count != count:
            raise self._in.fail(
                f"section {section} has {read_count} messages and announces {count}"
            )

    def _parsed(self, kind: type[R], message: type[Message], data: list[bytes]) -> Iterator[R]:
        for part in data:
            yield self._record(kind, self._in.parse(message, part))

    def _record(self, kind: type[R], message: Message) -> R:
        try:
            return from_message(kind, message)
        except errors.CorruptImage as error:
            raise self._in.fail(error.message) from error

    def _decoded(self, message: pb.INodeSection.INode) -> rec.InodeRecord:
        try:
            return self._decoder.record(message)
        except errors.CorruptImage as error:
            raise self._in.fail(error.message) from error


def copy_image(reader: ImageReader, writer: ImageWriter) -> None:
    """Write what was read; from an image of this layout that is the same image again."""
    writer.namesystem(reader.namesystem())
    writer.erasure_coding(reader.erasure_coding())
    count = sum(1 for _ in reader.inodes())
    writer.inodes(reader.last_inode_id(), count, reader.inodes())
    writer.children(reader.children())
    writer.open_files(reader.open_files())
    writer.snapshots(reader.snapshots(), reader.snapshot_diffs(), reader.references())
    writer.secrets(reader.secrets())
    writer.cache(reader.cache())
    writer.finish()
