"""Keeps the leases of a client's open files alive, on a thread of its own (OS-066).

The namenode gives one lease to each client name, for all files it writes; after
60 seconds without renewal another client may take a file over. So while one file
is open a daemon thread calls `renewLease` every half of that. It shares no lock with
writing and closing, however long those take. It ends when the last file is closed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from howdah import errors

SOFT_LIMIT_S = 60.0
RENEWAL_INTERVAL_S = SOFT_LIMIT_S / 2

_log = logging.getLogger(__name__)


class LeaseRenewer:
    """Renews while files are registered. `renew` is the call, `files` any hashable tokens."""

    def __init__(self, renew: Callable[[], None], interval_s: float = RENEWAL_INTERVAL_S) -> None:
        self._renew = renew
        self._interval_s = interval_s
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
                self._thread = threading.Thread(
                    target=self._run, name="howdah-lease-renewer", daemon=True
                )
                self._thread.start()

    def remove(self, file: object) -> None:
        """`file` is closed, or given up."""
        with self._changed:
            self._files.discard(file)
            if not self._files:
                self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: not self._files, timeout=self._interval_s)
                if not self._files:
                    self._thread = None
                    return
            try:
                self._renew()
            except (errors.HowdahError, OSError) as error:
                # The next round tries again; if the lease is lost in the meantime the
                # next call of the writer itself says so.
                _log.warning("cannot renew the lease: %s", error)
