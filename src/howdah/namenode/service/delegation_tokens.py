"""Delegation tokens as an active namenode issues, renews and cancels them (pure).

A token is an identifier, which says whose it is and until when, and a password: the HMAC of the
identifier by a master key. Who shows both is whom the identifier names. Nothing of that is a secret
but the keys, so the password is computed when it is asked for, and kept nowhere.

1. A token is good until it was last renewed to, and never longer than its lifetime. Its renewer
   alone renews it, with the password. Owner and renewer cancel it.
2. Whoever came by a token gets no other one by it: that would outlive the first.
3. Keys are rolled; a key is good until the last token that it made is over. The active rolls them,
   and removes tokens that are over, by edits: a standby has what it reads.
4. A standby may not know a token yet that is good. It says that it cannot tell.

AbstractDelegationTokenSecretManager in Hadoop.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.edits import edits
from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.namenode.state.tree.delegation_tokens import DelegationTokens

MOST_REMOVED_AT_ONCE: Final = 1000
"""Of tokens that are over, between other work."""
SCAN_MS: Final = 60 * 60 * 1000
"""So often, at least, those that are over are looked for."""
_MOST_NAME_CHARACTERS: Final = 1024


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
        if len(renewer) > _MOST_NAME_CHARACTERS:
            raise errors.IllegalArgument(f"a renewer's name of {len(renewer)} characters")
        tokens, times = self._tokens, self._times
        identifier = DelegationTokenIdentifier(
            owner,
            self._short_name(renewer) if renewer else "",
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
        identifier = self._read(token.identifier)
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
        password = self._password(identifier, token.identifier)
        if not hmac.compare_digest(password, token.password):
            raise errors.AccessDenied(
                f"{renewer} is trying to renew a token {shown} with wrong password"
            )
        if self._tokens.expiry_ms(identifier) is None:
            raise errors.InvalidToken(f"Renewal request for unknown token {shown}")
        until_ms = min(identifier.max_date_ms, now_ms + self._times.renewal_ms)
        self._commit(edits.RenewDelegationTokenOp(identifier, until_ms))
        return until_ms

    def cancel(self, identifier: bytes, canceller: str) -> DelegationTokenIdentifier:
        """Cancel a token for its owner or its renewer, who is `canceller` by his full name.

        Raises AccessDenied, InvalidToken.
        """
        token = self._read(identifier)
        is_renewer = bool(token.renewer) and self._short_name(canceller) == token.renewer
        if canceller != token.owner and not is_renewer:
            raise errors.AccessDenied(
                f"{canceller} is not authorized to cancel the token ({token})"
            )
        if self._tokens.expiry_ms(token) is None:
            raise errors.InvalidToken(f"Token not found ({token})")
        self._commit(edits.CancelDelegationTokenOp(token))
        return token

    def password_of(self, identifier: bytes, now_ms: int, *, is_active: bool) -> bytes:
        """Return the password of a token that is good.

        Raises InvalidToken; RetriableError where a standby does not know it.
        """
        token = self._read(identifier)
        until_ms = self._tokens.expiry_ms(token)
        if until_ms is None:
            words = f"Token for real user: {token.real_user}, can't be found in cache"
            if not is_active:
                raise errors.RetriableError(f"{words} of a standby, which may not have it yet")
            raise errors.InvalidToken(words)
        if until_ms < now_ms:
            raise errors.InvalidToken(f"Token {token.real_user} has expired")
        return self._password(token, identifier)

    def _read(self, identifier: bytes) -> DelegationTokenIdentifier:
        try:
            token = DelegationTokenIdentifier.decode(identifier)
        except MalformedRecord as error:
            raise errors.InvalidToken(f"that is no identifier of a token: {error}") from error
        if token.encode() != identifier:
            # Two texts of one identifier would have two passwords.
            raise errors.InvalidToken("that is no identifier as this server writes it")
        return token

    def _password(self, token: DelegationTokenIdentifier, identifier: bytes) -> bytes:
        key = self._tokens.key(token.master_key_id)
        if key is None or not key.key:
            raise errors.InvalidToken(
                f"Unable to find master key for keyId={token.master_key_id} from cache"
            )
        return hmac.digest(key.key, identifier, "sha1")
