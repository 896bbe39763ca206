"""The delegation tokens of a namespace and the keys of their passwords (pure).

The part of Hadoop's `DelegationTokenSecretManager` that is stored. Tokens and keys change by edits
alone, and images keep them. `namenode.service.delegation_tokens` makes the edits. A namenode that
issues no tokens keeps those of others, so that they are still good when such a one opens the
directory again.

No token goes because its time is over, and no key: a namenode that removes a token writes an edit,
and edits remove no keys. As in Hadoop, a renewal or a cancellation of a token that is not there has
no effect: calls that are made at the same time may be logged in either order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from howdah.formats.edits import edits
from howdah.formats.edits.edits import DelegationKey, DelegationTokenIdentifier
from howdah.formats.image import records as rec
from howdah.namenode.state.inodes.block_events import EditDoesNotFit


class DelegationTokens:
    """Keeps the tokens and keys of a namespace."""

    def __init__(self) -> None:
        self._keys: Final[dict[int, DelegationKey]] = {}
        self._expiries_ms: Final[dict[DelegationTokenIdentifier, int]] = {}
        self.current_key_id = 0
        """The greatest id that a key ever had."""
        self.sequence_number = 0
        """The greatest sequence number that a token ever had."""
        self.appliers: Final[Mapping[type[edits.Edit], Callable[[Any], None]]] = {
            edits.GetDelegationTokenOp: self._issue,
            edits.RenewDelegationTokenOp: self._renew,
            edits.CancelDelegationTokenOp: self._cancel,
            edits.UpdateMasterKeyOp: self._update_master_key,
        }

    # Looking.

    def __len__(self) -> int:
        """Return how many tokens there are."""
        return len(self._expiries_ms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DelegationTokens) and self.record() == other.record()

    def expiry_ms(self, token: DelegationTokenIdentifier) -> int | None:
        """Return the time up to which the token is renewed; None if there is no such token."""
        return self._expiries_ms.get(token)

    def key(self, key_id: int) -> DelegationKey | None:
        """Return a key; None if there is no such key."""
        return self._keys.get(key_id)

    def over(self, now_ms: int) -> Iterator[DelegationTokenIdentifier]:
        """Yield the tokens whose time is over, in the order of their issue."""
        for token, expiry_ms in self._expiries_ms.items():
            if expiry_ms < now_ms:
                yield token

    # Edits.

    def _issue(self, op: edits.GetDelegationTokenOp) -> None:
        if op.token in self._expiries_ms:
            raise EditDoesNotFit(f"{op.opcode.name}: there is a {op.token} already")
        self._expiries_ms[op.token] = op.expiry_ms
        self.sequence_number = max(self.sequence_number, op.token.sequence_number)

    def _renew(self, op: edits.RenewDelegationTokenOp) -> None:
        if op.token in self._expiries_ms:
            self._expiries_ms[op.token] = op.expiry_ms

    def _cancel(self, op: edits.CancelDelegationTokenOp) -> None:
        self._expiries_ms.pop(op.token, None)

    def _update_master_key(self, op: edits.UpdateMasterKeyOp) -> None:
        self._keep(op.key)

    def _keep(self, key: DelegationKey) -> None:
        self._keys[key.key_id] = key
        self.current_key_id = max(self.current_key_id, key.key_id)

    # Images.

    def record(self) -> rec.SecretsRecord:
        """Return them as an image has them: keys by id, tokens in the order of their issue."""
        tokens = sorted(
            self._expiries_ms.items(),
            key=lambda entry: (entry[0].sequence_number, entry[0].encode()),
        )
        return rec.SecretsRecord(
            self.current_key_id,
            self.sequence_number,
            tuple(
                rec.DelegationKeyRecord(key.key_id, key.expiry_date_ms, key.key or None)
                for _, key in sorted(self._keys.items())
            ),
            tuple(
                rec.DelegationTokenRecord(
                    owner=token.owner,
                    renewer=token.renewer,
                    real_user=token.real_user,
                    issued_ms=token.issue_date_ms,
                    longest_ms=token.max_date_ms,
                    sequence_number=token.sequence_number,
                    master_key_id=token.master_key_id,
                    expiry_ms=expiry_ms,
                )
                for token, expiry_ms in tokens
            ),
        )

    def load(self, record: rec.SecretsRecord) -> None:
        """Take over what an image has. Raises EditDoesNotFit for what cannot be."""
        self.current_key_id = record.current_key_id
        self.sequence_number = record.token_sequence_number
        for key in record.keys:
            self._keep(DelegationKey(key.key_id or 0, key.expiry_ms or 0, key.key or b""))
        for token in record.tokens:
            identifier = DelegationTokenIdentifier(
                token.owner or "",
                token.renewer or "",
                token.real_user or "",
                token.issued_ms or 0,
                token.longest_ms or 0,
                token.sequence_number or 0,
                token.master_key_id or 0,
            )
            self._issue(edits.GetDelegationTokenOp(identifier, token.expiry_ms or 0))
