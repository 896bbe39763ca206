"""Delegation tokens of key servers, of the kind `kms-dt` (shell: dice, the clock).

All servers over one file of keys have the same ones: a token that one has issued is good at all of
them at once, one that was cancelled at none, and a restart loses nothing. The secrets that tokens
are made by are in an encrypted file (`howdah.kms.key_file`), and until when each token is good is
in a directory (`howdah.kms.token_records`).

1. A secret makes tokens for `delegation-token.update-interval.sec`, and stays until the last of
   them is over. Whichever server first finds none that still makes tokens makes the next one. The
   id of the first one is drawn: after the file was removed no secret has the id of one before.
2. A token's sequence number is drawn, and one that is taken is drawn again.
3. One user has a limited number of tokens. The oldest one is not dropped for a new one, since a job
   may run by that one.

Who may renew and cancel: `howdah.security.delegation_tokens`. Hadoop: DelegationTokenManager.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import KMS_DELEGATION, Token
from howdah.kms.token_records import TokenRecords
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.security import delegation_tokens as rules
from howdah.security import stored_tokens
from howdah.security.stored_tokens import StoredToken

log = logging.getLogger(__name__)

_KEY_BYTES: Final = 20
_MOST_NUMBER: Final = (1 << 31) - 1
_MOST_FIRST_KEY: Final = 1 << 30
_TRIES: Final = 20
_MS: Final = 1000
MOST_OF_ONE: Final = 10_000
"""Of one owner, as at gateways."""


@dataclass(frozen=True, slots=True)
class TokenTimes(stored_tokens.TokenTimes):
    """In seconds, as Hadoop's key servers have them."""

    renewal_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC)
    lifetime_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC)
    key_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC)
    scan_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC)


class Secrets(Protocol):
    """What tokens are made by. Thread-safe."""

    def entries(self) -> Mapping[int, DelegationKey]:
        """Return all secrets. Raises InvalidConfiguration."""

    def change(self, edit: Callable[[dict[int, DelegationKey]], None]) -> None:
        """Change them, for good when it returns. Raises InvalidConfiguration."""


class KeyServerTokens:
    """Of one key server. Thread-safe."""

    def __init__(
        self,
        times: TokenTimes,
        made_by: Secrets,
        records: TokenRecords,
        short_name: rules.ShortName,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        most_of_one: int = MOST_OF_ONE,
    ) -> None:
        """`short_name` has the user of a principal, `now_ms` is the time of day."""
        self._times = times
        self._secrets = made_by
        self._records = records
        self._short_name = short_name
        self._now_ms = now_ms
        self._most_of_one = most_of_one
        self._lock = threading.Lock()
        self._last_scan_ms = 0

    def issue(self, owner: str, real_user: str, renewer: str, service: str) -> Token:
        """Issue a token to `owner`, for whom `real_user` asked unless that is empty.

        Raises AuthenticationFailed for a renewer who is nobody here, IllegalArgument, AccessDenied
        for an owner who has as many as one may have, and InvalidConfiguration.
        """
        named = rules.renewer_named(renewer or owner, self._short_name)
        self._remove_what_is_over()
        count = self._records.count_of(owner)
        if count >= self._most_of_one:
            raise errors.AccessDenied(
                f"{owner} has {count} delegation tokens of these key servers, and no user may have "
                "more: cancel some, or wait until they end"
            )
        secret = self._secret_to_issue_by()
        for _ in range(_TRIES):
            now_ms = self._now_ms()
            longest_ms = self._times.longest_ms(now_ms)
            number = 1 + secrets.randbelow(_MOST_NUMBER)
            identifier = DelegationTokenIdentifier(
                owner, named, real_user, now_ms, longest_ms, number, secret.key_id
            )
            if self._records.add(
                StoredToken(identifier, self._times.renewed_ms(longest_ms, now_ms))
            ):
                encoded = identifier.encode()
                password = rules.password_by(secret, identifier, encoded)
                return Token(encoded, password, KMS_DELEGATION, service)
        raise errors.RetriableError("no number is free for a delegation token: try again")

    def renew(self, token: Token, renewer: str) -> int:
        """Renew a token for its renewer, by his short name; until when it is good now.

        Raises AccessDenied, InvalidToken, InvalidConfiguration.
        """
        identifier = rules.read_identifier(token.identifier)
        now_ms = self._now_ms()
        rules.check_renewal(identifier, renewer, now_ms)
        password = self._password(identifier, token.identifier)
        rules.check_password(identifier, token.password, password, renewer)
        until_ms = self._times.renewed_ms(identifier.max_date_ms, now_ms)
        if not self._records.renew(StoredToken(identifier, until_ms)):
            raise rules.unknown_to_renew(identifier)
        return until_ms

    def cancel(self, token: Token, canceller: str) -> None:
        """Cancel a token for its owner or its renewer. Raises AccessDenied, InvalidToken,
        InvalidConfiguration."""
        identifier = rules.read_identifier(token.identifier)
        rules.check_cancellation(identifier, canceller, self._short_name)
        if not self._records.remove(identifier):
            raise rules.unknown_to_cancel(identifier)

    def proven(self, token: Token) -> Proven:
        """Return whom a token proves. Raises InvalidToken, AuthenticationFailed,
        InvalidConfiguration."""
        identifier = rules.read_identifier(token.identifier)
        until_ms = self._records.until_ms(identifier)
        if until_ms is None:
            raise errors.InvalidToken(rules.unknown(identifier))
        rules.check_in_time(identifier, until_ms, self._now_ms())
        password = self._password(identifier, token.identifier)
        if not hmac.compare_digest(password, token.password):
            raise errors.InvalidToken("the password of the token is wrong")
        owner, real = identifier.owner, identifier.real_user
        if not real or real == owner:
            return Proven(TOKEN, owner, owner)
        return Proven(TOKEN, owner, owner, real, real)

    def _password(self, token: DelegationTokenIdentifier, identifier: bytes) -> bytes:
        secret = self._secrets.entries().get(token.master_key_id)
        return rules.password_by(secret, token, identifier)

    def _secret_to_issue_by(self) -> DelegationKey:
        with self._lock:
            latest = self._current(self._secrets.entries())
            if latest is None:
                self._secrets.change(self._roll)
                latest = self._current(self._secrets.entries())
            if latest is None:
                raise errors.RetriableError("no secret for delegation tokens is there: try again")
            return latest

    def _current(self, known: Mapping[int, DelegationKey]) -> DelegationKey | None:
        latest = max(known.values(), key=lambda each: each.key_id, default=None)
        is_good = latest is not None and self._times.is_current(latest, self._now_ms())
        return latest if is_good else None

    def _roll(self, known: dict[int, DelegationKey]) -> None:
        if self._current(known) is not None:
            return  # Another server was faster.
        now_ms = self._now_ms()
        number = 1 + (max(known) if known else secrets.randbelow(_MOST_FIRST_KEY))
        for over in [n for n, each in known.items() if each.expiry_date_ms < now_ms]:
            del known[over]
        known[number] = self._times.new_key(number, secrets.token_bytes(_KEY_BYTES), now_ms)
        log.info("delegation tokens are made by another secret from now on")

    def _remove_what_is_over(self) -> None:
        """Unless it was done lately."""
        now_ms = self._now_ms()
        with self._lock:
            if now_ms < self._last_scan_ms + self._times.scan_s * _MS:
                return
            self._last_scan_ms = now_ms
        removed = self._records.remove_over(now_ms)
        if removed:
            log.info("%d delegation tokens are over, and are removed", removed)
