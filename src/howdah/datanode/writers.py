"""Who writes which replica: one writer each, and whoever comes next waits for the last to go.

A client that rebuilds a pipeline comes back on a new connection while the thread of
the old one may still hold the replica: it waits for packets, for acks, for a node
that does not answer, or is in the middle of a disk write. Before the replica is
looked at, let alone cut, that thread must be gone for sure, or it would write into
what was recovered. So `claim` stops it and returns when it has let go.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

from howdah import errors
from howdah.transfer.blocks import ExtendedBlock

STOP_TIMEOUT_S = 60.0
"""dfs.datanode.xceiver.stop.timeout.millis: only a disk that hangs takes so long."""
_STOP_AGAIN_S = 0.1


class Stoppable(Protocol):
    """Whoever writes a replica, as those who must end that see it."""

    def stop(self, why: str) -> None:
        """End the write soon; returns at once, and may be called again."""


class Writers:
    """The writers of a datanode's replicas. Any thread may ask."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders: dict[tuple[str, int], Stoppable] = {}

    def __len__(self) -> int:
        return len(self._holders)

    def of(self, block: ExtendedBlock) -> Stoppable | None:
        return self._holders.get((block.pool_id, block.block_id))

    def all(self) -> list[Stoppable]:
        """Everybody who writes now."""
        with self._changed:
            return list(self._holders.values())

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Whether the last writer has let go in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._holders, timeout_s)

    def hold(self, block: ExtendedBlock, holder: Stoppable) -> None:
        """`holder` writes this replica, which is new."""
        with self._changed:
            self._holders[block.pool_id, block.block_id] = holder

    def claim(
        self,
        block: ExtendedBlock,
        holder: Stoppable,
        timeout_s: float = STOP_TIMEOUT_S,
        *,
        why: str = "its pipeline is built anew",
    ) -> None:
        """`holder` writes this replica from now on; whoever did so before is told `why`, and
        has let go.

        `RemoteError` if that one does not end in time; it is the writer still.
        """
        key = block.pool_id, block.block_id
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while (present := self._holders.get(key)) is not None:
                # Again and again: it may have opened another connection since.
                present.stop(why)
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    raise errors.RemoteError(
                        f"the writer of {block} does not stop within {timeout_s:g} s"
                    )
                self._changed.wait(min(left_s, _STOP_AGAIN_S))
            self._holders[key] = holder

    def release(self, block: ExtendedBlock, holder: Stoppable | None) -> None:
        """`holder` has let go of the replica. Nothing, if it isn't its writer any more."""
        key = block.pool_id, block.block_id
        with self._changed:
            if holder is not None and self._holders.get(key) is holder:
                del self._holders[key]
                self._changed.notify_all()
