"""`howdah namenode -format`: a new, empty filesystem (shell)."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.sections import Sink
from howdah.formats.version import (
    NamenodeVersion,
    new_block_pool_id,
    new_cluster_id,
    new_namespace_id,
)
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of
from howdah.namenode.server.process.settings import image_codec
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.namenode.state.images.image import write_image
from howdah.namenode.state.tree.namespace import Namespace
from howdah.runtime import disk
from howdah.runtime.atomic_files import fsync_directory
from howdah.security.server_login import namenode_caller
from howdah.storage import transitions
from howdah.storage.image_files import save_image
from howdah.storage.layout import VERSION_NAME, StorageDirectory, StorageState

log = logging.getLogger(__name__)


def format_namenode(
    conf: Configuration, *, cluster_id: str | None = None, force: bool = False
) -> NamenodeVersion:
    """Make every name and edits directory an empty filesystem of one new identity, and the
    log that it shares with other namenodes, too.

    Raises InconsistentStorage if a directory or the log holds something and `force` is not
    given, or `dfs.reformat.disabled` is set; StorageLocked if a namenode runs on one;
    InvalidConfiguration where `dfs.namenode.support.allow.format` forbids it.
    """
    place = place_of(conf)
    conf = place.conf
    make_shared_log = shared_log_of(place, lambda: namenode_caller(conf))
    if not conf.get(keys.DFS_NAMENODE_SUPPORT_ALLOW_FORMAT):
        raise errors.InvalidConfiguration(
            f"{keys.DFS_NAMENODE_SUPPORT_ALLOW_FORMAT.name} = false "
            f"(from {conf.source(keys.DFS_NAMENODE_SUPPORT_ALLOW_FORMAT.name)}): "
            "this filesystem is not formatted"
        )
    if conf.get(keys.DFS_REFORMAT_DISABLED):
        force = False  # What holds something is refused below.
    roots: list[Path] = list(
        dict.fromkeys(
            [*conf.get(keys.DFS_NAMENODE_NAME_DIR), *conf.get(keys.DFS_NAMENODE_EDITS_DIR)]
        )
    )
    codec = image_codec(conf)
    storages = [StorageDirectory(root) for root in roots]
    check_free(storages, force=force)
    now_ms = time.time_ns() // 1_000_000
    version = NamenodeVersion(
        namespace_id=new_namespace_id(secrets.randbelow),
        cluster_id=cluster_id or new_cluster_id(secrets.randbelow),
        block_pool_id=new_block_pool_id(secrets.randbelow, _own_address(), now_ms),
        ctime_ms=0,
    )
    if make_shared_log is not None:
        _format_shared(make_shared_log(version), version, force=force)
    image_roots = conf.get(keys.DFS_NAMENODE_NAME_DIR)

    def write(sink: Sink) -> None:
        write_image(Namespace(), version.namespace_id, 0, sink, codec=codec)

    for storage in storages:
        disk.make_directory(storage.root)
        with storage.lock():
            if storage.current.exists():
                erase(storage.current)
            # Nothing of another filesystem is left to be rolled back to.
            for name in transitions.ASIDE:
                if (storage.root / name).exists():
                    disk.remove_tree(storage.root / name)
            storage.create()
            storage.write_seen_txid(0)
            if storage.root in image_roots:
                save_image([storage.current], 0, write)
            storage.write_version(version, now_ms)
        log.info("formatted %s as %s", storage.root, version.cluster_id)
    return version


def _format_shared(shared: SharedLog, version: NamenodeVersion, *, force: bool) -> None:
    with contextlib.closing(shared):
        if shared.is_formatted() and not force:
            raise errors.InconsistentStorage(
                f"the shared log {shared.name} is not empty; -force formats it all the same, and "
                "loses what it holds"
            )
        shared.format(version)


def check_free(storages: Sequence[StorageDirectory], *, force: bool) -> None:
    """Raises InconsistentStorage for a directory that holds something, without `force`."""
    for storage in storages:
        state = storage.state()
        if state not in (StorageState.MISSING, StorageState.EMPTY) and not force:
            raise errors.InconsistentStorage(
                f"{storage.root} is not empty ({state.value}); -force formats it all the same, "
                "and loses what it holds"
            )


def erase(directory: Path) -> None:
    """VERSION goes first: what a crash leaves of an erased directory is not formatted."""
    disk.unlink(directory / VERSION_NAME, missing_ok=True)
    fsync_directory(directory)
    disk.remove_tree(directory)


def _own_address() -> str:
    """An address for the block pool's name; it says where the pool came from, no more."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
