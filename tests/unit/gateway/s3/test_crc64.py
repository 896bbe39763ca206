"""CRC64NVME, by the kernel and by its twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from howdah.gateway.s3.protocol.crc64 import by_tables, crc64nvme
from howdah.native.loader import kernel

if TYPE_CHECKING:
    from typing_extensions import Buffer

EACH = pytest.mark.parametrize("compute", [by_tables, crc64nvme])


@EACH
def test_it_is_that_of_nvme(compute: Callable[[Buffer, int], int]) -> None:
    assert compute(b"123456789", 0) == 0xAE8B14860A799888
    assert compute(b"", 0) == 0
    assert compute(bytes(4096), 0) == 0x6482D367EB22B64E
    assert compute(b"\xff" * 4096, 0) == 0xC0DDBA7302ECA3AC
    assert compute(memoryview(bytearray(b"123456789")), 0) == 0xAE8B14860A799888


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.integers(0, 100))
def test_it_goes_on_where_it_ended(data: bytes, cut: int) -> None:
    whole = by_tables(data)
    for compute in (by_tables, crc64nvme):
        assert compute(data[cut:], compute(data[:cut])) == whole


def test_long_buffers_have_the_same_sum() -> None:
    data = bytes(range(256)) * 300
    assert crc64nvme(data, 7) == by_tables(data, 7)


def test_the_kernel_refuses_what_is_no_sum_or_no_buffer() -> None:
    found = kernel()
    if found is None or not hasattr(found, "crc64nvme"):
        pytest.skip("the kernel does not know this sum")
    for wrong in ((b"",), (b"", -1), (b"", 1 << 64), (b"", "0"), ("text", 0), (1, 0)):
        with pytest.raises((TypeError, OverflowError)):
            found.crc64nvme(*wrong)
