"""Readers that read the same files in every way that there is, and a writer that changes some.

The bytes of a file are those of one long text, from its beginning: whoever reads it at any time, in
any way, gets a piece of that text, however often the file was appended to, cut or made anew
meanwhile. Files that nobody changes have all of theirs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.testing.world.processes import Process
from howdah.testing.world.world import World

_PAUSE_S: Final = 0.3
_LONGEST_BYTES: Final = 300_000
_WRITE_BYTES: Final = 40_000
_MOST_RANGES: Final = 5


@dataclass
class Texts:
    """Says what files have to hold."""

    seed: int
    fixed: dict[str, bytes] = field(default_factory=dict)
    """By path, of files that nobody changes."""
    changing: dict[str, bytes] = field(default_factory=dict)
    """By path, the text of which a file holds the beginning."""
    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each way was gone to its end; and errors, by name."""

    def begin(self, dice: random.Random, fixed: Mapping[str, int], changing: list[str]) -> None:
        """Draw the texts: of files with these lengths, and of those that change."""
        for path, length in fixed.items():
            self.fixed[path] = dice.randbytes(length)
        for path in changing:
            self.changing[path] = dice.randbytes(_LONGEST_BYTES)


def crc32c(data: bytes) -> int:
    """The checksum of all bytes, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _crc_of(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_CRC_TABLE: Final = tuple(map(_crc_of, range(256)))


class Reader:
    """Is a process that reads until `is_over`, some files at the same time in several threads."""

    def __init__(
        self,
        world: World,
        name: str,
        texts: Texts,
        connect: Callable[[Process], Any],
        is_over: Callable[[], bool],
    ) -> None:
        self._world = world
        self._name = name
        self._dice: random.Random = world.dice(name)
        self._texts = texts
        self._connect = connect
        self._is_over = is_over
        self._kept: list[tuple[str, Any]] = []
        """Streams that stay open, and are read again later."""
        self.is_done = False

    def __call__(self, process: Process) -> None:
        self._begin(process)
        while not self._is_over():
            self._one()
            self._sleep(self._dice.random() * _PAUSE_S)
        self.is_done = True
        process.exit(0)

    def check_all(self, process: Process) -> list[str]:
        """Read every file that nobody changes in every way: all of them have to succeed."""
        self._begin(process)
        problems = []
        for path, text in self._texts.fixed.items():
            for name, way in _WAYS.items():
                try:
                    way(self, self._fs.open(path), path, text, len(text))
                except _Wrong as why:
                    problems.append(f"{path} {name}: {why}")
                except (self._errors.HowdahError, OSError, EOFError) as error:
                    problems.append(f"{path} {name}: {type(error).__name__}: {error}")
        self._check_checksums(problems)
        return problems

    def _begin(self, process: Process) -> None:
        self._fs = self._connect(process)
        self._errors = process.modules.load("howdah.errors")
        self._sleep = process.modules.load("time").sleep
        self._range = process.modules.load("howdah.options").FileRange
        self._threading = process.modules.load("threading")

    def _check_checksums(self, problems: list[str]) -> None:
        for path, text in self._texts.fixed.items():
            found = self._fs.get_file_checksum(path, combine_mode="COMPOSITE_CRC")
            if found is None or int.from_bytes(found.bytes, "big") != crc32c(text):
                problems.append(f"{path} has the checksum {found}, not {crc32c(text):#x}")
            half = len(text) // 2
            found = self._fs.get_file_checksum(path, length=half, combine_mode="COMPOSITE_CRC")
            if half and (
                found is None or int.from_bytes(found.bytes, "big") != crc32c(text[:half])
            ):
                problems.append(f"{half} bytes of {path} have the checksum {found}")

    # -- one read

    def _one(self) -> None:
        texts, dice = self._texts, self._dice
        path = dice.choice([*texts.fixed, *texts.changing])
        name = dice.choice(list(_WAYS))
        text = texts.fixed.get(path) or texts.changing.get(path, b"")
        try:
            stream = self._stream(path)
            length = stream.size
            if path in texts.fixed and length != len(text):
                raise _Wrong(f"it has {length} bytes, not {len(text)}")
            _WAYS[name](self, stream, path, text, length)
        except _Wrong as why:
            # What was cut may be gone under who reads it: only bytes that are other ones count.
            texts.problems.append(f"{self._name}, {path} {name}: {why}")
        except (self._errors.HowdahError, OSError, EOFError, ValueError) as error:
            texts.counts[f"{name}: {type(error).__name__}"] += 1
        else:
            texts.counts[name] += 1

    def _stream(self, path: str) -> Any:
        """A stream of the file: a new one, or one that was open for long."""
        kept = [stream for known, stream in self._kept if known == path]
        if kept and self._dice.random() < 0.4:
            return kept[0]
        stream = self._fs.open(path)
        if self._dice.random() < 0.3:
            self._kept.append((path, stream))
            if len(self._kept) > 4:
                self._kept.pop(0)[1].close()
        return stream

    def _compare(self, text: bytes, start: int, found: Any) -> None:
        found = bytes(found)
        if found != text[start : start + len(found)]:
            place = next(
                i
                for i, byte in enumerate(found)
                if text[start + i : start + i + 1] != bytes([byte])
            )
            raise _Wrong(f"{len(found)} bytes from {start} are other ones from {start + place} on")

    def _piece(self, length: int) -> tuple[int, int]:
        start = self._dice.randrange(max(length, 1))
        return start, min(self._dice.randrange(1, 50_000), max(length - start, 1))

    # -- ways to read

    def whole(self, stream: Any, path: str, text: bytes, length: int) -> None:
        stream.seek(0)
        found = stream.read()
        self._compare(text, 0, found)
        if path in self._texts.fixed and len(found) != len(text):
            raise _Wrong(f"{len(found)} bytes were read, not {len(text)}")

    def in_parts(self, stream: Any, path: str, text: bytes, length: int) -> None:
        position = self._dice.randrange(length + 1)
        stream.seek(position)
        while position < length and self._dice.random() < 0.9:
            found = stream.read(self._dice.randrange(1, 30_000))
            self._compare(text, position, found)
            if not found:
                break
            position += len(found)
            if self._dice.random() < 0.3:
                position = self._dice.randrange(length + 1)
                stream.seek(position)
        if self._dice.random() < 0.3:
            stream.unbuffer()

    def anywhere(self, stream: Any, path: str, text: bytes, length: int) -> None:
        for _ in range(4):
            start, count = self._piece(length)
            found = stream.pread(start, count)
            self._compare(text, start, found)
            if path in self._texts.fixed and len(found) != min(count, len(text) - start):
                raise _Wrong(f"{len(found)} bytes from {start} were read, not {count}")

    def into_a_buffer(self, stream: Any, path: str, text: bytes, length: int) -> None:
        start, count = self._piece(length)
        buffer = bytearray(count)
        count = stream.pread_into(start, buffer)
        self._compare(text, start, buffer[:count])

    def without_copying(self, stream: Any, path: str, text: bytes, length: int) -> None:
        start, count = self._piece(length)
        if path in self._texts.fixed:
            self._compare(text, start, stream.pread_view(start, count))

    def ranges(self, stream: Any, path: str, text: bytes, length: int) -> None:
        cuts = sorted(self._dice.randrange(length + 1) for _ in range(2 * _MOST_RANGES))
        wanted = [
            self._range(start, end - start)
            for start, end in zip(cuts[::2], cuts[1::2], strict=True)
            if end > start
        ]
        self._dice.shuffle(wanted)
        for each, future in zip(wanted, stream.read_vectored(wanted), strict=True):
            self._compare(text, each.offset, future.result())

    def from_threads(self, stream: Any, path: str, text: bytes, length: int) -> None:
        failures: list[BaseException] = []

        def read(start: int, count: int) -> None:
            try:
                self._compare(text, start, stream.pread(start, count))
            except Exception as error:  # noqa: BLE001 - raised again below
                failures.append(error)

        threads = [self._threading.Thread(target=read, args=self._piece(length)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def with_advice(self, stream: Any, path: str, text: bytes, length: int) -> None:
        stream.set_readahead(self._dice.choice((None, 0, 8192)))
        stream.set_drop_behind(self._dice.choice((None, True, False)))
        self.in_parts(stream, path, text, length)


class _Wrong(Exception):
    """Says that bytes are not those that they have to be."""


Way = Callable[[Reader, Any, str, bytes, int], None]
_WAYS: Final[Mapping[str, Way]] = {
    "whole": Reader.whole,
    "in parts": Reader.in_parts,
    "anywhere": Reader.anywhere,
    "into a buffer": Reader.into_a_buffer,
    "without copying": Reader.without_copying,
    "ranges": Reader.ranges,
    "from threads": Reader.from_threads,
    "with advice": Reader.with_advice,
}


class Changer:
    """Is a process that appends to files, cuts them and makes them anew, so many times."""

    def __init__(
        self, world: World, texts: Texts, connect: Callable[[Process], Any], changes: int
    ) -> None:
        self._world = world
        self._dice: random.Random = world.dice("changer")
        self._texts = texts
        self._connect = connect
        self._changes = changes
        self.is_done = False

    def __call__(self, process: Process) -> None:
        fs = self._connect(process)
        errors = process.modules.load("howdah.errors")
        sleep = process.modules.load("time").sleep
        for _ in range(self._changes):
            path = self._dice.choice(list(self._texts.changing))
            kind = self._dice.choice(("append", "append", "append", "cut", "anew"))
            try:
                getattr(self, f"_{kind}")(fs, path)
            except (errors.HowdahError, OSError) as error:
                self._texts.counts[f"{kind}: {type(error).__name__}"] += 1
                sleep(self._dice.random() * 3)
                self._recover(fs, path, errors)
            else:
                self._texts.counts[kind] += 1
            sleep(self._dice.random())
        self.is_done = True
        process.exit(0)

    def _recover(self, fs: Any, path: str, errors: Any) -> None:
        try:
            fs.recover_lease(path)
        except (errors.HowdahError, OSError) as error:
            self._texts.counts[f"recover: {type(error).__name__}"] += 1

    def _write(self, stream: Any, path: str) -> None:
        """Go on with the text behind what the file has."""
        text = self._texts.changing[path]
        with stream:
            for _ in range(self._dice.randrange(1, 4)):
                at = stream.get_pos()
                stream.write(text[at : at + self._dice.randrange(1, _WRITE_BYTES)])
                self._dice.choice((stream.hflush, stream.hsync, lambda: None))()

    def _append(self, fs: Any, path: str) -> None:
        if not fs.exists(path):
            self._anew(fs, path)
        else:
            self._write(fs.append(path, new_block=self._dice.random() < 0.2), path)

    def _anew(self, fs: Any, path: str) -> None:
        self._write(fs.create(path, overwrite=True), path)

    def _cut(self, fs: Any, path: str) -> None:
        length = fs.get_file_status(path).length
        fs.truncate(path, self._dice.randrange(length + 1))
