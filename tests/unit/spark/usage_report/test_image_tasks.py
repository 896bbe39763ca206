"""Rows of the inodes of an image: here of Hadoop's, with erasure-coded files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.filesystems import Place
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.image.records import ErasureCodingPolicyRecord, SchemaRecord
from howdah.namenode.state.images.image import read_image
from howdah.namenode.state.inodes.inodes import File
from howdah.protocol.striping.policies import SYSTEM_POLICIES, Policy, Schema
from howdah.spark.usage_report.image_tasks import (
    INODES,
    ParseInodes,
    ReadSections,
    coding_policies_of,
)

IMAGE = Path(__file__).parents[2] / "formats" / "golden" / "fsimage_erasure_coding"


def parser() -> ParseInodes:
    with open(IMAGE, "rb", buffering=0) as file:
        reader = ImageReader(file, IMAGE.name)
        policies = coding_policies_of(reader.erasure_coding())
        return ParseInodes(IMAGE.name, reader.mask_bits, reader.strings, policies)


def rows(parse: ParseInodes) -> list[dict[str, Any]]:
    place = Place.of(IMAGE.as_uri(), Configuration({}), None)
    wanted = pa.RecordBatch.from_pydict({"section": [INODES]})
    messages: Iterable[pa.RecordBatch] = ReadSections(place, str(IMAGE))([wanted])
    return [row for batch in parse(messages) for row in batch.to_pylist()]


def test_coded_files_take_what_hadoops_namenode_counts() -> None:
    with open(IMAGE, "rb", buffering=0) as file:
        namespace = read_image(file, IMAGE.name)[0]
    counted = {
        inode.inode_id: namespace.measuring.file_bytes(inode) * inode.replication
        for inode in namespace.inodes.values()
        if isinstance(inode, File)
    }
    found = {row["inode_id"]: row for row in rows(parser()) if row["type"] == "file"}
    assert {inode_id: row["space"] for inode_id, row in found.items()} == counted
    coded = [row for row in found.values() if row["erasure_coding_policy"] is not None]
    assert {row["erasure_coding_policy"] for row in coded} >= {"RS-3-2-1024k", "XOR-2-1-1024k"}
    assert {row["replication"] for row in coded} == {1}


def test_a_file_of_a_policy_that_the_image_does_not_have_is_corruption() -> None:
    with pytest.raises(errors.CorruptImage, match="which the image does not have"):
        rows(replace(parser(), policies={}))


def test_policies_of_an_image_are_known_by_their_ids() -> None:
    records = [
        ErasureCodingPolicyRecord(1),
        ErasureCodingPolicyRecord(64, "RS-4-2-64k", SchemaRecord("rs", 4, 2), 64 << 10),
        ErasureCodingPolicyRecord(65, "RS-0-2-64k", SchemaRecord("rs", 0, 2), 64 << 10),
        ErasureCodingPolicyRecord(66, "RS-4-2-64k", SchemaRecord("rs", 4, 2)),
    ]
    own = Policy(64, Schema("rs", 4, 2), 64 << 10)
    assert coding_policies_of(records) == {**SYSTEM_POLICIES, 64: own}
