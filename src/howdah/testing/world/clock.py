"""The module `time` of a simulated process: virtual time, and the wall clock of its machine."""

from __future__ import annotations

import calendar
import time as real
from typing import Any, Final

from howdah.testing.world.primitives import simulated_module
from howdah.testing.world.processes import Process

_PURE: Final = ("strftime", "strptime", "asctime", "struct_time", "get_clock_info", "tzset")


def make(process: Process) -> Any:
    """Make the module, for one process."""
    scheduler = process.scheduler

    def wall_ns() -> int:
        return process.machine.wall.now_ns()

    def now_ns() -> int:
        return scheduler.now_ns

    def now() -> float:
        return scheduler.now_ns / 1e9

    def sleep(seconds: float) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        scheduler.sleep_until(scheduler.now_ns + max(round(seconds * 1e9), 1))

    def cpu_ns() -> int:
        """Count turns, and not the real time that they take."""
        return scheduler.current.cpu_ns if scheduler.current is not None else 0

    def clock_gettime_ns(clock: int) -> int:
        if clock == real.CLOCK_REALTIME:
            return wall_ns()
        if clock in (real.CLOCK_PROCESS_CPUTIME_ID, real.CLOCK_THREAD_CPUTIME_ID):
            return cpu_ns()
        return scheduler.now_ns

    def gmtime(seconds: float | None = None) -> real.struct_time:
        return real.gmtime(wall_ns() // 10**9 if seconds is None else seconds)

    def ctime(seconds: float | None = None) -> str:
        return real.asctime(gmtime(seconds))

    functions = {
        "time": lambda: wall_ns() / 1e9,
        "time_ns": wall_ns,
        "monotonic": now,
        "monotonic_ns": now_ns,
        "perf_counter": now,
        "perf_counter_ns": now_ns,
        "process_time": lambda: cpu_ns() / 1e9,
        "process_time_ns": cpu_ns,
        "thread_time": lambda: cpu_ns() / 1e9,
        "thread_time_ns": cpu_ns,
        "sleep": sleep,
        "clock_gettime": lambda clock: clock_gettime_ns(clock) / 1e9,
        "clock_gettime_ns": clock_gettime_ns,
        "clock_getres": lambda clock: 1e-9,
        "gmtime": gmtime,
        "localtime": gmtime,
        "mktime": lambda fields: float(calendar.timegm(fields)),
        "ctime": ctime,
        "timezone": 0,
        "altzone": 0,
        "daylight": 0,
        "tzname": ("UTC", "UTC"),
    }
    return simulated_module("time", real, functions, real_names=_PURE)
