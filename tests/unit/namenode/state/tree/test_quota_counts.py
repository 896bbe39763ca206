"""What is counted edit by edit is what a count from scratch finds, and a start from an image, for
random trees with bounds, storage policies, snapshots and moves."""

from __future__ import annotations

import io
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howdah.formats.edits import edits as ed
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.inode_features import Quota
from howdah.namenode.state.inodes.inodes import Directory, File, INode
from howdah.namenode.state.tree.namespace import Namespace
from howdah.testing.fingerprint import check_consistent

TOPS = ("/s", "/t", "/o")
SNAPSHOTTABLE = TOPS[:2]
OWNED = ed.Permission("alice", "staff", 0o750)
POLICIES = (0, 0, 2, 5, 7, 10, 12, 15)
Step = tuple[str, int, int, int]
KINDS = (
    *("mkdir", "mkdir", "file", "file", "rename", "rename", "rename", "delete", "policy", "policy"),
    *("policy", "bound", "bound", "snapshot", "snapshot", "give up", "replication", "unbound"),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), *[st.integers(0, 200)] * 3), min_size=4, max_size=40
)


class Tree:
    """A namespace, and the edits that have made it."""

    def __init__(self) -> None:
        self.namespace = Namespace()
        self.log: list[ed.Edit] = []
        self._block_id = 1073741824
        self._snapshots = 0
        for top in TOPS:
            self._apply(ed.MkdirOp(self.namespace.next_inode_id, top, 1, OWNED))
        for top in SNAPSHOTTABLE:
            self._apply(ed.AllowSnapshotOp(top))
            # Hardly a random history gets to what a snapshot shows in another place.
            for path in (f"{top}/a", f"{top}/a/b"):
                self._apply(ed.MkdirOp(self.namespace.next_inode_id, path, 1, OWNED))
            self._make_file(self.namespace.next_inode_id, f"{top}/a/b/c", 3, 100)
            self._apply(ed.SetQuotaOp(f"{top}/a", 1000, ed.KEEP_QUOTA))
            self._apply(ed.CreateSnapshotOp(top, "s0", 2))

    def _apply(self, *log: ed.Edit) -> None:
        for edit in log:
            self.log.append(edit)
            apply_to(self.namespace, edit)

    def _paths(self) -> tuple[list[str], list[str]]:
        """(directories, all that is in the top ones)"""
        directories, below = list(TOPS), []
        for directory in directories:
            inode = self.namespace.find(directory)
            assert isinstance(inode, Directory)
            for name, child in sorted(inode.children.items()):
                path = f"{directory}/{name}"
                below.append(path)
                if isinstance(child, Directory):
                    directories.append(path)
        return directories, below

    def step(self, step: Step) -> None:
        """One edit, if it is possible."""
        kind, i, j, k = step
        directories, below = self._paths()
        directory = directories[i % len(directories)]
        path = below[i % len(below)] if below else ""
        fresh = f"{directories[j % len(directories)]}/{'abc'[k % 3]}"
        there = self.namespace.find(fresh)
        inode_id = self.namespace.next_inode_id
        if kind == "mkdir" and there is None:
            self._apply(ed.MkdirOp(inode_id, fresh, 2, OWNED))
        elif kind == "file" and there is None:
            self._make_file(inode_id, fresh, 1 + i % 3, i * 10)
        elif kind == "rename" and path and self._may_go(path, fresh, there):
            self._apply(ed.RenameOp(path, fresh, 3, (ed.RenameFlag.OVERWRITE,)))
        elif kind == "delete" and path:
            self._apply(ed.DeleteOp(path, 4))
        elif kind == "policy":
            target = ("/", *TOPS, *below)[i % (4 + len(below))]
            self._apply(ed.SetStoragePolicyOp(target, POLICIES[j % len(POLICIES)]))
        elif kind == "bound":
            target = ("/", *directories)[i % (1 + len(directories))]
            if j % 2:
                self._apply(ed.SetQuotaOp(target, 1000 + k, ed.KEEP_QUOTA))
            else:
                self._apply(ed.SetQuotaByStorageTypeOp(target, ed.StorageKind.SSD, 1 << 40))
        elif kind == "unbound":
            self._apply(ed.SetQuotaOp(directory, -1, -1))
        elif kind == "snapshot":
            self._snapshots += 1
            self._apply(ed.CreateSnapshotOp(SNAPSHOTTABLE[i % 2], f"s{self._snapshots}", 5))
        elif kind == "give up":
            snapshots = list(self.namespace.snapshots.all())
            if snapshots:
                snapshot = snapshots[i % len(snapshots)]
                root = snapshot.directory.path
                self._apply(ed.DeleteSnapshotOp(root, snapshot.name, 6))
        elif kind == "replication" and path and isinstance(self.namespace.find(path), File):
            self._apply(ed.SetReplicationOp(path, 1 + j % 3))

    def _make_file(self, inode_id: int, path: str, replication: int, length: int) -> None:
        blocks: tuple[ed.EditBlock, ...] = ()
        if length:
            self._block_id += 1
            self._apply(ed.AllocateBlockIdOp(self._block_id))
            blocks = (ed.EditBlock(self._block_id, length, 1001),)
        how = (replication, 5, 5, 1024, OWNED)
        self._apply(
            ed.AddOp(inode_id, path, *how, "DFSClient_1", "10.0.0.1", blocks=blocks),
            ed.CloseOp(inode_id, path, *how, blocks),
        )

    def _may_go(self, source: str, target: str, there: INode | None) -> bool:
        if f"{target}/".startswith(f"{source}/") or source.startswith(f"{target}/"):
            return False
        if isinstance(there, Directory):
            moves = self.namespace.find(source)
            return isinstance(moves, Directory) and not there.children
        return there is None or isinstance(self.namespace.find(source), File)


