"""Images with groups that contradict themselves, or that say less than they have."""

from __future__ import annotations

import io
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits.edits import EditBlock
from howdah.formats.image import records as rec
from howdah.formats.image.fsimage import ImageWriter
from howdah.namenode.service.calls.settings import Settings
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.tree.namespace import NO_GROUP_ID, Namespace
from howdah.protocol.striping.layout import FIRST_GROUP_ID
from howdah.testing.in_memory import InMemoryNamenode
from tests.unit.namenode.service.coding.test_writing import MIB, Cluster

RS_3_2, XOR_2_1 = 2, 4
DIRECTORY = rec.DirectoryRecord(16385, "", "root", "staff", 0o755, 1)


def image(*files: rec.FileRecord, last_group_id: int | None = FIRST_GROUP_ID + 160) -> bytes:
    out = io.BytesIO()
    writer = ImageWriter(out)
    writer.namesystem(
        rec.NamesystemRecord(77, 1000, 1001, 0, 1073741825, 9, last_striped_block_id=last_group_id)
    )
    writer.erasure_coding(())
    writer.inodes(20000, 1 + len(files), [DIRECTORY, *files])
    writer.children([rec.ChildrenRecord(16385, [file.inode_id for file in files])])
    writer.open_files([])
    writer.snapshots(rec.SnapshotsRecord(), None)
    writer.secrets(rec.SecretsRecord())
    writer.cache(rec.CacheRecord())
    writer.finish()
    return out.getvalue()


def file(number: int, group_id: int, policy_id: int = RS_3_2, **changed: Any) -> rec.FileRecord:
    block = EditBlock(group_id, changed.pop("length", 10), 1001)
    record = rec.FileRecord(
        16386 + number, f"f{number}", "root", "staff", 0o644, 5, 5, 1, MIB, (block,)
    )
    record.erasure_coding_policy_id = policy_id
    return record


def loaded(data: bytes) -> Namespace:
    return read_image(io.BytesIO(data), "fsimage")[0]


@pytest.mark.parametrize("other_policy", [RS_3_2, XOR_2_1])
def test_a_group_in_two_files_is_damage(other_policy: int) -> None:
    """Groups of policies with different widths are in different tables."""
    files = file(0, FIRST_GROUP_ID), file(1, FIRST_GROUP_ID, other_policy)
    with pytest.raises(errors.CorruptImage, match="is in two files"):
        loaded(image(*files))


def test_a_group_of_a_policy_that_is_not_there_is_damage() -> None:
    with pytest.raises(errors.CorruptImage, match="fsimage is damaged"):
        loaded(image(file(0, FIRST_GROUP_ID, 77)))


@pytest.mark.parametrize("group_id", [FIRST_GROUP_ID + 1, 16, 1073741826])
def test_a_group_whose_id_is_of_none_is_damage(group_id: int) -> None:
    with pytest.raises(errors.CorruptImage, match="is not the id of a block group"):
        loaded(image(file(0, group_id)))


@pytest.mark.parametrize("last_group_id", [None, NO_GROUP_ID, FIRST_GROUP_ID])
def test_groups_beyond_the_last_id_are_kept_and_their_ids_not_given_again(
    last_group_id: int | None,
) -> None:
    """As Hadoop, whose ids of groups pass over those that are there."""
    there = {FIRST_GROUP_ID + 16 * number for number in (0, 1, 2, 4)}
    files = [file(number, group_id) for number, group_id in enumerate(sorted(there))]
    namespace = loaded(image(*files, last_group_id=last_group_id))
    settings = Settings("", safe_mode_threshold=0.0, safe_mode_extension_ms=0)
    cluster = Cluster(namenode=InMemoryNamenode(settings, namespace=namespace))
    given = []
    for number in range(3):
        path = f"/ec/new{number}"
        cluster.create(path)
        cluster.add_block(path=path)
        given.append(cluster.group(path).block_id)
    assert not there & set(given)
    assert given == sorted(given)
    assert given[0] == FIRST_GROUP_ID + 48
    again = io.BytesIO()
    write_image(namespace, 1, 1, again)
    assert set(loaded(again.getvalue()).blocks) == there | set(given)


def test_ids_of_replicated_blocks_are_not_given_again_either() -> None:
    """Hadoop's blocks had random ids once."""
    blocks = tuple(EditBlock(1073741825 + number, 10, 1001) for number in (1, 2, 4))
    record = rec.FileRecord(16386, "f", "root", "staff", 0o644, 5, 5, 1, MIB, blocks)
    namenode = InMemoryNamenode(namespace=loaded(image(record)))
    given = []
    for _ in range(2):
        given.append(namenode.namesystem.block_manager.new_block_id())
        namenode.namesystem.namespace.last_block_id = given[-1]
    assert given == [1073741828, 1073741830]
