"""Writers that note what was acknowledged, and readers that hold the filesystem to it.

A file's bytes follow from its path, so any part of it can be checked. A writer notes

1. after `hflush` or `close` has returned: so many bytes are there for every reader;
2. before it renames or deletes a file: its readers may find it here or there, or not at all;
3. after that call has returned: where it is, or that it is gone.

A reader takes the note first and reads then, so what it finds is at least what was noted.
"""

from __future__ import annotations

import abc
import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from howdah.fs.api import FileSystem

Connect = Callable[[], FileSystem]
CHUNK_BYTES = 700
MOST_CHUNKS = 6
_PERIOD_BYTES = 4093
PACE_S = 0.01
"""Clients leave some of the machine to the servers."""


def content(origin: str, length: int) -> bytes:
    """What a file has that was created as `origin`; every shorter one is a beginning of it."""
    seed = int.from_bytes(hashlib.blake2b(origin.encode(), digest_size=8).digest(), "big")
    period = random.Random(seed).randbytes(_PERIOD_BYTES)
    return (period * (length // _PERIOD_BYTES + 1))[:length]


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of one file. `is_settled` is False while it is renamed or deleted."""

    origin: str
    path: str
    length: int
    is_closed: bool = False
    is_settled: bool = True
    is_there: bool = True


class Manifest:
    """All notes, and when operations were acknowledged. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: dict[str, Note] = {}
        self._acknowledged_at: list[float] = []
        self._by_client: Counter[str] = Counter()
        self.failures: list[str] = []

    def note(self, note: Note) -> None:
        """Of an operation that is about to be asked for."""
        with self._lock:
            self._notes[note.origin] = note

    def acknowledge(self, note: Note) -> None:
        """Of an operation that was answered just now."""
        with self._lock:
            self._notes[note.origin] = note
            self._acknowledged_at.append(time.monotonic())
            self._by_client[threading.current_thread().name] += 1

    def fail(self, what: str) -> None:
        with self._lock:
            self.failures.append(what)

    def notes(self) -> list[Note]:
        with self._lock:
            return list(self._notes.values())

    def closed_paths(self) -> list[str]:
        """Where the files are that were closed and not deleted."""
        return [
            note.path
            for note in self.notes()
            if note.is_there and note.is_closed and note.is_settled
        ]

    @property
    def acknowledged(self) -> int:
        """How many operations were."""
        with self._lock:
            return len(self._acknowledged_at)

    def by_client(self) -> dict[str, int]:
        """The same of each client, by its name."""
        with self._lock:
            return dict(self._by_client)

    def first_after(self, moment: float) -> float | None:
        """When the first operation was acknowledged after `moment` (`time.monotonic()`)."""
        with self._lock:
            return next((at for at in self._acknowledged_at if at > moment), None)

    def longest_silence_s(self) -> float:
        """The longest time between two acknowledgements."""
        with self._lock:
            moments = sorted(self._acknowledged_at)
        return max((b - a for a, b in pairwise(moments)), default=0.0)

    def verify(self, fs: FileSystem) -> None:
        """Hold a filesystem at rest to every note; AssertionError names all that are broken."""
        broken = [problem for note in self.notes() if (problem := breach(fs, note)) is not None]
        assert not broken, f"{len(broken)} files are not as acknowledged:\n" + "\n".join(broken)


def breach(fs: FileSystem, note: Note) -> str | None:
    """How a file is less than what was noted, None where it isn't."""
    if not note.is_settled:
        return None
    try:
        with fs.open(note.path) as stream:
            found = bytes(stream.read())
    except FileNotFoundError:
        return f"{note.path} is missing: {note}" if note.is_there else None
    if not note.is_there:
        return f"{note.path} is there, and was deleted"
    if len(found) < note.length:
        return f"{note.path} has {len(found)} bytes, {note.length} were acknowledged: {note}"
    if note.is_closed and len(found) != note.length:
        return f"{note.path} has {len(found)} bytes, {note.length} were written: {note}"
    if found != content(note.origin, len(found)):
        return f"{note.path} has other bytes than were written: {note}"
    return None


class _Client(threading.Thread, abc.ABC):
    """Does something again and again until it is told to stop, or fails."""

    def __init__(self, name: str, connect: Connect, manifest: Manifest, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self._connect = connect
        self._manifest = manifest
        self._random = random.Random(f"{name} {seed}")
        self._stop_asked = threading.Event()

    def stop(self) -> None:
        self._stop_asked.set()

    def run(self) -> None:
        doing = "connecting"
        try:
            with self._connect() as fs:
                number = 0
                while not self._stop_asked.is_set():
                    doing = f"round {number}"
                    self._round(fs, number)
                    number += 1
                    self._stop_asked.wait(PACE_S)
        # Whatever it is, the test that started us has to say it.
        except Exception as error:  # noqa: BLE001
            self._manifest.fail(f"{self.name}, {doing}: {type(error).__name__}: {error}")

    @abc.abstractmethod
    def _round(self, fs: FileSystem, number: int) -> None: ...


class FileWriter(_Client):
    """Writes a small file in each round, renames some, deletes some."""

    def __init__(
        self, name: str, connect: Connect, manifest: Manifest, seed: int, directory: str
    ) -> None:
        super().__init__(name, connect, manifest, seed)
        self._directory = directory

    def _round(self, fs: FileSystem, number: int) -> None:
        path = f"{self._directory}/{self.name}-{number:05}"
        note = Note(origin=path, path=path, length=0)
        with fs.create(path) as out:
            self._manifest.acknowledge(note)
            for _ in range(self._random.randint(0, MOST_CHUNKS)):
                length = note.length + CHUNK_BYTES
                out.write(content(path, length)[note.length :])
                out.hflush()
                note = replace(note, length=length)
                self._manifest.acknowledge(note)
        note = replace(note, is_closed=True)
        self._manifest.acknowledge(note)
        match self._random.randrange(4):
            case 0:
                target = f"{path}.renamed"
                self._manifest.note(replace(note, is_settled=False))
                fs.rename(path, target)
                self._manifest.acknowledge(replace(note, path=target))
            case 1:
                self._manifest.note(replace(note, is_settled=False))
                # False would say that the file, which was there, was deleted by a call of
                # ours before this one: that the same call ran twice.
                if not fs.delete(path):
                    self._manifest.fail(f"{self.name}: {path} was there, and delete says it wasn't")
                self._manifest.acknowledge(replace(note, is_there=False))


class LogWriter(_Client):
    """Writes one file all the time, piece after piece, and closes it at the end."""

    def __init__(
        self, name: str, connect: Connect, manifest: Manifest, seed: int, path: str
    ) -> None:
        super().__init__(name, connect, manifest, seed)
        self._note = Note(origin=path, path=path, length=0)

    def _round(self, fs: FileSystem, number: int) -> None:
        with fs.create(self._note.path) as out:
            self._manifest.acknowledge(self._note)
            while not self._stop_asked.is_set():
                length = self._note.length + CHUNK_BYTES
                out.write(content(self._note.origin, length)[self._note.length :])
                out.hflush()
                self._note = replace(self._note, length=length)
                self._manifest.acknowledge(self._note)
                self._stop_asked.wait(PACE_S)
        self._note = replace(self._note, is_closed=True)
        self._manifest.acknowledge(self._note)


class CodedWriter(_Client):
    """Writes an erasure-coded file in each round, of some length around cells and stripes, and
    deletes some. Such a file is acknowledged by `close` alone."""

    def __init__(
        self,
        name: str,
        connect: Connect,
        manifest: Manifest,
        seed: int,
        directory: str,
        lengths: Sequence[int],
    ) -> None:
        super().__init__(name, connect, manifest, seed)
        self._directory = directory
        self._lengths = lengths

    def _round(self, fs: FileSystem, number: int) -> None:
        path = f"{self._directory}/{self.name}-{number:05}"
        note = Note(origin=path, path=path, length=0, is_settled=False)
        self._manifest.note(note)
        length = self._random.choice(self._lengths)
        with fs.create(path) as out:
            out.write(content(path, length))
        note = replace(note, length=length, is_closed=True, is_settled=True)
        self._manifest.acknowledge(note)
        if self._random.randrange(8) == 0:
            self._manifest.note(replace(note, is_settled=False))
            if not fs.delete(path):
                self._manifest.fail(f"{self.name}: {path} was there, and delete says it wasn't")
            self._manifest.acknowledge(replace(note, is_there=False))


class Reader(_Client):
    """Reads files that were acknowledged, and fails where one is less than that."""

    def _round(self, fs: FileSystem, number: int) -> None:
        notes = self._manifest.notes()
        if not notes:
            return
        note = self._random.choice(notes)
        problem = breach(fs, note)
        if problem is not None and self._is_still_so(note):
            self._manifest.fail(f"{self.name}: {problem}")

    def _is_still_so(self, note: Note) -> bool:
        """A note that was replaced meanwhile says nothing of where the file was, or its length."""
        for now in self._manifest.notes():
            if now.origin == note.origin:
                return (now.path, now.is_settled, now.is_there) == (note.path, True, note.is_there)
        return False
