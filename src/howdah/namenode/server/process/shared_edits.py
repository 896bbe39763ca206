"""`howdah namenode -initializeSharedEdits`: a log that was one namenode's own is shared from now
on (shell). Hadoop: NameNode.initializeSharedEdits.

1. the directories of this namenode are read and mended, as at a start without others
2. their `seen_txid` says how far the log reaches
3. the shared log is formatted as the log of the same filesystem
4. it gets all edits that come after the newest image

The namenode is stopped meanwhile. When this process dies, the shared log may lack the end: it is
not empty for the next call, and by step 2 no namenode on these directories takes it for whole.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.edits.codec import encode_record
from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.journal.log_reader import StoredLog
from howdah.namenode.server.nameservice.identity import place_of, shared_log_of
from howdah.namenode.server.process.loading import Loaded, load
from howdah.namenode.state.edit_log.journal import Batch
from howdah.namenode.state.edit_log.shared_log import SharedLog
from howdah.security.server_login import namenode_caller
from howdah.storage.layout import StorageDirectory, StorageState

log = logging.getLogger(__name__)

_SYNCED_EDITS: Final = 1000
"""Between two syncs of the copy."""


def initialize_shared_edits(conf: Configuration, *, force: bool = False) -> int:
    """The last transaction that the shared log has. Raises InconsistentStorage if it holds
    something and `force` is not given; what `load` raises."""
    place = place_of(conf)
    conf = place.conf
    make_shared_log = shared_log_of(place, lambda: namenode_caller(conf))
    if make_shared_log is None:
        raise errors.InvalidConfiguration(
            f"No shared edits directory configured for namenode {place.identity}: set "
            f"{keys.DFS_HA_NAMENODES.name} and {keys.DFS_NAMENODE_SHARED_EDITS_DIR.name}"
        )
    name_directories = conf.get(keys.DFS_NAMENODE_NAME_DIR)
    edits_directories = conf.get(keys.DFS_NAMENODE_EDITS_DIR)
    loaded = load(name_directories, edits_directories)
    try:
        with contextlib.closing(make_shared_log(loaded.version)) as shared:
            if shared.is_formatted() and not force:
                raise errors.InconsistentStorage(
                    f"the shared log {shared.name} is not empty; -force formats it all the same, "
                    "and loses what it holds"
                )
            _note_end(loaded)
            shared.format(loaded.version)
            _copy(loaded, shared)
            log.info("%s has the log up to transaction %d", shared.name, loaded.last_txid)
            return loaded.last_txid
    finally:
        for lock in loaded.locks:
            lock.release()


def _note_end(loaded: Loaded) -> None:
    """`seen_txid` says with which transaction the last segment begins. A copy of a part of that
    segment would reach that far, and the rest would be set aside as what nobody agreed to."""
    for current in dict.fromkeys([*loaded.name_directories, *loaded.edits_directories]):
        storage = StorageDirectory(current.parent)
        if storage.state() is StorageState.NORMAL:
            storage.write_seen_txid(loaded.last_txid)


def _copy(loaded: Loaded, shared: SharedLog) -> None:
    """Segment by segment, as they are here."""
    sources = [DirectorySource(current) for current in loaded.edits_directories]
    stored = StoredLog(sources, (loaded.image_txid or 0) + 1)
    if not stored.parts:
        return
    ends = {part.last_txid for part in stored.parts}
    with contextlib.closing(shared.take_over()) as journal:
        is_begun = False
        for _, placed in stored.edits():
            txid = placed.logged.txid
            record = Batch(txid, 1, encode_record(txid, placed.logged.edit))
            if not is_begun:
                journal.begin_segment(txid)
            journal.append(record)
            if not is_begun or txid % _SYNCED_EDITS == 0:
                # The first record goes alone: it says who began the segment.
                journal.make_durable()
            is_begun = txid not in ends
            if not is_begun:
                journal.end_segment(txid)
