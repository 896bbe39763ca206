"""What every file must hold, by what its writers were told and the namenode decided.

The namenode's log says who opened a file, and at which length it was closed; each writer
notes what it has written and what `hflush`, `hsync` and `close` have promised it. Writers
are named once and open one file once, so the two together tell what a file's bytes are:
what it had when it was closed last, and behind that a beginning of what its present writer
has written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah.formats.edits import edits


class Violation(AssertionError):
    """A promise was broken."""


@dataclass(slots=True)
class Promised:
    """One writer's side of it. Lengths are of what it has written itself."""

    written: bytearray = field(default_factory=bytearray)
    acked_bytes: int = 0
    flushed_bytes: int = 0
    synced_bytes: int = 0
    closed: bool = False


@dataclass(slots=True)
class Text:
    """A file: what it had when it was closed last, and who writes it, or wrote it last."""

    base: bytes = b""
    writer: str | None = None
    is_open: bool = True
    base_synced_bytes: int = 0
    """So much of `base` is on disks for sure."""


class History:
    """All files, and all writers."""

    def __init__(self) -> None:
        self.promised: dict[str, Promised] = {}
        self.files: dict[str, Text] = {}
        self.kept: dict[str, int] = {}
        """By writer: how much of what it had written its file was closed with."""
        self.openings: list[tuple[str, bytes]] = []
        """Every writer in turn, and what it found in its file."""
        self.lost_to_power: set[str] = set()
        """Files of which a power cut has taken everything that somebody relied on, but for
        what was synced."""

    def writer(self, name: str) -> Promised:
        return self.promised.setdefault(name, Promised())

    def start_over(self) -> None:
        """The log is read again from its beginning: its end may have been lost."""
        self.files.clear()
        self.kept.clear()
        self.openings.clear()

    def text(self, path: str) -> bytes:
        """All that the file may hold."""
        file = self.files[path]
        if not file.is_open or file.writer is None:
            return file.base
        return file.base + bytes(self.writer(file.writer).written)

    def texts_since(self, opening: int) -> list[bytes]:
        """What the file may have held at any time since so many writers had come."""
        return [
            base + bytes(self.writer(writer).written)
            for writer, base in self.openings[max(opening - 1, 0) :]
        ]

    def promised_bytes(self, path: str) -> int:
        """So much of the file everybody must see, and find again after any failure."""
        file = self.files.get(path)
        if file is None:
            return 0
        if not file.is_open or file.writer is None:
            return len(file.base)
        return len(file.base) + self.writer(file.writer).flushed_bytes

    def acked_bytes(self, path: str) -> int:
        """So much of the file a flush may promise without anything being sent again."""
        file = self.files[path]
        if not file.is_open or file.writer is None:
            return len(file.base)
        promised = self.writer(file.writer)
        return len(file.base) + max(promised.acked_bytes, promised.flushed_bytes)

    def synced_bytes(self, path: str) -> int:
        """So much of the file must outlive a power cut of everything."""
        file = self.files.get(path)
        if file is None:
            return 0
        if not file.is_open or file.writer is None or file.base_synced_bytes < len(file.base):
            return file.base_synced_bytes
        return len(file.base) + self.writer(file.writer).synced_bytes

    def follow(self, edit: edits.Edit) -> None:
        """The namenode decided something."""
        match edit:
            case edits.AddOp(path=path, client_name=writer):
                self.files[path] = Text(b"", writer)
                self.openings.append((writer, b""))
            case edits.AppendOp(path=path, client_name=writer):
                file = self.files[path]
                self.openings.append((writer, file.base))
                self.files[path] = Text(file.base, writer, base_synced_bytes=file.base_synced_bytes)
            case edits.CloseOp(path=path, blocks=blocks):
                self._close(path, sum(block.length_bytes for block in blocks))

    def _close(self, path: str, length: int) -> None:
        text, synced = self.text(path), self.synced_bytes(path)
        if length > len(text):
            raise Violation(f"{path} is closed with {length} bytes; {len(text)} were written")
        if length < self.promised_bytes(path) and path not in self.lost_to_power:
            raise Violation(
                f"{path} is closed with {length} bytes, {self.promised_bytes(path)} were promised"
            )
        if length < synced:
            raise Violation(f"{path} is closed with {length} bytes, {synced} were synced")
        file = self.files[path]
        assert file.writer is not None, "a file that is closed was opened"
        self.kept[file.writer] = length - len(file.base)
        self.files[path] = Text(text[:length], file.writer, False, synced)

    def check_promises(self) -> None:
        """Nobody is promised what the file, closed behind his back, does not have."""
        for writer, kept_bytes in self.kept.items():
            promised = self.writer(writer)
            if promised.flushed_bytes > kept_bytes and not self.lost_to_power:
                raise Violation(
                    f"{writer} was promised {promised.flushed_bytes} bytes, {kept_bytes} are kept"
                )
            if promised.closed and kept_bytes != len(promised.written) and not self.lost_to_power:
                raise Violation(
                    f"{writer} has closed its file with {len(promised.written)} bytes, "
                    f"{kept_bytes} are kept"
                )
