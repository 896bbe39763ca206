"""What a deletion means is fixed by the log; only its memory comes back in slices."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

import pytest

from howdah.formats.edits import edits
from howdah.namenode.state.inodes.block_events import BlockEvent, BlockRemoved
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import check_consistent, fingerprint

OWNER = edits.Permission("u", "g", 0o755)
FIRST_BLOCK = 1 << 30
BLOCK = 1024


class Log:
    """Edits of one history, made from numbers that are free."""

    def __init__(self) -> None:
        self.inode_ids = count(16386)
        self.numbers = count(1)

    def mkdir(self, path: str) -> edits.Edit:
        return edits.MkdirOp(next(self.inode_ids), path, 1, OWNER)

    def file(self, path: str, *, is_open: bool) -> Iterator[edits.Edit]:
        number = next(self.numbers)
        block_id, stamp = FIRST_BLOCK + number, 1000 + number
        yield edits.AddOp(next(self.inode_ids), path, 2, 1, 1, BLOCK, OWNER, f"c{number % 3}", "m")
        yield edits.AllocateBlockIdOp(block_id)
        yield edits.SetGenstampV2Op(stamp)
        yield edits.AddBlockOp(path, None, edits.EditBlock(block_id, 0, stamp))
        written = (edits.EditBlock(block_id, 100, stamp),)
        if is_open:
            yield edits.UpdateBlocksOp(path, written)
        else:
            yield edits.CloseOp(0, path, 2, 2, 2, BLOCK, OWNER, written)

    def tree(self, top: str, width: int) -> Iterator[edits.Edit]:
        """Directories with files, every third of which is open."""
        yield self.mkdir(top)
        for number in range(width):
            yield self.mkdir(f"{top}/d{number}")
            for name in "abe":
                yield from self.file(f"{top}/d{number}/{name}", is_open=name == "e")


def history(log: Log) -> Iterator[edits.Edit]:
    """Large trees under quotas and snapshots, deleted one behind the other."""
    yield log.mkdir("/q")
    yield edits.SetQuotaOp("/q", 10_000, 1 << 40)
    yield log.mkdir("/q/s")
    yield edits.AllowSnapshotOp("/q/s")
    yield from log.tree("/plain", 3)
    yield from log.tree("/q/s/kept", 3)
    yield edits.CreateSnapshotOp("/q/s", "s1", 5)
    yield from log.tree("/q/s/kept/later", 2)
    yield edits.SetReplicationOp("/q/s/kept/d0/a", 1)
    yield edits.RenameOldOp("/q/s/kept/d1", "/plain/moved", 6)
    yield edits.DeleteOp("/plain", 7)
    yield from log.tree("/other", 2)
    yield edits.DeleteOp("/q/s/kept", 3)
    yield from log.file("/q/s/f", is_open=True)
    yield edits.DeleteOp("/other", 9)
    yield edits.RenameOp("/q/s/f", "/f", 10)
    yield edits.DeleteSnapshotOp("/q/s", "s1", 11)
    yield edits.DisallowSnapshotOp("/q/s")
    yield from log.tree("/last", 2)
    yield edits.DeleteOp("/last", 12)
    yield edits.SetPermissionsOp("/q", 0o700)


def without_snapshots(log: Log) -> Iterator[edits.Edit]:
    for top, width in (("/a", 4), ("/b", 1), ("/c", 4)):
        yield from log.tree(top, width)
    for top in ("/b", "/a", "/c"):
        yield edits.DeleteOp(top, 5)
        yield log.mkdir(top)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("make", [history, without_snapshots])
def test_after_every_edit_all_is_the_same_however_far_the_reaping_has_come(
    make: type, seed: int
) -> None:
    dice = random.Random(seed)
    at_once, never, sometimes = Namespace(), Namespace(), Namespace()
    behind = 0
    for edit in make(Log()):
        for namespace in (at_once, never, sometimes):
            namespace.apply(edit)
        at_once.reap(1 << 30)
        found = fingerprint(at_once)
        assert fingerprint(never) == found
        assert fingerprint(sometimes) == found
        check_consistent(at_once)
        sometimes.reap(dice.choice((0, 0, 1, 2, 5)))
        behind += sometimes.must_reap
    assert behind > 3
    for namespace in (never, sometimes):
        namespace.reap(1 << 30)
        assert fingerprint(namespace) == found
        check_consistent(namespace)


@pytest.mark.parametrize("make", [history, without_snapshots])
def test_leases_of_deleted_files_end_with_the_edit(make: type) -> None:
    namespace = Namespace()
    for edit in make(Log()):
        namespace.apply(edit)
        for inode_id in namespace.leases.held():
            assert namespace.is_attached(namespace.inodes[inode_id]), edit


def test_lease_ends_where_there_are_more_open_files_than_deleted_ones_and_where_fewer() -> None:
    for width in (1, 12):
        log = Log()
        namespace = Namespace()
        for edit in (*log.tree("/a", width), *log.tree("/b", 6)):
            namespace.apply(edit)
        namespace.apply(edits.DeleteOp("/a", 5))
        held = {namespace.inodes[inode_id].path for inode_id in namespace.leases.held()}
        assert held == {f"/b/d{number}/e" for number in range(6)}


def removals(slices: random.Random | None) -> list[int]:
    removed: list[int] = []

    def tell(event: BlockEvent) -> None:
        if isinstance(event, BlockRemoved):
            removed.append(event.block.block_id)

    namespace = Namespace()
    namespace.follow_blocks(tell)
    for edit in without_snapshots(Log()):
        namespace.apply(edit)
        namespace.reap(1 << 30 if slices is None else slices.choice((0, 1, 3)))
    namespace.reap(1 << 30)
    return removed


def test_blocks_go_in_the_order_of_the_log_in_whatever_slices() -> None:
    at_once = removals(None)
    assert len(at_once) == 9 * 3
    for seed in range(5):
        assert removals(random.Random(seed)) == at_once
