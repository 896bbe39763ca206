"""Who writes which replica: one writer each, and whoever comes next waits for the last to go.

A client that rebuilds a pipeline comes back on a new connection while the thread of
the old one may still hold the replica: it waits for packets, for acks, for a node
that does not answer, or is in the middle of a disk write. Before the replica is
looked at, let alone cut, that thread must be gone for sure, or it would write into
what was recovered. So `claim` stops it and returns when it has let go.

Who claims a replica says under which generation stamp, and the newest has it: an attempt
that comes late would only stop the one that overtook it, and be refused then.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Protocol

from howdah import errors
from howdah.protocol.data_transfer.blocks import ExtendedBlock

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 60.0
"""Unless `dfs.datanode.xceiver.stop.timeout.millis` says otherwise. Only a disk that hangs takes so
long."""
_STOP_AGAIN_S = 0.1


class Stoppable(Protocol):
    """Whoever writes a replica, as those who must end that see it."""

    def stop(self, why: str) -> None:
        """End the write soon; returns at once, and may be called again."""


class BriefHold:
    """Holds a replica for the length of one call, which is not interrupted."""

    def __init__(self, name: str) -> None:
        self._name = name

    def stop(self, why: str) -> None:
        """It is short: whoever wants the replica waits for its end."""
        log.debug("%s ends soon: %s", self._name, why)


class Writers:
    """The writers of a datanode's replicas. Any thread may ask."""

    def __init__(self, stop_timeout_s: float = STOP_TIMEOUT_S) -> None:
        self._stop_timeout_s = stop_timeout_s
        self._changed = threading.Condition()
        self._holders: dict[tuple[str, int], tuple[Stoppable, int]] = {}

    def __len__(self) -> int:
        return len(self._holders)

    def of(self, block: ExtendedBlock) -> Stoppable | None:
        present = self._holders.get((block.pool_id, block.block_id))
        return None if present is None else present[0]

    def all(self) -> list[Stoppable]:
        """Everybody who writes now."""
        with self._changed:
            return [holder for holder, _ in self._holders.values()]

    def of_pool(self, pool_id: str) -> list[Stoppable]:
        """Everybody who writes a block of this pool now."""
        with self._changed:
            return [holder for (pool, _), (holder, _) in self._holders.items() if pool == pool_id]

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Whether the last writer has let go in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._holders, timeout_s)

    def try_hold(self, block: ExtendedBlock, holder: Stoppable, stamp: int) -> bool:
        """`holder` has the replica from now on, unless somebody else has: that one goes on."""
        key = block.pool_id, block.block_id
        with self._changed:
            if key in self._holders:
                return False
            self._holders[key] = holder, stamp
            return True

    def claim(
        self,
        block: ExtendedBlock,
        holder: Stoppable,
        stamp: int,
        *,
        why: str = "its pipeline is built anew",
    ) -> None:
        """`holder` writes this replica from now on, under `stamp`; whoever did so before is told
        `why`, and has let go.

        `RecoveryInProgress` if that one has a newer stamp, `RemoteError` if it does not end in
        time; it is the writer still.
        """
        key = block.pool_id, block.block_id
        deadline_s = time.monotonic() + self._stop_timeout_s
        with self._changed:
            while (present := self._holders.get(key)) is not None:
                writer, newest = present
                if newest > stamp:
                    raise errors.RecoveryInProgress(
                        f"{block} is not given to an attempt under stamp {stamp}: one under "
                        f"{newest} has it"
                    )
                # Again and again: it may have opened another connection since.
                writer.stop(why)
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise errors.RemoteError(
                        f"the writer of {block} does not stop within {self._stop_timeout_s:g} s"
                    )
                self._changed.wait(min(left_s, _STOP_AGAIN_S))
            self._holders[key] = holder, stamp

    def lost(self, pool_id: str, block_id: int, why: str) -> None:
        """The replica went with its volume. Whoever writes it is told `why`, or would go on
        acknowledging what nobody finds any more. It may hang there, so nobody waits for it: the
        next replica of the block is another one, on another volume."""
        with self._changed:
            present = self._holders.pop((pool_id, block_id), None)
            if present is not None:
                present[0].stop(why)
                self._changed.notify_all()

    def release(self, block: ExtendedBlock, holder: Stoppable | None) -> None:
        """`holder` has let go of the replica. Nothing, if it isn't its writer any more."""
        key = block.pool_id, block.block_id
        with self._changed:
            present = self._holders.get(key)
            if present is not None and present[0] is holder:
                del self._holders[key]
                self._changed.notify_all()
