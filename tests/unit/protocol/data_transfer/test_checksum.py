"""The kernel and its fall-back under the same tests."""

from __future__ import annotations

import importlib
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from types import ModuleType

import google_crc32c
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import howdah
from howdah.protocol.data_transfer import checksum
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType

# Of the checkout that is tested, wherever an installation for development leads.
SOURCE = str(Path(howdah.__file__).parent.parent)
CRCS = [ChecksumType.CRC32, ChecksumType.CRC32C]
shared_fixture = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(
    params=["howdah.native._kernel", "howdah.protocol.data_transfer.checksum_fallback"],
    autouse=True,
)
def implementation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    try:
        module = importlib.import_module(request.param)
    except ImportError:
        pytest.skip(f"{request.param} is not built here")
    monkeypatch.setattr(checksum, "_implementation", module)
    return module


def reference(kind: ChecksumType, data: bytes) -> int:
    value: int = zlib.crc32(data) if kind is ChecksumType.CRC32 else google_crc32c.value(data)
    return value


def reference_sums(spec: ChecksumSpec, data: bytes) -> bytes:
    step = spec.bytes_per_checksum
    crcs = [reference(spec.type, data[at : at + step]) for at in range(0, len(data), step)]
    return struct.pack(f">{len(crcs)}I", *crcs)


