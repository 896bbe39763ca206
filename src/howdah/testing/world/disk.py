"""Disks that forget in a power cut what was not synced.

A file has the bytes that every process sees, and those that are safe. `sync` makes the first the
second. After a power cut a file has its safe bytes, and by chance some of the pages that were
written since, the last of them torn at a sector's border.

Names are changed in a journal. Which names survive a power cut is one of two rules:

- `ordered`, as ext4 and XFS do: names are safe in the order in which they were changed, and to sync
  anything makes all earlier changes safe;
- `strict`, as POSIX promises and no more: a name is safe once its own directory was synced.

A disk also fails, fills up and hangs when it is told to (`Disk.failing`, `capacity_bytes`,
`hangs_until_ns`), and one that `lies` answers to a sync of a file and does nothing. What a sync has
failed to write is never written, whoever syncs again, unless it is written anew. Bits at rest can
be turned over (`Inode.flip`).
"""

from __future__ import annotations

import errno
import posixpath
import random
import stat
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from howdah.testing.world.descriptors import system_error

SECTOR_BYTES: Final = 512
PAGE_BYTES: Final = 4096
_CAPACITY_BYTES: Final = 1 << 34


class LockOwner(Protocol):
    """Is a process, as the lock of a file knows it."""

    is_dead: bool


class Inode:
    """Is a file or a directory."""

    __slots__ = (
        "data",
        "dirty",
        "disk",
        "entries",
        "is_rotten",
        "links",
        "lock_owner",
        "mode",
        "mtime_ns",
        "number",
        "open_count",
        "safe",
        "unsafe",
    )

    def __init__(self, disk: Disk, mode: int) -> None:
        disk.inode_count += 1
        self.disk = disk
        self.number = disk.inode_count
        self.mode = mode
        self.data = bytearray()
        self.safe = bytearray()
        self.dirty: list[tuple[int, int]] = []
        """What was written since the last sync, from and to."""
        self.unsafe: list[tuple[int, int]] = []
        """What a sync has failed to make safe: as on Linux, the next one does not try again."""
        self.entries: dict[str, Inode] = {}
        self.mtime_ns = disk.wall_ns()
        self.is_rotten = False
        """Whether a bit was turned over."""
        self.links = 0
        self.open_count = 0
        self.lock_owner: LockOwner | None = None

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def touch(self) -> None:
        self.mtime_ns = self.disk.wall_ns()

    def write(self, offset: int, content: bytes) -> int:
        """Return how much was written: not all where the disk is full. Raises OSError (ENOSPC)."""
        end = offset + len(content)
        growth = max(end - len(self.data), 0)
        room = self.disk.free_bytes
        if growth > room:
            content = content[: len(content) - (growth - room)]
            end = offset + len(content)
            growth = room
            if not content:
                raise system_error(errno.ENOSPC)
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset:end] = content
        self.disk.used_bytes += growth
        self.dirty.append((offset, end))
        self.touch()
        return len(content)

    def resize(self, length: int) -> None:
        """Raises OSError (ENOSPC)."""
        growth = length - len(self.data)
        if growth > self.disk.free_bytes:
            raise system_error(errno.ENOSPC)
        if growth < 0:
            del self.data[length:]
        else:
            self.data.extend(bytes(growth))
        self.disk.used_bytes += growth
        self.dirty.append((length, length))
        self.touch()

    def sync(self) -> None:
        """Make safe what was written."""
        if not self.dirty:
            return
        length = len(self.data)
        _resize(self.safe, length)
        for start, end in self.dirty:
            end = min(end, length)
            if start < end:
                self.safe[start:end] = self.data[start:end]
        if self.unsafe:
            self.unsafe = [
                (start, end)
                for start, end in self.unsafe
                if not any(first <= start and end <= last for first, last in self.dirty)
            ]
        self.dirty.clear()

    def fail_to_sync(self) -> None:
        """Forget that what was written is to be made safe, as Linux does when a write to the disk
        fails: readers see it until the power is lost."""
        self.unsafe += self.dirty
        self.dirty.clear()

    def flip(self, bit: int) -> None:
        """Turn a bit over that is at rest on the disk."""
        place, mask = bit // 8, 1 << bit % 8
        self.is_rotten = True
        self.data[place] ^= mask
        if place < len(self.safe):
            self.safe[place] ^= mask

    def lose(self, dice: random.Random) -> int:
        """Lose power; return how many bytes were lost."""
        if not self.dirty and not self.unsafe:
            if len(self.data) != len(self.safe):
                self.data = bytearray(self.safe)  # It was deleted, and its name has come back.
            return 0
        lost = sum(end - start for start, end in self.unsafe)
        # The length may have been written or not.
        kept = len(self.data) if self.dirty and dice.random() < 0.5 else len(self.safe)
        _resize(self.safe, kept)
        for start, end in self.dirty:
            for page in range(start - start % PAGE_BYTES, end, PAGE_BYTES):
                first, behind = max(page, start), min(page + PAGE_BYTES, end, kept)
                if first >= behind:
                    continue
                if dice.random() < 0.5:
                    behind = _torn(first, behind, dice)
                    self.safe[first:behind] = self.data[first:behind]
                else:
                    lost += behind - first
        lost += max(len(self.data) - kept, 0)
        self.disk.used_bytes += kept - len(self.data)
        self.data = bytearray(self.safe)
        self.dirty.clear()
        self.unsafe.clear()
        return lost

    def forget_if_unused(self) -> None:
        if self.links == 0 and self.open_count == 0:
            self.disk.used_bytes -= len(self.data)
            self.data = bytearray()
            self.dirty.clear()


