"""A process of a mirror: copies the entries that it is handed (`python -m howdah.sync.worker`).

It reads frames from standard input (a length in eight bytes, then pickled values) and answers
each with one on standard output. Only the process that started it writes there. The first frame
is the `CopyTask`; each further one is a number and the entries to copy. When its input ends it
ends at once, in the middle of a file if need be: the process that started it is gone, and what
it was writing has a temporary name.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import struct
import sys
import threading
from typing import IO, Any, Final

from howdah.copy.common.failures import FAILURES, error_name, error_text
from howdah.copy.counters import Counters
from howdah.copy.listing.entries import Entry
from howdah.copy.tasks import Attempt, CopyTask

_LENGTH: Final = struct.Struct("!Q")
Work = tuple[int, tuple[Entry, ...]]
Answer = tuple[Counters, tuple[str, str] | None]
"""What was done, and the class and message of the error that ended it."""


def send(out: IO[bytes], value: object) -> None:
    """Write a frame."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    out.write(_LENGTH.pack(len(data)) + data)
    out.flush()


def receive(source: IO[bytes]) -> Any:
    """Read a frame. Raises EOFError where there is none, or only a part of one."""
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = source.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


def copy(task: CopyTask, number: int, entries: tuple[Entry, ...]) -> Answer:
    """Copy entries; the number names their temporary files."""
    failed: tuple[str, str] | None = None
    with task.task_log(number, number) as log:
        attempt = Attempt(task, number, 0, number, log)
        try:
            for entry in entries:
                attempt.handle(entry)
        except FAILURES as error:
            failed = error_name(error), error_text(error)
        return attempt.finish(), failed


def main() -> None:
    """Work until the input ends."""
    # Ctrl-C goes to all processes of a terminal; the one that started us says what is to be done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints may get between the answers
    handed: queue.SimpleQueue[Work] = queue.SimpleQueue()
    try:
        task = receive(sys.stdin.buffer)
    except EOFError:
        return

    def listen() -> None:
        try:
            while True:
                handed.put(receive(sys.stdin.buffer))
        except EOFError:
            os._exit(0)

    threading.Thread(target=listen, name="input", daemon=True).start()
    while True:
        number, entries = handed.get()
        send(answers, copy(task, number, entries))


if __name__ == "__main__":
    main()
