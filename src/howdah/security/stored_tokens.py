"""Delegation tokens and their keys as records that several servers share (pure).

A record is one line: of a token its identifier and until when it is good, of a key what
DelegationKey of Hadoop writes; bytes are in base 64. A token has no password in its record, and
whoever reads keys can make that of each.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier

_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class TokenTimes:
    """For how long tokens and keys are good, in seconds."""

    renewal_s: int
    lifetime_s: int
    key_s: int
    scan_s: int = 60 * 60
    """So often, at least, tokens that are over are removed."""

    def longest_ms(self, now_ms: int) -> int:
        """Up to when a token that is issued now can be renewed."""
        return now_ms + self.lifetime_s * _MS

    def renewed_ms(self, longest_ms: int, now_ms: int) -> int:
        """Until when a token is good that is issued or renewed now."""
        return min(longest_ms, now_ms + self.renewal_s * _MS)

    def new_key(self, key_id: int, key: bytes, now_ms: int) -> DelegationKey:
        """A key that is good until the last token is over that it can have made."""
        return DelegationKey(key_id, now_ms + (self.key_s + self.lifetime_s) * _MS, key)

    def is_current(self, key: DelegationKey, now_ms: int) -> bool:
        """Whether tokens that are issued now may be made by the key."""
        return now_ms < key.expiry_date_ms - self.lifetime_s * _MS

    def current_of(self, known: Iterable[DelegationKey], now_ms: int) -> DelegationKey | None:
        """Return the latest key, if tokens may still be made by it."""
        latest = max(known, key=lambda key: key.key_id, default=None)
        return latest if latest is not None and self.is_current(latest, now_ms) else None


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token that was issued and not cancelled."""

    identifier: DelegationTokenIdentifier
    until_ms: int

    def encode(self) -> bytes:
        return base64.b64encode(self.identifier.encode()) + b" %d" % self.until_ms

    @classmethod
    def decode(cls, content: bytes) -> StoredToken:
        """Raises IllegalArgument for a damaged record."""
        text, _, until = content.strip().partition(b" ")
        try:
            identifier = DelegationTokenIdentifier.decode(base64.b64decode(text, validate=True))
            return cls(identifier, int(until))
        except (binascii.Error, ValueError, MalformedRecord) as error:
            raise errors.IllegalArgument(f"that is no delegation token: {error}") from error


def encode_key(key: DelegationKey) -> bytes:
    return base64.b64encode(key.encode())


def decode_key(content: bytes) -> DelegationKey:
    """Raises IllegalArgument for a damaged record."""
    try:
        cursor = Cursor(base64.b64decode(content.strip(), validate=True))
        key = DelegationKey.read(cursor)
    except (binascii.Error, ValueError, MalformedRecord):
        # Nothing of it is shown: it may be a key.
        raise errors.IllegalArgument("that is no key of delegation tokens") from None
    if cursor.remaining:
        raise errors.IllegalArgument("more follows a key of delegation tokens")
    return key
