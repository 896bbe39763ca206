"""Copies from container to container of an account are Azure's, where it can hold them against
an MD5; else they go by way of this machine."""

from __future__ import annotations

import base64
import hashlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.copy.options import Options
from howdah.fs.objects.azure.filesystem import AzureFileSystem
from howdah.options import CopyCheck
from howdah.sync import sync
from tests.support.objects.azurite import Azurite
from tests.support.objects.trouble import Answer, Proxy, proxy_before

DATA = bytes(range(256)) * 400
NAME = "a b+%41 é#?&"
_SOURCE = "x-ms-copy-source"


@pytest.fixture(scope="module")
def before(azurite: Azurite) -> Iterator[Proxy]:
    with proxy_before(azurite.port) as made:
        yield made


@pytest.fixture
def through(azurite: Azurite, before: Proxy) -> Azurite:
    return azurite.behind(before.port)


@pytest.fixture
def source(through: Azurite, before: Proxy) -> Iterator[AzureFileSystem]:
    """A container with a file that went up in one request, and one in blocks."""
    bucket = through.new_bucket()
    with through.connect(bucket, part_bytes=len(DATA) // 2) as fs:
        fs.write_bytes("/src/blocks", DATA)
    with through.connect(bucket) as fs:
        fs.write_bytes(f"/src/{NAME}", DATA)
        before.plan()
        yield fs
        before.plan()


@pytest.fixture
def target(through: Azurite) -> Iterator[AzureFileSystem]:
    with through.connect(through.new_bucket()) as fs:
        yield fs


def copies(proxy: Proxy) -> list[dict[str, str]]:
    return [each for each in proxy.headers if _SOURCE in each]


@pytest.mark.req("FS-190", "FS-194")
def test_a_copy_is_held_against_the_md5_of_its_source(
    source: AzureFileSystem, target: AzureFileSystem, before: Proxy
) -> None:
    made = target.copy_from(source, f"/src/{NAME}", "/to")
    assert made.verified_by == "MD5"
    assert target.read_bytes("/to") == DATA
    assert target.get_file_checksum("/to") == source.get_file_checksum(f"/src/{NAME}")
    (asked,) = copies(before)
    md5 = hashlib.md5(DATA, usedforsecurity=False).digest()
    assert asked["x-ms-source-content-md5"] == base64.b64encode(md5).decode()
    assert asked["x-ms-requires-sync"] == "true"
    assert asked["x-ms-source-if-match"] == f'"{made.source.etag}"'


@pytest.mark.req("FS-190", "FS-195")
def test_the_service_may_read_the_source_and_no_more(
    source: AzureFileSystem, target: AzureFileSystem, before: Proxy
) -> None:
    """The signature of the request is of the copy alone. Azurite asks for no other within an
    account, but knows a good one."""
    target.copy_from(source, f"/src/{NAME}", "/to")
    place = urlsplit(copies(before)[0][_SOURCE])
    other = place._replace(path=place.path.rpartition("/")[0] + "/blocks")

    def status_of(method: str, url: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=60)
        connection.request(method, url, headers={"x-ms-version": "2021-12-02"})
        with connection.getresponse() as answer:
            assert method != "GET" or answer.status != 200 or answer.read() == DATA
            return answer.status

    own = f"{place.path}?{place.query}"
    assert status_of("GET", own) == 200
    assert status_of("DELETE", own) == 403
    assert status_of("GET", f"{other.path}?{place.query}") == 403
    assert status_of("GET", place.path) in (401, 403, 404)


@pytest.mark.req("FS-190", "FS-194")
@pytest.mark.parametrize(
    "refusal",
    [
        Answer(400, "Md5Mismatch", "not those bytes"),
        Answer(404, "CannotVerifyCopySource", "not found"),
        Answer(403, "CannotVerifyCopySource", "not allowed"),
    ],
    ids=lambda refusal: f"{refusal.status}",
)
def test_what_the_service_does_not_copy_is_refused_once_and_leaves_what_was_there(
    source: AzureFileSystem, target: AzureFileSystem, before: Proxy, refusal: Answer
) -> None:
    """An MD5 is what the writer said: a wrong one does not get better."""
    target.write_bytes("/there", b"old")
    # A look at the source, and one at what is above the target, come first.
    before.plan(first=("PUT", refusal))
    with pytest.raises(errors.NotCopiedByServer, match="the store refuses: "):
        target.copy_from(source, f"/src/{NAME}", "/there", overwrite=True)
    assert len(copies(before)) == 1
    assert target.read_bytes("/there") == b"old"


@pytest.mark.req("FS-190", "LM-056")
def test_a_source_that_is_replaced_during_its_copy_is_not_copied(
    source: AzureFileSystem, target: AzureFileSystem, before: Proxy
) -> None:
    before.plan(first=("PUT", Answer(412, "SourceConditionNotMet", "another one")))
    with pytest.raises(errors.FileChanged, match="was replaced while it was copied"):
        target.copy_from(source, f"/src/{NAME}", "/to")
    assert not target.exists("/to")


@pytest.mark.req("FS-190", "FS-194")
def test_blocks_without_an_md5_are_not_copied_unless_the_length_is_enough(
    source: AzureFileSystem, target: AzureFileSystem, before: Proxy
) -> None:
    """The CRC32C is a description, which goes with the copy, whatever its bytes are."""
    with pytest.raises(errors.NotCopiedByServer, match=r"no sum of .*blocks"):
        target.copy_from(source, "/src/blocks", "/to")
    assert copies(before) == []
    made = target.copy_from(source, "/src/blocks", "/to", check=CopyCheck.LENGTH)
    assert made.verified_by == "length"
    assert "sig=" not in copies(before)[0][_SOURCE]
    assert target.read_bytes("/to") == DATA


@pytest.mark.req("FS-190", "FS-194")
def test_a_mirror_tells_what_was_copied_where_and_how_it_was_verified(
    source: AzureFileSystem, target: AzureFileSystem, through: Azurite, tmp_path: Path
) -> None:
    made = sync(
        f"{source.uri}/src",
        f"{target.uri}/to",
        processes=1,
        conf=Configuration(through.keys()),
        options=Options(update=True, verbose=True, log_path=f"{tmp_path.as_uri()}/log"),
    )
    for name in ("blocks", NAME):
        assert target.read_bytes(f"/to/{name}") == DATA
    counted = made.counters
    assert (counted.files_copied, counted.copied_by_server) == (2, 1)
    assert (counted.verified_by_checksum, counted.refused_by_server) == (2, 1)
    text = "".join(part.read_text() for part in (tmp_path / "log").glob("part-m-*"))
    assert "; copied by the store; length and MD5 are the source's)" in text
