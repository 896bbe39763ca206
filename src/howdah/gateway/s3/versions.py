"""A bucket that keeps older versions of its objects, if it is told to (shell).

The current version is the file at its path, which HDFS's users see as well. What it replaces is
renamed to a directory beside it, `.howdah-s3-versions/NAME` in the same directory, so that whoever
may reach and change the object may reach and change its versions, and nobody else. A delete marker
is an empty file there. The names of these files say their order (`protocol/versions.py`).

1. A new object is staged, with its id in an attribute.
2. The current version is renamed away, if it is still the one that was looked at, and the new one
   to its path. Before a namenode of howdah both are one turn, between which nobody sees anything.
   Elsewhere a reader between the two finds nothing at the path, and a gateway that dies there
   leaves only older versions, none of which is current.
3. While versioning is suspended, an older version that is `null` is deleted then.

A deletion does the same with a marker, whose path is among the older versions. To delete the
current version by its id, the newest of the others is renamed onto it, unless that is a marker. To
delete a marker that hides the key, the version behind it is renamed to the key's path before.

Where HDFS deletes a file, its older versions stay, and none of them is current.

Locks (`protocol/locks.py`) are attributes of versions' files, which only requests of S3 look at.
"""

from __future__ import annotations

import dataclasses
import heapq
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from howdah import errors
from howdah.fs import capabilities, paths
from howdah.fs.acl import AclStatus
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.gateway.s3.objects import (
    ATTEMPTS,
    NOT_THERE,
    Bucket,
    Deleted,
    ExistsNow,
    Written,
    below_object,
    precondition_failed,
    too_busy,
)
from howdah.gateway.s3.protocol import conditions, locks, versions
from howdah.gateway.s3.protocol.acls import Others, entries_beside
from howdah.gateway.s3.protocol.conditions import http_time
from howdah.gateway.s3.protocol.listing import Source, Version
from howdah.gateway.s3.protocol.locks import BucketState, Lock, Locking, Retention
from howdah.gateway.s3.protocol.metadata import Metadata
from howdah.gateway.s3.protocol.names import (
    VERSIONS,
    Key,
    is_hidden,
    key_of_listing,
    unstorable,
)
from howdah.gateway.s3.protocol.refusals import Refused
from howdah.gateway.s3.protocol.versions import (
    ID_HEADER,
    MARKER_HEADER,
    NULL,
    Kind,
    Versioning,
    VersionName,
)

log = logging.getLogger(__name__)

Older = tuple[VersionName, FileStatus]
"""A version that is not current, with its file."""
_ALL_BITS: Final = 0o7777
_GROUP: Final = ("group", None)


