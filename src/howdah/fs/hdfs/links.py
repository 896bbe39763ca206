"""Symbolic links of HDFS: made, asked for, and followed by the client.

The namenode follows none. It answers `UnresolvedPath` wherever a link is in the way, and
says on request where the first one leads. The path behind it is asked for then, which may
have a link again, and may be of another filesystem: then the same method of that one is
called (FileSystemLinkResolver in Hadoop).

Calls about a link itself (`delete`, `rename`, …) follow those above the last name
alone. `follow_links` and `follow_links_above` make a method do one or the other.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from howdah import errors
from howdah.config import keys
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.status import file_status
from howdah.fs.paths import PathLike
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy
    from howdah.config import Configuration

PARENT_MODE = 0o777
MAX_LINKS: Final = 32
"""So many links are followed in one path; then it is taken for a loop, as in Hadoop."""

Method = TypeVar("Method", bound=Callable[..., Any])


class Follows(Protocol):
    """A filesystem that finds out what is behind the links of a path."""

    def behind_links(self, path: PathLike, *, last: bool) -> tuple[object, str]: ...


def follow_links(method: Method) -> Method:
    """The method, whose first argument is a path, does what it does to what is behind it."""
    return _following(method, last=True)


def follow_links_above(method: Method) -> Method:
    """The same, but a link at the end of the path is what the method is about."""
    return _following(method, last=False)


def _following(method: Method, *, last: bool) -> Method:
    @functools.wraps(method)
    def call(self: Follows, path: PathLike, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, path, *args, **kwargs)
        except errors.UnresolvedPath:
            where, followed = self.behind_links(path, last=last)
        return getattr(where, method.__name__)(followed, *args, **kwargs)

    return cast(Method, call)


def behind(path: str, target: str) -> paths.Location:
    """Where the link at `path` leads.

    >>> str(behind("/a/b/link", "../c")), str(behind("/a/link", "hdfs://other:8020/x/"))
    ('/a/c', 'hdfs://other:8020/x')
    """
    location = paths.parse(target)
    if not location.is_qualified and target.startswith("//"):
        raise errors.UnresolvedLink(f"{path} leads to {target}, which has no scheme").about(path)
    return paths.Location(
        location.scheme,
        location.authority,
        paths.normalize(location.path, paths.parent_of(path) or paths.SEPARATOR),
    )


class HdfsLinks(FileSystem):
    """The part of `HdfsFileSystem` that is about links."""

    user: str
    _conf: Configuration
    _namenode: NamenodeProxy
    _umask: int
    _follows_links: bool
    _makes_links: bool

    def __init__(self) -> None:
        self._elsewhere: dict[tuple[str, str], FileSystem] = {}

    def close(self) -> None:
        """Let go of the filesystems that links led to."""
        while self._elsewhere:
            self._elsewhere.popitem()[1].close()

    def supports_symlinks(self) -> bool:
        return self._makes_links

    def create_symlink(
        self, target: PathLike, link: PathLike, *, create_parent: bool = True
    ) -> None:
        if not self._makes_links:
            raise errors.UnsupportedOperation(
                f"Symlinks not supported: {keys.HOWDAH_CLIENT_SYMLINKS_ENABLED.name} is false"
            )
        text = os.fspath(target)
        resolved = self.resolve(link)
        try:
            self._namenode.create_symlink(
                text,
                resolved,
                parent_mode=PARENT_MODE & ~self._umask,
                create_parent=create_parent,
            )
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=False)
            where.create_symlink(text, followed, create_parent=create_parent)

    def get_link_target(self, path: PathLike) -> str:
        status = self.get_file_link_status(path)
        if status.symlink is None:
            raise errors.RemoteError(f"Path {status.path} is not a symbolic link").about(
                status.path
            )
        return status.symlink

    def get_file_link_status(self, path: PathLike) -> FileStatus:
        resolved = self.resolve(path)
        try:
            proto = self._namenode.get_file_link_info(resolved)
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=False)
            return dataclasses.replace(where.get_file_link_status(followed), path=resolved)
        if proto is None:
            raise errors.PathNotFound(f"File does not exist: {resolved}").about(resolved)
        return file_status(proto, resolved)

    # --- following --------------------------------------------------------------------

    def behind_links(self, path: PathLike, *, last: bool) -> tuple[FileSystem, str]:
        """The path without links, and the filesystem that it is of.

        A link at the end is followed if it is to be the `last` one. Raises `LinkLoop`,
        `UnresolvedLink` where links are not to be followed.
        """
        start = followed = self.resolve(path)
        here: HdfsLinks = self
        if not self._follows_links:
            raise errors.UnresolvedLink(
                f"Path {start} contains a symlink and symlink resolution is disabled "
                f"({keys.FS_CLIENT_RESOLVE_REMOTE_SYMLINKS.name})."
            ).about(start)
        for _ in range(MAX_LINKS):
            target = behind(followed, here._namenode.get_link_target(followed))
            where = self._filesystem_of(target, here)
            followed = where.resolve(target.path)
            if not isinstance(where, HdfsLinks):
                return where, followed
            here = where
            try:
                if last:
                    here._namenode.get_file_info(followed)
                else:
                    here._namenode.get_file_link_info(followed)
            except errors.UnresolvedPath:
                continue
            return here, followed
        raise errors.LinkLoop(f"Possible cyclic loop while following symbolic link {start}").about(
            start
        )

    def _all_behind_links(
        self, given: Sequence[PathLike], *, last: bool
    ) -> tuple[FileSystem, list[str]]:
        """Several paths, which have to be of one filesystem."""
        found: list[tuple[FileSystem, str]] = []
        for path in given:
            resolved = self.resolve(path)
            try:
                if last:
                    self._namenode.get_file_info(resolved)
                else:
                    self._namenode.get_file_link_info(resolved)
                found.append((self, resolved))
            except errors.UnresolvedPath:
                found.append(self.behind_links(resolved, last=last))
        where = found[0][0]
        for other, path in found:
            if other.uri != where.uri:
                raise errors.IllegalArgument(
                    f"{path} is a path of {other.uri}, and {found[0][1]} one of {where.uri}"
                )
        return where, [path for _, path in found]

    def _filesystem_of(self, location: paths.Location, here: HdfsLinks) -> FileSystem:
        """That of a target; without scheme, where the link is. Connected to once."""
        if not location.is_qualified:
            return here
        key = (location.scheme, location.authority)
        known = self._elsewhere.get(key)
        if known is None:
            root = f"{location.scheme}://{location.authority}/"
            known = connect(root, conf=self._conf, user=self.user)
            if known.uri == self.uri:
                known.close()
                return self
            # Another thread may have been first.
            return self._elsewhere.setdefault(key, known)
        return known
