"""Directories where there are only keys, as Hadoop's S3A has them (shell).

A directory is there if an object lies below its prefix: a file, or its marker, an empty object
whose key ends with a slash. What is made or left empty gets a marker; markers of directories
that have files stay (`fs.s3a.directory.marker.retention` = keep). Where both an object `a` and
objects below `a/` exist, which no path of this room makes, `a` is a file.

A status costs one request for a file and two for a directory; a new file one, and one more for
the first in a directory, before that which makes it; a listing one for 1,000 names, and none for
each of them.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.objects import names
from howdah.fs.objects.names import MAX_KEY_BYTES, key_of, path_of, prefix_of
from howdah.fs.objects.store import ObjectInfo, ObjectStore, Page, Reading
from howdah.fs.paths import printable
from howdah.fs.status import FileStatus

log = logging.getLogger(__name__)

FILE_MODE: Final = 0o666
DIRECTORY_MODE: Final = 0o777
_REMEMBERED: Final = 1000
"""Directories of which it is known that no file is above them."""
BLOCK_BYTES: Final = 32 << 20
"""As S3A says, so that splits of a job are as large."""
by_path: Final = attrgetter("path")


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a path: an object, or a directory (`info` is None)."""

    path: str
    info: ObjectInfo | None

    @property
    def is_directory(self) -> bool:
        return self.info is None


class Kind(enum.Enum):
    """What is at a path."""

    NOTHING = enum.auto()
    FILE = enum.auto()
    DIRECTORY = enum.auto()


def markers_below(page: Page, prefix: str) -> Iterator[str]:
    """Return the markers among the objects of a page, except that of the prefix itself."""
    return (info.key for info in page.objects if info.key.endswith("/") and info.key != prefix)


