"""A file of secrets that key servers share (shell), encrypted by a passphrase.

Nobody but its owner may read it. Each server reads it anew when it has changed, and one at a time
changes it. The encryption is that of `howdah.security.sealing`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Generic, TypeVar

from howdah import errors
from howdah.security.guarded_file import Watched, change_guarded, read_guarded
from howdah.security.sealing import seal, unseal

log = logging.getLogger(__name__)

K = TypeVar("K")
V = TypeVar("V")


class SealedFile(Generic[K, V]):
    """Secrets by their names. Thread-safe."""

    def __init__(
        self,
        path: Path,
        passphrase: str,
        parse: Callable[[str], dict[K, V]],
        written: Callable[[Mapping[K, V]], str],
        *,
        has_to_stay: bool = False,
    ) -> None:
        """`parse` reads the text that `written` makes, or raises ProtocolViolation. A file that
        `has_to_stay` is not begun anew when it is gone: what was in it would be lost without a
        word."""
        self.path: Final = path
        self._passphrase = passphrase
        self._parse = parse
        self._written = written
        self._lock = threading.Lock()
        self._watched = Watched(path)
        self._seen: tuple[int, ...] | None = None
        self._entries: Mapping[K, V] = {}
        self._has_to_stay = has_to_stay
        self._was_there = False

    def entries(self) -> Mapping[K, V]:
        """Return what the file has now; nothing if there is no file yet. Raises
        InvalidConfiguration."""
        with self._lock:
            seen = self._watched.signature()
            if seen != self._seen:
                self._seen, self._entries = None, {}
                self._entries = self._read(self.path) if self._is_there() else {}
                self._seen = seen
                log.info("%s has %d entries", self.path, len(self._entries))
            return self._entries

    def change(self, edit: Callable[[dict[K, V]], None]) -> None:
        """Change what is in the file now. Raises InvalidConfiguration, and what `edit` raises."""

        def edited(there: Path | None) -> str:
            entries = self._read(self.path) if self._is_there() else {}
            edit(entries)
            return seal(self._written(entries), self._passphrase)

        change_guarded(self.path, edited, creates=True)
        self._was_there = True

    def _is_there(self) -> bool:
        """Raises InvalidConfiguration for a file that was there, and has to be."""
        try:
            self.path.stat()
        except FileNotFoundError:
            if self._has_to_stay and self._was_there:
                raise errors.InvalidConfiguration(
                    f"{self.path} is gone, and what was in it: put it back, or mount its filesystem"
                ) from None
            return False
        except OSError as error:
            raise errors.InvalidConfiguration(
                f"{self.path} cannot be read: {error.strerror}"
            ) from error
        self._was_there = True
        return True

    def _read(self, path: Path) -> dict[K, V]:
        text, is_shown = read_guarded(path)
        if is_shown:
            raise errors.InvalidConfiguration(
                f"{path} can be read by others than its owner, and has keys in it: chmod 600"
            )
        try:
            return self._parse(unseal(text, self._passphrase))
        except (errors.ProtocolViolation, errors.InvalidConfiguration) as error:
            raise errors.InvalidConfiguration(f"{path}: {error.message}") from None
