"""`ObjectFileSystem`: the objects of a bucket as files, and `S3FileSystem`, the one of `s3://`.

Hadoop's S3AFileSystem, with its keys. What a store has no idea of is refused by name: owners,
modes and times are nobody's to set, nothing is appended to, nothing is synced before `close`.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from howdah import errors
from howdah.client.statistics import Count, Tally
from howdah.client.thread_pool import Workers
from howdah.config import Configuration
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, ListOne, Progress
from howdah.fs.bulk_delete import BulkDelete
from howdah.fs.objects.bulk import ObjectBulkDelete
from howdah.fs.objects.copying import Copying, rename
from howdah.fs.objects.input import ObjectInput
from howdah.fs.objects.multipart_cleanup import UnfinishedUpload, abort_uploads, unfinished
from howdah.fs.objects.names import key_of
from howdah.fs.objects.output import ObjectOutput, Target
from howdah.fs.objects.prefetching_lister import ListingAhead
from howdah.fs.objects.read_plan import Openings
from howdah.fs.objects.store import ObjectInfo, ObjectStore
from howdah.fs.objects.tree import BLOCK_BYTES, Found, Kind, Tree, by_path
from howdah.fs.objects.tuning import Tuning
from howdah.fs.paths import PathLike
from howdah.fs.status import (
    ContentSummary,
    FileChecksum,
    FileStatus,
    FsStatistics,
    FsStatus,
    Listing,
    ServerCopies,
    ServerCopy,
    ServerDefaults,
)
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.options import CopyCheck, CreateFlag
from howdah.runtime.fork_safety import PerProcess
from howdah.runtime.users.current import current_user

_READ_BUFFER_BYTES: Final = 64 * 1024
_CAPACITY_BYTES: Final = (1 << 63) - 1
_COMPOSITE: Final = "COMPOSITE_CRC"


class ObjectFileSystem(FileSystem):
    """Serves one bucket for one user. The classes below add the kind of store."""

    scheme: ClassVar[str]

    def __init__(self, authority: str, conf: Configuration, user: str | None = None) -> None:
        self._authority = authority
        self._conf = conf
        self.user = user or current_user()
        self._store, self._settings = self._opened(authority, conf)
        self._tree = Tree(self._store, self.user)
        self._workers = Workers(self._settings.threads, "howdah-objects")
        self._copying = Copying(self._store, self._settings, self._workers)
        self._tally = Tally()
        self._openings = Openings(self._settings.manner)
        self._open: PerProcess[weakref.WeakSet[ObjectOutput]] = PerProcess(weakref.WeakSet)

    @abstractmethod
    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        """The store of a bucket, to which nothing is sent yet. Raises `IllegalArgument`,
        `InvalidConfiguration`."""

    def __reduce__(self) -> tuple[type[ObjectFileSystem], tuple[str, Configuration, str]]:
        """Pickled for another process, it is one that connects anew, as the same user."""
        return type(self), (self._authority, self._conf, self.user)

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self._authority}"

    @property
    def store_calls(self) -> int:
        """Requests to the store that this process has made."""
        return self._store.calls

    def home_directory(self) -> str:
        return f"/user/{self.user}"

    def close(self) -> None:
        """Close the files that are open for writing, and the store. Raise the first error of a
        file."""
        first: Exception | None = None
        for stream in list(self._open.get()):
            try:
                stream.close()
            except (errors.HowdahError, OSError) as error:
                first = first or error
        self._store.close()
        if first is not None:
            raise first

    # --- streams ------------------------------------------------------------------------

    def create(
        self,
        path: PathLike,
        *,
        overwrite: bool = False,
        replication: int | None = None,
        block_size: int | None = None,
        permission: int | None = None,
        create_parent: bool = True,
        buffer_size: int | None = None,
        progress: Progress | None = None,
        flags: CreateFlag = CreateFlag.NONE,
    ) -> FSDataOutputStream:
        """As for any filesystem, but nothing is there before `close` (OS-172, OS-178). Without
        `overwrite` the store is asked now, and makes sure again when it gets the object."""
        target = self.resolve(path)
        self._tally.add(Count.WRITE_OPS)
        with errors.about(target):
            self._check_creatable(
                target,
                overwrite=overwrite,
                create_parent=create_parent,
                looks=self._settings.looks_at_create,
            )
        out = ObjectOutput(
            self._store,
            Target(
                target,
                key_of(target),
                exclusive=not overwrite,
                part_bytes=self._settings.part_bytes,
                active_parts=self._settings.active_parts,
            ),
            self._workers,
            self._ended,
            progress,
        )
        self._open.get().add(out)
        return FSDataOutputStream(out)

    def _ended(self, out: ObjectOutput) -> None:
        self._tally.add(Count.BYTES_WRITTEN, out.get_pos())
        self._tree.file_is_made(out.path)
        self._open.get().discard(out)

    def _check_creatable(
        self, path: str, *, overwrite: bool, create_parent: bool, looks: bool = True
    ) -> None:
        if path == paths.SEPARATOR:
            raise errors.PathExists(f"{path} already exists as a directory")
        if looks:
            self._check_nothing_there(path, overwrite=overwrite)
        if create_parent:
            self._tree.check_no_file_above(path)
            return
        parent = paths.parent_of(path) or paths.SEPARATOR
        if not self._tree.find(parent).is_directory:
            raise errors.ParentNotDirectory(f"{parent} is a file, and no directory")

    def _check_nothing_there(self, path: str, *, overwrite: bool) -> None:
        if not overwrite and (kind := self._tree.kind(path)) is not Kind.NOTHING:
            is_file = kind is Kind.FILE
            raise errors.PathExists(f"{path} already exists{'' if is_file else ' as a directory'}")
        if overwrite and self._tree.is_prefix(path):
            raise errors.PathExists(f"{path} already exists as a directory")

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        target = self.resolve(path)
        self._tally.add(Count.READ_OPS)
        first = None
        if self._openings.takes_bytes:
            info, first = self._tree.open(target)
        else:
            info = self._info(target)
        inner = ObjectInput(
            self._store, target, info, self._settings, self._tally, self._openings, first
        )
        return FSDataInputStream(inner, buffer_size or _READ_BUFFER_BYTES)

    def _info(self, path: str) -> ObjectInfo:
        """Return the object at a path. Raises `PathNotFound`, `PathIsDirectory`."""
        entry = self._tree.find(path)
        if entry.info is None:
            raise errors.PathIsDirectory(f"{path} is a directory").about(path)
        return entry.info

    # --- names --------------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        self._tally.add(Count.WRITE_OPS)
        with errors.about(target):
            kind = self._tree.kind(target)
            if kind is Kind.FILE:
                raise errors.PathExists(f"Path is not a directory: {target}")
            if kind is Kind.NOTHING:
                self._tree.check_no_file_above(target)
                self._tree.make_marker(target)
        return True

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        target = self.resolve(path)
        with errors.about(target):
            if self.exists(target):
                raise errors.PathExists(f"{target} already exists")
            parent = paths.parent_of(target) or paths.SEPARATOR
            if not self._tree.find(parent).is_directory:
                raise errors.ParentNotDirectory(f"{parent} is a file, and no directory")
            self._tally.add(Count.WRITE_OPS)
            self._tree.make_marker(target)
        return True

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        """Copies and deletes, object by object: see `path_capabilities`."""
        source, target = self.resolve(src), self.resolve(dst)
        self._tally.add(Count.WRITE_OPS)
        self._tree.forget_directories()
        with errors.about(source, target):
            rename(self._tree, self._copying, source, target, overwrite=overwrite)

    def copy_file(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        """Have the store copy a file. The copy is there whole, or not at all, and a file that it
        replaces is there until then; without `overwrite` the store is asked before, and no more.

        Raises `PathNotFound`, `PathIsDirectory`, `PathExists`, `ParentNotDirectory`, `FileChanged`.
        """
        source, target = self.resolve(src), self.resolve(dst)
        self._tally.add(Count.WRITE_OPS)
        with errors.about(source, target):
            info = self._info(source)
            if source == target:
                raise errors.PathExists(f"The source and destination {target} are the same")
            self._check_creatable(target, overwrite=overwrite, create_parent=True)
            self._copying.copy(info, key_of(target))
            self._tree.file_is_made(target)

    def server_copies(self, source: FileSystem) -> ServerCopies:
        """Between buckets of one service, for which both ask as one user."""
        if not isinstance(source, ObjectFileSystem):
            return ServerCopies(are_offered=False)
        why_not = self._store.why_not_copied_from(source._store)
        is_offered = why_not is None
        is_same = is_offered and source._store.bucket == self._store.bucket
        return ServerCopies(is_offered, why_not or "", is_same_place=is_same)

    def copy_from(
        self,
        source: FileSystem,
        src: PathLike,
        dst: PathLike,
        *,
        overwrite: bool = False,
        check: CopyCheck = CopyCheck.CHECKSUM,
    ) -> ServerCopy:
        """As for any filesystem. If what the store tells of the copy is not what it tells of the
        source, the copy is removed again."""
        offer = self.server_copies(source)
        if not (isinstance(source, ObjectFileSystem) and offer.are_offered):
            raise errors.NotCopiedByServer(
                offer.why_not or f"{self.uri} copies no files of {source.uri} itself"
            )
        path, target = source.resolve(src), self.resolve(dst)
        self._tally.add(Count.WRITE_OPS)
        with errors.about(path, target):
            info = source._info(path)
            if not offer.is_same_place:
                info = replace(info, bucket=source._store.bucket)
            elif path == target:
                raise errors.NotCopiedByServer(f"{self.qualify(target)} is the source itself")
            self._check_creatable(target, overwrite=overwrite, create_parent=True)
            how = self._copying.verified(info, key_of(target), check)
            self._tree.file_is_made(target)
        return ServerCopy(source._tree.status(Found(path, info)), how)

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        target = self.resolve(path)
        self._tally.add(Count.WRITE_OPS)
        self._tree.forget_directories()
        with errors.about(target):
            try:
                entry = self._tree.find(target)
            except errors.PathNotFound:
                return False
            if not entry.is_directory:
                self._tree.delete_file(target)
            elif not recursive and self._tree.has_entries(target):
                raise errors.DirectoryNotEmpty(f"{target} is not empty")
            elif target == paths.SEPARATOR:
                # As S3A does, and every filesystem here: no slip of a finger empties a bucket.
                return False
            elif recursive:
                self._tree.delete_below(target)
            else:
                self._tree.delete_empty(target)
            self._tree.ensure_directory(paths.parent_of(target))
        return True

    def bulk_delete(self, base_path: PathLike) -> BulkDelete:
        """Deletes a page of files in one request."""
        return ObjectBulkDelete(self, self._tree, base_path, self._settings.delete_keys)

    # --- looking ------------------------------------------------------------------------

    def get_file_status(self, path: PathLike) -> FileStatus:
        self._tally.add(Count.READ_OPS)
        return self._tree.status(self._tree.find(self.resolve(path)))

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        """Sorted within pages of 1,000: a store sorts a directory by its slash as well."""
        target = self.resolve(path)
        self._tally.add(Count.READ_OPS)
        return self._tree.entries(target, lambda: self._tally.add(Count.LARGE_READ_OPS))

    def list_status(self, path: PathLike) -> list[FileStatus]:
        return Listing(sorted(self.list_status_iter(path), key=by_path))

    def walk(
        self, path: PathLike, on_error: Callable[[errors.HowdahError], object] | None = None
    ) -> Iterator[tuple[str, list[FileStatus], list[FileStatus]]]:
        """By pages of keys: a directory costs no request of its own."""
        top = self.resolve(path)
        yield from self._walked(top, self.lister(top), on_error)

    def lister(self, top: PathLike) -> ListOne:
        """What lists the directories of a tree, one after the other, in fewer requests than
        `list_status`. It may say of a directory what held when the one before was listed."""
        self._tally.add(Count.READ_OPS)
        return ListingAhead(
            self._tree, self.resolve(top), lambda: self._tally.add(Count.LARGE_READ_OPS)
        )

    def content_summary(self, path: PathLike) -> ContentSummary:
        """Sum up everything below `path` by pages of keys, without a request for each directory."""
        target = self.resolve(path)
        self._tally.add(Count.READ_OPS)
        entry = self._tree.find(target)
        if entry.info is not None:
            return ContentSummary(entry.info.length, 1, 0, entry.info.length)
        length = files = 0
        directories = {target}
        for page in self._tree.below(target):
            for info in page.objects:
                place = f"/{info.key}"
                if not info.key.endswith("/"):
                    files += 1
                    length += info.length
                    place = paths.parent_of(place) or paths.SEPARATOR
                place = place.rstrip("/") or paths.SEPARATOR
                while place not in directories and paths.is_under(place, target):
                    directories.add(place)
                    place = paths.parent_of(place) or paths.SEPARATOR
        return ContentSummary(length, files, len(directories), length)

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        """The store's CRC32C of the whole object, which compares with the composite one of
        HDFS; None where it has none, or for a part of the file."""
        if combine_mode not in (None, _COMPOSITE):
            return None
        info = self._info(self.resolve(path))
        if info.crc32c is None or (length is not None and length < info.length):
            return None
        return FileChecksum("COMPOSITE-CRC32C", info.crc32c.to_bytes(4, "big"))

    def access(self, path: PathLike, mode: int) -> None:
        """Whether it is there: who may do what is the store's to say, when it is asked."""
        self._tree.find(self.resolve(path))

    # --- uploads that nobody ended ------------------------------------------------------

    def unfinished_uploads(self, path: PathLike = paths.SEPARATOR) -> list[UnfinishedUpload]:
        """Uploads of files at or below `path` that were neither completed nor aborted; those
        of streams that are open are among them."""
        return unfinished(self._store, self.resolve(path))

    def abort_uploads(
        self, path: PathLike = paths.SEPARATOR, *, older_than_ms: int, now_ms: int
    ) -> Sequence[UnfinishedUpload]:
        """Remove those which began more than `older_than_ms` ago (0: all); what was removed."""
        return abort_uploads(self._store, self.resolve(path), older_than_ms, now_ms)

    # --- the filesystem as a whole ------------------------------------------------------

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        """As much room as there can be, as S3A says: a store names neither capacity nor use."""
        return FsStatus(_CAPACITY_BYTES, 0, _CAPACITY_BYTES)

    def statistics(self) -> FsStatistics:
        return FsStatistics(*self._tally.totals())

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        return ServerDefaults(
            block_size=BLOCK_BYTES,
            bytes_per_checksum=0,
            checksum_type="NULL",
            replication=1,
            write_packet_bytes=self._settings.part_bytes,
            file_buffer_bytes=_READ_BUFFER_BYTES,
        )

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        """Besides what is offered: that there are ETags, and that a rename is a copy and a
        removal, in many steps (`fs.s3.rename.copies`), and that files are copied by the store
        (`fs.s3.server.copies`)."""
        own = {
            capabilities.ABORTABLE_STREAM,
            capabilities.ETAGS_AVAILABLE,
            f"fs.{self.scheme}.rename.copies",
            f"fs.{self.scheme}.server.copies",
        }
        if self._settings.with_checksums:
            own.add(capabilities.CHECKSUMS)
        return super().path_capabilities(path) | own


class S3FileSystem(ObjectFileSystem):
    """A bucket of S3's: `s3://BUCKET/`."""

    scheme = "s3"

    def _opened(self, authority: str, conf: Configuration) -> tuple[ObjectStore, Tuning]:
        # Other stores need no botocore.
        from howdah.fs.objects.s3 import S3Store
        from howdah.fs.objects.settings import settings_of

        if not authority:
            raise errors.IllegalArgument(
                f"{self.scheme}:// names no bucket: {self.scheme}://BUCKET/"
            )
        if "@" in authority:
            raise errors.IllegalArgument(
                f"{self.scheme}:// with keys in it is not supported: set fs.s3a.access.key and "
                "fs.s3a.secret.key"
            )
        settings = settings_of(conf, authority)
        return S3Store(settings), settings


class S3AFileSystem(S3FileSystem):
    """The same, by the name that Hadoop has for it."""

    scheme = "s3a"
