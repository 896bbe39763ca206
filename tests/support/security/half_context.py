"""One side of a context of GSSAPI that stands in for Kerberos."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from howdah import errors

_REQUEST: Final = b"AP-REQ "


class HalfContext:
    """Signs by a digest, and counts messages. The far end's first token says who that is."""

    def __init__(self, tokens: Sequence[bytes], **can: bool) -> None:
        """`tokens` are what this side says."""
        self._tokens = list(tokens)
        self._sent = self._received = 0
        self.client = ""
        self.is_confidential = can.get("is_confidential", True)
        self.is_ordered = can.get("is_ordered", True)

    @property
    def is_established(self) -> bool:
        return not self._tokens

    def step(self, token: bytes) -> bytes:
        if token.startswith(_REQUEST):
            self.client = token.removeprefix(_REQUEST).decode(errors="replace")
        return self._tokens.pop(0)

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        head = bytes((confidential, self._sent))
        self._sent += 1
        return head + hashlib.sha256(head + data).digest() + data

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        head, proof, data = token[:2], token[2:34], token[34:]
        if head[1:] != bytes((self._received,)) or hashlib.sha256(head + data).digest() != proof:
            raise errors.ProtocolViolation("changed, or not the next")
        self._received += 1
        return data, head[0] == 1

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        return most_bytes - 34
