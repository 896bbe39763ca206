"""What a namespace is, in as few words as possible: a dict from paths to what is there.

The tests' oracle. It knows nothing of howdah, of blocks on datanodes, of users or of
time limits; every operation either changes the dict or says in one word why not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from howdah.model import acls
from howdah.model.attributes import with_acl
from howdah.model.coding import Coding, Codings, coding_of_new
from howdah.model.entries import NAMENODE, ROOT, Entry, Refused, is_under, parent_of
from howdah.model.quotas import (
    FIXED_POLICY,
    bounded,
    bounded_move,
    fixed_policy,
    policy_of,
    sizes_of,
)
from howdah.model.snapshots import Snapshots


class ModelNamespace(Snapshots, Codings):
    """Holds all paths of a filesystem with one user.

    >>> model = ModelNamespace("root", "staff")
    >>> model.mkdirs("/a/b", 0o755, now_ms=1)
    >>> sorted(model.entries)
    ['/', '/a', '/a/b']
    """

    def __init__(
        self,
        owner: str,
        group: str,
        max_xattrs: int = 32,
        codings: Mapping[str, Coding] | None = None,
    ) -> None:
        """`codings` are the erasure codings that there are, by their names; all are enabled."""
        self.codings = dict(codings or {})
        self.enabled = frozenset(self.codings)
        self.entries: dict[str, Entry] = {ROOT: Entry(True, owner, group)}
        self.snapshots = {}
        self.moved = frozenset()
        self.gone_bytes = {}
        self._owner = owner
        self._numbers = 0
        self.max_xattrs = max_xattrs

    # Looking.

    def children(self, path: str) -> list[str]:
        """The names in a directory, in order."""
        return sorted(
            other.rpartition("/")[2]
            for other in self.entries
            if other != ROOT and parent_of(other) == path
        )

    def is_linked(self, path: str) -> bool:
        """True if there is a link at the path or above."""
        return any(
            entry.target and (path == link or is_under(path, link))
            for link, entry in self.entries.items()
        )

    # The tree.

    def _make_parents(self, path: str, mode: int | None, unmasked: int | None, now_ms: int) -> None:
        above = parent_of(path)
        if above in self.entries:
            return
        self._make_parents(above, mode, unmasked, now_ms)
        inherited = self.entries[parent_of(above)].mode if mode is None else mode
        before = None if unmasked is None else unmasked | 0o300
        self._make(above, Entry(True, mode=inherited | 0o300), before, now_ms)

    def _make(self, path: str, new: Entry, unmasked: int | None, now_ms: int) -> None:
        """With the group of its directory, and the list that it hands down: this takes
        the place of the client's mask, if the client says what the mode was before."""
        above = self.entries[parent_of(path)]
        self._numbers += 1
        new = replace(
            new,
            owner=self._owner,
            group=above.group,
            mtime_ms=now_ms,
            number=self._numbers,
            link=self._numbers,
        )
        handed = new.mode if unmasked is None else unmasked
        acl = acls.inherited(above.acl or {}, handed, by_directory=new.is_directory)
        if acl is not None:
            new = with_acl(replace(new, mode=handed), acl)
        self.entries[path] = new
        self._touch(parent_of(path), now_ms)

    def _touch(self, path: str, now_ms: int) -> None:
        self.entries[path] = replace(self.entries[path], mtime_ms=now_ms)

    @bounded
    def mkdirs(self, path: str, mode: int, *, now_ms: int, unmasked: int | None = None) -> None:
        """Make a directory and what is missing above it; one that is there is left alone."""
        entry = self._entry_at(path)
        if entry is not None:
            if not entry.is_directory:
                raise Refused("exists")
            return
        self._make_parents(path, mode, unmasked, now_ms)
        self._make(path, Entry(True, mode=mode), unmasked, now_ms)

    @bounded
    def link(self, path: str, target: str, *, now_ms: int) -> None:
        """A link, which nobody here follows: all but its place is refused to clients."""
        self._check_parents(path)
        if path in self.entries:
            raise Refused("exists")
        self._make_parents(path, None, None, now_ms)
        group = self.entries[parent_of(path)].group
        self._numbers += 1
        self.entries[path] = Entry(
            False,
            self._owner,
            group,
            0o777,
            now_ms,
            now_ms,
            target=target,
            number=self._numbers,
            link=self._numbers,
        )
        self._touch(parent_of(path), now_ms)

    def delete(self, path: str, *, recursive: bool, now_ms: int) -> bool:
        self._check_parents(path)
        if path not in self.entries:
            return False
        if len(self.subtree(path)) > 1 and not recursive:
            raise Refused("not empty")
        if path == ROOT:
            return False
        self._check_no_snapshots(path)
        self._remove(path)
        self._touch(parent_of(path), now_ms)
        return True

    def _remove(self, path: str) -> None:
        for gone in self.subtree(path):
            entry = self.entries.pop(gone)
            self.snapshots.pop(entry.number, None)
            self._note_gone(entry)

    def _note_gone(self, entry: Entry) -> None:
        """These blocks are the entry's no more, but maybe a snapshot's."""
        self.gone_bytes = {**self.gone_bytes, **sizes_of(self.codings, entry)}

    def _new_number(self) -> int:
        self._numbers += 1
        return self._numbers

    @bounded_move
    def rename(self, src: str, dst: str, *, now_ms: int) -> bool:
        """The old rename: into `dst` if that is a directory; False where it cannot be."""
        self._check_parents(src)
        self._check_parents(dst)
        if src not in self.entries or src == ROOT:
            return False
        self._check_no_snapshots(src)
        there = self.entries.get(dst)
        if there is not None and there.is_directory:
            dst = dst.rstrip("/") + "/" + src.rpartition("/")[2]
        if dst == src:
            return True
        parent = self.entries.get(parent_of(dst))
        if dst in self.entries or is_under(dst, src) or parent is None or not parent.is_directory:
            return False
        if self.entries[src].target == dst:
            return False
        self._check_not_nested(src, dst)
        self._move(src, dst, now_ms)
        return True

    @bounded_move
    def rename2(self, src: str, dst: str, *, overwrite: bool, now_ms: int) -> None:
        """The new rename: `dst` is the final name."""
        self._check_parents(src)
        self._check_parents(dst)
        if src not in self.entries:
            raise Refused("not found")
        if ROOT in (src, dst):
            raise Refused("root")
        self._check_no_snapshots(src)
        self._check_no_snapshots(dst)
        if src == dst or self.entries[src].target == dst:
            raise Refused("exists")
        if is_under(dst, src):
            raise Refused("under itself")
        old = self.entries.get(dst)
        if old is not None:
            if old.is_directory != self.entries[src].is_directory:
                raise Refused("kinds differ")
            if not overwrite:
                raise Refused("exists")
            if len(self.subtree(dst)) > 1:
                raise Refused("not empty")
        elif parent_of(dst) not in self.entries:
            raise Refused("not found")
        self._check_not_nested(src, dst)
        if old is not None:
            self._remove(dst)
        self._move(src, dst, now_ms)

    def _move(self, src: str, dst: str, now_ms: int) -> None:
        moved = {dst + path[len(src) :]: self.entries.pop(path) for path in self.subtree(src)}
        self.moved |= {moved[dst].link}
        moved[dst] = replace(moved[dst], link=self._new_number())
        self.entries.update(moved)
        self._touch(parent_of(src), now_ms)
        self._touch(parent_of(dst), now_ms)

    # Files.

    @bounded
    def create(
        self,
        path: str,
        mode: int,
        *,
        writer: str,
        replication: int,
        block_size_bytes: int,
        overwrite: bool,
        now_ms: int,
        unmasked: int | None = None,
    ) -> None:
        old = self._entry_at(path)
        if old is not None:
            if old.is_directory:
                raise Refused("exists")
            if not overwrite:
                raise Refused("is written" if old.writer else "exists")
            self._remove(path)
        self._make_parents(path, None, None, now_ms)
        coding = coding_of_new(self.entries, parent_of(path))
        new = Entry(
            False,
            mode=mode,
            atime_ms=now_ms,
            replication=1 if coding else replication,
            coding=coding,
            writer=writer,
            block_size_bytes=block_size_bytes,
            policy=fixed_policy(self.entries, parent_of(path)),
        )
        self._make(path, new, unmasked, now_ms)

    def _open(self, path: str, writer: str) -> Entry:
        entry = self._existing(path)
        if entry.is_directory or entry.writer != writer or writer == NAMENODE:
            raise Refused("not the writer")
        if entry.is_cut:
            raise Refused("is cut")
        return entry

    @bounded
    def append(self, path: str, *, writer: str, new_block: bool) -> None:
        entry = self._existing(path)
        if entry.is_directory:
            raise Refused("exists")
        if policy_of(self.entries, path) == FIXED_POLICY:
            raise Refused("a lazy persist file")
        if entry.writer is not None:
            raise Refused("is written")
        if entry.coding and entry.blocks and not new_block:
            raise Refused("is coded")
        goes_on = not new_block and entry.blocks[-1:] < (entry.block_size_bytes,)
        self.entries[path] = replace(
            entry, writer=writer, is_writing=bool(entry.blocks) and goes_on
        )

    @bounded
    def add_block(self, path: str, blocks: tuple[int, ...], *, writer: str) -> None:
        """A new one, after `blocks`, of which the last is settled."""
        entry = self._open(path, writer)
        numbers = (*entry.block_numbers, self._new_number())
        self.entries[path] = replace(
            entry, blocks=(*blocks, 0), block_numbers=numbers, is_writing=True
        )

    def sync(self, path: str, length_bytes: int, *, writer: str) -> None:
        """Of the block that is being written, if any, so much is there."""
        entry = self._open(path, writer)
        if not entry.blocks and length_bytes > 0:
            raise Refused("no block")
        if entry.is_writing:
            blocks = (*entry.blocks[:-1], max(entry.blocks[-1], length_bytes))
            self.entries[path] = replace(entry, blocks=blocks)

    def abandon_block(self, path: str, *, writer: str) -> None:
        """Take the last block away; no group, whose writer goes on with the rest of it."""
        entry = self._open(path, writer)
        if entry.coding:
            return
        self.entries[path] = replace(
            entry,
            blocks=entry.blocks[:-1],
            block_numbers=entry.block_numbers[:-1],
            is_writing=False,
        )

    def close(self, path: str, blocks: tuple[int, ...], *, writer: str, now_ms: int) -> None:
        entry = self._open(path, writer)
        self.entries[path] = replace(
            entry, blocks=blocks, writer=None, is_writing=False, mtime_ms=now_ms
        )

    # Files that get shorter, longer, or are taken away.

    def _file(self, path: str) -> Entry:
        entry = self._existing(path)
        if entry.is_directory:
            raise Refused("not found")
        return entry

    @bounded
    def truncate(self, path: str, length_bytes: int, *, writer: str, now_ms: int) -> bool:
        """False if the cut goes through a block: the file is open until that is done."""
        entry = self._file(path)
        if entry.coding:
            raise Refused("is coded")
        if policy_of(self.entries, path) == FIXED_POLICY:
            raise Refused("a lazy persist file")
        if entry.writer is not None:
            if entry.is_cut and entry.length_bytes == length_bytes:
                return False
            raise Refused("is written")
        if length_bytes > entry.length_bytes:
            raise Refused("too long")
        if length_bytes == entry.length_bytes:
            return True
        blocks: list[int] = []
        is_cut = False
        for block in entry.blocks:
            left = length_bytes - sum(blocks)
            if left:
                blocks.append(min(block, left))
                is_cut = left < block
        numbers = list(entry.block_numbers[: len(blocks)])
        self._note_gone(entry)
        if is_cut and self._is_kept(numbers[-1]):
            # That one stays as it is; what is left of it becomes another one.
            numbers[-1] = self._new_number()
        self.entries[path] = replace(
            entry,
            blocks=tuple(blocks),
            block_numbers=tuple(numbers),
            mtime_ms=now_ms,
            writer=writer if is_cut else None,
            is_cut=is_cut,
        )
        return not is_cut

    @bounded
    def concat(self, target: str, sources: list[str], *, now_ms: int) -> None:
        """The blocks of the sources go to the end of the target, and the sources go."""
        whole = self._file(target)
        if whole.writer is not None:
            raise Refused("cannot be joined")
        for path in sources:
            part = self._file(path)
            if parent_of(path) != parent_of(target) or path == target:
                raise Refused("cannot be joined")
            if part.coding != whole.coding:
                raise Refused("cannot be joined")
            if self._in_snapshot(part.number):
                raise Refused("is in a snapshot")
            if part.writer is not None or not part.blocks:
                raise Refused("cannot be joined")
        if len(set(sources)) < len(sources):
            raise Refused("cannot be joined")
        parts = [whole, *[self.entries.pop(path) for path in sources]]
        self.entries[target] = replace(
            whole,
            blocks=tuple(length for part in parts for length in part.blocks),
            block_numbers=tuple(number for part in parts for number in part.block_numbers),
            mtime_ms=now_ms,
        )
        self._touch(parent_of(target), now_ms)

    def take_over(self, path: str, *, keep: int | None, now_ms: int) -> bool:
        """Whoever writes the file is stopped. True if it is closed: at once, with its first
        `keep` blocks, if its datanodes need not be asked (else None)."""
        entry = self._file(path)
        if entry.writer is None:
            return True
        if keep is None:
            self.entries[path] = replace(entry, writer=NAMENODE)
            return False
        self.entries[path] = replace(
            entry,
            writer=None,
            is_writing=False,
            blocks=entry.blocks[:keep],
            block_numbers=entry.block_numbers[:keep],
            mtime_ms=now_ms,
        )
        return True

    def recovered(self, path: str, length_bytes: int, *, now_ms: int) -> None:
        """Its datanodes have said how long the last block is; the file is closed."""
        entry = self._file(path)
        blocks = (*entry.blocks[:-1], length_bytes)
        self.entries[path] = replace(
            entry, blocks=blocks, writer=None, is_writing=False, is_cut=False, mtime_ms=now_ms
        )
