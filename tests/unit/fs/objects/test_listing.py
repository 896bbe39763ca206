"""A page of keys is read as S3 writes it, and anything else is refused."""

from __future__ import annotations

import time
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.fs.objects.amazon import listing
from howdah.fs.objects.amazon.http_requests import milliseconds
from howdah.fs.objects.amazon.listing import page_of
from howdah.fs.objects.store import ObjectInfo, Page

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
AMAZON = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
ENTRY = """
  <Contents><Key>a%2F%01+%2B.txt</Key><LastModified>2026-11-24T03:47:00.500Z</LastModified>
    <ETag>&quot;abc-2&quot;</ETag><Size>5</Size><StorageClass>STANDARD</StorageClass></Contents>
  <CommonPrefixes><Prefix>d+1%2F</Prefix></CommonPrefixes>"""


@pytest.mark.req("FS-190")
@pytest.mark.parametrize("top", [AMAZON, "<ListBucketResult>"])
def test_a_page_is_read_as_amazon_and_others_write_it(top: str) -> None:
    text = f"""{HEAD}{top}<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>
        <NextContinuationToken>to+ken/=</NextContinuationToken>{ENTRY}</ListBucketResult>"""
    assert page_of(text.encode()) == Page(
        (ObjectInfo("a/\x01 +.txt", 5, 1_795_492_020_000, "abc-2"),), ("d 1/",), "to+ken/="
    )
    plain = text.replace("<EncodingType>url</EncodingType>", "").replace("true", "false")
    found = page_of(plain.encode())
    assert (found.objects[0].key, found.prefixes[0]) == ("a%2F%01+%2B.txt", "d+1%2F")
    assert found.token is None


@pytest.mark.req("FS-190")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "<ListBucketResult>",
        "<html/>",
        "<Error><Code>x</Code></Error>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size><LastModified>x</LastModified></Contents>"
        "</ListBucketResult>",
    ],
)
def test_what_is_no_page_is_refused(text: str) -> None:
    with pytest.raises(errors.ProtocolViolation, match=r"^a listing of the store"):
        page_of(text.encode())


@given(
    st.binary(max_size=300) | st.text(alphabet="<>/ListBucketResult 0", max_size=60).map(str.encode)
)
def test_any_bytes_are_a_page_or_refused(data: bytes) -> None:
    for document in (data, b"<ListBucketResult>" + data + b"</ListBucketResult>"):
        try:
            assert isinstance(page_of(document), Page)
        except errors.ProtocolViolation:
            continue


KEY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
FORMS = [
    "<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>&quot;{etag}&quot;</ETag>"
    "<Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>",
    '<Contents>\n <Key>{key}</Key>\n <LastModified>{time}</LastModified>\n <ETag>"{etag}"</ETag>\n'
    " <ChecksumAlgorithm>CRC32C</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>"
    "<Size>{size}</Size><Owner><ID>1</ID></Owner></Contents>",
    "<Contents><ETag>{etag}</ETag><Size>{size}</Size><Key>{key}</Key>"
    "<LastModified>{time}</LastModified></Contents>",
    "<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>&#34;{etag}&#34;</ETag>"
    "<Owner><Size>9</Size></Owner><Size>{size}</Size></Contents>",
    "<CommonPrefixes><Prefix>{key}%2F</Prefix></CommonPrefixes>",
    "<!-- {key} -->",
]


@pytest.mark.req("FS-190")
@given(
    entries=st.lists(st.tuples(st.sampled_from(FORMS), KEY, st.integers(0, 1 << 40)), max_size=6),
    is_cut=st.booleans(),
    is_escaped=st.booleans(),
    token=st.sampled_from(["abc+/=", "a&amp;b"]),
)
def test_a_page_that_is_read_by_patterns_is_the_one_that_the_parser_reads(
    entries: list[tuple[str, str, int]], is_cut: bool, is_escaped: bool, token: str
) -> None:
    text = "".join(
        form.format(
            key=quote_plus(key).replace("--", "-%2D"),
            time="2026-11-24T03:47:00.500Z",
            etag=f"e{size}-2",
            size=size,
        )
        for form, key, size in entries
    )
    document = (
        f"{HEAD}{AMAZON}<IsTruncated>{str(is_cut).lower()}</IsTruncated>"
        f"{'<EncodingType>url</EncodingType>' if is_escaped else ''}"
        f"<NextContinuationToken>{token}</NextContinuationToken>{text}</ListBucketResult>"
    ).encode()
    parsed = listing._parsed(document)
    assert page_of(document) == parsed
    usual = listing._usual(document)
    assert usual in (None, parsed)
    if is_escaped and "&" not in token and all(form in FORMS[:2] for form, _, _ in entries):
        assert usual == parsed


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-24T03:47:01.000Z",
        "2026-11-24T03:47:01.789Z",
        "2026-11-24T03:47:01",
        "2026-11-24T03:47:01Z",
        "2026-11-24T04:47:01.999+01:00",
    ],
)
def test_a_listed_object_has_the_time_that_it_has_by_itself(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Else a copy takes it for one that has changed since it was listed."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        page = page_of(
            "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"
            f"<Contents><Key>a</Key><LastModified>{text}</LastModified><ETag>e</ETag>"
            "<Size>1</Size></Contents></ListBucketResult>".encode()
        )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert page.objects[0].modified_ms == milliseconds("Tue, 24 Nov 2026 03:47:01 GMT")
