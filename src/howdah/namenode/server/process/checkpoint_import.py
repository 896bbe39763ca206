"""`howdah namenode -importCheckpoint` and `-importImage`: new name directories (shell).

When all name directories are lost, the image that a secondary namenode keeps in
`dfs.namenode.checkpoint.dir`, or one that `howdah dfsadmin -fetchImage` brought, becomes the
namespace. What is imported is read and not changed. The new directories have to be without
images and log.

An image does not say of which cluster and block pool it is, and the datanodes obey no other:
the file VERSION beside it does.

Block ids go on far beyond the last one of the image. The lost namenode may have given out ids
since, and a datanode that comes back late has replicas of these: a new block of the same id and
stamp would be taken to have them, with other bytes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.sections import Sink
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.server.process.loading import load
from howdah.namenode.server.process.settings import image_codec
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.limits import GROUP_IDS
from howdah.namenode.state.tree.namespace import Namespace
from howdah.runtime import disk
from howdah.storage.image_files import check_image, list_images, read_sum, save_image
from howdah.storage.layout import CURRENT_NAME, VERSION_NAME, StorageDirectory, StorageState
from howdah.storage.segments import list_segments

log = logging.getLogger(__name__)

SKIPPED_BLOCK_IDS: Final = 1 << 40
"""More than a namenode gives out between two copies of its image; there are 2^63."""


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
        _write(
            storages,
            set(name_directories),
            loaded.namespace,
            loaded.version,
            loaded.last_txid,
            image_codec(conf),
        )
    finally:
        for lock in loaded.locks:
            lock.release()


def import_image(conf: Configuration, path: Path) -> None:
    """Write what an image holds, or the newest one in a directory, into the name and edits
    directories.

    Raises InconsistentStorage if these hold something, or if the image is not accompanied by a
    VERSION of the same namespace; PathNotFound, CorruptImage.
    """
    name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    roots = list(dict.fromkeys([*name_directories, *conf.get(keys.DFS_NAMENODE_EDITS_DIR)]))
    storages = [StorageDirectory(root) for root in roots]
    _check_free(storages)
    image = _image_at(path)
    if read_sum(image) is None:
        log.warning("%s has no sum beside it: whether it is whole shows only as it is read", image)
    else:
        check_image(image)
    with open(image, "rb", buffering=0) as file:
        namespace, counters = read_image(file, str(image))
    version = _version_beside(image, counters.namespace_id)
    _write(storages, set(name_directories), namespace, version, counters.txid, image_codec(conf))


def _image_at(path: Path) -> Path:
    if not path.is_dir():
        if not path.exists():
            raise errors.PathNotFound(f"{path}: there is no such image")
        return path
    current = path / CURRENT_NAME
    images = list_images([path, *([current] if current.is_dir() else [])])
    if not images:
        raise errors.PathNotFound(f"{path} has no image, whose name would be fsimage_NUMBER")
    return images[0].path


def _version_beside(image: Path, namespace_id: int) -> NamenodeVersion:
    path = image.with_name(VERSION_NAME)
    try:
        text = path.read_text("latin-1")
    except FileNotFoundError as error:
        raise errors.InconsistentStorage(
            f"{path} is missing, which says of which cluster and block pool {image.name} is. It is "
            "in `current` of each directory of the lost namenode, and `howdah dfsadmin "
            "-fetchImage DIRECTORY` brings it. Else write it, with the lines "
            f"namespaceID={namespace_id}, storageType=NAME_NODE, "
            f"layoutVersion={NAMENODE_LAYOUT_VERSION}, clusterID=… (from current/VERSION of a "
            "datanode's directory), blockpoolID=… and cTime=… (from current/BP-…/current/VERSION "
            "there)"
        ) from error
    version = NamenodeVersion.parse(text, str(path))
    if version.namespace_id != namespace_id:
        raise errors.InconsistentStorage(
            f"{image} is of namespace {namespace_id}, {path} of {version.namespace_id}"
        )
    return version


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
    storages: Sequence[StorageDirectory],
    image_roots: set[Path],
    namespace: Namespace,
    version: NamenodeVersion,
    txid: int,
    codec: str,
) -> None:
    def write(sink: Sink) -> None:
        write_image(namespace, version.namespace_id, txid, sink, codec=codec)

    namespace.last_block_id += SKIPPED_BLOCK_IDS
    namespace.last_group_id += SKIPPED_BLOCK_IDS * GROUP_IDS
    now_ms = time.time_ns() // 1_000_000
    version = replace(version, layout_version=NAMENODE_LAYOUT_VERSION)
    for storage in storages:
        disk.make_directory(storage.root)
        with storage.lock():
            storage.create()
            if storage.root in image_roots:
                save_image([storage.current], txid, write)
            storage.write_seen_txid(txid)
            # Last, for this makes it a formatted directory.
            storage.write_version(version, now_ms)
        log.info("imported transaction %d into %s", txid, storage.root)
