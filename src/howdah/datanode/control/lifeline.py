"""Signs of life for a namenode that is slow to take heartbeats: one thread for each.

BPServiceActor.LifelineSender in Hadoop. The thread of the actor waits for the answer to its
heartbeat, to a report or to news of blocks. When the next heartbeat is late by then, this one
sends what a heartbeat has to the namenode's port for lifelines, where nothing has to wait for
its namespace. There is no answer but that it came.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import datanode_namenode_pb2 as pb
from howdah.rpc.client import RpcClient

log = logging.getLogger(__name__)

PROTOCOL = "org.apache.hadoop.hdfs.server.protocol.DatanodeLifelineProtocol"


def lifeline_interval_s(configured_s: float, heartbeat_s: float) -> float:
    """How late a heartbeat may be: three intervals, unless more than one is configured."""
    if configured_s > heartbeat_s:
        return configured_s
    if configured_s:
        log.warning(
            "dfs.datanode.lifeline.interval.seconds is %g s, and not more than the %g s of "
            "dfs.heartbeat.interval: %g s are used",
            configured_s,
            heartbeat_s,
            3 * heartbeat_s,
        )
    return 3 * heartbeat_s


class LifelineSender:
    """Of one namenode."""

    def __init__(
        self,
        address: Address,
        interval_s: float,
        heartbeat: Callable[[], pb.HeartbeatRequestProto | None],
        took: Callable[[int], None] = lambda ns: None,
        user: str | None = None,
    ) -> None:
        """`heartbeat` makes one; None while this datanode is not registered. `took` hears how many
        nanoseconds each that was taken has taken. `user` is who sends them."""
        self._took = took
        self._name = f"{address[0]}:{address[1]}"
        self._client = RpcClient(address, PROTOCOL, user=user)
        self._interval_s = interval_s
        self._heartbeat = heartbeat
        self._changed = threading.Condition()
        self._due_s = time.monotonic() + interval_s
        self._stopping = False
        self._fails = False
        self._thread = threading.Thread(
            target=self._run, name=f"lifeline {self._name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify()

    def heartbeat_begins(self) -> None:
        """A heartbeat is sent now: no lifeline is needed for a while."""
        with self._changed:
            self._due_s = time.monotonic() + self._interval_s

    def _run(self) -> None:
        while self._wait_until_due():
            try:
                self._send()
            except Exception:
                # The next one may go, and without it the namenode may lose this datanode.
                log.exception("a lifeline to namenode %s failed on a defect", self._name)

    def _wait_until_due(self) -> bool:
        with self._changed:
            while not self._stopping:
                left_s = self._due_s - time.monotonic()
                if left_s <= 0:
                    self._due_s = time.monotonic() + self._interval_s
                    return True
                self._changed.wait(left_s)
        return False

    def _send(self) -> None:
        request = self._heartbeat()
        if request is None or self._stopping:
            return
        began_ns = time.perf_counter_ns()
        try:
            self._client.call("sendLifeline", request, pb.LifelineResponseProto)
            self._took(time.perf_counter_ns() - began_ns)
        except (errors.HowdahError, OSError) as error:
            if not self._fails:
                log.warning("no lifeline reaches namenode %s: %s", self._name, error)
            self._fails = True
            return
        if self._fails:
            log.info("lifelines reach namenode %s again", self._name)
        self._fails = False
        log.info("sent a lifeline to namenode %s, whose heartbeat is late", self._name)
