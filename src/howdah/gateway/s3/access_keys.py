"""The file of access keys, as a gateway reads it and `howdah s3 keys` changes it (shell).

Nobody but its owner may read it. It is read anew when it has changed; a file that cannot be read,
or is none, lets nobody in.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.access_keys import AccessKey, parse, written
from howdah.formats.malformed import MalformedRecord
from howdah.security.guarded_file import change_guarded, read_guarded, signature_of

log = logging.getLogger(__name__)


class AccessKeyFile:
    """Of one gateway. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._keys: Mapping[str, AccessKey] = {}

    def keys(self) -> Mapping[str, AccessKey]:
        """Return the keys that the file has now, by their names. Raises InvalidConfiguration."""
        with self._lock:
            seen = signature_of(self.path)
            if seen != self._seen:
                before, self._seen, self._keys = self._keys, None, {}
                self._keys = read_access_keys(self.path)
                self._seen = seen
                if self._keys != before:
                    log.info("%s has %d access keys", self.path, len(self._keys))
            return self._keys


def read_access_keys(path: Path) -> dict[str, AccessKey]:
    """Return the keys of a file.

    Raises InvalidConfiguration where it is none, cannot be read, or others can read or write it.
    """
    text, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has secrets in it: chmod 600"
        )
    try:
        return parse(text)
    except MalformedRecord as error:
        raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def change_access_keys(
    path: Path, edit: Callable[[dict[str, AccessKey]], None], *, creates: bool = False
) -> None:
    """Change the keys of a file: whoever reads it sees all of that or nothing. With `creates` it
    need not be there. Raises InvalidConfiguration, and what `edit` raises."""

    def edited(there: Path | None) -> str:
        found = {} if there is None else read_access_keys(there)
        edit(found)
        return written(found.values())

    change_guarded(path, edited, creates=creates)
