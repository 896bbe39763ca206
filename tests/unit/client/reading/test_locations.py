"""Where a file's blocks are, and how long a file is that is being written."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.reading.locations import FileLocations
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType

FakeCluster = Any
MIB = 1 << 20
NODES = tuple(
    DatanodeAddress(f"10.0.0.{number}", f"dn{number}", f"u{number}", 1, ipc_port=2)
    for number in range(3)
)
QUICK = ClientSettings(last_block_length_delay_s=0.0)


def block(
    offset: int, length: int, block_id: int = 1, nodes: tuple[DatanodeAddress, ...] = NODES
) -> LocatedBlock:
    return LocatedBlock(ExtendedBlock("BP", block_id, 1, length), offset, nodes)


class Namenode:
    """Gives one answer after the other; the last one again and again."""

    user = "anna"

    def __init__(self, *answers: LocatedBlocks | errors.HowdahError) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int, int]] = []

    def get_block_locations(self, path: str, offset: int, length: int) -> LocatedBlocks:
        self.asked.append((offset, length))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, errors.HowdahError):
            raise answer
        return answer


def closed(*blocks: LocatedBlock, length: int | None = None) -> LocatedBlocks:
    last = blocks[-1] if blocks else None
    total = length if length is not None else last.end if last else 0
    return LocatedBlocks(total, blocks, False, last, True)


def written(*blocks: LocatedBlock) -> LocatedBlocks:
    """A file whose last block is still being written."""
    return LocatedBlocks(blocks[-1].offset, blocks, True, blocks[-1], False)


def locations(namenode: Namenode, settings: ClientSettings = QUICK) -> FileLocations:
    return FileLocations("/f", cast(NamenodeProxy, namenode), settings)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int | Exception]]:
    """What each datanode says of the last block's length, by its name, one after the other."""
    answers: dict[str, list[int | Exception]] = {}

    def visible(_: FileLocations, node: DatanodeAddress, block: LocatedBlock) -> int:
        mine = answers[node.hostname]
        answer = mine.pop(0) if len(mine) > 1 else mine[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(FileLocations, "_visible_length", visible)
    return answers


# --- batches ------------------------------------------------------------------------


@pytest.mark.req("FS-087")
def test_a_batch_is_ten_blocks_unless_configured() -> None:
    namenode = Namenode(closed())
    locations(namenode)
    locations(namenode, ClientSettings(block_size=MIB))
    locations(namenode, ClientSettings(prefetch_bytes=7))
    assert namenode.asked == [(0, 1280 * MIB), (0, 10 * MIB), (0, 7)]


@pytest.mark.req("FS-095")
def test_threads_that_need_the_same_batch_ask_for_it_once() -> None:
    go = threading.Barrier(4)
    first, second = block(0, 10, 1), block(10, 10, 2)
    namenode = Namenode(closed(first, length=20), closed(first, second))
    known = locations(namenode)
    found: list[LocatedBlock] = []

    def look() -> None:
        go.wait(10)
        found.append(known.block_at(10))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [second] * 4
    assert len(namenode.asked) == 2


def test_a_block_that_the_namenode_has_lost_is_named_by_its_offset() -> None:
    namenode = Namenode(closed(block(0, 10), length=20))
    known = locations(namenode)
    with pytest.raises(errors.BlockMissing, match="/f: the namenode knows no block for offset 10"):
        known.block_at(10)


# --- files that change under their reader ------------------------------------------------


def test_a_file_that_was_replaced_between_two_batches_is_found_out() -> None:
    namenode = Namenode(
        closed(block(0, 10, 1), length=20), closed(block(0, 10, 7), block(10, 10, 8))
    )
    known = locations(namenode)
    with pytest.raises(errors.FileChanged, match="/f is not the file any more"):
        known.block_at(10)


def test_a_replaced_file_is_found_out_far_from_all_that_is_known() -> None:
    namenode = Namenode(
        closed(block(0, 10, 1), length=90), closed(block(80, 10, 9)), closed(block(0, 10, 2))
    )
    known = locations(namenode)
    with pytest.raises(errors.FileChanged, match="/f is not the file any more"):
        known.block_at(85)
    assert namenode.asked[1:] == [(85, 1280 * MIB), (0, 1)]


def test_a_far_block_of_the_same_file_is_taken_in() -> None:
    namenode = Namenode(
        closed(block(0, 10, 1), length=90), closed(block(80, 10, 9)), closed(block(0, 10, 1))
    )
    known = locations(namenode)
    assert known.block_at(85) == known.block_at(80) == block(80, 10, 9)
    assert len(namenode.asked) == 3


def test_a_file_that_was_cut_is_found_out() -> None:
    namenode = Namenode(closed(block(0, 10, 1), block(10, 10, 2)), closed(block(0, 10, 1)))
    known = locations(namenode)
    with pytest.raises(errors.FileChanged, match=r"/f was cut .* had 20 bytes .* has 10 now"):
        known.refresh(15)


def test_a_file_that_was_cut_within_a_block_ends_there() -> None:
    namenode = Namenode(closed(block(0, 10, 1)), closed(block(0, 4, 1)))
    known = locations(namenode)
    assert known.refresh(3).length_bytes == 4
    with pytest.raises(errors.FileChanged, match="nothing at offset 4"):
        known.block_at(4)


def test_a_file_that_was_deleted_is_missing_and_says_when() -> None:
    namenode = Namenode(closed(block(0, 10)), errors.PathNotFound("File does not exist: /f"))
    known = locations(namenode)
    with pytest.raises(FileNotFoundError, match="/f was deleted or renamed while it was read"):
        known.refresh(0)


@pytest.mark.req("OS-088")
def test_what_is_appended_after_the_opening_is_not_part_of_the_stream() -> None:
    namenode = Namenode(closed(block(0, 10)), closed(block(0, 30)))
    known = locations(namenode)
    assert known.refresh(0).end == known.length == 10


def test_new_locations_of_a_block_replace_the_old_ones() -> None:
    namenode = Namenode(closed(block(0, 10, nodes=NODES[:1])), closed(block(0, 10, nodes=NODES)))
    assert locations(namenode).refresh(5).nodes == NODES


# --- files that are being written -----------------------------------------------------


def test_the_last_block_is_as_long_as_a_datanode_shows_it(
    says: dict[str, list[int | Exception]],
) -> None:
    says.update(dn0=[7])
    known = locations(Namenode(written(block(0, 10, 1), block(10, 0, 2))))
    assert known.length == 17
    assert known.under_construction
    assert known.block_at(16) == block(10, 7, 2)


def test_the_next_datanode_is_asked_where_one_cannot_tell(
    says: dict[str, list[int | Exception]],
) -> None:
    says.update(dn0=[errors.Unreachable("gone")], dn1=[-1], dn2=[7])
    assert locations(Namenode(written(block(0, 0)))).length == 7


def test_a_block_that_was_just_allocated_counts_nothing(
    says: dict[str, list[int | Exception]],
) -> None:
    absent = errors.ReplicaNotFound("not here")
    says.update(dn0=[absent], dn1=[absent], dn2=[absent])
    assert locations(Namenode(written(block(0, 10, 1), block(10, 0, 2)))).length == 10
    assert locations(Namenode(written(block(0, 0, nodes=())))).length == 0


def test_bytes_that_the_namenode_knows_of_are_not_read_as_nothing(
    says: dict[str, list[int | Exception]],
) -> None:
    absent = errors.ReplicaNotFound("not here")
    says.update(dn0=[absent], dn1=[absent], dn2=[absent])
    with pytest.raises(errors.CannotObtainBlockLength, match=r"dn1.*not here"):
        locations(Namenode(written(block(0, 5))))
    with pytest.raises(errors.CannotObtainBlockLength, match="knows of 5 bytes and of no datanode"):
        locations(Namenode(written(block(0, 5, nodes=()))))


@pytest.mark.req("OS-082")
def test_a_datanode_that_shows_less_than_is_known_is_not_believed(
    says: dict[str, list[int | Exception]],
) -> None:
    """It lost its power, say, with what it had not synced."""
    says.update(dn0=[0], dn1=[errors.Unreachable("gone")], dn2=[7])
    assert locations(Namenode(written(block(0, 5)))).length == 7
    says.update(dn2=[4])
    with pytest.raises(errors.CannotObtainBlockLength, match=r"dn2\(10.0.0.2:1\): it shows 4 of"):
        locations(Namenode(written(block(0, 5))))


def test_a_datanode_that_reports_a_moment_later_is_waited_for(
    says: dict[str, list[int | Exception]],
) -> None:
    says.update(dn0=[7])
    namenode = Namenode(written(block(0, 5, nodes=())), written(block(0, 5, nodes=NODES[:1])))
    assert locations(namenode).length == 7
    assert len(namenode.asked) == 2


def test_replicas_that_nobody_reaches_are_asked_for_three_times_and_then_named(
    says: dict[str, list[int | Exception]],
) -> None:
    gone = errors.Unreachable("no route")
    says.update(dn0=[gone], dn1=[gone], dn2=[gone])
    namenode = Namenode(written(block(0, 0)))
    with pytest.raises(errors.CannotObtainBlockLength) as caught:
        locations(namenode)
    assert len(namenode.asked) == 3
    message = str(caught.value)
    for part in ("/f", "blk_1_1", "dn0(10.0.0.0:1): no route", "dn2(10.0.0.2:1): no route"):
        assert part in message


def test_replicas_that_wait_for_recovery_are_an_error_at_once(
    says: dict[str, list[int | Exception]],
) -> None:
    says.update(dn0=[-1], dn1=[-1], dn2=[-1])
    namenode = Namenode(written(block(0, 0)))
    with pytest.raises(errors.CannotObtainBlockLength, match="waits for recovery") as caught:
        locations(namenode)
    assert len(namenode.asked) == 1
    assert caught.value.java_class == "org.apache.hadoop.hdfs.CannotObtainBlockLengthException"


def test_the_length_from_the_datanodes_stays_when_the_locations_are_renewed(
    says: dict[str, list[int | Exception]],
) -> None:
    says.update(dn0=[7])
    known = locations(Namenode(written(block(0, 0, nodes=NODES)), written(block(0, 0))))
    assert known.refresh(6).end == 7


def test_a_closed_file_that_is_appended_to_keeps_the_length_it_had() -> None:
    known = locations(Namenode(closed(block(0, 10)), written(block(0, 4))))
    assert known.refresh(9).end == 10


def test_the_writer_may_close_the_file_meanwhile(says: dict[str, list[int | Exception]]) -> None:
    says.update(dn0=[7])
    known = locations(Namenode(written(block(0, 0)), closed(block(0, 12))))
    assert known.refresh(6).end == known.length == 7


def test_a_located_block_survives_the_wire() -> None:
    node = DatanodeAddress("10.0.0.1", "dn", "uuid", 9866, 9864, 9867, 0, "/rack1")
    original = LocatedBlock(
        ExtendedBlock("BP", 7, 8, 9), 10, (node,), ("s1",), (StorageType.SSD,), (True,)
    )
    assert LocatedBlock.from_proto(original.to_proto()) == original
