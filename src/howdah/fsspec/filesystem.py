"""`HowdahFileSystem`: HDFS as fsspec knows filesystems.

pandas, pyarrow, dask, duckdb and everything else that speaks fsspec reads and writes
HDFS through this class, without a JVM. Reads are true range reads: `cat_file` and
`cat_ranges` ask datanodes for the bytes that are wanted and no others, and `open`
returns howdah's own stream, which fetches as it is read. Where many files are asked
for, several are read at once.

fsspec's rules are kept: paths have no protocol and no trailing slash, `info` names
are full paths, missing files are `FileNotFoundError`. Nothing is cached, since files
of a shared filesystem change behind one's back.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.utils import isfilelike, tokenize

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.value_types import parse_decimal
from howdah.fs import paths
from howdah.fs.batch_reading import FAILURES, all_at_once, read_files
from howdah.fs.registry import connect
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataOutputStream, as_bytes, whole_or_none
from howdah.fs.viewfs.loading import with_mount_points_as_directories
from howdah.fsspec import options
from howdah.fsspec.copy_and_move import MovingFileSystem
from howdah.fsspec.files import CachedFile, UncommittedFile, reopened
from howdah.fsspec.path_patterns import a_pool_calls, check_names
from howdah.protocol.striping.policies import REPLICATION_NAME
from howdah.security.identity import acting_user

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

log = logging.getLogger(__name__)

_TICKET_CACHE = keys.HADOOP_SECURITY_KERBEROS_TICKET_CACHE_PATH.name
_COPY_BYTES = 4 * 1024 * 1024
Info = dict[str, Any]


class HowdahFileSystem(MovingFileSystem):
    """HDFS in fsspec's terms. `host`, `port` and `user` may come from the URL.

    `conf` are Hadoop keys that override the site files of `HADOOP_CONF_DIR`;
    `replication`, `block_size` and `ec_policy` hold for new files. An `ec_policy` is the name of an
    erasure coding policy, or `replication` for replicated files in a directory with a policy;
    without one the directory decides. For `proxy_to` the `user` acts, as in
    fsspec's WebHDFS. On a cluster secured by Kerberos the user is that of a `keytab` and its
    `principal`, of the ticket cache `kerb_ticket`, of the delegation tokens in a `token_file`, or
    of what `howdah.connect` finds without. Files are named, never what is in them: a filesystem
    that is pickled has no secret, and finds the files where it is used.
    Anything else is a `TypeError`.
    """

    protocol: tuple[str, ...] = ("howdah", "hdfs")
    root_marker = "/"
    sep = "/"
    _scheme = "hdfs"
    _own_protocol = "howdah"

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        user: str | None = None,
        replication: int | None = None,
        block_size: int | None = None,
        conf: Mapping[str, str] | None = None,
        proxy_to: str | None = None,
        keytab: str | None = None,
        principal: str | None = None,
        kerb_ticket: str | None = None,
        ec_policy: str | None = None,
        token_file: str | None = None,
        **storage_options: Any,
    ) -> None:
        options.check(
            storage_options.keys() - options.OF_FSSPEC, options.FILESYSTEM, type(self).__name__
        )
        super().__init__(**storage_options)
        authority = (host or "") + (f":{port}" if host and port else "")
        self._replication = replication
        self._block_size = block_size
        self._ec_policy = ec_policy
        ticket = {} if kerb_ticket is None else {_TICKET_CACHE: kerb_ticket}
        configuration = self._configuration({**(conf or {}), **ticket})
        real_user = None
        if proxy_to:
            real_user = user or acting_user(
                configuration, keytab=keytab, principal=principal, token_file=token_file
            )
        self._hdfs: FileSystem = connect(
            f"{self._scheme}://{authority}/",
            conf=configuration,
            user=proxy_to or user,
            real_user=real_user,
            keytab=keytab,
            principal=principal,
            token_file=token_file,
        )

    def _configuration(self, conf: Mapping[str, str]) -> Configuration:
        return Configuration.load(overrides=conf)

    @property
    def hdfs(self) -> FileSystem:
        """The filesystem underneath, for what fsspec has no word for."""
        return self._hdfs

    @property
    def fsid(self) -> str:
        return self._hdfs.uri

    # --- paths ------------------------------------------------------------------------

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        text = paths.text_of(path)
        if not text:
            return cls.root_marker
        location = paths.parse(text)
        bare = location.path if location.scheme in cls.protocol else text
        # fsspec compares such paths with those that listings have.
        return paths.normalize("/" + bare.strip("/"))

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        authority = paths.parse(path).authority
        user, _, place = authority.rpartition("@")
        host, _, port = place.rpartition(":") if ":" in place else (place, "", "")
        kwargs: dict[str, Any] = {}
        if host:
            kwargs["host"] = host
        if port:
            try:
                kwargs["port"] = parse_decimal(port)
            except ValueError as error:
                raise errors.IllegalArgument(f"{path}: {port!r} is not a port") from error
        if user:
            kwargs["user"] = user
        return kwargs

    def unstrip_protocol(self, name: str) -> str:
        """The URL of a path, which every process can open that has howdah, `install()` or not."""
        return f"{self._own_protocol}://{self._authority}{self._strip_protocol(name)}"

    @property
    def _authority(self) -> str:
        return paths.parse(self._hdfs.uri).authority

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.unstrip_protocol('/')!r})"

    # --- looking ----------------------------------------------------------------------

    def info(self, path: str, **kwargs: Any) -> Info:
        return _info(self._hdfs.get_file_status(self._strip_protocol(path)))

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        infos = [_info(s) for s in self._hdfs.list_status_iter(self._strip_protocol(path))]
        return infos if detail else [info["name"] for info in infos]

    def exists(self, path: str, **kwargs: Any) -> bool:
        return self._hdfs.exists(self._strip_protocol(path))

    def isdir(self, path: str) -> bool:
        return self._hdfs.is_directory(self._strip_protocol(path))

    def isfile(self, path: str) -> bool:
        return self._hdfs.is_file(self._strip_protocol(path))

    def modified(self, path: str) -> datetime:
        status = self._hdfs.get_file_status(self._strip_protocol(path))
        return datetime.fromtimestamp(status.modification_time_ms / 1000, tz=UTC)

    def created(self, path: str) -> datetime:
        raise NotImplementedError("HDFS keeps no time of creation; see modified()")

    def checksum(self, path: str) -> int:
        """A number that differs when the content does; of a directory, of what it says."""
        status = self._hdfs.get_file_status(self._strip_protocol(path))
        if status.is_file:
            checksum = self._hdfs.get_file_checksum(status.path)
            if checksum is not None:
                return int.from_bytes(checksum.bytes, "big")
        return int(tokenize(_info(status)), 16)

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        **kwargs: Any,
    ) -> Iterator[tuple[str, Any, Any]]:
        """As fsspec's. From the top down directories are listed many at a time; those that the
        caller takes out of the dict (`detail=True`) are spared, and those below `maxdepth`."""
        if not topdown or maxdepth == 1:
            yield from super().walk(
                path, maxdepth=maxdepth, topdown=topdown, on_error=on_error, **kwargs
            )
            return
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        detail = kwargs.pop("detail", False)
        top = self._strip_protocol(path)
        tell = _raise if on_error == "raise" else on_error if callable(on_error) else _omit
        for where, directories, files in self._hdfs.walk(top, tell):
            below = {status.name: _info(status) for status in directories}
            here = {"" if file.path == where else file.name: _info(file) for file in files}
            yield where, below if detail else list(below), here if detail else list(here)
            if maxdepth is not None and _depth(top, where) + 1 >= maxdepth:
                directories.clear()
            if detail:
                directories[:] = [status for status in directories if status.name in below]

    def du(
        self,
        path: str,
        total: bool = True,
        maxdepth: int | None = None,
        withdirs: bool = False,
        **kwargs: Any,
    ) -> int | dict[str, int]:
        stripped = self._strip_protocol(path)
        if total and maxdepth is None:
            # Directories have no size, so the namenode's sum is the same, in one call.
            return self._hdfs.du(stripped)
        sizes: int | dict[str, int] = super().du(
            stripped, total=total, maxdepth=maxdepth, withdirs=withdirs, **kwargs
        )
        return sizes

    # --- changing the tree --------------------------------------------------------------

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        stripped = self._strip_protocol(path)
        if self._hdfs.exists(stripped):
            raise errors.PathExists(f"{stripped} exists").about(stripped)
        if create_parents:
            self._hdfs.mkdirs(stripped)
        else:
            self._hdfs.mkdir(stripped)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        stripped = self._strip_protocol(path)
        if not exist_ok and self._hdfs.exists(stripped):
            raise errors.PathExists(f"{stripped} exists").about(stripped)
        self._hdfs.mkdirs(stripped)

    def rmdir(self, path: str) -> None:
        status = self._hdfs.get_file_status(self._strip_protocol(path))
        if not status.is_directory:
            raise errors.PathIsNotDirectory(f"{status.path} is not a directory").about(status.path)
        self._hdfs.delete(status.path, recursive=False)

    def rm_file(self, path: str) -> None:
        stripped = self._strip_protocol(path)
        if not self._hdfs.delete(stripped, recursive=False):
            raise errors.PathNotFound(f"{stripped} does not exist").about(stripped)

    _rm = rm_file

    def rm(
        self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None
    ) -> None:
        several = [path] if isinstance(path, str | os.PathLike) else list(path)
        gives_names = a_pool_calls()
        if gives_names:
            check_names(self, several)
        # No second look: what was removed since must not become a pattern.
        if not recursive or maxdepth is not None:
            names = self.expand_path(several, recursive, maxdepth, assume_literal=gives_names)
            for name in reversed(names):
                self.rm_file(name)
            return
        removed: set[str] = set()
        for name in self.expand_path(several, assume_literal=gives_names):
            if _has_parent_in(name, removed):
                continue
            if not self._hdfs.delete(name, recursive=True):
                raise errors.PathNotFound(f"{name} does not exist").about(name)
            removed.add(name)

    def touch(self, path: str, truncate: bool = True, **kwargs: Any) -> None:
        stripped = self._strip_protocol(path)
        if truncate or not self._hdfs.exists(stripped):
            self._create(stripped).close()
        else:
            now_ms = int(datetime.now(UTC).timestamp() * 1000)
            self._hdfs.set_times(stripped, mtime_ms=now_ms, atime_ms=now_ms)

    def chmod(self, path: str, mode: int) -> None:
        """Set the mode bits."""
        self._hdfs.set_permission(self._strip_protocol(path), mode)

    def chown(self, path: str, owner: str | None = None, group: str | None = None) -> None:
        """Set owner, group or both."""
        self._hdfs.set_owner(self._strip_protocol(path), owner, group)

    # --- content ------------------------------------------------------------------------

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> io.BufferedIOBase:
        stripped = self._strip_protocol(path)
        known = options.ANYWHERE | (options.READING if mode == "rb" else options.WRITING)
        options.check_spelling(kwargs, known, f"opening {stripped} as {mode!r}")
        if mode == "rb":
            stream = self._hdfs.open(stripped)
            cache_type = kwargs.get("cache_type")
            if cache_type is None:
                stream.reopened = partial(reopened, self, stripped)
                return stream
            return CachedFile(
                self,
                stripped,
                stream,
                block_size=block_size or "default",
                cache_type=cache_type,
                cache_options=dict(cache_options or {}),
            )
        if mode == "ab":
            if not autocommit:
                raise errors.UnsupportedOperation(f"{stripped}: no append within a transaction")
            with contextlib.suppress(errors.PathNotFound):
                return self._appended(stripped)
            try:
                return self._create(stripped, overwrite=False, **kwargs)
            except errors.PathExists:  # another has made it meanwhile
                return self._appended(stripped)
        if mode not in ("wb", "xb"):
            raise ValueError(f"mode {mode!r} is not offered: rb, wb, xb or ab")
        if autocommit:
            return self._create(stripped, overwrite=mode == "wb", **kwargs)
        if mode == "xb" and self._hdfs.exists(stripped):
            raise errors.PathExists(f"{stripped} exists").about(stripped)
        return UncommittedFile(
            self._hdfs,
            stripped,
            create=partial(self._create, **kwargs),
            overwrite=mode == "wb",
        )

    def _appended(self, path: str) -> FSDataOutputStream:
        # A block group that has ended gets no more bytes.
        new_block = self._hdfs.get_file_status(path).is_erasure_coded
        return self._hdfs.append(path, new_block=new_block)

    def _create(
        self,
        path: str,
        *,
        overwrite: bool = True,
        replication: int | None = None,
        hdfs_block_size: int | None = None,
        permission: int | None = None,
        ec_policy: str | None = None,
        **kwargs: Any,
    ) -> FSDataOutputStream:
        return self._creator(ec_policy or self._ec_policy)(
            path,
            overwrite=overwrite,
            replication=replication or self._replication,
            block_size=hdfs_block_size or self._block_size,
            permission=permission,
        )

    def _creator(self, ec_policy: str | None) -> Callable[..., FSDataOutputStream]:
        """What creates files by an erasure coding policy; None: by that of their directory."""
        fs = self._hdfs
        if ec_policy is None:
            return fs.create
        from howdah.fs.hdfs.filesystem import HdfsFileSystem  # hardly ever needed

        if not isinstance(fs, HdfsFileSystem):
            raise errors.UnsupportedOperation(
                f"{fs.uri} has no files with an erasure coding policy of their own "
                f"(ec_policy={ec_policy!r})"
            )
        if ec_policy == REPLICATION_NAME:
            return partial(fs.create, replicate=True)
        return partial(fs.create, ec_policy=ec_policy)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        with self._hdfs.open(self._strip_protocol(path)) as file:
            first, last, _ = slice(start, end).indices(file.size)
            return file.pread(first, max(last - first, 0))

    def cat_ranges(
        self,
        paths: list[str],
        starts: int | Sequence[int | None],
        ends: int | Sequence[int | None],
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        """Read the bytes from `starts[i]` to `ends[i]` of `paths[i]`, as Python's slices.

        Ranges of one file with gaps up to `max_gap` between them are one read. Without it,
        `fs.hdfs.vectored.read.min.seek.size` sets the gap.
        """
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        first = starts if isinstance(starts, Iterable) else [starts] * len(paths)
        last = ends if isinstance(ends, Iterable) else [ends] * len(paths)
        if len(first) != len(paths) or len(last) != len(paths):
            raise ValueError("as many starts and ends as paths are needed")
        if on_error not in ("return", "raise"):
            raise ValueError(f"on_error is 'return' or 'raise', not {on_error!r}")
        slices = [slice(start, end) for start, end in zip(first, last, strict=True)]
        wanted = list(zip(map(self._strip_protocol, paths), slices, strict=True))
        return list(
            read_files(self._hdfs.open, wanted, max_gap, stops_at_error=on_error == "raise")
        )

    def cat(
        self, path: Any, recursive: bool = False, on_error: str = "raise", **kwargs: Any
    ) -> Any:
        """Read files as fsspec does, several at once. Return a dict for more than one."""
        names = self.expand_path(path, recursive=recursive, **kwargs)
        if not isinstance(path, list) and names == [self._strip_protocol(path)]:
            return self.cat_file(names[0], **kwargs)

        def read(name: str) -> Any:
            try:
                return self.cat_file(name, **kwargs)
            except FAILURES as error:
                if on_error == "raise":
                    raise
                return error

        contents = zip(names, all_at_once(read, names), strict=True)
        return {
            name: data
            for name, data in contents
            if on_error != "omit" or not isinstance(data, Exception)
        }

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        # What holds no bytes is found out before the old file is gone.
        content = value if type(value) is bytes else as_bytes(value)
        out = self.open(path, "xb" if mode == "create" else "wb", **kwargs)
        with whole_or_none(out) if isinstance(out, FSDataOutputStream) else out as file:
            file.write(content)

    def put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **kwargs: Any,
    ) -> None:
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as reading:
            callback.set_size(os.fstat(reading.fileno()).st_size)
            out = self.open(rpath, "xb" if mode == "create" else "wb", **kwargs)
            # Within a transaction it is its end that counts.
            with whole_or_none(out) if isinstance(out, FSDataOutputStream) else out as writing:
                while data := reading.read(_COPY_BYTES):
                    writing.write(data)
                    callback.relative_update(len(data))

    def get_file(
        self,
        rpath: str,
        lpath: Any = None,
        callback: Any = DEFAULT_CALLBACK,
        outfile: Any = None,
        **kwargs: Any,
    ) -> None:
        target = outfile if outfile is not None else lpath if isfilelike(lpath) else None
        if target is None and self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
            return
        with contextlib.ExitStack() as stack:
            reading = stack.enter_context(self._hdfs.open(self._strip_protocol(rpath)))
            callback.set_size(reading.size)
            if target is None:
                os.makedirs(os.path.dirname(os.path.abspath(lpath)), exist_ok=True)
                target = stack.enter_context(open(lpath, "wb"))
            while data := reading.read(_COPY_BYTES):
                target.write(data)
                callback.relative_update(len(data))


class HowdahViewFileSystem(HowdahFileSystem):
    """`viewfs://NAME/`: several filesystems by the mount table NAME of the configuration.

    Mount points are directories here, unless `fs.viewfs.mount.links.as.symlinks` says that
    they are links: fsspec's walks go into no links.
    """

    protocol = ("viewfs",)
    _scheme = "viewfs"
    _own_protocol = "viewfs"

    def _configuration(self, conf: Mapping[str, str]) -> Configuration:
        return with_mount_points_as_directories(super()._configuration(conf))


class HowdahWebHdfsFileSystem(HowdahFileSystem):
    """`webhdfs://host:port/`: HDFS over HTTP, where no port for RPC can be reached.

    fsspec has a class for this scheme, which `install()` puts this one in the place of: this one
    also finds the active one of several namenodes, and writes without a block in memory.
    """

    protocol: tuple[str, ...] = ("webhdfs",)
    _scheme = "webhdfs"
    _own_protocol = "webhdfs"


class HowdahSWebHdfsFileSystem(HowdahWebHdfsFileSystem):
    """`swebhdfs://host:port/`: the same over TLS. `ssl-client.xml` says whom it believes
    (`dfs.client.https.keystore.resource` in `conf` is its path)."""

    protocol = ("swebhdfs",)
    _scheme = "swebhdfs"
    _own_protocol = "swebhdfs"


def _depth(top: str, path: str) -> int:
    """How many directories a path is below another one."""
    return path.rstrip("/").count("/") - top.rstrip("/").count("/")


def _has_parent_in(path: str, removed: Container[str]) -> bool:
    parent = paths.parent_of(path)
    while parent is not None and parent not in removed:
        parent = paths.parent_of(parent)
    return parent is not None


def _raise(error: errors.HowdahError) -> None:
    raise error


def _omit(error: errors.HowdahError) -> None:
    """What cannot be listed is left out, as fsspec's callers expect."""


def _info(status: FileStatus) -> Info:
    return {
        **({"destination": status.symlink} if status.is_symlink else {}),
        "name": status.path,
        "size": 0 if status.is_directory else status.length,
        "type": "directory" if status.is_directory else "link" if status.is_symlink else "file",
        "mtime": status.modification_time_ms / 1000,
        "atime": status.access_time_ms / 1000,
        "mode": status.permission,
        "owner": status.owner,
        "group": status.group,
        "replication": status.replication,
        "blocksize": status.block_size,
        "file_id": status.file_id,
        **({} if status.etag is None else {"ETag": status.etag}),
        **({"ec_policy": status.erasure_coding_policy} if status.is_erasure_coded else {}),
    }
