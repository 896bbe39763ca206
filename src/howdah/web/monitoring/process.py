"""What every server says of its process (shell: asks the operating system and the interpreter).

The beans have the names that a Java virtual machine gives them, since monitoring asks for those;
the figures are of this process. Its heap is its resident memory, and the most that the heap may
become is the memory of the machine or of its control group.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Final

from howdah import __version__

Bean = dict[str, object]

_STATUS: Final = Path("/proc/self/status")
_LIMITS: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_MIB: Final = 1024 * 1024


class LogCounts(logging.Handler):
    """How many records were logged, by level."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.by_level = dict.fromkeys((logging.INFO, 30, 40, 50), 0)

    def emit(self, record: logging.LogRecord) -> None:
        level = min(record.levelno // 10 * 10, logging.CRITICAL)
        self.by_level[level] = self.by_level.get(level, 0) + 1


logged: Final = LogCounts()
"""Of this process, once `watch_log` was called."""
_STARTED_S: Final = time.time()


def watch_log() -> None:
    """Count what is logged from here on; a second time changes nothing."""
    root = logging.getLogger()
    if logged not in root.handlers:
        root.addHandler(logged)


def beans(service: str, process_name: str) -> list[Bean]:
    """Return JvmMetrics, and the beans of `java.lang` that checks ask for."""
    resident, threads = _resident_and_threads()
    limit = memory_limit_bytes()
    collections = sum(int(stat["collections"]) for stat in gc.get_stats())
    count = logged.by_level
    host = socket.gethostname()
    return [
        {
            "name": f"Hadoop:service={service},name=JvmMetrics",
            "modelerType": "JvmMetrics",
            "tag.Context": "jvm",
            "tag.ProcessName": process_name,
            "tag.SessionId": None,
            "tag.Hostname": host,
            "MemHeapUsedM": resident / _MIB,
            "MemHeapCommittedM": resident / _MIB,
            "MemHeapMaxM": limit / _MIB,
            "MemMaxM": limit / _MIB,
            "GcCount": collections,
            "ThreadsRunnable": threads,
            "LogFatal": count[logging.CRITICAL],
            "LogError": count[logging.ERROR],
            "LogWarn": count[logging.WARNING],
            "LogInfo": count[logging.INFO],
        },
        {
            "name": "java.lang:type=Memory",
            "modelerType": "sun.management.MemoryImpl",
            "HeapMemoryUsage": {"committed": resident, "init": 0, "max": limit, "used": resident},
        },
        {
            "name": "java.lang:type=Threading",
            "modelerType": "sun.management.HotSpotThreadImpl",
            "ThreadCount": threads,
            "DaemonThreadCount": sum(thread.daemon for thread in threading.enumerate()),
        },
        {
            "name": "java.lang:type=OperatingSystem",
            "modelerType": "sun.management.OperatingSystemImpl",
            "OpenFileDescriptorCount": len(os.listdir("/proc/self/fd")),
            "MaxFileDescriptorCount": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "ProcessCpuTime": time.process_time_ns(),
            "SystemLoadAverage": os.getloadavg()[0],
            "SystemCpuLoad": min(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)),
            "TotalPhysicalMemorySize": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "FreePhysicalMemorySize": os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "AvailableProcessors": os.cpu_count() or 1,
            "Name": os.uname().sysname,
            "Version": os.uname().release,
            "Arch": os.uname().machine,
        },
        {
            "name": "java.lang:type=Runtime",
            "modelerType": "sun.management.RuntimeImpl",
            "Name": f"{os.getpid()}@{host}",
            "Pid": os.getpid(),
            "StartTime": round(_STARTED_S * 1000),
            "Uptime": round((time.time() - _STARTED_S) * 1000),
            "VmName": sys.implementation.name,
            "VmVersion": sys.version.split()[0],
            "SpecVersion": __version__,
        },
    ]


def memory_limit_bytes() -> int:
    """What this process may use: of its control group, else what the machine has."""
    for path in _LIMITS:
        try:
            text = path.read_text().strip()
        except OSError:
            continue  # there is no such group
        if text.isdigit() and int(text) < 1 << 60:
            return int(text)
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def thread_count() -> int:
    return _resident_and_threads()[1]


def _resident_and_threads() -> tuple[int, int]:
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0]) * 1024, int(fields["Threads"])
