"""Keeps the leases of a client's open files alive, on a thread of its own (OS-066).

LeaseRenewer in Hadoop.

The namenode gives one lease to each client name, for all files it writes; after
60 seconds without renewal another client may take a file over, and after the hard limit
(`dfs.namenode.lease-hard-limit-sec`, 20 minutes) the namenode closes the file itself.
So while one file is open a daemon thread calls `renewLease` every half of the first of
them. It shares no lock with writing and closing, however long those take. It ends when
the last file is closed.

A renewal that fails is tried again a second later, then after two, and so on. Once the
hard limit has passed since the last one that succeeded, the files are not this client's
any more: it is told, and gives them up, so that writers hear of it at their next call.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from howdah import errors

SOFT_LIMIT_S = 60.0
RENEWAL_INTERVAL_S = SOFT_LIMIT_S / 2
HARD_LIMIT_S = 20 * 60.0
FIRST_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class LeaseRenewer:
    """Renews while files are registered. `renew` is the call, `files` any hashable tokens.

    `lost` is called, on the renewer's thread, with the reason for which every file that
    is registered must be given up.
    """

    def __init__(
        self,
        renew: Callable[[], None],
        interval_s: float = RENEWAL_INTERVAL_S,
        *,
        hard_limit_s: float = HARD_LIMIT_S,
        lost: Callable[[str], None] | None = None,
    ) -> None:
        self._renew = renew
        self._interval_s = interval_s
        self._hard_limit_s = hard_limit_s
        self._lost = lost
        self._changed = threading.Condition()
        self._files: set[object] = set()
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        with self._changed:
            return self._thread is not None

    def add(self, file: object) -> None:
        """`file` is open for writing from now on."""
        with self._changed:
            self._files.add(file)
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, name="howdah-lease-renewer", daemon=True
                )
                try:
                    thread.start()
                except BaseException:
                    # Without it the file would be taken away unnoticed.
                    self._files.discard(file)
                    raise
                self._thread = thread

    def remove(self, file: object) -> None:
        """`file` is closed, or given up."""
        with self._changed:
            self._files.discard(file)
            if not self._files:
                self._changed.notify_all()

    def _run(self) -> None:
        renewed_s = time.monotonic()
        pause_s = self._interval_s
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._files, timeout=pause_s)
                if not self._files:
                    self._thread = None
                    return
            # The namenode counts from when it got the call, which is not before it was sent.
            asked_s = time.monotonic()
            try:
                self._renew()
            except (errors.HowdahError, OSError) as error:
                overdue_s = time.monotonic() - renewed_s
                _log.warning("cannot renew the lease for %.0f s now: %s", overdue_s, error)
                if overdue_s >= self._hard_limit_s:
                    self._give_up(overdue_s, error)
                    renewed_s = time.monotonic()
                retry_s = FIRST_RETRY_S if pause_s == self._interval_s else 2 * pause_s
                pause_s = min(retry_s, self._interval_s)
            else:
                renewed_s, pause_s = asked_s, self._interval_s

    def _give_up(self, overdue_s: float, error: Exception) -> None:
        if self._lost is not None:
            self._lost(
                f"its lease could not be renewed for {overdue_s:.0f} s, and the namenode takes "
                f"files back after {self._hard_limit_s:.0f} s "
                f"(dfs.namenode.lease-hard-limit-sec): {error}"
            )
