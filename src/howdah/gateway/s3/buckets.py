"""Which directories are buckets (shell): those that are configured, and the children of one.

A directory whose name S3 does not allow is no bucket; it can be configured under another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.status import FileStatus
from howdah.gateway.s3.protocol.acls import Others
from howdah.gateway.s3.protocol.names import STAGING, VERSIONS, is_bucket_name
from howdah.gateway.s3.protocol.refusals import Refused


@dataclass(frozen=True, slots=True)
class Buckets:
    """Of one gateway."""

    root: str
    own: Mapping[str, str]
    """Directories that are configured, by the names of buckets."""
    mode: int
    """Of the directories of new buckets."""

    @classmethod
    def of(cls, conf: Configuration) -> Buckets:
        """Raises InvalidConfiguration."""
        own: dict[str, str] = {}
        for text in conf.get(keys.HOWDAH_S3_BUCKETS):
            name, equals, path = text.partition("=")
            if not equals or not is_bucket_name(name) or not path.startswith(paths.SEPARATOR):
                raise errors.InvalidConfiguration(
                    f"{keys.HOWDAH_S3_BUCKETS.name} has {text!r}, which is not NAME=/PATH with a "
                    "name of 3 to 63 lower case letters, digits, dots and hyphens"
                )
            own[name] = paths.normalize(path)
        root = conf.get(keys.HOWDAH_S3_ROOT)
        if not root.startswith(paths.SEPARATOR):
            raise errors.InvalidConfiguration(
                f"{keys.HOWDAH_S3_ROOT.name} = {root!r} is no absolute path"
            )
        umask = paths.parse_umask(conf.get(keys.FS_PERMISSIONS_UMASK_MODE))
        return cls(paths.normalize(root), own, 0o777 & ~umask)

    def path(self, name: str) -> str:
        """The directory of a bucket, which need not be there. Raises Refused."""
        if name in self.own:
            return self.own[name]
        if not is_bucket_name(name):
            raise Refused("NoSuchBucket", "The specified bucket does not exist", BucketName=name)
        return paths.join(self.root, name)

    def existing(self, fs: FileSystem, name: str) -> FileStatus:
        """The directory of a bucket. Raises Refused."""
        try:
            status = fs.get_file_status(self.path(name))
        except (errors.PathNotFound, errors.ParentNotDirectory):
            status = None
        if status is None or not status.is_directory:
            raise Refused("NoSuchBucket", "The specified bucket does not exist", BucketName=name)
        return status

    def check_owner(self, fs: FileSystem, name: str, wanted: str) -> None:
        """Raises Refused unless a bucket belongs to whom a client expects."""
        owner = self.existing(fs, name).owner
        if owner != wanted:
            raise Refused("AccessDenied", f"Access Denied: the bucket {name} is not {wanted}'s")

    def all(self, fs: FileSystem) -> Iterator[tuple[str, FileStatus]]:
        """Yield all buckets that the user can see, in the order of their names."""
        found: dict[str, FileStatus] = {}
        try:
            for status in fs.list_status_iter(self.root):
                if status.is_directory and is_bucket_name(status.name):
                    found[status.name] = status
        except (errors.PathNotFound, errors.AccessDenied):
            pass  # Those that are configured may be there all the same.
        for name in self.own:
            try:
                found[name] = fs.get_file_status(self.own[name])
            except (errors.PathNotFound, errors.ParentNotDirectory, errors.AccessDenied):
                found.pop(name, None)
        yield from sorted(found.items())

    def create(self, fs: FileSystem, name: str, user: str, others: Others | None = None) -> None:
        """Make the directory of a new bucket. `others` is what they may do there, if that is said.
        Raises Refused."""
        if name in self.own:
            raise _is_there(name, is_own=False)
        if not is_bucket_name(name):
            raise Refused(
                "InvalidBucketName",
                "The specified bucket is not valid: 3 to 63 lower case letters, digits, dots and "
                "hyphens",
                BucketName=name,
            )
        path = self.path(name)
        try:
            there = fs.get_file_status(path)
        except errors.PathNotFound:
            if others is None:
                fs.mkdirs(path, self.mode)
            else:
                # Never more than is wanted, and what the umask takes is given afterwards.
                fs.mkdirs(path, self.mode & others.mode(self.mode, is_directory=True))
                made = fs.get_file_status(path)
                fs.set_permission(path, others.mode(made.permission, is_directory=True))
        else:
            raise _is_there(name, is_own=there.owner == user)

    def delete(
        self,
        fs: FileSystem,
        name: str,
        user: str,
        own_files: Callable[[], AbstractContextManager[FileSystem]],
    ) -> None:
        """Delete the directory of an empty bucket, without older versions as well, with what came
        of unfinished uploads: those of other users as the gateway's own user. Raises Refused."""
        if name in self.own:
            raise Refused(
                "AccessDenied",
                f"this bucket is configured ({keys.HOWDAH_S3_BUCKETS.name}), and not deleted",
            )
        status = self.existing(fs, name)
        path = status.path
        if any(status.name not in (STAGING, VERSIONS) for status in fs.list_status_iter(path)):
            raise _not_empty()
        kept = _status_or_none(fs, paths.join(path, VERSIONS))
        try:
            fs.delete(paths.join(path, VERSIONS))
            staging = paths.join(path, STAGING)
            try:
                fs.delete(staging, recursive=True)
            except errors.AccessDenied:
                _check_may_delete(fs, status, user)
                with own_files() as files:
                    files.delete(staging, recursive=True)
            fs.delete(path)
        except (errors.HowdahError, OSError) as error:
            # Who may not read what the bucket says of itself sees by this that it has versions.
            if kept is not None and fs.exists(path):
                # With an ACL the group's bits are its mask, and would give the group more.
                fs.mkdirs(kept.path, kept.permission & ~(0o070 * kept.has_acl))
            if isinstance(error, errors.DirectoryNotEmpty):
                raise _not_empty() from None
            raise


def _status_or_none(fs: FileSystem, path: str) -> FileStatus | None:
    try:
        return fs.get_file_status(path)
    except errors.PathNotFound:
        return None


def _check_may_delete(fs: FileSystem, status: FileStatus, user: str) -> None:
    """Raises AccessDenied unless the user may delete a directory, whatever is in it."""
    above = fs.get_file_status(paths.parent_of(status.path) or "/")
    fs.access(above.path, os.W_OK | os.X_OK)
    fs.access(status.path, os.W_OK | os.X_OK)
    if above.permission & 0o1000 and user not in (above.owner, status.owner):
        raise errors.AccessDenied(f"{status.path} is not {user}'s, and {above.path} is sticky")


def _is_there(name: str, *, is_own: bool) -> Refused:
    if not is_own:
        return Refused(
            "BucketAlreadyExists",
            "The requested bucket name is not available. Select a different name and try again.",
            BucketName=name,
        )
    return Refused(
        "BucketAlreadyOwnedByYou",
        "Your previous request to create the named bucket succeeded and you already own it.",
        BucketName=name,
    )


def _not_empty() -> Refused:
    return Refused("BucketNotEmpty", "The bucket you tried to delete is not empty")
