"""Hadoop's keys for a container of Azure's, and what its service says."""

from __future__ import annotations

import base64
import logging

import pytest

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects import batches
from howdah.fs.objects.azure import documents
from howdah.fs.objects.azure.filesystem import AzureFileSystem
from howdah.fs.objects.azure.requests import translated
from howdah.fs.objects.azure.settings import settings_of
from howdah.fs.objects.azure.signing import authorization, string_to_sign
from howdah.fs.objects.retrying import Damaged, Failed, Throttled
from howdah.fs.objects.store import NotAsExpected, UploadLost

SECRET = "what-nobody-may-read"
KEY = base64.b64encode(SECRET.encode()).decode()
HOST = "acc.dfs.core.windows.net"
KEYS = {
    f"fs.azure.account.key.{HOST}": KEY,
    "fs.azure.account.key.other.blob.core.windows.net": KEY,
    f"fs.azure.sas.fixed.token.{HOST}": KEY,
    "fs.azure.sas.c.acc.blob.core.windows.net": KEY,
    f"fs.azure.account.oauth2.client.secret.{HOST}": KEY,
    "fs.azure.account.oauth2.refresh.token": KEY,
    "fs.azure.client-provided-encryption-key": KEY,
}


@pytest.mark.req("FS-195")
@pytest.mark.parametrize(
    ("scheme", "authority", "host", "is_secure"),
    [
        ("az", "c@acc", "acc.blob.core.windows.net", True),
        ("az", f"c@{HOST}", "acc.blob.core.windows.net", True),
        ("abfs", f"c@{HOST}", "acc.blob.core.windows.net", True),
        ("abfss", "c@acc.dfs.core.chinacloudapi.cn", "acc.blob.core.chinacloudapi.cn", True),
        ("wasb", "c@acc.blob.core.windows.net", "acc.blob.core.windows.net", False),
        ("wasbs", "c@acc.blob.core.windows.net", "acc.blob.core.windows.net", True),
    ],
)
def test_all_names_of_a_container_lead_to_its_blob_service(
    scheme: str, authority: str, host: str, is_secure: bool
) -> None:
    found = settings_of(scheme, authority, Configuration(), {})
    assert (found.container, found.account, found.root) == ("c", "acc", "")
    assert (found.place.host, found.place.is_secure) == (host, is_secure)


