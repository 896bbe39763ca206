"""Delegation tokens in ZooKeeper, in the form of Hadoop's servers (pure).

    ZKDTSMRoot/ZKDTSMTokensRoot/DT_7        a token: identifier, until when it is good, password
    ZKDTSMRoot/ZKDTSMMasterKeyRoot/DK_3     a key: DelegationKey
    ZKDTSMRoot/ZKDTSMSeqNumRoot             the last number of a token that a server has taken
    ZKDTSMRoot/ZKDTSMKeyIdRoot              the last id of a key

A token's time is eight bytes, in milliseconds since 1970; the password comes behind its length in
four. Counters are four bytes. All numbers are signed and big-endian. Hadoop:
ZKDelegationTokenSecretManager, and SharedCount of Curator.
"""

from __future__ import annotations

import struct
from typing import Final

from howdah.formats.malformed import MalformedRecord
from howdah.formats.primitives import Cursor
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.security.stored_tokens import StoredToken

ROOT: Final = "ZKDTSMRoot"
TOKENS: Final = "ZKDTSMTokensRoot"
KEYS: Final = "ZKDTSMMasterKeyRoot"
LAST_NUMBER: Final = "ZKDTSMSeqNumRoot"
LAST_KEY_ID: Final = "ZKDTSMKeyIdRoot"
_COUNTER: Final = struct.Struct(">i")
_UNTIL_AND_LENGTH: Final = struct.Struct(">qi")


def token_name(number: int) -> str:
    return f"DT_{number}"


def key_name(key_id: int) -> str:
    return f"DK_{key_id}"


def encode_token(token: StoredToken, password: bytes) -> bytes:
    """Return what is in the znode of a token."""
    tail = _UNTIL_AND_LENGTH.pack(token.until_ms, len(password))
    return token.identifier.encode() + tail + password


def decode_token(content: bytes) -> StoredToken:
    """Return the token of a znode. Its password is not looked at: whoever asks for it makes it anew
    by the key. Raises MalformedRecord."""
    cursor = Cursor(content)
    identifier = DelegationTokenIdentifier.read(cursor)
    until_ms, length = _UNTIL_AND_LENGTH.unpack(cursor.raw(_UNTIL_AND_LENGTH.size, "time"))
    if length != cursor.remaining:
        raise cursor.fail(f"a password of {length} bytes, where {cursor.remaining} follow")
    return StoredToken(identifier, until_ms)


def encode_counter(value: int) -> bytes:
    return _COUNTER.pack(value)


def decode_counter(content: bytes) -> int:
    """Raises MalformedRecord."""
    if len(content) != _COUNTER.size:
        raise MalformedRecord(f"a counter of {len(content)} bytes")
    value: int = _COUNTER.unpack(content)[0]
    return value


def decode_key(content: bytes) -> DelegationKey:
    """Raises MalformedRecord."""
    cursor = Cursor(content)
    key = DelegationKey.read(cursor)
    if cursor.remaining:
        # Nothing of it is shown: it may be a key.
        raise MalformedRecord("more follows a key of delegation tokens")
    return key
