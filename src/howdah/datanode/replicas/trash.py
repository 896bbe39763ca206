"""A volume's slice of a block pool in a rolling upgrade of its namenode: marker and trash (shell).

Hadoop: BlockPoolSliceStorage, FsDatasetAsyncDiskService. While the upgrade is under way,
replicas that the namenode deletes go to the pool's `trash`, below which everything lies as it
does below `current`. A replica is linked there first and loses its names below `current` then:
a crash in between leaves it in both, and never in neither. A finalized replica that is written
again, as by an append, is linked to `trash.reopened` first, as it is; the writer gets files of
its own then (`files.open_files`). Hadoop does not keep those. Then there are two ways:

    finalized      both are renamed `….finalized`, and deleted; then the marker is
    rolled back    the datanode is started with -rollback: what is in them is linked below
                   `current` again, the meta files first, before any replica is looked at

A namenode that says neither, as one that was rolled back, leaves the trash alone. What a crash
interrupts is ended by the next start: the same one for a rollback, any for a deletion.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from pathlib import Path
from typing import Final

from howdah.datanode.replicas.files import delete_files
from howdah.datanode.replicas.startup_scan import replica_paths
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage.dir_walk import all_below

log = logging.getLogger(__name__)

REOPENED: Final = f"{block_files.TRASH}.reopened"
_GIVEN_UP: Final = {name: f"{name}.finalized" for name in (block_files.TRASH, REOPENED)}


def goes_to_trash(replica: Replica) -> bool:
    """A copy that is not whole is nobody's loss."""
    return replica.stored_as is not ReplicaState.TEMPORARY


def move_to_trash(volume: Volume, pool_id: str, replica: Replica) -> int:
    """The bytes that lie under `current` no more. Of a block that was deleted before, and came
    back, the trash keeps the first replica. What cannot be linked is not deleted: it stays, and
    the next comparison of disk and memory finds it."""
    paths = replica_paths(volume, pool_id, replica)
    below = os.path.dirname(paths[0]).removeprefix(volume.current_path(pool_id))
    directory = f"{volume.trash_path(pool_id)}{below}"
    try:
        disk.make_directory(Path(directory))
        kept = f"{directory}/{os.path.basename(paths[0])}"
        if not os.path.exists(kept) or os.path.samefile(kept, paths[0]):
            # The meta file first: a block file in the trash has its sums.
            for path in reversed(paths):
                with contextlib.suppress(FileExistsError):
                    os.link(path, f"{directory}/{os.path.basename(path)}")
    except OSError as error:
        log.error("%r is not deleted, as it cannot be kept in the trash: %s", replica, error)
        return 0
    return delete_files(paths)


def keep_as_it_is(volume: Volume, pool_id: str, replica: Replica) -> None:
    """A finalized replica is about to be written again. Raises OSError."""
    paths = replica_paths(volume, pool_id, replica)
    below = os.path.dirname(paths[0]).removeprefix(volume.current_path(pool_id))
    name = os.path.basename(paths[0])
    directory = f"{volume.pool_path(pool_id)}/{REOPENED}{below}"
    if os.path.exists(f"{directory}/{name}") or os.path.exists(
        f"{volume.trash_path(pool_id)}{below}/{name}"
    ):
        return  # It is there as it was when the upgrade began, or soon after.
    disk.make_directory(Path(directory))
    for path in reversed(paths):
        with contextlib.suppress(FileExistsError):
            os.link(path, f"{directory}/{os.path.basename(path)}")
    fsync_directory(Path(directory))


def settle_trash(volume: Volume, pool_id: str, *, keeps: bool) -> None:
    """Mark the slice as in an upgrade, or give up what was kept of it. For a thread: disks are
    waited for. One that fails is logged, and leaves things as they are."""
    try:
        if keeps:
            mark(Path(volume.pool_path(pool_id)))
        else:
            clear(volume, pool_id)
    except OSError as error:
        log.error("%s, in a rolling upgrade of %s: %s", volume, pool_id, error)


