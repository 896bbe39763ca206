"""`-cat`, `-text`, `-head`, `-tail` and `-checksum`: what is in a file.

`-ignoreCrc` is accepted; what is read is verified all the same, since a block
whose checksum is wrong is fetched from another replica.
"""

from __future__ import annotations

from collections.abc import Iterator

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.commands import codecs
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import PathProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs import tail

PIECE_BYTES = 1 << 20
END_BYTES = 1024
FOLLOW_INTERVAL_MS = 5000
NO_CHECKSUM = "NONE"
MD5_OF_MD5 = "MD5-of-"
MD5_OF_MD5_BYTES = 4 + 8 + 16
"""Bytes per sum, sums per block, the MD5: the API's checksum has zeros behind them,
which Hadoop's API gives out and its shell doesn't print."""


class Cat(Command):
    FLAGS = ("ignoreCrc",)

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        for piece in self.pieces(item):
            self.out.write(piece)
        self.out.flush()

    def pieces(self, item: Item) -> Iterator[bytes | memoryview]:
        """What to print of a file."""
        piece = memoryview(bytearray(PIECE_BYTES))
        with item.fs.open(item.path, PIECE_BYTES) as stream:
            while count := stream.readinto(piece):
                yield piece[:count]


class Text(Cat):
    def pieces(self, item: Item) -> Iterator[bytes | memoryview]:
        with item.fs.open(item.path, PIECE_BYTES) as stream:
            yield from codecs.decoded(stream, item.name)


class Head(Command):
    MOST = 1

    def expand(self, argument: str) -> list[Item]:
        return [self.shell.files.item(argument)]

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        with item.fs.open(item.path) as stream:
            self.out.write(stream.read(END_BYTES))


class Tail(Command):
    FLAGS = ("f",)
    VALUED = ("s",)
    MOST = 1

    def prepare(self, parsed: Parsed) -> list[str]:
        self._follow = "f" in parsed
        interval_ms = parsed.number("s", FOLLOW_INTERVAL_MS)
        # As Hadoop has it: what is no interval is no complaint either.
        self._interval_s = (interval_ms if interval_ms > 0 else FOLLOW_INTERVAL_MS) / 1000
        return list(parsed.arguments)

    def expand(self, argument: str) -> list[Item]:
        return [self.shell.files.item(argument)]

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        for piece in self._pieces(item):
            self.out.write(piece)
            self.out.flush()

    def _pieces(self, item: Item) -> Iterator[bytes]:
        def changed(change: tail.Change) -> None:
            self.shell.complain(f"tail: `{item.name}': {change.value}")

        if self._follow:
            return tail.follow(
                item.fs, item.path, -END_BYTES, poll_s=self._interval_s, changed=changed
            )
        return tail.TailReader(item.fs, item.path, -END_BYTES).read_new()


class Checksum(Command):
    FLAGS = ("v",)

    def prepare(self, parsed: Parsed) -> list[str]:
        self._verbose = "v" in parsed
        return list(parsed.arguments)

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        status = item.require_status()
        checksum = item.fs.get_file_checksum(item.path)
        algorithm = NO_CHECKSUM if checksum is None else checksum.algorithm
        value = "" if checksum is None else checksum.hex()
        if algorithm.startswith(MD5_OF_MD5):
            value = value[: 2 * MD5_OF_MD5_BYTES]
        if self.shell.json:
            self.records.append(
                {
                    "path": item.name,
                    "algorithm": algorithm,
                    "checksum": value or None,
                    "block_size": status.block_size,
                }
            )
            return
        line = f"{item.name}\t{algorithm}" + (f"\t{value}" if value else "")
        self.out.line(f"{line}\tBlockSize={status.block_size}" if self._verbose else line)
