"""The time of a KDC, from the error that it answers with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.protocol.sasl.kdc_clock import decode_time_s, encode_question

# What MIT's KDC answered to `encode_question("EXAMPLE.COM", 1)`.
ANSWER = bytes.fromhex(
    "7e81a33081a0a003020105a10302011ea411180f32303236313132393034313632395aa505020301e0c1a603"
    "020106a70d1b0b4558414d504c452e434f4da821301fa00302010ba11830161b0957454c4c4b4e4f574e1b09"
    "414e4f4e594d4f5553a90d1b0b4558414d504c452e434f4daa20301ea003020102a11730151b066b72627467"
    "741b0b4558414d504c452e434f4dab121b10434c49454e545f4e4f545f464f554e44"
)
AT_S = 1795925789


def test_the_time_of_an_error_is_read() -> None:
    assert decode_time_s(ANSWER) == AT_S


def test_the_question_is_for_nobodys_ticket() -> None:
    question = encode_question("EXAMPLE.COM", 1)
    assert question[0] == 0x6A
    assert b"WELLKNOWN" in question
    assert b"krbtgt" in question
    long = encode_question("R" * 300, 1)
    assert int.from_bytes(long[2:4], "big") == len(long) - 4


@pytest.mark.parametrize("count", range(len(ANSWER)))
def test_an_answer_that_is_cut_off_is_refused(count: int) -> None:
    with pytest.raises(errors.ProtocolViolation):
        decode_time_s(ANSWER[:count])


@given(
    st.binary(max_size=200)
    | st.builds(lambda d, i: ANSWER[:i] + d, st.binary(), st.integers(0, len(ANSWER)))
)
def test_no_answer_fails_in_another_way(answer: bytes) -> None:
    try:
        assert decode_time_s(answer) >= 0
    except errors.ProtocolViolation:
        pass
