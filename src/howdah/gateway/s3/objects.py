"""Objects of one bucket, as one user has them: files below a directory (shell).

1. What a client sends is written to a file in the staging directory of the bucket, which nobody is
   shown, and is checked there.
2. What is kept with it becomes an extended attribute.
3. The file is renamed to its path: the object is there whole, or not at all. A rename that replaces
   nothing is `If-None-Match: *`, whoever else writes. One that replaces the file whose ETag was
   compared, and no other one, is `If-Match`; only namenodes of howdah have it.

A directory is an object only if a client makes it (a key that ends in a slash), which a mark says,
or if it is empty. Directories above an object are made as they are needed, and marked otherwise:
they go with the last object in them. Directories of others stay.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.hdfs.name_order import by_unsigned_bytes, encoded
from howdah.fs.status import FileStatus
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream, whole_or_none
from howdah.gateway.s3.bucket_rules import Seen
from howdah.gateway.s3.key_locks import KeyLocks
from howdah.gateway.s3.protocol import conditions, cors, tags
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.cors import CorsRule
from howdah.gateway.s3.protocol.listing import Source
from howdah.gateway.s3.protocol.locks import BucketState
from howdah.gateway.s3.protocol.metadata import (
    ATTRIBUTE,
    FOR_KEYS,
    MADE,
    WANTED,
    Metadata,
    metadata_in,
)
from howdah.gateway.s3.protocol.names import STAGING, Key, is_hidden, unstorable
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import NULL, no_such_version

if TYPE_CHECKING:
    from typing_extensions import Buffer

log = logging.getLogger(__name__)

T = TypeVar("T")

COPY_BYTES: Final = 1 << 20
ATTEMPTS: Final = 8
"""So often a change is tried again that others have come between."""
_FILE_MODE: Final = 0o666
_DIRECTORY_MODE: Final = 0o777
_SHARED_MODE: Final = 0o1777
"""Of the staging directory, where each user makes one of their own."""
_PRIVATE_MODE: Final = 0o700
_OBJECTS: Final = "objects"
_INODES: Final = "/.reserved/.inodes"
"""Below it every file of a namenode has its id for a name, wherever it is."""
_FAILED: Final = (
    "PreconditionFailed",
    "At least one of the pre-conditions you specified did not hold",
)
NOT_THERE: Final = (errors.PathNotFound, errors.ParentNotDirectory)


class OnlyHere:
    """Says once that conditions on what is there hold among the requests of this gateway only."""

    def __init__(self) -> None:
        self._is_said = False

    def warn(self, uri: str) -> None:
        if not self._is_said:
            self._is_said = True
            log.warning(
                "%s cannot replace a file on the condition that it is still the same: If-Match "
                "holds among the requests of this gateway only",
                uri,
            )


@dataclass(frozen=True, slots=True)
class Shared:
    """What all requests of a gateway have in common."""

    locks: KeyLocks
    umask: int
    own_files: Callable[[], AbstractContextManager[FileSystem]]
    """The filesystem as the gateway's own user has it."""
    only_here: OnlyHere = dataclasses.field(default_factory=OnlyHere)
    states: Seen[BucketState] = dataclasses.field(default_factory=Seen)
    """By the directories of buckets."""
    now_us: Callable[[], int] = lambda: time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Opened:
    """An object that is read, as it was at one moment."""

    status: FileStatus
    stream: FSDataInputStream
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Written:
    """An object that was made."""

    status: FileStatus
    version: str = ""
    """The id of the version that it is; empty where versions have none."""
    metadata: Metadata | None = None
    """What is kept with it, if that was looked at."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion has done."""

    version: str = ""
    """The id of what was deleted, or of the delete marker that was made; empty for neither."""
    is_marker: bool = False
    """Whether that is a delete marker."""
    is_made: bool = False
    """Whether it was made."""


