"""The first start of a layout: an empty filesystem in the directories of its namenodes.

One namenode is formatted, and with it the journal that it shares with others, if it does.
The others get a copy of its image, which is what `namenode -bootstrapStandby` brings. What
was there before is kept, so a start that was interrupted goes on where it ended.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from howdah import keys
from howdah.local.layout import Layout

_COPIED = ("fsimage_*", "seen_txid", "VERSION")
"""VERSION comes last: a directory without it counts as new."""


def is_formatted(layout: Layout) -> bool:
    """Whether every namenode has a filesystem."""
    return all(_version_of(layout, node.name) is not None for node in layout.namenodes)


def format_new(layout: Layout) -> None:
    """Give every namenode that has none a filesystem; journal nodes have to run."""
    from howdah.namenode.process.format import format_namenode

    found = [_version_of(layout, node.name) for node in layout.namenodes]
    version = next((version for version in found if version is not None), None)
    if version is None:
        first = layout.namenodes[0].name
        format_namenode(layout.server_conf(first))
        version = _version_of(layout, first)
        assert version is not None, "formatted just now"
    for node in layout.namenodes:
        if _version_of(layout, node.name) is None:
            for directory in layout.server_conf(node.name).get(keys.DFS_NAMENODE_NAME_DIR):
                _copy(version.parent, directory / "current")


def format_election(layout: Layout) -> None:
    """Make what failover controllers want in ZooKeeper, which has to run."""
    from howdah.failover.server import format_zookeeper

    format_zookeeper(layout.server_conf(layout.namenodes[0].name))


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
