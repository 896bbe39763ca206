"""What Python users type by habit: `open` with a mode, `ls`, `stat`, `chmod`, `read_bytes`.

Every operation has one name, which is Hadoop's. Those of everyday have one more, that of the shell
and of Python's `os`; any other name is answered with the right one (`howdah.wrong_names`).

Built on `create`, `append` and the rest of the interface, whose names are Hadoop's. Modes
are those of Python's own `open`, with two differences: without a mode a file is opened as
`rb`, and text is UTF-8 unless `encoding` says otherwise, whatever the machine is set to.
Nothing is read and written through one stream, so there is no `+`.
"""

from __future__ import annotations

import functools
import io
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Final, Literal, overload

from howdah import errors as failures
from howdah.fs.paths import PathLike
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, as_bytes

ReadMode = Literal["rb", "br"]
WriteMode = Literal["wb", "bw", "xb", "bx", "ab", "ba"]
TextMode = Literal["r", "rt", "tr", "w", "wt", "tw", "x", "xt", "tx", "a", "at", "ta"]
_KINDS: Final[frozenset[str]] = frozenset("rwxa")
TEXT_ENCODING: Final = "utf-8"


class PythonFiles(ABC):
    """The part of `howdah.fs.api.FileSystem` that is named as Python names it."""

    @abstractmethod
    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        """Open a file for reading: what a filesystem must bring for `open`."""

    @abstractmethod
    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
    ) -> FSDataOutputStream: ...
    @abstractmethod
    def append(
        self, path: PathLike, *, new_block: bool = False, buffer_size: int | None = None
    ) -> FSDataOutputStream: ...
    @abstractmethod
    def get_file_status(self, path: PathLike) -> FileStatus: ...
    @abstractmethod
    def delete(self, path: PathLike, recursive: bool = False) -> bool: ...
    @abstractmethod
    def list_status(self, path: PathLike) -> list[FileStatus]: ...
    @abstractmethod
    def glob_status(self, pattern: PathLike) -> list[FileStatus]: ...
    @abstractmethod
    def is_directory(self, path: PathLike) -> bool: ...
    @abstractmethod
    def is_file(self, path: PathLike) -> bool: ...
    @abstractmethod
    def set_permission(self, path: PathLike, mode: int) -> None: ...
    @abstractmethod
    def set_owner(
        self, path: PathLike, owner: str | None = None, group: str | None = None
    ) -> None: ...
    @abstractmethod
    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None: ...
    @abstractmethod
    def resolve(self, path: PathLike) -> str: ...

    @overload
    def open(
        self, path: PathLike, mode: ReadMode | int | None = "rb", buffer_size: int | None = None
    ) -> FSDataInputStream: ...
    @overload
    def open(
        self, path: PathLike, mode: WriteMode, buffer_size: int | None = None
    ) -> FSDataOutputStream: ...
    @overload
    def open(
        self,
        path: PathLike,
        mode: TextMode,
        buffer_size: int | None = None,
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    @overload
    def open(
        self,
        path: PathLike,
        mode: str,
        buffer_size: int | None = None,
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any: ...
    def open(
        self,
        path: PathLike,
        mode: str | int | None = "rb",
        buffer_size: int | None = None,
        *,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> FSDataInputStream | FSDataOutputStream | io.TextIOWrapper:
        """Open a file as Python's own `open` does, but for reading bytes if no mode is given.

        `r` reads, `w` writes over what is there, `x` makes a new file or raises `PathExists`,
        `a` goes on at the end and makes the file if need be; `b` is bytes, else it is text
        in UTF-8 (or `encoding`, with `errors` and `newline` as in Python). A number in the
        place of the mode is a buffer size, as in Hadoop's `open`.

        >>> with fs.open("/docs/notes", "w") as out:
        ...     print("a line", file=out)
        >>> with fs.open("/docs/notes") as stream:
        ...     stream.read()
        b'a line\\n'
        >>> with fs.open("/docs/notes", "r") as lines:
        ...     list(lines)
        ['a line\\n']
        """
        if isinstance(mode, int):
            buffer_size, mode = mode, None
        mode = "rb" if mode is None else mode
        kind = _kind(mode)
        is_text = "b" not in mode
        if not is_text and (encoding, errors, newline) != (None, None, None):
            raise ValueError(f"mode {mode!r} is bytes: encoding, errors and newline are for text")
        stream = self._open_as(path, kind, buffer_size)
        if not is_text:
            return stream
        # Line ends are Python's affair; a writer's stay as they are written.
        kept = "" if newline is None and kind != "r" else newline
        try:
            return io.TextIOWrapper(stream, encoding or TEXT_ENCODING, errors, kept)
        except BaseException:  # such as an encoding that nobody knows
            stream.close()
            raise

    def _open_as(
        self, path: PathLike, kind: str, buffer_size: int | None
    ) -> FSDataInputStream | FSDataOutputStream:
        if kind == "r":
            return self._open_input(path, buffer_size)
        if kind == "a":
            with suppress(failures.PathNotFound):
                return self._appended(path, buffer_size)
            try:
                return self.create(path, overwrite=False, buffer_size=buffer_size)
            except failures.PathExists:  # another has made it meanwhile
                return self._appended(path, buffer_size)
        return self.create(path, overwrite=kind == "w", buffer_size=buffer_size)

    def _appended(self, path: PathLike, buffer_size: int | None) -> FSDataOutputStream:
        # A block group that has ended gets no more bytes.
        new_block = self.get_file_status(path).is_erasure_coded
        return self.append(path, new_block=new_block, buffer_size=buffer_size)

    def ls(self, path: PathLike = ".") -> list[str]:
        """The paths of a directory's entries, by name; of a file, its own.

        >>> fs.write_text("/docs/a", "x")
        1
        >>> fs.ls("/docs")
        ['/docs/a']
        """
        return [status.path for status in self.list_status(path)]

    def glob(self, pattern: PathLike) -> list[str]:
        """The paths that match a pattern (`howdah.fs.glob`), sorted.

        >>> fs.glob("/docs/*")
        ['/docs/a']
        """
        return [status.path for status in self.glob_status(pattern)]

    def stat(self, path: PathLike) -> FileStatus:
        """As `get_file_status`.

        >>> fs.stat("/docs/a").length
        10
        """
        return self.get_file_status(path)

    def isdir(self, path: PathLike) -> bool:
        """As `is_directory`.

        >>> fs.isdir("/docs")
        True
        """
        return self.is_directory(path)

    def isfile(self, path: PathLike) -> bool:
        """As `is_file`.

        >>> fs.isfile("/docs")
        False
        """
        return self.is_file(path)

    def touch(self, path: PathLike, *, mode: int | None = None, exist_ok: bool = True) -> None:
        """Make an empty file, or set the times of what is there to now.

        Raises `PathExists` unless `exist_ok`, `PathNotFound` without a parent.

        >>> fs.touch("/docs/done")
        >>> fs.stat("/docs/done").length
        0
        """
        target = self.resolve(path)
        try:
            self.get_file_status(target)
        except failures.PathNotFound:
            try:
                self.create(target, permission=mode, create_parent=False).close()
            except failures.PathExists:  # another has made it meanwhile
                if not exist_ok:
                    raise
            return
        if not exist_ok:
            raise failures.PathExists(f"{target} exists already").about(target)
        now_ms = time.time_ns() // 1_000_000
        self.set_times(target, now_ms, now_ms)

    def chmod(self, path: PathLike, mode: int) -> None:
        """As `set_permission`.

        >>> fs.chmod("/docs/a", 0o600)
        >>> fs.stat("/docs/a").permission_string
        '-rw-------'
        """
        self.set_permission(path, mode)

    def chown(self, path: PathLike, user: str | None = None, group: str | None = None) -> None:
        """As `set_owner`: a user, a group or both, by name.

        >>> fs.chown("/docs/a", group="staff")
        >>> fs.stat("/docs/a").group
        'staff'
        """
        self.set_owner(path, user, group)

    def rm(self, path: PathLike, recursive: bool = False) -> None:
        """Delete, as `delete`, but `PathNotFound` if nothing is there. No trash is involved.

        >>> fs.write_text("/docs/b/c", "x")
        1
        >>> fs.rm("/docs/b", recursive=True)
        >>> fs.exists("/docs/b")
        False
        """
        if not self.delete(path, recursive):
            gone = self.resolve(path)
            raise failures.PathNotFound(f"{gone} does not exist").about(gone)

    def read_bytes(self, path: PathLike) -> bytes:
        """All of a file.

        >>> fs.write_bytes("/docs/a", b"abc")
        3
        >>> fs.read_bytes("/docs/a")
        b'abc'
        """
        with self._open_input(path) as stream:
            return stream.read()

    def write_bytes(self, path: PathLike, data: Any, *, overwrite: bool = True) -> int:
        """Make a file of `data`, over what is there if `overwrite`; how many bytes.

        >>> fs.write_bytes("/docs/a", b"abc")
        3
        """
        # What holds no bytes is found out before the old file is gone.
        content = data if type(data) is bytes else as_bytes(data)
        with self.create(path, overwrite=overwrite) as out:
            return out.write(content)

    def read_text(
        self, path: PathLike, encoding: str = TEXT_ENCODING, errors: str = "strict"
    ) -> str:
        """All of a file as text, with its line ends as they are.

        >>> fs.write_text("/docs/a", "grüße")
        7
        >>> fs.read_text("/docs/a")
        'grüße'
        """
        return self.read_bytes(path).decode(encoding, errors)

    def write_text(
        self,
        path: PathLike,
        text: str,
        encoding: str = TEXT_ENCODING,
        errors: str = "strict",
        *,
        overwrite: bool = True,
    ) -> int:
        """Make a file of `text`; how many bytes it has.

        >>> fs.write_text("/docs/a", "grüße", encoding="latin-1")
        5
        """
        return self.write_bytes(path, text.encode(encoding, errors), overwrite=overwrite)


@functools.lru_cache(maxsize=64)
def _kind(mode: str) -> str:
    """The one letter of `r`, `w`, `x` and `a` in a mode."""
    kinds = _KINDS & set(mode)
    if "+" in mode:
        raise failures.UnsupportedOperation(
            f"mode {mode!r}: a file is read or written, not both through one stream"
        )
    if len(kinds) != 1 or len(set(mode)) != len(mode) or not set(mode) <= _KINDS | set("bt"):
        raise ValueError(f"mode {mode!r} is none: one of r, w, x and a, and perhaps b or t")
    if {"b", "t"} <= set(mode):
        raise ValueError(f"mode {mode!r} is bytes and text at once")
    (kind,) = kinds
    return kind
