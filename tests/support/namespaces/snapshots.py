"""Creating, renaming and deleting snapshots, as rules, while the tree changes."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from howdah.proto import client_namenode_pb2 as pb
from tests.support.namespaces.attributes import AttributeHistories
from tests.support.namespaces.changes import ChangeHistories
from tests.support.namespaces.comparing import compare
from tests.support.namespaces.histories import BLOCK, modes, names, permission, there
from tests.support.namespaces.tree import TreeHistories

snapshottable = st.runner().flatmap(
    lambda machine: st.sampled_from(machine.snapshottables()) | there
)
snapshots = st.sampled_from(["s1", "s2", "s3"])


class SnapshotHistories(TreeHistories, ChangeHistories):
    """Of a tree in which there is something from the start."""

    @initialize(both=st.booleans())
    def begin(self, both: bool) -> None:
        self.mkdirs("/a/b", 0o755, None)
        self.mkdirs("/b/a", 0o755, None)
        for path in ("/a/a", "/a/b/a", "/b/b"):
            self.whole_file(path, "DFSClient_1", [1, 2])
        self.allow_snapshot("/a")
        if both:
            self.allow_snapshot("/b")

    def snapshottables(self) -> list[str]:
        return sorted(self.model.snapshottable()) or ["/a"]

    def names_of_snapshots(self) -> list[tuple[str, str]]:
        found = [
            (path, name)
            for path in self.model.snapshottable()
            for name in self.model.snapshots[self.model.entries[path].number]
        ]
        return sorted(found) or [("/a", "s1")]

    @rule(path=there, mode=modes)
    def set_permission(self, path: str, mode: int) -> None:
        request = pb.SetPermissionRequestProto(src=path, permission=permission(mode))
        real = self.do("setPermission", request)
        self.both(real, lambda: self.model.set_mode(path, mode))

    @rule(path=there)
    def allow_snapshot(self, path: str) -> None:
        request = pb.AllowSnapshotRequestProto(snapshotRoot=path)

        real = self.do("allowSnapshot", request)
        self.both(real, lambda: self.model.allow_snapshot(path))

    @rule(path=snapshottable)
    def disallow_snapshot(self, path: str) -> None:
        request = pb.DisallowSnapshotRequestProto(snapshotRoot=path)

        real = self.do("disallowSnapshot", request)
        self.both(real, lambda: self.model.disallow_snapshot(path))

    @rule(path=snapshottable, name=snapshots)
    def create_snapshot(self, path: str, name: str) -> None:
        now_ms = self.now()
        request = pb.CreateSnapshotRequestProto(snapshotRoot=path, snapshotName=name)

        real = self.do("createSnapshot", request)
        self.both(real, lambda: self.model.create_snapshot(path, name, now_ms=now_ms))

    @rule(path=snapshottable, name=snapshots)
    def delete_snapshot(self, path: str, name: str) -> None:
        now_ms = self.now()
        request = pb.DeleteSnapshotRequestProto(snapshotRoot=path, snapshotName=name)

        real = self.do("deleteSnapshot", request)
        self.both(real, lambda: self.model.delete_snapshot(path, name, now_ms=now_ms))

    @rule(path=snapshottable, old=snapshots, new=snapshots)
    def rename_snapshot(self, path: str, old: str, new: str) -> None:
        now_ms = self.now()
        request = pb.RenameSnapshotRequestProto(
            snapshotRoot=path, snapshotOldName=old, snapshotNewName=new
        )

        real = self.do("renameSnapshot", request)
        self.both(real, lambda: self.model.rename_snapshot(path, old, new, now_ms=now_ms))

    @rule(data=st.data(), steps=st.integers(3, 12))
    def history(self, data: st.DataObject, steps: int) -> None:
        """What snapshots are about, closer together than rules drawn one by one."""
        for _ in range(steps):
            data.draw(
                st.sampled_from(
                    [
                        self.one_more,
                        self.one_less,
                        self.move,
                        self.nest,
                        self.swap,
                        self.swap_what_snapshots_show,
                        self.change,
                        self.remove,
                        self.make,
                        self.append_and_close,
                        self.cut,
                        self.cut_what_is_in_a_snapshot,
                        self.give_up_all,
                    ]
                )
            )(data)
            compare(self.namenode, self.model)

    def path(self, data: st.DataObject) -> str:
        return str(data.draw(st.sampled_from(self.paths_there())))

    def new_path(self, data: st.DataObject) -> str:
        directory = data.draw(st.sampled_from(self.directories()))
        return directory.rstrip("/") + "/" + str(data.draw(names))

    def one_more(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(self.snapshottables()))
        self.create_snapshot(path, data.draw(snapshots))

    def one_less(self, data: st.DataObject) -> None:
        self.delete_snapshot(*data.draw(st.sampled_from(self.names_of_snapshots())))

    def move(self, data: st.DataObject) -> None:
        self.rename2(self.path(data), self.new_path(data), data.draw(st.booleans()), False)

    def nest(self, data: st.DataObject) -> None:
        """More levels, for what goes from one to another."""
        top = data.draw(st.sampled_from(self.directories())).rstrip("/")
        below = data.draw(st.lists(names, min_size=2, max_size=3))
        self.mkdirs(top + "/" + "/".join(below), 0o755, None)

    def swap(self, data: st.DataObject) -> None:
        """A directory goes into one that was in it, by way of any place that is free."""
        inner = sorted(path for path in self.directories() if path.count("/") > 2)
        if not inner:
            self.nest(data)
            return
        path = data.draw(st.sampled_from(inner))
        outer = path.rpartition("/")[0]
        outside = [each for each in self.directories() if not f"{each}/".startswith(f"{outer}/")]
        place = data.draw(st.sampled_from(outside)).rstrip("/") + "/" + data.draw(names)
        self.rename2(path, place, False, False)
        if place in self.model.entries and path not in self.model.entries:
            self.rename2(outer, place + "/" + data.draw(names), False, False)

    def swap_what_snapshots_show(self, data: st.DataObject) -> None:
        """Of several snapshots that show the same the older ones inherit it."""
        for step in (self.one_more, self.one_more, self.swap, self.one_less, self.one_less):
            step(data)

    def give_up_all(self, data: st.DataObject) -> None:
        """No directory may have snapshots any more, whatever is still to be copied."""
        kept = self.snapshottables()
        for path in kept:
            self.give_up(path)
        for _ in range(data.draw(st.integers(1, 2))):
            data.draw(st.sampled_from([self.remove_what_is_open, self.remove, self.move]))(data)
        for path in kept:
            self.allow_snapshot(path)

    def remove_what_is_open(self, data: st.DataObject) -> None:
        """Being written, or being cut."""
        path, _ = data.draw(st.sampled_from(self.open_files()))
        self.delete(path, True)

    def give_up(self, path: str) -> None:
        for root, name in self.names_of_snapshots():
            if root == path:
                self.delete_snapshot(path, name)
        self.disallow_snapshot(path)

    def change(self, data: st.DataObject) -> None:
        self.set_permission(self.path(data), data.draw(modes))

    def remove(self, data: st.DataObject) -> None:
        path = self.path(data)
        if path.count("/") > 1:
            self.delete(path, True)

    def make(self, data: st.DataObject) -> None:
        path = self.new_path(data)
        if data.draw(st.booleans()):
            self.mkdirs(path, 0o755, None)
        else:
            self.whole_file(path, "DFSClient_1", [1, 2])

    def append_and_close(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(self.closed_files()))
        entry = self.model.entries.get(path)
        if entry is None:
            return
        self.append(path, "DFSClient_1", False)
        more = data.draw(st.integers(1, BLOCK))
        if not entry.blocks or entry.blocks[-1] == BLOCK:
            self.add_block((path, "DFSClient_1"), 0)
        self.complete((path, "DFSClient_1"), more)

    def numbers_in_snapshots(self) -> set[int]:
        """Of the entries that snapshots show."""
        return {
            then.number
            for snapshots in self.model.snapshots.values()
            for shown in snapshots.values()
            for then in shown.values()
        }

    def cut_what_is_in_a_snapshot(self, data: st.DataObject) -> None:
        """The block is to be copied; meanwhile the snapshot goes, or the file."""
        kept = self.numbers_in_snapshots()
        files = sorted(
            path
            for path, entry in self.model.entries.items()
            if entry.number in kept and entry.length_bytes > 1 and entry.writer is None
        )
        if not files:
            self.one_more(data)
            return
        path = data.draw(st.sampled_from(files))
        last = self.model.entries[path].length_bytes - 1
        self.truncate(path, "DFSClient_1", data.draw(st.integers(1, last)))
        for _ in range(data.draw(st.integers(0, 2))):
            data.draw(
                st.sampled_from([self.one_less, self.one_more, self.remove, self.give_up_all])
            )(data)
        if data.draw(st.booleans()):
            self.recover_blocks(0)

    def cut(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(self.closed_files()))
        entry = self.model.entries.get(path)
        if entry is not None:
            self.truncate(path, "DFSClient_1", data.draw(st.integers(0, entry.length_bytes)))
            if data.draw(st.booleans()):
                self.recover_blocks(0)


class BoundedSnapshotHistories(SnapshotHistories):
    """Where quotas are met, which count what only snapshots have."""

    set_quota = AttributeHistories.set_quota
    set_replication = AttributeHistories.set_replication

    @initialize(count=st.integers(6, 16), space=st.integers(6 * BLOCK, 16 * BLOCK))
    def bound(self, count: int, space: int) -> None:
        self.set_quota("/", 2 * count, 2 * space)
        self.mkdirs("/a", 0o755, None)
        self.set_quota("/a", count, space)