def pattern(length: int) -> bytes:
    return bytes((i * 131 + i // 251) & 0xFF for i in range(length))


# -- single CRCs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "expected"), [(ChecksumType.CRC32, 0xCBF43926), (ChecksumType.CRC32C, 0xE3069283)]
)
def test_check_value_of_the_polynomial(kind: ChecksumType, expected: int) -> None:
    assert checksum.crc(kind, b"123456789") == expected


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(data=st.binary(max_size=700))
def test_crc_is_that_of_the_reference(kind: ChecksumType, data: bytes) -> None:
    assert checksum.crc(kind, data) == reference(kind, data)


@pytest.mark.parametrize("kind", CRCS)
def test_crc_of_every_length_and_alignment(kind: ChecksumType) -> None:
    data = pattern(300)
    for start in range(17):
        for end in range(start, 300, 7):
            piece = data[start:end]
            assert checksum.crc(kind, memoryview(data)[start:end]) == reference(kind, piece)


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(first=st.binary(max_size=200), second=st.binary(max_size=200))
def test_seed_carries_a_crc_on(kind: ChecksumType, first: bytes, second: bytes) -> None:
    seed = checksum.crc(kind, first)
    assert checksum.crc(kind, second, seed) == reference(kind, first + second)


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(first=st.binary(max_size=200), second=st.binary(max_size=200))
def test_combine_is_the_crc_of_both(kind: ChecksumType, first: bytes, second: bytes) -> None:
    joined = checksum.combine(kind, reference(kind, first), reference(kind, second), len(second))
    assert joined == reference(kind, first + second)


@pytest.mark.parametrize("kind", CRCS)
def test_combine_reaches_beyond_four_gigabytes(kind: ChecksumType) -> None:
    # Appending zeroes twice must be appending them at once.
    half = checksum.combine(kind, 0x12345678, 0, 3 << 32)
    assert checksum.combine(kind, half, 0, 3 << 32) == checksum.combine(
        kind, 0x12345678, 0, 6 << 32
    )


# -- chunks --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(data=st.binary(max_size=3000), step=st.integers(1, 700))
def test_every_chunk_has_its_crc(kind: ChecksumType, data: bytes, step: int) -> None:
    spec = ChecksumSpec(kind, step)
    out = bytearray(spec.sums_length(len(data)))
    assert checksum.checksum_chunks(spec, data, out) == len(out)
    assert bytes(out) == reference_sums(spec, data)


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(data=st.binary(max_size=3000), step=st.integers(1, 700))
def test_good_chunks_verify(kind: ChecksumType, data: bytes, step: int) -> None:
    spec = ChecksumSpec(kind, step)
    assert checksum.verify_chunks(spec, data, reference_sums(spec, data)) == -1


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(data=st.data())
def test_first_bad_chunk_is_found(kind: ChecksumType, data: st.DataObject) -> None:
    content = bytearray(data.draw(st.binary(min_size=1, max_size=3000)))
    spec = ChecksumSpec(kind, data.draw(st.integers(1, 700)))
    sums = reference_sums(spec, bytes(content))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    assert checksum.verify_chunks(spec, content, sums) == at // spec.bytes_per_checksum


@pytest.mark.parametrize("kind", CRCS)
@shared_fixture
@given(data=st.binary(min_size=1, max_size=3000), step=st.integers(1, 700))
def test_compose_is_the_crc_of_the_whole(kind: ChecksumType, data: bytes, step: int) -> None:
    sums = reference_sums(ChecksumSpec(kind, step), data)
    last = len(data) - (len(sums) // 4 - 1) * step
    assert checksum.compose(kind, sums, step, last) == reference(kind, data)


@pytest.mark.parametrize("kind", CRCS)
def test_compose_of_many_chunks(kind: ChecksumType) -> None:
    data = pattern(1000 * 512 + 100)
    sums = reference_sums(ChecksumSpec(kind, 512), data)
    assert checksum.compose(kind, sums, 512, 100) == reference(kind, data)


@pytest.mark.parametrize("kind", CRCS)
def test_compose_of_nothing_is_zero(kind: ChecksumType) -> None:
    assert checksum.compose(kind, b"", 512, 0) == 0


@pytest.mark.parametrize("kind", CRCS)
def test_megabytes_are_checksummed_as_well(kind: ChecksumType) -> None:
    # Beyond the size from which other threads may run meanwhile.
    spec = ChecksumSpec(kind, 512)
    data = pattern(65536) * 32 + b"tail"
    out = bytearray(spec.sums_length(len(data)))
    checksum.checksum_chunks(spec, data, out)
    assert bytes(out) == reference_sums(spec, data)
    assert checksum.verify_chunks(spec, data, out) == -1


@pytest.mark.parametrize("kind", CRCS)
def test_threads_may_checksum_at_once(kind: ChecksumType) -> None:
    data = pattern(65536) * 32
    expected = reference(kind, data)
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(checksum.crc(kind, data))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


# -- buffers -------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_contiguous_buffer_will_do(wrap: type) -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 512)
    data = pattern(2000)
    sums = reference_sums(spec, data)
    assert checksum.verify_chunks(spec, wrap(data), wrap(sums)) == -1


def test_sums_are_written_at_the_offset_and_nowhere_else() -> None:
    spec = ChecksumSpec(ChecksumType.CRC32C, 4)
    out = bytearray(b"\xaa" * 20)
    assert checksum.checksum_chunks(spec, b"12345678", memoryview(out)[2:], 3) == 8
    assert out[:5] == b"\xaa" * 5
    assert out[5:13] == reference_sums(spec, b"12345678")
    assert out[13:] == b"\xaa" * 7


@pytest.mark.parametrize(("room", "offset"), [(7, 0), (8, 1), (0, 0), (8, 9), (8, 1 << 62)])
def test_sums_that_do_not_fit_are_refused(room: int, offset: int) -> None:
    out = bytearray(room)
    with pytest.raises(ValueError, match="fit"):
        checksum.checksum_chunks(ChecksumSpec(ChecksumType.CRC32, 4), b"12345678", out, offset)
    assert out == bytearray(room)


def test_negative_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="out_offset"):
        checksum.checksum_chunks(ChecksumSpec(ChecksumType.CRC32, 4), b"1", bytearray(9), -1)


def test_read_only_target_is_refused() -> None:
    with pytest.raises(BufferError):
        checksum.checksum_chunks(ChecksumSpec(ChecksumType.CRC32, 4), b"1", bytes(4))


def test_buffer_with_gaps_is_refused() -> None:
    with pytest.raises(BufferError):
        checksum.crc(ChecksumType.CRC32, memoryview(b"abcdef")[::2])


@pytest.mark.parametrize("length", [0, 4, 7, 12])
def test_sums_of_another_length_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="2 checksums"):
        checksum.verify_chunks(ChecksumSpec(ChecksumType.CRC32, 4), b"12345678", bytes(length))


