"""A namespace image as XML, as Hadoop's offline image viewer has it (pure).

Every section in the viewer's order, which is not the file's; elements, line ends and
escapes are Hadoop's to the byte. A message is shown as it stands, without becoming
a record: what it does not have is left out, or is shown with its default value.

Three things differ from what Hadoop's tool prints of the same image. `oivRevision`
names this software. A text that refers to a string which is not there is refused. And
there is what Hadoop has no place for: a last block that is being cut is `<truncating/>`,
and has a `<source>` if it is to be a copy; blocks that are not in the usual state of their
place have `<complete-blocks>`, `<last-committed/>` or `<block-state>`; and a directory has
an `<atime>` if somebody set one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from howdah import errors
from howdah.formats.edits.edits import XAttrNamespace
from howdah.formats.image import records as rec
from howdah.formats.image.erasure_coding import SYSTEM_POLICIES
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.inodes import OF_GROUP, OF_USER, OF_XATTR
from howdah.formats.image.message_maps import signed
from howdah.formats.image.sections import ON_DISK_VERSION
from howdah.formats.viewers.text import NAME_MASK, acl_texts, escape, text_of
from howdah.proto import client_namenode_pb2, types_pb2
from howdah.proto import fsimage_pb2 as pb

_Diffs = pb.SnapshotDiffSection
_Node = pb.INodeSection.INode
_NODE_TYPES: Final = {value.number: value.name for value in _Node.Type.DESCRIPTOR.values}
_STRIPED_REPLICATION: Final = 1
_ZERO: Final = datetime(1970, 1, 1, tzinfo=UTC)
POLICY_STATES: Final = {1: "DISABLED", 2: "ENABLED", 3: "REMOVED"}
POLICY_ENABLED: Final = 2
"""What a policy is of which the image does not say it."""


def _field(name: str, value: object) -> str:
    return f"<{name}>{escape(str(value))}</{name}>"


def _flag(name: str, is_set: bool) -> str:
    return f"<{name}/>" if is_set else ""


def _date(name: str, time_ms: int) -> str:
    """In UTC. Raises CorruptImage for a year that has no four digits."""
    try:
        shown = _ZERO + timedelta(milliseconds=time_ms)
    except OverflowError as error:
        raise errors.CorruptImage(f"its {name} of {time_ms} is in no year") from error
    day = shown.strftime("%Y-%m-%dT%H:%M:%S").zfill(19)
    return f"<{name}>{day}.{shown.microsecond // 1000:03d}</{name}>"


# The document.


def as_xml(reader: ImageReader, revision: str) -> Iterator[str]:
    """The document in pieces. Raises CorruptImage, UnsupportedOperation."""
    shown = _Shown(reader)
    yield '<?xml version="1.0"?>\n<fsimage><version>'
    yield _field("layoutVersion", reader.layout_version)
    yield _field("onDiskVersion", ON_DISK_VERSION)
    yield _field("oivRevision", revision)
    yield "</version>\n"
    for name, section in (
        ("NS_INFO", shown.namesystem),
        ("ERASURE_CODING", shown.erasure_coding),
        ("INODE", shown.inodes),
        ("INODE_REFERENCE", shown.references),
        ("SNAPSHOT", shown.snapshots),
        ("INODE_DIR", shown.children),
        ("FILES_UNDERCONSTRUCTION", shown.open_files),
        ("SNAPSHOT_DIFF", shown.snapshot_diffs),
        ("SECRET_MANAGER", shown.secrets),
        ("CACHE_MANAGER", shown.cache),
    ):
        if name in reader.sections:
            yield from section()
    yield "</fsimage>\n"


class _Shown:
    """Shows the sections of one image, and the inodes in them."""

    def __init__(self, reader: ImageReader) -> None:
        self._reader = reader
        self._in = reader.sections
        self._names = reader.names
        self._permissions: dict[int, str] = {}

    def _message(self, messages: Iterator[bytes], kind: Any) -> Any:
        data = next(messages, None)
        if data is None:
            raise self._in.fail(f"{kind.DESCRIPTOR.name} is missing where it is announced")
        return self._in.parse(kind, data)

    # Sections.

    def namesystem(self) -> Iterator[str]:
        info = self._message(self._in.messages("NS_INFO"), pb.NameSystemSection)
        yield "<NameSection>"
        yield _field("namespaceId", signed(info.namespaceId, 32))
        yield _field("genstampV1", signed(info.genstampV1, 64))
        yield _field("genstampV2", signed(info.genstampV2, 64))
        yield _field("genstampV1Limit", signed(info.genstampV1Limit, 64))
        yield _field("lastAllocatedBlockId", signed(info.lastAllocatedBlockId, 64))
        yield _field("txid", signed(info.transactionId, 64))
        yield "</NameSection>\n"

    def erasure_coding(self) -> Iterator[str]:
        policies = self._reader.erasure_coding()
        if not policies:
            return
        yield "<ErasureCodingSection>\n"
        for policy in policies:
            yield from _policy(SYSTEM_POLICIES.get(policy.policy_id, policy), policy.state)
        yield "</ErasureCodingSection>\n\n"

    def inodes(self) -> Iterator[str]:
        messages = self._in.messages("INODE")
        header = self._message(messages, pb.INodeSection)
        yield "<INodeSection>"
        yield _field("lastInodeId", signed(header.lastInodeId, 64))
        yield _field("numInodes", signed(header.numInodes, 64))
        count = 0
        for data in messages:
            count += 1
            yield f"<inode>{self._inode(self._in.parse(_Node, data))}</inode>\n"
        if count != header.numInodes:
            raise self._in.fail(f"it has {count} inodes and announces {header.numInodes}")
        yield "</INodeSection>\n"

    def references(self) -> Iterator[str]:
        yield "<INodeReferenceSection>"
        for data in self._in.messages("INODE_REFERENCE"):
            reference = self._in.parse(pb.INodeReferenceSection.INodeReference, data)
            yield (
                f"<ref>{_field('referredId', signed(reference.referredId, 64))}"
                f"{_field('name', text_of(reference.name))}"
                f"{_field('dstSnapshotId', signed(reference.dstSnapshotId, 32))}"
                f"{_field('lastSnapshotId', signed(reference.lastSnapshotId, 32))}</ref>\n"
            )
        yield "</INodeReferenceSection>"

    def snapshots(self) -> Iterator[str]:
        messages = self._in.messages("SNAPSHOT")
        header = self._message(messages, pb.SnapshotSection)
        yield f"<SnapshotSection>{_field('snapshotCounter', signed(header.snapshotCounter, 32))}"
        yield _field("numSnapshots", header.numSnapshots)
        if header.snapshottableDir:
            directories = "".join(_field("dir", inode_id) for inode_id in header.snapshottableDir)
            yield f"<snapshottableDir>{directories}</snapshottableDir>\n"
        for _ in range(header.numSnapshots):
            snapshot = self._message(messages, pb.SnapshotSection.Snapshot)
            yield f"<snapshot>{_field('id', signed(snapshot.snapshotId, 32))}"
            yield f"<root>{self._inode(snapshot.root)}</root></snapshot>"
        yield "</SnapshotSection>\n"

    def children(self) -> Iterator[str]:
        yield "<INodeDirectorySection>"
        for data in self._in.messages("INODE_DIR"):
            entry = self._in.parse(pb.INodeDirectorySection.DirEntry, data)
            children = "".join([f"<child>{inode_id}</child>" for inode_id in entry.children])
            references = "".join([f"<refChild>{place}</refChild>" for place in entry.refChildren])
            yield (
                f"<directory><parent>{entry.parent}</parent>{children}{references}</directory>\n"
            )
        yield "</INodeDirectorySection>\n"

    def open_files(self) -> Iterator[str]:
        yield "<FileUnderConstructionSection>"
        for data in self._in.messages("FILES_UNDERCONSTRUCTION"):
            entry = self._in.parse(
                pb.FilesUnderConstructionSection.FileUnderConstructionEntry, data
            )
            path = _field("path", text_of(entry.fullPath))
            yield f"<inode>{_field('id', signed(entry.inodeId, 64))}{path}</inode>\n"
        yield "</FileUnderConstructionSection>\n"

    def snapshot_diffs(self) -> Iterator[str]:
        messages = self._in.messages("SNAPSHOT_DIFF")
        yield "<SnapshotDiffSection>"
        for data in messages:
            entry = self._in.parse(_Diffs.DiffEntry, data)
            is_file = entry.type == _Diffs.DiffEntry.FILEDIFF
            name = "fileDiffEntry" if is_file else "dirDiffEntry"
            yield f"<{name}>{_field('inodeId', signed(entry.inodeId, 64))}"
            yield _field("count", signed(entry.numOfDiff, 32))
            for _ in range(entry.numOfDiff):
                yield from self._file_diff(messages) if is_file else self._directory_diff(messages)
            yield f"</{name}>"
        yield "</SnapshotDiffSection>\n"

    def _file_diff(self, messages: Iterator[bytes]) -> Iterator[str]:
        diff = self._message(messages, _Diffs.FileDiff)
        yield f"<fileDiff>{_field('snapshotId', signed(diff.snapshotId, 32))}"
        yield _field("size", signed(diff.fileSize, 64)) + _field("name", text_of(diff.name))
        # Hadoop shows a copy that is not there as one that has nothing but defaults;
        # its names are those of number 0, which is no name.
        copy = diff.snapshotCopy
        yield f"<snapshotCopy>{self._file(copy)}</snapshotCopy>\n"
        states = "".join(_field("block-state", state) for state in diff.blockStates)
        yield f"{_blocks(diff.blocks)}{states}</fileDiff>\n"

    def _directory_diff(self, messages: Iterator[bytes]) -> Iterator[str]:
        diff = self._message(messages, _Diffs.DirectoryDiff)
        yield f"<dirDiff>{_field('snapshotId', signed(diff.snapshotId, 32))}"
        yield _field("childrenSize", signed(diff.childrenSize, 32))
        yield _flag("isSnapshotRoot", diff.isSnapshotRoot) + _field("name", text_of(diff.name))
        if diff.HasField("snapshotCopy"):
            yield f"<snapshotCopy>{self._directory(diff.snapshotCopy)}</snapshotCopy>\n"
        yield _field("createdListSize", signed(diff.createdListSize, 32))
        yield "".join(_field("deletedInode", inode_id) for inode_id in diff.deletedINode)
        yield "".join(_field("deletedInoderef", place) for place in diff.deletedINodeRef)
        for _ in range(diff.createdListSize):
            created = self._message(messages, _Diffs.CreatedListEntry)
            yield f"<created>{_field('name', text_of(created.name))}</created>\n"
        yield "</dirDiff>\n"

    def secrets(self) -> Iterator[str]:
        section = pb.SecretManagerSection
        messages = self._in.messages("SECRET_MANAGER")
        header = self._message(messages, section)
        yield f"<SecretManagerSection>{_field('currentId', signed(header.currentId, 32))}"
        yield _field("tokenSequenceNumber", signed(header.tokenSequenceNumber, 32))
        yield _field("numDelegationKeys", header.numKeys)
        yield _field("numTokens", header.numTokens)
        for _ in range(header.numKeys):
            key = self._message(messages, section.DelegationKey)
            yield f"<delegationKey>{_field('id', signed(key.id, 32))}"
            yield _field("key", key.key.hex())
            if key.HasField("expiryDate"):
                yield _date("expiry", signed(key.expiryDate, 64))
            yield "</delegationKey>"
        for _ in range(header.numTokens):
            yield f"<token>{_token(self._message(messages, section.PersistToken))}</token>"
        yield "</SecretManagerSection>"

    def cache(self) -> Iterator[str]:
        messages = self._in.messages("CACHE_MANAGER")
        header = self._message(messages, pb.CacheManagerSection)
        yield "<CacheManagerSection>"
        yield _field("nextDirectiveId", signed(header.nextDirectiveId, 64))
        yield _field("numDirectives", header.numDirectives)
        yield _field("numPools", header.numPools)
        for _ in range(header.numPools):
            pool = self._message(messages, client_namenode_pb2.CachePoolInfoProto)
            yield f"<pool>{_field('poolName', text_of(pool.poolName))}"
            yield _field("ownerName", text_of(pool.ownerName))
            yield _field("groupName", text_of(pool.groupName)) + _field("mode", pool.mode)
            yield _field("limit", pool.limit)
            yield f"{_field('maxRelativeExpiry', pool.maxRelativeExpiry)}</pool>\n"
        for _ in range(header.numDirectives):
            directive = self._message(messages, client_namenode_pb2.CacheDirectiveInfoProto)
            yield f"<directive>{_field('id', directive.id)}"
            yield _field("path", text_of(directive.path))
            yield _field("replication", signed(directive.replication, 32))
            yield _field("pool", text_of(directive.pool))
            expiration = directive.expiration
            yield f"<expiration>{_field('millis', expiration.millis)}"
            yield f"{_flag('relative', expiration.isRelative)}</expiration>\n</directive>\n"
        yield "</CacheManagerSection>\n"

    # Inodes.

    def _inode(self, inode: pb.INodeSection.INode) -> str:
        if inode.HasField("file"):
            inside = self._file(inode.file)
        elif inode.HasField("directory"):
            inside = self._directory(inode.directory)
        elif inode.HasField("symlink"):
            inside = self._symlink(inode.symlink)
        else:
            inside = ""
        return (
            f"<id>{signed(inode.id, 64)}</id><type>{_NODE_TYPES[inode.type]}</type>"
            f"<name>{escape(text_of(inode.name))}</name>{inside}"
        )

    def _file(self, file: pb.INodeSection.INodeFile) -> str:
        is_striped = file.HasField("erasureCodingPolicyID")
        replication = _STRIPED_REPLICATION if is_striped else signed(file.replication, 32)
        parts = [
            f"<replication>{replication}</replication>"
            f"<mtime>{signed(file.modificationTime, 64)}</mtime>"
            f"<atime>{signed(file.accessTime, 64)}</atime>"
            f"<preferredBlockSize>{signed(file.preferredBlockSize, 64)}</preferredBlockSize>"
            f"<permission>{self._permission(file.permission)}</permission>"
        ]
        parts += self._attributes(file)
        parts.append(_blocks(file.blocks))
        if file.HasField("storagePolicyID"):
            parts.append(f"<storagePolicyId>{signed(file.storagePolicyID, 32)}</storagePolicyId>")
        if is_striped:
            block_type = types_pb2.BlockTypeProto.Name(file.blockType)
            parts.append(_field("blockType", block_type))
            parts.append(_field("erasureCodingPolicyId", signed(file.erasureCodingPolicyID, 32)))
        if file.HasField("fileUC"):
            writer = file.fileUC
            parts.append(
                f"<file-under-construction>{_field('clientName', text_of(writer.clientName))}"
                f"{_field('clientMachine', text_of(writer.clientMachine))}"
                f"{_flag('truncating', writer.truncating)}"
                f"{_source(writer)}{_states(writer)}</file-under-construction>\n"
            )
        return "".join(parts)

    def _directory(self, directory: pb.INodeSection.INodeDirectory) -> str:
        parts = [
            f"<mtime>{signed(directory.modificationTime, 64)}</mtime>"
            f"{_atime(directory)}"
            f"<permission>{self._permission(directory.permission)}</permission>"
        ]
        parts += self._attributes(directory)
        if directory.HasField("nsQuota") and directory.HasField("dsQuota"):
            parts.append(
                f"<nsquota>{signed(directory.nsQuota, 64)}</nsquota>"
                f"<dsquota>{signed(directory.dsQuota, 64)}</dsquota>"
            )
        for type_quota in directory.typeQuotas.quotas:
            kind = types_pb2.StorageTypeProto.Name(type_quota.storageType)
            quota = signed(type_quota.quota, 64)
            parts.append(f"<typeQuota>{_field('type', kind)}{_field('quota', quota)}</typeQuota>")
        return "".join(parts)

    def _attributes(
        self, inode: pb.INodeSection.INodeFile | pb.INodeSection.INodeDirectory
    ) -> list[str]:
        """Show extended attributes and ACL, where the inode has them."""
        parts = []
        if inode.HasField("xAttrs"):
            parts.append(self._xattrs(inode.xAttrs))
        if inode.HasField("acl"):
            parts.append(self._acl(inode.acl))
        return parts

    def _symlink(self, link: pb.INodeSection.INodeSymlink) -> str:
        return (
            f"<permission>{self._permission(link.permission)}</permission>"
            f"{_field('target', text_of(link.target))}"
            f"<mtime>{signed(link.modificationTime, 64)}</mtime>"
            f"<atime>{signed(link.accessTime, 64)}</atime>"
        )

    def _permission(self, bits: int) -> str:
        known = self._permissions.get(bits)
        if known is None:
            owner = self._names.get_optional(OF_USER, bits >> 40)
            group = self._names.get_optional(OF_GROUP, bits >> 16 & NAME_MASK)
            shown = f"{_or_null(owner)}:{_or_null(group)}:{bits & 0o1777:04o}"
            known = self._permissions[bits] = escape(shown)
        return known

    def _acl(self, acl: pb.INodeSection.AclFeatureProto) -> str:
        if not acl.entries:
            return ""
        entries = "".join([_field("acl", entry) for entry in acl_texts(acl, self._names)])
        return f"<acls>{entries}</acls>"

    def _xattrs(self, xattrs: pb.INodeSection.XAttrFeatureProto) -> str:
        shown = []
        for xattr in xattrs.xAttrs:
            number = xattr.name >> 30 & 3 | (xattr.name >> 5 & 1) << 2
            if number > max(XAttrNamespace):
                raise self._in.fail(f"an extended attribute is of namespace {number}")
            name = self._names.get(OF_XATTR, xattr.name >> 6 & NAME_MASK)
            try:
                value = _field("val", xattr.value.decode())
            except UnicodeDecodeError:
                value = _field("valHex", xattr.value.hex())
            shown.append(
                f"<xattr>{_field('ns', XAttrNamespace(number).name)}{_field('name', name)}"
                f"{value}</xattr>"
            )
        return f"<xattrs>{''.join(shown)}</xattrs>"


def _policy(policy: rec.ErasureCodingPolicyRecord, state: int | None) -> Iterator[str]:
    yield "<erasureCodingPolicy>\n"
    yield _field("policyId", policy.policy_id) + _field("policyName", policy.name or "")
    yield _field("cellSize", policy.cell_size_bytes or 0)
    yield _field("policyState", POLICY_STATES.get(state or POLICY_ENABLED, state))
    schema = policy.schema or rec.SchemaRecord("", 0, 0)
    yield f"<ecSchema>\n{_field('codecName', schema.codec)}"
    yield _field("dataUnits", schema.data_units) + _field("parityUnits", schema.parity_units)
    if schema.options:
        yield "<extraOptions>\n"
        for option in schema.options:
            key, value = _field("key", option.key), _field("value", option.value)
            yield f"<option>\n{key}{value}</option>\n"
        yield "</extraOptions>\n"
    yield "</ecSchema>\n</erasureCodingPolicy>\n\n"


def _or_null(name: str | None) -> str:
    """As Java prints what is not there."""
    return "null" if name is None else name


def _blocks(blocks: Iterable[types_pb2.BlockProto]) -> str:
    shown = [
        f"<block><id>{signed(block.blockId, 64)}</id>"
        f"<genstamp>{signed(block.genStamp, 64)}</genstamp>"
        f"<numBytes>{signed(block.numBytes, 64)}</numBytes></block>\n"
        for block in blocks
    ]
    return f"<blocks>{''.join(shown)}</blocks>\n" if shown else ""


def _source(writer: pb.INodeSection.FileUnderConstructionFeature) -> str:
    if not writer.HasField("source"):
        return ""
    return f"<source>{_blocks([writer.source])}</source>"


def _states(writer: pb.INodeSection.FileUnderConstructionFeature) -> str:
    count = writer.completeBlocks
    complete = _field("complete-blocks", count) if count else ""
    return f"{complete}{_flag('last-committed', writer.lastCommitted)}"


def _atime(directory: pb.INodeSection.INodeDirectory) -> str:
    if not directory.HasField("accessTime"):
        return ""
    return f"<atime>{signed(directory.accessTime, 64)}</atime>"


def _token(token: pb.SecretManagerSection.PersistToken) -> str:
    parts = []
    for name in (
        "version",
        "owner",
        "renewer",
        "realUser",
        "issueDate",
        "maxDate",
        "sequenceNumber",
        "masterKeyId",
        "expiryDate",
    ):
        if not token.HasField(name):
            continue
        value = getattr(token, name)
        if name.endswith("Date"):
            parts.append(_date(name, signed(value, 64)))
        else:
            is_text = isinstance(value, str | bytes)
            parts.append(_field(name, text_of(value) if is_text else signed(value, 32)))
    return "".join(parts)
