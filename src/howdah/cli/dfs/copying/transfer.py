"""How files are copied: put, get and cp are three sets of options over this.

1. A file goes to `NAME._COPYING_` first and gets its name when it is complete,
   so no reader sees half a file under its name (`-d` writes to the name directly).
2. It is complete when `close` has succeeded; a close that fails is a copy that
   failed (OS-061), and what was written is removed. A stream that can be aborted is:
   nothing of it was seen, and with `-f -d` the old file is still there.
3. Bytes go in pieces of a mebibyte or more, with no flush in between (OS-092).
4. Attributes are set when the content is there (`-p`): times, owner, mode, in this order,
   so that times stay where the user may not keep the owner, or the mode lets nobody write;
   of directories when everything below is done. Cipher text below `/.reserved/raw` has its key
   before it has its name.
5. Where both are places of one server that copies files itself, as object stores do, it does,
   and needs no temporary name. Where one would expect that and it does not, the reason is told
   once, and the bytes come by here.
6. `-t N` copies N files at a time; `-q` is how many may wait in line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import IO, ClassVar

from howdah.cli.arguments.command_format import Parsed
from howdah.cli.dfs.copying.destination import DestinationCommand
from howdah.cli.dfs.copying.progress import Progress
from howdah.cli.dfs.shell.error_text import PathProblem
from howdah.cli.dfs.shell.path_args import Item
from howdah.cli.signals import whole_step
from howdah.errors import HowdahError, NotCopiedByServer
from howdah.fs.api import FileSystem
from howdah.fs.capabilities import ABORTABLE_STREAM
from howdah.fs.local.status import special_kind
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataOutputStream, give_up
from howdah.fs.transfers import PIECE_BYTES, TEMPORARY_SUFFIX
from howdah.options import CopyCheck, CreateFlag
from howdah.protocol.raw_paths import RESERVED_RAW, ZONE_ATTRIBUTE, is_raw

DEFAULT_THREADS = 1
DEFAULT_WAITING = 1024

TIMES, OWNER, MODE, ACL, XATTRS = "t", "o", "p", "a", "x"
_RAW = "raw."
_EITHER_ALL_OR_NONE = f"Either both source and target must be in '{RESERVED_RAW}' or neither."
PRESERVE_ALL = frozenset((TIMES, OWNER, MODE))


class CopyCommand(DestinationCommand):
    """A command that copies files and trees."""

    VALUED: ClassVar[tuple[str, ...]] = ("t", "q")

    preserved: frozenset[str] = frozenset()
    direct = False
    replication: int | None = None
    flags: CreateFlag = CreateFlag.NONE

    def prepare(self, parsed: Parsed) -> list[str]:
        self.overwrite = "f" in parsed
        self.direct = "d" in parsed
        if "p" in parsed:
            self.preserved = PRESERVE_ALL
        self._threads = max(parsed.number("t", DEFAULT_THREADS), 1)
        self._waiting = max(parsed.number("q", DEFAULT_WAITING), 1)
        self._directories: list[tuple[Item, Item]] = []
        self._progress = Progress.on_terminal()
        self._stopped = False
        self._said: dict[str, str] = {}
        return list(parsed.arguments)

    def process_items(self, items: list[Item]) -> None:
        if self._threads == 1:
            self._schedule: Callable[[Item, Item], None] = self.copy_file
            super().process_items(items)
        else:
            self._process_in_parallel(items)
        for source, target in reversed(self._directories):
            self.attempt(lambda pair: self.finish_directory(*pair), (source, target))

    def _process_in_parallel(self, items: list[Item]) -> None:
        places = threading.BoundedSemaphore(self._threads + self._waiting)

        def run(pair: tuple[Item, Item]) -> None:
            try:
                self.attempt(lambda both: self.copy_file(*both), pair)
            finally:
                places.release()

        def schedule(source: Item, target: Item) -> None:
            places.acquire()
            futures.append(pool.submit(run, (source, target)))

        futures: list[Future[None]] = []
        self._schedule = schedule
        with ThreadPoolExecutor(self._threads, thread_name_prefix="copy") as pool:
            try:
                super().process_items(items)
                for future in futures:
                    future.result()
            except BaseException:
                # Someone pressed Ctrl-C, say: copies that run stop at their next piece.
                self._stopped = True
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    @property
    def changes_first(self) -> bool:
        """Whether a file that is copied onto itself would be lost: the target is emptied before
        the source is read, or the source is deleted afterwards."""
        return self.direct

    # --- trees ----------------------------------------------------------------

    def transfer(self, item: Item, target: Item) -> None:
        if not item.is_directory:
            self._schedule(item, target)
            return
        are_raw(item, target)
        fresh = self._make_directory(target)
        self._directories.append((item, target))
        for child in item.children():
            self.attempt(lambda entry: self._carry_child(entry, target, fresh), child)

    def _make_directory(self, target: Item) -> bool:
        """See to it that the directory is there; whether it is new."""
        if target.is_directory:
            return False
        if target.exists:
            raise PathProblem.is_not_directory(target.name)
        target.fs.mkdirs(target.path)
        target.refresh()
        return True

    def _carry_child(self, child: Item, parent: Item, fresh: bool) -> None:
        """An entry of a directory; in one just made nothing needs looking up.

        A pipe that is named itself is read, as the shell's `<(command)` is one; whoever names a
        directory does not expect to wait for what writes to a pipe in it.
        """
        if child.fs.scheme == "file" and (kind := special_kind(child.path)):
            raise PathProblem(child.name, f"is {kind}, which is not copied with a tree")
        target = parent.child(child.base_name)
        if not fresh:
            target.refresh()
        self.transfer(child, target)

    def finish_directory(self, source: Item, target: Item) -> None:
        """What is left to do when everything in a directory was copied."""
        self.preserve(source, target)

    # --- files ----------------------------------------------------------------

    def copy_file(self, source: Item, target: Item) -> None:
        """Copy one file, under its final name at the end."""
        status = source.require_status()
        keeps_raw = are_raw(source, target)
        if self.changes_first and source.is_same_file(target):
            raise PathProblem(source.name, "are the same file", target=target.name)
        if keeps_raw:
            now = source.fs.get_file_status(source.path)
            with source.fs.open(source.path, PIECE_BYTES) as stream:
                self.copy_stream(stream, target, now.length, partial(_give_key, source, now))
        elif not self._is_copied_by_server(source, target):
            with source.fs.open(source.path, PIECE_BYTES) as stream:
                self.copy_stream(stream, target, status.length)
        self.preserve(source, target)

    def _is_copied_by_server(self, source: Item, target: Item) -> bool:
        here, name = source.fs.resolve_path(source.path)
        there, path = target.fs.resolve_path(target.path)
        offer = there.server_copies(here)
        if not offer.are_offered:
            if offer.why_not:
                self._say_once(here.uri, f"{there.uri} does not copy {here.uri}: {offer.why_not}")
            return False
        self._check_target(target)
        try:
            there.copy_from(here, name, path, overwrite=self.overwrite, check=CopyCheck.NOTHING)
        except NotCopiedByServer as error:
            self._say_once("", f"{there.uri} does not copy {here.uri}{name}: {error}")
            return False
        return True

    def _say_once(self, about: str, why: str) -> None:
        if self._said.setdefault(about, why) is why:
            self.shell.complain(f"{self.name}: {why}; the bytes come by way of this machine")

    def _check_target(self, target: Item) -> None:
        if target.is_directory:
            raise PathProblem.is_directory(target.name)
        if target.exists and not self.overwrite:
            raise PathProblem.exists(target.name)

    def copy_stream(
        self,
        stream: IO[bytes],
        target: Item,
        length: int | None,
        before_name: Callable[[FileSystem, str], None] | None = None,
    ) -> None:
        """Copy what a stream has to a new file; nothing stays behind if that fails. `before_name`
        does something to the file before it has its name, unless it has that from the start."""
        self._check_target(target)
        path = target.path if self.direct else target.path + TEMPORARY_SUFFIX
        out: FSDataOutputStream | None = None
        try:
            with whole_step():
                out = target.fs.create(
                    path,
                    overwrite=self.overwrite or not self.direct,
                    replication=self.replication,
                    flags=self.flags,
                )
            self._pump(stream, out, target.name, length)
            out.close()
            if before_name is not None:
                before_name(target.fs, path)
            if not self.direct:
                target.fs.rename(path, target.path, overwrite=self.overwrite)
        except BaseException as error:
            if out is not None:
                self._discard(target, path, out, error)
            raise

    def _discard(
        self, target: Item, path: str, out: FSDataOutputStream, cause: BaseException
    ) -> None:
        """Remove what a failed copy has written; if that fails too, say so with the cause."""
        is_abortable = out.has_capability(ABORTABLE_STREAM)
        give_up(out, cause)
        if is_abortable and self.direct:
            return  # what is there is the old file
        try:
            target.fs.delete(path)
        except (HowdahError, OSError) as error:
            cause.add_note(f"removing {path} failed as well: {error}")

    def _pump(
        self, stream: IO[bytes], out: FSDataOutputStream, name: str, length: int | None
    ) -> None:
        piece = memoryview(bytearray(_piece_bytes(length)))
        with self._progress.of(name, length) as meter:
            while count := stream.readinto(piece):  # type: ignore[attr-defined]
                if self._stopped:
                    raise PathProblem(name, "the copy was stopped")
                out.write(piece[:count])
                meter.advance(count)

    def preserve(self, source: Item, target: Item) -> None:
        """Give the target the attributes of the source that -p asks for. A file has its key by
        now."""
        keeps_raw = are_raw(source, target) and source.is_directory
        if not self.preserved and not keeps_raw:
            return
        status = source.require_status()
        # Owner, mode and ACL come last: they may forbid the rest.
        if XATTRS in self.preserved or keeps_raw:
            for name, value in source.fs.get_xattrs(source.path).items():
                if keeps_raw if name.startswith(_RAW) else XATTRS in self.preserved:
                    if name == ZONE_ATTRIBUTE:
                        from howdah.protocol.encryption_zones.messages import zone_attribute_of_copy

                        there = target.fs.get_xattrs(target.path).get(name)
                        value = zone_attribute_of_copy(value, there)
                    target.fs.set_xattr(target.path, name, value)
        if TIMES in self.preserved:
            target.fs.set_times(target.path, status.modification_time_ms, status.access_time_ms)
        if OWNER in self.preserved:
            target.fs.set_owner(target.path, status.owner, status.group)
        if MODE in self.preserved:
            target.fs.set_permission(target.path, status.permission)
        if ACL in self.preserved and status.has_acl:
            acl = source.fs.get_acl_status(source.path)
            target.fs.set_acl(target.path, acl.all_entries())


def _give_key(source: Item, read: FileStatus, fs: FileSystem, path: str) -> None:
    """Give cipher text its key, which has to be of the file that was `read`: without a key, or with
    that of another file, it is noise to whoever reads it, and looks like any file."""
    for name, value in source.fs.get_xattrs(source.path).items():
        if name.startswith(_RAW):
            fs.set_xattr(path, name, value)
    now = source.fs.get_file_status(source.path)
    was = (read.file_id, read.length, read.modification_time_ms)
    if (now.file_id, now.length, now.modification_time_ms) != was:
        raise PathProblem(source.name, "was changed while it was copied, and its key with it")


def _piece_bytes(length: int | None) -> int:
    """A small file needs no large buffer; one byte more shows that it has ended."""
    return PIECE_BYTES if length is None else min(PIECE_BYTES, max(length + 1, 4096))


def are_raw(source: Item, target: Item) -> bool:
    """Whether cipher text is copied as it is, below `/.reserved/raw`, with the attributes that
    belong to it. Raises PathProblem where only one of both paths is there."""
    from_raw, to_raw = is_raw(source.path), is_raw(target.path)
    if from_raw != to_raw:
        places = [f"'{RESERVED_RAW}'", f"non '{RESERVED_RAW}'"]
        if to_raw:
            places.reverse()
        named = target.name if to_raw else source.fs.uri + source.path
        raise PathProblem(
            f"'{named}' copy from {places[0]} to {places[1]}. {_EITHER_ALL_OR_NONE}",
            "Operation not supported",
        )
    return from_raw
