"""The files of one replica: made, moved, cut, and put on the disk for good.

What a power cut leaves is what was synced, and nothing promises more: a file's bytes
after `fsync` of the file, its name after `fsync` of its directory. So a replica is
`durable` (hsync, `dfs.datanode.synconclose`, every recovery) when both files are synced
and then every directory that has a new name for one, the new name's before the old
one's: at no point would both names be gone.

A `kill -9` is kinder: what was written is there, and a rename has happened or not.
`startup_scan` says what each state between two steps is taken for.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
from pathlib import Path

from howdah import errors
from howdah.datanode.replicas.open_replica import OpenReplica
from howdah.datanode.replicas.startup_scan import quarantine, replica_paths
from howdah.datanode.state.replicas.replicas import Replica
from howdah.datanode.state.replicas.states import ReplicaState
from howdah.datanode.state.volumes import block_files
from howdah.datanode.volumes.volumes import Volume
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.data_transfer.meta_header import encode_meta_header
from howdah.runtime.atomic_files import fsync_directory

log = logging.getLogger(__name__)

_deletions = itertools.count()
_COPY_BYTES = 1 << 30
"""What `sendfile` is asked for at once."""


def create_files(
    volume: Volume, pool_id: str, replica: Replica, checksum: ChecksumSpec
) -> tuple[int, int]:
    """An empty block file and a meta file with its header; their descriptors."""
    block_path, meta_path = replica_paths(volume, pool_id, replica)
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR
    try:
        block_fd = os.open(block_path, flags, 0o644)
    except FileExistsError:
        # The map doesn't know it: what a deletion that failed has left.
        quarantine(volume, pool_id, [block_path], "no replica owns it")
        block_fd = os.open(block_path, flags, 0o644)
    try:
        meta_fd = os.open(meta_path, flags, 0o644)
        try:
            os.pwrite(meta_fd, encode_meta_header(checksum), 0)
        except BaseException:
            os.close(meta_fd)
            os.unlink(meta_path)
            raise
    except BaseException:
        os.close(block_fd)
        os.unlink(block_path)
        raise
    return block_fd, meta_fd


def open_files(paths: tuple[str, str]) -> tuple[int, int]:
    """(block file, meta file) for reading and writing, each with no other name."""
    for path in paths:
        _have_alone(path)
    block_fd = os.open(paths[0], os.O_RDWR)
    try:
        return block_fd, os.open(paths[1], os.O_RDWR)
    except BaseException:
        os.close(block_fd)
        raise


def _have_alone(path: str) -> None:
    """What an upgrade keeps in `previous` may be the same file: write to a copy then."""
    if os.stat(path).st_nlink == 1:
        return
    copy_path = f"{path}{block_files.COPY_SUFFIX}"
    source_fd = os.open(path, os.O_RDONLY)
    try:
        _copy_aside(source_fd, copy_path, os.fstat(source_fd).st_size)
    finally:
        os.close(source_fd)
    os.rename(copy_path, path)
    fsync_directory(Path(path).parent)


def move_files(
    volume: Volume, pool_id: str, replica: Replica, state: ReplicaState, generation_stamp: int
) -> tuple[str, ...]:
    """Rename a replica's files to what `state` and `generation_stamp` call for; the
    directories to sync when that must be durable, in this order.

    The meta file goes first into `finalized` and last out of it, so that a finalized
    block file always has its checksums.
    """
    after = Replica(replica.block_id, generation_stamp, state, replica.volume_id)
    old_block, old_meta = replica_paths(volume, pool_id, replica)
    new_block, new_meta = replica_paths(volume, pool_id, after)
    leaves = replica.stored_as is ReplicaState.FINALIZED and old_block != new_block
    pairs = [(old_meta, new_meta), (old_block, new_block)]
    if leaves:
        pairs.reverse()
    if state is ReplicaState.FINALIZED:
        _make_subdirectory(os.path.dirname(new_block))
    _rename_all([(old, new) for old, new in pairs if old != new])
    directory = os.path.dirname(new_block)
    named_in = [directory]
    if state is ReplicaState.FINALIZED:
        # Another replica may have made these and not have synced them.
        named_in = [os.path.dirname(os.path.dirname(directory)), os.path.dirname(directory)]
        named_in.append(directory)
    if old_block != new_block:
        named_in.append(os.path.dirname(old_block))
    return tuple(named_in)


def place_files(
    volume: Volume, pool_id: str, replica: Replica, copies: tuple[str, str]
) -> tuple[str, ...]:
    """Rename `copies`, (block file, meta file), to what a finalized replica's files are called
    on this volume, the meta file first; the directories to sync then, in this order."""
    block_path, meta_path = replica_paths(volume, pool_id, replica)
    directory = os.path.dirname(block_path)
    _make_subdirectory(directory)
    _rename_all([(copies[1], meta_path), (copies[0], block_path)])
    above = os.path.dirname(directory)
    return os.path.dirname(above), above, directory


def _rename_all(pairs: list[tuple[str, str]]) -> None:
    """All, or as good as none: a replica whose files are apart is found by the next start
    alone, and may have acknowledged bytes."""
    done: list[tuple[str, str]] = []
    try:
        for old, new in pairs:
            os.rename(old, new)
            done.append((old, new))
    except OSError:
        for old, new in reversed(done):
            try:
                os.rename(new, old)
            except OSError as error:
                log.error("cannot rename %s back to %s: %s", new, old, error)
        raise


def _make_subdirectory(directory: str) -> None:
    if os.path.isdir(directory):
        return
    # Two levels and no more: `finalized` itself is missing where a disk was unplugged.
    for path in (os.path.dirname(directory), directory):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)


def files_bytes(block_fd: int, meta_fd: int) -> int:
    """What the files of a replica take, as its volume counts them: also what a write that failed
    has left beyond the replica's end."""
    return os.fstat(block_fd).st_size + os.fstat(meta_fd).st_size


