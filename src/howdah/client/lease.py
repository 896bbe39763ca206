"""Keeps the leases of a client's open files alive, on a thread of its own (OS-066).

LeaseRenewer in Hadoop.

The namenode gives one lease to each client name, for all files it writes; after
60 seconds without renewal another client may take a file over, and after the hard limit
(`dfs.namenode.lease-hard-limit-sec`, 20 minutes) the namenode closes the file itself.
So while one file is open a daemon thread calls `renewLease` every half of the first of
them. It shares no lock with writing and closing, however long those take. It ends when
the last file is closed; where files come and go, a second after the last one, for to start a
thread and to end it costs more than the rest of a small file's close. A client that is closed
does not leave it behind, nor does one of which the process forks while no file is open.

A renewal that fails, for whatever reason, is tried again a second later, then after two, and
so on: a system that has no memory or no thread left may have some then. Once the hard limit has
passed since the last one that succeeded, the files are not this client's any more: it is told,
and gives them up, so that writers hear of it at their next call.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable

from howdah import errors
from howdah.runtime.fork_safety import PerProcess

SOFT_LIMIT_S = 60.0
RENEWAL_INTERVAL_S = SOFT_LIMIT_S / 2
HARD_LIMIT_S = 20 * 60.0
FIRST_RETRY_S = 1.0
LINGER_S = 1.0
"""So long a thread waits for the next file, if one was opened since it last looked."""
LONGEST_ENDING_S = 1.0
"""A fork does not wait longer for threads that have nothing to do, however many they are."""

_log = logging.getLogger(__name__)
_renewers: PerProcess[weakref.WeakValueDictionary[int, LeaseRenewer]] = PerProcess(
    lambda: weakref.WeakValueDictionary()
)


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
        linger_s: float = LINGER_S,
    ) -> None:
        self._renew = renew
        self._interval_s = interval_s
        self._hard_limit_s = hard_limit_s
        self._lost = lost
        self._linger_s = linger_s
        self._changed = threading.Condition()
        self._files: set[object] = set()
        self._opened = 0
        # Whether the thread is to be woken when the last file is closed, and is not to wait
        # for a file after it.
        self._awaits_the_last = False
        self._rests = False
        self._renewed_s = 0.0
        self._thread: threading.Thread | None = None
        _renewers.get()[id(self)] = self

    @property
    def is_running(self) -> bool:
        with self._changed:
            return self._thread is not None

    def add(self, file: object) -> None:
        """`file` is open for writing from now on."""
        with self._changed:
            if not self._files:
                # What was not renewed while no file was open is nobody's loss.
                self._renewed_s = time.monotonic()
            self._files.add(file)
            self._opened += 1
            self._rests = False
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
            if not self._files and self._awaits_the_last:
                self._changed.notify_all()

    def rest(self) -> threading.Thread | None:
        """No file is about to be opened: the thread need not wait for one. The thread, if it is
        to end by that."""
        with self._changed:
            if self._files:
                return None
            self._rests = True
            self._changed.notify_all()
            return self._thread

    def _is_due(self, pause_s: float) -> bool:
        """Wait for so long; whether there is something to renew. If not, the thread is over."""
        due_s = time.monotonic() + pause_s
        with self._changed:
            opened = -1
            while (left_s := due_s - time.monotonic()) > 0:
                lingers = opened != self._opened and not self._rests
                if not self._files and not lingers:
                    break
                opened = self._opened
                self._awaits_the_last = not lingers
                self._changed.wait(min(left_s, self._linger_s) if lingers else left_s)
            self._awaits_the_last = False
            if not self._files:
                self._thread = None
            return self._thread is not None

    def _run(self) -> None:
        try:
            self._go_on()
        finally:
            with self._changed:
                if self._thread is threading.current_thread():
                    # It ended by what nobody foresees: the next file begins another one.
                    self._thread = None

    def _go_on(self) -> None:
        pause_s = self._interval_s
        while self._is_due(pause_s):
            # The namenode counts from when it got the call, which is not before it was sent.
            asked_s = time.monotonic()
            try:
                self._renew()
            except Exception as error:  # noqa: BLE001 - the only thread: who writes would lose all
                self._failed(error)
                retry_s = FIRST_RETRY_S if pause_s == self._interval_s else 2 * pause_s
                pause_s = min(retry_s, self._interval_s)
            else:
                self._renewed_s, pause_s = max(asked_s, self._renewed_s), self._interval_s

    def _failed(self, error: Exception) -> None:
        overdue_s = time.monotonic() - self._renewed_s
        is_expected = isinstance(error, errors.HowdahError | OSError)
        _log.warning(
            "cannot renew the lease for %.0f s now: %s",
            overdue_s,
            error if is_expected else repr(error),
            exc_info=None if is_expected else error,
        )
        if overdue_s < self._hard_limit_s:
            return
        self._renewed_s = time.monotonic()
        try:
            self._give_up(overdue_s, error)
        except Exception:  # noqa: BLE001 - it is in the log
            # Files that are opened later need this thread, too.
            _log.exception("giving up the files whose lease is lost failed on a defect")

    def _give_up(self, overdue_s: float, error: Exception) -> None:
        if self._lost is not None:
            self._lost(
                f"its lease could not be renewed for {overdue_s:.0f} s, and the namenode takes "
                f"files back after {self._hard_limit_s:.0f} s "
                f"(dfs.namenode.lease-hard-limit-sec): {str(error) or repr(error)}"
            )


def _before_fork() -> None:
    """A process with one thread is one: Python warns of forks of others, with reason."""
    renewers = [reference() for reference in _renewers.get().valuerefs()]
    ending = [renewer.rest() for renewer in renewers if renewer is not None]
    deadline_s = time.monotonic() + LONGEST_ENDING_S
    for thread in ending:
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(deadline_s - time.monotonic(), 0.0))


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(before=_before_fork)
