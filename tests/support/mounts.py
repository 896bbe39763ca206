"""Mounts in tests, which leave nothing behind and hang nobody.

A process that looks into a mounted directory waits for the process that serves it, and cannot be
ended while it waits. So programs run in processes of their own, with a time-out; and whatever
happens, the serving process is killed first, and the directory unmounted then.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from howdah.mount import device
from howdah.testing.waiting import wait_until

TIMEOUT_S = 100.0
_CAP_SYS_ADMIN = 1 << 21


def need_fuse() -> None:
    """Skip what this machine cannot do."""
    if not os.path.exists(device.DEVICE):
        pytest.skip("/dev/fuse is not installed on this machine")
    if os.geteuid() != 0 and shutil.which(device.HELPER) is None:
        pytest.skip("fusermount3 is not installed")
    if os.geteuid() == 0 and not _capabilities() & _CAP_SYS_ADMIN:
        pytest.skip("root may not mount on this machine: CAP_SYS_ADMIN is needed")
    try:
        os.close(os.open(device.DEVICE, os.O_RDWR))
    except OSError as error:
        pytest.skip(f"/dev/fuse cannot be had on this machine: {error.strerror}")


def _capabilities() -> int:
    """What this process may do, as a set of bits."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "CapEff":
            return int(value, 16)
    return 0


@dataclass
class Mount:
    """A mounted directory, and the process that serves it."""

    directory: Path
    process: subprocess.Popen[bytes]
    log: Path

    def run(
        self, *command: str | Path, input: bytes | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program in the mounted directory."""
        done = subprocess.run(
            command,
            cwd=self.directory,
            input=input,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
        )
        if check and done.returncode:
            raise AssertionError(
                f"{command} has ended with {done.returncode}: {done.stderr.decode()}\n"
                f"{self.log.read_text()}"
            )
        return done

    def shell(self, script: str, check: bool = True) -> str:
        """What a shell script in the mounted directory prints."""
        return self.run("sh", "-ec", script, check=check).stdout.decode()

    def python(self, script: str, check: bool = True) -> str:
        """What a Python program in the mounted directory prints."""
        return self.run(sys.executable, "-c", script, check=check).stdout.decode()


@contextmanager
def mounted(uri: str, directory: Path, *options: str, user: str | None = None) -> Iterator[Mount]:
    """`howdah mount` of a filesystem at a directory, which is made."""
    directory.mkdir()
    log, ready = directory.with_suffix(".log"), directory.with_suffix(".ready")
    command = [sys.executable, "-m", "howdah", "mount", uri, str(directory), "--foreground"]
    command += ["--ready-file", str(ready), *options]
    environment = dict(os.environ)
    if user is not None:
        environment["HADOOP_USER_NAME"] = user
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output, env=environment)
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None, TIMEOUT_S)
        assert process.poll() is None, f"{command} has ended: {log.read_text()}"
        yield Mount(directory, process, log)
        process.terminate()
        process.wait(TIMEOUT_S)
    finally:
        process.kill()
        process.wait()
        if device.mounted_at(device.full_path(str(directory))) is not None:
            _unmount(["fusermount3", "-uz", str(directory)], ["umount", "-l", str(directory)])


def _unmount(*commands: Sequence[str]) -> None:
    for command in commands:
        if shutil.which(command[0]) is not None:
            subprocess.run(command, check=False, timeout=TIMEOUT_S)
            return
