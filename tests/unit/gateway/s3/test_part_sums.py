"""Sums of parts, and of objects made of them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.gateway.s3.protocol.checksums import ALGORITHMS
from howdah.gateway.s3.protocol.metadata import (
    MAX_PARTS,
    Metadata,
    PartTable,
    decoded,
)
from howdah.gateway.s3.protocol.part_sums import (
    ALGORITHM,
    TYPE,
    PartDigest,
    SumKind,
    SumType,
    kind_of,
    sum_of_object,
)
from howdah.gateway.s3.protocol.refusals import Refused

CRCS = ("crc32", "crc32c", "crc64nvme")


def digest(algorithm: str, data: bytes) -> bytes:
    running = ALGORITHMS[algorithm]()
    running.update(data)
    return running.digest()


@pytest.mark.parametrize("algorithm", CRCS)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=6))
def test_the_sums_of_parts_become_that_of_all_bytes(algorithm: str, parts: list[bytes]) -> None:
    kind = SumKind(algorithm, SumType.FULL_OBJECT)
    found = sum_of_object(kind, [(len(part), digest(algorithm, part)) for part in parts])
    assert base64.b64decode(found) == digest(algorithm, b"".join(parts))


def test_a_composite_sum_is_that_of_the_sums_with_their_number() -> None:
    parts = [hashlib.sha256(part).digest() for part in (b"one", b"two")]
    found = sum_of_object(SumKind("sha256", SumType.COMPOSITE), [(3, parts[0]), (3, parts[1])])
    assert found == base64.b64encode(hashlib.sha256(b"".join(parts)).digest()).decode() + "-2"


@pytest.mark.parametrize(
    ("algorithm", "type", "expected"),
    [
        ("CRC32", None, SumType.COMPOSITE),
        ("CRC32", "FULL_OBJECT", SumType.FULL_OBJECT),
        ("CRC64NVME", None, SumType.FULL_OBJECT),
        ("SHA1", "COMPOSITE", SumType.COMPOSITE),
        ("CRC64NVME", "COMPOSITE", None),
        ("SHA256", "FULL_OBJECT", None),
        ("MD4", None, None),
    ],
)
def test_an_upload_says_what_its_sums_are(
    algorithm: str, type: str | None, expected: SumType | None
) -> None:
    headers = {ALGORITHM: algorithm} | ({} if type is None else {TYPE: type})
    if expected is None:
        with pytest.raises(Refused) as refused:
            kind_of(headers)
        assert refused.value.code == "InvalidRequest"
    else:
        assert kind_of(headers) == SumKind(algorithm.lower(), expected)


def test_an_etag_is_of_the_bytes_however_they_came() -> None:
    def etag(pieces: Sequence[bytes]) -> str:
        found = PartDigest(None)
        for piece in pieces:
            found.update(piece)
        return found.etag

    assert etag([b"one", b"", b"two"]) == etag([b"onetwo"]) != etag([b"onetwp"])
    assert etag([b""]) != etag([bytes(1)])


@given(st.lists(st.integers(0, 3), max_size=50))
def test_what_parts_an_object_had_is_kept_with_it(sizes: list[int]) -> None:
    table = PartTable.of(sizes, [b"x"] * len(sizes))
    again = decoded(Metadata(parts=table, upload="u").encoded()).parts
    assert again.sizes(sum(sizes)) == sizes
    assert again.sums == ("eA==",) * len(sizes)
    assert again.sizes(sum(sizes) + 1) == []


def test_what_does_not_fit_is_not_kept() -> None:
    assert PartTable.of(list(range(200)), [b""] * 200) == PartTable()
    many = PartTable.of([5] * MAX_PARTS, [bytes(32)] * MAX_PARTS)
    assert (many.rows, many.sums) == (((MAX_PARTS, 5),), ())
    assert len(Metadata(parts=many).encoded()) < 100


@pytest.mark.parametrize(
    "rows", ["[[1]]", "[[1,-1]]", "[[20000,1]]", "[[true,1]]", "{}", '[["1",2]]', "[[1e9,1]]"]
)
def test_parts_that_others_have_written_there_are_none(rows: str) -> None:
    assert decoded(f'{{"parts":{rows},"sums":[1]}}'.encode()).parts == PartTable()
