"""Links of several targets (`linkNfly`): a file is written to all, and read from one.

Mirrors org.apache.hadoop.fs.viewfs.NflyFSystem. Rules:

1. A file is written under a temporary name (`_nfly_tmp_NAME.ID`) in every target, and renamed
   in all when it is closed: nobody sees it before. A change counts when `minReplication` of
   the targets have it; those that failed are logged, and lack it. Each writer has a temporary name
   of its own.
2. It is read from the first target that answers: local files, then as the key has them. With
   `readMostRecent` all are asked, and the newest is read.
3. With `repairOnRead` opening a file copies it to the targets that lack it, and together with
   `readMostRecent` to those that have an older one.
4. Who may not overwrite is refused if one target has the file. Of several such writers the first
   target decides, which all of them rename in first: who finds the name there goes on to no other
   target, and takes back what he renamed.
5. Of several writers that overwrite, each target keeps the file of the one that renamed last in it.
   Nothing spans the targets, so two that close at the same moment may leave different files in
   different targets, each of them whole. `repairOnRead` with `readMostRecent` makes them one again,
   if the times differ.

Unlike Hadoop: a target that fails at `create` already is a target that failed, as later; a
file that is there is replaced only if `overwrite` says so; a change that fewer than
`minReplication` targets have made is an error; what is missing is copied only with
`repairOnRead`; `append` and what else it leaves out is refused by name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.paths import PathLike
from howdah.fs.status import BlockLocation, FileChecksum, FileStatus, ServerDefaults
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, Writable
from howdah.fs.viewfs.mount_table import Nfly, join_below
from howdah.options import AbortableResult, CreateFlag, SyncFlag

_TEMPORARY = "_nfly_tmp_"
_MOST_KEPT_BYTES = 200
"""Of a file's name, in its temporary one."""
_COPY_BYTES = 1 << 20
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    """One of the targets: a filesystem, and the directory in it."""

    fs: FileSystem
    top: str

    def path(self, name: str) -> str:
        return join_below(self.top, name)

    def __str__(self) -> str:
        return self.fs.uri + self.top


