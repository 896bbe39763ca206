"""What snapshots are: copies of all that is below a directory, under a name."""

from __future__ import annotations

from dataclasses import replace

from howdah.model.attributes import Attributes
from howdah.model.entries import Entry, Refused, Shown, is_under


class Snapshots(Attributes):
    """A part of `ModelNamespace`: operations on snapshots, and what they forbid."""

    _numbers: int

    def subtree(self, path: str) -> list[str]:
        """The path and all below it."""
        return [other for other in self.entries if other == path or is_under(other, path)]

    def _snapshottable(self, path: str) -> dict[str, Shown]:
        snapshots = self.snapshots.get(self._directory_entry(path).number)
        if snapshots is None:
            raise Refused("not snapshottable")
        return snapshots

    def _directory_entry(self, path: str) -> Entry:
        entry = self._existing(path)
        if not entry.is_directory:
            raise Refused("no directory")
        return entry

    def _in_snapshot(self, number: int) -> bool:
        return any(
            entry.number == number
            for snapshots in self.snapshots.values()
            for shown in snapshots.values()
            for entry in shown.values()
        )

    def _is_kept(self, block_number: int) -> bool:
        return any(
            block_number in entry.block_numbers
            for snapshots in self.snapshots.values()
            for shown in snapshots.values()
            for entry in shown.values()
        )

    def _check_no_snapshots(self, path: str) -> None:
        for below in self.subtree(path):
            if self.snapshots.get(self.entries[below].number):
                raise Refused("has snapshots")

    def snapshottable(self) -> list[str]:
        return [path for path, entry in self.entries.items() if entry.number in self.snapshots]

    def _check_not_nested(self, src: str, dst: str) -> None:
        roots = self.snapshottable()
        if any(is_under(dst, root) for root in roots):
            for root in roots:
                if root == src or is_under(root, src):
                    raise Refused("would be nested")

    def allow_snapshot(self, path: str) -> None:
        entry = self._directory_entry(path)
        if any(is_under(root, path) or is_under(path, root) for root in self.snapshottable()):
            raise Refused("would be nested")
        self.snapshots.setdefault(entry.number, {})

    def disallow_snapshot(self, path: str) -> None:
        entry = self._directory_entry(path)
        if self.snapshots.get(entry.number):
            raise Refused("has snapshots")
        self.snapshots.pop(entry.number, None)

    def create_snapshot(self, path: str, name: str, *, now_ms: int) -> None:
        snapshots = self._snapshottable(path)
        if name in snapshots:
            raise Refused("snapshot exists")
        self.entries[path] = replace(self.entries[path], mtime_ms=now_ms)
        self._numbers += 1
        shown = Shown()
        shown.order = self._numbers
        for below in self.subtree(path):
            shown["" if below == path else below[len(path.rstrip("/")) :]] = self.entries[below]
        snapshots[name] = shown

    def delete_snapshot(self, path: str, name: str, *, now_ms: int) -> None:
        snapshots = self._snapshottable(path)
        if name not in snapshots:
            raise Refused("no such snapshot")
        del snapshots[name]
        entry = self.entries[path]
        self.entries[path] = replace(entry, mtime_ms=max(entry.mtime_ms, now_ms))

    def rename_snapshot(self, path: str, old: str, new: str, *, now_ms: int) -> None:
        snapshots = self._snapshottable(path)
        if old not in snapshots:
            raise Refused("no such snapshot")
        if new != old and new in snapshots:
            raise Refused("snapshot exists")
        shown = snapshots.pop(old)
        shown[""] = replace(shown[""], mtime_ms=now_ms)
        snapshots[new] = shown
