"""The processes of a mirror, and how work is handed out.

Each process has a thread here that hands it one piece of work after the other and waits for the
answer. The first error ends the mirror: no more work is handed out, and the processes end as
their input is closed. One that was killed is an error like any other.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import howdah
from howdah import errors
from howdah.copy.common.failures import CopyFailed, error_from
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry
from howdah.copy.tasks import CopyTask
from howdah.sync.worker import copy, receive, send

MOST_FILES: Final = 64
MOST_BYTES: Final = 64 << 20
_PATIENCE_S: Final = 10.0
CHECKED_S: Final = 5.0

Piece = tuple[Entry, ...]


def pieces(entries: Iterable[Entry]) -> Iterator[Piece]:
    """Entries in pieces of some files or some bytes, the largest files first: what takes long
    begins early, and all processes end at about the same time."""
    some: list[Entry] = []
    size = 0
    for entry in sorted(entries, key=lambda entry: -entry.length):
        if some and (len(some) == MOST_FILES or size + entry.length > MOST_BYTES):
            yield tuple(some)
            some, size = [], 0
        some.append(entry)
        size += entry.length
    if some:
        yield tuple(some)


def copy_all(
    task: CopyTask,
    work: Sequence[Piece],
    processes: int,
    done: Callable[[Counters], None] = lambda _: None,
    check: Callable[[], None] = lambda: None,
) -> Counters:
    """Copy all pieces; the sums. `done` is told of each piece, by any thread. Without processes
    this one does it. `check` is called before each piece, or every `CHECKED_S` seconds; if it
    raises, the processes end at once.

    Raises the first error of a process.
    """
    if not processes:
        return _copy_here(task, work, done, check)
    todo: queue.SimpleQueue[tuple[int, Piece]] = queue.SimpleQueue()
    for numbered in enumerate(work):
        todo.put(numbered)
    run = _Run(task, todo, done)
    threads = [
        threading.Thread(target=run.serve, name=f"sync-{number}")
        for number in range(min(processes, len(work)))
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(CHECKED_S)
            while thread.is_alive():
                check()
                thread.join(CHECKED_S)
    except BaseException:
        run.stop()
        raise
    finally:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if run.error is not None:
        raise run.error
    if run.answered != len(work):
        # A thread ended by a defect, which it has told on standard error.
        raise CopyFailed(f"{len(work) - run.answered} of {len(work)} pieces were not copied")
    return run.counters


def _copy_here(
    task: CopyTask,
    work: Sequence[Piece],
    done: Callable[[Counters], None],
    check: Callable[[], None],
) -> Counters:
    sums = Counters()
    for number, piece in enumerate(work):
        check()
        counters, failed = copy(task, number, piece)
        sums += counters
        done(counters)
        if failed is not None:
            raise error_from(*failed)
    return sums


class _Run:
    """What the threads share."""

    def __init__(
        self,
        task: CopyTask,
        todo: queue.SimpleQueue[tuple[int, Piece]],
        done: Callable[[Counters], None],
    ) -> None:
        self._task = task
        self._todo = todo
        self._done = done
        self._lock = threading.Lock()
        self._is_stopped = False
        self._running: list[subprocess.Popen[bytes]] = []
        self.counters = Counters()
        self.answered = 0
        self.error: errors.HowdahError | None = None

    def stop(self) -> None:
        """End all processes at once."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                process.kill()

    def serve(self) -> None:
        """One process, from its start to its end."""
        with self._lock:
            if self._is_stopped:
                return
            process = _start()
            self._running.append(process)
        try:
            self._hand_out(process)
        except (EOFError, OSError):
            if not self._is_stopped:
                self._fail(CopyFailed(f"process {process.pid} of the mirror was killed"))
        finally:
            _end(process)

    def _hand_out(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        send(process.stdin, self._task)
        while not self._is_stopped:
            try:
                piece = self._todo.get_nowait()
            except queue.Empty:
                return
            send(process.stdin, piece)
            counters, failed = receive(process.stdout)
            with self._lock:
                self.counters += counters
                self.answered += 1
            self._done(counters)
            if failed is not None:
                self._fail(error_from(*failed))

    def _fail(self, error: errors.HowdahError) -> None:
        with self._lock:
            self.error = self.error or error
        self.stop()


def _start() -> subprocess.Popen[bytes]:
    env = dict(os.environ)
    root = str(Path(howdah.__file__).parent.parent)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (root, env.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "howdah.sync.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, and wait for its end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                pass  # it was killed before it read everything
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