class NflyFileSystem(FileSystem):
    """Presents the targets of one link as one filesystem. It does not close them."""

    scheme: ClassVar[str] = "nfly"

    def __init__(self, targets: Sequence[Target], rules: Nfly, home: str) -> None:
        self._targets = sorted(targets, key=lambda target: target.fs.scheme != "file")
        self._rules = rules
        self._home = home

    @property
    def uri(self) -> str:
        return "nfly://"

    def home_directory(self) -> str:
        return self._home

    def close(self) -> None:
        """The targets belong to the view."""

    def child_filesystems(self) -> list[FileSystem]:
        return [target.fs for target in self._targets]

    # --- changes ------------------------------------------------------------------------

    def _change(self, operation: str, name: str, do: Callable[[Target], T]) -> list[T]:
        """What each target says to a change; raises if too few have made it."""
        done: list[T] = []
        failed: list[tuple[Target, errors.HowdahError]] = []
        for target in self._targets:
            try:
                done.append(do(target))
            except errors.HowdahError as error:
                failed.append((target, error))
        self.check(operation, name, len(done), failed)
        return done

    def check(
        self,
        operation: str,
        name: str,
        done: int,
        failed: Sequence[tuple[Target, errors.HowdahError]],
    ) -> None:
        """Log what failed; raise if fewer than `minReplication` targets are left."""
        if done >= self._rules.min_replication:
            for target, error in failed:
                _log.warning(
                    "%s of %s failed at %s, and %d targets have it: %s",
                    operation,
                    paths.printable(name),
                    target,
                    done,
                    error,
                )
            return
        if failed and not done and len({type(error) for _, error in failed}) == 1:
            raise failed[0][1]
        raise errors.RemoteError(
            f"Failed to sufficiently replicate {operation} of {name}: "
            f"min={self._rules.min_replication} actual={done}: "
            + "; ".join(f"{target}: {error}" for target, error in failed)
        ).about(name)

    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
        progress: Progress | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> FSDataOutputStream:
        name = self.resolve(path)
        temporary = temporary_of(name)
        opened: list[tuple[Target, FSDataOutputStream]] = []
        taken: list[errors.PathExists] = []

        def make(target: Target) -> None:
            if taken:
                raise taken[0]
            try:
                check(target)
            except errors.PathExists as error:
                taken.append(error)
                raise
            stream = target.fs.create(
                target.path(temporary),
                overwrite=True,
                replication=replication,
                block_size=block_size,
                permission=permission,
                create_parent=create_parent,
                buffer_size=buffer_size,
                progress=progress,
                flags=flags,
            )
            opened.append((target, stream))

        def check(target: Target) -> None:
            there = target.path(name)
            if not overwrite and target.fs.exists(there):
                raise errors.PathExists(f"{name} already exists").about(name)
            if target.fs.is_directory(there):
                raise errors.PathExists(f"{name} already exists as a directory").about(name)

        output = _Output(self, name, temporary, opened, overwrite=overwrite)
        try:
            self._change("create", name, make)
        except errors.HowdahError:
            if not taken:
                output.drop()
                raise
        if taken:
            # The file of one target is the file, even if enough others lack it.
            output.drop()
            raise taken[0]
        return FSDataOutputStream(output)

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        name = self.resolve(path)
        return all(self._change("mkdirs", name, lambda to: to.fs.mkdirs(to.path(name), permission)))

    def _check_free(self, name: str) -> None:
        """Raise `PathExists` if one target has the path, before any of them is changed. One that
        does not answer will fail."""
        for target in self._targets:
            is_there = False
            with contextlib.suppress(errors.HowdahError):
                is_there = target.fs.exists(target.path(name))
            if is_there:
                raise errors.PathExists(f"{name} already exists").about(name)

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        name = self.resolve(path)
        self._check_free(name)
        return all(self._change("mkdir", name, lambda to: to.fs.mkdir(to.path(name), permission)))

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        old, new = self.resolve(src), self.resolve(dst)
        if not overwrite:
            self.get_file_status(old)
            self._check_free(new)
        self._change(
            "rename",
            old,
            lambda to: to.fs.rename(to.path(old), to.path(new), overwrite=overwrite),
        )

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        name = self.resolve(path)
        return any(self._change("delete", name, lambda to: to.fs.delete(to.path(name), recursive)))

    def set_permission(self, path: PathLike, mode: int) -> None:
        name = self.resolve(path)
        self._change("setPermission", name, lambda to: to.fs.set_permission(to.path(name), mode))

    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        name = self.resolve(path)
        self._change("setOwner", name, lambda to: to.fs.set_owner(to.path(name), owner, group))

    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        name = self.resolve(path)
        self._change(
            "setTimes", name, lambda to: to.fs.set_times(to.path(name), mtime_ms, atime_ms)
        )

    # --- looking ------------------------------------------------------------------------

    def _first_answer(self, operation: str, name: str, ask: Callable[[Target], T]) -> T:
        """What the first target says that has an answer."""
        targets = self._targets
        if self._rules.read_most_recent:
            targets = [target for target, status in self._newest_first(name) if status is not None]
        return self._first(operation, name, targets, ask)

    def _first(
        self, operation: str, name: str, targets: Sequence[Target], ask: Callable[[Target], T]
    ) -> T:
        failed: list[tuple[Target, errors.HowdahError]] = []
        for target in targets:
            try:
                return ask(target)
            except errors.HowdahError as error:
                failed.append((target, error))
        raise _none_answers(operation, name, failed)

    def _newest_first(self, name: str) -> list[tuple[Target, FileStatus | None]]:
        """Return the targets that answer, newest first, then those that lack the path (None)."""
        answers: list[tuple[Target, FileStatus | None]] = []
        failed: list[tuple[Target, errors.HowdahError]] = []
        for target in self._targets:
            try:
                answers.append((target, target.fs.get_file_status(target.path(name))))
            except errors.PathNotFound as error:
                failed.append((target, error))
                answers.append((target, None))
            except errors.HowdahError as error:
                failed.append((target, error))
        if all(status is None for _, status in answers):
            raise _none_answers("getFileStatus", name, failed)
        # The sort is stable: of equal ones the nearest is first.
        return sorted(answers, key=lambda pair: -pair[1].modification_time_ms if pair[1] else 1)

    def get_file_status(self, path: PathLike) -> FileStatus:
        name = self.resolve(path)
        status = self._first_answer(
            "getFileStatus", name, lambda to: to.fs.get_file_status(to.path(name))
        )
        return dataclasses.replace(status, path=name)

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        name = self.resolve(path)

        def listing(target: Target) -> list[FileStatus]:
            there = target.path(name)
            return [
                dataclasses.replace(
                    status, path=name if status.path == there else paths.join(name, status.name)
                )
                for status in target.fs.list_status(there)
            ]

        yield from self._first_answer("listStatus", name, listing)

    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        name = self.resolve(path)
        return self._first_answer(
            "getFileBlockLocations",
            name,
            lambda to: to.fs.block_locations(to.path(name), start, length),
        )

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        name = self.resolve(path)
        return self._first_answer(
            "getFileChecksum",
            name,
            lambda to: to.fs.get_file_checksum(
                to.path(name), length=length, combine_mode=combine_mode
            ),
        )

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return self._targets[0].fs.server_defaults(self._targets[0].top)

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        name = self.resolve(path)
        if self._rules.repair_on_read:
            self._repair(name)
        return self._first_answer(
            "open", name, lambda to: to.fs._open_input(to.path(name), buffer_size)
        )

    # --- repair -------------------------------------------------------------------------

    def _repair(self, name: str) -> None:
        """Copy the newest file to where it is missing, or old."""
        (source, newest), *others = self._newest_first(name)
        assert newest is not None
        if not newest.is_file:
            return
        for target, status in others:
            is_old = (
                status is not None
                and status.is_file
                and status.modification_time_ms < newest.modification_time_ms
            )
            if status is None or (is_old and self._rules.read_most_recent):
                try:
                    _copy(source, newest, target, name, overwrite=is_old)
                except errors.HowdahError as error:
                    _log.warning(
                        "%s could not be copied from %s to %s, and is read without: %s",
                        paths.printable(name),
                        source,
                        target,
                        error,
                    )


