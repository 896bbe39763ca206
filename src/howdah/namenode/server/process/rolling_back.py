"""`howdah namenode -rollingUpgrade rollback`: back to where a rolling upgrade was prepared (shell).

Hadoop: FSImage.rollingRollback. The namenode is stopped, and starts afterwards from what is
left. Everything that came after the rollback image is given up:

1. the log is looked at: its segments end where the image ends. A shared log is taken over first,
   so that nobody writes it any more
2. the rollback image is written anew as an ordinary one. It says nothing of an upgrade, and
   counts block ids and generation stamps from beyond those that were given out since: no new
   block gets the name of one that datanodes may still have
3. newer images are removed
4. later segments are set aside as `….trash`, the newest first, here and in the shared log
5. rollback images are removed: from here on nothing is left to go back to

A crash before 5 leaves a rollback image, and the same command ends what it began. Datanodes
follow with `howdah datanode -rollback`, other namenodes with `-bootstrapStandby`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.fsimage import ImageReader
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.segment_files import discard_from
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of
from howdah.namenode.server.process.settings import image_codec
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.namenode.state.images.image import read_image, write_image
from howdah.namenode.state.inodes.limits import GROUP_IDS
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.security.server_login import namenode_caller
from howdah.storage.image_files import (
    ImageFile,
    check_image,
    list_images,
    md5_path,
    remove_unfinished,
    save_image,
)
from howdah.storage.layout import StorageDirectory, StorageState
from howdah.storage.segments import Segment, list_segments, scan_segment

log = logging.getLogger(__name__)


def roll_back_upgrade(conf: Configuration) -> int:
    """Roll back an upgrade, and return the transaction that the namenode is back at.

    Raises InconsistentStorage if there is no rollback image or a segment goes beyond it,
    StorageLocked, OSError.
    """
    place = place_of(conf)
    conf = place.conf
    name_roots = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_roots = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
    storages = [StorageDirectory(root) for root in dict.fromkeys([*name_roots, *edits_roots])]
    with contextlib.ExitStack() as held:
        for storage in storages:
            if storage.state() is StorageState.MISSING:
                raise errors.InconsistentStorage(f"{storage.root} is missing: mount it")
            held.enter_context(storage.lock())
        used = [storage for storage in storages if storage.state() is not StorageState.EMPTY]
        for storage in used:
            if storage.state() is not StorageState.NORMAL:
                raise errors.InconsistentStorage(f"{storage.root} is {storage.state().value}")
        images = [storage.current for storage in used if storage.root in name_roots]
        for directory in images:
            remove_unfinished(directory)
        image = _rollback_image(images)
        version = used[0].read_version(NamenodeVersion)
        make_shared_log = shared_log_of(place, lambda: namenode_caller(conf))
        shared = None
        if make_shared_log is not None:
            shared = held.enter_context(contextlib.closing(make_shared_log(version)))
            shared.take_over().close()
        edits = [storage for storage in used if storage.root in edits_roots]
        last_txid = max(
            image.txid,
            _last_txid([storage.current for storage in edits], image.txid),
            0 if shared is None else _last_shared_txid(shared, image.txid),
        )
        log.warning(
            "rolling back to transaction %d; the %d after it are given up",
            image.txid,
            last_txid - image.txid,
        )
        _write_ordinary(image, images, version, last_txid - image.txid, image_codec(conf))
        _remove_images(
            [candidate for candidate in list_images(images) if candidate.txid > image.txid]
        )
        for storage in used:
            storage.write_seen_txid(image.txid)
        for storage in edits:
            discard_from(storage.current, image.txid + 1)
        if shared is not None:
            shared.discard_from(image.txid + 1)
        _remove_images([candidate for candidate in list_images(images) if candidate.rollback])
    return image.txid


def _rollback_image(directories: Sequence[Path]) -> ImageFile:
    """The newest that is sound."""
    for image in list_images(directories):
        if not image.rollback:
            continue
        try:
            check_image(image.path)
        except (errors.CorruptImage, OSError) as error:
            log.error("cannot use %s: %s", image.path, error)
            continue
        return image
    raise errors.InconsistentStorage(
        f"there is no sound fsimage_rollback_* in {', '.join(map(str, directories))}: no rolling "
        "upgrade is under way, and nothing can be gone back to"
    )


def _last_txid(directories: Sequence[Path], image_txid: int) -> int:
    """Return the last transaction of all segments. Raises InconsistentStorage for one that holds
    what comes before the image and what comes after."""
    last_txid = image_txid
    for directory in directories:
        for segment in list_segments(directory):
            last_txid = max(last_txid, _checked(segment, image_txid))
    return last_txid


def _checked(segment: Segment, image_txid: int) -> int:
    last_txid = segment.last_txid
    if last_txid is None:
        last_txid = scan_segment(segment).last_txid or segment.first_txid
    if segment.first_txid <= image_txid < last_txid:
        raise errors.InconsistentStorage(
            f"{segment.path} goes up to transaction {last_txid}, and so beyond the rollback image "
            f"of transaction {image_txid}: it cannot be cut there"
        )
    return last_txid


def _last_shared_txid(shared: SharedLog, image_txid: int) -> int:
    last_txid = image_txid
    for copy in shared.source().segments(scans=False):
        if copy.last_txid is None:
            continue
        last_txid = max(last_txid, copy.last_txid)
        if copy.first_txid <= image_txid < copy.last_txid:
            raise errors.InconsistentStorage(
                f"{copy.path} goes up to transaction {copy.last_txid}, and so beyond the rollback "
                f"image of transaction {image_txid}: it cannot be cut there"
            )
    return last_txid


def _write_ordinary(
    image: ImageFile,
    directories: Sequence[Path],
    version: NamenodeVersion,
    transactions: int,
    codec: str,
) -> None:
    """Write the image as an ordinary one. Each of the later transactions may have given out one
    block id or generation stamp. What an interrupted attempt had found counts, too."""
    with open(image.path, "rb", buffering=0) as file:
        namespace, counters = read_image(file, str(image.path))
    if (counters.namespace_id, counters.txid) != (version.namespace_id, image.txid):
        raise errors.InconsistentStorage(
            f"{image.path} is of namespace {counters.namespace_id} after transaction "
            f"{counters.txid}, and its directory of {version.namespace_id}"
        )
    namespace.rolling_upgrade.start_ms = None
    namespace.generation_stamp += transactions
    namespace.last_block_id += transactions
    namespace.last_group_id += transactions * GROUP_IDS
    for other in list_images(directories):
        if other.txid == image.txid and not other.rollback:
            with open(other.path, "rb", buffering=0) as file:
                earlier = ImageReader(file, str(other.path)).namesystem()
            namespace.generation_stamp = max(namespace.generation_stamp, earlier.generation_stamp)
            namespace.last_block_id = max(namespace.last_block_id, earlier.last_block_id)
            if earlier.last_striped_block_id is not None:
                namespace.last_group_id = max(
                    namespace.last_group_id, earlier.last_striped_block_id
                )
    save_image(
        directories,
        image.txid,
        lambda sink: write_image(namespace, version.namespace_id, image.txid, sink, codec=codec),
    )


def _remove_images(images: Sequence[ImageFile]) -> None:
    for image in images:
        log.warning("removing %s", image.path)
        disk.unlink(image.path, missing_ok=True)
        fsync_directory(image.path.parent)
        disk.unlink(md5_path(image.path), missing_ok=True)
