"""`howdah namenode -bootstrapStandby`: the directories of a new namenode (shell). Hadoop:
BootstrapStandby.

1. another namenode of the nameservice says of which filesystem it is, and has a newest image
2. the shared log has what comes after that image
3. the name directories are formatted, and get the image, and during a rolling upgrade the one
   to go back to; VERSION comes last

The other one may be a standby, too, and may be Hadoop's. Nothing is changed there.
"""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.image.sections import Sink
from howdah.formats.version import NAMENODE_LAYOUT_VERSION, NamenodeVersion
from howdah.namenode.journal.checkpoints.primary import Primary
from howdah.namenode.server.nameservice.identity import Place, place_of, shared_log_of
from howdah.namenode.server.nameservice.peers import primary_of
from howdah.namenode.server.process.format import check_free, erase
from howdah.namenode.state.edit_log.segment_selection import choose
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.runtime import disk
from howdah.security.server_login import namenode_caller
from howdah.storage.image_files import (
    WrittenImage,
    discard_unfinished,
    finish_image,
    write_unfinished,
)
from howdah.storage.layout import StorageDirectory

log = logging.getLogger(__name__)

# Hadoop's exit codes.
FAILED_CONNECT: Final = 2
INVALID_VERSION: Final = 3
ALREADY_FORMATTED: Final = 5
LOGS_UNAVAILABLE: Final = 6
ON_THEIR_WAY_S = 5.0
_POLL_S = 0.05


class BootstrapFailed(errors.HowdahError):
    """Nothing was formatted; `code` is the exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Offer:
    """What another namenode has."""

    name: str
    version: NamenodeVersion
    image_txid: int
    last_txid: int
    rollback_txid: int | None
    """Of the image that a rolling upgrade may go back to."""


def bootstrap_standby(
    conf: Configuration, *, force: bool = False, checks_shared_log: bool = True
) -> NamenodeVersion:
    """Raises BootstrapFailed, InvalidConfiguration, LoginFailed, StorageLocked, OSError."""
    place = place_of(conf)
    user = namenode_caller(place.conf)
    make_shared_log = shared_log_of(place, lambda: user)
    if make_shared_log is None:
        raise errors.InvalidConfiguration(
            f"there is no other namenode to copy from: set {keys.DFS_HA_NAMENODES.name}"
        )
    image_roots = place.conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_roots = place.conf.get(keys.DFS_NAMENODE_EDITS_DIR)
    storages = [StorageDirectory(root) for root in dict.fromkeys([*image_roots, *edits_roots])]
    try:
        check_free(storages, force=force)
    except errors.InconsistentStorage as error:
        raise BootstrapFailed(ALREADY_FORMATTED, error.message) from error
    primary, offer = _ask_others(place, user)
    with contextlib.closing(primary):
        if checks_shared_log:
            with contextlib.closing(make_shared_log(offer.version)) as shared:
                _check_shared(shared, offer)
        _fill(storages, set(image_roots), primary, offer)
    return offer.version


def _ask_others(place: Place, user: str | None) -> tuple[Primary, _Offer]:
    """Return the first of the others that answers, and what it has."""
    failures = []
    for name, conf in place.others.items():
        primary = primary_of(conf, user)
        try:
            offer = _Offer(
                name,
                primary.version(),
                primary.image_txid(),
                primary.last_txid(),
                primary.rollback_image_txid(),
            )
            is_finalized = primary.is_upgrade_finalized()
        except (OSError, errors.HowdahError) as error:
            primary.close()
            failures.append(f"{name}: {error}")
            continue
        if offer.version.layout_version != NAMENODE_LAYOUT_VERSION or not is_finalized:
            primary.close()
            raise BootstrapFailed(
                INVALID_VERSION,
                f"namenode {name} has layout version {offer.version.layout_version}, and this "
                f"software {NAMENODE_LAYOUT_VERSION}: use the same software"
                if is_finalized
                else f"an upgrade of namenode {name} is not finalized: do that first",
            )
        return primary, offer
    raise BootstrapFailed(
        FAILED_CONNECT, "none of the other namenodes can be asked: " + "; ".join(failures)
    )


def _check_shared(shared: SharedLog, offer: _Offer) -> None:
    """What comes after the image has to be in the shared log, as far as the other one is.

    Its last edits may be on their way there: they are waited for. Whether the next writer will
    have them is not asked: they are as safe there as they are for the other one.
    """
    next_txid = offer.image_txid + 1
    deadline = time.monotonic() + ON_THEIR_WAY_S
    try:
        copies = shared.source().segments(scans=False)
        for part in choose(copies, next_txid, unfinished=False).complete():
            next_txid = part.last_txid + 1
        while next_txid <= offer.last_txid:
            for logged in shared.edits(next_txid, unfinished=True):
                next_txid = logged.txid + 1
            if next_txid <= offer.last_txid and shared.keeps(next_txid, offer.last_txid):
                return
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
    except OSError as error:
        raise BootstrapFailed(LOGS_UNAVAILABLE, f"the shared log {shared.name}: {error}") from error
    if next_txid <= offer.last_txid:
        raise BootstrapFailed(
            LOGS_UNAVAILABLE,
            f"the shared log {shared.name} lacks transactions {next_txid} to {offer.last_txid}, "
            f"which namenode {offer.name} has: make a new image there (howdah dfsadmin "
            "-saveNamespace), or fill the log with 'howdah namenode -initializeSharedEdits'",
        )


def _fill(
    storages: list[StorageDirectory], image_roots: set[Path], primary: Primary, offer: _Offer
) -> None:
    now_ms = time.time_ns() // 1_000_000
    with contextlib.ExitStack() as locks:
        for storage in storages:
            disk.make_directory(storage.root)
            locks.enter_context(storage.lock())
            if storage.current.exists():
                erase(storage.current)
            storage.create()
        directories = [storage.current for storage in storages if storage.root in image_roots]
        if offer.rollback_txid is not None:
            _fetch(primary, offer, offer.rollback_txid, directories, rollback=True)
        if offer.image_txid not in (0, offer.rollback_txid):
            _fetch(primary, offer, offer.image_txid, directories)
        for storage in storages:
            storage.write_seen_txid(offer.image_txid)
            storage.write_version(offer.version, now_ms)
            log.info(
                "%s has the image of transaction %d of namenode %s",
                storage.root,
                offer.image_txid,
                offer.name,
            )


def _fetch(
    primary: Primary,
    offer: _Offer,
    txid: int,
    directories: list[Path],
    *,
    rollback: bool = False,
) -> None:
    sums: list[str | None] = []

    def write(sink: Sink) -> None:
        sums.append(primary.fetch_image(offer.version, txid, sink, to_new_standby=True))

    written: WrittenImage = write_unfinished(directories, txid, write)
    if written.failed or sums[0] not in (None, written.md5):
        discard_unfinished(written.directories, written.txid)
        raise errors.CorruptImage(
            f"the image of transaction {txid} was not fetched whole: {written.failed or sums[0]}"
        )
    finish_image(replace(written, rollback=rollback))
