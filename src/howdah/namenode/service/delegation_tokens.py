"""Delegation tokens as an active namenode issues, renews and cancels them (pure).

1. What a token is, and who renews and cancels it: `howdah.security.delegation_tokens`.
2. Whoever came by a token gets no other one by it: that would outlive the first.
3. Keys are rolled; a key is good until the last token that it made is over. The active rolls them,
   and removes tokens that are over, by edits: a standby has what it reads.
4. A standby may not know a token yet that is good. It says that it cannot tell.

AbstractDelegationTokenSecretManager in Hadoop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.edits import edits
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.namenode.state.tree.delegation_tokens import DelegationTokens
from howdah.security import delegation_tokens as rules

MOST_REMOVED_AT_ONCE: Final = 1000
"""Of tokens that are over, between other work."""
SCAN_MS: Final = 60 * 60 * 1000
"""So often, at least, those that are over are looked for."""


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """`dfs.namenode.delegation.token.renew-interval`, `.max-lifetime`, `.key.update-interval`."""

    renewal_ms: int = setting(keys.DFS_NAMENODE_DELEGATION_TOKEN_RENEW_INTERVAL)
    lifetime_ms: int = setting(keys.DFS_NAMENODE_DELEGATION_TOKEN_MAX_LIFETIME)
    key_ms: int = setting(keys.DFS_NAMENODE_DELEGATION_KEY_UPDATE_INTERVAL)

    @property
    def scan_ms(self) -> int:
        """How often tokens that are over are removed."""
        return min(SCAN_MS, self.renewal_ms)


class TokenManager:
    """The tokens of a namespace. `commit` makes an edit that was checked, as `Namesystem` does;
    `short_name` has the user of a principal."""

    def __init__(
        self,
        tokens: DelegationTokens,
        commit: Callable[[edits.Edit], None],
        short_name: Callable[[str], str],
        times: TokenTimes,
    ) -> None:
        self._tokens = tokens
        self._commit = commit
        self._short_name = short_name
        self._times = times
        self._next_key_ms: int | None = None

    # -- the active's duties -----------------------------------------------------------

    def is_key_due(self, now_ms: int) -> bool:
        """Whether `roll` is to be called: at the beginning of being active, and by the interval."""
        return self._next_key_ms is None or now_ms >= self._next_key_ms

    def roll(self, key: bytes, now_ms: int) -> None:
        """Take another key, which is random."""
        times = self._times
        until_ms = now_ms + times.key_ms + times.lifetime_ms
        self._next_key_ms = now_ms + times.key_ms
        key_id = self._tokens.current_key_id + 1
        self._commit(edits.UpdateMasterKeyOp(DelegationKey(key_id, until_ms, key)))

    def removing(self, now_ms: int) -> Generator[int, None, None]:
        """Remove tokens whose time was over at `now_ms`, a bounded number of them at a time; yields
        how many that were."""
        over = list(self._tokens.over(now_ms))
        for start in range(0, len(over), MOST_REMOVED_AT_ONCE):
            removed = 0
            for token in over[start : start + MOST_REMOVED_AT_ONCE]:
                # Renewed or cancelled since.
                until_ms = self._tokens.expiry_ms(token)
                if until_ms is not None and until_ms < now_ms:
                    self._commit(edits.CancelDelegationTokenOp(token))
                    removed += 1
            yield removed

    def begin(self) -> None:
        """This namenode is active from now on: it begins with a key of its own."""
        self._next_key_ms = None

    # -- what is asked -----------------------------------------------------------------

    def issue(self, owner: str, renewer: str, real_user: str, *, now_ms: int) -> Token:
        """Issue a token to `owner`, for whom `real_user` asked unless that is empty. Whoever asks
        has proven by other means than a token who he is (rule 2).

        Raises AuthenticationFailed for a renewer that is nobody here, IllegalArgument.
        """
        tokens, times = self._tokens, self._times
        identifier = DelegationTokenIdentifier(
            owner,
            rules.renewer_named(renewer, self._short_name),
            real_user,
            now_ms,
            now_ms + times.lifetime_ms,
            tokens.sequence_number + 1,
            tokens.current_key_id,
        )
        encoded = identifier.encode()
        token = Token(encoded, self._password(identifier, encoded), HDFS_DELEGATION, "")
        until_ms = now_ms + min(times.renewal_ms, times.lifetime_ms)
        self._commit(edits.GetDelegationTokenOp(identifier, until_ms))
        return token

    def renew(self, token: Token, renewer: str, now_ms: int) -> int:
        """Renew a token for its renewer, by his short name; until when it is good now.

        Raises AccessDenied, InvalidToken.
        """
        identifier = rules.read_identifier(token.identifier)
        rules.check_renewal(identifier, renewer, now_ms)
        password = self._password(identifier, token.identifier)
        rules.check_password(identifier, token.password, password, renewer)
        if self._tokens.expiry_ms(identifier) is None:
            raise rules.unknown_to_renew(identifier)
        until_ms = min(identifier.max_date_ms, now_ms + self._times.renewal_ms)
        self._commit(edits.RenewDelegationTokenOp(identifier, until_ms))
        return until_ms

    def cancel(self, identifier: bytes, canceller: str) -> DelegationTokenIdentifier:
        """Cancel a token for its owner or its renewer, who is `canceller` by his full name.

        Raises AccessDenied, InvalidToken.
        """
        token = rules.read_identifier(identifier)
        rules.check_cancellation(token, canceller, self._short_name)
        if self._tokens.expiry_ms(token) is None:
            raise rules.unknown_to_cancel(token)
        self._commit(edits.CancelDelegationTokenOp(token))
        return token

    def password_of(self, identifier: bytes, now_ms: int, *, is_active: bool) -> bytes:
        """Return the password of a token that is good.

        Raises InvalidToken; RetriableError where a standby does not know it.
        """
        token = rules.read_identifier(identifier)
        until_ms = self._tokens.expiry_ms(token)
        if until_ms is None:
            words = rules.unknown(token)
            if not is_active:
                raise errors.RetriableError(f"{words} of a standby, which may not have it yet")
            raise errors.InvalidToken(words)
        rules.check_in_time(token, until_ms, now_ms)
        return self._password(token, identifier)

    def _password(self, token: DelegationTokenIdentifier, identifier: bytes) -> bytes:
        return rules.password_by(self._tokens.key(token.master_key_id), token, identifier)
