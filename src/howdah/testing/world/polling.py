"""The module `select` of a simulated process: `poll` and `select`. There is no `epoll`, so Python's
`selectors` and `asyncio` use `poll`."""

from __future__ import annotations

import select as real
from collections.abc import Iterable
from typing import Any

from howdah.testing.world.descriptors import wait_until_ready
from howdah.testing.world.primitives import simulated_module
from howdah.testing.world.processes import Process


def _number(file: Any) -> int:
    number = file if isinstance(file, int) else int(file.fileno())
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number


def make(process: Process) -> Any:
    """Make the module, for one process."""
    scheduler, descriptors = process.scheduler, process.descriptors

    class poll:
        def __init__(self) -> None:
            self._masks: dict[int, int] = {}

        def register(
            self, file: Any, mask: int = real.POLLIN | real.POLLPRI | real.POLLOUT
        ) -> None:
            self._masks[_number(file)] = mask

        def modify(self, file: Any, mask: int) -> None:
            if _number(file) not in self._masks:
                raise FileNotFoundError(2, "No such file or directory")
            self._masks[_number(file)] = mask

        def unregister(self, file: Any) -> None:
            del self._masks[_number(file)]

        def _ready(self) -> list[tuple[int, int]]:
            ready = []
            for number, mask in self._masks.items():
                events = _events(number, mask)
                if events:
                    ready.append((number, events))
            return ready

        def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
            """`timeout` in milliseconds, as the real one's."""
            scheduler.give_way()
            if timeout == 0:
                return self._ready()
            deadline_ns = (
                None
                if timeout is None or timeout < 0
                else scheduler.now_ns + max(round(timeout * 1e6), 1)
            )
            descriptions = [
                open_file
                for number in self._masks
                if (open_file := descriptors.find(number)) is not None
            ]
            signals = process.signal_count
            wait_until_ready(
                scheduler,
                descriptions,
                # A handler may have made something ready, and Python looks again after it.
                lambda: self._ready() or process.signal_count != signals,
                deadline_ns,
            )
            return self._ready()

    def _events(number: int, mask: int) -> int:
        description = descriptors.find(number)
        if description is None:
            return real.POLLNVAL
        events = 0
        if mask & real.POLLIN and description.is_readable():
            events |= real.POLLIN
        if mask & real.POLLOUT and description.is_writable():
            events |= real.POLLOUT
        if description.has_hung_up():
            events |= real.POLLHUP
        if description.has_failed():
            events |= real.POLLERR
        return events

    def select(
        reading: Iterable[Any],
        writing: Iterable[Any],
        failing: Iterable[Any],
        timeout: float | None = None,
    ) -> tuple[list[Any], list[Any], list[Any]]:
        reading, writing = list(reading), list(writing)
        waiting = poll()
        masks: dict[int, int] = {}
        for files, bit in (reading, real.POLLIN), (writing, real.POLLOUT):
            for file in files:
                masks[_number(file)] = masks.get(_number(file), 0) | bit
        for number, mask in masks.items():
            descriptors.get(number)
            waiting.register(number, mask)
        ready = dict(waiting.poll(None if timeout is None else timeout * 1000))
        readable = real.POLLIN | real.POLLHUP | real.POLLERR
        writable = real.POLLOUT | real.POLLERR
        return (
            [file for file in reading if ready.get(_number(file), 0) & readable],
            [file for file in writing if ready.get(_number(file), 0) & writable],
            [],
        )

    functions = {"poll": poll, "select": select, "error": OSError}
    module = simulated_module("select", real, functions)
    for name in ("epoll", "kqueue", "devpoll"):
        if hasattr(module, name):
            delattr(module, name)
    return module
