"""The module `_thread` of a simulated process: locks, threads, and values of each thread.

`threading`, `queue` and `concurrent.futures` are Python's own code above it. There is no `RLock`
and no `SimpleQueue` in C, so those of pure Python are used.
"""

from __future__ import annotations

import _thread as real
import itertools
import sys
from collections.abc import Callable
from typing import Any, ClassVar

from howdah.testing.world.primitives import simulated_module
from howdah.testing.world.processes import MAIN_IDENT, Process
from howdah.testing.world.scheduler import Scheduler, Task


class _Lock:
    """Is a lock of one process: `make` makes a subclass for each."""

    _scheduler: ClassVar[Scheduler]

    __slots__ = ("__weakref__", "_is_held", "_waiting")

    def __init__(self) -> None:
        self._is_held = False
        self._waiting: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking and timeout not in (-1, None):
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout is not None and timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        self._scheduler.give_way()
        if not self._is_held:
            self._is_held = True
            return True
        if not blocking:
            return False
        return self._wait(timeout)

    def _wait(self, timeout: float | None) -> bool:
        deadline_ns = (
            None if timeout in (-1, None) else self._scheduler.now_ns + round(timeout * 1e9)
        )
        task = self._scheduler.current
        assert task is not None, "a lock is held when no task runs"
        while self._is_held:
            if deadline_ns is not None and self._scheduler.now_ns >= deadline_ns:
                return False
            self._waiting.append(task)
            self._scheduler.park(deadline_ns)
            if task in self._waiting:
                self._waiting.remove(task)
        self._is_held = True
        return True

    def release(self) -> None:
        if not self._is_held:
            raise RuntimeError("release unlocked lock")
        self._is_held = False
        if self._waiting:
            drawn = self._scheduler.random.randrange(len(self._waiting))
            self._scheduler.wake(self._waiting.pop(drawn))

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        self._scheduler.give_way()
        if not self._is_held:
            self._is_held = True
            return True
        return self._wait(None)

    def __exit__(self, *_: object) -> None:
        self.release()

    acquire_lock = acquire
    release_lock = release
    locked_lock = locked

    def _at_fork_reinit(self) -> None:
        self._is_held = False
        self._waiting = []


def make(process: Process) -> Any:
    """Make the module, for one process."""
    scheduler = process.scheduler
    numbers = itertools.count(1)

    class lock(_Lock):
        __slots__ = ()
        _scheduler = scheduler

    class _local:
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            self = object.__new__(cls)
            if (args or kwargs) and cls.__init__ is object.__init__:
                raise TypeError("Initialization arguments are not supported")
            object.__setattr__(self, "_local_number", next(numbers))
            object.__setattr__(self, "_local_arguments", (args, kwargs))
            # `__init__` follows in this thread; in others it runs when they come.
            task = scheduler.current
            store = task.locals if task is not None else process.boot_locals
            store[object.__getattribute__(self, "_local_number")] = {}
            return self

        def _own(self) -> dict[str, Any]:
            """Return what this thread has."""
            task = scheduler.current
            store = task.locals if task is not None else process.boot_locals
            number = object.__getattribute__(self, "_local_number")
            values = store.get(number)
            if values is None:
                values = store[number] = {}
                initialize: Any = type(self).__init__
                if initialize is not object.__init__:
                    args, kwargs = object.__getattribute__(self, "_local_arguments")
                    initialize(self, *args, **kwargs)
            return values

        def __getattribute__(self, name: str) -> Any:
            if name in ("_own", "__class__"):
                return object.__getattribute__(self, name)
            values = object.__getattribute__(self, "_own")()
            if name == "__dict__":
                return values
            if name in values:
                return values[name]
            return object.__getattribute__(self, name)

        def __setattr__(self, name: str, value: Any) -> None:
            object.__getattribute__(self, "_own")()[name] = value

        def __delattr__(self, name: str) -> None:
            try:
                del object.__getattribute__(self, "_own")()[name]
            except KeyError:
                raise AttributeError(name) from None

    def start_new_thread(
        function: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
    ) -> int:
        process.fault("thread")
        owner = getattr(function, "__self__", None)
        name = getattr(owner, "_name", None) or getattr(function, "__name__", "thread")
        task = scheduler.spawn(process, str(name), lambda: function(*args, **(kwargs or {})))
        return task.ident

    def get_ident() -> int:
        return scheduler.current.ident if scheduler.current is not None else MAIN_IDENT

    def _set_sentinel() -> lock:
        sentinel = lock()

        def end() -> None:
            if sentinel._is_held:
                sentinel.release()

        if scheduler.current is not None:
            scheduler.current.sentinel = end
        else:
            process.boot_sentinel = end
        return sentinel

    def _excepthook(args: Any) -> None:
        process.thread_failed(args.thread, args.exc_type, args.exc_value, args.exc_traceback)

    if sys.version_info >= (3, 13):  # its `threading` stands on other functions
        raise RuntimeError("howdah.testing.world runs on Python 3.11 and 3.12")
    functions = {
        "LockType": lock,
        "allocate_lock": lock,
        "allocate": lock,
        "start_new_thread": start_new_thread,
        "start_new": start_new_thread,
        "_set_sentinel": _set_sentinel,
        "get_ident": get_ident,
        "get_native_id": get_ident,
        "_local": _local,
        "error": RuntimeError,
        "stack_size": lambda size=0: 0,
        "daemon_threads_allowed": lambda: True,
        "interrupt_main": lambda number=2: process.receive_signal(number),
        "_excepthook": _excepthook,
        "_ExceptHookArgs": real._ExceptHookArgs,
        "_count": lambda: len(process.tasks),
    }
    module = simulated_module("_thread", real, functions)
    del module.RLock
    return module
