"""Many short texts by one cipher are what a cipher for each would make of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("cryptography")

from howdah.security.aes import ShortTexts, aes_ctr

KEYS = st.sampled_from((16, 24, 32)).flatmap(lambda size: st.binary(min_size=size, max_size=size))
COUNTERS = st.binary(min_size=16, max_size=16)


@given(KEYS, st.lists(st.tuples(COUNTERS, st.binary(max_size=70)), max_size=6))
def test_each_text_is_as_by_a_cipher_of_its_own(
    key: bytes, texts: list[tuple[bytes, bytes]]
) -> None:
    cipher = ShortTexts(key, "a test")
    for counter, text in texts:
        alone = aes_ctr(key, counter, "a test").encryptor().update(text)
        assert cipher.apply(counter, text) == alone
        assert cipher.apply(counter, alone) == text


def test_threads_do_not_take_counters_from_each_other() -> None:
    cipher = ShortTexts(bytes(32), "a test")
    counters = [number.to_bytes(16, "big") for number in range(2000)]
    expected = [cipher.apply(counter, bytes(32)) for counter in counters]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: cipher.apply(each, bytes(32)), counters)) == expected
