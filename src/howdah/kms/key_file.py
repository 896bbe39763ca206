"""The files of key servers (shell): their keys, and the secrets of their delegation tokens beside.

Several servers may have one file: see `howdah.kms.sealed_file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from howdah.formats.tokens.identifiers import DelegationKey
from howdah.kms.sealed_file import SealedFile
from howdah.kms.service import Edit
from howdah.kms.state import key_table, token_secrets
from howdah.kms.state.key_table import Key


class KeyFile:
    """Implements a `KeyStore`. Thread-safe."""

    def __init__(self, path: Path, passphrase: str) -> None:
        self._file = SealedFile(
            path, passphrase, key_table.parse, key_table.written, has_to_stay=True
        )

    @property
    def path(self) -> Path:
        return self._file.path

    def keys(self) -> Mapping[str, Key]:
        """Return the keys that the file has now; none if there is no file yet. Raises
        InvalidConfiguration, for a file that is gone as well."""
        return self._file.entries()

    def change(self, edit: Edit) -> None:
        """Change the keys, as they are in the file now. Raises InvalidConfiguration."""
        self._file.change(edit)


def token_secrets_beside(keys: Path, passphrase: str) -> SealedFile[int, DelegationKey]:
    """Return the file of secrets of the servers that have a file of keys."""
    path = keys.with_name(f"{keys.name}.token-secrets")
    return SealedFile(path, passphrase, token_secrets.parse, token_secrets.written)