def _resize(data: bytearray, length: int) -> None:
    if length < len(data):
        del data[length:]
    else:
        data.extend(bytes(length - len(data)))


def _torn(first: int, behind: int, dice: random.Random) -> int:
    """Draw where a page that was being written ends: mostly at its end, else at a sector's."""
    if dice.random() < 0.8:
        return behind
    sectors = range(first - first % SECTOR_BYTES + SECTOR_BYTES, behind, SECTOR_BYTES)
    return dice.choice(sectors) if sectors else behind


class Disk:
    """Is a filesystem on a disk of its own."""

    def __init__(self, wall_ns: Callable[[], int], dice: random.Random, device: int = 0) -> None:
        self.wall_ns = wall_ns
        self.device = device
        """What `stat` says of all files on it."""
        self.dice = dice
        self.inode_count = 1
        self.used_bytes = 0
        self.capacity_bytes = _CAPACITY_BYTES
        self.sync_range_ns = (100_000, 2_000_000)
        """How long a sync takes, from and to."""
        self.is_strict = False
        self.lies = False
        self.failing: dict[str, float] = {}
        """How likely an operation fails with EIO, by its name: `read`, `write`, `sync`, `name`."""
        self.hangs_until_ns = 0
        self.lost_bytes = 0
        self.lost_names = 0
        self._journal: list[tuple[int, Inode, str, Inode | None]] = []
        """Changes of names that are not safe: group, directory, name, what had the name before."""
        self._groups = 0
        self.root = Inode(self, stat.S_IFDIR | 0o755)
        self.root.links = 1

    @property
    def free_bytes(self) -> int:
        return max(self.capacity_bytes - self.used_bytes, 0)

    # -- names

    def new_directory(self, mode: int) -> Inode:
        return Inode(self, stat.S_IFDIR | stat.S_IMODE(mode))

    def new_file(self, mode: int) -> Inode:
        return Inode(self, stat.S_IFREG | stat.S_IMODE(mode))

    def change_names(self, *changes: tuple[Inode, str, Inode | None]) -> None:
        """Give names to inodes, or take them (None): all of it or, after a power cut, nothing."""
        self._groups += 1
        for directory, name, node in changes:
            before = directory.entries.get(name)
            self._journal.append((self._groups, directory, name, before))
            if node is not None:
                node.links += 1
                directory.entries[name] = node
            elif before is not None:
                del directory.entries[name]
            if before is not None:
                before.links -= 1
            directory.touch()
        for _, _, _, before in self._journal[-len(changes) :]:
            if before is not None:
                before.forget_if_unused()

    def sync(self, node: Inode) -> None:
        """Make a file or a directory safe, as fsync does."""
        if not self.is_strict:
            self._journal.clear()
        elif node.is_directory:
            self._journal = [change for change in self._journal if change[1] is not node]
        if not node.is_directory and not self.lies:
            node.sync()

    def lose_power(self) -> None:
        """Forget what is not safe, by the rule of this disk."""
        if self.is_strict:
            undone = self._journal
        else:
            groups = sorted({change[0] for change in self._journal})
            kept = set(groups[: self.dice.randrange(len(groups) + 1)]) if groups else set()
            undone = [change for change in self._journal if change[0] not in kept]
        for _, directory, name, before in reversed(undone):
            self.lost_names += 1
            if before is not None:
                directory.entries[name] = before
            else:
                directory.entries.pop(name, None)
        self._journal.clear()
        self._lose_data()
        self.hangs_until_ns = 0

    def _lose_data(self) -> None:
        nodes = list(self.walk())
        for node in nodes:
            node.links = 0
            node.open_count = 0
            node.lock_owner = None
        for node in nodes:
            for child in node.entries.values():
                child.links += 1
        self.root.links = 1
        for node in nodes:
            self.lost_bytes += node.lose(self.dice)
        self.used_bytes = sum(len(node.data) for node in nodes)

    def files(self, prefix: str) -> Iterator[tuple[str, Inode]]:
        """Go over the files whose names begin in this way, in a fixed order."""
        todo = [self.root]
        while todo:
            node = todo.pop()
            for name in sorted(node.entries):
                child = node.entries[name]
                if child.is_directory:
                    todo.append(child)
                elif name.startswith(prefix):
                    yield name, child

    def walk(self) -> Iterator[Inode]:
        """Go over all that has a name, each once."""
        seen = {self.root.number}
        todo = [self.root]
        while todo:
            node = todo.pop()
            yield node
            for child in node.entries.values():
                if child.number not in seen:
                    seen.add(child.number)
                    todo.append(child)

    def failing_ends(self) -> None:
        """From now on no call fails."""
        self.failing = {}

    def check(self, operation: str) -> None:
        """Raise OSError (EIO) where the disk fails now."""
        chance = self.failing.get(operation, 0.0)
        if chance and self.dice.random() < chance:
            raise system_error(errno.EIO)


