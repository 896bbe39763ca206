"""`howdah.Path`, pathlib's surface over any filesystem of howdah, and `howdah.open`.

A path has its filesystem (`fs`) and the absolute path there (`path`). It is absolute always:
relative text starts where the filesystem's relative paths start, and `.` and `..` are resolved
lexically, as in every call of howdah. So the parts of a path are those of a `PurePosixPath`, which
also computes them, and what `relative_to` returns is one.

Rules where pathlib leaves a choice, or where its versions differ:

1. Text is UTF-8 unless `encoding` says otherwise.
2. `rename` never replaces a file (as pathlib on Windows); `replace` does.
3. `**` in a pattern is any number of directories, and at its end also files (as in 3.13).
   A name is matched whatever its first character is. Links are not followed by `**`.
4. A directory that cannot be listed raises; pathlib leaves it out.
5. `stat` is an `os.stat_result`, whose user and group are -1: users of a filesystem have names.

Characters of patterns (`*`, `?`, `[`) have a meaning in `match`, `full_match`, `glob` and `rglob`
alone.
"""

from __future__ import annotations

import fnmatch
import functools
import io
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, overload

from howdah import errors as failures
from howdah.fs import paths, registry, transfers
from howdah.fs.hdfs.links import MAX_LINKS, behind
from howdah.fs.paths import PathLike
from howdah.fs.pythonic import ReadMode, TextMode, WriteMode
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

_MISSING: Final = (failures.PathNotFound, failures.ParentNotDirectory)
_UNKNOWN_ID: Final = -1
_RECURSIVE: Final = "**"


