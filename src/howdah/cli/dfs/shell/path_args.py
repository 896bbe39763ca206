"""Paths on a command line: which filesystem they are in, and how they are shown again.

Mirrors what FsShell does with its path arguments. A path is shown as it was
asked for: absolute ones as absolute paths, relative ones relative to the
working directory, URIs with their scheme and authority; what isn't there exactly as
it was typed. Names are literal: `%41`, blanks and colons are characters.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from howdah import errors
from howdah.cli.arguments.usage import UsageError
from howdah.cli.dfs.shell.error_text import CommandProblem, PathProblem
from howdah.fs import glob, paths
from howdah.fs.path_expansion import named

if TYPE_CHECKING:
    from howdah.config import Configuration
    from howdah.fs.api import FileSystem, ListOne
    from howdah.fs.status import FileStatus


_SCHEMES = (
    *(
        "abfs",
        "abfss",
        "az",
        "gs",
        "hdfs",
        "howdah",
        "s3",
        "s3a",
        "swebhdfs",
        "viewfs",
        "wasb",
        "wasbs",
    ),
    "webhdfs",
)


class Style:
    """How paths of one argument are shown: behind a prefix, or relative to a directory."""

    __slots__ = ("base", "prefix")

    def __init__(self, prefix: str = "", base: str | None = None) -> None:
        self.prefix = prefix
        self.base = base

    def show(self, path: str) -> str:
        """An absolute path in this style."""
        return self.prefix + path if self.base is None else posixpath.relpath(path, self.base)


class Item:
    """One path that a command works on; `status` is None if nothing is there."""

    __slots__ = ("_above", "fs", "path", "status", "style", "typed")

    def __init__(
        self,
        fs: FileSystem,
        path: str,
        style: Style,
        status: FileStatus | None = None,
        typed: str | None = None,
        above: str | None = None,
    ) -> None:
        self.fs = fs
        self.path = path
        self.style = style
        self.status = status
        self.typed = typed
        self._above = above

    @property
    def name(self) -> str:
        """The path as it is shown to the user."""
        if self.status is None and self.typed is not None:
            return self.typed
        if self._above is not None:
            return self.base_name if self._above == "." else paths.join(self._above, self.base_name)
        return self.style.show(self.path)

    @property
    def base_name(self) -> str:
        """The last component; empty for the root."""
        return paths.name_of(self.path)

    @property
    def full_path(self) -> str:
        """The path with its filesystem, for messages that must leave no doubt."""
        if self.fs.scheme == "file" and self.style.base is not None:
            return f"file:{self.path}"
        return self.fs.uri + self.path

    @property
    def exists(self) -> bool:
        return self.status is not None

    @property
    def is_directory(self) -> bool:
        return self.status is not None and self.status.is_directory

    @property
    def means_directory(self) -> bool:
        """Whether the user wrote a slash at the end, or `.` or `..` as the last name."""
        return self.typed is not None and self.typed.rpartition("/")[2] in ("", ".", "..")

    def require_status(self) -> FileStatus:
        """The status of something that is there; raises if it isn't."""
        if self.status is None:
            raise self.missing()
        return self.status

    def missing(self) -> PathProblem:
        """Nothing is there."""
        problem = PathProblem.missing(self.name)
        if self.typed is not None and self.typed == self.style.prefix:
            problem.message += (
                f"\nit is short for the home directory, {self.full_path}; the root is {self.typed}/"
            )
        return problem

    def refresh(self) -> None:
        """Ask the filesystem again what is there."""
        self.status = status_or_none(self.fs, self.path)

    def child(self, name: str, status: FileStatus | None = None) -> Item:
        """The item of an entry below this one."""
        return Item(self.fs, paths.join(self.path, name), self.style, status, above=self.name)

    def children(self, list_one: ListOne | None = None) -> list[Item]:
        """What is in the directory now, by name; `list_one` may know it already."""
        above = self.name
        return [
            Item(self.fs, status.path, self.style, status, above=above)
            for status in (list_one or self.fs.list_status)(self.path)
        ]

    def parent_exists(self) -> bool:
        """Whether the directory is there that it would be made in: the one above, or, behind a
        slash at the end, itself."""
        if self.means_directory:
            return self.exists
        parent = paths.parent_of(self.path)
        return parent is None or status_or_none(self.fs, parent) is not None

    def same_filesystem(self, other: Item) -> bool:
        own, its = self.fs, other.fs
        return own.uri == its.uri or own.server_copies(its).is_same_place

    def is_same_file(self, other: Item) -> bool:
        """Whether both are one file that is there, by whatever names, links and views."""
        if self.status is None or other.status is None:
            return False
        here, name = self.fs.resolve_path(self.path)
        there, path = other.fs.resolve_path(other.path)
        if here.uri != there.uri:
            return False
        if here.scheme == "file":
            return os.path.samefile(name, path)
        own = self.status.file_id
        return name == path or (own != 0 and own == other.status.file_id)