class Mounts:
    """Is the directory tree of a machine: a root disk, and others below it."""

    def __init__(self, root: Disk) -> None:
        self._disks: dict[tuple[str, ...], Disk] = {(): root}

    def mount(self, path: str, disk: Disk) -> None:
        """Put the root of a disk over a directory, which is made if it is not there."""
        at = parts_of(path)
        directory = self.root.root
        for part in at:
            child = directory.entries.get(part)
            if child is None:
                child = self.root.new_directory(0o755)
                self.root.change_names((directory, part, child))
                self.root.sync(directory)
            directory = child
        self._disks[at] = disk

    @property
    def root(self) -> Disk:
        return self._disks[()]

    def disks(self) -> list[Disk]:
        return list(self._disks.values())

    def disk_of(self, path: str) -> Disk:
        """Return the disk on which a path is."""
        parts = parts_of(path)
        for length in range(len(parts), -1, -1):
            disk = self._disks.get(parts[:length])
            if disk is not None:
                return disk
        raise AssertionError("the root is always there")

    def find(self, path: str) -> Inode:
        """Raises OSError (ENOENT, ENOTDIR)."""
        parts = parts_of(path)
        node = self.root.root
        for index, part in enumerate(parts):
            if not node.is_directory:
                raise system_error(errno.ENOTDIR, path)
            mounted = self._disks.get(parts[: index + 1])
            child = mounted.root if mounted is not None else node.entries.get(part)
            if child is None:
                raise system_error(errno.ENOENT, path)
            node = child
        if path.endswith("/") and parts and not node.is_directory:
            raise system_error(errno.ENOTDIR, path)
        return node

    def parent(self, path: str) -> tuple[Inode, str]:
        """Return the directory of a path, and its last name. Raises OSError (ENOENT, ENOTDIR,
        EBUSY)."""
        parts = parts_of(path)
        if not parts:
            raise system_error(errno.EBUSY, path)
        try:
            directory = self.find("/" + "/".join(parts[:-1]))
        except OSError as error:
            raise system_error(error.errno or errno.ENOENT, path) from None
        if not directory.is_directory:
            raise system_error(errno.ENOTDIR, path)
        return directory, parts[-1]


def parts_of(path: str) -> tuple[str, ...]:
    """Return the names of a path; the working directory is the root."""
    return tuple(part for part in posixpath.normpath("/" + path).split("/") if part)
