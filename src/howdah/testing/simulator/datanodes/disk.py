"""A disk with a page cache: what is not synced may be gone after a power cut.

A replica has two files, data and checksums, and one name, which says where it lies and
under which generation stamp. Files are synced one by one. Names are in a journal: syncing
any directory makes all that was done to names before durable, and a power cut leaves any
beginning of what came after, as journaling filesystems do it.

That the two files of a replica have a name each is not modelled:
`howdah.datanode.replicas.startup_scan` makes the same of every state between their two renames as
of one end or the other, and its tests hold it to that.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from howdah.testing.simulator.tasks import Choices


class File:
    """Bytes, and what of them a power cut leaves for sure."""

    __slots__ = ("content", "durable")

    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.durable = b""

    def write(self, offset: int, data: bytes) -> None:
        assert offset <= len(self.content), "a hole in a file"
        self.content[offset : offset + len(data)] = data

    def truncate(self, length: int) -> None:
        del self.content[length:]

    def sync(self) -> None:
        self.durable = bytes(self.content)

    def lose_power(self, kind: int) -> None:
        """0: all was written in time; 1: nothing was; 2: only the length was."""
        if kind == 1:
            self.content[:] = self.durable
        elif kind == 2:
            length = len(self.content)
            self.content[:] = self.durable[:length].ljust(length, b"\0")
        self.sync()


class Place(enum.Enum):
    """The directories of a block pool."""

    RBW = "rbw"
    FINALIZED = "finalized"
    TMP = "tmp"


@dataclass(frozen=True, slots=True)
class Name:
    place: Place
    generation_stamp: int


@dataclass(slots=True, eq=False)
class ReplicaFiles:
    block: File = field(default_factory=File)
    meta: File = field(default_factory=File)


_Entry = tuple[Name, ReplicaFiles]


class Disk:
    """One volume of one machine; it outlives the processes there."""

    def __init__(self) -> None:
        self.names: dict[int, _Entry] = {}
        self.awaited: dict[int, int] = {}
        """Restart files: until when (ms) the writer of a block waits for this datanode."""
        self.failing = 0
        """So many of the next writes fail."""
        self._durable: dict[int, _Entry] = {}
        self._journal: list[tuple[int, _Entry | None]] = []

    def put(self, block_id: int, name: Name, files: ReplicaFiles) -> None:
        """Create, or rename."""
        self.names[block_id] = (name, files)
        self._journal.append((block_id, (name, files)))

    def remove(self, block_id: int) -> None:
        if self.names.pop(block_id, None) is not None:
            self._journal.append((block_id, None))

    def sync_names(self) -> None:
        self._durable = dict(self.names)
        self._journal.clear()

    def write(self, file: File, offset: int, data: bytes) -> None:
        """`OSError` if the disk is to fail."""
        if self.failing:
            self.failing -= 1
            raise OSError(5, "the disk fails")
        file.write(offset, data)

    def cut_power(self, choices: Choices) -> None:
        kept = len(self._journal) - choices.below(len(self._journal) + 1)
        names = dict(self._durable)
        for block_id, entry in self._journal[:kept]:
            if entry is None:
                names.pop(block_id, None)
            else:
                names[block_id] = entry
        for _, files in names.values():
            for file in (files.block, files.meta):
                if file.durable != file.content:
                    file.lose_power(choices.below(3))
        self.names = names
        self.sync_names()
