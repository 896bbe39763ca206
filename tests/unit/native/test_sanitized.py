"""The kernel under the sanitizers of the C compiler: addresses, undefined behaviour, threads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import howdah

SOURCES = sorted(Path(howdah.__file__).parent.glob("native/kernel/*.c"))
HERE = Path(__file__).parent
TESTS = [
    HERE / "test_rows.py",
    HERE / "test_reports.py",
    HERE / "test_calls.py",
    HERE / "test_client.py",
    HERE / "test_exchange.py",
    HERE / "test_answers.py",
    HERE / "test_reads.py",
    HERE / "test_journal.py",
    HERE / "test_journal_past_cache.py",
    HERE / "test_outlets.py",
    HERE.parent / "namenode/journal/test_native_writer.py",
    HERE.parent / "rpc/test_response_writer.py",
    HERE / "test_locations.py",
    HERE / "test_requests.py",
    HERE / "test_relay.py",
    HERE / "test_sync.py",
    HERE.parent / "namenode/service/protocols/test_quick_reads.py",
    HERE.parent / "protocol/data_transfer/test_checksum.py",
    HERE.parent / "gateway/s3/test_crc64.py",
    HERE.parent / "protocol/striping/test_coder.py",
]
WITH_THREADS = [
    HERE / "test_journal.py",
    HERE / "test_journal_past_cache.py",
    HERE / "test_outlets.py",
    HERE / "test_exchange.py",
    HERE / "test_relay.py",
    HERE.parent / "namenode/journal/test_native_writer.py",
    HERE.parent / "rpc/test_response_writer.py",
]
"""Those in which two threads are in the kernel at a time, on the same objects."""
RUN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("howdah.native._kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.modules["howdah.native._kernel"] = module
import howdah.native
howdah.native._kernel = module
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
"""


def library(compiler: str, name: str) -> str:
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip(f"the C compiler has no {name}")
    return found


def run(
    where: Path, sanitizers: list[str], preload: str, options: dict[str, str], tests: list[Path]
) -> str:
    """Run tests with a kernel that is built so; what the sanitizers and the tests say."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    preloaded = library(compiler, preload)
    built = where / f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(
        [
            *(compiler, "-shared", "-fPIC", "-g", "-O1", "-fno-omit-frame-pointer"),
            *("-DPy_LIMITED_API=0x030B0000", *sanitizers),
            *(f"-I{sysconfig.get_path('include')}", "-o", str(built), *map(str, SOURCES)),
        ],
        check=True,
    )
    ran = subprocess.run(
        [sys.executable, "-c", RUN, built, "-m", "not torture", *tests],
        env={**os.environ, "LD_PRELOAD": preloaded, **options},
        capture_output=True,
        text=True,
    )
    said = ran.stdout[-3000:] + ran.stderr[-6000:]
    assert ran.returncode == 0, said
    assert "passed" in ran.stdout
    return said


@pytest.mark.torture
def test_the_kernel_reads_and_writes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    run(
        tmp_path,
        ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
        "libasan.so",
        # Python itself never frees what lives as long as it does.
        {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "PYTHONMALLOC": "malloc"},
        TESTS,
    )


@pytest.mark.torture
def test_threads_in_the_kernel_touch_the_same_things_one_after_the_other(tmp_path: Path) -> None:
    """Python is not built for this sanitizer, but its lock is one that the sanitizer knows."""
    where = tmp_path / "races"
    run(
        tmp_path,
        ["-fsanitize=thread"],
        "libtsan.so",
        {"TSAN_OPTIONS": f"log_path={where}:exitcode=0:history_size=4"},
        WITH_THREADS,
    )
    assert "".join(each.read_text()[:6000] for each in tmp_path.glob("races*")) == ""
