"""What a provider says of itself, and where it may be asked."""

from __future__ import annotations

import pytest

from howdah.protocol.web_authentication.openid.metadata import (
    BASIC,
    POST,
    MalformedDocument,
    check_address,
    metadata_of,
)

ISSUER = "https://id.example.com"
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
}


@pytest.mark.parametrize(
    ("methods", "chosen"),
    [
        (None, BASIC),
        ([POST], POST),
        ([POST, BASIC], BASIC),
        (["private_key_jwt"], BASIC),
    ],
)
def test_the_secret_is_shown_as_the_provider_takes_it(
    methods: list[str] | None, chosen: str
) -> None:
    document = {**DOCUMENT, "token_endpoint_auth_methods_supported": methods}
    assert metadata_of(document, ISSUER, allows_plain=False).secret_by == chosen


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"issuer": f"{ISSUER}/"}, "to the letter"),
        ({"issuer": None}, "the one of nobody"),
        ({"jwks_uri": None}, "has no jwks_uri"),
        ({"token_endpoint": "http://id.example.com/token"}, "is not encrypted"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no address of https"),
        ({"jwks_uri": "file:///etc/passwd"}, "no address of https"),
        ({"token_endpoint": "https://user@id.example.com/"}, "no address of https"),
        ({"token_endpoint": "https://id.example.com/\r\nHost: x"}, "no address"),
        ({"token_endpoint_auth_methods_supported": "x"}, "is no list"),
        ({"end_session_endpoint": 5}, "has no end_session_endpoint"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "no address of https"),
    ],
)
def test_a_document_that_cannot_be_used_says_why(changes: dict[str, object], said: str) -> None:
    with pytest.raises(MalformedDocument, match=said):
        metadata_of({**DOCUMENT, **changes}, ISSUER, allows_plain=False)
    with pytest.raises(MalformedDocument, match="no JSON object"):
        metadata_of([], ISSUER, allows_plain=False)


def test_a_provider_may_have_a_page_to_log_out() -> None:
    assert metadata_of(DOCUMENT, ISSUER, allows_plain=False).end_session_endpoint is None
    # No secret goes there.
    page = "http://id.example.com/logout"
    document = {**DOCUMENT, "end_session_endpoint": page}
    assert metadata_of(document, ISSUER, allows_plain=False).end_session_endpoint == page


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_plain_http_is_for_this_machine_unless_it_is_allowed(host: str) -> None:
    check_address(f"http://{host}:8080/realm", allows_plain=False)
    with pytest.raises(ValueError, match="is not encrypted"):
        check_address("http://10.0.0.1/", allows_plain=False)
    check_address("http://10.0.0.1/", allows_plain=True)
