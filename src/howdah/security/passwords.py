"""Looks at names and passwords (shell: the clock, a file, threads).

A guess costs what the file says (`howdah.formats.passwords`), a right password that was seen lately
from the same address nothing: programs show theirs with each request. What was seen is kept as an
HMAC by a key of this process, for minutes, and never longer than the password's line stays as it
is. It is looked at after the brake, as all other guesses.

Unknown users cost as much as known ones: by the cost of some line, always the same one for a name.
Wrong guesses are slowed (`attempts`), and one guess at a time takes memory and a core; who has to
wait too long hears that.
"""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from howdah import errors
from howdah.formats.passwords import Cost, PasswordRecord
from howdah.protocol.web_authentication.attempts import Attempts, network_of

log = logging.getLogger(__name__)

SEEN_S: Final = 300.0
_MOST_SEEN: Final = 1024
_AT_ONCE: Final = 2
_TURN_S: Final = 10.0
_KEY_BYTES: Final = 32
_NAME_CHARACTERS: Final = 256
"""Of a name, as failures are counted."""


class LoginRefused(errors.AuthenticationFailed):
    """A name and a password that are not taken; with `wait_s` they were not looked at, and may be
    shown again then."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class KnownPasswords(Protocol):
    """Has the records of all users now. Raises InvalidConfiguration where it cannot tell."""

    def records(self) -> Mapping[str, PasswordRecord]: ...


class PasswordChecker:
    """Of one server. Thread-safe."""

    def __init__(self, known: KnownPasswords, now_s: Callable[[], float] = time.monotonic) -> None:
        self.known: Final = known
        self._now_s = now_s
        self._key = os.urandom(_KEY_BYTES)
        self._lock = threading.Lock()
        self._attempts = Attempts()
        self._seen: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def check(self, user: str, password: str, address: str) -> PasswordRecord:
        """Return the record of a user whose password that is.

        Raises LoginRefused, and InvalidConfiguration where nobody can log in.
        """
        records = self.known.records()
        record = records.get(user)
        # First, as a guess of what was seen lately would cost nothing.
        self._wait(user, address)
        shown = self._digest(f"{network_of(address)}\0{user}\0{password}")
        if record is not None and self._was_seen(shown, record):
            return record
        if not self._turns.acquire(timeout=_TURN_S):
            raise LoginRefused("too many log in now: try again", _TURN_S)
        try:
            # Others may have guessed while this one waited for its turn.
            self._wait(user, address)
            matches = (record or self._nobody(user, records)).matches(password)
        finally:
            self._turns.release()
        now_s = self._now_s()
        with self._lock:
            if record is None or not matches:
                self._attempts.failed(user[:_NAME_CHARACTERS], address, now_s)
                # Some type their password where the name belongs: only known names are shown.
                name = "an unknown user" if record is None else user
                log.warning("a login as %s from %s is refused", name, address)
                raise LoginRefused("there is no such user, or the password is another one")
            self._attempts.succeeded(user, address)
            self._seen[shown] = now_s + SEEN_S, record.stamp
            self._seen.move_to_end(shown)
            while len(self._seen) > _MOST_SEEN:
                self._seen.popitem(last=False)
        return record

    def _digest(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "replace"), "sha256")

    def _was_seen(self, shown: bytes, record: PasswordRecord) -> bool:
        with self._lock:
            until_s, stamp = self._seen.get(shown, (0.0, ""))
        return stamp == record.stamp and self._now_s() < until_s

    def _wait(self, user: str, address: str) -> None:
        with self._lock:
            wait_s = self._attempts.wait_s(user[:_NAME_CHARACTERS], address, self._now_s())
        if wait_s > 0:
            raise LoginRefused(
                f"too many wrong passwords: try again in {wait_s:.0f} s", max(wait_s, 1.0)
            )

    def _nobody(self, user: str, records: Mapping[str, PasswordRecord]) -> PasswordRecord:
        """What a guess for an unknown user is held against, as costly as that of a known one."""
        digest = self._digest(user)
        cost, key_bytes = Cost(), len(digest)
        if records:
            like = list(records.values())[int.from_bytes(digest[:8]) % len(records)]
            cost, key_bytes = like.cost, len(like.key)
        return PasswordRecord(user, cost, digest[:16], os.urandom(key_bytes))