class Bucket:
    """One bucket, for one request."""

    def __init__(self, fs: FileSystem, name: str, path: str, user: str, shared: Shared) -> None:
        self.fs: Final = fs
        self.name: Final = name
        self.path: Final = path
        self.user: Final = user
        self.shared: Final = shared

    # What is there.

    def path_of(self, key: Key) -> str:
        return paths.join(self.path, key.path)

    def check_exists(self) -> None:
        """Raises Refused."""
        found = self.status_or_none(self.path)
        if found is None or not found.is_directory:
            raise Refused(
                "NoSuchBucket", "The specified bucket does not exist", BucketName=self.name
            )

    def find(self, key: Key) -> FileStatus | None:
        """The file, or the directory, that a key stands for; None where there is none."""
        status = self.status_or_none(self.path_of(key))
        return status if status is not None and status.is_directory == key.is_directory else None

    def version_of(self, key: Key, version: str = "") -> FileStatus | None:
        """What a version of a key is, the current one without its id; None where there is none.
        Raises Refused for a delete marker."""
        return self.find(key) if version in ("", NULL) else None

    def existing(self, key: Key, version: str = "") -> FileStatus:
        """The same. Raises Refused where there is none."""
        status = self.version_of(key, version)
        if status is None:
            self.check_exists()
            raise self.missing(key, version)
        return status

    def missing(self, key: Key, version: str) -> Refused:
        """Why there is no such object."""
        return no_such_version(version) if version else no_such_key(key)

    def status_or_none(self, path: str) -> FileStatus | None:
        try:
            return self.fs.get_file_status(path)
        except NOT_THERE:
            return None

    def metadata(self, path: str) -> Metadata:
        """What is kept with a file."""
        if not self.has_attributes:
            return Metadata()
        return metadata_in(self.fs.get_xattrs(path))

    def cors_rules(self) -> tuple[CorsRule, ...] | None:
        """What pages of other servers may do here; None where the bucket says nothing of it."""
        if not self.has_attributes:
            return None
        try:
            data = self.fs.get_xattrs(self.path).get(cors.ATTRIBUTE)
        except NOT_THERE:
            return None
        return None if data is None else cors.decoded(data)

    def set_cors_rules(self, rules: Sequence[CorsRule]) -> None:
        """Keep these rules in place of those that there are; none without any. Raises Refused."""
        if not self.has_attributes:
            if rules:
                raise self.without_attributes("rules of CORS")
        elif rules:
            self.fs.set_xattr(self.path, cors.ATTRIBUTE, cors.encoded(rules))
        elif cors.ATTRIBUTE in self.fs.get_xattrs(self.path):
            self.fs.remove_xattr(self.path, cors.ATTRIBUTE)

    @property
    def has_attributes(self) -> bool:
        return self._has(capabilities.XATTRS)

    def _has(self, capability: str) -> bool:
        return self.fs.has_path_capability(self.path, capability)

    @contextmanager
    def opened(self, key: Key, version: str = "") -> Iterator[Opened]:
        """An object's file, open, with what is kept with it. Raises Refused."""
        status = self.existing(key, version)
        for _ in range(ATTEMPTS):
            try:
                stream = self.fs.open(status.path)
            except NOT_THERE:
                again = self.version_of(key, version)
                if again is None or _is_at(again, status):
                    raise self.missing(key, version) from None
                status = again  # It has become an older version, or the current one.
                continue
            with stream:
                metadata = self._metadata_or_none(status.path)
                # What was opened, and what is kept with it, is what the status says only if that
                # is still there.
                again = self.version_of(key, version)
                if again is not None and _is_at(again, status) and metadata is not None:
                    yield Opened(status, stream, metadata)
                    return
            if again is None:
                raise self.missing(key, version)
            status = again
        raise too_busy(key)

    def described(self, key: Key, version: str = "") -> tuple[FileStatus, Metadata]:
        """An object, with what is kept with it. Raises Refused."""
        for _ in range(ATTEMPTS):
            status = self.existing(key, version)
            metadata = self._metadata_or_none(status.path)
            if metadata is None:
                continue
            if not metadata.version or status.is_directory:
                return status, metadata
            # An id has to be that of this version, and not of one that has taken its place.
            again = self.version_of(key, version)
            if again is not None and _is_at(again, status):
                return status, metadata
        raise too_busy(key)

    def _metadata_or_none(self, path: str) -> Metadata | None:
        try:
            return self.metadata(path)
        except NOT_THERE:
            return None

    def held(self, path: str) -> AbstractContextManager[None]:
        """Hold the lock of a path, among the requests of this gateway."""
        return self.shared.locks.held(path)

    def source(self) -> Source:
        """What listings look at."""
        return Source(self.list_after, self.find_path, self.is_wanted)

    def list_after(self, directory: str, after: str) -> Iterator[FileStatus]:
        """What a listing shows of a directory of the bucket, in the order of names."""
        path = paths.join(self.path, directory)
        try:
            for status, is_written in self.entries(path, after):
                inner = f"{directory}/{status.name}" if directory else status.name
                if (
                    status.path != path
                    and status.name > after
                    and not is_written
                    and not status.is_symlink
                    and not is_hidden(inner)
                    and not unstorable(status.name)
                ):
                    yield status
        except NOT_THERE:
            return

    def entries(self, path: str, after: str) -> Iterator[tuple[FileStatus, bool]]:
        """What is in a directory, at least behind a name, and whether it is being written."""
        if isinstance(self.fs, HdfsFileSystem):
            # A namenode takes what begins with a slash for a path.
            return self.fs.list_with_writers(path, "" if after.startswith("/") else after)
        listing = self.fs.list_status_iter(path)
        # A view lists as the namenode behind it does.
        in_order = by_unsigned_bytes(listing, lambda status: encoded(status.name))
        return ((status, False) for _, status in in_order)

    def find_path(self, path: str) -> FileStatus | None:
        """What a listing shows at a path of the bucket."""
        whole = paths.join(self.path, path)
        status = None if is_hidden(path) else self.status_or_none(whole)
        if status is None or status.is_directory or not self._is_written(whole):
            return status
        return None

    def _is_written(self, path: str) -> bool:
        if not self._has(capabilities.LEASE_RECOVERABLE):
            return False
        try:
            return not self.fs.is_file_closed(path)
        except NOT_THERE:
            return False

    # What is written.

    def staging(self, *names: str) -> str:
        """A path in the user's own part of the staging directory."""
        return paths.join(self.path, STAGING, self.user, *names)

    @contextmanager
    def staged(self, pieces: Iterable[Buffer]) -> Iterator[str]:
        """The path of a file that has these bytes. Where it is not renamed, it is deleted."""
        path = self.staging(_OBJECTS, secrets.token_hex(16))
        try:
            self._write(path, pieces)
            yield path
        except BaseException:
            self._discard(path)
            raise

    def _write(self, path: str, pieces: Iterable[Buffer]) -> None:
        mode = _FILE_MODE & ~self.shared.umask
        out = self.with_staging(
            paths.parent_of(path) or "/",
            lambda: self._create(path, mode),
        )
        with whole_or_none(out):
            for piece in pieces:
                out.write(piece)

    def _create(self, path: str, mode: int) -> FSDataOutputStream:
        self._check_staging()
        return self.fs.create(path, permission=mode, create_parent=False)

    def _check_staging(self) -> None:
        """Raises Refused where others could read or exchange what is staged: whoever may write to
        the bucket may have made these directories. Raises PathNotFound where they are not there."""
        if self.fs.scheme == "file" or not self._has(capabilities.PERMISSIONS):
            return  # All files are the gateway's there.
        shared = self.fs.get_file_status(paths.join(self.path, STAGING))
        own = self.fs.get_file_status(self.staging())
        if own.owner != self.user or own.permission & 0o077:
            raise Refused(
                "AccessDenied",
                f"{own.path} has to belong to {self.user}, with the mode 700: objects are staged "
                f"there. It is {own.owner}'s, with {own.permission:o}",
            )
        if shared.permission & 0o022 and not shared.permission & 0o1000:
            raise Refused(
                "AccessDenied",
                f"{shared.path} needs the mode {_SHARED_MODE:o}: objects are staged in it, and "
                f"with {shared.permission:o} others could exchange them",
            )

    def with_staging(self, directory: str, act: Callable[[], T]) -> T:
        """Do something in a directory of the user's staging, which is made if need be."""
        try:
            return act()
        except errors.PathNotFound:
            self._make_staging(directory)
            return act()

    def _make_staging(self, directory: str) -> None:
        self.check_exists()
        shared, own = paths.join(self.path, STAGING), self.staging()
        if self.status_or_none(shared) is None:
            try:
                self.fs.mkdirs(shared, _SHARED_MODE)
            except errors.AccessDenied:
                self._make_staging_as_gateway(shared)
        if self.status_or_none(own) is None:
            self.fs.mkdirs(own, _PRIVATE_MODE)
        self.fs.mkdirs(directory, _PRIVATE_MODE)

    def _make_staging_as_gateway(self, path: str) -> None:
        """For users who may not write to the bucket's directory itself. Raises Refused."""
        try:
            with self.shared.own_files() as files:
                files.mkdirs(path, _SHARED_MODE)
        except errors.AccessDenied as error:
            raise Refused(
                "AccessDenied",
                f"objects are staged in {path}, which neither {self.user} nor the gateway's user "
                f"may make: an administrator makes it, with the mode {_SHARED_MODE:o} ({error})",
            ) from error

    def _discard(self, path: str) -> None:
        try:
            self.fs.delete(path)
        except (errors.HowdahError, OSError) as error:
            log.warning("%s stays until it is swept: %s", paths.printable(path), error)

    def put(
        self,
        key: Key,
        pieces: Iterable[Buffer],
        headers: Mapping[str, str],
        metadata: Callable[[], Metadata],
    ) -> Written:
        """Make an object; `metadata` is called when all of its bytes are there. Raises Refused."""
        self.check_writable(key, headers)
        self.check_zone(key)
        with self.staged(pieces) as path:
            self.keep(path, metadata())
            return self.publish(path, key, headers)

    def put_directory(self, key: Key, headers: Mapping[str, str], metadata: Metadata) -> Written:
        """Make a directory that a client asks for. Raises Refused."""
        self.check_exists()
        path = self.path_of(key)
        self.check_writable(key, headers)
        self.make_directory(path)
        if self.has_attributes:
            try:
                self.fs.set_xattr(path, MADE, WANTED)
            except errors.AccessDenied:
                pass  # It is another user's, and there as was asked for.
        self.keep(path, metadata, is_directory=True)
        return Written(self.fs.get_file_status(path))

    def check_writable(self, key: Key, headers: Mapping[str, str]) -> None:
        """Refuse what would be refused in the end, before its bytes come. Raises Refused."""
        if conditions.must_be_new(headers) or conditions.are_about_the_object(headers):
            status = self.find(key)
            if conditions.must_be_new(headers) and status is not None:
                raise precondition_failed()
            conditions.check_replacing(headers, status)

    def check_zone(self, key: Key) -> None:
        """Refuse a key in an encryption zone below the bucket, before its bytes come: they would be
        staged outside of the zone, as plain text, and nothing moves into a zone. Raises Refused."""
        if not isinstance(self.fs, HdfsFileSystem):
            return
        try:
            # What is deleted in a zone stays in it; where there are no key servers nobody is asked.
            staged, made = map(self.fs.trash_root, (self.staging(_OBJECTS), self.path_of(key)))
        except errors.AccessDenied:
            return  # Who may not look there may write all the same.
        if staged != made:
            raise Refused(
                "InvalidRequest",
                "this key is in an encryption zone that is a part of its bucket, and objects are "
                "staged outside of it: the zone has to be the bucket, or above it",
                Key=key.text,
            )

    def check_may_make(self, key: Key) -> None:
        """Refuse a user who may not make this key, before anything is kept for it. Raises Refused,
        AccessDenied."""
        self.check_exists()
        if not self._has(capabilities.PERMISSIONS):
            return
        path = self.path_of(key)
        while len(path) > len(self.path):
            path = paths.parent_of(path) or "/"
            try:
                self.fs.access(path, os.W_OK | os.X_OK)
            except errors.PathNotFound:
                continue  # It is made, if the user may write to the one above it.
            except errors.AccessDenied:
                status = self.status_or_none(path)
                if status is None or status.is_directory:
                    raise
                raise below_object() from None
            except errors.ParentNotDirectory:
                raise below_object() from None
            except errors.UnsupportedOperation:
                return  # WebHDFS of old servers: what may not be made is refused in the end.
            return

    def keep(self, path: str, metadata: Metadata, *, is_directory: bool = False) -> None:
        """Keep what belongs to an object with its file, or its directory. Raises Refused."""
        data = metadata.encoded()
        if data and self.has_attributes:
            self.fs.set_xattr(path, ATTRIBUTE, data)
        elif metadata.meta:
            raise self.without_attributes("metadata")
        if metadata.tags:
            self.set_tags(path, metadata.tags)
        if metadata.others is not None:
            self.let_others(self.fs.get_file_status(path), metadata.others)

    def let_others(self, status: FileStatus, others: Others) -> None:
        """Give others these rights, in place of those that they have. Raises Refused."""
        if self._has(capabilities.PERMISSIONS):
            mode = others.mode(status.permission, is_directory=status.is_directory)
            if mode != status.permission:
                self.fs.set_permission(status.path, mode)
        elif others != Others():
            raise Refused("NotImplemented", f"{self.fs.uri} has no permissions to give to others")

    def set_tags(self, path: str, wanted: Mapping[str, str]) -> None:
        """Give a file these tags, in place of those that it has. Raises Refused."""
        if wanted and not self.has_attributes:
            raise self.without_attributes("tags")
        if wanted:
            self.fs.set_xattr(path, tags.ATTRIBUTE, tags.encoded(wanted))
        elif self.has_attributes and tags.ATTRIBUTE in self.fs.get_xattrs(path):
            self.fs.remove_xattr(path, tags.ATTRIBUTE)

    def put_tags(self, key: Key, version: str, wanted: Mapping[str, str]) -> str:
        """Give an object these tags, in place of those that it has; return its id, if it has one.
        Raises Refused."""

        def change(status: FileStatus) -> str:
            self.set_tags(status.path, wanted)
            return self.id_of(status)

        return self.change(key, version, change)

    def id_of(self, status: FileStatus) -> str:
        """The id of the version that is in a file; empty where versions have none."""
        return ""

    def put_others(self, key: Key, version: str, others: Others) -> None:
        """Give others these rights to an object, in place of those that they have. Raises
        Refused."""
        self.change(key, version, lambda status: self.let_others(status, others))

    def change(self, key: Key, version: str, act: Callable[[FileStatus], T]) -> T:
        """Change what is kept with an object, and with none that takes its place meanwhile. `act`
        is given its status, with a path that it keeps wherever it is renamed to, if the filesystem
        has such paths; among the requests of this gateway it stays where it is. Raises Refused."""
        with self.held(self.path_of(key)):
            for _ in range(ATTEMPTS):
                status = self.existing(key, version)
                try:
                    return act(self.by_id(status))
                except NOT_THERE:
                    continue
        raise too_busy(key)

    def by_id(self, status: FileStatus) -> FileStatus:
        """A file, with a path by its id. Raises PathNotFound."""
        if not isinstance(self.fs, HdfsFileSystem) or status.is_directory:
            return status
        by_id = f"{_INODES}/{status.file_id}"
        try:
            found = self.fs.get_file_status(by_id)
        except (errors.UnsupportedOperation, *NOT_THERE):
            # A router has none, or it is gone.
            found = self.fs.get_file_status(status.path)
            if found.file_id != status.file_id:
                raise errors.PathNotFound(f"{status.path} is gone") from None
            return status
        # A router of Hadoop asks any of its namenodes.
        return dataclasses.replace(status, path=by_id) if _is_same_file(found, status) else status

    def without_attributes(self, what: str) -> Refused:
        return Refused(
            "NotImplemented", f"{self.fs.uri} has no extended attributes to keep {what} in"
        )

    def publish(self, path: str, key: Key, headers: Mapping[str, str]) -> Written:
        """Give a staged file its name. Raises Refused."""
        target = self.path_of(key)
        is_new = conditions.must_be_new(headers)
        status = self.fs.get_file_status(path)
        with self.shared.locks.held(target):
            if conditions.are_about_the_object(headers):
                self._replace(path, target, key, headers)
            else:
                self.rename(path, target, key, is_new=is_new)
        return Written(dataclasses.replace(status, path=target))

    def _replace(self, path: str, target: str, key: Key, headers: Mapping[str, str]) -> None:
        """Rename to where an object may be, for which a condition holds. Raises Refused."""
        for _ in range(ATTEMPTS):
            there = self.find(key)
            conditions.check_replacing(headers, there)
            try:
                if there is None:
                    self.rename(path, target, key, is_new=True)
                else:
                    self.rename_over(path, target, key, there)
            except (errors.NotTheKnownFile, ExistsNow):
                continue  # Another gateway, or HDFS, has come between: the condition decides.
            return
        raise too_busy(key)

    def rename_over(self, path: str, target: str, key: Key, known: FileStatus) -> None:
        """Rename onto a file that is still the one that is known. Raises NotTheKnownFile."""
        if not self.replaces(path, target, known):
            self.rename(path, target, key, is_new=False)

    def replaces(self, path: str, target: str, known: FileStatus) -> bool:
        """Rename onto a file that is still the one that is known; return whether that is done: no
        other filesystem than howdah's can compare. Raises NotTheKnownFile."""
        if not isinstance(self.fs, HdfsFileSystem):
            return False
        try:
            self.fs.rename_over(path, target, known)
        except (errors.PathExists, errors.UnsupportedOperation):
            self.shared.only_here.warn(self.fs.uri)
            return False
        except errors.PathNotFound:
            # Its directory is gone with it: there is nothing that could be replaced.
            raise errors.NotTheKnownFile(f"{target} is gone") from None
        return True

    def rename(self, path: str, target: str, key: Key, *, is_new: bool) -> None:
        """Rename to a path of a key. Raises Refused, ExistsNow where it was to be new."""
        for _ in range(ATTEMPTS):
            try:
                if is_new and isinstance(self.fs, HdfsFileSystem):
                    self.fs.rename_over(path, target, None)
                else:
                    self.fs.rename(path, target, overwrite=not is_new)
            except errors.UnsupportedOperation as error:
                raise Refused(
                    "NotImplemented", f"that it is new cannot be promised here: {error}"
                ) from None
            except errors.ParentNotDirectory:
                raise below_object() from None
            except errors.PathNotFound:
                # The directory above is not there, or went with the last object in it.
                self.make_directory(paths.parent_of(target) or "/")
            except (errors.PathExists, errors.RemoteError, errors.PathIsDirectory):
                there = self.status_or_none(target)
                if there is not None and there.is_directory:
                    raise Refused(
                        "ExistingObjectIsDirectory",
                        "this key is a directory here, as it has keys below it, or was made one",
                        Key=key.text,
                    ) from None
                if is_new and there is not None:
                    raise ExistsNow from None
                raise
            else:
                return
        raise too_busy(key)

    def make_directory(self, path: str) -> None:
        """Make a directory of the bucket, and mark those that were not there. Raises Refused.

        One that is there now may be pruned before the others are made: what counts is whether it
        is the same directory afterwards.
        """
        before = self._ids_from(path)
        if not any(before.values()):
            self.check_exists()
        try:
            self.fs.mkdirs(path, _DIRECTORY_MODE & ~self.shared.umask)
        except (errors.ParentNotDirectory, errors.PathExists):
            raise below_object() from None
        for directory, file_id in self._ids_from(path).items():
            if file_id != before[directory]:
                self._mark(directory)

    def _ids_from(self, path: str) -> dict[str, int | None]:
        """The ids of a directory and of those above it in the bucket; None where there is none."""
        ids: dict[str, int | None] = {}
        while len(path) > len(self.path):
            status = self.status_or_none(path)
            ids[path] = None if status is None else status.file_id
            path = paths.parent_of(path) or "/"
        return ids

    def _mark(self, path: str, *, replaces: bool = False) -> None:
        """Mark a directory as one that goes with the last object in it; one that a client has asked
        for only if that is to be replaced."""
        if self.has_attributes:
            try:
                self.fs.set_xattr(path, MADE, FOR_KEYS, replace=replaces)
            except errors.PathNotFound:
                pass  # Another request has deleted it; whoever needs it makes it again.
            except errors.RemoteError:
                # It was marked meanwhile.
                if self._mark_of(path) is None:
                    raise

    def _mark_of(self, path: str) -> bytes | None:
        if not self.has_attributes:
            return None
        try:
            return self.fs.get_xattr(path, MADE)
        except (errors.AttributeNotFound, *NOT_THERE):
            return None

    def is_wanted(self, path: str) -> bool:
        """Whether a client has asked for a directory."""
        try:
            return self._mark_of(paths.join(self.path, path)) == WANTED
        except errors.AccessDenied:
            return False  # Whoever may not read attributes sees what is in it.

    # What is deleted.

    def delete(self, key: Key, headers: Mapping[str, str], version: str = "") -> Deleted:
        """Delete an object, if there is one: a file, or an empty directory whose key ends in a
        slash. Raises Refused."""
        if version not in ("", NULL):
            raise no_such_version(version)
        path = self.path_of(key)
        with self.shared.locks.held(path):
            for _ in range(ATTEMPTS):
                status = self.find(key)
                if status is None:
                    self.check_exists()
                    return Deleted()
                conditions.check_deleting(headers, status)
                try:
                    self._delete(path, status, headers)
                except errors.NotTheKnownFile:
                    continue  # It is replaced meanwhile: the condition decides.
                except errors.DirectoryNotEmpty:
                    # It goes with the last object in it.
                    self._mark(path, replaces=True)
                    return Deleted()
                break
            else:
                raise too_busy(key)
        self.prune(paths.parent_of(path) or "/")
        return Deleted()

    def _delete(self, path: str, status: FileStatus, headers: Mapping[str, str]) -> None:
        """Raises NotTheKnownFile, DirectoryNotEmpty."""
        if conditions.are_about_deletion(headers) and not status.is_directory:
            self.delete_if_same(path, status)
        else:
            self.fs.delete(path)

    def delete_if_same(self, path: str, known: FileStatus) -> None:
        """Delete a file that is still the one that is known. Raises NotTheKnownFile."""
        if isinstance(self.fs, HdfsFileSystem):
            try:
                self.fs.delete_known(path, known)
            except errors.UnsupportedOperation:
                self.shared.only_here.warn(self.fs.uri)
            else:
                return
        self.fs.delete(path)

    def prune(self, path: str) -> None:
        """Delete a directory that no client asked for, and those above it, if they are empty."""
        while len(path) > len(self.path):
            try:
                if self._mark_of(path) != FOR_KEYS:
                    return
                self.fs.delete(path)
            except (errors.DirectoryNotEmpty, errors.AccessDenied):
                return  # The object is gone, and that was asked for.
            path = paths.parent_of(path) or "/"