class Tree:
    """Presents one bucket as a tree."""

    def __init__(self, store: ObjectStore, user: str) -> None:
        self.store = store
        self._user = user
        self._warned = False
        self._directories: dict[str, None] = {}

    # --- looking ------------------------------------------------------------------------

    def find(self, path: str) -> Found:
        """Raises `PathNotFound`."""
        info = self.file(path)
        if info is not None:
            return Found(path, info)
        if self.is_prefix(path):
            return Found(path, None)
        raise errors.PathNotFound(f"File does not exist: {path}").about(path)

    def file(self, path: str) -> ObjectInfo | None:
        """The object at a path, if there is one."""
        key = key_of(path)
        if not key:
            return None
        try:
            return self.store.head(key)
        except errors.PathNotFound:
            return None

    def open(self, path: str) -> tuple[ObjectInfo, Reading | None]:
        """The object at a path, with an answer that has its bytes if the store gives both at
        once. Raises `PathNotFound`, `PathIsDirectory`."""
        key = key_of(path)
        try:
            if key:
                return self.store.head_and_get(key)
        except errors.PathNotFound:
            pass
        if self.is_prefix(path):
            raise errors.PathIsDirectory(f"{path} is a directory").about(path)
        raise errors.PathNotFound(f"File does not exist: {path}").about(path)

    def is_prefix(self, path: str) -> bool:
        """Whether anything lies below a path, its marker included; the root is always there,
        if there is a bucket."""
        page = self.store.list_page(prefix_of(path), delimiter=False, limit=1)
        return bool(page.objects) or path == paths.SEPARATOR

    def kind(self, path: str) -> Kind:
        """What is at a path. Where keys are sorted, a file is the first one that begins with its
        key, so that one listing mostly tells whether it is a file, a directory or neither."""
        key = key_of(path)
        if not key:
            return Kind.DIRECTORY
        if not self.store.sorts_keys:
            if self.file(path) is not None:
                return Kind.FILE
        else:
            page = self.store.list_page(key, delimiter=False, limit=1)
            if not page.objects:
                return Kind.NOTHING
            first = page.objects[0].key
            if first == key:
                return Kind.FILE
            if first.startswith(f"{key}/"):
                return Kind.DIRECTORY
            # Another name that begins alike is before the slash.
        return Kind.DIRECTORY if self.is_prefix(path) else Kind.NOTHING

    def has_entries(self, path: str) -> bool:
        """Return whether anything but its marker lies below a directory."""
        prefix = prefix_of(path)
        page = self.store.list_page(prefix, delimiter=False, limit=2)
        while True:
            if any(info.key != prefix for info in page.objects):
                return True
            if page.token is None:
                return False
            # A store may give less than is asked for: the marker, and then the rest.
            page = self.store.list_page(prefix, delimiter=False, token=page.token, limit=2)

    def status(self, entry: Found) -> FileStatus:
        info = entry.info
        if info is not None:
            return self._status_of_file(entry.path, info)
        return FileStatus(
            path=entry.path,
            length=0,
            is_directory=True,
            replication=0,
            block_size=0,
            modification_time_ms=0,
            access_time_ms=0,
            permission=DIRECTORY_MODE,
            owner=self._user,
            group=self._user,
        )

    def _status_of_file(self, path: str, info: ObjectInfo) -> FileStatus:
        # Names of the arguments would take a fifth of a listing's time.
        user = self._user
        status = FileStatus(
            path, info.length, False, 1, BLOCK_BYTES, info.modified_ms, 0, FILE_MODE, user, user,
            None, 0, -1, 0, False, False, None, info.etag or None,
        )  # fmt: skip
        return status

    def pages(
        self, prefix: str, *, delimiter: bool, start_after: str = "", on_page: Page | None = None
    ) -> Iterator[Page]:
        """A listing, page by page; `on_page` is the first one if that is known."""
        page = on_page or self.store.list_page(prefix, delimiter=delimiter, start_after=start_after)
        while True:
            yield page
            if page.token is None:
                return
            page = self.store.list_page(prefix, delimiter=delimiter, token=page.token)

    def entries(self, path: str, on_further_page: Callable[[], None]) -> Iterator[FileStatus]:
        """Yield the entries of a directory, sorted within a page, or the one of a file. Raises
        `PathNotFound`."""
        prefix = prefix_of(path)
        first = self.store.list_page(prefix, delimiter=True)
        if not first.objects and not first.prefixes and path != paths.SEPARATOR:
            info = self.file(path)
            if info is None:
                raise errors.PathNotFound(f"File does not exist: {path}").about(path)
            yield self.status(Found(path, info))
            return
        is_first = True
        listed: set[str] = set()
        above: set[str] = set()
        for page in self.pages(prefix, delimiter=True, on_page=first):
            if not is_first:
                on_further_page()
            is_first = False
            files = [file for file in page.objects if file.key[-1:] != "/"]
            statuses = [
                self._status_of_file(f"/{file.key}", file)
                for file in files
                if self.is_nameable(file.key[len(prefix) :], prefix)
            ]
            # Some stores tell a marker below as an object, and not (only) as a prefix.
            markers = () if len(files) == len(page.objects) else markers_below(page, prefix)
            prefixes = dict.fromkeys((*page.prefixes, *markers))
            if prefixes or listed or above or page.token is not None:
                keys = above.union(file.key for file in files)
                statuses += [
                    self.status(Found(path_of(key), None))
                    for key in prefixes
                    if key.removesuffix("/") not in keys
                    and key not in listed
                    and self.is_nameable(key.removesuffix("/")[len(prefix) :], prefix)
                ]
                # A store whose markers have no slash tells of a directory twice: by its marker,
                # and where its slash would be, which may be a page further on. So may be what lies
                # below a key that is a file.
                last = max((*keys, *prefixes), default="")
                listed = {key for key in (*listed, *prefixes) if key > last or key == last}
                above = {key for key in keys if key + "/" > last}
            statuses.sort(key=by_path)
            yield from statuses

    def is_nameable(self, name: str, prefix: str) -> bool:
        """Whether a path can have this name below a prefix; the first that it cannot is logged."""
        if "/" not in name and names.is_nameable(name):
            return True
        if not self._warned:
            self._warned = True
            log.warning(
                "below %s are keys with empty names, '.' or '..' in them, which no path can "
                "name; they are left out",
                path_of(prefix),
            )
        return False

    def below(self, path: str) -> Iterator[Page]:
        """All objects below a directory, its marker included, page by page."""
        return self.pages(prefix_of(path), delimiter=False)

    # --- changing -----------------------------------------------------------------------

    def make_marker(self, path: str) -> None:
        key = prefix_of(path)
        if len(key.encode()) > MAX_KEY_BYTES:
            raise errors.InvalidPath(
                f"{printable(path)} has {len(key.encode()) - 1} bytes, and a directory of an "
                f"object store at most {MAX_KEY_BYTES - 1}"
            ).about(path)
        if key:
            self.store.put(key, b"", exclusive=False, writer=None)

    def ensure_directory(self, path: str | None) -> None:
        """A directory that lost an entry stays a directory."""
        if path is not None and path != paths.SEPARATOR and not self.is_prefix(path):
            self.make_marker(path)

    def check_no_file_above(self, path: str) -> None:
        """Raise `ParentNotDirectory` if a file is above a path. Ask up to the first existing
        directory, once for all files of a directory."""
        parent = above = paths.parent_of(path)
        while above is not None and above != paths.SEPARATOR and above not in self._directories:
            kind = self.kind(above)
            if kind is Kind.FILE:
                raise errors.ParentNotDirectory(f"{above} is a file, and no directory").about(path)
            if kind is Kind.DIRECTORY:
                break
            above = paths.parent_of(above)
        if parent is not None:
            if len(self._directories) >= _REMEMBERED:
                self._directories = {}
            self._directories[parent] = None

    def forget_directories(self) -> None:
        """What was a directory may be none any more."""
        self._directories = {}

    def file_is_made(self, path: str) -> None:
        """What was taken for a directory, as a file was to be made in it, is none."""
        self._directories.pop(path, None)

    def delete_empty(self, path: str) -> None:
        """The marker of a directory that has no entries. What others put there since stays."""
        refused = self.store.delete_many([prefix_of(path)])
        if refused:
            raise refused[0].error

    def delete_below(self, path: str) -> None:
        """Delete everything below a directory, and its marker, with one request a page of
        objects."""
        for page in self.below(path):
            refused = self.store.delete_many([info.key for info in page.objects])
            if refused:
                first = refused[0]
                raise type(first.error)(
                    f"{len(refused)} of the objects below {path} could not be deleted, the first "
                    f"is {path_of(first.key)}: {first.error}"
                ).about(path)

    def delete_file(self, path: str) -> None:
        with suppress(errors.PathNotFound):
            self.store.delete(key_of(path))
