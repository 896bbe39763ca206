"""A restart that writers wait for: `dfsadmin -shutdownDatanode host:port upgrade`.

1. For each replica that a client writes a restart file is left (`block_files`): until it
   expires, the next start takes the replica as one that is being written (RBW), and the
   client's pipeline can have it back.
2. Each such client is told by an ack that answers no packet (OOB_RESTART). If the datanode
   is near, or the only one of the pipeline, the client waits for its return instead of
   going on without it (`dfs.client.datanode-restart.timeout`).
3. The clients hang up, since they set the pipeline up anew. A connection that is closed
   before that could reach a client that has not read the ack, so they get a moment.

Others find out as they always do: their connection ends.
"""

from __future__ import annotations

import logging
import threading
import time

from howdah import errors
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.transfer.receiver import BlockReceiver

log = logging.getLogger(__name__)

HANG_UP_S = 1.0
"""How long the clients may take to hang up."""


def announce_restart(store: BlockStore, settings: DataSettings) -> int:
    """Do steps 1 to 3; return how many clients were told."""
    until_ms = time.time_ns() // 1_000_000 + int(settings.restart_expiry_s * 1000)
    notified: list[BlockReceiver] = []

    def announce(receiver: BlockReceiver) -> None:
        try:
            if receiver.announce_restart(until_ms, settings.restart_notice_s):
                notified.append(receiver)
        except (errors.HowdahError, OSError) as error:
            log.info("a client is gone before it is told of the restart: %s", error)

    threads = [
        threading.Thread(target=announce, args=(writer,), name="restart notice", daemon=True)
        for writer in store.writers.all()
        if isinstance(writer, BlockReceiver)
    ]
    begun = []
    for thread in threads:
        try:
            thread.start()
            begun.append(thread)
        except RuntimeError as error:
            log.warning("a client is not told of the restart: %s", error)
    deadline_s = time.monotonic() + settings.restart_notice_s
    for thread in begun:
        # One whose client doesn't read is left behind.
        thread.join(max(deadline_s - time.monotonic(), 0.0))
    if notified and not store.writers.wait_until_idle(HANG_UP_S):
        log.info("%d writers don't hang up before the restart", len(store.writers))
    log.info("told %d of %d clients of the restart", len(notified), len(threads))
    return len(notified)
