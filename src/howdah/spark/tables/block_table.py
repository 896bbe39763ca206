"""`howdah.blocks`: a row for each replica of the files at and below a path of a live HDFS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from howdah import errors
from howdah.copy.common.filesystems import Place
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.proto import types_pb2 as pb
from howdah.spark.tables.block_rows import BLOCK_ROWS, rows_of
from howdah.spark.tables.columns import Columns, as_text
from howdah.spark.tables.listing_rows import Page
from howdah.spark.tables.live_walk import WalkPart, plan_walk, walked
from howdah.spark.tables.predicates import PathBounds
from howdah.spark.tables.table import PATH, Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class BlockPart:
    """A part of a tree, or one file."""

    place: Place
    walk: WalkPart | None
    file: str = ""


class BlockTable(Table):
    """See the module."""

    name = "howdah.blocks"
    all_columns: ClassVar[Columns] = BLOCK_ROWS
    known_options = ()

    def parts(self) -> list[Any]:
        """Raises PathNotFound; UnsupportedOperation for a filesystem that has no blocks."""
        place, path = self.home.place(self.options.text(PATH) or "/")
        fs = _hdfs(place.connect())
        status = fs.get_file_status(path)
        if status.is_directory:
            bounds = PathBounds.of(self.conditions)
            walks = plan_walk(fs, status.path, self.most_parts, bounds.has_rows_below)
            return [BlockPart(place, walk) for walk in walks]
        return [BlockPart(place, None, path)]

    def batches(self, part: Any) -> Iterator[pa.RecordBatch]:
        assert isinstance(part, BlockPart)
        fs = _hdfs(part.place.connect())
        if part.walk is None:
            yield from self._batch(_page_of_file(fs, part.file))
            return
        bounds = PathBounds.of(self.conditions)
        for directory, entries in walked(fs, part.walk, bounds.has_rows_below, with_blocks=True):
            messages = [each for each in entries if isinstance(each, pb.HdfsFileStatusProto)]
            yield from self._batch(Page(as_text(directory), messages))

    def _batch(self, page: Page) -> Iterator[pa.RecordBatch]:
        rows = list(rows_of(page))
        if rows:
            yield self.made_columns.batch_of_rows(rows)


def _hdfs(fs: FileSystem) -> HdfsFileSystem:
    if not isinstance(fs, HdfsFileSystem):
        raise errors.UnsupportedOperation(f"howdah.blocks: {fs.uri} has no blocks; HDFS has")
    return fs


def _page_of_file(fs: HdfsFileSystem, path: str) -> Page:
    """The file as a listing shows it."""
    listed = fs.client.namenode.get_listing(path, b"", need_location=True)
    if listed is None:
        raise errors.PathNotFound(f"File does not exist: {path}")
    return Page(None, list(listed.partialListing), path)
