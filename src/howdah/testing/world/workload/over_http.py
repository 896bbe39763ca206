"""Clients of WebHDFS: they write files as a whole, as HTTP has it, and do all else as others do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from howdah.model.entries import Refused
from howdah.testing.world.workload.clients import Client, Unanswered, Wrong
from howdah.testing.world.workload.operations import Step
from howdah.testing.world.workload.trees import Tree

_LONGEST_BYTES: Final = 200_000


class HttpClient(Client):
    """Does so many operations over HTTP."""

    leaves_out = frozenset({"write", "hflush", "hsync", "close", "take_over"})

    def _do_create(self) -> None:
        step = self._drawing.create(self._tree, self._is_open)
        if step is not None:
            self._write_whole("create", step, step.change)

    def _do_append(self) -> None:
        self._drawing.new_block_chance = 0.0  # HTTP has no word for it.
        step = self._drawing.append(self._tree)
        if step is not None:
            self._write_whole("append", step, step.change)

    def _write_whole(self, kind: str, step: Step, begin: Callable[[Tree], Any]) -> None:
        """Open, write and close. Without an answer the file may have any part of the bytes."""
        data = self._dice.randbytes(self._dice.choice((0, 1, 511, 70_000, _LONGEST_BYTES)))

        def write(after: Tree) -> None:
            begin(after)
            after.wrote(after.entry(step.path).number, data)

        def write_and_close(after: Tree) -> None:
            write(after)
            after.close(after.entry(step.path).number)

        def act() -> None:
            stream = step.act()
            try:
                stream.write(data)
            except BaseException:
                self._dead.append(stream)
                raise
            stream.close()

        before = self._tree
        try:
            self._perform(kind, Step(f"{step}, {len(data)} bytes", write_and_close, act, step.path))
        except Unanswered:
            partly = before.copy()
            with suppress(Refused):
                write(partly)
                self._workspace.candidates.append(partly)
            raise

    def _do_read(self) -> None:
        closed = self._tree.closed_files()
        if not closed:
            return
        path = self._dice.choice(closed)
        expected = self._tree.content(path).promised
        if self._dice.random() < 0.5:
            self._read_and_compare(path, expected)
            return
        start = self._dice.randrange(len(expected) + 1)
        try:
            with self._fs.open(path) as stream:
                found = stream.pread(start, len(expected))
        except (self._errors.HowdahError, OSError) as error:
            self._expectations.errors[f"read: {type(error).__name__}"] += 1
            return
        if found != expected[start:]:
            raise Wrong(f"{path} has other bytes from {start} on")
        self._expectations.counts["read"] += 1

    def _do_list(self) -> None:
        if self._dice.random() < 0.5:
            super()._do_list()
            return
        path = self._dice.choice(self._tree.directories())
        try:
            summary = self._fs.content_summary(path)
            attributes = self._fs.get_xattrs(path)
        except (self._errors.HowdahError, OSError) as error:
            self._expectations.errors[f"summary: {type(error).__name__}"] += 1
            return
        entry = self._tree.entry(path)
        if dict(attributes) != dict(entry.xattrs):
            raise Wrong(f"{path} has the attributes {attributes}, not {entry.xattrs}")
        there = [each for each in self._tree.paths if each == path or each.startswith(f"{path}/")]
        directories = sum(self._tree.entry(each).is_directory for each in there)
        if not self._tree.snapshots() and (summary.directory_count, summary.file_count) != (
            directories,
            len(there) - directories,
        ):
            raise Wrong(f"{path} has {summary}, and the model {len(there)} paths")
        self._expectations.counts["summary"] += 1
