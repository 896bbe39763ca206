"""The text of the secrets by which key servers make delegation tokens (pure)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationKey
from howdah.security.stored_tokens import decode_key, encode_key

_FORMAT: Final = 1


def written(secrets: Mapping[int, DelegationKey]) -> str:
    """Return the text of secrets. It is one itself."""
    return json.dumps(
        {"format": _FORMAT, "secrets": [encode_key(each).decode() for each in secrets.values()]}
    )


def parse(text: str) -> dict[int, DelegationKey]:
    """Return the secrets of a text. Raises ProtocolViolation, which says nothing of what is in
    it."""
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise errors.ProtocolViolation("the secrets are in a format that is not known here")
        found = [decode_key(entry.encode()) for entry in document["secrets"]]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise errors.ProtocolViolation("the secrets are not as they are written") from None
    return {each.key_id: each for each in found}
