"""The filesystems of a job, as its tasks find them: connections that a process keeps.

Spark's Python workers run one task after the other. A worker that connected for each task
would lose time on it, so each process keeps one client for each filesystem, user and
configuration. A `Place` is what travels to the executors: a value that connects there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

from howdah import errors
from howdah.config import Configuration
from howdah.copy.common.job_tokens import carrying_tokens
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.path_expansion import named
from howdah.fs.registry import connect, is_laid_over, resolve_uri
from howdah.fs.status import FileStatus
from howdah.fs.viewfs.loading import SCHEME
from howdah.runtime.users.names import ProvenUser

ONE_PROCESS: Final = ("mem", "memory")
"""Schemes whose files no other process sees."""
_OBJECT_STORES: Final = frozenset(
    (
        *("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "wasb", "wasbs", "adl"),
        *("oci", "oss", "obs", "tos", "hf", "r2"),
    )
)
_OUR_OBJECT_STORES: Final = frozenset(("s3", "s3a", "gs", "abfs", "abfss", "az", "wasb", "wasbs"))

_Key = tuple[str, str | None, tuple[tuple[str, str], ...]]
_open: dict[_Key, FileSystem] = {}
_tokens: dict[_Key, tuple[object, ...]] = {}
"""Of the job that a filesystem was opened for: the next job has others."""
_lock = threading.Lock()
_owner = os.getpid()


def is_object_store(fs: FileSystem) -> bool:
    """Whether files are objects: a rename is a copy, and directories are parts of names."""
    return fs.scheme in _OBJECT_STORES


def keeps_directories(fs: FileSystem) -> bool:
    """Whether a directory without files is there: our own object stores mark it."""
    return not is_object_store(fs) or fs.scheme in _OUR_OBJECT_STORES


@dataclass(frozen=True, slots=True)
class Place:
    """A filesystem, the user, and the configuration; `settings` are its keys and values."""

    uri: str
    user: str | None = None
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, uri: str | None, conf: Configuration, user: str | None) -> Place:
        """The filesystem of a URI or of a path on the default one.

        Raises `UnsupportedOperation` for one that executors can't reach.
        """
        _, conf = resolve_uri(uri, conf)
        fs = connect(uri, conf=conf, user=user)
        scheme = paths.parse(fs.uri).scheme
        if scheme in ONE_PROCESS:
            raise errors.UnsupportedOperation(
                f"{scheme}:// is in the memory of one process, which executors do not share"
            )
        whose = carrying_tokens(fs, getattr(fs, "user", user))
        return cls(fs.uri or f"{scheme}://", whose, tuple(conf.items()))

    def connect(self) -> FileSystem:
        """This process's client, which stays open for the next task."""
        global _owner
        key = (self.uri, self.user, self.settings)
        with _lock:
            if os.getpid() != _owner:
                # This process was forked: the connections are its parent's.
                _open.clear()
                _owner = os.getpid()
            tokens = self.user.carried if isinstance(self.user, ProvenUser) else ()
            if key not in _open or _tokens.get(key, ()) != tokens:
                conf = Configuration(dict(self.settings))
                _open[key] = connect(self.uri + "/", conf=conf, user=self.user)
                _tokens[key] = tokens
            return _open[key]

    def with_settings(self, values: dict[str, str]) -> Place:
        """The same place with other values of its configuration."""
        merged = dict(self.settings) | values
        return Place(self.uri, self.user, tuple(sorted(merged.items())))


def status_of(fs: FileSystem, path: str) -> FileStatus | None:
    """The status of a path; None if nothing is there."""
    try:
        return fs.get_file_status(path)
    except (errors.PathNotFound, errors.ParentNotDirectory):
        return None


def prefix(path: str) -> str:
    """A path to which `/name` can be appended: empty for the root."""
    return "" if path == paths.SEPARATOR else path


def located(name: str) -> str | None:
    """A URI as `connect` takes it; None for a path of the default filesystem."""
    return name if paths.parse(name).is_qualified else None


def behind_view(name: str, conf: Configuration, user: str | None) -> str:
    """The URI of the same path in the filesystem that has it, for a path of a `viewfs://`;
    any other name as it is.

    A job of a view is one of its target: what asks for HDFS finds it, and executors need no
    mount table. Raises `UnsupportedOperation` for a directory of the mount table itself.
    """
    with connect(located(name), conf=conf, user=user) as fs:
        return name if fs.scheme != SCHEME else _behind(fs, fs.resolve(name), conf)


def sources_behind_views(
    names: Iterable[str], conf: Configuration, user: str | None
) -> tuple[str, ...]:
    """Resolve patterns as `behind_view` does paths. Those of a view become the paths that they
    match."""
    sources: list[str] = []
    for name in names:
        with connect(located(name), conf=conf, user=user) as fs:
            if fs.scheme != SCHEME:
                sources.append(name)
                continue
            matching = [status.path for status in named(fs, name)]
            if not matching:
                sources.append(name)  # whoever looks for it says that it is not there
            for path in matching:
                where = paths.parse(_behind(fs, path, conf))
                if where.scheme == SCHEME:
                    sources.append(fs.uri + path)
                else:
                    sources.append(f"{where.scheme}://{where.authority}{where.path}")
    return tuple(sources)


def _behind(fs: FileSystem, path: str, conf: Configuration) -> str:
    target, there = fs.resolve_path(path)
    if target is fs:
        raise errors.UnsupportedOperation(
            f"{fs.uri}{path} is a directory of the mount table {fs.uri}: name what is in its "
            "mount points"
        ).about(path)
    if is_laid_over(target.scheme, conf):
        return fs.uri + path  # its URI would lead through the table that is laid over
    return target.uri + there


T = TypeVar("T")
R = TypeVar("R")

THREADS: Final = 16


def for_each(ask: Callable[[T], R], many: Iterable[T]) -> list[R]:
    """Call `ask` for each, in several threads; return the answers in order, or raise the first
    error."""
    several = list(many)
    if len(several) < 2:
        return [ask(item) for item in several]
    with ThreadPoolExecutor(THREADS, thread_name_prefix="driver") as pool:
        futures = [pool.submit(ask, item) for item in several]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
