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
            _open_null_at(mode, descriptor)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_raw(0, "r"), "utf-8", "surrogateescape")
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_raw(1, "w"), "utf-8", "surrogateescape")
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(
            _raw(2, "w"), "utf-8", "backslashreplace", line_buffering=True
        )


def open_for_server() -> None:
    """Let standard input and output be both read and written where they are /dev/null."""
    nowhere = os.stat(os.devnull).st_rdev
    for descriptor in (0, 1):
        if os.fstat(descriptor).st_rdev == nowhere:
            _open_null_at(os.O_RDWR, descriptor)


def flushed(code: int, program: str) -> int:
    """Flush standard output. Return `code`, the program's exit code; print a line on standard error
    and return 1 instead of 0 if the output cannot be written. Raises BrokenPipeError."""
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
    """Discard what is buffered for standard output, so that the end of Python raises nothing."""
    _open_null_at(os.O_WRONLY, sys.stdout.fileno())


def _raw(descriptor: int, mode: str) -> io.BufferedReader | io.BufferedWriter:
    raw = io.FileIO(descriptor, mode, closefd=False)
    return io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)


def _open_null_at(mode: int, descriptor: int) -> None:
    """Open /dev/null as this descriptor; child processes inherit it."""
    opened = os.open(os.devnull, mode)
    if opened == descriptor:
        os.set_inheritable(opened, True)
    else:
        os.dup2(opened, descriptor)
        os.close(opened)
