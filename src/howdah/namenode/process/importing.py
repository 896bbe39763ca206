"""`howdah namenode -importCheckpoint`: new name directories from a checkpoint (shell).

When all name directories are lost, the image that a secondary namenode keeps in
`dfs.namenode.checkpoint.dir` becomes the namespace. The checkpoint is read and not
changed. The new directories have to be without images and log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from howdah import errors, keys
from howdah.config import Configuration
from howdah.namenode.images.image import write_image
from howdah.namenode.process.loading import Loaded, load
from howdah.namenode.process.settings import image_codec
from howdah.storage import disk
from howdah.storage.edits.segments import list_segments
from howdah.storage.image.files import list_images, save_image
from howdah.storage.image.sections import Sink
from howdah.storage.layout import StorageDirectory, StorageState
from howdah.storage.version import NAMENODE_LAYOUT_VERSION

log = logging.getLogger(__name__)


def import_checkpoint(conf: Configuration) -> None:
    """Write what the checkpoint directories hold into the name and edits directories.

    Raises InconsistentStorage if these hold something, and what `load` raises.
    """
    name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    roots = list(dict.fromkeys([*name_directories, *conf.get(keys.DFS_NAMENODE_EDITS_DIR)]))
    storages = [StorageDirectory(root) for root in roots]
    _check_free(storages)
    images = conf.get(keys.DFS_NAMENODE_CHECKPOINT_DIR)
    logs = conf.get(keys.DFS_NAMENODE_CHECKPOINT_EDITS_DIR)
    loaded = load(images, logs, of_secondary=True, upgrades=True)
    try:
        if loaded.image_txid is None:
            raise errors.InconsistentStorage(
                f"there is no checkpoint in {', '.join(map(str, images))}"
            )
        _write(storages, set(name_directories), loaded, image_codec(conf))
    finally:
        for lock in loaded.locks:
            lock.release()


def _check_free(storages: Sequence[StorageDirectory]) -> None:
    for storage in storages:
        if storage.state() in (StorageState.MISSING, StorageState.EMPTY):
            continue
        if not storage.current.is_dir() or (
            list_images([storage.current]) or list_segments(storage.current)
        ):
            raise errors.InconsistentStorage(
                "Cannot import image from a checkpoint. "
                f"NameNode already contains an image in {storage.root}"
            )


def _write(
    storages: Sequence[StorageDirectory], image_roots: set[Path], loaded: Loaded, codec: str
) -> None:
    def write(sink: Sink) -> None:
        write_image(
            loaded.namespace, loaded.version.namespace_id, loaded.last_txid, sink, codec=codec
        )

    now_ms = time.time_ns() // 1_000_000
    version = replace(loaded.version, layout_version=NAMENODE_LAYOUT_VERSION)
    for storage in storages:
        disk.make_directory(storage.root)
        with storage.lock():
            storage.create()
            if storage.root in image_roots:
                save_image([storage.current], loaded.last_txid, write)
            storage.write_seen_txid(loaded.last_txid)
            # Last, for this makes it a formatted directory.
            storage.write_version(version, now_ms)
        log.info("imported transaction %d into %s", loaded.last_txid, storage.root)
