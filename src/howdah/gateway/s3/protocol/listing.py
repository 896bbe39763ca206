"""Keys in S3's order, out of directories in theirs.

S3 orders whole keys by their bytes: `a-b` and `a.b` stand before `a/x`, and `a0` behind it. A
directory has `a` before `a-b`. So a directory is held back until an entry comes that is behind
`a/`: only those that begin with its name and go on with a byte below the slash overtake it. A
listing begins anywhere: directories that it has to look for are the ones that may be overtaken by
the key that it begins behind, one for each byte below a slash in that key.

An empty directory is the key `name/`. One that has entries is none, as clients would show it as a
file, unless a client has made it by that key: who deletes all keys of a listing wants nothing to
remain. Whoever lists sees a directory when its turn comes, not the tree at one moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol.names import unstorable

MAX_KEYS: Final = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A key, with the file or the directory that it stands for; or a common prefix, without
    one."""

    key: str
    status: FileStatus | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the keys that were asked for, in their order."""

    entries: list[Entry]
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class Source:
    """The directories of a bucket; paths are relative to it, and empty for the bucket itself. What
    is not there has no entries, and what is not for clients is not among them. The file of a key
    that has only older versions may be anything that says so."""

    list_after: Callable[[str, str], Iterator[FileStatus]]
    """The entries of a directory in the order of their names, behind a name."""
    find: Callable[[str], FileStatus | None]
    """What is at a path."""
    is_wanted: Callable[[str], bool]
    """Whether a client has made the directory at a path."""
    find_key: Callable[[str], FileStatus | None] | None = None
    """The file of a key, where a directory may be at the same path; None: what `find` says."""
    has_versions: Callable[[str], bool] | None = None
    """Whether a directory has older versions of keys, for which it is there; None: none has."""


def list_page(source: Source, *, prefix: str, delimiter: str, after: str, max_keys: int) -> Page:
    """Return the keys with a prefix that are behind `after`, if that is not empty. Keys that have
    `delimiter` behind the prefix count as one common prefix."""
    entries: list[Entry] = []
    for entry in _entries(source, prefix, delimiter, after):
        if len(entries) == max_keys:
            return Page(entries, is_truncated=max_keys > 0)
        entries.append(entry)
    return Page(entries, is_truncated=False)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key, with its file."""

    key: str
    id: str
    place: str
    """What a listing goes on behind: the place of a version among those of its key."""
    status: FileStatus
    is_marker: bool
    is_latest: bool


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Some of the versions that were asked for, and common prefixes, in their order."""

    entries: list[Version | str]
    is_truncated: bool

    @property
    def next_marker(self) -> tuple[str, str]:
        """Behind which key, and which of its versions, the next page begins."""
        last = self.entries[-1]
        return (last, "") if isinstance(last, str) else (last.key, last.place)


VersionsOf = Callable[[str, FileStatus, str], Iterator[Version]]
"""The versions of a key that a source has shown, newest first, behind a place."""


def list_versions(
    source: Source,
    versions_of: VersionsOf,
    *,
    prefix: str,
    delimiter: str,
    after: str,
    place: str,
    max_keys: int,
) -> VersionPage:
    """Return the versions of the keys with a prefix that are behind `after`, and with `place` those
    of `after` itself that are behind that. Each counts as one key."""
    entries: list[Version | str] = []
    for entry in _versions(source, versions_of, prefix, delimiter, after, place):
        if len(entries) == max_keys:
            return VersionPage(entries, is_truncated=max_keys > 0)
        entries.append(entry)
    return VersionPage(entries, is_truncated=False)


def _versions(
    source: Source,
    versions_of: VersionsOf,
    prefix: str,
    delimiter: str,
    after: str,
    place: str,
) -> Iterator[Version | str]:
    is_one = after.startswith(prefix) and not (delimiter and delimiter in after[len(prefix) :])
    if place and is_one and not after.endswith("/") and not unstorable(after):
        begun = (source.find_key or source.find)(after)
        if begun is not None and not begun.is_directory:
            yield from versions_of(after, begun, place)
    for entry in _entries(source, prefix, delimiter, after):
        if entry.status is None:
            yield entry.key
        else:
            yield from versions_of(entry.key, entry.status, "")


def _entries(source: Source, prefix: str, delimiter: str, after: str) -> Iterator[Entry]:
    if _is_nowhere(prefix) or (after > prefix and not after.startswith(prefix)):
        return
    walk = _Walk(source, prefix, after, folds=delimiter == "/")
    if delimiter in ("", "/"):
        yield from walk.entries()
        return
    last = ""
    for entry in walk.entries():
        end = entry.key.find(delimiter, len(prefix))
        if end < 0:
            yield entry
            continue
        common = entry.key[: end + len(delimiter)]
        if common not in (last, after):
            yield Entry(common, None)
        last = common


def _is_nowhere(prefix: str) -> bool:
    """Return whether no key can begin so: its directories have no path."""
    directory = prefix.rpartition("/")[0]
    return "/" in prefix and unstorable(directory) != ""


@dataclass(frozen=True, slots=True)
class _Directory:
    """A directory whose turn it is, and behind what its keys are wanted."""

    key: str
    rest: str | None


class _Walk:
    """One listing. `folds`: directories behind the prefix are common prefixes."""

    def __init__(self, source: Source, prefix: str, after: str, *, folds: bool) -> None:
        self._source = source
        self._prefix = prefix
        self._after = after
        self._folds = folds

    def entries(self) -> Iterator[Entry]:
        directory, slash, name = self._prefix.rpartition("/")
        top = directory + slash
        if self._after and self._after >= self._prefix:
            found = self._below(top, self._after[len(top) :])
        elif name:
            found = self._from(top, name)
        else:
            found = self._below(top, None)
        for entry in found:
            if entry.key.startswith(self._prefix):
                yield entry
            elif entry.key > self._prefix:
                return

    def _from(self, top: str, name: str) -> Iterator[Entry]:
        """The keys below a directory (`top` ends in a slash) from a name on, with that name."""
        path = top + name
        find_key = self._source.find_key or self._source.find
        status = None if unstorable(path) else find_key(path)
        if status is not None and not status.is_directory:
            yield Entry(path, status)
        yield from self._below(top, name)

    def _below(self, top: str, rest: str | None) -> Iterator[Entry]:
        """The keys below a directory that are behind `top + rest`; None: all of them, and that of
        the directory itself, if it has one."""
        # A key has up to 500 directories: they are on this stack, and not on Python's.
        stack = [self._children(top, rest)]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            elif isinstance(child, Entry):
                yield child
            elif not self._folds or len(child.key) <= len(self._prefix):
                stack.append(self._children(child.key, child.rest))
            elif self._is_shown(child):
                yield Entry(child.key, None)

    def _is_shown(self, directory: _Directory) -> bool:
        """Return whether a directory is a common prefix."""
        if directory.rest is None and self._source.has_versions is None:
            return True  # It has keys, or is one.
        return self._has_keys(directory)

    def _has_keys(self, directory: _Directory) -> bool:
        """Return whether a directory has a key behind where the listing begins in it."""
        if directory.rest == "":
            return False  # The listing before this one ended with its common prefix.
        inner = _Walk(self._source, directory.key, "", folds=False)
        return next(inner._below(directory.key, directory.rest), None) is not None

    def _children(self, top: str, rest: str | None) -> Iterator[Entry | _Directory]:
        """What is right below a directory, in the order of keys."""
        pending: list[tuple[str, str | None]] = []
        begin = ""
        if rest:
            name, slash, inner = rest.partition("/")
            begin = name + slash
            for candidate in _overtaken_by(name):
                if self._is_directory(top + candidate):
                    heapq.heappush(pending, (f"{candidate}/", None))
            if name and self._is_directory(top + name):
                heapq.heappush(pending, (f"{name}/", inner if slash else None))
        is_first = rest is None and bool(top)
        for status in self._source.list_after(top.removesuffix("/"), begin):
            if is_first and self._source.is_wanted(top.removesuffix("/")):
                yield from self._own(top)
            is_first = False
            while pending and pending[0][0] <= status.name:
                held, behind = heapq.heappop(pending)
                yield _Directory(top + held, behind)
            if status.is_directory:
                heapq.heappush(pending, (f"{status.name}/", None))
            else:
                yield Entry(top + status.name, status)
        while pending:
            held, behind = heapq.heappop(pending)
            yield _Directory(top + held, behind)
        if is_first:
            yield from self._own(top)

    def _own(self, top: str) -> Iterator[Entry]:
        """The key of a directory itself."""
        path, has_versions = top.removesuffix("/"), self._source.has_versions
        if has_versions is not None and has_versions(path) and not self._source.is_wanted(path):
            return
        own = self._source.find(path)
        if own is not None and own.is_directory:
            yield Entry(top, own)

    def _is_directory(self, path: str) -> bool:
        status = self._find(path)
        return status is not None and status.is_directory

    def _find(self, path: str) -> FileStatus | None:
        return None if unstorable(path) else self._source.find(path)


def _overtaken_by(name: str) -> Iterator[str]:
    """Yield the names of directories whose keys are behind `name`, though the names are before it.

    >>> list(_overtaken_by("part-0.csv"))
    ['part', 'part-0']
    """
    for at in range(1, len(name)):
        if name[at] < "/":
            yield name[:at]
