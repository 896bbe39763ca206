"""A namespace image from the XML that shows one (pure).

The inverse of `xml`. An image that this software wrote comes back byte
for byte if it was not compressed. One of Hadoop's means the same, but
its table of strings may differ: it also has names that nobody uses any more.

The sections must stand in the order in which they are shown. What a section has
many of is read one by one, plain inodes by the thousand (`rows`); only references and
snapshots are kept until the place that they have in the file. An element that is not
known is refused by name, lest something be lost.

What Hadoop's XML leaves out is made up where there is only one sensible answer (the
last id of a striped block, where no file is striped), refused where there is none,
and lost where it does no harm: the default replication of cache pools, and the mark
that a rolling upgrade is under way, unless `rollingUpgradeStartTime` is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah import errors
from howdah.formats.edits.codec import LAYOUT_VERSION
from howdah.formats.image import records as rec
from howdah.formats.image.columns import FileColumns
from howdah.formats.image.erasure_coding import SYSTEM_POLICIES
from howdah.formats.image.fsimage import ImageWriter
from howdah.formats.image.sections import ON_DISK_VERSION, Sink
from howdah.formats.viewers import rows
from howdah.formats.viewers.image_xml import Element, Elements, Source
from howdah.formats.viewers.inodes import NO_COPY, block, directory, file, inode
from howdah.formats.viewers.xml import POLICY_STATES

_NO_STRIPED_BLOCKS: Final = -(1 << 63)
_STATES: Final = {name: number for number, name in POLICY_STATES.items()}


def image_from_xml(source: Source, name: str, sink: Sink) -> None:
    """Write the image that an XML file shows; `name` is the file's, for errors.

    Raises IllegalArgument, naming the line, for what shows no image; IncorrectVersion
    for an image of another layout; UnsupportedOperation.
    """
    elements = Elements(source)
    try:
        _Image(elements, name).write(sink)
    except errors.IllegalArgument as error:
        raise errors.IllegalArgument(f"{name}, line {elements.line}: {error.message}") from error
    except errors.HowdahError:
        raise
    except ValueError as error:
        # Of the messages that make up an image: a negative number has no place in many of them.
        raise errors.IllegalArgument(
            f"{name}, line {elements.line} or before: an image cannot say that: {error}"
        ) from error


class _Image:
    def __init__(self, elements: Elements, name: str) -> None:
        self._in = elements
        self._name = name
        self._knows_striped_blocks = False

    def write(self, sink: Sink) -> None:
        read = self._in
        self._check_version()
        writer = ImageWriter(sink)
        writer.namesystem(self._namesystem())
        writer.erasure_coding(self._policies())
        read.section("INodeSection")
        last_inode_id, count = read.next("lastInodeId").long(), read.next("numInodes").long()
        writer.inodes(last_inode_id, count, self._inodes(count, writer))
        references = list(self._references())
        snapshots = self._snapshots()
        writer.children(self._children())
        writer.open_files(self._open_files())
        has_diffs = read.has_section("SnapshotDiffSection")
        writer.snapshots(snapshots, self._diffs() if has_diffs else None, references)
        writer.secrets(self._secrets())
        writer.cache(self._cache())
        read.end()
        writer.finish()

    def _check_version(self) -> None:
        read = self._in
        read.section("version")
        layout = read.next("layoutVersion").integer()
        on_disk = read.next("onDiskVersion").integer()
        if layout != LAYOUT_VERSION or on_disk != ON_DISK_VERSION:
            raise errors.IncorrectVersion(
                f"{self._name} shows an image of layout version {layout}; "
                f"only {LAYOUT_VERSION} can be written"
            )
        for element in read.rest():
            element.only("oivRevision")

    # Sections.

    def _namesystem(self) -> rec.NamesystemRecord:
        self._in.section("NameSection")
        section = self._in.read_section("NameSection")
        striped = section.find_long("lastAllocatedStripedBlockId")
        self._knows_striped_blocks = striped is not None
        record = rec.NamesystemRecord(
            section.want_integer("namespaceId"),
            section.want_long("genstampV1"),
            section.want_long("genstampV2"),
            section.want_long("genstampV1Limit"),
            section.want_long("lastAllocatedBlockId"),
            section.want_long("txid"),
            section.find_long("rollingUpgradeStartTime"),
            _NO_STRIPED_BLOCKS if striped is None else striped,
        )
        section.done()
        return record

    def _policies(self) -> list[rec.ErasureCodingPolicyRecord]:
        if not self._in.has_section("ErasureCodingSection"):
            return []
        self._in.section("ErasureCodingSection")
        return [_policy(element) for element in self._in.rest("erasureCodingPolicy")]

    def _inodes(self, count: int, writer: ImageWriter) -> Iterator[FileColumns | rec.InodeRecord]:
        read_count = 0
        plain = rows.Inodes(writer.permission)
        for read in self._in.rows("inode", rows.INODE):
            if isinstance(read, list):
                read_count += len(read)
                yield from plain.read(read)
                continue
            read_count += 1
            read.only("inode")
            record = inode(read)
            self._check_striped(record)
            yield record
        if read_count != count:
            raise errors.IllegalArgument(
                f"there are {read_count} inodes, and {count} are announced"
            )

    def _check_striped(self, record: rec.InodeRecord) -> None:
        if (
            isinstance(record, rec.FileRecord)
            and record.erasure_coding_policy_id is not None
            and not self._knows_striped_blocks
        ):
            raise errors.UnsupportedOperation(
                f"{self._name} has a file {record.name!r} that is erasure coded, and does "
                "not say which id the last striped block had: an image without it would give "
                "ids out twice. Add lastAllocatedStripedBlockId to NameSection"
            )

    def _references(self) -> Iterator[rec.ReferenceRecord]:
        self._in.section("INodeReferenceSection")
        for element in self._in.rest("ref"):
            name = element.want_data("name") or None
            destination = element.want_integer("dstSnapshotId")
            last = element.want_integer("lastSnapshotId")
            # With a name it is an entry of a snapshot's directory, without one it is
            # where the inode is now; either has one of the two numbers.
            yield rec.ReferenceRecord(
                element.want_long("referredId"),
                name,
                destination if name is None or destination else None,
                last if name is not None or last else None,
            )
            element.done()

    def _snapshots(self) -> rec.SnapshotsRecord:
        read = self._in
        read.section("SnapshotSection")
        counter = read.next("snapshotCounter").integer()
        count = read.next("numSnapshots").integer()
        snapshottable: list[int] = []
        snapshots = []
        for element in read.rest():
            if element.name == "snapshottableDir":
                snapshottable += element.all_long("dir")
            else:
                element.only("snapshot")
                snapshot_id = element.want_integer("id")
                root = inode(element.want("root"))
                if not isinstance(root, rec.DirectoryRecord):
                    raise errors.IllegalArgument(
                        f"the root of snapshot {snapshot_id} is no directory"
                    )
                snapshots.append(rec.SnapshotRecord(snapshot_id, root))
            element.done()
        if len(snapshots) != count:
            raise errors.IllegalArgument(
                f"there are {len(snapshots)} snapshots, and {count} are announced"
            )
        return rec.SnapshotsRecord(counter, tuple(snapshottable), tuple(snapshots))

    def _children(self) -> Iterator[rec.ChildrenRecord]:
        self._in.section("INodeDirectorySection")
        for read in self._in.rows("directory", rows.CHILDREN):
            if isinstance(read, list):
                yield from map(rows.children, read)
                continue
            read.only("directory")
            yield rec.ChildrenRecord(
                read.want_long("parent"),
                read.all_long("child"),
                read.all_integer("refChild"),
            )
            read.done()

    def _open_files(self) -> Iterator[rec.OpenFileRecord]:
        self._in.section("FileUnderConstructionSection")
        for element in self._in.rest("inode"):
            yield rec.OpenFileRecord(element.want_long("id"), element.want_text("path"))
            element.done()

    def _diffs(self) -> Iterator[rec.InodeDiffsRecord]:
        self._in.section("SnapshotDiffSection")
        for element in self._in.rest():
            is_directory = element.name == "dirDiffEntry"
            if not is_directory:
                element.only("fileDiffEntry")
            inode_id, count = element.want_long("inodeId"), element.want_integer("count")
            diffs: tuple[rec.FileDiffRecord, ...] | tuple[rec.DirectoryDiffRecord, ...]
            if is_directory:
                diffs = tuple([_directory_diff(diff) for diff in element.all("dirDiff")])
            else:
                diffs = tuple([_file_diff(diff) for diff in element.all("fileDiff")])
            if len(diffs) != count:
                raise errors.IllegalArgument(
                    f"inode {inode_id} has {len(diffs)} diffs, and {count} are announced"
                )
            element.done()
            yield rec.InodeDiffsRecord(inode_id, is_directory, diffs)

    def _secrets(self) -> rec.SecretsRecord:
        read = self._in
        read.section("SecretManagerSection")
        current = read.next("currentId").integer()
        sequence = read.next("tokenSequenceNumber").integer()
        announced = read.next("numDelegationKeys").integer(), read.next("numTokens").integer()
        keys: list[rec.DelegationKeyRecord] = []
        tokens: list[rec.DelegationTokenRecord] = []
        for element in read.rest():
            if element.name == "delegationKey":
                keys.append(_key(element))
            else:
                element.only("token")
                tokens.append(_token(element))
            element.done()
        if (len(keys), len(tokens)) != announced:
            raise errors.IllegalArgument(
                f"there are {len(keys)} keys and {len(tokens)} tokens, and {announced[0]} and "
                f"{announced[1]} are announced"
            )
        return rec.SecretsRecord(current, sequence, tuple(keys), tuple(tokens))

    def _cache(self) -> rec.CacheRecord:
        read = self._in
        read.section("CacheManagerSection")
        following = read.next("nextDirectiveId").long()
        announced = read.next("numDirectives").integer(), read.next("numPools").integer()
        pools: list[rec.CachePoolRecord] = []
        directives: list[rec.CacheDirectiveRecord] = []
        for element in read.rest():
            if element.name == "pool":
                pools.append(_pool(element))
            else:
                element.only("directive")
                directives.append(_directive(element))
            element.done()
        if (len(directives), len(pools)) != announced:
            raise errors.IllegalArgument(
                f"there are {len(directives)} directives and {len(pools)} pools, and "
                f"{announced[0]} and {announced[1]} are announced"
            )
        return rec.CacheRecord(following, tuple(pools), tuple(directives))


# What sections are made of.


def _policy(element: Element) -> rec.ErasureCodingPolicyRecord:
    state = element.want_text("policyState")
    if state not in _STATES:
        raise errors.IllegalArgument(f"there is no policyState {state!r}")
    schema = element.want("ecSchema")
    extra = schema.find("extraOptions")
    options = [] if extra is None else extra.all("option")
    policy = rec.ErasureCodingPolicyRecord(
        element.want_integer("policyId"),
        element.want_text("policyName"),
        rec.SchemaRecord(
            schema.want_text("codecName"),
            schema.want_integer("dataUnits"),
            schema.want_integer("parityUnits"),
            tuple(
                [
                    rec.SchemaOptionRecord(option.want_text("key"), option.want_text("value"))
                    for option in options
                ]
            ),
        ),
        element.want_integer("cellSize"),
    )
    schema.done()
    element.done()
    if policy == SYSTEM_POLICIES.get(policy.policy_id):
        return rec.ErasureCodingPolicyRecord(policy.policy_id, state=_STATES[state])
    return rec.ErasureCodingPolicyRecord(
        policy.policy_id, policy.name, policy.schema, policy.cell_size_bytes, _STATES[state]
    )


def _file_diff(element: Element) -> rec.FileDiffRecord:
    copied = element.want("snapshotCopy")
    blocks = element.find("blocks")
    copy = None if copied.inside.get("permission") == NO_COPY else file(copied, 0, "")
    diff = rec.FileDiffRecord(
        element.want_integer("snapshotId"),
        element.want_long("size"),
        element.want_data("name") or None,
        copy,
        () if blocks is None else tuple([block(child) for child in blocks.all("block")]),
        tuple(element.all_integer("block-state")),
    )
    element.done()
    return diff


def _directory_diff(element: Element) -> rec.DirectoryDiffRecord:
    copied = element.find("snapshotCopy")
    created = tuple([child.want_data("name") for child in element.all("created")])
    count = element.want_integer("createdListSize")
    if len(created) != count:
        raise errors.IllegalArgument(
            f"there are {len(created)} created names, and {count} are announced"
        )
    diff = rec.DirectoryDiffRecord(
        element.want_integer("snapshotId"),
        element.want_integer("childrenSize"),
        element.has("isSnapshotRoot"),
        element.want_data("name") or None,
        None if copied is None else directory(copied, 0, ""),
        created,
        tuple(element.all_long("deletedInode")),
        tuple(element.all_integer("deletedInoderef")),
    )
    element.done()
    return diff


def _key(element: Element) -> rec.DelegationKeyRecord:
    return rec.DelegationKeyRecord(
        element.want_integer("id"),
        element.find_date_ms("expiry"),
        element.want_hex("key") or None,
    )


def _token(element: Element) -> rec.DelegationTokenRecord:
    return rec.DelegationTokenRecord(
        element.find_integer("version"),
        element.find_text("owner"),
        element.find_text("renewer"),
        element.find_text("realUser"),
        element.find_date_ms("issueDate"),
        element.find_date_ms("maxDate"),
        element.find_integer("sequenceNumber"),
        element.find_integer("masterKeyId"),
        element.find_date_ms("expiryDate"),
    )


def _pool(element: Element) -> rec.CachePoolRecord:
    return rec.CachePoolRecord(
        element.want_text("poolName"),
        element.want_text("ownerName"),
        element.want_text("groupName"),
        element.want_integer("mode"),
        element.want_long("limit"),
        element.want_long("maxRelativeExpiry"),
    )


def _directive(element: Element) -> rec.CacheDirectiveRecord:
    expiration = element.want("expiration")
    return rec.CacheDirectiveRecord(
        element.want_long("id"),
        element.want_text("path"),
        element.want_integer("replication"),
        element.want_text("pool"),
        rec.CacheExpirationRecord(expiration.want_long("millis"), expiration.has("relative")),
    )
