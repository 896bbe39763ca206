"""The directories between mount points: what they look like, and that nobody changes them.

Mirrors ViewFileSystem.InternalDirOfViewFs: they belong to the user who connects, have mode
0555 and the time at which the table was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.fs.acl import AclStatus
from howdah.fs.status import FileStatus
from howdah.fs.viewfs.mount_table import Link

MODE: Final = 0o555


def read_only(operation: str, path: str) -> errors.AccessDenied:
    """The refusal of a change, in Hadoop's words."""
    return errors.AccessDenied(
        f"InternalDir of ViewFileSystem is readonly, operation {operation} not permitted on path "
        f"{path}."
    ).about(path)


def not_in_mount_point(operation: str, path: str | None) -> errors.NotInMountPoint:
    """The refusal of a question that only a target can answer."""
    if path is None:
        return errors.NotInMountPoint(f"{operation} on empty path is invalid")
    return errors.NotInMountPoint(
        f"{operation} on path `{path}' is not within a mount point"
    ).about(path)


def is_a_directory(path: str) -> errors.PathNotFound:
    """What an operation on files says of such a directory."""
    return errors.PathNotFound(f"Path points to dir not a file: {path}").about(path)


@dataclass(frozen=True, slots=True)
class Looks:
    """Owner, group and time of all internal directories of a filesystem."""

    owner: str
    group: str
    created_ms: int

    def directory(self, path: str) -> FileStatus:
        """The status of an internal directory."""
        return self._status(path, is_directory=True)

    def symlink(self, link: Link) -> FileStatus:
        """The status of a mount point that is shown as a link."""
        return self._status(link.mount, is_directory=False, symlink=link.target_text)

    def acl(self) -> AclStatus:
        """No entries beside the mode."""
        return AclStatus(self.owner, self.group, False, MODE, ())

    def _status(self, path: str, *, is_directory: bool, symlink: str | None = None) -> FileStatus:
        return FileStatus(
            path=path,
            length=0,
            is_directory=is_directory,
            replication=0,
            block_size=0,
            modification_time_ms=self.created_ms,
            access_time_ms=self.created_ms,
            permission=MODE,
            owner=self.owner,
            group=self.group,
            symlink=symlink,
        )
