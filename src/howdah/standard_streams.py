"""Descriptors 0, 1 and 2 of a program that was started with some of them closed (shell).

`howdah … >&-` leaves descriptor 1 free, and Python has no `sys.stdout` then. The next file or
socket that is opened would become that descriptor: what is printed goes into it. So a program
fills the gaps first, with /dev/null, as coreutils do: a command finds a standard input that
cannot be read and an output that cannot be written, and says so if it needs them. A server, which
needs neither, gets ones that work.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Final

EXIT_FAILURE: Final = 1


def fill() -> None:
    """Open /dev/null in the place of each standard stream that is closed: input that cannot be
    read, output that cannot be written, and errors that go nowhere."""
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            _place(mode, descriptor)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_raw(0, "r"), "utf-8", "surrogateescape")
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_raw(1, "w"), "utf-8", "surrogateescape")
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(
            _raw(2, "w"), "utf-8", "backslashreplace", line_buffering=True
        )


def open_for_server() -> None:
    """Where standard input or output is /dev/null, have it read and written without an error."""
    nowhere = os.stat(os.devnull).st_rdev
    for descriptor in (0, 1):
        if os.fstat(descriptor).st_rdev == nowhere:
            _place(os.O_RDWR, descriptor)


def flushed(code: int, program: str) -> int:
    """The exit code of a program that is about to end with `code`, once all its output is
    written; 1 and a line on standard error if it cannot be. Raises BrokenPipeError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        give_up_output()
        print(f"{program}: standard output cannot be written: {error.strerror}", file=sys.stderr)
        return code or EXIT_FAILURE
    return code


def give_up_output() -> None:
    """What is left in the buffer of standard output must not raise once more when Python ends."""
    _place(os.O_WRONLY, sys.stdout.fileno())


def _raw(descriptor: int, mode: str) -> io.BufferedReader | io.BufferedWriter:
    raw = io.FileIO(descriptor, mode, closefd=False)
    return io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)


def _place(mode: int, descriptor: int) -> None:
    """Have /dev/null as this descriptor, which programs that are started from here get, too."""
    opened = os.open(os.devnull, mode)
    if opened == descriptor:
        os.set_inheritable(opened, True)
    else:
        os.dup2(opened, descriptor)
        os.close(opened)
