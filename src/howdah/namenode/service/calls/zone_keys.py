"""Keys for new files in encryption zones, fetched ahead (pure). Hadoop: ValueQueue.

A key server makes keys of files. To ask it takes milliseconds, or for ever, and the loop never
waits: keys of each zone's key lie ready, and when few are left, more are asked for. A call that
finds none is held until they come. What a key server that is away costs is new files in its zones,
and nothing else.

Keys that nobody took for long are dropped: those who roll a key expect to see its new version.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from howdah import errors
from howdah.protocol.encryption_zones.messages import EncryptedKey

log = logging.getLogger(__name__)

Made = list[EncryptedKey] | errors.HowdahError
_AWAY: Final = (errors.Unreachable, errors.CallTimeout)
_MOST_KEYS: Final = 1000
"""Keys of zones for which keys of files are kept."""


class KeyServer(Protocol):
    """Asks the key servers beside the loop, and tells on the loop what came of it."""

    def generate(self, key_name: str, count: int, done: Callable[[Made], None]) -> None: ...
    def check(self, key_name: str, done: Callable[[errors.HowdahError | None], None]) -> None:
        """Whether there is a key of that name."""

    def reencrypt(self, wanted: Sequence[EncryptedKey], done: Callable[[Made], None]) -> None:
        """Have keys of files encrypted anew, by the last version of one key."""


class KeyAwaited(Exception):
    """No key for a new file lies ready; more were asked for."""

    def __init__(self, key_name: str) -> None:
        super().__init__(key_name)
        self.key_name = key_name


@dataclass(slots=True)
class Answers:
    """What came of the questions to key servers, since the start."""

    answered: int = 0
    """Refusals are answers."""
    failed: int = 0
    """Those that no key server answered."""
    is_failing: bool = False
    """Whether the last one is among them."""
    last_failure: str = ""
    """Why, of the last one that was."""

    def note(self, outcome: object) -> None:
        """One more."""
        self.is_failing = isinstance(outcome, _AWAY)
        if self.is_failing:
            self.failed += 1
            self.last_failure = str(outcome)
        else:
            self.answered += 1


@dataclass(slots=True)
class _Kept:
    keys: deque[tuple[int, EncryptedKey]] = field(default_factory=deque)
    """With the time from which on they are not used."""
    is_asked: bool = False
    is_stale: bool = False
    """What was asked for is of no use: another version of the key may have been made since."""
    waiting: list[Callable[[errors.HowdahError | None], None]] = field(default_factory=list)


class ZoneKeys:
    """Of one namenode. `now_ms` is monotonic."""

    def __init__(
        self,
        server: KeyServer,
        now_ms: Callable[[], int],
        *,
        size: int,
        low: float,
        expiry_ms: int,
    ) -> None:
        """`size` keys are kept of each key of a zone, and when less than a `low` share is left,
        more are asked for."""
        self._server = server
        self._now_ms = now_ms
        self._size = size
        self._low = max(1, int(size * low))
        self._expiry_ms = expiry_ms
        self._kept: dict[str, _Kept] = {}
        self.answers: Final = Answers()

    def check(self, key_name: str, done: Callable[[errors.HowdahError | None], None]) -> None:
        """Tell whether there is a key of that name."""

        def heard(error: errors.HowdahError | None) -> None:
            self.answers.note(error)
            done(_for_clients(error))

        self._server.check(key_name, heard)

    def take(self, key_name: str) -> EncryptedKey:
        """Return a key that no other file has. Raises KeyAwaited."""
        kept = self._of(key_name)
        now_ms = self._now_ms()
        while kept.keys and kept.keys[0][0] <= now_ms:
            kept.keys.popleft()
        if not kept.keys:
            self._ask(key_name, kept)
            raise KeyAwaited(key_name)
        _, key = kept.keys.popleft()
        if len(kept.keys) < self._low:
            self._ask(key_name, kept)
        return key

    def warm_up(self, key_name: str) -> None:
        """Have keys ready before the first file."""
        kept = self._of(key_name)
        if not kept.keys:
            self._ask(key_name, kept)

    def when_there(
        self, key_name: str, listener: Callable[[errors.HowdahError | None], None]
    ) -> None:
        """Tell `listener` once, when keys have come, or why none came."""
        kept = self._of(key_name)
        if kept.keys:
            listener(None)
            return
        kept.waiting.append(listener)
        self._ask(key_name, kept)

    def forget(self, key_name: str) -> None:
        """Keys that were made ahead, and such as are being made, are not used any more."""
        kept = self._of(key_name)
        kept.keys.clear()
        kept.is_stale = kept.is_asked

    def forget_all(self) -> None:
        """The same of all keys."""
        for key_name in list(self._kept):
            self.forget(key_name)

    def version_name(self, key_name: str) -> str | None:
        """By which version of a key the next one is encrypted; None where none lies ready."""
        keys = self._of(key_name).keys
        return keys[0][1].version_name if keys else None

    def ready(self) -> dict[str, int]:
        """How many keys lie ready, by the name of the key that encrypts them."""
        return {key_name: len(kept.keys) for key_name, kept in sorted(self._kept.items())}

    def reencrypt(self, wanted: Sequence[EncryptedKey], done: Callable[[Made], None]) -> None:
        """Have keys of files encrypted anew, by the last version of one key."""

        def heard(made: Made) -> None:
            self.answers.note(made)
            done(made)

        self._server.reencrypt(wanted, heard)

    def _of(self, key_name: str) -> _Kept:
        kept = self._kept.get(key_name)
        if kept is None:
            if len(self._kept) >= _MOST_KEYS:
                idle = [name for name, one in self._kept.items() if not one.is_asked]
                for name in idle[: len(idle) // 2 + 1]:
                    del self._kept[name]
            kept = self._kept[key_name] = _Kept()
        return kept

    def _ask(self, key_name: str, kept: _Kept) -> None:
        if kept.is_asked:
            return
        kept.is_asked = True
        self._server.generate(
            key_name, self._size - len(kept.keys), lambda made: self._came(key_name, kept, made)
        )

    def _came(self, key_name: str, kept: _Kept, made: Made) -> None:
        kept.is_asked = False
        self.answers.note(made)
        if kept.is_stale:
            kept.is_stale = False
            if kept.waiting:
                self._ask(key_name, kept)
            return
        error: errors.HowdahError | None = None
        if isinstance(made, errors.HowdahError):
            error = made
        elif not made:
            error = errors.RemoteError(f"the key server made no key by {key_name}")
        else:
            until_ms = self._now_ms() + self._expiry_ms
            kept.keys.extend((until_ms, key) for key in made)
        if error is not None:
            log.warning(
                "no keys for new files come by the key %s, and its zones take none: %s",
                key_name,
                error,
            )
        waiting, kept.waiting = kept.waiting, []
        for tell in waiting:
            tell(_for_clients(error))


def _for_clients(error: errors.HowdahError | None) -> errors.HowdahError | None:
    """Return what a client hears of the failure of key servers. As it is, one that is not reached
    would have the client look for another namenode, for minutes."""
    if isinstance(error, _AWAY):
        return errors.RemoteError(f"no key server answers the namenode: {error.message}")
    return error