def temporary_of(name: str) -> str:
    """A name for a file while it is written, which no other writer has. A long name is cut, as
    filesystems have names of 255 bytes."""
    cut = paths.name_of(name).encode("utf-8", "surrogateescape")[:_MOST_KEPT_BYTES]
    own = f"{_TEMPORARY}{cut.decode('utf-8', 'ignore')}.{uuid.uuid4().hex}"
    return paths.join(paths.parent_of(name) or paths.SEPARATOR, own)


def _none_answers(
    operation: str, name: str, failed: Sequence[tuple[Target, errors.HowdahError]]
) -> errors.HowdahError:
    if failed and all(isinstance(error, errors.PathNotFound) for _, error in failed):
        return errors.PathNotFound(f"File does not exist: {name}").about(name)
    failures = "; ".join(f"{target}: {error}" for target, error in failed)
    return errors.RemoteError(f"{operation} of {name}: no target answers: {failures}").about(name)


def _copy(
    source: Target, status: FileStatus, target: Target, name: str, *, overwrite: bool
) -> None:
    temporary = target.path(temporary_of(name))
    try:
        with (
            source.fs.open(source.path(name)) as reading,
            target.fs.create(temporary, permission=status.permission) as writing,
        ):
            while data := reading.read(_COPY_BYTES):
                writing.write(data)
        target.fs.set_times(temporary, status.modification_time_ms, status.access_time_ms)
        target.fs.rename(temporary, target.path(name), overwrite=overwrite)
    except errors.HowdahError:
        with contextlib.suppress(errors.HowdahError):
            target.fs.delete(temporary)
        raise


