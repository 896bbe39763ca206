"""From a path of the view to a path of a target, and back in statuses and errors.

Targets are connected to when a path first leads there, one client for each filesystem. A
target may be a view itself; one that leads back to a view above it is refused.
"""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from howdah import errors
from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.paths import Location, PathLike
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.fs.viewfs import internal, loading
from howdah.fs.viewfs.mount_table import Link, Nfly, Resolved
from howdah.fs.viewfs.nfly import NflyFileSystem, Target
from howdah.runtime.users.current import current_user
from howdah.runtime.users.groups import groups_from


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """A path of the view, and where it is."""

    name: str
    fs: FileSystem
    path: str
    link: Link

    def named(self, status: FileStatus) -> FileStatus:
        """The status of this very path, under its name in the view."""
        return dataclasses.replace(status, path=self.name)

    def entry(self, status: FileStatus) -> FileStatus:
        """The status of an entry of this directory; of a file it is the file itself."""
        if status.path == self.path:
            return self.named(status)
        return dataclasses.replace(status, path=paths.join(self.name, status.name))


class Delegation(FileSystem):
    """Finds the targets of a view."""

    scheme: ClassVar[str] = loading.SCHEME

    def __init__(
        self,
        authority: str = "",
        conf: Configuration | None = None,
        user: str | None = None,
        *,
        scheme: str = loading.SCHEME,
    ) -> None:
        # One class serves viewfs: and every scheme that is laid over.
        self.scheme = scheme  # type: ignore[misc]
        self._authority = authority
        self._conf = Configuration.load() if conf is None else conf
        self.user = user or current_user()
        self._view = loading.load(scheme, authority, self._conf, self._past_views)
        self.table = self._view.table
        self._looks = internal.Looks(
            self.user, groups_from(self._conf).primary(self.user), time.time_ns() // 1_000_000
        )
        self._targets: dict[tuple[str, str], FileSystem] = {}
        self._nflies: dict[str, FileSystem] = {}
        self._lock = threading.Lock()
        self._views_above: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[partial[Delegation], tuple[str, Configuration, str]]:
        """Pickled for another process, it is one that connects anew, as the same user."""
        return partial(type(self), scheme=self.scheme), (self._authority, self._conf, self.user)

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self._authority}"

    def home_directory(self) -> str:
        return paths.join(self.table.home_prefix, self.user)

    def close(self) -> None:
        """Let go of the targets."""
        with self._lock:
            targets, self._targets = list(self._targets.values()), {}
            self._nflies = {}
        failed: errors.HowdahError | None = None
        for fs in targets:
            try:
                fs.close()
            except errors.HowdahError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def child_filesystems(self) -> list[FileSystem]:
        """Return the targets of all links but those by expression, each filesystem once."""
        filesystems: dict[str, FileSystem] = {}
        for link in self.table.all_links():
            for target in link.targets:
                for fs in self._target(link, target).child_filesystems():
                    filesystems[fs.uri] = fs
        return list(filesystems.values())

    # --- targets ----------------------------------------------------------------------

    def _past_views(self, location: Location) -> FileSystem:
        """A filesystem as it is without the scheme of this one laid over it."""
        uri = f"{location.scheme}://{location.authority}/"
        return connect(
            uri, conf=self._conf, user=self.user, laid_over=location.scheme != self.scheme
        )

    def _target(self, link: Link, target: Location) -> FileSystem:
        """The filesystem that a link leads to."""
        key = (target.scheme, target.authority.lower())
        with self._lock:
            fs = self._targets.get(key)
            if fs is None:
                fs = self._targets[key] = self._connect(link, target)
            return fs

    def _connect(self, link: Link, target: Location) -> FileSystem:
        try:
            fs = self._past_views(target)
        except (errors.InvalidConfiguration, errors.UnsupportedOperation) as error:
            raise type(error)(f"{link.key} = {link.target_text}: {error.message}") from error
        if isinstance(fs, Delegation):
            above = (*self._views_above, f"{self.uri} ({link.key})")
            if any(view.partition(" ")[0] == fs.uri for view in above):
                raise errors.LinkLoop(
                    f"Mount tables lead back to themselves: {' -> '.join((*above, fs.uri))}"
                ).about(link.mount)
            fs._views_above = above
        return fs

    def _reach(self, resolved: Resolved) -> Reached:
        """The target of what is resolved to a link."""
        link = resolved.link
        assert link is not None
        if link.nfly is not None:
            return Reached(resolved.path, self._nfly(link, link.nfly), resolved.remaining, link)
        return Reached(resolved.path, self._target(link, link.target), resolved.behind, link)

    def _nfly(self, link: Link, rules: Nfly) -> FileSystem:
        """All targets of a link as one filesystem: the same one for all its paths."""
        targets = [Target(self._target(link, target), target.path) for target in link.targets]
        with self._lock:
            fs = self._nflies.get(link.mount)
            if fs is None:
                home = self.home_directory()
                fs = self._nflies[link.mount] = NflyFileSystem(targets, rules, home)
            return fs

    # --- calls ------------------------------------------------------------------------

    @contextmanager
    def _changing(self, path: PathLike, operation: str) -> Iterator[tuple[FileSystem, str]]:
        """A target and a path there, to change; internal directories are read-only."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal:
            raise internal.read_only(operation, name)
        with self._there(resolved) as reached:
            yield reached.fs, reached.path

    @contextmanager
    def _any_target(self, path: PathLike, operation: str) -> Iterator[tuple[FileSystem, str]]:
        """A target and a path there, to ask what internal directories have no answer to."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal:
            raise internal.not_in_mount_point(operation, name)
        with self._there(resolved) as reached:
            yield reached.fs, reached.path

    @contextmanager
    def _of_file(self, path: PathLike) -> Iterator[tuple[FileSystem, str]]:
        """A target and a path there, for what is done with files alone."""
        with self._there(self._file(path)) as reached:
            yield reached.fs, reached.path

    def _file(self, path: PathLike) -> Resolved:
        """What a path leads to where internal directories are no answer."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal:
            raise internal.is_a_directory(name)
        return resolved

    @contextmanager
    def _there(self, resolved: Resolved) -> Iterator[Reached]:
        reached = self._reach(resolved)
        with renamed_errors({reached.path: reached.name}, reached.name):
            yield reached


@contextmanager
def renamed_errors(names: dict[str, str], path: str, other: str | None = None) -> Iterator[None]:
    """Make errors raised within name paths of the view; `names` maps those of the targets to
    them."""
    try:
        yield
    except errors.HowdahError as error:
        known = {there: here for there, here in names.items() if there not in ("/", here)}
        if known:
            alternatives = "|".join(re.escape(name) for name in sorted(known, key=len)[::-1])
            whole = re.compile(rf"(?<![\w.\-/])(?:{alternatives})(?![\w.\-])")
            error.message = whole.sub(lambda match: known[match[0]], error.message)
            error.args = (error.message,)
        if isinstance(error, OSError):
            as_os_error: OSError = error
            as_os_error.filename, as_os_error.filename2 = path, other
        raise
