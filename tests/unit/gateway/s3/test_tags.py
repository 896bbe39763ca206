"""Tags as headers, documents and attributes have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah.gateway.s3.protocol import tags
from howdah.gateway.s3.protocol.documents import document
from howdah.gateway.s3.protocol.refusals import Refused

WORDS = st.text(st.sampled_from("abcÄ 0+-=.:/@_"), max_size=20)


@given(st.dictionaries(WORDS.filter(bool), WORDS, max_size=tags.MAX_TAGS))
def test_what_is_written_is_read_again(wanted: dict[str, str]) -> None:
    assert tags.tags_of_document(document("Tagging", tags.children(wanted))) == wanted
    assert tags.decoded(tags.encoded(wanted)) == wanted


def test_the_largest_tags_fit_into_an_attribute() -> None:
    letter = "\U00010400"
    wanted = {f"{number}{letter * 127}": letter * 256 for number in range(10)}
    assert tags.decoded(tags.encoded(wanted)) == wanted
    assert len(tags.encoded(wanted)) + len(tags.ATTRIBUTE) < 16 << 10


@pytest.mark.parametrize(
    "header",
    [
        "&".join(f"k{number}=v" for number in range(11)),
        "&".join(f"k{number}=v" for number in range(500)),
        "k" * 129 + "=v",
        "k=" + "v" * 257,
        "=v",
        "a=1&a=2",
        "aws:x=1",
        "a=%3C",
        "a=%FF",
    ],
)
def test_tags_have_bounds(header: str) -> None:
    with pytest.raises(Refused) as refused:
        tags.tags_of_header(header)
    assert refused.value.code == "InvalidTag"


@pytest.mark.parametrize(
    "inner",
    ["", "<TagSet/><TagSet/>", "<TagSet><Tag><Key>a</Key></Tag></TagSet>"],
)
def test_a_document_that_has_no_tags_is_refused(inner: str) -> None:
    with pytest.raises(Refused) as refused:
        tags.tags_of_document(f"<Tagging>{inner}</Tagging>".encode())
    assert refused.value.code == "MalformedXML"


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff", b"[" * 16_000, b'{"": "a"}'])
def test_an_attribute_that_others_wrote_says_nothing(data: bytes) -> None:
    assert tags.decoded(data) == {}