def test_broken_sums_are_not_composed() -> None:
    with pytest.raises(ValueError, match="whole number"):
        checksum.compose(ChecksumType.CRC32, b"12345", 4, 4)


@pytest.mark.parametrize("seed", [-1, 1 << 32, 1 << 64])
def test_seed_of_more_than_32_bits_is_refused(seed: int) -> None:
    with pytest.raises((ValueError, OverflowError)):
        checksum.crc(ChecksumType.CRC32, b"", seed)


@pytest.mark.parametrize(("chunk", "last"), [(0, 1), (-1, 1), (1, -1)])
def test_lengths_that_cannot_be_are_refused(chunk: int, last: int) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        checksum.compose(ChecksumType.CRC32, b"1234", chunk, last)


# -- the type NULL, and specs ------------------------------------------------------------


def test_null_writes_nothing() -> None:
    spec = ChecksumSpec(ChecksumType.NULL, 512)
    assert spec.sums_length(5000) == 0
    assert checksum.checksum_chunks(spec, b"data", bytearray()) == 0


def test_null_finds_nothing_bad() -> None:
    assert checksum.verify_chunks(ChecksumSpec(ChecksumType.NULL, 512), b"data", b"") == -1


def test_null_has_no_crc() -> None:
    with pytest.raises(ValueError, match="no CRC"):
        checksum.crc(ChecksumType.NULL, b"")


def test_null_with_sums_is_refused() -> None:
    with pytest.raises(ValueError, match="no bytes"):
        checksum.verify_chunks(ChecksumSpec(ChecksumType.NULL, 512), b"data", b"1234")


@pytest.mark.parametrize(("length", "expected"), [(0, 0), (1, 4), (512, 4), (513, 8), (65536, 512)])
def test_length_of_sums(length: int, expected: int) -> None:
    assert ChecksumSpec(ChecksumType.CRC32C, 512).sums_length(length) == expected


@pytest.mark.parametrize("step", [0, -1])
def test_chunks_have_at_least_one_byte(step: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        ChecksumSpec(ChecksumType.CRC32, step)


# -- which implementation ------------------------------------------------------------------

_PRINT_METHOD = (
    "from howdah.protocol.data_transfer import checksum; print(checksum.implementation())"
)


kernel_only = pytest.mark.parametrize("implementation", ["howdah.native._kernel"], indirect=True)


@kernel_only
@pytest.mark.parametrize(("setting", "expected"), [("off", "google-crc32c"), ("tables", "table")])
def test_environment_chooses_the_implementation(setting: str, expected: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PRINT_METHOD],
        env={"HOWDAH_KERNEL": setting, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert said.startswith(expected)


@kernel_only
def test_tables_agree_with_the_instructions(implementation: ModuleType) -> None:
    """The whole of this file once more, off the CPU's CRC instructions."""
    if implementation.CRC32C_METHOD == "table":
        pytest.skip("this is that run, or a CPU without instructions")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__))],
        env={"HOWDAH_KERNEL": "tables", "PATH": "", "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert run.returncode == 0, run.stdout


def test_a_missing_kernel_is_told_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    from howdah.protocol.data_transfer import checksum, checksum_fallback

    if checksum.implementation() in ("sse4.2", "arm", "table"):
        assert checksum.without_kernel() == ""
    monkeypatch.setattr(checksum, "_implementation", checksum_fallback)
    told = checksum.without_kernel()
    assert "kernel is missing" in told
    assert "about twice the time" in told