def pieces_of(stream: FSDataInputStream, offset: int, length_bytes: int) -> Iterator[memoryview]:
    """Yield a part of a file, in pieces that are good until the next one. Raises RemoteError."""
    stream.seek(offset)
    room = memoryview(bytearray(min(COPY_BYTES, length_bytes)))
    while length_bytes:
        count = stream.readinto(room[: min(len(room), length_bytes)])
        if not count:
            raise errors.RemoteError(f"{stream.name} ends {length_bytes} bytes too early")
        yield room[:count]
        length_bytes -= count


def no_such_key(key: Key) -> Refused:
    return Refused("NoSuchKey", "The specified key does not exist.", Key=key.text)


class ExistsNow(Refused):
    """An object is there by now, which was not to be replaced."""

    def __init__(self) -> None:
        super().__init__(*_FAILED, Condition="If-None-Match")


def precondition_failed() -> Refused:
    return Refused(*_FAILED, Condition="If-None-Match")


def _is_at(one: FileStatus, other: FileStatus) -> bool:
    """Whether two are the same file, at the same place."""
    return one.path == other.path and conditions.etag_of(one) == conditions.etag_of(other)


def _is_same_file(one: FileStatus, other: FileStatus) -> bool:
    return (one.file_id, one.modification_time_ms, one.length, one.owner, one.block_size) == (
        other.file_id,
        other.modification_time_ms,
        other.length,
        other.owner,
        other.block_size,
    )


def below_object() -> Refused:
    return Refused("ExistingObjectIsFile", "a part of this key before a slash is an object")


def too_busy(key: Key) -> Refused:
    return Refused(
        "ServiceUnavailable",
        "others change this key too often: try again",
        headers={"Retry-After": "1"},
        Key=key.text,
    )
