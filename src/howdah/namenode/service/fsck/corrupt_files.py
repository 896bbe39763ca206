"""`-list-corruptfileblocks`: blocks of which no good replica is left, with their files (pure).

Hadoop's `FSNamesystem.listCorruptFileBlocksWithSnapshot`. The caller comes back until there
are no more, each time with the number of blocks that were looked at before, the cookie. It is
a small number, since Hadoop's client reads it as 32 bits.
"""

from __future__ import annotations

from collections.abc import Collection, Generator
from itertools import islice
from typing import Final

from howdah import errors
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.blocks.redundancy import Need
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.inodes.inodes import File, INode
from howdah.namenode.state.tree.snapshot_views import DotSnapshot

MAX_LINES: Final = 500
SLICE_BLOCKS: Final = 1000
MAX_SHOWN: Final = 100
MAX_LOOKED_AT: Final = 400


def list_corrupt(
    namesystem: Namesystem, path: str, skip: int, snapshottable: Collection[str]
) -> Generator[None, None, str]:
    """One page, as text. Raises RemoteError while the namenode does not know yet what is
    missing."""
    if namesystem.safe_mode.on and not namesystem.safe_mode.manual:
        raise errors.RemoteError(
            "Cannot run listCorruptFileBlocks because replication queues have not been initialized."
        )
    top = paths.join(paths.split(path))
    yield from namesystem.block_manager.reconstruction.sort()
    seen = 0
    lines: list[str] = []
    for block_id in namesystem.block_manager.blocks.redundancy.queues[Need.MISSING]:
        if len(lines) >= MAX_LINES:
            break
        seen += 1
        if seen % SLICE_BLOCKS == 0:
            yield
        if seen > skip:
            lines += _lines(namesystem, block_id, top, snapshottable)
    seen = max(seen, skip)
    count = str(len(lines)) if lines else "no more" if seen else "no"
    listed = "".join(f"{line}\n" for line in lines)
    return (
        f"Cookie:\t{seen}\n{listed}\n\n"
        f"The filesystem under path '{path}' has {count} CORRUPT files\n\n"
    )


def some_corrupt(namesystem: Namesystem) -> list[str]:
    """At most `MAX_SHOWN` lines for a page, found in one short look: a page of many goes on at
    `list_corrupt`. None while the namenode does not know yet what is missing."""
    if namesystem.safe_mode.on and not namesystem.safe_mode.manual:
        return []
    lost = list(
        islice(namesystem.block_manager.blocks.redundancy.queues[Need.MISSING], MAX_LOOKED_AT)
    )
    lines = (line for block_id in lost for line in _lines(namesystem, block_id, "/", ()))
    return list(islice(lines, MAX_SHOWN))


def _lines(
    namesystem: Namesystem, block_id: int, top: str, snapshottable: Collection[str]
) -> list[str]:
    block = namesystem.namespace.blocks.get(block_id)
    file = None if block is None else namesystem.namespace.inodes.get(block.file_id)
    if block is None or block.is_available or not isinstance(file, File):
        return []
    path = _last_path(namesystem, file)
    is_meant = path is not None and (path == top or paths.is_under(path, top))
    lines = _lines_of(namesystem, block_id, file, path, snapshottable) if path and is_meant else []
    if not lines and not namesystem.namespace.is_attached(file):
        # Nobody else would say so: it was deleted, and a snapshot shows it.
        then = namesystem.namespace.path_in_snapshot(file)
        if then is not None and (then == top or paths.is_under(then, top)):
            lines.append(f"blk_{block_id}\t{then}")
    return lines


def _lines_of(
    namesystem: Namesystem, block_id: int, file: File, path: str, snapshottable: Collection[str]
) -> list[str]:
    lines = []
    if namesystem.namespace.is_attached(file):
        lines.append(f"blk_{block_id}\t{file.replication}\t{path}")
    for directory in snapshottable:
        above = directory.rstrip("/") + "/"
        snapshots = namesystem.resolver.resolve(above + paths.DOT_SNAPSHOT).inode
        if not path.startswith(above) or not isinstance(snapshots, DotSnapshot):
            continue
        for name in snapshots.sorted_names():
            then = f"{above}{paths.DOT_SNAPSHOT}/{name}/{path.removeprefix(above)}"
            shown = namesystem.resolver.resolve(then).inode
            if shown is not None and shown.inode_id == file.inode_id:
                lines.append(f"blk_{block_id}\t{then}")
    return lines


def _last_path(namesystem: Namesystem, inode: INode) -> str | None:
    """Where the inode is, or was when it was deleted and snapshots kept it."""
    snapshots = namesystem.namespace.snapshots
    names: list[str] = []
    node: INode | None = inode
    while node is not None and node is not namesystem.namespace.root:
        links = snapshots.dead_of.get(node.inode_id)
        names.append(links[-1].name if node.parent is None and links else node.name)
        node = snapshots.holder(node)
    return None if node is None else paths.join(names[::-1])
