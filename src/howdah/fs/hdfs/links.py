"""Symbolic links of HDFS, which the client follows.

The namenode follows none. It answers `UnresolvedPath` wherever a link is in the way, and
says on request where the first one leads. The path behind it is asked for then, which may
have a link again, and may be of another filesystem: then the same method of that one is
called (FileSystemLinkResolver in Hadoop).

Calls about a link itself (`delete`, `rename`, …) follow those above the last name
alone. `follow_links` and `follow_links_above` make a method do one or the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

from howdah import errors
from howdah.fs import paths
from howdah.fs.paths import PathLike

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
