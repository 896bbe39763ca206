"""`ViewFileSystem`: several filesystems as one tree, `viewfs://NAME/` (FS-043, FS-047).

Mirrors org.apache.hadoop.fs.viewfs.ViewFileSystem. Rules:

1. Each call goes to the target that the mount table says, and nowhere else: one namenode
   that is down leaves the other mount points usable (FS-045).
2. Directories between mount points are read-only. With a fallback what is made in them is
   made in the fallback, where nothing of the table has that name; a listing has both.
3. Mount points can neither be deleted nor renamed.
4. A rename never copies (`howdah.fs.viewfs.rename_rules`).
5. Paths in statuses and errors are those of the view.
6. Mount points are listed as symbolic links with the target's URI, or as what they lead
   to (`fs.viewfs.mount.links.as.symlinks`); asked for by name they are what they lead to.

Unlike Hadoop: `delete` of what no link covers is false, as of anything that is not there;
`mkdirs` of the root is no change, as of any internal directory; a pattern finds what is
below a mount point that is listed as a link; the path of a new snapshot is one of the view;
nothing can be renamed onto a mount point, and within one by expression everything can; files
of one target can be put together (`concat`); nothing of a mount point itself goes to the
trash.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from howdah import errors
from howdah.config import Configuration
from howdah.fs import capabilities, paths
from howdah.fs.api import FileSystem, Progress
from howdah.fs.path_handle import PathHandle
from howdah.fs.paths import PathLike
from howdah.fs.status import (
    BlockLocation,
    ContentSummary,
    FileChecksum,
    FileStatus,
    FsStatistics,
    FsStatus,
    QuotaUsage,
    ServerDefaults,
)
from howdah.fs.streams import FSDataInputStream, FSDataOutputStream
from howdah.fs.viewfs import internal, rename_rules, streams
from howdah.fs.viewfs.attributes import ViewAttributes
from howdah.fs.viewfs.delegation import renamed_errors
from howdah.fs.viewfs.mount_table import (
    Directory,
    Link,
    Resolved,
    child_link,
    join_below,
    sorted_children,
)
from howdah.options import CreateFlag
from howdah.protocol.trash_names import TRASH_NAME

log = logging.getLogger(__name__)


class ViewFileSystem(ViewAttributes):
    """Serves the filesystem of a mount table."""

    # --- where a new name belongs -------------------------------------------------------

    def _for_new(self, name: str, operation: str) -> Resolved:
        """Where a name would be made: in a target, or in the fallback's part of an internal
        directory. Raises what an internal directory says otherwise."""
        try:
            resolved = self.table.resolve(name, last=False)
        except errors.PathNotFound as error:
            raise internal.read_only(operation, name) from error
        if not resolved.is_internal:
            return resolved
        if self.table.fallback is None:
            raise internal.read_only(operation, name)
        return Resolved(name, name, self.table.fallback, None)

    def _table_entry(self, name: str) -> Directory | Link | None:
        """What of the table itself has this name in an internal directory."""
        if self.table.merge_slash is not None:
            return None
        if name == paths.SEPARATOR:
            return self.table.root
        if name in self.table.links:
            return self.table.links[name]
        try:
            resolved = self.table.resolve(name, last=False)
        except errors.PathNotFound:
            return None
        if resolved.directory is None:
            return None
        return resolved.directory.children.get(paths.name_of(name))

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
        name = self.resolve(path)
        if name == paths.SEPARATOR and self.table.merge_slash is None:
            raise errors.PathExists("/ is not a file. The directory / already exist at: /").about(
                name
            )
        if self._table_entry(name) is not None:
            if self.table.fallback is None:
                raise internal.read_only("create", name)
            raise errors.PathExists(
                f"A mount path(file/dir) already exist with the requested path: {name}"
            ).about(name)
        with self._there(self._for_new(name, "create")) as reached:
            stream = reached.fs.create(
                reached.path,
                overwrite=overwrite,
                replication=replication,
                block_size=block_size,
                permission=permission,
                create_parent=create_parent,
                buffer_size=buffer_size,
                progress=progress,
                flags=flags,
            )
        return streams.output(stream, reached)

    def append(
        self,
        path: PathLike,
        *,
        new_block: bool = False,
        sync_block: bool = False,
        buffer_size: int | None = None,
        progress: Progress | None = None,
    ) -> FSDataOutputStream:
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal:
            raise internal.read_only("append", name)
        with self._there(resolved) as reached:
            stream = reached.fs.append(
                reached.path,
                new_block=new_block,
                sync_block=sync_block,
                buffer_size=buffer_size,
                progress=progress,
            )
        return streams.output(stream, reached)

    def _open_input(self, path: PathLike, buffer_size: int | None = None) -> FSDataInputStream:
        with self._there(self._file(path)) as reached:
            stream = reached.fs._open_input(reached.path, buffer_size)
        return streams.input(stream, reached, buffer_size)

    def get_path_handle(
        self, status: FileStatus, *, may_change: bool = True, may_move: bool = False
    ) -> PathHandle:
        with self._of_file(status.path) as (fs, there):
            handle = fs.get_path_handle(
                dataclasses.replace(status, path=there), may_change=may_change, may_move=may_move
            )
        return dataclasses.replace(handle, path=status.path)

    def open_path_handle(
        self, handle: PathHandle, buffer_size: int | None = None
    ) -> FSDataInputStream:
        with self._there(self._file(handle.path)) as reached:
            there = dataclasses.replace(handle, path=reached.path)
            stream = reached.fs.open_path_handle(there, buffer_size)
        return streams.input(stream, reached, buffer_size)

    def truncate(self, path: PathLike, length: int) -> bool:
        with self._changing(path, "truncate") as (fs, there):
            return fs.truncate(there, length)

    def concat(self, target: PathLike, sources: Sequence[PathLike]) -> None:
        """Append the sources to the target. All files must be on the same target filesystem."""
        name = self.resolve(target)
        names = (name, *map(self.resolve, sources))
        resolved = [self.table.resolve(path) for path in names]
        for file in resolved:
            if file.is_internal:
                raise internal.is_a_directory(file.path)
        whole, *parts = [self._reach(file) for file in resolved]
        for part in parts:
            if part.fs is not whole.fs:
                raise errors.UnsupportedOperation(
                    f"concat: {part.name} is not in the filesystem of {name}: {part.fs.uri}, "
                    f"{whole.fs.uri}"
                ).about(part.name)
        with renamed_errors({part.path: part.name for part in (whole, *parts)}, name):
            whole.fs.concat(whole.path, [part.path for part in parts])

    def recover_lease(self, path: PathLike) -> bool:
        with self._of_file(path) as (fs, there):
            return fs.recover_lease(there)

    def is_file_closed(self, path: PathLike) -> bool:
        with self._of_file(path) as (fs, there):
            return fs.is_file_closed(there)

    # --- namespace ----------------------------------------------------------------------

    def mkdirs(self, path: PathLike, permission: int | None = None) -> bool:
        name = self.resolve(path)
        if self._table_entry(name) is not None:
            return True
        # Of a directory that nothing covers Hadoop says what is missing, not what is read-only.
        self.table.resolve(name, last=False)
        with self._there(self._for_new(name, "mkdirs")) as reached:
            return reached.fs.mkdirs(reached.path, permission)

    def mkdir(self, path: PathLike, permission: int | None = None) -> bool:
        name = self.resolve(path)
        if self._table_entry(name) is not None:
            raise errors.PathExists(f"{name} already exists").about(name)
        self.table.resolve(name, last=False)
        resolved = self._for_new(name, "mkdirs")
        above = paths.parent_of(name)
        with self._there(resolved) as reached:
            if (
                above is not None
                and self._table_entry(above) is not None
                and not resolved.is_mount_link
            ):
                # The directory above is the table's: the fallback need not have it yet.
                reached.fs.mkdirs(paths.parent_of(reached.path) or paths.SEPARATOR)
            return reached.fs.mkdir(reached.path, permission)

    def rename(self, src: PathLike, dst: PathLike, *, overwrite: bool = False) -> None:
        with self._both_ends(src, dst) as (fs, source, target):
            fs.rename(source, target, overwrite=overwrite)

    def rename_to_trash(self, src: PathLike, dst: PathLike) -> None:
        with self._both_ends(src, dst) as (fs, source, target):
            fs.rename_to_trash(source, target)

    @contextmanager
    def _both_ends(self, src: PathLike, dst: PathLike) -> Iterator[tuple[FileSystem, str, str]]:
        """The filesystem that has both ends of a rename, and their paths there."""
        names = self.resolve(src), self.resolve(dst)
        source = self._renamed(names[0])
        target = self._rename_target(names[1])
        assert source.link is not None
        assert target.link is not None
        try:
            rename_rules.check(source.link, target.link, self._view.rename_strategy)
        except errors.AcrossMountPoints as error:
            raise error.about(*names) from None
        here, there = self._reach(source), self._reach(target)
        if here.fs is not there.fs:
            raise errors.AcrossMountPoints(
                f"Renames across Mount points not supported: {here.fs.uri} and {there.fs.uri}"
            ).about(*names)
        with renamed_errors({here.path: here.name, there.path: there.name}, *names):
            yield here.fs, here.path, there.path

    def _renamed(self, name: str) -> Resolved:
        """Where the source of a rename is; no mount point can be renamed."""
        resolved = self.table.resolve(name, last=False)
        if resolved.is_internal:
            whole = self.table.resolve(name) if self.table.fallback is not None else resolved
            if whole.is_internal or whole.is_mount_link:
                raise internal.read_only("rename", name)
            return whole
        if self._is_mount_point(name):
            raise internal.read_only("rename", name)
        return resolved

    def _rename_target(self, name: str) -> Resolved:
        """Where the new name of a rename belongs."""
        resolved = self.table.resolve(name, last=False)
        if not resolved.is_internal:
            if self._is_mount_point(name):
                raise internal.read_only("rename", name)
            return resolved
        if self.table.fallback is None or self._table_entry(name) is not None:
            raise internal.read_only("rename", name)
        return Resolved(name, name, self.table.fallback, None)

    def _is_mount_point(self, name: str) -> bool:
        return name in self.table.links or (
            self.table.merge_slash is not None and name == paths.SEPARATOR
        )

    def delete(self, path: PathLike, recursive: bool = False) -> bool:
        name = self.resolve(path)
        try:
            resolved = self.table.resolve(name)
        except errors.PathNotFound:
            return False
        if resolved.is_internal or resolved.is_mount_point:
            raise internal.read_only("delete", name)
        with self._there(resolved) as reached:
            return reached.fs.delete(reached.path, recursive)

    # --- looking ------------------------------------------------------------------------

    def get_file_status(self, path: PathLike) -> FileStatus:
        resolved = self.table.resolve(self.resolve(path))
        if resolved.directory is not None:
            return self._looks.directory(resolved.path)
        with self._there(resolved) as reached:
            return reached.named(reached.fs.get_file_status(reached.path))

    def get_file_link_status(self, path: PathLike) -> FileStatus:
        resolved = self.table.resolve(self.resolve(path))
        if resolved.directory is not None:
            return self._looks.directory(resolved.path)
        with self._there(resolved) as reached:
            return reached.named(reached.fs.get_file_link_status(reached.path))

    def get_link_target(self, path: PathLike) -> str:
        """Where a symbolic link leads; of a mount point the URI of its target."""
        name = self.resolve(path)
        try:
            resolved = self.table.resolve(name)
        except errors.PathNotFound as error:
            raise internal.not_in_mount_point("getLinkTarget", name) from error
        if resolved.is_internal:
            raise internal.not_in_mount_point("getLinkTarget", name)
        assert resolved.link is not None
        if resolved.is_mount_point:
            return resolved.link.target_text
        with self._there(resolved) as reached:
            return reached.fs.get_link_target(reached.path)

    def list_status_iter(self, path: PathLike) -> Iterator[FileStatus]:
        resolved = self.table.resolve(self.resolve(path))
        if resolved.directory is not None:
            yield from self._list_internal(resolved.directory)
            return
        with self._there(resolved) as reached:
            for status in reached.fs.list_status_iter(reached.path):
                yield reached.entry(status)

    def _list_internal(self, directory: Directory) -> list[FileStatus]:
        """List an internal directory. Mount points win over the fallback's entries, and those over
        internal directories."""
        statuses: dict[str, FileStatus] = {}
        for name, child in sorted_children(directory).items():
            link = child_link(child)
            if link is None:
                statuses[name] = self._looks.directory(paths.join(directory.path, name))
        for status in self._list_fallback(directory.path):
            statuses[status.name] = status
        for name, child in sorted_children(directory).items():
            link = child_link(child)
            if link is not None:
                statuses[name] = (
                    self._looks.symlink(link)
                    if self._view.links_as_symlinks
                    else self._status_of_mount_point(link)
                )
        return [statuses[name] for name in sorted(statuses)]

    def _status_of_mount_point(self, link: Link) -> FileStatus:
        """Return the status of what a mount point leads to. It is there, and its neighbours are,
        whatever became of that."""
        try:
            return self.get_file_status(link.mount)
        except (errors.PathNotFound, errors.Unreachable, errors.CallTimeout) as error:
            log.warning("%s is listed as an empty directory: %s", link.mount, error)
            return self._looks.directory(link.mount)

    def _list_fallback(self, name: str) -> list[FileStatus]:
        if self.table.fallback is None:
            return []
        with self._there(Resolved(name, name, self.table.fallback, None)) as reached:
            if name != paths.SEPARATOR and not reached.fs.is_directory(reached.path):
                return []
            return [reached.entry(status) for status in reached.fs.list_status_iter(reached.path)]

    def content_summary(self, path: PathLike) -> ContentSummary:
        """Return the summary of a path, as on one filesystem. For an internal directory, sum up
        those of its entries."""
        resolved = self.table.resolve(self.resolve(path))
        if resolved.directory is None:
            with self._there(resolved) as reached:
                return reached.fs.content_summary(reached.path)
        below = [
            self.content_summary(status.path) for status in self._list_internal(resolved.directory)
        ]
        return ContentSummary(
            sum(summary.length for summary in below),
            sum(summary.file_count for summary in below),
            sum(summary.directory_count for summary in below) + 1,
            sum(summary.space_consumed for summary in below),
            snapshot_length=sum(summary.snapshot_length for summary in below),
            snapshot_file_count=sum(summary.snapshot_file_count for summary in below),
            snapshot_directory_count=sum(summary.snapshot_directory_count for summary in below),
            snapshot_space_consumed=sum(summary.snapshot_space_consumed for summary in below),
        )

    def quota_usage(self, path: PathLike) -> QuotaUsage:
        with self._any_target(path, "getQuotaUsage") as (fs, there):
            return fs.quota_usage(there)

    def block_locations(
        self, path: PathLike, start: int = 0, length: int | None = None
    ) -> list[BlockLocation]:
        with self._of_file(path) as (fs, there):
            return fs.block_locations(there, start, length)

    def get_file_checksum(
        self, path: PathLike, *, length: int | None = None, combine_mode: str | None = None
    ) -> FileChecksum | None:
        with self._of_file(path) as (fs, there):
            return fs.get_file_checksum(there, length=length, combine_mode=combine_mode)

    # --- the filesystem as a whole --------------------------------------------------------

    def get_status(self, path: PathLike | None = None) -> FsStatus:
        """Return the status of the target that has a path. For an internal directory, sum up the
        targets below it; without a path, sum up all, each filesystem once."""
        if path is None:
            below = {fs.uri: fs for fs in self.child_filesystems()}
        else:
            name = self.resolve(path)
            resolved = self.table.resolve(name)
            if not resolved.is_internal:
                with self._there(resolved) as reached:
                    return reached.fs.get_status(reached.path)
            below = {
                fs.uri: fs
                for link in self._links_below(name)
                for target in link.targets
                for fs in self._target(link, target).child_filesystems()
            }
        statuses = [fs.get_status() for fs in below.values()]
        return FsStatus(
            sum(status.capacity for status in statuses),
            sum(status.used for status in statuses),
            sum(status.remaining for status in statuses),
        )

    def statistics(self) -> FsStatistics:
        """Sum up the statistics of the targets that were reached and keep some.
        `statistics_by_target` has them one by one."""
        by_target = self.statistics_by_target().values()
        return FsStatistics(
            *(
                sum(getattr(statistics, field.name) for statistics in by_target)
                for field in dataclasses.fields(FsStatistics)
            )
        )

    def statistics_by_target(self) -> dict[str, FsStatistics]:
        """Return the statistics of each filesystem below that was reached, by its URI. A view keeps
        none itself. Filesystems without statistics are left out."""
        with self._lock:
            targets = list(self._targets.values())
        by_uri: dict[str, FsStatistics] = {}
        for fs in targets:
            if isinstance(fs, ViewFileSystem):
                by_uri.update(fs.statistics_by_target())
                continue
            try:
                by_uri[fs.uri] = fs.statistics()
            except errors.UnsupportedOperation:
                continue  # local files and memory keep none
        return by_uri

    def mounted(self, path: PathLike) -> list[tuple[str, str, Callable[[], FsStatus]]]:
        """Return the mount points at and below a path, or the one above it: each with the URI of
        its target, and a function that returns its capacity, since a target may be down."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.link is not None:
            links = [resolved.link]
        else:
            links = self._links_below(name)
        return [
            (link.mount, link.target_text, partial(self._room, link))
            for link in sorted(links, key=lambda link: link.mount)
        ]

    def _room(self, link: Link) -> FsStatus:
        return self._target(link, link.target).get_status()

    def _links_below(self, name: str) -> list[Link]:
        return [link for link in self.table.all_links() if paths.is_under(link.mount, name)]

    def server_defaults(self, path: PathLike | None = None) -> ServerDefaults:
        """Those of the target that a path is in; without a path, of the one that everything
        is in."""
        if path is None:
            if self.table.merge_slash is None:
                raise internal.not_in_mount_point("getServerDefaults", None)
            path = paths.SEPARATOR
        name = self.resolve(path)
        try:
            resolved = self.table.resolve(name)
        except errors.PathNotFound as error:
            raise internal.not_in_mount_point("getServerDefaults", name) from error
        if resolved.is_internal:
            raise internal.not_in_mount_point("getServerDefaults", name)
        with self._there(resolved) as reached:
            return reached.fs.server_defaults(reached.path)

    def resolve_path(self, path: PathLike) -> tuple[FileSystem, str]:
        """The filesystem that has a path, and its path there; an internal directory is here."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal:
            return self, name
        with self._there(resolved) as reached:
            return reached.fs.resolve_path(reached.path)

    def trash_place(self, path: PathLike) -> tuple[FileSystem, str, str]:
        """What is deleted goes to the trash of its target, or to one at the root of its mount
        point (`fs.viewfs.trash.force-inside-mount-point`)."""
        name = self.resolve(path)
        resolved = self.table.resolve(name)
        if resolved.is_internal or resolved.is_mount_point:
            raise internal.read_only("delete", name)
        with self._there(resolved) as reached:
            fs, there, root = reached.fs.trash_place(reached.path)
            if not self._view.trash_inside_mount_point:
                return fs, there, root
            home = reached.fs.home_directory()
        link = reached.link
        top = link.target.path
        # The home of a whole filesystem that is mounted below the root is not the user's home.
        elsewhere = top == paths.SEPARATOR and link.mount != paths.SEPARATOR
        if (
            fs is reached.fs
            and paths.is_under(root, top)
            and not (elsewhere and paths.is_under(root, home))
        ):
            below = paths.SEPARATOR + root[len(top) :].strip(paths.SEPARATOR)
            return self, name, join_below(link.mount, below)
        return self, name, paths.join(link.mount, TRASH_NAME, self.user)

    def path_capabilities(self, path: PathLike) -> frozenset[str]:
        name = self.resolve(path)
        try:
            resolved = self.table.resolve(name)
        except errors.PathNotFound as error:
            raise internal.not_in_mount_point("hasPathCapability", name) from error
        own = super().path_capabilities(path)
        if resolved.is_internal:
            return own
        with self._there(resolved) as reached:
            # Links are made in a target, whose own paths they have.
            return own | reached.fs.path_capabilities(reached.path) - {capabilities.SYMLINKS}


def laid_over(scheme: str, authority: str, conf: Configuration, user: str | None) -> FileSystem:
    """A view under another scheme (`fs.hdfs.impl` = …ViewFileSystemOverloadScheme)."""
    return ViewFileSystem(authority, conf, user, scheme=scheme)
