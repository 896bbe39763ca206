"""The delegation tokens that key servers have issued, in a directory that they share (shell).

A file for each token says until when it is good. There is no secret in it, and who could write it
could only undo a cancellation. A token without a file was cancelled, or is over.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.runtime import disk
from howdah.runtime.atomic_files import TEMPORARY_SUFFIX, fsync_directory, replace_file
from howdah.security.guarded_file import locked
from howdah.security.stored_tokens import StoredToken

log = logging.getLogger(__name__)

_OTHERS: Final = 0o077
_OWN_DIRECTORY: Final = 0o700
_OWN_FILE: Final = 0o600


class TokenRecords:
    """Those in one directory. Thread-safe, among several processes too."""

    def __init__(self, directory: Path) -> None:
        self.directory: Final = directory

    def until_ms(self, token: DelegationTokenIdentifier) -> int | None:
        """Return until when a token is good; None for one that is not there. Raises
        InvalidConfiguration."""
        stored = self._read(self._path(token))
        return stored.until_ms if stored is not None and stored.identifier == token else None

    def add(self, stored: StoredToken) -> bool:
        """Add a token, durably; False where another one has its number. Raises
        InvalidConfiguration."""
        return self._write(stored, is_there=False)

    def renew(self, stored: StoredToken) -> bool:
        """Say anew until when a token is good; False for one that is not there. Raises
        InvalidConfiguration."""
        return self._write(stored, is_there=True)

    def remove(self, token: DelegationTokenIdentifier) -> bool:
        """Remove a token; False where it is not there. Raises InvalidConfiguration."""
        path = self._path(token)
        with self._changing():
            # Whoever cancels a token shows its identifier, and no password: another one of the same
            # number, in which he is the renewer, is not it.
            if self.until_ms(token) is None:
                return False
            disk.unlink(path)
            fsync_directory(self.directory)
        return True

    def count(self) -> int:
        """Return how many tokens there are. Raises InvalidConfiguration."""
        with self._named_errors():
            return sum(1 for _ in self._paths())

    def count_of(self, owner: str) -> int:
        """Return how many tokens a user has. Raises InvalidConfiguration."""
        mark = f"{_mark(owner)}-"
        with self._named_errors():
            return sum(path.name.startswith(mark) for path in self._paths())

    def remove_over(self, now_ms: int) -> int:
        """Remove tokens that are over, and records that are none; how many. Raises
        InvalidConfiguration."""
        removed = 0
        with self._changing():
            for path in self._paths():
                stored = self._read(path)
                if stored is None or stored.until_ms < now_ms:
                    disk.unlink(path, missing_ok=True)
                    removed += 1
            if removed:
                fsync_directory(self.directory)
        return removed

    def _write(self, stored: StoredToken, *, is_there: bool) -> bool:
        path = self._path(stored.identifier)
        with self._changing():
            if path.exists() is not is_there:
                return False
            replace_file(path, stored.encode() + b"\n", mode=_OWN_FILE)
        return True

    def _path(self, token: DelegationTokenIdentifier) -> Path:
        return self.directory / f"{_mark(token.owner)}-{token.sequence_number}"

    def _paths(self) -> Iterator[Path]:
        if self.directory.exists():
            for path in self.directory.iterdir():
                if not path.name.endswith(TEMPORARY_SUFFIX):
                    yield path

    def _read(self, path: Path) -> StoredToken | None:
        with self._named_errors():
            try:
                return StoredToken.decode(path.read_bytes())
            except FileNotFoundError:
                return None
            except errors.IllegalArgument as error:
                log.warning("%s: %s", path, error.message)
                return None

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with self._named_errors():
            if not self.directory.exists():
                disk.make_directory(self.directory, _OWN_DIRECTORY)
                fsync_directory(self.directory.parent)
            status = self.directory.stat()
            if not stat.S_ISDIR(status.st_mode) or status.st_mode & _OTHERS:
                raise errors.InvalidConfiguration(
                    f"{self.directory} is not a directory that its owner alone can enter: chmod 700"
                )
            if status.st_uid != os.geteuid() != 0:
                raise errors.InvalidConfiguration(
                    f"{self.directory} belongs to user {status.st_uid}, and not to {os.geteuid()}, "
                    "who runs this key server"
                )
            with locked(self.directory):
                yield

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if isinstance(error, errors.HowdahError | FileNotFoundError):
                raise
            raise errors.InvalidConfiguration(
                f"delegation tokens in {self.directory} cannot be read or written: "
                f"{error.strerror or error}"
            ) from error


def _mark(owner: str) -> str:
    """What names of records of one owner begin with."""
    return hashlib.sha256(owner.encode()).hexdigest()[:16]
