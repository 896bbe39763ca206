"""What makes a delegation token good, and who may renew and cancel it (pure).

A token is an identifier, which says whose it is and until when, and a password: the HMAC of the
identifier by a master key. Who shows both is whom the identifier names. Nothing of that is a secret
but the keys, so the password is computed when it is asked for, and kept nowhere.

A token is good until it was last renewed to, and never longer than its lifetime. Its renewer alone
renews it, with the password. Owner and renewer cancel it. `AbstractDelegationTokenSecretManager` in
Hadoop.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier

_MOST_NAME_CHARACTERS: Final = 1024

ShortName = Callable[[str], str]
"""Has the user of a principal. Raises AuthenticationFailed where it has none."""


def read_identifier(identifier: bytes) -> DelegationTokenIdentifier:
    """Raises InvalidToken."""
    try:
        token = DelegationTokenIdentifier.decode(identifier)
    except MalformedRecord as error:
        raise errors.InvalidToken(f"that is no identifier of a token: {error}") from error
    if token.encode() != identifier:
        # Two texts of one identifier would have two passwords.
        raise errors.InvalidToken("that is no identifier as this server writes it")
    return token


def password_by(
    key: DelegationKey | None, token: DelegationTokenIdentifier, identifier: bytes
) -> bytes:
    """Return a token's password by its master key. Raises InvalidToken where that is not there."""
    if key is None or not key.key:
        raise errors.InvalidToken(
            f"Unable to find master key for keyId={token.master_key_id} from cache"
        )
    return hmac.digest(key.key, identifier, "sha1")


def renewer_named(renewer: str, short_name: ShortName) -> str:
    """Return the user that a renewer is, who is to be in an identifier.

    Raises AuthenticationFailed for one that is nobody here, IllegalArgument.
    """
    if len(renewer) > _MOST_NAME_CHARACTERS:
        raise errors.IllegalArgument(f"a renewer's name of {len(renewer)} characters")
    return short_name(renewer) if renewer else ""


def check_renewal(identifier: DelegationTokenIdentifier, renewer: str, now_ms: int) -> None:
    """Raises AccessDenied, InvalidToken for a token that `renewer`, by his short name, may not
    renew."""
    shown = f"({identifier})"
    if identifier.max_date_ms < now_ms:
        raise errors.InvalidToken(f"{renewer} tried to renew an expired token {shown}")
    if not identifier.renewer:
        raise errors.AccessDenied(f"{renewer} tried to renew a token {shown} without a renewer")
    if identifier.renewer != renewer:
        raise errors.AccessDenied(
            f"{renewer} tries to renew a token {shown} with non-matching renewer "
            f"{identifier.renewer}"
        )


def check_password(
    identifier: DelegationTokenIdentifier, shown: bytes, password: bytes, renewer: str
) -> None:
    """Raises AccessDenied for a renewer who shows another password than the token's."""
    if not hmac.compare_digest(password, shown):
        raise errors.AccessDenied(
            f"{renewer} is trying to renew a token ({identifier}) with wrong password"
        )


def unknown_to_renew(identifier: DelegationTokenIdentifier) -> errors.InvalidToken:
    """Of a token that was cancelled, or never issued here."""
    return errors.InvalidToken(f"Renewal request for unknown token ({identifier})")


def check_cancellation(
    token: DelegationTokenIdentifier, canceller: str, short_name: ShortName
) -> None:
    """Raises AccessDenied for a token that `canceller`, by his full name, may not cancel."""
    is_renewer = bool(token.renewer) and short_name(canceller) == token.renewer
    if canceller != token.owner and not is_renewer:
        raise errors.AccessDenied(f"{canceller} is not authorized to cancel the token ({token})")


def unknown_to_cancel(token: DelegationTokenIdentifier) -> errors.InvalidToken:
    return errors.InvalidToken(f"Token not found ({token})")


def unknown(token: DelegationTokenIdentifier) -> str:
    """What is said of a token that somebody shows and that is not there."""
    return f"Token for real user: {token.real_user}, can't be found in cache"


def check_in_time(token: DelegationTokenIdentifier, until_ms: int, now_ms: int) -> None:
    """Raises InvalidToken for a token that is over."""
    if until_ms < now_ms:
        raise errors.InvalidToken(f"Token {token.real_user} has expired")
