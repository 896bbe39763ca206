"""The file of access keys, as a gateway reads it and `howdah s3 keys` changes it (shell).

Nobody but its owner may read it, and it may be encrypted by a passphrase. It is read anew when it
has changed; a file that cannot be read, or is none, lets nobody in.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.formats.access_keys import AccessKey, parse, written
from howdah.formats.malformed import MalformedRecord
from howdah.security.guarded_file import Watched, change_guarded, read_guarded
from howdah.security.sealing import is_sealed, passphrase_in, seal, unseal

Passphrase = Callable[[], str]
"""Raises InvalidConfiguration."""

log = logging.getLogger(__name__)


def configured_passphrase(conf: Configuration) -> Passphrase | None:
    """Return the passphrase of the file of access keys; None where none is configured."""
    path = conf.get(keys.HOWDAH_S3_KEYS_PASSPHRASE_FILE)
    return (lambda: passphrase_in(Path(path).expanduser())) if path else None


class AccessKeyFile:
    """Of one gateway. Thread-safe."""

    def __init__(self, path: Path, passphrase: Passphrase | None = None) -> None:
        """`passphrase` is of an encrypted file."""
        self.path: Final = path
        self._passphrase = passphrase
        self._lock = threading.Lock()
        self._watched: Final = Watched(path)
        self._seen: tuple[int, ...] | None = None
        self._keys: Mapping[str, AccessKey] = {}

    def keys(self) -> Mapping[str, AccessKey]:
        """Return the keys that the file has now, by their names. Raises InvalidConfiguration."""
        with self._lock:
            seen = self._watched.signature()
            if seen != self._seen:
                before, self._seen, self._keys = self._keys, None, {}
                self._keys = read_access_keys(self.path, self._passphrase)
                self._seen = seen
                if self._keys != before:
                    log.info("%s has %d access keys", self.path, len(self._keys))
            return self._keys


def read_access_keys(path: Path, passphrase: Passphrase | None = None) -> dict[str, AccessKey]:
    """Return the keys of a file.

    Raises InvalidConfiguration where it is none, cannot be read, or others can read or write it,
    and where it is encrypted by another passphrase.
    """
    text, _ = _plain_text(path, passphrase)
    try:
        return parse(text)
    except MalformedRecord as error:
        raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def _plain_text(path: Path, passphrase: Passphrase | None) -> tuple[str, bool]:
    """Return the text of a file, and whether it was encrypted."""
    text, is_shown = read_guarded(path)
    if is_shown:
        raise errors.InvalidConfiguration(
            f"{path} can be read by others than its owner, and has secrets in it: chmod 600"
        )
    if not is_sealed(text):
        return text, False
    if passphrase is None:
        raise errors.InvalidConfiguration(
            f"{path} is encrypted: {keys.HOWDAH_S3_KEYS_PASSPHRASE_FILE.name} names the file of "
            "its passphrase"
        )
    try:
        return unseal(text, passphrase()), True
    except errors.InvalidConfiguration as error:
        raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def change_access_keys(
    path: Path,
    edit: Callable[[dict[str, AccessKey]], None],
    *,
    creates: bool = False,
    passphrase: Passphrase | None = None,
    seals: bool | None = None,
) -> None:
    """Change the keys of a file: whoever reads it sees all of that or nothing. With `creates` it
    need not be there. `seals`: whether it is encrypted afterwards; None: as it is, and a new one if
    there is a passphrase. Raises InvalidConfiguration, and what `edit` raises."""

    def edited(there: Path | None) -> str:
        text, was_sealed = "", passphrase is not None
        if there is not None:
            text, was_sealed = _plain_text(there, passphrase)
        try:
            found = parse(text)
        except MalformedRecord as error:
            raise errors.InvalidConfiguration(f"{path}: {error.message}") from None
        edit(found)
        plain = written(found.values())
        if not (was_sealed if seals is None else seals):
            return plain
        if passphrase is None:
            raise errors.InvalidConfiguration(
                f"{keys.HOWDAH_S3_KEYS_PASSPHRASE_FILE.name} is not set, which names the file of a "
                "passphrase"
            )
        return seal(plain, passphrase())

    change_guarded(path, edited, creates=creates)