@functools.total_ordering
class Path(paths.PathOfFileSystem):
    """A path of a filesystem, as `pathlib.Path` is one of this machine.

    `Path("hdfs://host:8020/a")` connects when it is first needed, as the process's user. Paths of
    one place share a connection. `fs.path("/a")` is a path of the filesystem `fs`, with its user
    and configuration. `Path("/a")` is one of the default filesystem (`howdah.connect`).

    >>> path = howdah.Path("mem://docs/reports") / "2026.csv"
    >>> path.parent.mkdir(parents=True, exist_ok=True)
    >>> path.write_text("a,b")
    3
    >>> path.name, path.suffix, path.read_text()
    ('2026.csv', '.csv', 'a,b')
    >>> list(path.parent.glob("*.csv"))
    [Path('mem://docs/reports/2026.csv')]
    """

    __slots__ = ("_fs", "_listed", "_pure")

    _fs: FileSystem
    _pure: PurePosixPath
    _listed: FileStatus | None

    def __init__(self, path: PathLike, *more: PathLike) -> None:
        """Raises IllegalArgument for relative text, which names no filesystem."""
        if isinstance(path, Path):
            self._fs, place = path._fs, path.path
        else:
            text = _whole_uri(path)
            self._fs = registry.shared(text)
            place = self._fs.resolve(paths.normalize(paths.parse(text).path))
        for name in more:
            place = _joined(self._fs, place, name)
        self._pure = PurePosixPath(place)
        self._listed = None

    @classmethod
    def of(cls, fs: FileSystem, path: PathLike, listed: FileStatus | None = None) -> Self:
        """A path of this filesystem; `listed` is what a listing has said of it (`info`)."""
        made = cls.__new__(cls)
        made._fs = fs
        made._pure = PurePosixPath(fs.resolve(path))
        made._listed = listed
        return made

    @classmethod
    def home(cls) -> Self:
        """The user's directory on the default filesystem."""
        fs = registry.shared(None)
        return cls.of(fs, fs.home_directory())

    @classmethod
    def cwd(cls) -> Self:
        """Where relative paths of the default filesystem start."""
        fs = registry.shared(None)
        return cls.of(fs, fs.working_directory())

    def _at(self, path: PathLike) -> Self:
        return type(self).of(self._fs, path)

    def _target(self, path: PathLike) -> Self:
        return path if isinstance(path, type(self)) else self._at(path)

    def _listed_at(self, status: FileStatus) -> Self:
        return type(self).of(self._fs, status.path, status)

    # --- what it is ---------------------------------------------------------------------

    @property
    def fs(self) -> FileSystem:
        """The filesystem. That of a `Path` that was made of a URI is shared: do not close it."""
        return self._fs

    @property
    def path(self) -> str:
        """The absolute path within the filesystem."""
        return str(self._pure)

    def __str__(self) -> str:
        return f"{self._fs.uri}{self._pure}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def as_posix(self) -> str:
        """The absolute path within the filesystem."""
        return self.path

    def as_uri(self) -> str:
        """The full URI. Nothing in it is escaped: howdah decodes no paths."""
        return str(self)

    def __fspath__(self) -> str:
        """The path of a local file. Raises TypeError for any other: what asks for it opens files
        of this machine."""
        if self._fs.scheme != "file":
            raise TypeError(
                f"{self} is no path of this machine: open it with .open(), copy it with "
                "fs.get, or pass str(path) to a library that opens URIs"
            )
        return self.path

    def _key(self) -> tuple[str, tuple[str, ...]]:
        return self._fs.uri, self._pure.parts

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Path) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, Path) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Callable[..., Path], tuple[FileSystem, str]]:
        """Pickled for another process, its filesystem connects anew, as the same user."""
        return type(self).of, (self._fs, self.path)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # --- the parts ------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of `path`; the first one is `/`."""
        return self._pure.parts

    @property
    def drive(self) -> str:
        """Empty, as of any POSIX path. The filesystem is `fs`."""
        return self._pure.drive

    @property
    def root(self) -> str:
        """`/`."""
        return self._pure.root

    @property
    def anchor(self) -> str:
        """`/`."""
        return self._pure.anchor

    @property
    def name(self) -> str:
        """The last component; empty for the root."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """The last suffix of the name, with its point; empty if there is none."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes of the name."""
        return self._pure.suffixes

    @property
    def parent(self) -> Self:
        """The directory above; of the root, the root."""
        return self._at(str(self._pure.parent))

    @property
    def parents(self) -> tuple[Self, ...]:
        """The directories above, the nearest first."""
        return tuple(self._at(str(parent)) for parent in self._pure.parents)

    def is_absolute(self) -> Literal[True]:
        """True."""
        return True

    def absolute(self) -> Self:
        """This path, which is absolute."""
        return self

    def with_name(self, name: str) -> Self:
        """The path with another last component. Raises ValueError for what is no name."""
        return self._at(str(self._pure.with_name(name)))

    def with_stem(self, stem: str) -> Self:
        """The path with another name, but the same suffix."""
        return self._at(str(self._pure.with_stem(stem)))

    def with_suffix(self, suffix: str) -> Self:
        """The path with another suffix, or none (`""`)."""
        return self._at(str(self._pure.with_suffix(suffix)))

    def joinpath(self, *names: PathLike) -> Self:
        """The path with names below it. An absolute one starts over, and `..` leads up.

        Raises IllegalArgument for the URI of another filesystem; a `Path` may be of any.
        """
        fs, place = self._fs, self.path
        for name in names:
            if isinstance(name, Path):
                fs, place = name._fs, name.path
            else:
                place = _joined(fs, place, name)
        return type(self).of(fs, place)

    def __truediv__(self, name: PathLike) -> Self:
        try:
            return self.joinpath(name)
        except TypeError:
            return NotImplemented

    def __rtruediv__(self, other: PathLike) -> Self:
        return self if isinstance(other, str | PurePath) else NotImplemented

    def _pure_of(self, other: PathLike) -> PurePosixPath | None:
        """Another path, if it is of this filesystem."""
        if isinstance(other, Path):
            return other._pure if other._fs.uri == self._fs.uri else None
        try:
            return PurePosixPath(self._fs.resolve(other))
        except failures.IllegalArgument:
            return None

    def is_relative_to(self, other: PathLike) -> bool:
        """Whether this path is `other` or below it."""
        top = self._pure_of(other)
        return top is not None and self._pure.is_relative_to(top)

    def relative_to(self, other: PathLike, *, walk_up: bool = False) -> PurePosixPath:
        """The names that lead from `other` to here, by way of `..` if `walk_up` allows it.

        Raises ValueError where there are none.
        """
        top = self._pure_of(other)
        if top is None:
            raise ValueError(f"{str(self)!r} is not of the filesystem of {str(other)!r}")
        if walk_up:
            return PurePosixPath(posixpath.relpath(self._pure, top))
        try:
            return self._pure.relative_to(top)
        except ValueError:
            raise ValueError(f"{str(self)!r} is not below {str(other)!r}") from None

    def match(self, pattern: PathLike, *, case_sensitive: bool | None = None) -> bool:
        """Whether the last components match a relative pattern, or all of them an absolute one.
        `**` is as `*` here."""
        wanted = PurePosixPath(pattern)
        if not wanted.parts:
            raise ValueError("empty pattern")
        names = self.parts
        if len(wanted.parts) > len(names) or (
            wanted.is_absolute() and len(wanted.parts) != len(names)
        ):
            return False
        matched = zip(reversed(names), reversed(wanted.parts), strict=False)
        return all(_component(part, case_sensitive)(name) for name, part in matched)

    def full_match(self, pattern: PathLike, *, case_sensitive: bool | None = None) -> bool:
        """Whether the whole path matches a pattern; `**` is any number of components."""
        wanted = PurePosixPath(pattern).parts
        if wanted[:1] == ("/",):
            wanted = wanted[1:]
        elif wanted[:1] != (_RECURSIVE,):
            return False
        return _matches_all(self.parts[1:], wanted, case_sensitive)

    # --- looking ----------------------------------------------------------------------------

    def status(self) -> FileStatus:
        """What the filesystem says of it, links followed. Raises `PathNotFound`."""
        return self._fs.get_file_status(self.path)

    @property
    def info(self) -> PathInfo:
        """What kind it is, as a listing said that had it (`iterdir`, `glob`), else as it was when
        it was first asked for."""
        return PathInfo(self)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Mode, length and times as `os.stat` has them. Raises `PathNotFound`.

        Numbers of users and groups are -1: their names are `owner()` and `group()`. All that is
        known is in `status()`.
        """
        return stat_result(self._status(follow_symlinks))

    def lstat(self) -> os.stat_result:
        """As `stat`, but of a link itself."""
        return self.stat(follow_symlinks=False)

    def _status(self, follow_symlinks: bool) -> FileStatus:
        if follow_symlinks:
            return self.status()
        return self._fs.get_file_link_status(self.path)

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether something is there."""
        return self._known(follow_symlinks) is not None

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether a directory is there."""
        status = self._known(follow_symlinks)
        return status is not None and status.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether a file is there."""
        status = self._known(follow_symlinks)
        return status is not None and status.is_file

    def is_symlink(self) -> bool:
        """Whether a symbolic link is there."""
        status = self._known(follow_symlinks=False)
        return status is not None and status.is_symlink

    def _known(self, follow_symlinks: bool) -> FileStatus | None:
        try:
            return self._status(follow_symlinks)
        except _MISSING:
            return None

    def owner(self, *, follow_symlinks: bool = True) -> str:
        """The name of the user whose it is."""
        return self._status(follow_symlinks).owner

    def group(self, *, follow_symlinks: bool = True) -> str:
        """The name of its group."""
        return self._status(follow_symlinks).group

    def samefile(self, other: PathLike) -> bool:
        """Whether both lead to the same file."""
        theirs = other if isinstance(other, Path) else self._at(other)
        if theirs._fs.uri != self._fs.uri:
            return False
        mine, its = self.status(), theirs.status()
        if mine.file_id or its.file_id:
            return mine.file_id == its.file_id
        return self.resolve() == theirs.resolve()

    def resolve(self, strict: bool = False) -> Self:
        """The path without links in it. Raises `LinkLoop`, and if `strict` `PathNotFound`."""
        fs, place, left = self._fs, paths.SEPARATOR, list(self.parts[1:])
        links = 0
        while left:
            here = paths.join(place, left.pop(0))
            try:
                target = fs.get_file_link_status(here).symlink
            except _MISSING:
                if strict:
                    raise
                return self._at(paths.join(here, *left))
            if target is None:
                place = here
                continue
            links += 1
            if links > MAX_LINKS:
                raise failures.LinkLoop(f"{self} has more than {MAX_LINKS} links").about(self.path)
            location = behind(here, target)
            if location.is_qualified:
                elsewhere = type(self)(str(location))
                if elsewhere._fs.uri != fs.uri:
                    return elsewhere.joinpath(*left).resolve(strict)
            place, left = paths.SEPARATOR, [*PurePosixPath(location.path).parts[1:], *left]
        return self._at(place)

    def readlink(self) -> Self:
        """Where a link leads."""
        location = behind(self.path, self._fs.get_link_target(self.path))
        return type(self)(str(location)) if location.is_qualified else self._at(location.path)

    # --- directories ------------------------------------------------------------------------

    def iterdir(self) -> Iterator[Self]:
        """What is in a directory, by name. Raises `PathNotFound`, `PathIsNotDirectory`."""
        for status in self._fs.list_status_iter(self.path):
            if status.path == self.path:
                raise _no_directory(self.path)
            yield self._listed_at(status)

    def walk(
        self,
        top_down: bool = True,
        on_error: Callable[[OSError], object] | None = None,
        follow_symlinks: bool = False,
    ) -> Iterator[tuple[Self, list[str], list[str]]]:
        """All directories from here on: (path, names of directories, names of files).

        From the top down, names that are taken out of the list are not walked. What cannot be
        listed is left out, and told to `on_error`.
        """
        if follow_symlinks:
            raise failures.UnsupportedOperation("walk does not follow links")

        def tell(error: failures.HowdahError) -> None:
            if on_error is not None and isinstance(error, OSError):
                on_error(error)

        def steps() -> Iterator[tuple[Self, list[str], list[str]]]:
            for where, directories, files in self._fs.walk(self.path, tell):
                if files and files[0].path == where:
                    tell(_no_directory(where))
                    continue
                below = [status.name for status in directories]
                yield self._at(where), below, [status.name for status in files]
                kept = set(below)
                directories[:] = [status for status in directories if status.name in kept]

        yield from steps() if top_down else reversed(list(steps()))

    def glob(
        self,
        pattern: PathLike,
        *,
        case_sensitive: bool | None = None,
        recurse_symlinks: bool = False,
    ) -> Iterator[Self]:
        """What matches a relative pattern below here; this path's own name is no pattern.

        Raises ValueError for an empty pattern, NotImplementedError for an absolute one.
        """
        if recurse_symlinks:
            raise failures.UnsupportedOperation("** does not follow links")
        text = os.fspath(pattern)
        parts = PurePosixPath(text).parts
        if not parts:
            raise ValueError(f"Unacceptable pattern: {text!r}")
        if parts[0] == paths.SEPARATOR:
            raise NotImplementedError("Non-relative patterns are unsupported")
        if ".." in parts:
            raise NotImplementedError("Patterns with '..' are unsupported")
        found = _found_below(self._fs, self.path, parts, case_sensitive)
        if parts.count(_RECURSIVE) > 1:
            found = _once(found)
        for status in found:
            if status.is_directory or not text.endswith(paths.SEPARATOR):
                yield self._listed_at(status)

    def rglob(
        self,
        pattern: PathLike,
        *,
        case_sensitive: bool | None = None,
        recurse_symlinks: bool = False,
    ) -> Iterator[Self]:
        """What matches a relative pattern anywhere below here."""
        text = os.fspath(pattern)
        if text.startswith(paths.SEPARATOR):
            raise NotImplementedError("Non-relative patterns are unsupported")
        yield from self.glob(
            f"{_RECURSIVE}/{text}" if text else f"{_RECURSIVE}/",
            case_sensitive=case_sensitive,
            recurse_symlinks=recurse_symlinks,
        )

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Make a directory, and with `parents` those above it.

        Raises `PathExists` for what is there, unless it is a directory and `exist_ok` is given;
        `PathNotFound` without a parent.
        """
        here = self._known(follow_symlinks=True)
        if here is not None:
            if exist_ok and here.is_directory:
                return
            raise failures.PathExists(f"{self} is there already").about(self.path)
        if parents:
            self._fs.mkdirs(self.path, mode)
            return
        try:
            self._fs.mkdir(self.path, mode)
        except failures.PathExists:
            # Another has made it meanwhile.
            if not (exist_ok and self.is_dir()):
                raise

    def rmdir(self) -> None:
        """Delete an empty directory. Raises `DirectoryNotEmpty`, `PathIsNotDirectory`."""
        if not self._status(follow_symlinks=False).is_directory:
            raise _no_directory(self.path)
        self._delete()

    # --- files --------------------------------------------------------------------------------

    @overload
    def open(
        self,
        mode: TextMode = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    @overload
    def open(self, mode: ReadMode, buffering: int = -1) -> FSDataInputStream: ...
    @overload
    def open(self, mode: WriteMode, buffering: int = -1) -> FSDataOutputStream: ...
    @overload
    def open(
        self,
        mode: str,
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any: ...
    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> FSDataInputStream | FSDataOutputStream | io.TextIOWrapper:
        """Open the file as Python's own `open` does (`howdah.open`)."""
        return _open(self._fs, self.path, mode, buffering, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """All of the file."""
        return self._fs.read_bytes(self.path)

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        """All of the file as text. Line ends become `\\n`, unless `newline` says otherwise."""
        with self.open("r", -1, encoding, errors, newline) as stream:
            return stream.read()

    def write_bytes(self, data: object) -> int:
        """Write a file, over what is there. Return how many bytes."""
        return self._fs.write_bytes(self.path, data)

    def write_text(
        self,
        data: str,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> int:
        """Write a file of text, over what is there. Return how many characters."""
        if not isinstance(data, str):
            raise TypeError(f"data must be str, not {type(data).__name__}")
        with self.open("w", -1, encoding, errors, newline) as stream:
            return stream.write(data)

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
        """Make an empty file, or set the times of what is there to now.

        Raises `PathExists` unless `exist_ok`, `PathNotFound` without a parent.
        """
        self._fs.touch(self.path, mode=mode, exist_ok=exist_ok)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete a file or a link. Raises `PathIsDirectory`, and unless `missing_ok`
        `PathNotFound`. No trash is involved."""
        try:
            if self._status(follow_symlinks=False).is_directory:
                raise failures.PathIsDirectory(f"{self} is a directory: rmdir() deletes it").about(
                    self.path
                )
            self._delete()
        except _MISSING:
            if not missing_ok:
                raise

    def _delete(self) -> None:
        if not self._fs.delete(self.path):
            raise failures.PathNotFound(f"{self} does not exist").about(self.path)

    def rename(self, target: PathLike) -> Self:
        """Give it another name; relative text starts in the filesystem's working directory.

        Raises `PathExists` for a target that is there, IllegalArgument for one of another
        filesystem.
        """
        return self._renamed(target, overwrite=False)

    def replace(self, target: PathLike) -> Self:
        """Give it another name, in place of a file that has it."""
        return self._renamed(target, overwrite=True)

    def _renamed(self, target: PathLike, *, overwrite: bool) -> Self:
        new = self._at(target)
        self._fs.rename(self.path, new.path, overwrite=overwrite)
        return new

    def copy(
        self,
        target: PathLike,
        *,
        follow_symlinks: bool = True,
        preserve_metadata: bool = False,
        callback: object = None,
    ) -> Self:
        """Copy the file, or the directory with all that is below, to exactly this path, which may
        be of another filesystem; a file there is replaced. Return the new path.

        `callback` is told the bytes, as by `fs.put`.
        """
        if not follow_symlinks or preserve_metadata:
            raise failures.UnsupportedOperation(
                "copies are of what links lead to, and have the attributes of new files"
            )
        new = self._target(target)
        if self.is_dir() and new.exists():
            raise failures.PathExists(f"{new} exists already").about(new.path)
        transfers.copy(self._fs, self.path, new._fs, new.path, recursive=True, callback=callback)
        return new

    def copy_into(self, target_dir: PathLike, *, callback: object = None) -> Self:
        """Copy it into a directory, under its name. Return the new path."""
        directory = self._target(target_dir)
        return self.copy(directory / self.name, callback=callback)

    def move(self, target: PathLike) -> Self:
        """Give it exactly this path, which may be of another filesystem; then it is copied and
        deleted. A file there is replaced. Return the new path."""
        new = self._target(target)
        transfers.move(self._fs, self.path, new._fs, new.path)
        return new

    def move_into(self, target_dir: PathLike) -> Self:
        """Move it into a directory, under its name. Return the new path."""
        directory = self._target(target_dir)
        return self.move(directory / self.name)

    def symlink_to(self, target: PathLike, target_is_directory: bool = False) -> None:
        """Make this path a link to `target`, which is kept as it is written."""
        self._fs.create_symlink(target, self.path, create_parent=False)

    def hardlink_to(self, target: PathLike) -> NoReturn:
        """Raises `UnsupportedOperation`: no filesystem of howdah has hard links."""
        raise failures.UnsupportedOperation(f"{self._fs.uri} has no hard links")

    def chmod(self, mode: int, *, follow_symlinks: bool = True) -> None:
        """Set the mode bits. Raises `UnsupportedOperation` for those of a link."""
        if not follow_symlinks:
            raise failures.UnsupportedOperation(f"{self._fs.uri}: links have no modes of their own")
        self._fs.set_permission(self.path, mode)

    if not TYPE_CHECKING:  # else every name would be known

        def __getattr__(self, name: str) -> object:
            from howdah.wrong_names import WrongName

            kind = type(self)
            raise WrongName(kind.__name__, name, lambda: dir(kind), {})


class PathInfo:
    """What kind a path is of (`Path.info`), asked for once at most."""

    __slots__ = ("_link", "_path", "_target")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._link: FileStatus | Literal[False] | None = False
        self._target: FileStatus | Literal[False] | None = False
        if path._listed is not None:
            self._link = path._listed
            if not path._listed.is_symlink:
                self._target = path._listed

    def _status(self, follow_symlinks: bool) -> FileStatus | None:
        if follow_symlinks:
            if self._target is False:
                self._target = self._path._known(follow_symlinks=True)
            return self._target
        if self._link is False:
            self._link = self._path._known(follow_symlinks=False)
        return self._link

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Whether something was there."""
        return self._status(follow_symlinks) is not None

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it was a directory."""
        status = self._status(follow_symlinks)
        return status is not None and status.is_directory

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it was a file."""
        status = self._status(follow_symlinks)
        return status is not None and status.is_file

    def is_symlink(self) -> bool:
        """Whether it was a link."""
        status = self._status(follow_symlinks=False)
        return status is not None and status.is_symlink


@overload
def open(
    path: PathLike,
    mode: TextMode = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(path: PathLike, mode: ReadMode, buffering: int = -1) -> FSDataInputStream: ...
@overload
def open(path: PathLike, mode: WriteMode, buffering: int = -1) -> FSDataOutputStream: ...
@overload
def open(
    path: PathLike,
    mode: str,
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> Any: ...
def open(
    path: PathLike,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> FSDataInputStream | FSDataOutputStream | io.TextIOWrapper:
    """Open a file by its URI, or by an absolute path of the default filesystem, as Python's own
    `open` does: without a mode it is read as text, which is UTF-8 unless `encoding` says otherwise.

    Raises `UnsupportedOperation` for what files of howdah are not opened for: reading and writing
    through one stream (`+`), and writing without a buffer (`buffering=0`).

    >>> with howdah.open("mem://docs/notes", "w") as out:
    ...     print("a line", file=out)
    >>> with howdah.open("mem://docs/notes") as lines:
    ...     list(lines)
    ['a line\\n']
    >>> howdah.open("mem://docs/notes", "rb").read()
    b'a line\\n'
    """
    opened = path if isinstance(path, Path) else Path(path)
    return _open(opened.fs, opened.path, mode, buffering, encoding, errors, newline)


def _open(
    fs: FileSystem,
    path: str,
    mode: str,
    buffering: int,
    encoding: str | None,
    errors: str | None,
    newline: str | None,
) -> FSDataInputStream | FSDataOutputStream | io.TextIOWrapper:
    is_text = "b" not in mode
    if buffering == 0:
        if is_text:
            raise ValueError("can't have unbuffered text I/O")
        raise failures.UnsupportedOperation(
            "buffering=0: files of howdah have buffers; hflush() shows what is written to readers"
        )
    stream = fs.open(
        path,
        mode,
        buffering if buffering > 1 else None,
        encoding=encoding,
        errors=errors,
        newline=newline,
    )
    if is_text and buffering == 1:
        stream.reconfigure(line_buffering=True)
    opened: FSDataInputStream | FSDataOutputStream | io.TextIOWrapper = stream
    return opened


def stat_result(status: FileStatus) -> os.stat_result:
    """A status as `os.stat` returns it."""
    kind = stat.S_IFDIR if status.is_directory else stat.S_IFLNK if status.is_symlink else 0
    mtime_ms, atime_ms = status.modification_time_ms, status.access_time_ms
    seconds = (atime_ms / 1000, mtime_ms / 1000, mtime_ms / 1000)
    return os.stat_result(
        (
            *(status.permission | (kind or stat.S_IFREG), status.file_id, 0, 1),
            *(_UNKNOWN_ID, _UNKNOWN_ID, status.length),
            *map(int, seconds),
        ),
        {
            **dict(zip(("st_atime", "st_mtime", "st_ctime"), seconds, strict=True)),
            "st_atime_ns": atime_ms * 1_000_000,
            "st_mtime_ns": mtime_ms * 1_000_000,
            "st_ctime_ns": mtime_ms * 1_000_000,
        },
    )


def _whole_uri(path: PathLike) -> str:
    """The text of a path. Raises IllegalArgument for a URI of which pathlib has made a path."""
    text = paths.text_of(path)
    if isinstance(path, PurePath) and paths.parse(text).is_qualified:
        raise failures.IllegalArgument(
            f"{text!r} is what pathlib makes of a URI: pass the URI as a str"
        )
    return text


def _joined(fs: FileSystem, place: str, name: PathLike) -> str:
    """A path with more below it."""
    text = paths.text_of(name)
    if text and paths.parse(text).is_qualified:
        return fs.resolve(name)
    return paths.normalize(paths.join(place, text))


def _no_directory(path: str) -> failures.PathIsNotDirectory:
    return failures.PathIsNotDirectory(f"{path} is not a directory").about(path)


def _is_literal(part: str) -> bool:
    return not any(char in part for char in "*?[")


@functools.lru_cache(maxsize=256)
def _component(pattern: str, case_sensitive: bool | None) -> Callable[[str], object]:
    """A test of a name against one component of a pattern."""
    flags = re.IGNORECASE if case_sensitive is False else re.NOFLAG
    return re.compile(fnmatch.translate(pattern), flags).match


def _matches_all(
    names: tuple[str, ...], parts: tuple[str, ...], case_sensitive: bool | None
) -> bool:
    """Whether all names match all components, of which `**` takes any number."""
    reached = {0}
    for part in parts:
        if part == _RECURSIVE:
            reached = set(range(min(reached, default=len(names) + 1), len(names) + 1))
        else:
            test = _component(part, case_sensitive)
            reached = {at + 1 for at in reached if at < len(names) and test(names[at])}
    return len(names) in reached


def _found_below(
    fs: FileSystem,
    directory: str,
    parts: tuple[str, ...],
    case_sensitive: bool | None,
    entries: Iterable[FileStatus] | None = None,
) -> Iterator[FileStatus]:
    """What below a directory matches the components; `entries` is what it has, if that is known."""
    part, rest = parts[0], parts[1:]
    if part == _RECURSIVE:
        while rest[:1] == (_RECURSIVE,):
            rest = rest[1:]
        yield from _found_at_any_depth(fs, directory, rest, case_sensitive)
        return
    if entries is None and _is_literal(part) and case_sensitive is not False:
        found = _named(fs, paths.join(directory, part))
    else:
        test = _component(part, case_sensitive)
        known = _entries(fs, directory) if entries is None else entries
        found = (status for status in known if test(status.name))
    for status in found:
        if not rest:
            yield status
        elif not status.is_file:
            yield from _found_below(fs, status.path, rest, case_sensitive)


def _found_at_any_depth(
    fs: FileSystem, directory: str, rest: tuple[str, ...], case_sensitive: bool | None
) -> Iterator[FileStatus]:
    if not any(status.is_directory for status in _named(fs, directory)):
        return
    if not rest:
        yield from _named(fs, directory)
    for where, directories, files in fs.walk(directory):
        entries = sorted([*directories, *files], key=lambda status: status.name)
        if rest:
            yield from _found_below(fs, where, rest, case_sensitive, entries)
        else:
            yield from entries


def _named(fs: FileSystem, path: str) -> Iterator[FileStatus]:
    """The status of a path, if something is there."""
    try:
        yield fs.get_file_status(path)
    except _MISSING:
        return


def _entries(fs: FileSystem, directory: str) -> Iterator[FileStatus]:
    """What a directory has; nothing if it is none."""
    try:
        yield from (each for each in fs.list_status_iter(directory) if each.path != directory)
    except _MISSING:
        return


def _once(statuses: Iterable[FileStatus]) -> Iterator[FileStatus]:
    seen: set[str] = set()
    for status in statuses:
        if status.path not in seen:
            seen.add(status.path)
            yield status
