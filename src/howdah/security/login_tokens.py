"""The delegation tokens of users who log in: each ends with the line of its user in the file of
passwords (shell: a file)."""

from __future__ import annotations

from dataclasses import dataclass, field

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.security.passwords import KnownPasswords
from howdah.security.server_methods import IssuedTokens


@dataclass(frozen=True, slots=True)
class TokensOfUsers(IssuedTokens):
    """Those of `issued` whose users can still log in."""

    issued: IssuedTokens
    users: KnownPasswords = field(repr=False)

    def password_of(self, identifier: bytes) -> bytes:
        password = self.issued.password_of(identifier)
        token = DelegationTokenIdentifier.decode(identifier)
        # Whoever acts for another one has logged in, and that one may have no password.
        user = token.real_user or token.owner
        try:
            is_known = user in self.users.records()
        except errors.InvalidConfiguration as error:
            raise errors.RetriableError(
                "no token is taken now: the file of passwords is not as it has to be, and the "
                "namenode's log says why"
            ) from error
        if not is_known:
            raise errors.InvalidToken(f"{user}, who got this token, can log in no more")
        return password
