"""A filesystem whose operations are awaited."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, overload

from howdah import errors
from howdah.aio.streams import AsyncInputStream, AsyncOutputStream
from howdah.aio.threads import Opening, Threads
from howdah.fs.api import FileSystem
from howdah.fs.batch_reading import all_at_once, read_files
from howdah.fs.paths import PathLike
from howdah.fs.pythonic import ReadMode, WriteMode
from howdah.fs.registry import connect as connect_blocking
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.wrong_names import FILESYSTEM, WrongName

CALL_THREADS: Final = 8
DATA_THREADS: Final = 16
_PAGE: Final = 1000

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[FileSystem, P], T],
) -> Callable[Concatenate[AsyncFileSystem, P], Coroutine[Any, Any, T]]:
    """The same operation, made on a thread for calls."""
    return _on_threads(method, lambda fs: fs._calls)


def _awaited_data(
    method: Callable[Concatenate[FileSystem, P], T],
) -> Callable[Concatenate[AsyncFileSystem, P], Coroutine[Any, Any, T]]:
    """The same operation, which reads or writes a file, made on a thread for data."""
    return _on_threads(method, lambda fs: fs._data)


def _on_threads(
    method: Callable[Concatenate[FileSystem, P], T],
    threads: Callable[[AsyncFileSystem], Threads],
) -> Callable[Concatenate[AsyncFileSystem, P], Coroutine[Any, Any, T]]:
    name = method.__name__

    @functools.wraps(method)
    async def call(self: AsyncFileSystem, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def task() -> T:
            # By its name: filesystems have their own.
            result: T = getattr(self._connected(), name)(*args, **kwargs)
            return result

        return await threads(self).run(task)

    return call


def _opened(
    method: Callable[Concatenate[FileSystem, P], FSDataOutputStream],
) -> Callable[Concatenate[AsyncFileSystem, P], Opening[AsyncOutputStream]]:
    name = method.__name__

    @functools.wraps(method)
    def call(
        self: AsyncFileSystem, /, *args: P.args, **kwargs: P.kwargs
    ) -> Opening[AsyncOutputStream]:
        return self._output(lambda: getattr(self._connected(), name)(*args, **kwargs))

    return call


class AsyncFileSystem:
    """A filesystem of howdah for asyncio; made by `connect`, or around one that is there.

    It has the operations of `howdah.FileSystem` under their names, with their arguments and errors.
    Calls have threads of their own, and so have reads and writes: what waits for a datanode that
    does not answer keeps no listing waiting. Thread-safe, but a stream belongs to one loop.

    What is cancelled returns at once. If it stood in line for a thread, it never happens; if it had
    begun, the servers may carry it out.
    """

    def __init__(
        self,
        filesystem: FileSystem | Callable[[], FileSystem],
        *,
        call_threads: int = CALL_THREADS,
        data_threads: int = DATA_THREADS,
    ) -> None:
        """`filesystem` is one, or connects when the first operation needs it. It is closed with
        this one."""
        self._filesystem: FileSystem | None = None
        if isinstance(filesystem, FileSystem):
            self._filesystem = filesystem
        else:
            self._connect = filesystem
        self._connecting = threading.Lock()
        self._is_closed = False
        self._calls = Threads(call_threads, "howdah-aio-call")
        self._data = Threads(data_threads, "howdah-aio-data")

    def _connected(self) -> FileSystem:
        """On a thread. Raises what connecting raises."""
        with self._connecting:
            if self._is_closed:
                raise errors.ClosedStream("the filesystem is closed")
            if self._filesystem is None:
                self._filesystem = self._connect()
            return self._filesystem

    async def __aenter__(self) -> Self:
        await self._calls.run(self._connected)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of connections; files still open for writing are closed. If this is cancelled, it
        happens all the same."""

        def close() -> None:
            with self._connecting:
                self._is_closed = True
                filesystem, self._filesystem = self._filesystem, None
            if filesystem is not None:
                filesystem.close()

        await self._calls.run_to_its_end(self._calls.start(close))

    # --- files ----------------------------------------------------------------------

    @overload
    def open(
        self, path: PathLike, mode: ReadMode = "rb", buffer_size: int | None = None
    ) -> Opening[AsyncInputStream]: ...
    @overload
    def open(
        self, path: PathLike, mode: WriteMode, buffer_size: int | None = None
    ) -> Opening[AsyncOutputStream]: ...
    @overload
    def open(self, path: PathLike, mode: str, buffer_size: int | None = None) -> Opening[Any]: ...
    def open(
        self, path: PathLike, mode: str = "rb", buffer_size: int | None = None
    ) -> Opening[AsyncInputStream] | Opening[AsyncOutputStream]:
        """Open a file of bytes as `howdah.FileSystem.open` does, by `async with` or `await`.

        Raises `UnsupportedOperation` for a mode of text: there are `read_text`, `write_text` and
        `AsyncInputStream.lines`.
        """
        if "b" not in mode:
            raise errors.UnsupportedOperation(
                f"mode {mode!r} is text: streams that are awaited are of bytes"
            )
        if "r" in mode:
            return self._input(lambda: self._connected().open(path, mode, buffer_size))
        return self._output(lambda: self._connected().open(path, mode, buffer_size))

    create = _opened(FileSystem.create)
    append = _opened(FileSystem.append)

    def _input(self, open_file: Callable[[], FSDataInputStream]) -> Opening[AsyncInputStream]:
        async def opened() -> AsyncInputStream:
            stream = await self._data.run(open_file, abandoned=_close_later)
            return AsyncInputStream(stream, self._data, self._calls)

        return Opening(opened, AsyncInputStream.close)

    def _output(self, open_file: Callable[[], FSDataOutputStream]) -> Opening[AsyncOutputStream]:
        async def opened() -> AsyncOutputStream:
            stream = await self._data.run(open_file, abandoned=_close_later)
            return AsyncOutputStream(stream, self._data, self._calls)

        return Opening(opened, AsyncOutputStream.close)

    read_bytes = _awaited_data(FileSystem.read_bytes)
    write_bytes = _awaited_data(FileSystem.write_bytes)
    read_text = _awaited_data(FileSystem.read_text)
    write_text = _awaited_data(FileSystem.write_text)

    put = _awaited_data(FileSystem.put)
    get = _awaited_data(FileSystem.get)
    copy = _awaited_data(FileSystem.copy)
    move = _awaited_data(FileSystem.move)

    async def read_many(
        self, wanted: Sequence[tuple[PathLike, int, int]], *, return_errors: bool = False
    ) -> list[bytes | Exception]:
        """Read ranges (path, offset, length) of many files in one planned call, in their order:
        quicker than as many reads. A range that goes beyond the end of its file is cut off there.

        Raises the first error that is met; with `return_errors` it has the place of its range.
        """
        for _, offset, length in wanted:
            if offset < 0 or length < 0:
                raise ValueError(f"a range of {length} bytes from {offset}")

        def read() -> list[bytes | Exception]:
            fs = self._connected()
            return read_files(
                fs.open,
                [(fs.resolve(path), slice(at, at + size)) for path, at, size in wanted],
                stops_at_error=not return_errors,
            )

        return await self._data.run(read)

    # --- namespace ------------------------------------------------------------------

    get_file_status = _awaited(FileSystem.get_file_status)
    get_file_link_status = _awaited(FileSystem.get_file_link_status)
    exists = _awaited(FileSystem.exists)
    is_file = _awaited(FileSystem.is_file)
    is_directory = _awaited(FileSystem.is_directory)
    list_status = _awaited(FileSystem.list_status)
    glob_status = _awaited(FileSystem.glob_status)
    ls = _awaited(FileSystem.ls)
    glob = _awaited(FileSystem.glob)
    stat = _awaited(FileSystem.stat)
    isdir = _awaited(FileSystem.isdir)
    isfile = _awaited(FileSystem.isfile)
    touch = _awaited(FileSystem.touch)
    chmod = _awaited(FileSystem.chmod)
    chown = _awaited(FileSystem.chown)
    mkdirs = _awaited(FileSystem.mkdirs)
    mkdir = _awaited(FileSystem.mkdir)
    rename = _awaited(FileSystem.rename)
    rename_to_trash = _awaited(FileSystem.rename_to_trash)
    delete = _awaited(FileSystem.delete)
    rm = _awaited(FileSystem.rm)
    truncate = _awaited(FileSystem.truncate)
    concat = _awaited(FileSystem.concat)
    recover_lease = _awaited(FileSystem.recover_lease)
    is_file_closed = _awaited(FileSystem.is_file_closed)
    create_symlink = _awaited(FileSystem.create_symlink)
    get_link_target = _awaited(FileSystem.get_link_target)
    home_directory = _awaited(FileSystem.home_directory)

    async def get_file_statuses(self, paths: Iterable[PathLike]) -> list[FileStatus | None]:
        """Ask for many at once, in their order: None for a path where nothing is. Quicker than as
        many calls."""
        wanted = list(paths)

        def statuses() -> list[FileStatus | None]:
            fs = self._connected()

            def status_of(path: str) -> FileStatus | None:
                try:
                    return fs.get_file_status(path)
                except (errors.PathNotFound, errors.ParentNotDirectory):
                    return None

            return all_at_once(status_of, [fs.resolve(path) for path in wanted])

        return await self._calls.run(statuses)

    async def list_status_iter(self, path: PathLike) -> AsyncIterator[FileStatus]:
        """The entries of a directory by name, or the one of a file; fetched page by page."""
        entries = await self._calls.run(lambda: self._connected().list_status_iter(path))
        while page := await self._calls.run(lambda: list(itertools.islice(entries, _PAGE))):
            for status in page:
                yield status

    async def walk(
        self, path: PathLike, on_error: Callable[[errors.HowdahError], object] | None = None
    ) -> AsyncIterator[tuple[str, list[FileStatus], list[FileStatus]]]:
        """As `os.walk`, top down: (path, directories, files). Prune by editing the list.

        What cannot be listed is told to `on_error`, on a thread, and left out, else it is raised.
        """
        steps: Iterator[tuple[str, list[FileStatus], list[FileStatus]]]
        steps = await self._calls.run(lambda: self._connected().walk(path, on_error))
        while (step := await self._calls.run(lambda: next(steps, None))) is not None:
            yield step

    content_summary = _awaited(FileSystem.content_summary)
    quota_usage = _awaited(FileSystem.quota_usage)
    set_quota = _awaited(FileSystem.set_quota)
    du = _awaited(FileSystem.du)
    get_status = _awaited(FileSystem.get_status)
    server_defaults = _awaited(FileSystem.server_defaults)
    block_locations = _awaited(FileSystem.block_locations)
    datanode_report = _awaited(FileSystem.datanode_report)
    get_file_checksum = _awaited_data(FileSystem.get_file_checksum)
    has_path_capability = _awaited(FileSystem.has_path_capability)

    # --- attributes -----------------------------------------------------------------

    set_permission = _awaited(FileSystem.set_permission)
    set_owner = _awaited(FileSystem.set_owner)
    set_times = _awaited(FileSystem.set_times)
    set_replication = _awaited(FileSystem.set_replication)
    access = _awaited(FileSystem.access)
    get_acl_status = _awaited(FileSystem.get_acl_status)
    modify_acl_entries = _awaited(FileSystem.modify_acl_entries)
    remove_acl_entries = _awaited(FileSystem.remove_acl_entries)
    remove_default_acl = _awaited(FileSystem.remove_default_acl)
    remove_acl = _awaited(FileSystem.remove_acl)
    set_acl = _awaited(FileSystem.set_acl)
    get_xattr = _awaited(FileSystem.get_xattr)
    get_xattrs = _awaited(FileSystem.get_xattrs)
    list_xattrs = _awaited(FileSystem.list_xattrs)
    set_xattr = _awaited(FileSystem.set_xattr)
    remove_xattr = _awaited(FileSystem.remove_xattr)
    get_storage_policies = _awaited(FileSystem.get_storage_policies)
    get_storage_policy = _awaited(FileSystem.get_storage_policy)
    set_storage_policy = _awaited(FileSystem.set_storage_policy)
    unset_storage_policy = _awaited(FileSystem.unset_storage_policy)
    satisfy_storage_policy = _awaited(FileSystem.satisfy_storage_policy)
    get_erasure_coding_policies = _awaited(FileSystem.get_erasure_coding_policies)
    get_erasure_coding_policy = _awaited(FileSystem.get_erasure_coding_policy)
    set_erasure_coding_policy = _awaited(FileSystem.set_erasure_coding_policy)
    unset_erasure_coding_policy = _awaited(FileSystem.unset_erasure_coding_policy)

    def __repr__(self) -> str:
        filesystem = self._filesystem
        return f"{type(self).__name__}({'' if filesystem is None else repr(filesystem.uri)})"

    if not TYPE_CHECKING:  # else every name would be known

        def __getattr__(self, name: str) -> object:
            kind = type(self)
            raise WrongName(kind.__name__, name, lambda: dir(kind), FILESYSTEM)


def _close_later(opened: Future[Any]) -> None:
    """Nobody waits for a stream any more that is about to be opened: close it as soon as it is."""

    def close(ended: Future[Any]) -> None:
        if ended.exception() is None:
            ended.result().close()

    opened.add_done_callback(close)


def connect(
    uri: str | None = None,
    *,
    call_threads: int = CALL_THREADS,
    data_threads: int = DATA_THREADS,
    **options: Any,
) -> AsyncFileSystem:
    """The filesystem of `uri`, or the default one; `options` are those of `howdah.connect`.

    It connects at `async with`, which raises what `howdah.connect` raises, or at the first call.

    >>> async def read(path):
    ...     async with howdah.aio.connect("hdfs://namenode:8020") as fs:
    ...         return await fs.read_bytes(path)
    """
    return AsyncFileSystem(
        functools.partial(connect_blocking, uri, **options),
        call_threads=call_threads,
        data_threads=data_threads,
    )
