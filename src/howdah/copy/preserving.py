"""Preserving attributes of the source at the target (`-p`; Hadoop's DistCpUtils.preserve).

An attribute that is equal already is not set, so an ordinary user can preserve the owner of the
files that he owns. Owner, ACL and mode come last, since they may forbid all else.

The erasure coding policy of a file is an option of its creation. A directory gets the one that its
source has or inherits. Replicated sources leave the target's policy as it is, as in Hadoop.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TypeGuard

from howdah import errors
from howdah.copy.listing.entries import Entry, Kind
from howdah.copy.options import Attribute
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.fs.status import FileStatus
from howdah.protocol.raw_paths import ZONE_ATTRIBUTE

_RAW = "raw."
_XATTRS = {Attribute.XATTR, Attribute.RAW}
_STICKY = 0o1000
# Set when the file is created, not afterwards.
_AT_CREATION = {
    Attribute.BLOCK_SIZE,
    Attribute.CHECKSUM_TYPE,
    Attribute.ERASURE_CODING_POLICY,
}


class AclsNotSupported(errors.UnsupportedOperation):
    """ACLs are to be preserved, and one of the filesystems has none."""

    java_class = "org.apache.hadoop.tools.CopyListing$AclsNotSupportedException"


class XAttrsNotSupported(errors.UnsupportedOperation):
    """Extended attributes are to be preserved, and one of the filesystems has none."""

    java_class = "org.apache.hadoop.tools.CopyListing$XAttrsNotSupportedException"


def check_support(fs: FileSystem, path: str, wanted: Set[Attribute]) -> None:
    """Raise unless a filesystem has the attributes that are to be preserved. It is asked about
    `path`, or about what is above it: the root may be in no nameservice of a router."""
    if Attribute.ACL in wanted:
        try:
            _ask_at(fs.get_acl_status, path)
        except errors.HowdahError as error:
            raise AclsNotSupported(f"ACLs not supported for file system: {fs.uri}") from error
    if Attribute.XATTR in wanted:
        try:
            _ask_at(fs.get_xattrs, path)
        except errors.HowdahError as error:
            raise XAttrsNotSupported(f"XAttrs not supported for file system: {fs.uri}") from error


def _ask_at(ask: Callable[[str], object], path: str) -> None:
    """Ask about the lowest directory that is there. A refusal to who may not look is an answer."""
    try:
        ask(path)
    except errors.PathNotFound:
        parent = paths.parent_of(path)
        if parent is None:
            raise
        _ask_at(ask, parent)
    except errors.AccessDenied:
        return


def has_coding_policies(fs: FileSystem) -> TypeGuard[HdfsFileSystem]:
    """Whether the files of a filesystem can be erasure coded by a policy that is named."""
    return isinstance(fs, HdfsFileSystem)


def is_set_afterwards(wanted: Set[Attribute]) -> bool:
    """Whether attributes are given to a file that is there, and not when it is created."""
    return bool(wanted - _AT_CREATION)


def preserve(
    source_fs: FileSystem, source: Entry, target_fs: FileSystem, path: str, wanted: Set[Attribute]
) -> None:
    """Give `path` the wanted attributes of `source`."""
    if Attribute.ERASURE_CODING_POLICY in wanted and source.kind == Kind.DIRECTORY:
        _coding_policy(source, target_fs, path)
    if not is_set_afterwards(wanted):
        return
    now = target_fs.get_file_status(path)
    if wanted & _XATTRS:
        _xattrs(source_fs, source.path, target_fs, path, wanted)
    # Erasure coded files, on either side, have none.
    is_replicated = now.is_file and not now.is_erasure_coded and not source.coding_policy
    if Attribute.REPLICATION in wanted and is_replicated and source.replication != now.replication:
        target_fs.set_replication(path, max(source.replication, 1))
    if Attribute.TIMES in wanted:
        target_fs.set_times(path, source.modification_time_ms, source.access_time_ms)
    _owner(source, target_fs, now, wanted)
    if Attribute.ACL in wanted:
        _acl(source_fs, source, target_fs, now)
    elif Attribute.PERMISSION in wanted and source.permission != now.permission:
        target_fs.set_permission(path, source.permission)


def _coding_policy(source: Entry, target_fs: FileSystem, path: str) -> None:
    if not source.coding_policy or not has_coding_policies(target_fs):
        return
    policy = target_fs.get_erasure_coding_policy(path)
    if policy is None or policy.name != source.coding_policy:
        target_fs.set_erasure_coding_policy(path, source.coding_policy)


def _owner(source: Entry, target_fs: FileSystem, now: FileStatus, wanted: Set[Attribute]) -> None:
    owner = source.owner if Attribute.USER in wanted and source.owner != now.owner else None
    group = source.group if Attribute.GROUP in wanted and source.group != now.group else None
    if owner or group:
        target_fs.set_owner(now.path, owner, group)


def _acl(source_fs: FileSystem, source: Entry, target_fs: FileSystem, now: FileStatus) -> None:
    if source.has_acl or now.has_acl:
        target_fs.set_acl(now.path, source_fs.get_acl_status(source.path).all_entries())
        # An ACL has no sticky bit.
        if (source.permission ^ now.permission) & _STICKY:
            target_fs.set_permission(now.path, source.permission)
    elif source.permission != now.permission:
        target_fs.set_permission(now.path, source.permission)


def _xattrs(
    source_fs: FileSystem, source: str, target_fs: FileSystem, target: str, wanted: Set[Attribute]
) -> None:
    given = {
        name: value
        for name, value in source_fs.get_xattrs(source).items()
        if (Attribute.RAW if name.startswith(_RAW) else Attribute.XATTR) in wanted
    }
    there = target_fs.get_xattrs(target) if given else {}
    if ZONE_ATTRIBUTE in given:
        from howdah.protocol.encryption_zones.messages import zone_attribute_of_copy

        given[ZONE_ATTRIBUTE] = zone_attribute_of_copy(
            given[ZONE_ATTRIBUTE], there.get(ZONE_ATTRIBUTE)
        )
    for name, value in given.items():
        if there.get(name) != value:
            target_fs.set_xattr(target, name, value)
