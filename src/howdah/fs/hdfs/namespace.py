"""Names, their attributes and where their blocks are: the interface's methods as calls of
ClientProtocol, however these are made (by RPC, or over HTTP).

The umask (`fs.permissions.umask-mode`) is taken off here, as Hadoop's client does.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence

from howdah import errors
from howdah.client.statistics import Count, Tally
from howdah.fs import paths
from howdah.fs.hdfs.links import follow_links, follow_links_above
from howdah.fs.hdfs.snapshots import HdfsSnapshots
from howdah.fs.hdfs.status import file_status, name_of
from howdah.fs.paths import PathLike
from howdah.fs.status import (
    BlockLocation,
    ContentSummary,
    FileStatus,
    FsStatus,
    QuotaUsage,
    TypeQuota,
)
from howdah.proto import types_pb2

HOME_PREFIX = "/user"
DIRECTORY_MODE = 0o777
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


class HdfsNamespace(HdfsSnapshots):
    """The part of a filesystem on HDFS that the namenode alone answers."""

    _tally: Tally

    def resolve(self, path: PathLike) -> str:
        """The same; raises `InvalidPath` for names that aren't UTF-8."""
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
            self._namenode.concat(self.resolve(target), [self.resolve(each) for each in sources])
        except errors.UnresolvedPath:
            where, (whole, *parts) = self._all_behind_links((target, *sources), last=True)
            where.concat(whole, parts)

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

    # --- attributes -------------------------------------------------------------------

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

    # --- blocks and checksums -----------------------------------------------------------

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


def _type_quotas(proto: types_pb2.StorageTypeQuotaInfosProto) -> tuple[TypeQuota, ...]:
    return tuple(
        TypeQuota(types_pb2.StorageTypeProto.Name(each.type), _quota(each.quota), each.consumed)
        for each in proto.typeQuotaInfo
    )


def _quota(value: int) -> int:
    return -1 if value == _NO_QUOTA else value
