"""Waits awake for the next call of a lone caller (shell of `howdah.protocol.rpc.busy_poll`)."""

from __future__ import annotations

import os
import sys

from howdah.native.loader import kernel
from howdah.protocol.rpc.busy_poll import MOMENT_NS, BusyPollPolicy


class BusyPoll:
    """Of one server, on its loop."""

    def __init__(self) -> None:
        self.policy = BusyPollPolicy()
        native = kernel()
        # On a single processor nobody could ask while the loop is awake.
        self.await_bytes = native.await_bytes if native and _processors() > 1 else None

    def wait(self, descriptor: int) -> None:
        """Wait a moment until bytes come on a socket, or it ends."""
        if self.await_bytes is not None:
            self.policy.waited(self.await_bytes(descriptor, MOMENT_NS))


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
