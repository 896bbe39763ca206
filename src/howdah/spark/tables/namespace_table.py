"""`howdah.namespace`: a row for each file, directory and link of a live filesystem or of an image.

The path says which: a directory is listed, with all that is below; a file has to be an image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from howdah import errors
from howdah.copy.common.filesystems import Place
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.sections import MAGIC
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.proto import types_pb2 as pb
from howdah.spark.listing.tree import row_of
from howdah.spark.tables.columns import Columns, as_text
from howdah.spark.tables.image_index import ImagePart, index_image, inodes_of
from howdah.spark.tables.inode_rows import NAMESPACE, ImageFacts, batches_of
from howdah.spark.tables.listing_rows import (
    NEEDS_BLOCKS,
    NEEDS_SNAPSHOTS,
    Page,
    Snapshots,
    lists_of,
    rows_of,
)
from howdah.spark.tables.live_walk import Entries, WalkPart, plan_walk, walked
from howdah.spark.tables.predicates import PathBounds
from howdah.spark.tables.table import PATH, Table
from howdah.spark.usage_report.image_tasks import coding_policies_of

if TYPE_CHECKING:
    import pyarrow as pa

ROOT: Final = "/"


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part of an image."""

    place: Place
    path: str
    facts: ImageFacts
    part: ImagePart


@dataclass(frozen=True, slots=True)
class LivePart:
    """A part of a live tree. `snapshots` are the names of snapshots by their directories, None of
    those that this user may not list."""

    place: Place
    walk: WalkPart
    snapshots: Snapshots | None = None


class NamespaceTable(Table):
    """See the module."""

    name = "howdah.namespace"
    all_columns: ClassVar[Columns] = NAMESPACE
    known_options = ()

    def parts(self) -> list[Any]:
        """Raises PathNotFound, CorruptImage."""
        place, path = self.home.place(self.options.text(PATH) or ROOT)
        fs = place.connect()
        status = fs.get_file_status(path)
        if status.is_directory:
            snapshots = (
                snapshots_of(fs) if NEEDS_SNAPSHOTS & self.made_columns.types.keys() else None
            )
            bounds = PathBounds.of(self.conditions)
            walks = plan_walk(fs, status.path, self.most_parts, bounds.has_rows_below)
            return [LivePart(place, walk, snapshots) for walk in walks]
        return self._parts_of_image(place, path, fs)

    def _parts_of_image(self, place: Place, path: str, fs: FileSystem) -> list[Any]:
        with fs.open(path) as file:
            if file.pread(0, len(MAGIC)) != MAGIC:
                raise errors.IllegalArgument(
                    f"{self.name}: {place.uri}{path} is neither a directory nor an image"
                )
            reader = ImageReader(file, path)
            bounds = PathBounds.of(self.conditions)
            has_rows = bounds.has_rows_in if bounds.is_bounded else None
            tree, parts = index_image(reader, self.most_parts, has_rows)
            facts = facts_of(reader, path, tree)
        return [StoredPart(place, path, facts, part) for part in parts]

    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Raises CorruptImage."""
        fs = part.place.connect()
        if isinstance(part, StoredPart):
            with fs.open(part.path) as file:
                inodes = inodes_of(part.part, ImageReader(file, part.path))
                yield from batches_of(inodes, part.facts, self.made_columns)
            return
        assert isinstance(part, LivePart)
        if part.walk.top is not None:
            yield from self._row_of_top(fs, part.walk.top, part)
        bounds = PathBounds.of(self.conditions)
        with_blocks = bool(NEEDS_BLOCKS & self.made_columns.types.keys())
        pages = walked(fs, part.walk, bounds.has_rows_below, with_blocks=with_blocks)
        for directory, entries in pages:
            yield self._batch(as_text(directory), entries, part)

    def _row_of_top(self, fs: FileSystem, top: str, part: LivePart) -> Iterator[pa.RecordBatch]:
        try:
            if isinstance(fs, HdfsFileSystem):
                entry = fs.client.namenode.get_file_info(top)
                if entry is not None:
                    page = Page(None, [entry], top, part.snapshots)
                    yield self.made_columns.batch_of_lists(lists_of(page, self.made_columns))
            else:
                yield self.made_columns.batch_of_rows(rows_of([row_of(fs.get_file_status(top))]))
        except errors.PathNotFound:
            return

    def _batch(self, directory: str, entries: Entries, part: LivePart) -> pa.RecordBatch:
        messages = [entry for entry in entries if isinstance(entry, pb.HdfsFileStatusProto)]
        if messages:
            page = Page(directory, messages, snapshots=part.snapshots)
            return self.made_columns.batch_of_lists(lists_of(page, self.made_columns))
        listed = [row_of(entry) for entry in entries if isinstance(entry, FileStatus)]
        return self.made_columns.batch_of_rows(rows_of(listed))


def facts_of(reader: ImageReader, name: str, tree: Any) -> ImageFacts:
    """What rows need of an image besides its inodes."""
    found = reader.snapshots()
    snapshots: dict[int, tuple[str, ...]] = dict.fromkeys(found.snapshottable_ids, ())
    for snapshot in sorted(found.snapshots, key=lambda each: each.snapshot_id):
        root = snapshot.root
        snapshots[root.inode_id] = (*snapshots.get(root.inode_id, ()), root.name)
    policies = coding_policies_of(reader.erasure_coding())
    return ImageFacts(name, reader.mask_bits, reader.strings, policies, tree, snapshots)


def snapshots_of(fs: FileSystem) -> Snapshots | None:
    """The names of the snapshots of all directories that this user may see; None where the
    filesystem has no snapshots."""
    if not isinstance(fs, HdfsFileSystem):
        return None
    try:
        directories = fs.list_snapshottable_directories()
        return {each.path: _names(fs, each.path, each.snapshot_count) for each in directories}
    except (errors.UnsupportedOperation, errors.RpcNoSuchMethod):
        return None


def _names(fs: HdfsFileSystem, path: str, count: int) -> tuple[str, ...] | None:
    if not count:
        return ()
    try:
        listed = fs.list_snapshots(path)
    except (errors.PathNotFound, errors.SnapshotError):
        return ()  # Gone since it was listed.
    except errors.AccessDenied:
        return None
    return tuple(each.name for each in sorted(listed, key=lambda each: each.snapshot_id))
