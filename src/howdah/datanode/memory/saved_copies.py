"""Copies on a disk of replicas that are in memory, under `lazypersist` of their pool.

BlockPoolSlice.getLazyPersistDir and moveLazyPersistReplicasToFinalized in Hadoop.

    <volume>/current/<pool>/current/lazypersist/subdir<i>/subdir<j>/blk_<id>
                                                                    blk_<id>_<gs>.meta

A copy is made in `tmp`, put on the disk, and gets its name here by two renames, the meta file
first: a block file in `lazypersist` is whole, and has its checksums. Nobody reads it there.
When its replica leaves the memory both files go to `finalized`, in the same order. A start moves
what it finds there, since what was in memory may be gone:

    block file in      meta file in       then
    lazypersist        lazypersist        both are moved, the meta file first
    lazypersist        finalized          the block file is moved: its eviction was cut off
    lazypersist        nowhere            quarantine
    nowhere            lazypersist        deleted: its save was cut off, or its deletion

What is in `finalized` already is newer, or the same. (Hadoop copies straight into `lazypersist`,
and a start may take half a copy for a whole one.)
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections import defaultdict
from pathlib import Path

from howdah.datanode.state.memory.tracker import Copy
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.storage.dir_walk import all_below

log = logging.getLogger(__name__)


def copy_paths(volume: Volume, copy: Copy) -> tuple[str, str]:
    """(block file, meta file)."""
    pool_id, block_id = copy.key
    directory = f"{volume.lazy_persist_path(pool_id)}/{block_files.subdirectory(block_id)}"
    return (
        f"{directory}/{block_files.block_file_name(block_id)}",
        f"{directory}/{block_files.meta_file_name(block_id, copy.generation_stamp)}",
    )


def place_copy(volume: Volume, copy: Copy, made: tuple[str, str]) -> tuple[str, ...]:
    """Give the files `made` their names here; the directories to sync then, in this order. The
    caller has the volume's `changing`. Raises `OSError`."""
    block_path, meta_path = copy_paths(volume, copy)
    directory = os.path.dirname(block_path)
    above = os.path.dirname(directory)
    root = os.path.dirname(above)
    for path in (root, above, directory):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
    os.rename(made[1], meta_path)
    os.rename(made[0], block_path)
    return os.path.dirname(root), root, above, directory


def delete_copy(volume: Volume, copy: Copy, *, with_block: bool) -> int:
    """Its bytes. Without its block file where that is another copy's now; the caller has the
    volume's `changing`."""
    block_path, meta_path = copy_paths(volume, copy)
    freed = 0
    for path in (block_path, meta_path) if with_block else (meta_path,):
        try:
            size_bytes = os.stat(path).st_size
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            # The next start takes it for a replica, and the namenode orders its deletion.
            log.error("cannot delete %s, a copy of what is not in memory any more: %s", path, error)
            continue
        freed += size_bytes
    return freed


def recover(volume: Volume, pool_id: str) -> list[str]:
    """Move what was saved to `finalized`, durably. Nothing of this volume is looked at yet.
    Returns files to be moved aside: they make no replica. Raises `OSError`."""
    source = Path(volume.lazy_persist_path(pool_id))
    if not source.is_dir():
        return []
    blocks: dict[int, str] = {}
    metas: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for directory, _, names in all_below(source):
        for name in names:
            meta = block_files.parse_meta_file_name(name)
            block_id = block_files.parse_block_file_name(name)
            if meta is not None:
                metas[meta[0]].append((meta[1], f"{directory}/{name}"))
            elif block_id is not None:
                blocks[block_id] = f"{directory}/{name}"
    aside: list[str] = []
    recovered = 0
    touched: set[str] = set()
    for block_id, path in blocks.items():
        target = volume.finalized_directory(pool_id, block_id)
        there = _files_of(target, block_id)
        stamps = [meta[1] for name in there if (meta := block_files.parse_meta_file_name(name))]
        newest = max(metas.get(block_id, []), default=None)
        has_block = block_files.block_file_name(block_id) in there
        if newest is not None and has_block and newest[0] > max(stamps, default=0):
            has_block = False
            # Out of the way now: the names are those of what comes.
            for name in there:
                os.rename(f"{target}/{name}", f"{source}/{name}")
                aside.append(f"{source}/{name}")
        if has_block or (newest is None and not stamps):
            aside.append(path)
            aside.extend(meta_path for _, meta_path in metas.pop(block_id, []))
            continue
        disk.make_directory(Path(target))
        if newest is not None:
            os.rename(newest[1], f"{target}/{os.path.basename(newest[1])}")
            metas[block_id].remove(newest)
        os.rename(path, f"{target}/{os.path.basename(path)}")
        touched |= {target, os.path.dirname(target)}
        recovered += 1
    for directory in (*sorted(touched, reverse=True), volume.finalized_path(pool_id)):
        if os.path.isdir(directory):
            fsync_directory(Path(directory))
    for leftovers in metas.values():
        for _, path in leftovers:
            log.info("deleted %s, the checksums of a copy that was not completed", path)
    log.info("recovered %d replicas from %s", recovered, source)
    return aside


def _files_of(directory: str, block_id: int) -> list[str]:
    """The names of the block's files in the directory."""
    with contextlib.suppress(FileNotFoundError):
        prefix = block_files.block_file_name(block_id)
        return [
            name
            for name in os.listdir(directory)
            if name == prefix or (name.startswith(f"{prefix}_") and name.endswith(".meta"))
        ]
    return []


def end_recovery(volume: Volume, pool_id: str) -> None:
    """What `recover` returned is moved aside: delete the rest."""
    shutil.rmtree(volume.lazy_persist_path(pool_id), ignore_errors=True)
