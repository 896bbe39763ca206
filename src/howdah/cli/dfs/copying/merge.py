"""`-getmerge` and `-appendToFile`: many files into one."""

from __future__ import annotations

from typing import IO

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.copying.progress import Progress
from howdah.cli.dfs.shell.command import Command
from howdah.cli.dfs.shell.error_text import CommandProblem, PathProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.fs.streams import FSDataOutputStream, whole_or_none

PIECE_BYTES = 4 << 20
STANDARD_INPUT = "-"


def pump(stream: IO[bytes], out: FSDataOutputStream) -> None:
    """Copy all that is left of a stream."""
    piece = memoryview(bytearray(PIECE_BYTES))
    with Progress.on_terminal().of(out.name, None) as meter:
        while count := stream.readinto(piece):  # type: ignore[attr-defined]
            out.write(piece[:count])
            meter.advance(count)


def _check_names_file(target: Item) -> None:
    """Raises PathProblem for a name that can only be a directory's, and none is there."""
    if target.means_directory and not target.exists:
        raise PathProblem.missing(target.name, target.full_path)


class GetMerge(Command):
    """Files, and the files right in directories, one behind the other into a local file."""

    FLAGS = ("nl", "skip-empty-file")
    LEAST = 2

    def prepare(self, parsed: Parsed) -> list[str]:
        self._newline = "nl" in parsed
        self._skip_empty = "skip-empty-file" in parsed
        self._sources: list[Item] = []
        arguments = list(parsed.arguments)
        self._target = self.shell.files.item(arguments.pop(), local=True)
        if self._target.is_directory:
            raise PathProblem.is_directory(self._target.name)
        _check_names_file(self._target)
        return arguments

    def process_items(self, items: list[Item]) -> None:
        super().process_items(items)
        if self.failures:
            return
        for source in self._sources:
            # To create the target would empty it before it is read.
            if source.is_same_file(self._target):
                raise PathProblem(source.name, "are the same file", target=self._target.name)
        with whole_or_none(self._target.fs.create(self._target.path, overwrite=True)) as out:
            for source in self._sources:
                self._append(source, out)

    def process_path(self, item: Item) -> None:
        if item.is_directory:
            self._sources += [child for child in item.children() if not child.is_directory]
        else:
            self._sources.append(item)

    def _append(self, source: Item, out: FSDataOutputStream) -> None:
        if self._skip_empty and source.require_status().length == 0:
            return
        with source.fs.open(source.path, PIECE_BYTES) as stream:
            pump(stream, out)
        if self._newline:
            out.write(b"\n")


class AppendToFile(Command):
    """Local files, or standard input, behind what a file has; it is made if need be."""

    FLAGS = ("n",)

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = list(parsed.arguments)
        if len(arguments) < 2:
            raise CommandProblem("missing destination argument")
        self._in_new_block = "n" in parsed
        self._target = self.shell.files.target(arguments.pop())
        if STANDARD_INPUT in arguments and len(arguments) > 1:
            raise CommandProblem("stdin (-) must be the sole input argument when present")
        return arguments

    def process_arguments(self, arguments: list[str]) -> None:
        if self._target.is_directory:
            raise PathProblem.is_directory(self._target.name)
        _check_names_file(self._target)
        if arguments == [STANDARD_INPUT]:
            self._append([self.shell.read_input()])
            return
        # All must be there before a byte is written: half an append can't be taken back.
        streams: list[IO[bytes]] = []
        try:
            for argument in arguments:
                streams.append(self._open(argument))
            self._append(streams)
        finally:
            for stream in streams:
                stream.close()

    def _open(self, argument: str) -> IO[bytes]:
        item = self.shell.files.item(argument, local=True)
        if item.is_directory:
            raise PathProblem.is_directory(item.name)
        item.require_status()
        return item.fs.open(item.path, PIECE_BYTES)

    def _append(self, streams: list[IO[bytes]]) -> None:
        fs, path = self._target.fs, self._target.path
        out = (
            fs.append(path, new_block=self._in_new_block)
            if self._target.exists
            else fs.create(path)
        )
        with whole_or_none(out):
            for stream in streams:
                pump(stream, out)
