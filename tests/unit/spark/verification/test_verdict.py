"""What replicas say together."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.protocol.data_transfer.checksum import ChecksumType, crc
from howdah.spark.verification.verdict import Verdict, file_crc, judge

SOUND, CORRUPT, AWAY = "sound", "corrupt", "unreadable"


@pytest.mark.parametrize(
    ("readings", "verdicts", "believed"),
    [
        ([(SOUND, 1)] * 3, "sound sound sound", 1),
        ([(SOUND, 1), (SOUND, 2), (SOUND, 1)], "sound different sound", 1),
        ([(SOUND, 1), (SOUND, 2)], "doubtful doubtful", None),
        ([(SOUND, 1), (SOUND, 2), (SOUND, 3)], "doubtful doubtful doubtful", None),
        ([(SOUND, 1), (CORRUPT, None), (AWAY, None)], "sound corrupt unreadable", 1),
        ([(CORRUPT, None)] * 2, "corrupt corrupt", None),
        ([("missing", None)], "missing", None),
    ],
)
def test_the_larger_half_is_believed(
    readings: list[tuple[str, int | None]], verdicts: str, believed: int | None
) -> None:
    judgement = judge([state for state, _ in readings], [value for _, value in readings])
    assert " ".join(judgement.verdicts) == verdicts
    assert judgement.crc == believed


@given(st.lists(st.tuples(st.just(SOUND), st.integers(0, 3)), min_size=1, max_size=9))
def test_no_replica_is_given_up_unless_more_speak_against_it_than_for_it(
    readings: list[tuple[str, int]],
) -> None:
    values = [value for _, value in readings]
    judgement = judge([SOUND] * len(values), values)
    for value, verdict in zip(values, judgement.verdicts, strict=True):
        if verdict is Verdict.DIFFERENT:
            assert judgement.crc is not None
            assert values.count(value) < values.count(judgement.crc)
    assert judgement.crc is None or Verdict.SOUND in judgement.verdicts


@given(st.binary(max_size=2000), st.lists(st.integers(1, 500), max_size=9), st.randoms())
def test_crc_of_a_file_is_that_of_its_bytes_however_they_are_cut(
    data: bytes, sizes: list[int], dice: random.Random
) -> None:
    parts = []
    at = 0
    for size in [*sizes, len(data) - at]:
        piece = data[at : at + size]
        if piece:
            parts.append((at, len(piece), crc(ChecksumType.CRC32C, piece)))
        at += len(piece)
    if at < len(data):
        parts.append((at, len(data) - at, crc(ChecksumType.CRC32C, data[at:])))
    dice.shuffle(parts)
    assert file_crc(parts, len(data)) == crc(ChecksumType.CRC32C, data)


@pytest.mark.parametrize(
    "parts", [[(0, 5, 1), (5, 5, None)], [(5, 5, 1)], [(0, 5, 1)], []], ids=repr
)
def test_a_file_of_which_a_part_is_not_known_has_no_crc(
    parts: list[tuple[int, int, int | None]],
) -> None:
    assert file_crc(parts, 10) is None
