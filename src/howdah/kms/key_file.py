"""The file of a key server's keys (shell), encrypted by a passphrase (`howdah.security.sealing`).

Nobody but its owner may read it. Several servers may have one file: each reads
it anew when it has changed, and one at a time changes it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.kms.service import Edit
from howdah.kms.state.key_table import Key, parse, written
from howdah.security.guarded_file import change_guarded, read_guarded, signature_of
from howdah.security.sealing import seal, unseal

log = logging.getLogger(__name__)


class KeyFile:
    """Implements a `KeyStore`. Thread-safe."""

    def __init__(self, path: Path, passphrase: str) -> None:
        self.path: Final = path
        self._passphrase = passphrase
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._keys: Mapping[str, Key] = {}

    def keys(self) -> Mapping[str, Key]:
        """Return the keys that the file has now; none if there is no file yet. Raises
        InvalidConfiguration."""
        with self._lock:
            seen = signature_of(self.path)
            if seen != self._seen:
                self._seen, self._keys = None, {}
                self._keys = self._read(self.path) if self.path.exists() else {}
                self._seen = seen
                log.info("%s has %d keys", self.path, len(self._keys))
            return self._keys

    def change(self, edit: Edit) -> None:
        """Change the keys, as they are in the file now. Raises InvalidConfiguration."""

        def edited(there: Path | None) -> str:
            keys = {} if there is None else self._read(there)
            edit(keys)
            return seal(written(keys), self._passphrase)

        change_guarded(self.path, edited, creates=True)

    def _read(self, path: Path) -> dict[str, Key]:
        text, is_shown = read_guarded(path)
        if is_shown:
            raise errors.InvalidConfiguration(
                f"{path} can be read by others than its owner, and has keys in it: chmod 600"
            )
        try:
            return parse(unseal(text, self._passphrase))
        except (errors.ProtocolViolation, errors.InvalidConfiguration) as error:
            raise errors.InvalidConfiguration(f"{path}: {error.message}") from None
