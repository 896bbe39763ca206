"""Rows of tables without Spark: of images in memory, of a namenode's answers, of files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from howdah.formats.image.fsimage import ImageReader
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.tree.namespace import Namespace
from howdah.proto import client_namenode_pb2 as pb
from howdah.spark.tables.catalog import open_table
from howdah.spark.tables.image_index import index_image, inodes_of
from howdah.spark.tables.inode_rows import NAMESPACE, batches_of
from howdah.spark.tables.listing_rows import Page, lists_of
from howdah.spark.tables.namespace_table import facts_of
from howdah.spark.tables.table import Home, Table
from howdah.testing.in_memory import InMemoryNamenode

Row = dict[str, Any]


def table(name: str, path: str, **options: object) -> Table:
    """A table of the local machine, with no configuration."""
    return open_table(name, {"path": path, **options}, Home(()))


def rows_of(opened: Table) -> list[Row]:
    """All rows that a table gives."""
    return [row for part in opened.parts() for batch in opened.read(part) for row in as_rows(batch)]


def as_rows(batch: Any) -> list[Row]:
    rows: list[Row] = batch.to_pylist()
    return rows


def image_of(namespace: Namespace, codec: str = "") -> bytes:
    sink = io.BytesIO()
    write_image(namespace, 1, 1, sink, codec=codec)
    return sink.getvalue()


def rows_of_image(image: bytes, most_parts: int = 4) -> dict[str, Row]:
    """The rows of an image by path."""
    reader = ImageReader(io.BytesIO(image), "an image")
    tree, parts = index_image(reader, most_parts)
    facts = facts_of(reader, "an image", tree)
    found: dict[str, Row] = {}
    for part in parts:
        for batch in batches_of(inodes_of(part, reader), facts, NAMESPACE):
            for row in as_rows(batch):
                assert row["path"] not in found, row
                found[row["path"]] = row
    return found


def rows_of_listing(namenode: InMemoryNamenode) -> dict[str, Row]:
    """The rows of a listing of everything, by path."""
    info: Any = namenode.call("getFileInfo", pb.GetFileInfoRequestProto(src="/"))
    pages = [Page(None, [info.fs], "/"), *_pages(namenode, "/")]
    found: dict[str, Row] = {}
    for page in pages:
        for row in as_rows(NAMESPACE.batch_of_lists(lists_of(page, NAMESPACE))):
            assert row["path"] not in found, row
            found[row["path"]] = row
    return found


def _pages(namenode: InMemoryNamenode, directory: str) -> Iterator[Page]:
    request = pb.GetListingRequestProto(src=directory, startAfter=b"", needLocation=True)
    answer: Any = namenode.call("getListing", request)
    page = Page(directory, list(answer.dirList.partialListing))
    yield page
    for path, entry in zip(page.paths, page.entries, strict=True):
        if entry.fileType == entry.IS_DIR:
            yield from _pages(namenode, path)


def differences(found: Mapping[str, Row], expected: Mapping[str, Row]) -> list[str]:
    """Where rows are not what is expected of them; other columns do not count."""
    problems = [f"{path} is missing" for path in expected.keys() - found.keys()]
    problems += [f"{path} is too much" for path in found.keys() - expected.keys()]
    for path in expected.keys() & found.keys():
        for column, value in expected[path].items():
            if found[path][column] != value:
                problems.append(f"{column} of {path} is {found[path][column]!r}, not {value!r}")
    return sorted(problems)
