"""The user whom a token names, by a claim and by rules."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.protocol.sasl.auth_to_local import parse_rules
from howdah.protocol.web_authentication.openid.tokens import TokenRefused
from howdah.security.openid.users import user_of

OF_EMAIL = parse_rules("RULE:[1:$1@$0](.*@example[.]com)s/@.*//L")


@pytest.mark.parametrize(
    ("claims", "claim", "user"),
    [
        ({"preferred_username": "alice"}, "preferred_username", "alice"),
        ({"sub": "0123-4567"}, "sub", "0123-4567"),
    ],
)
def test_the_claim_is_the_name_without_rules(claims: dict[str, Any], claim: str, user: str) -> None:
    assert user_of(claims, claim, ()) == user


def test_rules_make_a_name_of_what_they_are_about() -> None:
    verified = {"email_verified": True}
    assert user_of({"email": "Alice@example.com", **verified}, "email", OF_EMAIL) == "alice"
    for email in (
        "alice@evil.com",
        "alice@example.com@evil.com",
        "alice@evil.com@example.com",
        "a/b@example.com",
    ):
        with pytest.raises(TokenRefused):
            user_of({"email": email, **verified}, "email", OF_EMAIL)


@pytest.mark.parametrize("verified", [None, False, "true", 1])
def test_an_address_that_nobody_has_verified_names_nobody(verified: object) -> None:
    claims = {"email": "alice@example.com", "email_verified": verified}
    with pytest.raises(TokenRefused, match="not verified"):
        user_of(claims, "email", OF_EMAIL)


@pytest.mark.parametrize(
    "value", [None, "", 7, ["alice"], "alice@example.com", "nn/host", "a b", "a\nb", "ä", "-x"]
)
def test_what_is_no_name_of_a_user_is_none(value: object) -> None:
    with pytest.raises(TokenRefused):
        user_of({"preferred_username": value}, "preferred_username", ())
