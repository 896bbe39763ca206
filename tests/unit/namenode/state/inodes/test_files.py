"""Files and blocks as views of rows."""

from __future__ import annotations

import tracemalloc

import pytest

from howdah.formats.edits.edits import XAttr, XAttrNamespace
from howdah.namenode.state.blocks.datanodes import Datanode, DatanodeIdentity, Storage
from howdah.namenode.state.inodes.block_table import BlockTable
from howdah.namenode.state.inodes.files import lone_file
from howdah.namenode.state.inodes.inode_features import NO_FEATURES
from howdah.namenode.state.inodes.inodes import Block, BlockState, Directory, File, Inodes, Traits

TRAITS = Traits("root", "staff", 0o644, 3, 1024)
MARK = XAttr(XAttrNamespace.USER, "mark", b"1")


@pytest.fixture
def inodes() -> Inodes:
    made = Inodes()
    made[16385] = Directory(16385, "", "root", "staff", 0o755, 0)
    return made


def new_file(inodes: Inodes, inode_id: int = 16386, name: str = "f") -> File:
    file = inodes.files.new(inode_id, name, TRAITS, 1, 2)
    inodes.directories[16385].add(file)
    return file


def new_block(inodes: Inodes, file: File, block_id: int) -> Block:
    block = inodes.files.blocks.new(
        block_id, 10, 1001, file.inode_id, BlockState.UNDER_CONSTRUCTION
    )
    file.blocks.append(block)
    return block


def storage(number: int) -> Storage:
    identity = DatanodeIdentity(f"dn{number}", "10.0.0.1", "host", 1, 2, 3)
    return Storage(f"DS-{number}", 0, Datanode(identity, "/rack", 0))


def test_two_views_of_a_file_are_equal_and_show_the_same(inodes: Inodes) -> None:
    one, other = new_file(inodes), inodes[16386]
    assert one is not other
    assert {one} == {other}
    one.mode = 0o600
    one.owner = "alice"
    assert (other.mode, other.owner, other.group) == (0o600, "alice", "staff")


def test_a_file_that_is_added_without_a_view_is_as_one_with(inodes: Inodes) -> None:
    root, files = inodes.directories[16385], inodes.files
    files.add(16386, "f", TRAITS, 1, 2, root.inode_id)
    root.enter("f", 16386)
    other = new_file(inodes, 16387, "g")
    file = files[16386]
    assert (file.name, file.parent, file.path) == ("f", root, "/f")
    assert file.glance() == other.glance()
    assert root.sorted_names() == ["f", "g"]
    with pytest.raises(AssertionError, match="f stands already in /"):
        root.enter("f", 16388)


def test_a_name_that_is_entered_comes_into_listings_that_have_begun(inodes: Inodes) -> None:
    root = inodes.directories[16385]
    new_file(inodes, 16387, "g")
    assert root.names_after("", 10) == (["g"], 0)
    inodes.files.add(16386, "f", TRAITS, 1, 2, root.inode_id)
    root.enter("f", 16386)
    assert root.names_after("", 10) == (["f", "g"], 0)


def test_a_table_closes_a_file_by_its_id(inodes: Inodes) -> None:
    file = new_file(inodes)
    inodes.files.begin_writing(16386, "writer", "10.0.0.1")
    assert (file.writer, file.writer_machine) == ("writer", "10.0.0.1")
    inodes.files.close(16386, 30, 40)
    assert (file.writer, file.mtime_ms, file.atime_ms) == (None, 30, 40)
    assert file.features is NO_FEATURES


def test_a_table_says_whether_a_file_has_blocks(inodes: Inodes) -> None:
    file = new_file(inodes)
    assert not inodes.files.has_blocks(16386)
    new_block(inodes, file, 1000)
    assert inodes.files.has_blocks(16386)


def test_one_files_traits_are_not_its_neighbours(inodes: Inodes) -> None:
    one, other = new_file(inodes), new_file(inodes, 16387, "g")
    one.replication = 7
    assert (other.replication, other.traits) == (3, TRAITS)


def test_a_file_knows_its_directory_and_path(inodes: Inodes) -> None:
    top = Directory(16388, "d", "root", "staff", 0o755, 0)
    inodes[16388] = top
    inodes.directories[16385].add(top)
    file = inodes.files.new(16389, "f", TRAITS, 0)
    top.add(file)
    assert (file.parent, file.path) == (top, "/d/f")
    top.remove(file)
    assert (file.parent, dict(top.children)) == (None, {})


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_blocks_come_and_go_at_the_end(inodes: Inodes, count: int) -> None:
    file = new_file(inodes)
    blocks = [new_block(inodes, file, 1000 + number) for number in range(count)]
    assert file.blocks == blocks
    assert file.length_bytes == 10 * count
    for left in range(count, 0, -1):
        assert len(file.blocks) == left
        assert file.blocks.pop() == blocks[left - 1]
    assert not file.blocks
    assert not inodes.files.block_lists