def status_or_none(fs: FileSystem, path: str) -> FileStatus | None:
    """What is at a path, None if nothing is."""
    try:
        return fs.get_file_status(path)
    except errors.PathNotFound:
        return None


class Filesystems:
    """Keeps the filesystems of a call, and connects to each when it is first named.

    The default one is found by the rule of `howdah.runtime.running_cluster`, when a path needs
    it.
    """

    def __init__(self, conf: Configuration) -> None:
        from howdah.runtime.running_cluster import (
            with_running_cluster,  # brings the parser of site files
        )

        self._conf = with_running_cluster(conf)
        self._connected: dict[str, FileSystem] = {}

    @property
    def default_uri(self) -> str:
        """Raises InvalidConfiguration where there is none."""
        from howdah.runtime.running_cluster import default_filesystem

        return default_filesystem(self._conf)

    def default(self) -> FileSystem:
        """The filesystem of paths without a scheme."""
        return self._of(paths.parse(self.default_uri))

    def local(self) -> FileSystem:
        """This machine's files."""
        return self._of(paths.Location("file", "", "/"))

    def _of(self, location: paths.Location) -> FileSystem:
        key = f"{location.scheme}://{location.authority}"
        fs = self._connected.get(key)
        if fs is None:
            fs = self._connected[key] = self._connect(location, key)
        return fs

    def _connect(self, location: paths.Location, uri: str) -> FileSystem:
        if location.scheme == "file":
            from howdah.fs.local.filesystem import LocalFileSystem

            return LocalFileSystem(location.authority, self._conf)
        if not location.authority and location.scheme != "viewfs":
            default = paths.parse(self.default_uri)
            if default.scheme != location.scheme or not default.authority:
                raise CommandProblem(f"Incomplete URI, no host: {uri}{location.path}")
            return self._of(default)
        if location.scheme not in _SCHEMES:
            raise CommandProblem(f'No FileSystem for scheme "{location.scheme}"')
        import howdah

        return howdah.connect(uri, conf=self._conf)

    def _resolve(self, text: str, *, local: bool) -> tuple[FileSystem, str, str, Style]:
        """Filesystem, absolute path, the same as a pattern, and style of an argument."""
        if not text:
            raise UsageError("Can not create a Path from an empty string")
        location = paths.parse(text)
        if location.is_qualified:
            fs = self._of(location)
            names_no_path = text.removeprefix(f"{text.partition(':')[0]}://") == location.authority
            path = paths.normalize(fs.working_directory() if names_no_path else location.path)
            return fs, path, path, Style(f"{location.scheme}://{location.authority}")
        fs = self.local() if local else self.default()
        if location.path.startswith("/"):
            path = paths.normalize(location.path)
            return fs, path, path, Style()
        base = fs.working_directory()
        path = paths.normalize(location.path, base)
        pattern = paths.normalize(location.path, glob.escape(base))
        return fs, path, pattern, Style(base=base)

    def item(self, text: str, *, local: bool = False) -> Item:
        """The one path that an argument names literally, there or not."""
        fs, path, _, style = self._resolve(text, local=local)
        return Item(fs, path, style, status_or_none(fs, path), typed=text)

    def expand(self, text: str) -> list[Item]:
        """Return the paths for an argument: the path itself if it exists or is no pattern,
        otherwise its matches.

        Raises `PathProblem` for a pattern without matches.
        """
        fs, path, pattern, style = self._resolve(text, local=False)
        if not glob.has_wildcard(text):
            return [Item(fs, path, style, status_or_none(fs, path), typed=text)]
        matches = named(fs, path, pattern)
        if not matches and glob.is_literal(text):
            # Nothing but escapes: it names one path, which may yet be made.
            name = glob.unescape(pattern)
            return [Item(fs, name, style, typed=glob.unescape(text))]
        if not matches:
            raise PathProblem.missing(text)
        if matches[0].path == path:
            return [Item(fs, path, style, matches[0], typed=text)]
        return [Item(fs, status.path, style, status) for status in matches]

    def target(self, text: str) -> Item:
        """The one path to write to, there or not; a pattern must match one and no more.

        Raises `PathProblem` for a pattern that matches nothing, or several.
        """
        matching = self.expand(text)
        if len(matching) > 1:
            raise PathProblem(text, "Too many matches")
        return matching[0]

    def close(self) -> None:
        """Let go of all connections."""
        for fs in self._connected.values():
            fs.close()
        self._connected.clear()