def sync_directories(directories: tuple[str, ...]) -> None:
    for directory in directories:
        fsync_directory(Path(directory))


def sync_files(paths: tuple[str, str]) -> None:
    """Both files are on the disk when this returns."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def cut_files(
    opened: OpenReplica,
    paths: tuple[str, str],
    end: int,
    last_sum: bytes,
    *,
    copy_path: str | None = None,
) -> None:
    """Shorten both files to `end` bytes of data, durably; `last_sum` is the checksum of the
    chunk that this cuts through, if it does.

    Checksums behind the cut go first, then the one of that chunk is replaced, then the data
    goes: at any point the last checksum that is left fits a prefix of its chunk, and the
    one that fits the cut is on the disk before the data that another would need is gone.

    With a `copy_path`, on the same volume, the data isn't cut but a copy of what is left
    takes its place: local readers may have mapped the file into their memory, and would be
    killed by the kernel where it ends too early. The copy is there before anything changes,
    since a full disk may have no room for it.
    """
    spec = opened.checksum
    block_fd, meta_fd = open_files(paths)
    try:
        if copy_path is not None:
            _copy_aside(block_fd, copy_path, end)
        os.ftruncate(meta_fd, block_files.meta_bytes(spec, end))
        if last_sum:
            chunk = end // spec.bytes_per_checksum
            os.pwrite(meta_fd, last_sum, block_files.sums_offset(spec, chunk))
        os.fsync(meta_fd)
        if copy_path is None:
            os.ftruncate(block_fd, end)
            os.fsync(block_fd)
        else:
            os.rename(copy_path, paths[0])
            fsync_directory(Path(paths[0]).parent)
    finally:
        os.close(block_fd)
        os.close(meta_fd)


def _copy_aside(block_fd: int, copy_path: str, end: int) -> None:
    """On the disk when this returns; one that stays behind is cleared by the next start."""
    copy_fd = os.open(copy_path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
    try:
        _copy(block_fd, copy_fd, end)
        os.fsync(copy_fd)
    except BaseException:
        os.unlink(copy_path)
        raise
    finally:
        os.close(copy_fd)


def copy_files(opened: OpenReplica, block_fd: int, meta_fd: int, end: int, last_sum: bytes) -> None:
    """Copy the first `end` bytes of a replica and their checksums into new files."""
    sums_end = block_files.meta_bytes(opened.checksum, end)
    _copy(opened.block_fd, block_fd, end)
    _copy(opened.meta_fd, meta_fd, sums_end)
    if last_sum:
        os.pwrite(meta_fd, last_sum, sums_end - len(last_sum))


def _copy(source_fd: int, target_fd: int, end: int) -> None:
    os.lseek(target_fd, 0, os.SEEK_SET)
    offset = 0
    while offset < end:
        copied = os.sendfile(target_fd, source_fd, offset, min(end - offset, _COPY_BYTES))
        if not copied:
            raise errors.BlockMissing(f"a file ends at {offset}, {end - offset} bytes too early")
        offset += copied


def free_names(volume: Volume, pool_id: str, replica: Replica) -> tuple[int, tuple[str, ...]]:
    """(bytes that are gone, where the files that are left lie from now on) of a replica that
    is to be deleted. Their names are free for the next replica of this block, and to unlink
    them, which takes long where they are large, needs no lock any more. The block file goes
    first, as in `delete_files`."""
    paths = replica_paths(volume, pool_id, replica)
    freed, moved = 0, []
    for path in paths:
        target = f"{volume.tmp_path(pool_id)}/{os.path.basename(path)}.{next(_deletions)}"
        try:
            os.rename(path, target)
        except OSError as error:
            log.warning("cannot move %s aside, to be deleted: %s", path, error)
            freed += delete_files((path,))
        else:
            moved.append(target)
    return freed, tuple(moved)


def delete_files(paths: tuple[str, ...]) -> int:
    """Remove files; their bytes. The block file comes first: a crash in between leaves a
    meta file without it, which the next start moves aside, and never a block without sums."""
    freed = 0
    for path in paths:
        try:
            freed += os.stat(path).st_size
            os.unlink(path)
        except FileNotFoundError:
            log.warning("%s was already gone", path)
        except OSError as error:
            log.error("cannot delete %s: %s", path, error)
    return freed