def test_a_block_knows_its_file(inodes: Inodes) -> None:
    one, other = new_file(inodes), new_file(inodes, 16387, "g")
    block = new_block(inodes, one, 1000)
    other.blocks.extend(one.blocks)
    one.blocks.clear()
    assert (inodes.files.of(block), one.length_bytes, other.length_bytes) == (other, 0, 10)


def test_a_file_made_by_itself_is_taken_in_with_what_it_has(inodes: Inodes) -> None:
    file = lone_file(16386, "f", "a", "b", 0o600, 5, replication=2, block_size_bytes=7)
    file.xattrs = (MARK,)
    alone = file.table.blocks.new(1000, 10, 1001, 16386, BlockState.COMPLETE)
    file.blocks.append(alone)
    inodes[16386] = file
    found = inodes[16386]
    assert isinstance(found, File)
    assert found == file
    assert (found.xattrs, found.traits) == ((MARK,), Traits("a", "b", 0o600, 2, 7))
    assert inodes.files.of(inodes.files.blocks[1000]) == file


def test_what_a_removed_file_had_goes_with_it(inodes: Inodes) -> None:
    file = new_file(inodes)
    file.xattrs = (MARK,)
    inodes.directories[16385].remove(file)
    del inodes[16386]
    assert file.features is NO_FEATURES
    assert (16386 in inodes, inodes.files.features, inodes.files.rows.pages) == (False, {}, {})


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9])
def test_replicas_keep_their_order(inodes: Inodes, count: int) -> None:
    block = new_block(inodes, new_file(inodes), 1000)
    storages = [storage(number) for number in range(count)]
    for number, one in enumerate(storages):
        block.add_replica(one)
        assert block.replicas == storages[: number + 1]
        assert block.replica_count == number + 1
    for one in storages:
        storages = storages[1:]
        block.remove_replica(one)
        assert block.replicas == storages
    assert not inodes.files.blocks.scattered


@pytest.mark.parametrize("state", list(BlockState))
def test_state_and_stamp_share_a_number(inodes: Inodes, state: BlockState) -> None:
    block = new_block(inodes, new_file(inodes), 1000)
    block.state = state
    block.generation_stamp = (1 << 60) - 1
    assert (block.state, block.generation_stamp) == (state, (1 << 60) - 1)
    assert inodes.files.blocks.count_settled() == (state is not BlockState.UNDER_CONSTRUCTION)


def test_a_block_that_was_taken_out_is_shown_as_it_was(inodes: Inodes) -> None:
    table = inodes.files.blocks
    block = new_block(inodes, new_file(inodes), 1000)
    places = tuple(storage(number) for number in range(5))
    block.expected, block.truncating, block.replicas = places[:2], True, list(places)
    gone = table.pop(1000)
    assert gone is not None
    assert (gone.expected, gone.truncating, gone.replicas) == (places[:2], True, list(places))
    assert (1000 in table, table.extras, table.scattered) == (False, {}, {})


def test_what_few_blocks_have_leaves_nothing_behind(inodes: Inodes) -> None:
    table: BlockTable = inodes.files.blocks
    block = new_block(inodes, new_file(inodes), 1000)
    block.truncating = True
    assert table[1000].truncating
    block.truncating = False
    block.expected = block.corrupt = ()
    assert not table.extras


def test_a_number_that_is_too_large_is_refused_with_nothing_changed(inodes: Inodes) -> None:
    table = inodes.files.blocks
    with pytest.raises(OverflowError):
        table.new(1000, 1 << 63, 1001, 16386, BlockState.COMPLETE)
    assert (1000 in table, len(table)) == (False, 0)


@pytest.mark.req("FS-025", "LM-002")
def test_a_file_of_one_block_takes_less_than_three_hundred_bytes(inodes: Inodes) -> None:
    count = 6400
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(count):
            if number % 100 == 0:
                top = Directory(20000 + number * 2, f"d{number}", "root", "staff", 0o755, 0)
                inodes[top.inode_id] = top
                inodes.directories[16385].add(top)
            file = inodes.files.new(
                20001 + number * 2, f"part-{number:08}.parquet", TRAITS, number << 33, number << 33
            )
            top.add(file)
            new_block(inodes, file, (1 << 30) + number).state = BlockState.COMPLETE
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / count < 300
