"""What a descriptor stands for, and waiting for it to be ready."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from typing import Final

from howdah.testing.world.scheduler import Scheduler, Task

FIRST_DESCRIPTOR: Final = 1000
"""Simulated descriptors have numbers that no real one is likely to have: what escapes fails."""


def system_error(number: int, path: str | None = None) -> OSError:
    """Make the error of a system call, with the text that the system has for it."""
    if path is None:
        return OSError(number, os.strerror(number))
    return OSError(number, os.strerror(number), path)


class Description:
    """Is what several descriptors may share: an open file, socket or pipe."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.references = 1
        self.is_blocking = True
        self._waiting: list[Task] = []

    def is_readable(self) -> bool:
        """Whether to read would not wait."""
        return True

    def is_writable(self) -> bool:
        """Whether to write would not wait."""
        return True

    def has_hung_up(self) -> bool:
        """Whether the other side is gone for good."""
        return False

    def has_failed(self) -> bool:
        """Whether an error is to be fetched."""
        return False

    def closed(self) -> None:
        """Called when the last descriptor is closed."""

    def deliver_byte(self, value: int) -> None:
        """Write a byte, and never wait, as the interpreter does for a signal."""

    def vanished(self) -> None:
        """Called instead when the machine has lost its power: nobody is told."""

    def changed(self) -> None:
        """Wake up who waits: something may be ready now."""
        if self._waiting:
            for task in list(self._waiting):
                self.scheduler.wake(task)

    def join(self, task: Task) -> None:
        self._waiting.append(task)

    def part(self, task: Task) -> None:
        if task in self._waiting:
            self._waiting.remove(task)


def wait_until_ready(
    scheduler: Scheduler,
    descriptions: Collection[Description],
    is_ready: Callable[[], object],
    deadline_ns: int | None = None,
) -> bool:
    """Park until something is ready; False if the deadline came first."""
    while not is_ready():
        if deadline_ns is not None and scheduler.now_ns >= deadline_ns:
            return False
        task = scheduler.current
        assert task is not None, "only a task may wait"
        for description in descriptions:
            description.join(task)
        try:
            scheduler.park(deadline_ns)
        finally:
            for description in descriptions:
                description.part(task)
    return True


class DescriptorTable:
    """Holds the descriptors of one process."""

    def __init__(self, limit: int = 65536) -> None:
        self._open: dict[int, Description] = {}
        self.limit = limit

    def add(self, description: Description) -> int:
        """Give the lowest number that is free. Raises OSError (EMFILE)."""
        if len(self._open) >= self.limit:
            raise system_error(errno.EMFILE)
        number = FIRST_DESCRIPTOR
        while number in self._open:
            number += 1
        self._open[number] = description
        return number

    def get(self, number: int) -> Description:
        """Raises OSError (EBADF)."""
        try:
            return self._open[number]
        except KeyError:
            raise system_error(errno.EBADF) from None

    def find(self, number: int) -> Description | None:
        return self._open.get(number)

    def descriptions(self) -> list[Description]:
        """Return what they stand for, in the order of their numbers."""
        return [self._open[number] for number in sorted(self._open)]

    def replace(self, number: int, description: Description) -> None:
        """Let a descriptor stand for something else: a socket has connected."""
        self._open[number] = description

    def share(self, number: int) -> Description:
        """Return what it stands for, which gets a further descriptor here or in another process."""
        description = self.get(number)
        description.references += 1
        return description

    def close(self, number: int) -> None:
        """Raises OSError (EBADF)."""
        description = self.get(number)
        del self._open[number]
        description.references -= 1
        if description.references == 0:
            description.closed()

    def take_over(self, other: DescriptorTable) -> None:
        """Hold what another table holds, which is used no more."""
        self._open.update(other._open)

    def close_all(self) -> None:
        """Close them all, at the end of a process."""
        for number in list(self._open):
            self.close(number)

    def lose_all(self) -> None:
        """Drop them all and tell nobody: the machine is off."""
        for description in self._open.values():
            description.references -= 1
            if description.references == 0:
                description.vanished()
        self._open.clear()

    def copy(self) -> DescriptorTable:
        """Make the table of a forked child."""
        table = DescriptorTable(self.limit)
        for number in self._open:
            table._open[number] = self.share(number)
        return table

    def numbers(self) -> list[int]:
        return sorted(self._open)

    def __contains__(self, number: object) -> bool:
        return number in self._open

    def __len__(self) -> int:
        return len(self._open)
