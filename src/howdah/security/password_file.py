"""The file of passwords as servers read it, and as `howdah passwd` changes it (shell).

`howdah.security.guarded_file` says who may change it. It is read anew when it or its directory has
changed, and once a second while it is refused. A file that cannot be read, or is none, lets nobody
in: an administrator who takes a user out must not be ignored since a line beside it is wrong.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from howdah import errors
from howdah.formats.malformed import MalformedRecord
from howdah.formats.passwords import PasswordRecord, parse, written
from howdah.security.guarded_file import Watched, change_guarded, read_guarded

log = logging.getLogger(__name__)

_AGAIN_S: Final = 1.0
"""A file that is refused is read again no sooner."""


class PasswordFile:
    """Of one server. Thread-safe."""

    def __init__(self, path: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        self.path: Final = path
        self._now_s = now_s
        self._lock = threading.Lock()
        self._watched: Final = Watched(path)
        self._seen: tuple[int, ...] | None = None
        self._records: Mapping[str, PasswordRecord] = {}
        self._problem: str | None = None
        self._again_s = 0.0

    def records(self) -> Mapping[str, PasswordRecord]:
        """Return what the file has now, by users. Raises InvalidConfiguration."""
        with self._lock:
            seen = self._watched.signature()
            # What is wrong may be mended by something that no signature has.
            is_due = self._problem is not None and self._now_s() >= self._again_s
            if seen != self._seen or is_due:
                self._read(seen)
            if self._problem is not None:
                raise errors.InvalidConfiguration(self._problem)
            return self._records

    def _read(self, seen: tuple[int, ...]) -> None:
        was_read, problem_before, before = self._seen is not None, self._problem, self._records
        self._seen = seen
        try:
            self._records, self._problem = read_passwords(self.path), None
        except errors.InvalidConfiguration as error:
            self._records, self._problem = {}, error.message
            self._again_s = self._now_s() + _AGAIN_S
            if self._problem != problem_before:
                log.error("nobody can log in: %s", error)
            return
        if was_read and (problem_before is not None or self._records != before):
            log.info("%s has changed: %d users can log in", self.path, len(self._records))


def read_passwords(path: Path) -> dict[str, PasswordRecord]:
    """Return the records of a file.

    Raises InvalidConfiguration where it is none, cannot be read, or others can write it.
    """
    text, is_shown = read_guarded(path)
    if is_shown:
        log.warning(
            "%s can be read by others than its owner, who can guess passwords by it: chmod 600",
            path,
        )
    try:
        return parse(text)
    except MalformedRecord as error:
        raise errors.InvalidConfiguration(f"{path}: {error.message}") from None


def change(
    path: Path, edit: Callable[[dict[str, PasswordRecord]], None], *, creates: bool = False
) -> None:
    """Change the records of a file: whoever reads it sees all of that or nothing, and one process
    at a time changes it. With `creates` it need not be there.

    Raises InvalidConfiguration, and what `edit` raises.
    """

    def edited(there: Path | None) -> str:
        records = {} if there is None else read_passwords(there)
        edit(records)
        return written(records.values())

    change_guarded(path, edited, creates=creates)