@pytest.mark.req("FS-195")
def test_the_key_of_one_account_is_not_the_key_of_another() -> None:
    conf = Configuration({f"fs.azure.account.key.{HOST}": KEY})
    assert settings_of("az", "c@acc", conf, {}).secrets.key == SECRET.encode()
    assert settings_of("az", "c@another", conf, {}).secrets.key is None
    environ = {"AZURE_STORAGE_ACCOUNT": "own", "AZURE_STORAGE_KEY": KEY}
    assert settings_of("az", "c", conf, environ).account == "own"
    assert settings_of("az", "c", conf, environ).secrets.key == SECRET.encode()
    assert settings_of("az", "c@another", conf, environ).secrets.key is None
    text = {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=me;AccountKey={KEY};X="}
    assert settings_of("az", "c", conf, text).account == "me"
    assert settings_of("az", "c", conf, text).secrets.key == SECRET.encode()
    sas = {"AZURE_STORAGE_ACCOUNT": "own", "AZURE_STORAGE_SAS_TOKEN": "?sv=1&sig=2"}
    assert settings_of("az", "c", conf, sas).secrets.sas == "sv=1&sig=2"


@pytest.mark.req("FS-195")
def test_secrets_are_shown_nowhere(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    conf = Configuration(KEYS)
    assert KEY not in repr(conf)
    for name in KEYS:
        assert main(["getconf", *(f"-D{k}={v}" for k, v in KEYS.items()), "-confKey", name]) == 0
        assert capsys.readouterr().out == "<redacted>\n"
    known = Configuration({f"fs.azure.account.key.{HOST}": KEY})
    found = settings_of("az", "c@acc", known, {})
    assert KEY not in repr(found)
    assert SECRET not in repr(found)
    with pytest.raises(errors.InvalidConfiguration) as told:
        settings_of("az", "c@acc", Configuration({f"fs.azure.account.key.{HOST}": SECRET}), {})
    assert SECRET not in str(told.value)
    assert KEY not in caplog.text


@pytest.mark.req("FS-195")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fs.azure.account.auth.type", "OAuth", "OAuth is not supported; there are SharedKey"),
        (f"fs.azure.account.auth.type.{HOST}", "Custom", "Custom is not supported"),
        (f"fs.azure.account.auth.type.{HOST}", "SAS", "there is no fs.azure.sas.fixed.token"),
        ("fs.azure.account.hns.enabled", "true", "hns.enabled .* is not supported"),
        (f"fs.azure.account.hns.enabled.{HOST}", "true", "hns.enabled.* is not supported"),
        ("fs.azure.client-provided-encryption-key", "x", "is not supported for containers"),
        ("fs.azure.account.keyprovider.acc.blob.core.windows.net", "org.Shell", "is not supported"),
        ("fs.azure.abfs.endpoint", "nowhere", "is not HOST:PORT"),
        ("fs.azure.abfs.endpoint", "ftp://x:1", "neither http nor https"),
        ("fs.azure.write.request.size", "1K", "fs.azure.write.request.size"),
        ("fsspec.az.account_name", "x", "set fs.azure.account.key"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        settings_of("az", "c@acc", Configuration({name: value}), {})


@pytest.mark.parametrize("authority", ["", "@acc", "c"])
def test_a_container_and_its_account_have_to_be_named(
    authority: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ACCOUNT", "ACCOUNT_NAME", "CONNECTION_STRING"):
        monkeypatch.delenv(f"AZURE_STORAGE_{name}", raising=False)
    with pytest.raises(errors.IllegalArgument, match="names no"):
        AzureFileSystem(authority, Configuration())


def test_a_signature_is_of_all_that_counts() -> None:
    headers = {
        "Content-Length": "11",
        "x-ms-version": "2021-12-02",
        "x-ms-date": "Fri, 26 Jun 2026 23:39:12 GMT",
        "Range": "bytes=0-5",
        "Host": "is.not.signed",
    }
    query = [("timeout", "20"), ("comp", "metadata")]
    text = string_to_sign("PUT", "me", "/c/a%20b", query, headers)
    assert text == (
        "PUT\n\n\n11\n\n\n\n\n\n\n\nbytes=0-5\n"
        "x-ms-date:Fri, 26 Jun 2026 23:39:12 GMT\nx-ms-version:2021-12-02\n"
        "/me/c/a%20b\ncomp:metadata\ntimeout:20"
    )
    signed = authorization("me", b"key", text)
    assert signed.startswith("SharedKey me:")
    for other in ("PUT ", "GET"):
        assert authorization("me", b"key", text.replace("PUT", other, 1)) != signed


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "ContainerNotFound", errors.UnknownStore),
        (404, "BlobNotFound", errors.PathNotFound),
        (404, "", errors.PathNotFound),
        (400, "InvalidBlockList", UploadLost),
        (400, "Md5Mismatch", Damaged),
        (409, "BlobAlreadyExists", NotAsExpected),
        (412, "ConditionNotMet", NotAsExpected),
        (503, "ServerBusy", Throttled),
        (429, "", Throttled),
        (500, "InternalError", Failed),
        (409, "PendingCopyOperation", Failed),
        (403, "AuthenticationFailed", errors.AccessDenied),
        (403, "AuthorizationPermissionMismatch", errors.AccessDenied),
        (416, "InvalidRange", errors.EndOfFile),
        (400, "InvalidInput", errors.RemoteError),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(
    status: int, code: str, kind: type[errors.HowdahError]
) -> None:
    found = translated(status, code, "said", where="az://c@a/x", place="http://h", container="c")
    assert type(found) is kind
    assert "az://c@a/x" in str(found) or "Container c" in str(found)


def test_of_a_refusal_only_the_first_line_is_told() -> None:
    body = b"<?xml version='1.0'?><Error><Code>X</Code><Message>one\nsigned: two</Message></Error>"
    assert documents.refusal(body) == ("X", "one")
    assert documents.refusal(b"no XML") == ("", "")


def test_a_listing_has_blobs_prefixes_and_names_that_xml_cannot_have() -> None:
    found = documents.listing(
        b"<?xml version='1.0'?><EnumerationResults><Blobs>"
        b"<Blob><Name Encoded='true'>a%EF%BF%BE</Name><Properties><Content-Length>5"
        b"</Content-Length><Last-Modified>Thu, 01 Jan 1970 00:00:01 GMT</Last-Modified>"
        b"<Etag>0x1</Etag></Properties><Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>"
        b"</Blob><Blob><Name>h</Name><Properties><ResourceType>directory</ResourceType>"
        b"</Properties></Blob><BlobPrefix><Name>p/</Name></BlobPrefix></Blobs>"
        b"<NextMarker>next</NextMarker></EnumerationResults>"
    )
    assert [each.name for each in found.blobs] == ["a\ufffe", "h"]
    assert (found.blobs[0].length, found.blobs[0].modified_ms, found.blobs[0].etag) == (
        5,
        1000,
        "0x1",
    )
    assert [each.is_directory for each in found.blobs] == [False, True]
    assert (found.prefixes, found.marker) == (("p/",), "next")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<EnumerationResults><Blobs><Blob><Properties/></Blob></Blobs></EnumerationResults>",
        b"<E><Blobs><Blob><Name>a</Name><Properties><Content-Length>-1</Content-Length>"
        b"</Properties></Blob></Blobs></E>",
        b"<E><Blobs><Blob><Name>a</Name><Properties><Last-Modified>now</Last-Modified>"
        b"</Properties></Blob></Blobs></E>",
    ],
)
def test_a_listing_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(errors.ProtocolViolation):
        documents.listing(body)


def test_the_answers_of_a_batch_are_told_apart_by_their_numbers() -> None:
    parts = (
        "--b\r\nContent-Type: application/http\r\nContent-ID: 1\r\n\r\nHTTP/1.1 404 No\r\n"
        "x-ms-error-code: BlobNotFound\r\n\r\n\r\n"
        "--b\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n\r\n--b--"
    )
    found = batches.answers(parts.encode(), 'multipart/mixed; boundary="b"')
    assert found == {0: (202, ""), 1: (404, "BlobNotFound")}
    with pytest.raises(errors.ProtocolViolation, match="as a whole"):
        batches.answers(
            b"--b\r\n\r\nHTTP/1.1 400 Bad\r\nx-ms-error-code: X\r\n--b--", "x; boundary=b"
        )
    with pytest.raises(errors.ProtocolViolation, match="no boundary"):
        batches.answers(b"", "text/plain")
