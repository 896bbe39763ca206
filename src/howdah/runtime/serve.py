"""How a server runs as a process: its signals, its ready file, its exit code (shell).

Every server of howdah runs until SIGTERM or SIGINT, warns if strangers can reach it, writes its
ready file when it can serve, and ends with 1 and a line in the log if it cannot start.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Final

import uvloop

from howdah import errors
from howdah.runtime import bind_warning
from howdah.runtime.atomic_files import replace_file

log = logging.getLogger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` for each signal that ends a server."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: stop())


def stop_event() -> asyncio.Event:
    """Return an event that is set by the signals that end a server, on the running loop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stop.set)
    return stop


def run_on_loop(server: str, serve: Callable[[], Coroutine[object, object, None]]) -> int:
    """Run a server's coroutine to its end on a loop of its own, and return the exit code.

    `server` names the server in the log: `the router cannot start: …`.
    """
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())
    except (errors.HowdahError, OSError) as error:
        log.critical("the %s cannot start: %s", server, error)
        return 1
    return 0


def warn_if_exposed(server: str, addresses: Iterable[tuple[str, int]]) -> str:
    """Log, and return, the warning that strangers can reach the server at these addresses; empty
    where nobody but this machine can."""
    warning = bind_warning.warning(server, addresses)
    if warning:
        log.warning("%s", warning)
    return warning


def write_ready_file(path: Path | None, role: str, **facts: object) -> None:
    """Tell whoever started the server, by a JSON object with its pid and role, that it serves.

    Nothing is written without a path. Raises OSError.
    """
    if path is not None:
        ready = {"pid": os.getpid(), "role": role, **facts}
        replace_file(path, json.dumps(ready).encode() + b"\n")
