"""What the namenode alone answers: the interface's methods as calls of ClientProtocol, however
these are made (by RPC, or over HTTP).

Links are followed here: the namenode follows none. See `links`.

The umask (`fs.permissions.umask-mode`) is taken off here, as Hadoop's client does.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from howdah import errors
from howdah.client.statistics import Count, Tally
from howdah.config import Configuration, keys
from howdah.fs import paths
from howdah.fs.acl import AclEntry, AclStatus
from howdah.fs.api import FileSystem
from howdah.fs.attributes import KEEP
from howdah.fs.hdfs.attributes import (
    acl_entry,
    acl_entry_message,
    full_name,
    storage_policy,
    xattr_message,
)
from howdah.fs.hdfs.links import MAX_LINKS, behind, follow_links, follow_links_above
from howdah.fs.hdfs.snapshot_records import (
    SnapshotDiffReport,
    SnapshotStatus,
    SnapshottableDirectory,
    diff_entries,
    snapshot_status,
    snapshottable_directory,
)
from howdah.fs.hdfs.status import erasure_coding_policy, file_status, name_of
from howdah.fs.paths import PathLike
from howdah.fs.registry import connect
from howdah.fs.status import (
    BlockLocation,
    ContentSummary,
    ErasureCodingPolicy,
    FileStatus,
    FsStatus,
    QuotaUsage,
    StoragePolicy,
    TypeQuota,
)
from howdah.proto import types_pb2

if TYPE_CHECKING:
    from howdah.client.namenode import NamenodeProxy
    from howdah.formats.tokens.token import Token
    from howdah.security.key_servers import KeyServers

HOME_PREFIX = "/user"
DIRECTORY_MODE = 0o777
PARENT_MODE = 0o777
_NO_QUOTA = (1 << 64) - 1
_ACTIONS = (
    "NONE",
    "EXECUTE",
    "WRITE",
    "WRITE_EXECUTE",
    "READ",
    "READ_EXECUTE",
    "READ_WRITE",
    "PERM_ALL",
)


class HdfsNamespace(FileSystem):
    """A filesystem on HDFS, as one user, without its streams."""

    def __init__(
        self,
        authority: str,
        conf: Configuration,
        user: str,
        namenode: NamenodeProxy,
        tally: Tally,
    ) -> None:
        self._authority = authority
        self._conf = conf
        self.user = user
        self._namenode = namenode
        self._tally = tally
        self._umask = paths.parse_umask(conf.get(keys.FS_PERMISSIONS_UMASK_MODE))
        self._follows_links = conf.get(keys.FS_CLIENT_RESOLVE_REMOTE_SYMLINKS)
        self._makes_links = conf.get(keys.HOWDAH_CLIENT_SYMLINKS_ENABLED)
        self._elsewhere: dict[tuple[str, str], FileSystem] = {}

    def __reduce__(self) -> tuple[type[HdfsNamespace], tuple[str, Configuration, str]]:
        """Pickled for another process, it is one that connects anew, as the same user."""
        return type(self), (self._authority, self._conf, self.user)

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self._authority}"

    def close(self) -> None:
        """Let go of the filesystems that links led to.

        >>> fs.close()                   # or `with howdah.connect(uri) as fs:`
        """
        while self._elsewhere:
            self._elsewhere.popitem()[1].close()

    def resolve(self, path: PathLike) -> str:
        """The same; raises `InvalidPath` for names that aren't UTF-8.

        >>> fs.resolve("/docs//b/../a/")
        '/docs/a'
        """
        resolved = super().resolve(path)
        try:
            if not resolved.isascii():
                resolved.encode()
        except UnicodeEncodeError:
            raise errors.InvalidPath(
                f"Invalid path name {paths.printable(resolved)}: names are UTF-8 on HDFS"
            ) from None
        return resolved

    def home_directory(self) -> str:
        return f"{HOME_PREFIX}/{self.user}"

    def concat(self, target: PathLike, sources: Sequence[PathLike]) -> None:
        try:
            self._namenode.concat(
                self.resolve(target), [self.resolve(source) for source in sources]
            )
        except errors.UnresolvedPath:
            where, (whole, *parts) = self._all_behind_links((target, *sources), last=True)
            where.concat(whole, parts)

    # --- delegation tokens ------------------------------------------------------------

    def get_delegation_token(self, renewer: str) -> Token | None:
        """A token by which others are this user here, for as long as it is renewed; None where the
        cluster is not secured. Only `renewer` may renew it: the owner himself can be named.

        Whoever has the token has the user's rights: write it to no log. Raises AccessDenied, and
        `RemoteError` for who is known by a token himself.

        >>> fs.get_delegation_token("yarn") is None       # a token on a cluster secured by Kerberos
        True
        """
        from howdah.formats.tokens.token import Token

        proto = self._namenode.get_delegation_token(renewer)
        return None if proto is None else Token.from_proto(proto).at(self._token_service())

    def get_key_server_token(self, renewer: str) -> Token | None:
        """A token by which others are this user at the key servers of encryption zones, beside that
        of `get_delegation_token`; None where there are no key servers, or the cluster is not
        secured. Raises as that, and Unreachable where no key server answers.

        >>> fs.get_key_server_token("yarn") is None       # a token on a secured cluster with zones
        True
        """
        return None

    def renew_delegation_token(self, token: Token) -> int:
        """Until when the token is good now, in milliseconds since 1970; one of key servers, too.
        Raises AccessDenied for who is not its renewer, and InvalidToken for one that is over.

        >>> token = fs.get_delegation_token("alice")
        >>> until_ms = 0 if token is None else fs.renew_delegation_token(token)
        """
        servers = self._key_servers_of(token)
        if servers is None:
            return self._namenode.renew_delegation_token(token.to_proto())
        with closing(servers):
            return servers.renew_delegation_token(token)

    def cancel_delegation_token(self, token: Token) -> None:
        """Make a token worthless at once; one of key servers, too. Its owner and its renewer may.

        >>> token = fs.get_delegation_token("alice")      # None: this cluster is not secured
        >>> if token is not None:
        ...     fs.cancel_delegation_token(token)
        """
        servers = self._key_servers_of(token)
        if servers is None:
            self._namenode.cancel_delegation_token(token.to_proto())
            return
        with closing(servers):
            servers.cancel_delegation_token(token)

    def _key_servers_of(self, token: Token) -> KeyServers | None:
        """The key servers that a token is of; None for one of another kind."""
        from howdah.formats.tokens.token import KMS_DELEGATION

        if token.kind != KMS_DELEGATION:
            return None
        from howdah.security.key_servers import servers_of_token

        return servers_of_token(token, self._conf, self.user)

    def _token_service(self) -> str:
        """The name by which clients find a token for this filesystem."""
        raise NotImplementedError

    # --- namespace --------------------------------------------------------------------

    @follow_links
    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        return self._mkdirs(path, permission, create_parent=True)

    @follow_links
    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        return self._mkdirs(path, permission, create_parent=False)

    def _mkdirs(self, path: PathLike, permission: int | None, *, create_parent: bool) -> bool:
        mode = DIRECTORY_MODE if permission is None else permission
        return self._namenode.mkdirs(
            self.resolve(path),
            masked=mode & ~self._umask,
            unmasked=mode,
            create_parent=create_parent,
        )

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        try:
            self._namenode.rename2(self.resolve(src), self.resolve(dst), overwrite=overwrite)
        except errors.UnresolvedPath:
            where, (source, target) = self._all_behind_links((src, dst), last=False)
            where.rename(source, target, overwrite=overwrite)

    def rename_to_trash(self, src: PathLike, dst: PathLike) -> None:
        try:
            self._namenode.rename2(
                self.resolve(src), self.resolve(dst), overwrite=False, to_trash=True
            )
        except errors.UnresolvedPath:
            where, (source, target) = self._all_behind_links((src, dst), last=False)
            where.rename_to_trash(source, target)

    @follow_links_above
    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        return self._namenode.delete(self.resolve(path), recursive=recursive)

    def get_file_status(self, path: PathLike) -> FileStatus:
        resolved = self.resolve(path)
        try:
            proto = self._namenode.get_file_info(resolved)
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=True)
            return dataclasses.replace(where.get_file_status(followed), path=resolved)
        if proto is None:
            raise errors.PathNotFound(f"File does not exist: {resolved}").about(resolved)
        return file_status(proto, resolved)

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        resolved = self.resolve(path)
        try:
            page = self._namenode.get_listing(resolved, b"")
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=True)
            for status in where.list_status_iter(followed):
                below = status.path[len(followed) :].lstrip("/")
                yield dataclasses.replace(status, path=paths.join(resolved, below))
            return
        while page is not None:
            for proto in page.partialListing:
                name = name_of(proto.path)
                # Of a file the listing is the file itself, with an empty name.
                yield file_status(proto, paths.join(resolved, name) if name else resolved)
            if not page.remainingEntries or not page.partialListing:
                return
            self._tally.add(Count.LARGE_READ_OPS)
            page = self._namenode.get_listing(resolved, page.partialListing[-1].path)
        raise errors.PathNotFound(f"File does not exist: {resolved}").about(resolved)

    @follow_links_above
    def content_summary(self, path: PathLike) -> ContentSummary:
        proto = self._namenode.get_content_summary(self.resolve(path))
        return ContentSummary(
            proto.length,
            proto.fileCount,
            proto.directoryCount,
            proto.spaceConsumed,
            _quota(proto.quota),
            _quota(proto.spaceQuota),
            proto.erasureCodingPolicy,
            proto.snapshotLength,
            proto.snapshotFileCount,
            proto.snapshotDirectoryCount,
            proto.snapshotSpaceConsumed,
            _type_quotas(proto.typeQuotaInfos),
        )

    @follow_links_above
    def quota_usage(self, path: PathLike) -> QuotaUsage:
        proto = self._namenode.get_quota_usage(self.resolve(path))
        return QuotaUsage(
            proto.fileAndDirectoryCount,
            proto.spaceConsumed,
            _quota(proto.quota),
            _quota(proto.spaceQuota),
            _type_quotas(proto.typeQuotaInfos),
        )

    # --- modes, owners and times ------------------------------------------------------------

    @follow_links
    def set_permission(self, path: PathLike, mode: int) -> None:
        self._namenode.set_permission(self.resolve(path), mode)

    @follow_links
    def set_owner(self, path: PathLike, owner: str | None = None, group: str | None = None) -> None:
        if not owner and not group:
            raise errors.IllegalArgument("set_owner needs an owner, a group, or both")
        self._namenode.set_owner(self.resolve(path), owner or None, group or None)

    @follow_links
    def set_replication(self, path: PathLike, replication: int) -> bool:
        return self._namenode.set_replication(self.resolve(path), replication)

    @follow_links
    def set_times(self, path: PathLike, mtime_ms: int = -1, atime_ms: int = -1) -> None:
        self._namenode.set_times(self.resolve(path), mtime_ms, atime_ms)

    @follow_links
    def access(self, path: PathLike, mode: int) -> None:
        if mode & ~(os.R_OK | os.W_OK | os.X_OK):
            raise errors.IllegalArgument(f"{mode} is no combination of R_OK, W_OK and X_OK")
        # R_OK, W_OK, X_OK are 4, 2, 1, as the numbers of FsActionProto.
        self._namenode.check_access(self.resolve(path), _ACTIONS[mode])

    # --- ACLs -------------------------------------------------------------------------

    @follow_links
    def get_acl_status(self, path: PathLike) -> AclStatus:
        acl = self._namenode.get_acl_status(self.resolve(path))
        return AclStatus(
            acl.owner,
            acl.group,
            acl.sticky,
            acl.permission.perm,
            tuple(map(acl_entry, acl.entries)),
        )

    @follow_links
    def modify_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.modify_acl_entries(self.resolve(path), map(acl_entry_message, entries))

    @follow_links
    def remove_acl_entries(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.remove_acl_entries(self.resolve(path), map(acl_entry_message, entries))

    @follow_links
    def remove_default_acl(self, path: PathLike) -> None:
        self._namenode.remove_default_acl(self.resolve(path))

    @follow_links
    def remove_acl(self, path: PathLike) -> None:
        self._namenode.remove_acl(self.resolve(path))

    @follow_links
    def set_acl(self, path: PathLike, entries: Iterable[AclEntry]) -> None:
        self._namenode.set_acl(self.resolve(path), map(acl_entry_message, entries))

    # --- extended attributes ----------------------------------------------------------

    @follow_links
    def get_xattr(self, path: PathLike, name: str) -> bytes:
        xattrs = self._namenode.get_xattrs(self.resolve(path), [xattr_message(name)])
        return xattrs[0].value

    @follow_links
    def get_xattrs(self, path: PathLike, names: Iterable[str] = ()) -> dict[str, bytes]:
        xattrs = self._namenode.get_xattrs(self.resolve(path), map(xattr_message, names))
        return {full_name(xattr): xattr.value for xattr in xattrs}

    @follow_links
    def list_xattrs(self, path: PathLike) -> list[str]:
        return [full_name(xattr) for xattr in self._namenode.list_xattrs(self.resolve(path))]

    @follow_links
    def set_xattr(
        self,
        path: PathLike,
        name: str,
        value: bytes | None = None,
        *,
        create: bool = True,
        replace: bool = True,
    ) -> None:
        flags = (types_pb2.XATTR_CREATE if create else 0) | (
            types_pb2.XATTR_REPLACE if replace else 0
        )
        self._namenode.set_xattr(self.resolve(path), xattr_message(name, value), flags)

    @follow_links
    def remove_xattr(self, path: PathLike, name: str) -> None:
        self._namenode.remove_xattr(self.resolve(path), xattr_message(name))

    # --- storage policies and quotas --------------------------------------------------

    def get_storage_policies(self) -> list[StoragePolicy]:
        return [storage_policy(message) for message in self._namenode.get_storage_policies()]

    @follow_links_above
    def get_storage_policy(self, path: PathLike) -> StoragePolicy:
        return storage_policy(self._namenode.get_storage_policy(self.resolve(path)))

    @follow_links
    def set_storage_policy(self, path: PathLike, policy: str) -> None:
        self._namenode.set_storage_policy(self.resolve(path), policy)

    @follow_links
    def satisfy_storage_policy(self, path: PathLike) -> None:
        self._namenode.satisfy_storage_policy(self.resolve(path))

    @follow_links
    def unset_storage_policy(self, path: PathLike) -> None:
        self._namenode.unset_storage_policy(self.resolve(path))

    # --- erasure coding ---------------------------------------------------------------

    def get_erasure_coding_policies(self) -> list[ErasureCodingPolicy]:
        return [
            erasure_coding_policy(message)
            for message in self._namenode.get_erasure_coding_policies()
        ]

    def get_erasure_coding_codecs(self) -> dict[str, str]:
        return self._namenode.get_erasure_coding_codecs()

    @follow_links
    def get_erasure_coding_policy(self, path: PathLike) -> ErasureCodingPolicy | None:
        message = self._namenode.get_erasure_coding_policy(self.resolve(path))
        return None if message is None else erasure_coding_policy(message)

    @follow_links
    def set_erasure_coding_policy(self, path: PathLike, policy: str | None = None) -> None:
        self._namenode.set_erasure_coding_policy(self.resolve(path), policy)

    @follow_links
    def unset_erasure_coding_policy(self, path: PathLike) -> None:
        self._namenode.unset_erasure_coding_policy(self.resolve(path))

    @follow_links
    def set_quota(
        self,
        path: PathLike,
        *,
        names: int | None = KEEP,
        space_bytes: int | None = KEEP,
        storage_type: str | None = None,
    ) -> None:
        if storage_type is not None and storage_type not in set(types_pb2.StorageTypeProto.keys()):
            raise errors.IllegalArgument(f"{storage_type} is no type of storage")
        if (names is not None and names <= 0) or (space_bytes is not None and space_bytes < 0):
            raise errors.IllegalArgument(
                f"Invalid values for quota : {names} names and {space_bytes} bytes"
            )
        self._namenode.set_quota(
            self.resolve(path),
            -1 if names is None else names,
            -1 if space_bytes is None else space_bytes,
            storage_type,
        )

    # --- snapshots --------------------------------------------------------------------

    @follow_links
    def allow_snapshot(self, path: PathLike) -> None:
        """Make a directory snapshottable. Only for the superuser.

        >>> fs.allow_snapshot("/docs")
        >>> fs.create_snapshot("/docs", "monday")
        '/docs/.snapshot/monday'
        """
        self._namenode.allow_snapshot(self.resolve(path))

    @follow_links
    def disallow_snapshot(self, path: PathLike) -> None:
        """It must not have any snapshots. Only for the superuser.

        >>> fs.allow_snapshot("/docs")
        >>> fs.disallow_snapshot("/docs")
        """
        self._namenode.disallow_snapshot(self.resolve(path))

    @follow_links
    def create_snapshot(self, path: PathLike, name: str | None = None) -> str:
        """Keep a directory as it is now. The path under which that is read.

        Without a name the snapshot gets one from the time, such as
        `s20260102-030405.006`. Raises SnapshotError if the directory is not
        snapshottable, or has one of that name.

        >>> fs.allow_snapshot("/docs")
        >>> there = fs.create_snapshot("/docs", "monday")
        >>> fs.delete("/docs/a")
        True
        >>> fs.read_bytes(f"{there}/a")
        b'0123456789'
        """
        return self._namenode.create_snapshot(self.resolve(path), name)

    @follow_links
    def rename_snapshot(self, path: PathLike, old: str, new: str) -> None:
        """Give a snapshot another name, under which its path is read from then on.

        >>> fs.allow_snapshot("/docs")
        >>> _ = fs.create_snapshot("/docs", "monday")
        >>> fs.rename_snapshot("/docs", "monday", "first")
        >>> fs.ls("/docs/.snapshot")
        ['/docs/.snapshot/first']
        """
        self._namenode.rename_snapshot(self.resolve(path), old, new)

    @follow_links
    def delete_snapshot(self, path: PathLike, name: str) -> None:
        """What only this snapshot has is gone then.

        >>> fs.allow_snapshot("/docs")
        >>> _ = fs.create_snapshot("/docs", "monday")
        >>> fs.delete_snapshot("/docs", "monday")
        """
        self._namenode.delete_snapshot(self.resolve(path), name)

    def list_snapshottable_directories(self) -> list[SnapshottableDirectory]:
        """Those that the caller owns; all of them, for the superuser.

        >>> fs.allow_snapshot("/docs")
        >>> "/docs" in [directory.path for directory in fs.list_snapshottable_directories()]
        True
        """
        return [
            snapshottable_directory(message)
            for message in self._namenode.snapshottable_directories()
        ]

    @follow_links
    def list_snapshots(self, path: PathLike) -> list[SnapshotStatus]:
        """The snapshots of a directory, by name.

        >>> fs.allow_snapshot("/docs")
        >>> _ = fs.create_snapshot("/docs", "monday")
        >>> [snapshot.path for snapshot in fs.list_snapshots("/docs")]
        ['/docs/.snapshot/monday']
        """
        return [
            snapshot_status(message) for message in self._namenode.snapshots(self.resolve(path))
        ]

    @follow_links
    def snapshot_diff(self, path: PathLike, old: str = "", new: str = "") -> SnapshotDiffReport:
        """What leads from the snapshot `old` of a directory to the snapshot `new`.

        An empty name is the directory as it is now.

        >>> fs.allow_snapshot("/docs")
        >>> _ = fs.create_snapshot("/docs", "monday")
        >>> fs.rename("/docs/a", "/docs/b")
        >>> diff = fs.snapshot_diff("/docs", "monday")
        >>> [(entry.type.name, entry.path, entry.target) for entry in diff.entries]
        [('MODIFY', '.', None), ('RENAME', './a', './b')]
        """
        resolved = self.resolve(path)
        return SnapshotDiffReport(
            resolved, old, new, diff_entries(self._namenode, resolved, old, new)
        )

    # --- blocks -----------------------------------------------------------------------

    @follow_links
    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        if start < 0 or (length is not None and length < 0):
            raise errors.IllegalArgument("start and length must not be negative")
        resolved = self.resolve(path)
        wanted = (1 << 63) - 1 - start if length is None else length
        located = self._namenode.get_block_locations(resolved, start, wanted)
        return [
            BlockLocation(
                offset=block.offset,
                length=block.length_bytes,
                hosts=tuple(node.hostname for node in block.nodes),
                names=tuple(node.transfer_address for node in block.nodes),
                topology_paths=tuple(
                    f"{(node.location or '/default-rack').rstrip('/')}/{node.transfer_address}"
                    for node in block.nodes
                ),
                storage_ids=block.storage_ids,
                storage_types=tuple(kind.name for kind in block.storage_types),
                cached_hosts=tuple(
                    node.hostname
                    for node, cached in zip(block.nodes, block.cached, strict=False)
                    if cached
                ),
                corrupt=block.corrupt,
            )
            for block in located.blocks
        ]

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        stats = self._namenode.get_fs_stats()
        return FsStatus(stats.capacity, stats.used, stats.remaining)

    # --- symbolic links ---------------------------------------------------------------

    def supports_symlinks(self) -> bool:
        return self._makes_links

    def create_symlink(
        self, target: PathLike, link: PathLike, *, create_parent: bool = True
    ) -> None:
        if not self._makes_links:
            raise errors.UnsupportedOperation(
                f"Symlinks not supported: {keys.HOWDAH_CLIENT_SYMLINKS_ENABLED.name} is false"
            )
        text = paths.text_of(target)
        resolved = self.resolve(link)
        try:
            self._namenode.create_symlink(
                text,
                resolved,
                parent_mode=PARENT_MODE & ~self._umask,
                create_parent=create_parent,
            )
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=False)
            where.create_symlink(text, followed, create_parent=create_parent)

    def get_link_target(self, path: PathLike) -> str:
        status = self.get_file_link_status(path)
        if status.symlink is None:
            raise errors.RemoteError(f"Path {status.path} is not a symbolic link").about(
                status.path
            )
        return status.symlink

    def get_file_link_status(self, path: PathLike) -> FileStatus:
        resolved = self.resolve(path)
        try:
            proto = self._namenode.get_file_link_info(resolved)
        except errors.UnresolvedPath:
            where, followed = self.behind_links(resolved, last=False)
            return dataclasses.replace(where.get_file_link_status(followed), path=resolved)
        if proto is None:
            raise errors.PathNotFound(f"File does not exist: {resolved}").about(resolved)
        return file_status(proto, resolved)

    def behind_links(self, path: PathLike, *, last: bool) -> tuple[FileSystem, str]:
        """The path without links, and the filesystem that it is of.

        A link at the end is followed if it is to be the `last` one. Raises `LinkLoop`,
        `UnresolvedLink` where links are not to be followed.

        >>> fs.create_symlink("a", "/docs/link")
        >>> there, path = fs.behind_links("/docs/link", last=True)
        >>> path
        '/docs/a'
        """
        start = followed = self.resolve(path)
        here: HdfsNamespace = self
        if not self._follows_links:
            raise errors.UnresolvedLink(
                f"Path {start} contains a symlink and symlink resolution is disabled "
                f"({keys.FS_CLIENT_RESOLVE_REMOTE_SYMLINKS.name})."
            ).about(start)
        for _ in range(MAX_LINKS):
            target = behind(followed, here._namenode.get_link_target(followed))
            where = self._filesystem_of(target, here)
            followed = where.resolve(target.path)
            if not isinstance(where, HdfsNamespace):
                return where, followed
            here = where
            try:
                if last:
                    here._namenode.get_file_info(followed)
                else:
                    here._namenode.get_file_link_info(followed)
            except errors.UnresolvedPath:
                continue
            return here, followed
        raise errors.LinkLoop(f"Possible cyclic loop while following symbolic link {start}").about(
            start
        )

    def _all_behind_links(
        self, several: Sequence[PathLike], *, last: bool
    ) -> tuple[FileSystem, list[str]]:
        """Several paths, which have to be of one filesystem."""
        places: list[tuple[FileSystem, str]] = []
        for path in several:
            resolved = self.resolve(path)
            try:
                if last:
                    self._namenode.get_file_info(resolved)
                else:
                    self._namenode.get_file_link_info(resolved)
                places.append((self, resolved))
            except errors.UnresolvedPath:
                places.append(self.behind_links(resolved, last=last))
        where = places[0][0]
        for other, path in places:
            if other.uri != where.uri:
                raise errors.IllegalArgument(
                    f"{path} is a path of {other.uri}, and {places[0][1]} one of {where.uri}"
                )
        return where, [path for _, path in places]

    def _filesystem_of(self, location: paths.Location, here: HdfsNamespace) -> FileSystem:
        """That of a target; without scheme, where the link is. Connected to once."""
        if not location.is_qualified:
            return here
        key = (location.scheme, location.authority)
        known = self._elsewhere.get(key)
        if known is None:
            root = f"{location.scheme}://{location.authority}/"
            known = connect(root, conf=self._conf, user=self.user)
            if known.uri == self.uri:
                known.close()
                return self
            # Another thread may have been first.
            return self._elsewhere.setdefault(key, known)
        return known


def _type_quotas(proto: types_pb2.StorageTypeQuotaInfosProto) -> tuple[TypeQuota, ...]:
    return tuple(
        TypeQuota(types_pb2.StorageTypeProto.Name(info.type), _quota(info.quota), info.consumed)
        for info in proto.typeQuotaInfo
    )


def _quota(value: int) -> int:
    return -1 if value == _NO_QUOTA else value
