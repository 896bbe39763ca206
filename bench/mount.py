"""A mounted directory beside the client: a file of one stream, written and read.

The mount and the client read and write files of the same size on the same cluster of one
datanode, in turn, in pieces of 1 MiB. What the kernel has of a file in its cache is dropped before
the file is read.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import MB, Options, Results, Skipped, figure, in_turn, main, progress, scratch

from howdah.fs.api import FileSystem
from howdah.mount import device
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

PIECE_BYTES = 1 << 20
START_TIMEOUT_S = 60.0


@contextmanager
def mounted(uri: str, directory: Path) -> Iterator[Path]:
    """The filesystem at a directory, which is made."""
    directory.mkdir()
    ready = directory.with_suffix(".ready")
    command = [sys.executable, "-m", "howdah", "mount", uri, str(directory), "--foreground"]
    with subprocess.Popen([*command, "--log-level", "ERROR", "--ready-file", ready]) as process:
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, START_TIMEOUT_S)
            assert process.poll() is None, "it was mounted"
            yield directory
        finally:
            process.terminate()


def written_to(path: Path, pieces: int) -> float:
    data = os.urandom(PIECE_BYTES)
    begun = time.perf_counter()
    with path.open("wb", buffering=0) as out:
        for _ in range(pieces):
            out.write(data)
    return time.perf_counter() - begun


def written_by(fs: FileSystem, path: str, pieces: int) -> float:
    data = os.urandom(PIECE_BYTES)
    begun = time.perf_counter()
    with fs.create(path, overwrite=True) as out:
        for _ in range(pieces):
            out.write(data)
    return time.perf_counter() - begun


def read_from(path: Path) -> float:
    buffer = bytearray(PIECE_BYTES)
    with path.open("rb", buffering=0) as source:
        os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begun = time.perf_counter()
        while source.readinto(buffer):
            pass
        return time.perf_counter() - begun


def read_by(fs: FileSystem, path: str) -> float:
    buffer = bytearray(PIECE_BYTES)
    with fs.open(path) as source:
        begun = time.perf_counter()
        while source.readinto(buffer):
            pass
        return time.perf_counter() - begun


def measure(options: Options) -> Results:
    pieces = 64 if options.quick else 512
    if not os.path.exists(device.DEVICE):
        yield Skipped("mount", f"there is no {device.DEVICE} here")
        return
    progress(f"{pieces} MiB by a mount and by the client")
    rate = pieces * PIECE_BYTES / MB
    with scratch(options, "mount") as made, MiniCluster(datanodes=1) as cluster:
        with cluster.connect() as fs, mounted(cluster.uri, made / "hdfs") as directory:
            repeats = options.repeats(5, 2)
            found = in_turn(
                {
                    "mount": lambda: rate / written_to(directory / "by-mount", pieces),
                    "client": lambda: rate / written_by(fs, "/by-client", pieces),
                },
                repeats,
            )
            yield figure("mount, write", "MB/s", found["mount"], {"client": found["client"]})
            found = in_turn(
                {
                    "mount": lambda: rate / read_from(directory / "by-mount"),
                    "client": lambda: rate / read_by(fs, "/by-mount"),
                },
                repeats,
            )
            yield figure(
                "mount, read", "MB/s", found["mount"], {"client": found["client"]}, target="≥ 0.7"
            )


if __name__ == "__main__":
    main(measure)
