"""The first start of a layout: an empty filesystem in the directories of its namenodes.

One namenode of each namespace is formatted, and with it the journal that it shares with
others, if it does. The others get a copy of its image, which is what `namenode
-bootstrapStandby` brings. What was there before is kept, so a start that was interrupted goes
on where it ended.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from howdah.config import keys
from howdah.formats.version import NamenodeVersion
from howdah.local.layout import Layout
from howdah.storage.layout import StorageDirectory

_COPIED = ("fsimage_*", "seen_txid", "VERSION")
"""VERSION comes last: a directory without it counts as new."""


def is_formatted(layout: Layout) -> bool:
    """Whether every namenode has a filesystem."""
    return all(_version_of(layout, node.name) is not None for node in layout.namenodes)


def format_new(layout: Layout) -> None:
    """Give every namenode that has none a filesystem; journal nodes have to run.

    Several nameservices are one cluster: they get the same cluster id.
    """
    found = [_version_of(layout, node.name) for node in layout.namenodes]
    cluster_id = next((_cluster_id(version) for version in found if version is not None), None)
    groups = [each.namenodes for each in layout.nameservices] or [layout.namenodes]
    for group in groups:
        cluster_id = _format_group(layout, [node.name for node in group], cluster_id)


def _format_group(layout: Layout, names: Sequence[str], cluster_id: str | None) -> str:
    """The namenodes of one namespace; the id of the cluster."""
    from howdah.namenode.server.process.format import format_namenode

    found = [_version_of(layout, name) for name in names]
    version = next((version for version in found if version is not None), None)
    if version is None:
        format_namenode(layout.server_conf(names[0]), cluster_id=cluster_id)
        version = _version_of(layout, names[0])
        assert version is not None, "formatted just now"
    for name in names:
        if _version_of(layout, name) is None:
            for directory in layout.server_conf(name).get(keys.DFS_NAMENODE_NAME_DIR):
                _copy(version.parent, directory / "current")
    return _cluster_id(version)


def _cluster_id(version_file: Path) -> str:
    storage = StorageDirectory(version_file.parent.parent)
    return storage.read_version(NamenodeVersion).cluster_id


def format_election(layout: Layout) -> None:
    """Make what failover controllers want in ZooKeeper, which has to run."""
    from howdah.failover.server import format_zookeeper

    for each in layout.nameservices:
        format_zookeeper(layout.server_conf(each.namenodes[0].name))


def _version_of(layout: Layout, name: str) -> Path | None:
    """The VERSION file of a namenode, None where it is not formatted."""
    for directory in layout.server_conf(name).get(keys.DFS_NAMENODE_NAME_DIR):
        if (directory / "current" / "VERSION").exists():
            return directory / "current" / "VERSION"
    return None


def _copy(current: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for pattern in _COPIED:
        for path in current.glob(pattern):
            shutil.copy2(path, to)
