"""The mount table of an authority, from a configuration or a central file.

Mirrors what ViewFileSystem, ViewFileSystemOverloadScheme and HCFSMountTableConfigLoader do
before they serve: `viewfs://NAME` has the table NAME; a scheme that is laid over
(`fs.hdfs.impl` = …ViewFileSystemOverloadScheme) has that of its host, shows mount points as
what they lead to, leads to itself where there is no table, and reads a central file,
`fs.viewfs.mounttable.path`: of a directory the one with the highest number in
`NAME.NUMBER.xml`. Hadoop reads that file for such schemes alone, and so does this.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.fs import paths
from howdah.fs.viewfs import links
from howdah.fs.viewfs.mount_table import Link, MountTable
from howdah.runtime.running_cluster import default_filesystem

if TYPE_CHECKING:
    from howdah.fs.api import FileSystem

SCHEME: Final = "viewfs"
_MOST_BYTES: Final = 16 << 20
_VERSIONED = re.compile(r".*\.(\d{1,9})\.[^.]*", re.DOTALL | re.ASCII)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class View:
    """A table, and how its filesystem behaves."""

    table: MountTable
    links_as_symlinks: bool
    rename_strategy: str
    trash_inside_mount_point: bool


def with_mount_points_as_directories(conf: Configuration) -> Configuration:
    """For whoever has no use for links to URIs: mount points are listed as directories, unless the
    configuration says that they are links."""
    key = keys.FS_VIEWFS_MOUNT_LINKS_AS_SYMLINKS
    return conf if conf.is_set(key) else conf.with_values({key.name: "false"})


def load(
    scheme: str,
    authority: str,
    conf: Configuration,
    connect: Callable[[paths.Location], FileSystem],
) -> View:
    """The view that `scheme://authority` is. `connect` makes a filesystem past any view, to
    read a central file from.

    Raises InvalidConfiguration where there is no table, or none that can be.
    """
    laid_over = scheme != SCHEME
    central = conf.get(keys.FS_VIEWFS_MOUNTTABLE_PATH)
    if laid_over and central:
        conf = _with_central_file(conf, central, connect)
    name = _table_name(authority, conf, ignore_port=laid_over)
    table = links.parse(
        name,
        ((key, conf.raw(key) or "") for key, _ in conf.items() if key.startswith(links.PREFIX)),
        nested=conf.get(keys.FS_VIEWFS_MOUNTTABLE_NESTED_MOUNT_POINT_SUPPORTED),
    )
    if table.is_empty:
        if not laid_over:
            raise errors.InvalidConfiguration(
                f"ViewFs: Cannot initialize: Empty Mount table in config for {SCHEME}://{name}/: "
                f"set {links.PREFIX}.{name}.link./path to the URI of a directory" + _hint(central)
            )
        itself = paths.Location(scheme, authority, paths.SEPARATOR)
        table.fallback = Link(paths.SEPARATOR, (itself,), f"{scheme}://{authority} itself")
    as_symlinks = conf.get(keys.FS_VIEWFS_MOUNT_LINKS_AS_SYMLINKS)
    return View(
        table,
        links_as_symlinks=not laid_over if as_symlinks is None else as_symlinks,
        rename_strategy=conf.get(keys.FS_VIEWFS_RENAME_STRATEGY),
        trash_inside_mount_point=conf.get(keys.FS_VIEWFS_TRASH_FORCE_INSIDE_MOUNT_POINT),
    )


def _hint(central: str | None) -> str:
    if not central:
        return ""
    key = keys.FS_VIEWFS_MOUNTTABLE_PATH.name
    return f" ({key} is read for schemes that are laid over, not for {SCHEME})"


def _table_name(authority: str, conf: Configuration, *, ignore_port: bool) -> str:
    if not authority:
        return conf.get(keys.FS_VIEWFS_MOUNTTABLE_DEFAULT_NAME_KEY)
    configured = conf.get(keys.FS_VIEWFS_IGNORE_PORT_IN_MOUNT_TABLE_NAME)
    ignored = ignore_port if configured is None else configured
    return re.sub(r":\d*$", "", authority) if ignored else authority


def _with_central_file(
    conf: Configuration, path: str, connect: Callable[[paths.Location], FileSystem]
) -> Configuration:
    """The configuration with the newest of the central files."""
    location = paths.parse(path)
    if not location.is_qualified:
        # As Hadoop's Path: one without a scheme is of the default filesystem.
        default = paths.parse(default_filesystem(conf))
        location = paths.Location(default.scheme, default.authority, location.path)
    with connect(location) as fs:
        newest: tuple[int, str] | None = None
        for status in fs.list_status_iter(paths.normalize(location.path)):
            if status.is_directory:
                continue
            version = _VERSIONED.fullmatch(status.name)
            if version is None:
                _log.warning(
                    "Invalid file name format for mount-table version file: %s. The valid file "
                    "name format is mount-table-name.<versionNumber>.xml",
                    paths.printable(status.path),
                )
                continue
            if newest is None or int(version[1]) > newest[0]:
                newest = int(version[1]), status.path
        if newest is None:
            _log.warning(
                "No valid mount-table file exist at: %s. At least one mount-table file should "
                "present with the name format: mount-table.<versionNumber>.xml",
                path,
            )
            return conf
        with fs.open(newest[1]) as stream:
            data = stream.read(_MOST_BYTES + 1)
        source = fs.uri + newest[1]
    if len(data) > _MOST_BYTES:
        raise errors.InvalidConfiguration(f"{source} is no mount table: over {_MOST_BYTES} bytes")
    return conf.with_site_file(bytes(data), source=source)
