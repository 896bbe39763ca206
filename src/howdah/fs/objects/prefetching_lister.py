"""Listing the directories of a tree by the keys below it, many in a request (shell).

A store lists all keys below a prefix in their order, whatever slashes they have. So directories
that are asked for one after the other need no request each:

1. For a directory that is not known, keys are read from its first one on, and on behind its
   last one: a page, and more pages where what came along has proved useful. All directories
   whose last key is among them are known then.
2. A directory that goes on behind what was read is listed by its delimiter, from there on.
3. What is known is told once: who asks again hears how it is by then. Not more than
   `MOST_KEPT` keys are kept.

So a directory may be told as it was when the one before it was asked for. Where a store does not
sort its keys, only what lies below the directory itself is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.objects.names import behind, key_of, path_of, prefix_of
from howdah.fs.objects.store import ObjectInfo, Page
from howdah.fs.objects.tree import Found, Tree, by_path, markers_below
from howdah.fs.status import FileStatus

MOST_KEPT: Final = 200_000
_MOST_PAGES: Final = 20


@dataclass(slots=True)
class _Entries:
    """What is in a directory: names of those below, and files."""

    directories: dict[str, None] = field(default_factory=dict)
    files: list[ObjectInfo] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.directories) + len(self.files)


class ListingAhead:
    """Lists the directories of one tree for a caller that walks it."""

    def __init__(self, tree: Tree, top: str, on_page: Callable[[], None]) -> None:
        """`on_page` is called for each request."""
        self._tree = tree
        self._top = prefix_of(top)
        self._on_page = on_page
        self._known: dict[str, _Entries] = {}
        self._kept = 0
        self._pages = 1
        self._gained = self._used = 0
        self._tail: list[ObjectInfo] = []
        self._tail_prefix = ""
        self._token: str | None = None

    def __call__(self, path: str) -> list[FileStatus]:
        """Return the entries of a directory by path, or the one of a file. Raises
        `PathNotFound`."""
        entries = self._known.pop(key_of(path), None)
        if entries is None:
            self._adapt()
            entries = self._read(path)
        else:
            self._used += 1
            self._kept -= len(entries)
        return self._statuses(path, entries)

    def _statuses(self, path: str, entries: _Entries) -> list[FileStatus]:
        tree, prefix = self._tree, prefix_of(path)
        files = {file.key for file in entries.files}
        statuses = [tree.status(Found(path_of(file.key), file)) for file in entries.files]
        statuses += [
            tree.status(Found(path_of(prefix + name), None))
            for name in entries.directories
            if prefix + name not in files
        ]
        statuses.sort(key=by_path)
        return statuses

    def _adapt(self) -> None:
        """Read on further where that saved requests, and less where it did not."""
        is_useful = self._gained and self._used * 2 >= self._gained
        self._pages = min(self._pages * 2, _MOST_PAGES) if is_useful else max(self._pages // 2, 1)

    def _read(self, path: str) -> _Entries:
        """Read a directory that is not known, and keep the others that come along."""
        prefix = prefix_of(path)
        is_sorted = self._tree.store.sorts_keys
        if is_sorted:
            keys, token = self._read_on(prefix)
        else:
            keys, token = self._read_below(prefix)
        last = keys[-1].key if keys else ""
        by_directory = self._digested(keys)
        if token is not None:
            # Those that have the last key may go on, and those above `path` began before.
            for key in _above(last):
                if key != prefix[:-1]:
                    by_directory.pop(key, None)
        for key in _above(prefix[:-1]):
            by_directory.pop(key, None)
        own = by_directory.pop(prefix[:-1], None)
        is_cut = token is not None and last.startswith(prefix)
        self._store(by_directory, is_sorted=is_sorted, is_cut=is_cut)
        if is_sorted and token is not None:
            self._keep_tail(keys, prefix, token)
        if is_cut:
            # Of what was read so far there may be nothing that a path can name.
            own = own or _Entries()
            self._complete(own, prefix, last if is_sorted else "")
        return self._without_keys(path) if own is None else own

    def _store(self, by_directory: dict[str, _Entries], *, is_sorted: bool, is_cut: bool) -> None:
        if is_cut and not is_sorted:
            by_directory = {}
        self._gained, self._used = len(by_directory), 0
        if self._kept > MOST_KEPT:
            self._known.clear()
            self._kept = 0
        for key, entries in by_directory.items():
            before = self._known.get(key)
            self._kept += len(entries) - (0 if before is None else len(before))
            self._known[key] = entries

    # --- requests -----------------------------------------------------------------------

    def _page(self, prefix: str, *, delimiter: bool, start: str, token: str | None) -> Page:
        self._on_page()
        return self._tree.store.list_page(
            prefix, delimiter=delimiter, start_after=start, token=token
        )

    def _read_on(self, prefix: str) -> tuple[list[ObjectInfo], str | None]:
        """Read keys below the top, from those of a directory on. Return them and the token to
        continue."""
        tail, token = self._tail, self._token
        self._tail, self._token = [], None
        pages = self._pages
        if tail and self._tail_prefix <= prefix <= tail[-1].key:
            keys = [info for info in tail if info.key >= prefix]
        else:
            # The dot is just before the slash.
            start = "" if prefix == self._top else behind(f"{prefix[:-1]}.")
            page = self._page(self._top, delimiter=False, start=start, token=None)
            keys, token = list(page.objects), page.token
            pages -= 1
        while token is not None and (pages > 0 or not keys or keys[-1].key < prefix):
            page = self._page(self._top, delimiter=False, start="", token=token)
            keys += page.objects
            token = page.token
            pages -= 1
        return keys, token

    def _read_below(self, prefix: str) -> tuple[list[ObjectInfo], str | None]:
        """Keys below a directory; how to go on."""
        keys: list[ObjectInfo] = []
        token: str | None = None
        for _ in range(self._pages):
            page = self._page(prefix, delimiter=False, start="", token=token)
            keys += page.objects
            token = page.token
            if token is None:
                break
        return keys, token

    def _keep_tail(self, keys: list[ObjectInfo], prefix: str, token: str) -> None:
        """What was read of a directory that goes on, for when its turn comes."""
        for key in reversed(list(_above(keys[-1].key))):
            below = f"{key}/"
            if key and below.startswith(self._top) and not prefix.startswith(below):
                self._tail = [listed for listed in keys if listed.key.startswith(below)]
                self._tail_prefix, self._token = below, token
                return

    def _complete(self, own: _Entries, prefix: str, last: str) -> None:
        """Add the entries of a directory after the key `last`."""
        start = ""
        if last:
            name, slash, _ = last.removeprefix(prefix).partition("/")
            start = behind(f"{prefix}{name}/") if slash else last
        else:
            own.directories.clear()
            own.files.clear()
        token: str | None = None
        while True:
            page = self._page(prefix, delimiter=True, start=start, token=token)
            for info in page.objects:
                name = info.key.removeprefix(prefix)
                if name and not name.endswith("/") and self._tree.is_nameable(name, prefix):
                    own.files.append(info)
            for below in (*page.prefixes, *markers_below(page, prefix)):
                name = below.removeprefix(prefix).removesuffix("/")
                if self._tree.is_nameable(name, prefix):
                    own.directories[name] = None
            token = page.token
            if token is None:
                return

    def _without_keys(self, path: str) -> _Entries:
        """Of a path below which nothing lies: a file, or an error."""
        if path == paths.SEPARATOR:
            return _Entries()
        info = self._tree.file(path)
        if info is None:
            raise errors.PathNotFound(f"File does not exist: {path}").about(path)
        return _Entries(files=[info])

    # --- what keys say ------------------------------------------------------------------

    def _digested(self, keys: list[ObjectInfo]) -> dict[str, _Entries]:
        """Group keys below the top by directory, whose key has no slash."""
        by_directory: dict[str, _Entries | None] = {}
        for info in keys:
            parent, slash, name = info.key.rpartition("/")
            # Before a slash that begins a key is an empty name, and not the root.
            parent = parent or slash
            if parent not in by_directory:
                by_directory[parent] = self._made(parent, by_directory)
            own = by_directory[parent]
            if own is not None and name and self._tree.is_nameable(name, f"{parent}/"):
                own.files.append(info)
        return {key: entries for key, entries in by_directory.items() if entries is not None}

    def _made(self, key: str, by_directory: dict[str, _Entries | None]) -> _Entries | None:
        """Make a directory, and enter it in those above it. Return None for one that no path can
        name."""
        if key == self._top[:-1]:
            return _Entries()
        if key.startswith("/"):
            return None
        above, _, name = key.rpartition("/")
        if above not in by_directory:
            by_directory[above] = self._made(above, by_directory)
        own = by_directory[above]
        if own is None or not self._tree.is_nameable(name, f"{above}/"):
            return None
        own.directories[name] = None
        return _Entries()


def _above(key: str) -> Iterator[str]:
    """The directories that a key lies in, the nearest first; the root is empty.

    >>> list(_above("a/b/c"))
    ['a/b', 'a', '']
    """
    while key:
        key = key.rpartition("/")[0]
        yield key