def mark(pool: Path) -> None:
    """An upgrade is under way. Raises OSError."""
    marker = pool / block_files.ROLLING_UPGRADE_MARKER
    if not marker.exists():
        marker.touch()
        fsync_directory(pool)


def clear(volume: Volume, pool_id: str) -> None:
    """The upgrade is final: delete the trash, and the marker when it is gone. Nothing goes
    there any more. Raises OSError."""
    pool = Path(volume.pool_path(pool_id))
    end_clearing(pool)
    with volume.changing:
        for name, given_up in _GIVEN_UP.items():
            if (pool / name).exists():
                (pool / name).rename(pool / given_up)
    end_clearing(pool)
    with contextlib.suppress(FileNotFoundError):
        (pool / block_files.ROLLING_UPGRADE_MARKER).unlink()
        log.warning("the rolling upgrade of %s is final: its trash is deleted", pool)


def end_clearing(pool: Path) -> None:
    """Delete what is left of trash that was given up. Raises OSError."""
    for name in _GIVEN_UP.values():
        if (pool / name).exists():
            shutil.rmtree(pool / name)


def restore(pool: Path) -> int:
    """Bring back what is in the trash; return how many block files. Raises OSError."""
    trash = pool / block_files.TRASH
    kept = [path for path in (pool / REOPENED, trash) if path.exists()]
    if not kept:
        return 0
    count = _restore_reopened(pool)
    for directory, _, names in all_below(trash):
        metas = [name for name in names if block_files.parse_meta_file_name(name)]
        blocks = [name for name in names if block_files.parse_block_file_name(name) is not None]
        if not metas and not blocks:
            continue
        target = pool / block_files.CURRENT / Path(directory).relative_to(trash)
        disk.make_directory(target)
        for name in metas:
            _bring_back(Path(directory, name), target / name)
        count += sum(_bring_back(Path(directory, name), target / name) for name in blocks)
        fsync_directory(target)
        # Only now: a block file in the trash has its sums there until it is back.
        for name in (*blocks, *metas):
            os.unlink(f"{directory}/{name}")
    for path in kept:
        shutil.rmtree(path)
    with contextlib.suppress(FileNotFoundError):
        (pool / block_files.ROLLING_UPGRADE_MARKER).unlink()
    log.warning("%s: %d replicas are restored from the trash", pool, count)
    return count


def _restore_reopened(pool: Path) -> int:
    """What came of these replicas since is given up, wherever it lies."""
    count = 0
    for directory, _, names in all_below(pool / REOPENED):
        below = Path(directory).relative_to(pool / REOPENED)
        target = pool / block_files.CURRENT / below
        places = (target, pool / block_files.CURRENT / block_files.RBW)
        for meta in names:
            parsed = block_files.parse_meta_file_name(meta)
            name = None if parsed is None else block_files.block_file_name(parsed[0])
            if name is None or name not in names:
                continue
            disk.make_directory(target)
            if not (target / meta).exists():
                os.link(f"{directory}/{meta}", target / meta)
            if not (target / name).exists() or not os.path.samefile(
                target / name, f"{directory}/{name}"
            ):
                _put_over(Path(directory, name), target / name)
            fsync_directory(target)
            for place in (*places, pool / block_files.TRASH / below):
                for path in (*place.glob(name), *place.glob(f"{name}_*.meta")):
                    if path not in (target / name, target / meta):
                        path.unlink()
            # Only now: what is left is the older replica alone.
            os.unlink(f"{directory}/{name}")
            os.unlink(f"{directory}/{meta}")
            count += 1
    return count


def _bring_back(source: Path, target: Path) -> bool:
    """Not over a file that came since, unless that is shorter: Hadoop's rule."""
    if target.exists():
        if target.stat().st_size >= source.stat().st_size:
            return False
        _put_over(source, target)
    else:
        os.link(source, target)
    return True


def _put_over(source: Path, target: Path) -> None:
    beside = target.with_name(f"{target.name}{block_files.COPY_SUFFIX}")
    beside.unlink(missing_ok=True)
    os.link(source, beside)
    os.replace(beside, target)
