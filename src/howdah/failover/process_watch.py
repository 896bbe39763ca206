"""The death of the local namenode, known at once and for certain (shell; steps 17 and 18).

A health check that fails says little: the namenode may live, and answer others. But our
namenode says in each answer which process it is, and the kernel of this machine tells when that
process has died. Then nobody has to fence it, and nobody has to wait for its lease: its
controller tells the journal nodes that this writer writes no more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.config.journal_uri import JournalUri
from howdah.config.value_types import Address
from howdah.failover.state.service import ServingProcess
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.runtime import unexpected_errors
from howdah.runtime.process_identity import LivingProcess, ProcessIdentity

log = logging.getLogger(__name__)

JOURNAL_PROTOCOL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
RESIGN_TIMEOUT_S: Final = 0.5
LAST_SERIAL: Final = (1 << 63) - 1
"""Of a writer's requests: no other comes behind it."""


class DeathWatch:
    """Watches the process that the namenode last said that it is."""

    def __init__(self, died: Callable[[ServingProcess], None]) -> None:
        """`died` is called on a thread of its own, once for a process that is the namenode's last
        one."""
        self._died = died
        self._lock = threading.Lock()
        self._last: ServingProcess | None = None
        self._watched: ProcessIdentity | None = None

    def seen(self, process: ServingProcess | None) -> None:
        """What the namenode said; None if it said nothing of itself."""
        if process is None:
            return
        identity = _identity(process)
        with self._lock:
            self._last = process
            if identity == self._watched:
                return
            self._watched = None
            living = LivingProcess.find(identity)
            if living is None:
                return
            self._watched = identity
        watching = threading.Thread(
            target=self._watch, args=(identity, living), name="death watch", daemon=True
        )
        try:
            watching.start()
        except RuntimeError as error:
            # The next answer of the namenode tries again.
            log.error("process %d is not watched now: %s", process.pid, error)
            living.close()
            with self._lock:
                if self._watched == identity:
                    self._watched = None

    def _watch(self, identity: ProcessIdentity, living: LivingProcess) -> None:
        try:
            living.wait_for_death()
        except Exception as error:  # noqa: BLE001 - health checks notice the death later
            unexpected_errors.note("the death watch", error, "the process is watched anew")
            with self._lock:
                if self._watched == identity:
                    self._watched = None
            return
        finally:
            living.close()
        with self._lock:
            last = self._last
        # A process that came after it is the namenode now, and lives.
        if last is None or _identity(last) != identity:
            log.info("process %d is gone, and was the namenode no more", identity.pid)
            return
        self._died(last)


def _identity(process: ServingProcess) -> ProcessIdentity:
    return ProcessIdentity(process.pid, process.start_ticks, process.boot_id)


def resign_for(uri: JournalUri, nameservice: str, epoch: int, user: str | None = None) -> int:
    """Tell the journal nodes, as `user`, that the writer of this epoch has died; how many took
    note.

    A younger writer is not meant, and notices nothing. Nodes that do not answer soon don't
    know it: then the lease is waited for.
    """
    noted: list[Address] = []
    threads = [
        threading.Thread(
            target=_report_death,
            args=(node, uri.journal_id, nameservice, epoch, noted, user),
            daemon=True,
        )
        for node in uri.nodes
    ]
    begun = []
    for thread in threads:
        try:
            thread.start()
            begun.append(thread)
        except RuntimeError as error:
            log.warning("a journal node is not told that epoch %d is over: %s", epoch, error)
    for thread in begun:
        thread.join(RESIGN_TIMEOUT_S)
    return len(noted)


def _report_death(
    node: Address,
    journal_id: str,
    nameservice: str,
    epoch: int,
    noted: list[Address],
    user: str | None,
) -> None:
    info = pb.RequestInfoProto(
        journalId=pb.JournalIdProto(identifier=journal_id),
        epoch=epoch,
        ipcSerialNumber=LAST_SERIAL,
        nameServiceId=nameservice,
    )
    client = RpcClient(node, JOURNAL_PROTOCOL, user=user, call_timeout_s=RESIGN_TIMEOUT_S)
    try:
        client.call(
            "heartbeat",
            pb.HeartbeatRequestProto(reqInfo=info, resigns=True),
            pb.HeartbeatResponseProto,
        )
        noted.append(node)
    except errors.HowdahError as error:
        log.info("journal node %s:%d did not note that epoch %d is over: %s", *node, epoch, error)
    finally:
        client.close()


def resignation(
    uri: JournalUri | None, nameservice: str, user: str | None = None
) -> Callable[[ServingProcess], None]:
    """What a controller does when its namenode has died; `uri` is that of the shared log, if
    journal nodes keep it, which are called as `user`."""

    def died(process: ServingProcess) -> None:
        if uri is None or process.writer_epoch is None:
            return
        count = resign_for(uri, nameservice, process.writer_epoch, user)
        log.info(
            "%d of %d journal nodes know that the writer of epoch %d has died",
            count,
            len(uri.nodes),
            process.writer_epoch,
        )

    return died
