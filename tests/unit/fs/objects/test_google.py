"""Hadoop's keys for a bucket of Google's, what its service says, and where an upload stands."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fs.objects.google import documents
from howdah.fs.objects.google.resumable import UNIT_BYTES, Progress
from howdah.fs.objects.google.settings import settings_of
from howdah.fs.objects.retrying import Damaged, Failed, Throttled
from howdah.fs.objects.store import NotAsExpected

SECRET = "what-nobody-may-read"
KEYS = {
    "fs.gs.auth.client.secret": SECRET,
    "fs.gs.auth.refresh.token": SECRET,
    "fs.gs.encryption.key": SECRET,
    "google.cloud.auth.client.secret": SECRET,
}


@pytest.mark.req("FS-197")
def test_a_bucket_is_at_google_unless_it_is_said_where() -> None:
    usual = settings_of("b", Configuration(), {})
    assert str(usual.place) == "https://storage.googleapis.com:443"
    assert (usual.auth, usual.part_bytes, usual.active_parts) == ("APPLICATION_DEFAULT", 8 << 20, 1)
    conf = Configuration(
        {
            "fs.gs.storage.root.url": "http://store:4443/",
            "fs.gs.outputstream.buffer.size": "1000000",
            "google.cloud.auth.type": "unauthenticated",
        }
    )
    found = settings_of("b", conf, {"STORAGE_EMULATOR_HOST": "elsewhere:1"})
    assert (str(found.place), found.auth) == ("http://store:4443", "UNAUTHENTICATED")
    assert found.part_bytes == 3 * UNIT_BYTES
    found = settings_of("b", Configuration(), {"STORAGE_EMULATOR_HOST": "http://here:1"})
    assert (str(found.place), found.auth) == ("http://here:1", "UNAUTHENTICATED")


@pytest.mark.req("FS-197")
def test_secrets_are_shown_nowhere(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in KEYS:
        assert main(["getconf", *(f"-D{k}={v}" for k, v in KEYS.items()), "-confKey", name]) == 0
        assert capsys.readouterr().out == "<redacted>\n"
    conf = Configuration(
        {
            "fs.gs.auth.type": "USER_CREDENTIALS",
            "fs.gs.auth.client.id": "me",
            "fs.gs.auth.client.secret": SECRET,
            "fs.gs.auth.refresh.token": SECRET,
        }
    )
    found = settings_of("b", conf, {})
    assert found.secrets.refresh_token == SECRET
    assert SECRET not in repr(found)
    assert SECRET not in repr(conf)
    assert SECRET not in caplog.text


@pytest.mark.req("FS-197")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("fs.gs.auth.type", "ACCESS_TOKEN_PROVIDER", "is not supported; there are APPLICATION"),
        ("fs.gs.auth.type", "SERVICE_ACCOUNT_JSON_KEYFILE", "json.keyfile is not set"),
        ("fs.gs.auth.type", "USER_CREDENTIALS", "fs.gs.auth.client.id is not set"),
        ("fs.gs.encryption.key", "x", "fs.gs.encryption.key .* is not supported"),
        ("fs.gs.requester.pays.mode", "ENABLED", "is not supported for buckets"),
        ("fs.gs.outputstream.type", "SYNCABLE_COMPOSITE", "SYNCABLE_COMPOSITE is not supported"),
        ("fs.gs.storage.root.url", "ftp://x", "is not an http"),
        ("fs.gs.storage.root.url", "http://x:port", "fs.gs.storage.root.url"),
        ("fs.gs.outputstream.buffer.size", "1K", "fs.gs.outputstream.buffer.size"),
        ("fsspec.gs.token", "x", "set fs.gs.auth.type"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        settings_of("b", Configuration({name: value}), {})


@pytest.mark.parametrize("authority", ["", "me@b", "b:80"])
def test_a_bucket_has_to_be_named_and_nothing_else(authority: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="gs://"):
        settings_of(authority, Configuration(), {})


@pytest.mark.parametrize(
    ("status", "reason", "message", "kind"),
    [
        (404, "notFound", "No such object: b/o", errors.PathNotFound),
        (404, "notFound", "The specified bucket does not exist.", errors.UnknownStore),
        (412, "conditionNotMet", "", NotAsExpected),
        (429, "rateLimitExceeded", "", Throttled),
        (403, "rateLimitExceeded", "", Throttled),
        (403, "forbidden", "", errors.AccessDenied),
        (401, "authError", "", errors.AccessDenied),
        (500, "", "", Failed),
        (503, "", "", Throttled),
        (408, "", "", Failed),
        (416, "", "", errors.EndOfFile),
        (400, "invalid", "Provided CRC32C does not match", Damaged),
        (400, "invalid", "", errors.RemoteError),
    ],
)
def test_a_refusal_is_an_error_of_its_kind(
    status: int, reason: str, message: str, kind: type[errors.HowdahError]
) -> None:
    body = json.dumps({"error": {"message": message, "errors": [{"reason": reason}]}}).encode()
    found = documents.failure(
        status, body, where="gs://b/o", place="https://h", bucket="b", is_of_bucket=False
    )
    assert type(found) is kind


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"error": 5}', b'{"error": {"errors": 1}}'])
def test_an_error_without_its_form_is_none_the_less_one(body: bytes) -> None:
    found = documents.failure(500, body, where="w", place="p", bucket="b", is_of_bucket=False)
    assert isinstance(found, Failed)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"items": 5}', b'{"items": [5]}', b'{"items": [{"name": "a"}]}'],
)
def test_a_listing_that_is_none_is_refused(body: bytes) -> None:
    with pytest.raises(errors.ProtocolViolation):
        documents.page(body)


# --- resumable uploads --------------------------------------------------------------------


@pytest.mark.req("FS-188", "OS-182")
@given(
    parts=st.lists(st.integers(0, 3 * UNIT_BYTES), max_size=5),
    kept=st.lists(st.integers(0, 4), min_size=40, max_size=40),
)
def test_whatever_the_service_keeps_of_each_request_it_gets_all_in_order(
    parts: list[int], kept: list[int]
) -> None:
    progress, arrived, whole = Progress(), bytearray(), bytearray()

    def send(*, is_last: bool) -> None:
        for units in kept:
            count = progress.sendable(is_last=is_last)
            assert is_last or count % UNIT_BYTES == 0
            if not count:
                return
            said = progress.content_range(count, is_last=is_last)
            assert said.startswith(f"bytes {len(arrived)}-{len(arrived) + count - 1}/")
            body = bytes(progress.pending[:count])
            # At least something, so that it ends.
            arrived.extend(body[: max(units, 1) * UNIT_BYTES])
            progress.note_stored(f"bytes=0-{len(arrived) - 1}")

    for number, size in enumerate(parts):
        data = bytes([number]) * size
        whole += data
        progress.give(data)
        send(is_last=False)
        assert len(progress.pending) < UNIT_BYTES
    send(is_last=True)
    assert arrived == whole
    assert progress.content_range(0, is_last=True) == f"bytes */{len(whole)}"


@pytest.mark.parametrize("said", ["bytes=0-100", "bytes=5-7", "all", "bytes=0-9"])
def test_what_cannot_be_there_is_not_believed(said: str) -> None:
    progress = Progress(20, bytearray(30))
    with pytest.raises(errors.ProtocolViolation):
        progress.note_stored(said)
    with pytest.raises(errors.ProtocolViolation):
        progress.note_stored(None)
    progress.note_stored("bytes=0-29")
    assert (progress.confirmed, len(progress.pending)) == (30, 20)