class VersionedBucket(Bucket):
    """One bucket, for one request. What it does follows what its directory says at that moment."""

    # What the bucket says.

    def versioning(self) -> Versioning:
        """What it does with versions. Raises Refused."""
        return self.state().versioning

    def state(self) -> BucketState:
        """What it says of versions, as it was seen some seconds ago at most. Raises Refused."""
        if not self.has_attributes:
            return BucketState()
        return self.shared.states.of(self.path, self._read_state)

    def _read_state(self) -> BucketState:
        try:
            found = self._attributes(self.path)
        except NOT_THERE:
            return BucketState()
        except errors.AccessDenied as error:
            # Whoever may enter it sees this directory. To lose versions is not for the gateway.
            if self.status_or_none(paths.join(self.path, VERSIONS)) is None:
                return BucketState()
            raise Refused(
                "AccessDenied",
                f"the bucket {self.name} has versions, and neither {self.user} nor the gateway's "
                f"user may read what its directory says of them ({error})",
            ) from error
        return BucketState(
            versions.decoded(found.get(versions.BUCKET_ATTRIBUTE)),
            locks.decoded_locking(found.get(locks.BUCKET_ATTRIBUTE)),
        )

    def _attributes(self, path: str) -> Mapping[str, bytes]:
        """Of a file or a directory: as the user, or as the gateway's own user. Who may replace a
        file need not be able to read it. Raises AccessDenied."""
        try:
            return self.fs.get_xattrs(path)
        except errors.AccessDenied:
            with self.shared.own_files() as files:
                return files.get_xattrs(path)

    def set_versioning(self, wanted: Versioning) -> None:
        """Enable or suspend versions. Raises Refused."""
        self.check_may_have_versions()
        self.shared.states.forget(self.path)
        if wanted is not Versioning.ENABLED and self.state().locking is not None:
            raise Refused(
                "InvalidBucketState",
                "An Object Lock configuration is present on this bucket, so the versioning state "
                "cannot be changed.",
            )
        try:
            status = self.fs.get_file_status(self.path)
            self._make_beside(paths.join(self.path, VERSIONS), status)
            self.fs.set_xattr(self.path, versions.BUCKET_ATTRIBUTE, versions.encoded(wanted))
        finally:
            self.shared.states.forget(self.path)

    def check_may_have_versions(self) -> None:
        """Raises Refused where nothing could say that it has."""
        if not self.has_attributes:
            raise self.without_attributes("the state of versions")

    def set_locking(self, wanted: Locking) -> None:
        """Let versions be locked, from now on and for ever. Raises Refused."""
        self.check_may_have_versions()
        self.shared.states.forget(self.path)
        if self.versioning() is not Versioning.ENABLED:
            raise Refused(
                "InvalidBucketState",
                "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration",
            )
        try:
            self.fs.set_xattr(self.path, locks.BUCKET_ATTRIBUTE, locks.encoded_locking(wanted))
        finally:
            self.shared.states.forget(self.path)

    def let_others(self, status: FileStatus, others: Others) -> None:
        super().let_others(status, others)
        if status.is_directory and self.versioning() is not Versioning.OFF:
            kept = self.status_or_none(paths.join(status.path, VERSIONS))
            if kept is not None:
                super().let_others(kept, others)

    # What is there.

    def version_of(self, key: Key, version: str = "") -> FileStatus | None:
        if not version or key.is_directory or self.versioning() is Versioning.OFF:
            return super().version_of(key, version)
        wanted = versions.checked_id(version)
        for _ in range(2):
            there = self.find(key)
            if there is not None and self._id(there) == version:
                return there
            found = self._older(key, wanted)
            if found is None:
                continue  # It may have become the current one meanwhile.
            name, status = found
            if name.is_marker:
                raise Refused(
                    "MethodNotAllowed",
                    "The specified method is not allowed against this resource: this version is a "
                    "delete marker",
                    headers={
                        MARKER_HEADER: "true",
                        ID_HEADER: version,
                        "Last-Modified": http_time(status.modification_time_ms),
                    },
                )
            return status
        return None

    def missing(self, key: Key, version: str) -> Refused:
        refused = super().missing(key, version)
        if version or key.is_directory or self.versioning() is Versioning.OFF:
            return refused
        newest = self._newest(key)
        if newest is not None and newest[0].is_marker:
            refused.headers = {MARKER_HEADER: "true", ID_HEADER: newest[0].id}
        return refused

    def id_of(self, status: FileStatus) -> str:
        return "" if self.versioning() is Versioning.OFF else self._id(status)

    def _id(self, status: FileStatus) -> str:
        """The id of a current version."""
        return versions.id_in(self._attributes(status.path)) or NULL

    def _directory(self, key: Key) -> str:
        """Where older versions of a key are."""
        path = self.path_of(key)
        return paths.join(paths.parent_of(path) or "/", VERSIONS, paths.name_of(path))

    def _all_older(self, key: Key) -> Iterator[Older]:
        """Yield the older versions of a key, newest first."""
        try:
            for status, _ in self.entries(self._directory(key), ""):
                name = versions.version_name(status.name)
                if name is not None and not status.is_directory:
                    yield name, status
        except NOT_THERE:
            return

    def _newest(self, key: Key) -> Older | None:
        return next(self._all_older(key), None)

    def _older(self, key: Key, wanted: VersionName | None) -> Older | None:
        """The older version of this name; the one that is `null` for None."""
        if wanted is None:
            return next((found for found in self._all_older(key) if found[0].is_null), None)
        status = self.status_or_none(paths.join(self._directory(key), wanted.text))
        return None if status is None else (wanted, status)

    # Listings.

    def source(self) -> Source:
        found = super().source()
        if self.versioning() is Versioning.OFF:
            return found
        return dataclasses.replace(found, has_versions=self._has_versions)

    def _has_versions(self, path: str) -> bool:
        return self.status_or_none(paths.join(self.path, path, VERSIONS)) is not None

    def version_source(self) -> Source:
        """What listings of versions look at: a key is there if any version of it is."""
        if self.versioning() is Versioning.OFF:
            return super().source()
        return Source(self._keys_after, self.find_path, self.is_wanted, self._find_key)

    def _keys_after(self, directory: str, after: str) -> Iterator[FileStatus]:
        """What is in a directory, and the names that have only older versions, as files."""
        merged = heapq.merge(
            self._kept_after(directory, after),
            self.list_after(directory, after),
            key=lambda status: (status.name, status.is_directory),
        )
        held: FileStatus | None = None
        for status in merged:
            if held is not None and (held.name, held.is_directory) != (
                status.name,
                status.is_directory,
            ):
                yield held
            held = status  # Of two of one name, the file stands behind what has its versions.
        if held is not None:
            yield held

    def _kept_after(self, directory: str, after: str) -> Iterator[FileStatus]:
        path = paths.join(self.path, directory, VERSIONS)
        try:
            for status, _ in self.entries(path, after):
                if status.is_directory and status.name > after and not unstorable(status.name):
                    yield dataclasses.replace(status, is_directory=False)
        except NOT_THERE:
            return

    def _find_key(self, path: str) -> FileStatus | None:
        found = self.find_path(path)
        if found is not None and not found.is_directory:
            return found
        if is_hidden(path):
            return None
        directory, _, name = path.rpartition("/")
        kept = self.status_or_none(paths.join(self.path, directory, VERSIONS, name))
        if kept is None or not kept.is_directory:
            return None
        return dataclasses.replace(kept, is_directory=False)

    def versions_of(self, text: str, status: FileStatus, marker: str = "") -> Iterator[Version]:
        """Yield the versions of a key that `version_source` has shown, newest first: those behind a
        marker, if there is one."""
        key = key_of_listing(text)
        if key.is_directory or self.versioning() is Versioning.OFF:
            if versions.is_behind(None, marker):
                yield Version(key.text, NULL, NULL, status, is_marker=False, is_latest=True)
            return
        is_current = status.path == self.path_of(key)
        if is_current:
            found = self._id_or_null(status)
            name = versions.version_name(found)
            if versions.is_behind(name, marker):
                yield Version(key.text, found, found, status, is_marker=False, is_latest=True)
        is_first = not is_current
        for name, older in self._all_older(key):
            if versions.is_behind(name, marker):
                yield Version(
                    key.text,
                    name.id,
                    name.text,
                    older,
                    is_marker=name.is_marker,
                    is_latest=is_first and name.is_marker,
                )
            is_first = False

    def _id_or_null(self, status: FileStatus) -> str:
        try:
            return self._id(status)
        except (errors.AccessDenied, *NOT_THERE):
            return NULL  # Whoever may list need not be able to read; or it has just gone.

    # Locks.

    @property
    def now_ms(self) -> int:
        """What the gateway's clock says, in milliseconds since 1970."""
        return self.shared.now_us() // 1000

    def check_lockable(self, key: Key) -> None:
        """Raises Refused where versions are not locked."""
        if not self._is_lockable():
            raise locks.not_lockable()
        if key.is_directory:
            raise Refused(
                "InvalidRequest",
                "a key that ends in a slash is a directory, with no versions that could be locked",
            )

    def _is_lockable(self) -> bool:
        """Whether versions are locked. That is never taken back, and another gateway may have said
        it since the bucket was looked at. Raises Refused."""
        if self.state().locking is None:
            self.shared.states.forget(self.path)
        return self.state().locking is not None

    def check_metadata(self, key: Key, metadata: Metadata) -> None:
        """Refuse a lock that would be refused in the end, before bytes come. Raises Refused."""
        if metadata.lock is not None:
            self.check_lockable(key)
            locks.check_future(metadata.lock, self.now_ms)

    def put_directory(self, key: Key, headers: Mapping[str, str], metadata: Metadata) -> Written:
        self.check_metadata(key, metadata)
        return super().put_directory(key, headers, metadata)

    def keep(self, path: str, metadata: Metadata, *, is_directory: bool = False) -> None:
        super().keep(path, metadata)
        if is_directory:
            return  # It has no versions.
        locking, lock = self.state().locking, metadata.lock
        if lock is not None and locking is None:
            raise locks.not_lockable()
        default = None if locking is None else locking.default
        if default is not None and (lock is None or lock.retention is None):
            is_held = lock is not None and lock.is_held
            lock = Lock(default.from_ms(self.now_ms), is_held)
        if lock is not None:
            self.fs.set_xattr(path, locks.ATTRIBUTE, locks.encoded(lock))

    def put_retention(
        self, key: Key, version: str, wanted: Retention | None, headers: Mapping[str, str]
    ) -> None:
        """Retain a version, in place of what retains it. Raises Refused."""
        may_bypass = self.may_bypass(headers)

        def change(there: Lock) -> Lock:
            locks.check_replacing(there.retention, wanted, self.now_ms, may_bypass=may_bypass)
            lock = Lock(wanted, there.is_held)
            locks.check_future(lock, self.now_ms)
            return lock

        self._change_lock(key, version, change)

    def put_hold(self, key: Key, version: str, is_held: bool) -> None:
        """Hold a version, or take that back. Raises Refused."""
        self._change_lock(key, version, lambda there: dataclasses.replace(there, is_held=is_held))

    def _change_lock(self, key: Key, version: str, change: Callable[[Lock], Lock]) -> None:
        def keep(status: FileStatus) -> None:
            for _ in range(ATTEMPTS):
                if self._is_changed(status.path, change):
                    return
            raise too_busy(key)

        self.check_lockable(key)
        self.change(key, version, keep)

    def _is_changed(self, path: str, change: Callable[[Lock], Lock]) -> bool:
        """Change the lock of the version whose file this is; return whether no other gateway has
        come between. Raises Refused."""
        there = self._locks_at(path)
        last = max(there, default=-1)
        lock, own = locks.encoded(change(there.get(last, Lock()))), last + 1
        try:
            self.fs.set_xattr(path, locks.attribute_of(own), lock, replace=False)
        except errors.RemoteError:
            if max(self._locks_at(path), default=-1) <= last:
                raise
            return False
        there = self._locks_at(path)
        last = max(there, default=-1)
        # Another one may have changed it several times, and removed what had this number.
        for number in sorted(there):
            if number < last:
                self._remove_lock(path, number)
        return last == own

    def _remove_lock(self, path: str, number: int) -> None:
        try:
            self.fs.remove_xattr(path, locks.attribute_of(number))
        except errors.RemoteError as error:
            # Another gateway has removed it, or one will: it does not count any more.
            log.debug("an old lock of %s stays: %s", paths.printable(path), error)

    def _locks_at(self, path: str) -> dict[int, Lock]:
        """What has locked the version whose file this is, as `locks.locks_in` has it."""
        return locks.locks_in(self._attributes(path))

    def _lock_at(self, path: str) -> Lock | None:
        """What locks the version whose file this is; None where it has never been locked."""
        return locks.lock_in(self._attributes(path))

    def may_bypass(self, headers: Mapping[str, str]) -> bool:
        """Whether a request may end a retention of governance early: the bucket's owner may, if he
        says so."""
        if headers.get(locks.BYPASS, "").lower() != "true":
            return False
        return self.fs.get_file_status(self.path).owner == self.user

    def _check_unlocked(self, status: FileStatus, headers: Mapping[str, str]) -> None:
        """Raises Refused for a version that is locked."""
        lock = self._lock_at(status.path)
        if lock is not None and self._is_lockable():
            locks.check_deletable(lock, self.now_ms, may_bypass=self.may_bypass(headers))

    # What is written.

    def publish(self, path: str, key: Key, headers: Mapping[str, str]) -> Written:
        state = self.versioning()
        if state is Versioning.OFF:
            return super().publish(path, key, headers)
        status, target = self.fs.get_file_status(path), self.path_of(key)
        with self.held(target):
            name = self._publish(status, target, key, headers, state)
            if name is None:
                self._delete_null(key)
        return Written(dataclasses.replace(status, path=target), "" if name is None else name.id)

    def _publish(
        self,
        staged: FileStatus,
        target: str,
        key: Key,
        headers: Mapping[str, str],
        state: Versioning,
    ) -> VersionName | None:
        """Return the name that the new version will have when it is an older one, if it has an id.
        Raises Refused."""
        path = staged.path
        for _ in range(ATTEMPTS):
            there = self.find(key)
            if conditions.must_be_new(headers) and there is not None:
                raise precondition_failed()
            conditions.check_replacing(headers, there)
            try:
                current = self._name_of_current(key, there)
                name = None
                if state is Versioning.ENABLED:
                    name = self._new_name(key, Kind.VERSION, current)
                    self.fs.set_xattr(path, versions.ATTRIBUTE, name.text.encode())
                if there is None or current is None:
                    self.rename(path, target, key, is_new=True)
                elif state is Versioning.SUSPENDED and current.is_null:
                    self.rename_over(path, target, key, there)
                else:
                    self._exchange(there, current, path, target, key, staged)
            except (errors.NotTheKnownFile, ExistsNow):
                continue  # Another one has come between: it becomes an older version now.
            return name
        raise too_busy(key)

    def _name_of_current(self, key: Key, there: FileStatus | None) -> VersionName | None:
        """The name that the current version gets among the older ones. Raises NotTheKnownFile where
        it is gone."""
        if there is None:
            return None
        try:
            found = versions.version_name(versions.id_in(self._attributes(there.path)))
        except NOT_THERE:
            raise errors.NotTheKnownFile(f"{there.path} is gone") from None
        if found is not None:
            return found
        return self._name_behind_all(key, Kind.NULL_VERSION, there)

    def _new_name(self, key: Key, kind: Kind, current: VersionName | None) -> VersionName:
        """The name of a version that comes behind the current one, or behind all that there are."""
        if current is None:
            newest = self._newest(key)
            current = None if newest is None else newest[0]
        return versions.name_for(
            kind, self.shared.now_us(), current, secrets.token_bytes(versions.RANDOM_BYTES)
        )

    def _exchange(
        self,
        there: FileStatus,
        current: VersionName,
        path: str,
        target: str,
        key: Key,
        staged: FileStatus | None = None,
    ) -> None:
        """Rename the current version to the older ones, and a staged file to where it belongs, a
        path of its own if its status is not given. Raises NotTheKnownFile, ExistsNow, Refused."""
        done, kept = self._rename_away(there, current, (path, target), key)
        if done > 1:
            return
        try:
            self._rename_into(path, target, key)
        except ExistsNow:
            raise
        except (errors.HowdahError, Refused):
            moved = None if self.status_or_none(path) else self.status_or_none(target)
            if moved is not None and (staged is None or moved.file_id == staged.file_id):
                return  # A namenode that has just taken over does not know how many it renamed.
            # The new version cannot be there: the old one is current again.
            try:
                self.rename(kept, there.path, key, is_new=True)
            except (errors.HowdahError, Refused) as error:
                log.warning(
                    "%s has no current version, which stays at %s: %s",
                    paths.printable(there.path),
                    paths.printable(kept),
                    error,
                )
            raise

    def _rename_away(
        self, there: FileStatus, current: VersionName, following: tuple[str, str] | None, key: Key
    ) -> tuple[int, str]:
        """Rename the current version to the older ones, and what follows, if anything does and the
        namenode can do it in the same turn; return how many were renamed, and where the version
        is."""
        for _ in range(ATTEMPTS):
            kept = paths.join(self._directory(key), current.text)
            try:
                if isinstance(self.fs, HdfsFileSystem):
                    steps = (
                        [(there.path, kept)]
                        if following is None
                        else [(there.path, kept), following]
                    )
                    try:
                        return self.fs.rename_in_turn(steps, known=there), kept
                    except errors.UnsupportedOperation:
                        self.shared.only_here.warn(self.fs.uri)
                self.fs.rename(there.path, kept)
                return 1, kept
            except errors.PathNotFound:
                if self.status_or_none(there.path) is None:
                    raise errors.NotTheKnownFile(f"{there.path} is gone") from None
                self._make_kept(key)
            except errors.PathExists:
                # A copy that HDFS has made with its attributes has the id of its source.
                current = self._name_behind_all(key, current.kind, there)
        raise too_busy(key)

    def _name_behind_all(self, key: Key, kind: Kind, there: FileStatus) -> VersionName:
        newest = self._newest(key)
        return versions.name_for(
            kind,
            # Users of HDFS give files whatever times they like.
            min(there.modification_time_ms * 1000, self.shared.now_us()),
            None if newest is None else newest[0],
            secrets.token_bytes(versions.RANDOM_BYTES),
        )

    def _rename_into(self, path: str, target: str, key: Key) -> None:
        """Rename a staged file to a key's path, or to its older versions."""
        if target == self.path_of(key):
            self.rename(path, target, key, is_new=True)
            return
        for _ in range(ATTEMPTS):
            try:
                self.fs.rename(path, target)
            except errors.PathNotFound:
                self._make_kept(key)
            except errors.ParentNotDirectory:
                raise below_object() from None
            else:
                return
        raise too_busy(key)

    def _make_kept(self, key: Key) -> None:
        """Make the directory of older versions of a key, with the rights of that of the key."""
        above = paths.parent_of(self.path_of(key)) or "/"
        self.make_directory(above)
        status = self.fs.get_file_status(above)
        for path in (paths.join(above, VERSIONS), self._directory(key)):
            if self.status_or_none(path) is None:
                self._make_beside(path, status)

    def _make_beside(self, path: str, above: FileStatus) -> None:
        """Make a directory in which everybody may do what they may in another one. That may have an
        ACL, of which its mode is a part only, and an owner who has no rights in what others
        make."""
        mode = above.permission & _ALL_BITS
        if not self._has(capabilities.ACLS) or not (above.has_acl or above.owner != self.user):
            self.fs.mkdirs(path, mode)
            return
        acl = AclStatus(above.owner, above.group, bool(mode & 0o1000), mode, ())
        if above.has_acl:
            acl = self.fs.get_acl_status(above.path)
        entries = entries_beside(acl, self.user)
        group = next(each.permission for each in entries if (each.kind, each.name) == _GROUP)
        # Until it has its ACL it gives nobody more than that.
        self.fs.mkdirs(path, mode & ~0o070 | group << 3)
        try:
            self.fs.set_acl(path, entries)
        except (errors.AccessDenied, *NOT_THERE):
            pass  # Another request has made it, or taken it away again, which is seen next.
        except errors.InvalidAcl as error:
            log.warning(
                "%s may not change what is kept in %s: %s",
                above.owner,
                paths.printable(path),
                error,
            )

    # What is deleted.

    def delete(self, key: Key, headers: Mapping[str, str], version: str = "") -> Deleted:
        state = self.versioning()
        if state is Versioning.OFF:
            return super().delete(key, headers, version)
        path = self.path_of(key)
        if key.is_directory:
            self._prune_kept(path)
            return super().delete(key, headers, version)
        with self.held(path):
            if version:
                deleted = self._delete_version(key, headers, version)
            else:
                deleted = self._mark_deleted(key, headers, state)
        self.prune(paths.parent_of(path) or "/")
        return deleted

    def _mark_deleted(self, key: Key, headers: Mapping[str, str], state: Versioning) -> Deleted:
        is_null = state is Versioning.SUSPENDED
        for _ in range(ATTEMPTS):
            there = self.find(key)
            if conditions.are_about_deletion(headers):
                newest = self._newest(key) if there is None else None
                subject = newest[1] if newest is not None and newest[0].is_marker else there
                if subject is None:
                    self.check_exists()
                    return Deleted()
                conditions.check_deleting(headers, subject)
            try:
                current = self._name_of_current(key, there)
                name = self._new_name(key, Kind.NULL_MARKER if is_null else Kind.MARKER, current)
                with self.staged([]) as path:
                    self._put_marker(path, name, key, there, current)
            except errors.NotTheKnownFile:
                continue  # It is replaced meanwhile: the condition decides.
            except Refused as refused:
                if there is None and refused.code == "ExistingObjectIsFile":
                    return Deleted()  # A part of the key is an object: it was never there.
                raise
            if is_null:
                self._delete_null(key, but=name)
            return Deleted(name.id, is_marker=True, is_made=True)
        raise too_busy(key)

    def _put_marker(
        self,
        path: str,
        name: VersionName,
        key: Key,
        there: FileStatus | None,
        current: VersionName | None,
    ) -> None:
        """Rename a staged marker to the older versions, and the current version with it, unless the
        marker takes its place. Raises NotTheKnownFile."""
        target = paths.join(self._directory(key), name.text)
        if there is None or current is None:
            self._rename_into(path, target, key)
        elif name.is_null and current.is_null:
            self._rename_into(path, target, key)
            self._delete_file(there)
        else:
            self._exchange(there, current, path, target, key)

    def _delete_version(self, key: Key, headers: Mapping[str, str], version: str) -> Deleted:
        wanted = versions.checked_id(version)
        for _ in range(ATTEMPTS):
            there = self.find(key)
            try:
                if there is not None and self._id(there) == version:
                    conditions.check_deleting(headers, there)
                    self._check_unlocked(there, headers)
                    self._delete_current(key, there)
                    return Deleted(version)
            except (errors.NotTheKnownFile, *NOT_THERE):
                continue
            found = self._older(key, wanted)
            if found is None:
                again = self.find(key)
                if again is not None and (there is None or again.file_id != there.file_id):
                    continue  # It may have become the current one.
                self.check_exists()
                return Deleted(version)
            name, status = found
            conditions.check_deleting(headers, status)
            if not name.is_marker:
                try:
                    self._check_unlocked(status, headers)
                except NOT_THERE:
                    continue  # It may have become the current one.
            if name.is_marker and there is None:
                self._show_again(key, name)
            if not self.fs.delete(status.path):
                continue  # It may have become the current one.
            self._prune_older(key)
            return Deleted(version, is_marker=name.is_marker)
        raise too_busy(key)

    def _delete_current(self, key: Key, there: FileStatus) -> None:
        """Raises NotTheKnownFile where it is another one."""
        newest = self._newest(key)
        if newest is None or newest[0].is_marker:
            self._delete_file(there)
            return
        behind = newest[1].path
        if there.file_id and newest[1].file_id == there.file_id:
            raise errors.NotTheKnownFile(f"{there.path} has become an older version")
        if not self.replaces(behind, there.path, there):
            exact = self._exact(there)
            if exact.path == there.path:
                self.rename(behind, there.path, key, is_new=False)
            else:
                self.fs.delete(exact.path)
                try:
                    self.rename(behind, there.path, key, is_new=True)
                except ExistsNow:
                    pass  # Another gateway has put an object there meanwhile.
        self._prune_older(key)

    def _delete_file(self, known: FileStatus) -> None:
        """Delete a file, wherever it is renamed to meanwhile, and none that has taken its place.
        Raises NotTheKnownFile where it is gone, or has changed."""
        try:
            self.delete_if_same(self._exact(known).path, known)
        except NOT_THERE:
            raise errors.NotTheKnownFile(f"{known.path} is gone") from None

    def _exact(self, known: FileStatus) -> FileStatus:
        """A file, with a path by its id if it has one. Raises NotTheKnownFile where it is gone."""
        try:
            return self.by_id(known)
        except NOT_THERE:
            raise errors.NotTheKnownFile(f"{known.path} is gone") from None

    def _show_again(self, key: Key, marker: VersionName) -> None:
        """Make the version behind a marker the current one, if the marker is what hides it."""
        newest, behind = (*islice(self._all_older(key), 2), None, None)[:2]
        if newest is None or behind is None or newest[0] != marker or behind[0].is_marker:
            return
        try:
            self.rename(behind[1].path, self.path_of(key), key, is_new=True)
        except ExistsNow:
            return  # There is a newer one by now.
        except Refused as refused:
            # The key is a directory by now: its versions stay older ones.
            if refused.code not in ("ExistingObjectIsDirectory", "ExistingObjectIsFile"):
                raise
            return
        newest = self._newest(key)
        if newest is not None and newest[0] != marker and newest[0].is_marker:
            # Another gateway has deleted the key meanwhile.
            shown = dataclasses.replace(behind[1], path=self.path_of(key))
            try:
                self._rename_away(shown, behind[0], None, key)
            except errors.NotTheKnownFile:
                pass

    def _delete_null(self, key: Key, but: VersionName | None = None) -> None:
        """Delete the older version that is `null`, whose place another one has taken."""
        for name, status in list(self._all_nulls(key)):
            if name != but:
                self.fs.delete(status.path)
        self._prune_older(key)

    def _all_nulls(self, key: Key) -> Iterator[Older]:
        return (found for found in self._all_older(key) if found[0].is_null)

    def _prune_older(self, key: Key) -> None:
        """Delete the directory of older versions of a key, and that of all keys beside it, if they
        are empty."""
        directory = self._directory(key)
        try:
            self.fs.delete(directory)
        except (errors.DirectoryNotEmpty, errors.AccessDenied):
            return
        self._prune_kept(paths.parent_of(self.path_of(key)) or "/")

    def _prune_kept(self, path: str) -> None:
        """Delete the directory of older versions in a directory, if it is empty. That of the bucket
        itself stays: it says to those who may not read the bucket's attributes that it has any."""
        if path == self.path:
            return
        try:
            self.fs.delete(paths.join(path, VERSIONS))
        except (errors.DirectoryNotEmpty, errors.AccessDenied):
            pass