class _Output:
    """A file that is written to all targets at once."""

    def __init__(
        self,
        fs: NflyFileSystem,
        name: str,
        temporary: str,
        opened: list[tuple[Target, FSDataOutputStream]],
        *,
        overwrite: bool,
    ) -> None:
        self._fs = fs
        self._name = name
        self._temporary = temporary
        self._opened = self._all = opened
        self._overwrite = overwrite
        self._position = 0
        self._closed = False
        self._failure: errors.HowdahError | None = None
        # Two threads at once would leave their bytes in another order in each target.
        self._lock = threading.RLock()

    @property
    def path(self) -> str:
        return self._name

    @property
    def closed(self) -> bool:
        return self._closed

    def _for_each_target(
        self, operation: str, do: Callable[[Target, FSDataOutputStream], object]
    ) -> None:
        """Go on with the targets that can; raises if they are too few."""
        going_on, failed = [], []
        for target, stream in self._opened:
            try:
                do(target, stream)
                going_on.append((target, stream))
            except errors.HowdahError as error:
                failed.append((target, error))
        self._opened = going_on
        self._fs.check(operation, self._name, len(going_on), failed)

    def write(self, data: Writable) -> None:
        with self._lock:
            if self._closed:
                raise errors.ClosedStream(f"{self._name} is closed").about(self._name)
            if self._failure is not None:
                raise self._failure
            try:
                self._for_each_target("write", lambda _, stream: stream.write(data))
            except errors.HowdahError:
                raise
            except BaseException:
                # Some targets may have it, others not.
                self._failure = errors.WriteInterrupted(
                    f"{self._name}: a write was interrupted half-way, nothing of it stays; write "
                    "it again"
                ).about(self._name)
                raise
            self._position += len(data)

    def flush(self) -> None:
        self._for_each_target("flush", lambda _, stream: stream.flush())

    def hflush(self) -> None:
        raise errors.UnsupportedOperation(
            f"hflush: {self._name} has several targets, and is seen when it is closed"
        ).about(self._name)

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        self.hflush()

    def get_pos(self) -> int:
        return self._position

    def has_capability(self, capability: str) -> bool:
        return capability == capabilities.ABORTABLE_STREAM

    def abort(self) -> AbortableResult:
        """Close, and leave nothing behind."""
        with self._lock:
            was_closed = self._closed
            if not was_closed:
                self.drop()
            return AbortableResult(already_closed=was_closed)

    def dropped(self) -> None:
        """Nobody has the stream any more: half of a file is no file. A destructor comes at any
        moment, so what was written is removed on a thread."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(RuntimeError):  # The interpreter ends; only temporaries stay.
            threading.Thread(target=self.drop, daemon=True).start()

    def set_drop_behind(self, drop: bool | None) -> None:
        for _, stream in self._opened:
            stream.set_drop_behind(drop)

    def drop(self) -> None:
        """Leave nothing behind: the file will not be."""
        self._closed = True
        self._opened = []
        self._clean()

    def _clean(self) -> None:
        """Remove what was written for targets that do not have the file now."""
        having = [target for target, _ in self._opened]
        for target, stream in self._all:
            if target not in having:
                with contextlib.suppress(errors.HowdahError):
                    stream.close()
                try:
                    target.fs.delete(target.path(self._temporary))
                except errors.HowdahError as error:
                    _log.warning("%s stays at %s: %s", self._temporary, target, error)

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._failure is not None:
            self.drop()
            raise self._failure
        try:
            self._for_each_target("close", lambda _, stream: stream.close())
        except errors.HowdahError:
            self.drop()
            raise
        try:
            self._commit()
        finally:
            self._clean()
        now_ms = time.time_ns() // 1_000_000
        for target, _ in self._opened:
            # So that none of them seems newer: as far as that can be had.
            with contextlib.suppress(errors.HowdahError):
                target.fs.set_times(target.path(self._name), now_ms, now_ms)

    def _commit(self) -> None:
        """Give the file its name in every target. Raises PathExists where another one has it, and
        may not be overwritten."""
        renamed: list[Target] = []
        taken: list[errors.PathExists] = []

        def rename(to: Target, _: FSDataOutputStream) -> None:
            if taken:
                raise taken[0]
            try:
                to.fs.rename(
                    to.path(self._temporary), to.path(self._name), overwrite=self._overwrite
                )
            except errors.PathExists as error:
                taken.append(error)
                raise
            renamed.append(to)

        try:
            self._for_each_target("commit", rename)
            if not taken:
                return
            refusal: errors.HowdahError = taken[0]
        except errors.HowdahError as error:
            refusal = error
        self._opened = []
        if not self._overwrite:
            # The name was nobody's before: whoever is told that there is no file finds none.
            for target in renamed:
                try:
                    target.fs.delete(target.path(self._name))
                except errors.HowdahError as error:
                    _log.warning("%s stays at %s: %s", self._name, target, error)
        raise refusal
