"""A datanode's part in an upgrade of the namenode, and in going back from one (shell).

BlockPoolSliceStorage in Hadoop.

The namenode's creation time says where it stands, and each volume's slice of the block
pool has to follow, before any of its replicas is looked at:

    the same    nothing
    newer       upgrade: `current` becomes `previous`; a new one has the same files, by
                hard link, so that it costs no room. What is deleted or written again
                from here on is kept in `previous`
    older       the namenode was rolled back, and so is the slice, if that is asked for

A replica that is written again gets files of its own first (`files.open_files`).
When the namenode says that the upgrade is final, `previous` is deleted.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.datanode.control.reports import Namespace
from howdah.datanode.state.volumes import block_files
from howdah.formats.version import BlockPoolVersion
from howdah.storage import transitions
from howdah.storage.dir_walk import all_below
from howdah.storage.layout import PREVIOUS_NAME, VERSION_NAME, StorageDirectory

log = logging.getLogger(__name__)

_WITH_REPLICAS: Final = (block_files.FINALIZED, block_files.RBW)
_deleting: Final[set[Path]] = set()


def follow(pool: StorageDirectory, namespace: Namespace, *, rolls_back: bool) -> bool:
    """Bring a slice that exists to where the namenode stands; it is not in use yet. True if it
    was rolled back: other replicas are there now.

    Raises InconsistentStorage for another namespace, and for one that is older unless the
    datanode `rolls_back`.
    """
    transitions.recover([pool])
    version = _version(pool)
    if version is None:
        if (pool.root / PREVIOUS_NAME).exists():
            raise errors.InconsistentStorage(
                f"{pool.root} has a {PREVIOUS_NAME} and no {pool.version_file}"
            )
        return False
    if version.namespace_id != namespace.namespace_id:
        raise errors.InconsistentStorage(
            f"Incompatible namespaceIDs in {pool.root}: "
            f"namenode namespaceID = {namespace.namespace_id}; "
            f"datanode namespaceID = {version.namespace_id}"
        )
    if version.ctime_ms < namespace.ctime_ms:
        _upgrade(pool, namespace)
    elif version.ctime_ms > namespace.ctime_ms:
        _go_back(pool, version, namespace, rolls_back=rolls_back)
        return True
    return False


def _version(pool: StorageDirectory) -> BlockPoolVersion | None:
    return pool.read_version(BlockPoolVersion) if pool.version_file.exists() else None


def _upgrade(pool: StorageDirectory, namespace: Namespace) -> None:
    # Of an upgrade before, which the namenode has left behind.
    transitions.finalize(pool)
    transitions.begin_upgrade(pool)
    count = 0
    for name in _WITH_REPLICAS:
        count += _link_tree(pool.root / transitions.PREVIOUS_TMP / name, pool.current / name)
    version = BlockPoolVersion(namespace.namespace_id, namespace.pool_id, namespace.ctime_ms)
    # Also brings the links to the disk: the directory that they hang from is synced with it.
    pool.write_version(version, time.time_ns() // 1_000_000)
    transitions.end_upgrade(pool)
    log.warning(
        "%s followed an upgrade of the namenode: %d files are kept in %s as they are now",
        pool.root,
        count,
        PREVIOUS_NAME,
    )


def _link_tree(source: Path, target: Path) -> int:
    """The same files under the same names; how many. Every directory is on the disk then."""
    count = 0
    if not source.is_dir():
        return count
    for directory, _, names in all_below(source):
        mirrored = target / Path(directory).relative_to(source)
        mirrored.mkdir(parents=True, exist_ok=True)
        for name in names:
            os.link(f"{directory}/{name}", mirrored / name)
        count += len(names)
    for directory, _, _ in reversed(list(all_below(target))):
        _sync(Path(directory))
    _sync(target.parent)
    return count


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _go_back(
    pool: StorageDirectory, version: BlockPoolVersion, namespace: Namespace, *, rolls_back: bool
) -> None:
    file = pool.root / PREVIOUS_NAME / VERSION_NAME
    if not file.exists():
        raise errors.InconsistentStorage(
            f"{pool.root} is of {version.ctime_ms}, the namenode of {namespace.ctime_ms}, and "
            f"there is no {PREVIOUS_NAME} to go back to"
        )
    before = BlockPoolVersion.parse(file.read_text("latin-1"), str(file))
    if before.ctime_ms > namespace.ctime_ms:
        raise errors.InconsistentStorage(
            f"{file} is of {before.ctime_ms}, and the namenode of {namespace.ctime_ms}"
        )
    if not rolls_back:
        raise errors.InconsistentStorage(
            f"{pool.root} is of {version.ctime_ms}, and the namenode of {namespace.ctime_ms}: it "
            "was rolled back. Start the datanode once with 'howdah datanode -rollback', "
            "which gives up what was written since the upgrade"
        )
    transitions.begin_rollback(pool)
    transitions.bring_back_previous(pool)
    transitions.end_rollback(pool)
    log.warning("%s was rolled back", pool.root)


def finalize(pool: StorageDirectory) -> None:
    """Delete `previous`, on a thread of its own: that takes long where there is much."""
    if pool.root in _deleting or not (pool.root / PREVIOUS_NAME).exists():
        return
    _deleting.add(pool.root)

    def delete() -> None:
        try:
            transitions.finalize(pool)
            log.warning("the upgrade of %s is final", pool.root)
        except OSError as error:
            # What is left of it is deleted at the next start.
            log.error("%s cannot be deleted: %s", pool.root / PREVIOUS_NAME, error)
        except Exception:
            log.exception("deleting %s failed on a defect", pool.root / PREVIOUS_NAME)
        finally:
            _deleting.discard(pool.root)

    try:
        threading.Thread(target=delete, name="finalize-upgrade", daemon=True).start()
    except RuntimeError as error:
        # The namenode says in each heartbeat that the upgrade is final.
        _deleting.discard(pool.root)
        log.error("%s stays for now: %s", pool.root / PREVIOUS_NAME, error)
