"""One file, written and read whole by three clients: Hadoop's in Java, ours, and hdfs-native.

The same loops serve all measurements of files as a whole, so that they compare.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hdfs_native
from jvm import Jvm

from howdah.config import Configuration
from howdah.fs.api import FileSystem

BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FileClient:
    """Writes a copy of a local file, reads it and removes it. `cpu_s` is the processor time that
    the client's process has used so far."""

    write: Callable[[], object]
    read: Callable[[], object]
    remove: Callable[[], object]
    cpu_s: Callable[[], float]


def own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def java_client(
    jvm: Jvm, conf: Configuration, values: dict[str, str], local: Path, path: str
) -> FileClient:
    """The JVM has to know `CoderLoop` for its processor time to be asked for."""
    fs = jvm.file_system(conf, values)
    return FileClient(
        lambda: fs.write(local, path),
        lambda: fs.read(path),
        lambda: fs.delete(path),
        lambda: float(jvm.java.CoderLoop.processCpuSeconds()),
    )


def our_client(fs: FileSystem, local: Path, path: str, **create: Any) -> FileClient:
    """`create` has more arguments for `FileSystem.create`."""
    buffer = bytearray(BUFFER_BYTES)

    def write() -> None:
        with local.open("rb", buffering=0) as source:
            with fs.create(path, overwrite=True, **create) as out:
                while count := source.readinto(buffer):
                    out.write(memoryview(buffer)[:count])

    def read() -> None:
        with fs.open(path) as source:
            while source.readinto(buffer):
                continue

    return FileClient(write, read, lambda: fs.delete(path), own_cpu_s)


def native_client(
    uri: str, conf: Configuration, local: Path, path: str, **create: Any
) -> FileClient:
    """`create` has more arguments for `hdfs_native.WriteOptions`."""
    client = hdfs_native.Client(uri, dict(conf.items()))
    options = hdfs_native.WriteOptions(overwrite=True, **create)

    def write() -> None:
        with local.open("rb", buffering=0) as source, client.create(path, options) as out:
            while data := source.read(BUFFER_BYTES):
                out.write(data)

    def read() -> None:
        with client.read(path) as source:
            for _ in source.read_range_stream(0, len(source)):
                continue

    return FileClient(write, read, lambda: client.delete(path), own_cpu_s)
