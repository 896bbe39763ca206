"""The user whom a token of a provider names (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from howdah import errors
from howdah.formats.passwords import check_user
from howdah.protocol.sasl.auth_to_local import Rule, short_name
from howdah.protocol.web_authentication.openid.tokens import TokenRefused


def user_of(claims: Mapping[str, Any], claim: str, rules: Sequence[Rule]) -> str:
    """Return the user whom a token names by a claim, or whom the rules make of that. Raises
    TokenRefused.

    >>> user_of({"preferred_username": "alice"}, "preferred_username", ())
    'alice'
    """
    value = claims.get(claim)
    if not isinstance(value, str) or not value:
        raise TokenRefused(f"it has no claim {claim}, by which the user is known")
    if claim == "email" and claims.get("email_verified") is not True:
        raise TokenRefused("its provider has not verified the address of email")
    named = f"its claim {claim} = {value!r:.100}"
    try:
        user = short_name(value, rules, "") if rules else value
        check_user(user)
    except errors.IllegalArgument:
        advice = "" if rules else ": a rule can make one of it"
        raise TokenRefused(f"{named} is no name of a user{advice}") from None
    except (errors.AuthenticationFailed, errors.InvalidConfiguration):
        raise TokenRefused(f"no rule makes a user of {named}") from None
    return user
