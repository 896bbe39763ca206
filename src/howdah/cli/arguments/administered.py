"""Whom a command for administrators is for (shell). Hadoop: AdminHelper.

It is the filesystem of `fs.defaultFS`, whose namenode is asked, and not a mount table that is
laid over its scheme. With a path behind the authority (`-fs hdfs://cluster/mount`) that table
says which one it is: the target of the mount point.
"""

from __future__ import annotations

import contextlib

from howdah.config import Configuration
from howdah.fs import paths
from howdah.fs.api import FileSystem
from howdah.fs.registry import connect, is_laid_over
from howdah.runtime.running_cluster import default_filesystem


def administered(conf: Configuration) -> FileSystem:
    """Nothing is sent yet. Raises PathNotFound for a path that no mount point covers, and
    InvalidConfiguration where no filesystem is configured and no local cluster runs."""
    default = paths.parse(default_filesystem(conf))
    target: str | None = None
    if default.path.strip(paths.SEPARATOR) and is_laid_over(default.scheme, conf):
        from howdah.fs.viewfs.filesystem import ViewFileSystem  # hardly ever needed

        with contextlib.closing(connect(conf=conf)) as view:
            assert isinstance(view, ViewFileSystem)
            link = view.table.resolve(paths.normalize(default.path)).link
        if link is not None:
            first = link.targets[0]
            target = f"{first.scheme}://{first.authority}{paths.SEPARATOR}"
    return connect(target, conf=conf, laid_over=False)