def apply_to(namespace: Namespace, edit: ed.Edit) -> None:
    namespace.apply(edit)
    while namespace.must_reap:
        namespace.reap(100)


def loaded(namespace: Namespace) -> Namespace:
    out = io.BytesIO()
    write_image(namespace, 77, 9, out)
    return read_image(io.BytesIO(out.getvalue()), "fsimage")[0]


def bounds(namespace: Namespace) -> dict[int, Quota]:
    """By inode id, also of what only snapshots have."""
    return {
        directory.inode_id: directory.quota
        for directory in namespace.inodes.directories.values()
        if directory.quota is not None
    }


def counted_anew(namespace: Namespace) -> dict[int, Any]:
    kept = deepcopy(bounds(namespace))
    for inode_id, quota in kept.items():
        usage = namespace.measuring.of_subtree(namespace.inodes[inode_id])
        quota.used_names, quota.used_bytes = usage.names, usage.space_bytes
        quota.used_by_kind_bytes = {k: n for k, n in usage.by_kind_bytes.items() if n}
    return kept


@given(STEPS, st.integers(0, 40))
def test_counts_are_those_from_scratch_and_of_an_image(steps: list[Step], cut: int) -> None:
    tree = Tree()
    from_image: Namespace | None = None
    done = 0
    for number, step in enumerate(steps):
        tree.step(step)
        assert bounds(tree.namespace) == counted_anew(tree.namespace), step
        if number == cut:
            from_image, done = loaded(tree.namespace), len(tree.log)
    check_consistent(tree.namespace)
    assert bounds(loaded(tree.namespace)) == bounds(tree.namespace)
    replayed = Namespace()
    for edit in tree.log:
        apply_to(replayed, edit)
    assert bounds(replayed) == bounds(tree.namespace)
    if from_image is not None:
        for edit in tree.log[done:]:
            apply_to(from_image, edit)
        assert bounds(from_image) == bounds(tree.namespace)
