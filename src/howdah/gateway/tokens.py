"""Delegation tokens of a gateway (shell: dice, a clock, a lock).

They are the gateway's own, good at its port alone, and of the kind `WEBHDFS delegation`, or
`SWEBHDFS delegation` where it speaks TLS. They and the keys that they are made by are in memory, as
those of Hadoop's HttpFS without ZooKeeper: they end with the process, and no other gateway knows
them.

There is a limit to the tokens of one owner, and to all: who asks for one more is refused. The
oldest token is not dropped for it, since a job may run by that one.

Tokens are issued and renewed for who shows a ticket. Who may do what is in
`howdah.security.delegation_tokens`. Hadoop: DelegationTokenManager.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.security import delegation_tokens as rules

log = logging.getLogger(__name__)

_MS: Final = 1000
_KEY_BYTES: Final = 20
_SCAN_MS: Final = 60 * 60 * 1000
"""So often, at least, those that are over are removed."""
_SCAN_WHEN_FULL_MS: Final = 10 * 1000
"""And at most so often where there is no room for another."""
_MOST_OF_ONE: Final = 10_000
"""Of one owner. Who has seven made each minute, and never has one cancelled or renewed, has as many
in the day that each is good: a loop that went wrong, and not a cluster's jobs."""
_MOST: Final = 100_000
"""Of all owners: some 50 MB, or 250 MB with the longest names."""


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """In seconds, as Hadoop's HttpFS has them."""

    renewal_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC)
    lifetime_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC)
    key_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC)


