"""Signatures for S3 are those that Amazon's own client makes."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from howdah.fs.objects.amazon import signing
from howdah.fs.objects.amazon.signing import EMPTY, UNSIGNED, Scope, path_text, query_text

ACCOUNT = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
NOW = datetime(2026, 11, 26, 16, 19, 56, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
NAMES = st.sampled_from(["prefix", "list-type", "max-keys", "partNumber", "uploadId", "delimiter"])


def theirs(
    url: str, method: str, headers: dict[str, str], sha256: str, monkeypatch: pytest.MonkeyPatch
) -> str:
    class Auth(botocore.auth.S3SigV4Auth):  # type: ignore[misc]  # botocore has no types
        def payload(self, request: Any) -> str:
            return sha256

    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: NOW.replace(tzinfo=None))
    request = AWSRequest(method=method, url=url, headers=dict(headers))
    Auth(Credentials(*ACCOUNT), "s3", "eu-west-1").add_auth(request)
    return str(request.headers["Authorization"])


@pytest.mark.req("FS-187")
@given(
    key=TEXT, query=st.dictionaries(NAMES, TEXT, max_size=4), value=st.sampled_from(["*", "a b"])
)
def test_any_request_has_the_signature_that_botocore_makes(
    key: str, query: dict[str, str], value: str
) -> None:
    sha256 = hashlib.sha256(b"body").hexdigest()
    path = f"/bucket/{path_text(key)}"
    text = query_text(list(query.items()))
    headers = {"x-amz-meta-a": value, "x-amz-content-sha256": sha256}
    with pytest.MonkeyPatch.context() as patched:
        url = f"https://host:9000{path}" + (f"?{text}" if text else "")
        wanted = theirs(url, "PUT", headers, sha256, patched)
    ours = Scope("eu-west-1", "s3").authorization(
        ("PUT", path, text),
        {**headers, "host": "host:9000", "x-amz-date": "20261126T161956Z"},
        sha256,
        ACCOUNT,
        "20261126T161956Z",
    )
    assert ours == wanted


def test_the_key_of_a_day_is_made_once_for_each_account(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = signing._hmac

    def counted(key: bytes, text: str) -> bytes:
        made.append(text)
        return original(key, text)

    monkeypatch.setattr(signing, "_hmac", counted)
    scope = Scope("us-east-1", "s3")

    def sign(account: tuple[str, str], day: str) -> str:
        when = f"{day}T000000Z"
        headers = {"host": "h", "x-amz-date": when}
        return scope.authorization(("GET", "/", ""), headers, EMPTY, account, when)

    first = sign(ACCOUNT, "20261126")
    assert len(made) == 5
    assert sign(ACCOUNT, "20261126") == first
    assert len(made) == 6
    assert sign(ACCOUNT, "20261127") != first
    assert sign(("AKIDEXAMPLE", "another"), "20261127") != sign(ACCOUNT, "20261127")
    assert sign(ACCOUNT, "20261126") == first


def test_threads_that_sign_for_two_accounts_do_not_get_each_others_keys() -> None:
    scope = Scope("eu-west-1", "s3")
    mine = scope.signature_of("mine", "20261130T000000Z", "text")

    class Slow(str):
        """Another thread signs while this one looks whether the key is known."""

        def __eq__(self, other: object) -> bool:
            scope.signature_of("theirs", "20261130T000000Z", "text")
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    scope.signature_of("mine", "20261130T000000Z", "text")
    assert scope.signature_of(Slow("mine"), "20261130T000000Z", "text") == mine


def test_neither_a_scope_nor_its_text_shows_a_key() -> None:
    scope = Scope("us-east-1", "s3")
    scope.authorization(("GET", "/", ""), {"host": "h"}, UNSIGNED, ACCOUNT, "20261126T000000Z")
    assert ACCOUNT[1] not in repr(scope)
    assert path_text("a b/\xe4~") == quote("a b/\xe4~", safe="/~")
