"""howdah in a zip, as Spark's executors get it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import howdah
from howdah.native import loader, zip_loader
from howdah.spark.sessions import _archive

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
sys.path.append(sys.argv[2])
if sys.argv[3]:
    sys.modules["google_crc32c"] = None
import howdah
assert howdah.__file__.startswith(sys.argv[1]), howdah.__file__
import howdah.copy.tasks, howdah.spark.compaction.concat, howdah.spark.verification.job
from howdah.protocol.data_transfer.checksum import ChecksumType, crc, implementation
print(implementation(), hex(crc(ChecksumType.CRC32C, b"123456789", 0)))
"""


def run(archive: Path, *, without_package: bool) -> str:
    site = sysconfig.get_paths()["purelib"]
    told = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, archive, site, "x" * without_package],
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout + told.stderr


def test_kernel_in_a_zip_is_used() -> None:
    if not list(Path(howdah.__file__).parent.glob("native/_kernel.*.so")):
        pytest.skip("the kernel could not be built here")
    told = run(_archive(), without_package=True)
    assert "google" not in told
    assert told.split()[-1] == "0xe3069283"


def test_zip_without_a_kernel_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    _archive.cache_clear()
    monkeypatch.setattr(Path, "glob", lambda *_: iter(()))
    try:
        told = run(_archive(), without_package=False)
    finally:
        _archive.cache_clear()
    assert told.startswith("google-crc32c")
    assert told.split()[-1] == "0xe3069283"


def test_what_is_no_kernel_for_this_machine_is_left_alone() -> None:
    assert zip_loader._loaded(b"not for this machine", ".so") is None
    assert zip_loader.load() is None  # howdah isn't in a zip here


def test_a_kernel_of_another_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = loader.kernel.__wrapped__
    if kernel() is None:
        pytest.skip("the kernel could not be built here")
    monkeypatch.setattr(loader, "REVISION", loader.REVISION + 1)
    assert kernel() is None