class GatewayTokens:
    """Of one gateway. Thread-safe."""

    def __init__(
        self,
        times: TokenTimes,
        kind: str,
        short_name: rules.ShortName,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        most_of_one: int = _MOST_OF_ONE,
        most: int = _MOST,
    ) -> None:
        """`short_name` has the user of a principal, `now_ms` is the time of day."""
        self._times = times
        self._kind = kind
        self._short_name = short_name
        self._now_ms = now_ms
        self._most_of_one = most_of_one
        self._most = most
        self._lock = threading.Lock()
        self._keys: dict[int, DelegationKey] = {}
        self._current: DelegationKey | None = None
        self._until_ms: dict[DelegationTokenIdentifier, int] = {}
        self._of_owner: Counter[str] = Counter()
        self._last_number = 0
        self._last_scan_ms = 0

    def __len__(self) -> int:
        return len(self._until_ms)

    def issue(self, owner: str, renewer: str, real_user: str, service: str) -> Token:
        """Issue a token to `owner`, for whom `real_user` asked unless that is empty.

        Raises AuthenticationFailed for a renewer who is nobody here, IllegalArgument; AccessDenied
        for an owner who has as many as one may have, and RemoteError where there are too many.
        """
        named = rules.renewer_named(renewer, self._short_name)
        with self._lock:
            now_ms = self._now_ms()
            self._remove_what_is_over(now_ms, min(_SCAN_MS, self._times.renewal_s * _MS))
            self._check_room(owner, now_ms)
            key = self._key_to_issue_by(now_ms)
            self._last_number += 1
            longest_ms = now_ms + self._times.lifetime_s * _MS
            identifier = DelegationTokenIdentifier(
                owner, named, real_user, now_ms, longest_ms, self._last_number, key.key_id
            )
            self._until_ms[identifier] = self._renewed_ms(longest_ms, now_ms)
            self._of_owner[owner] += 1
        log.info("issued a %s", identifier)
        encoded = identifier.encode()
        password = rules.password_by(key, identifier, encoded)
        return Token(encoded, password, self._kind, service)

    def renew(self, token: Token, renewer: str) -> int:
        """Renew a token for its renewer, by his short name; until when it is good now.

        Raises AccessDenied, InvalidToken.
        """
        identifier = rules.read_identifier(token.identifier)
        with self._lock:
            now_ms = self._now_ms()
            rules.check_renewal(identifier, renewer, now_ms)
            password = self._password(identifier, token.identifier)
            rules.check_password(identifier, token.password, password, renewer)
            if identifier not in self._until_ms:
                raise rules.unknown_to_renew(identifier)
            until_ms = self._renewed_ms(identifier.max_date_ms, now_ms)
            self._until_ms[identifier] = until_ms
        log.info("%s renewed the %s until %d", renewer, identifier, until_ms)
        return until_ms

    def cancel(self, token: Token, canceller: str) -> None:
        """Cancel a token for its owner or its renewer. Raises AccessDenied, InvalidToken."""
        identifier = rules.read_identifier(token.identifier)
        rules.check_cancellation(identifier, canceller, self._short_name)
        with self._lock:
            if identifier not in self._until_ms:
                raise rules.unknown_to_cancel(identifier)
            self._remove(identifier)
        log.info("%s cancelled the %s", canceller, identifier)

    def proven(self, token: Token) -> Proven:
        """Return whom a token proves. Raises InvalidToken, AuthenticationFailed."""
        identifier = rules.read_identifier(token.identifier)
        with self._lock:
            until_ms = self._until_ms.get(identifier)
            if until_ms is None:
                raise errors.InvalidToken(rules.unknown(identifier))
            rules.check_in_time(identifier, until_ms, self._now_ms())
            password = self._password(identifier, token.identifier)
        if not hmac.compare_digest(password, token.password):
            raise errors.InvalidToken("the password of the token is wrong")
        owner, real = identifier.owner, identifier.real_user
        user = self._short_name(owner)
        if not real or real == owner:
            return Proven(TOKEN, user, owner)
        return Proven(TOKEN, user, owner, self._short_name(real), real)

    # With the lock held.

    def _renewed_ms(self, longest_ms: int, now_ms: int) -> int:
        return min(longest_ms, now_ms + self._times.renewal_s * _MS)

    def _password(self, token: DelegationTokenIdentifier, identifier: bytes) -> bytes:
        return rules.password_by(self._keys.get(token.master_key_id), token, identifier)

    def _key_to_issue_by(self, now_ms: int) -> DelegationKey:
        """A key is good until the last token is over that it can have made."""
        key, times = self._current, self._times
        if key is None or now_ms >= key.expiry_date_ms - times.lifetime_s * _MS:
            number = 1 if key is None else key.key_id + 1
            until_ms = now_ms + (times.key_s + times.lifetime_s) * _MS
            key = DelegationKey(number, until_ms, secrets.token_bytes(_KEY_BYTES))
            self._current = self._keys[number] = key
        return key

    def _check_room(self, owner: str, now_ms: int) -> None:
        """Raises AccessDenied, RemoteError."""
        if not self._is_full(owner):
            return
        self._remove_what_is_over(now_ms, _SCAN_WHEN_FULL_MS)
        if self._of_owner[owner] >= self._most_of_one:
            raise errors.AccessDenied(
                f"{owner} has {self._of_owner[owner]} delegation tokens of this gateway, and no "
                "user may have more: cancel some, or wait until they end"
            )
        if self._is_full(owner):
            raise errors.RemoteError(
                f"this gateway has issued {len(self._until_ms)} delegation tokens, and keeps no "
                "more: some have to be cancelled, or to end, before it issues another"
            )

    def _is_full(self, owner: str) -> bool:
        return self._of_owner[owner] >= self._most_of_one or len(self._until_ms) >= self._most

    def _remove(self, token: DelegationTokenIdentifier) -> None:
        del self._until_ms[token]
        self._of_owner[token.owner] -= 1
        if not self._of_owner[token.owner]:
            del self._of_owner[token.owner]

    def _remove_what_is_over(self, now_ms: int, interval_ms: int) -> None:
        """Unless it was done within the interval."""
        if now_ms < self._last_scan_ms + interval_ms:
            return
        self._last_scan_ms = now_ms
        for token in [token for token, until_ms in self._until_ms.items() if until_ms < now_ms]:
            self._remove(token)
        for number in [n for n, key in self._keys.items() if key.expiry_date_ms < now_ms]:
            del self._keys[number]
