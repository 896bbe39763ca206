"""What the directories of buckets say of them, as a gateway knows it (shell: the clock, locks).

What a gateway has seen counts for some seconds, also that there is nothing, and it knows so many
buckets at most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from howdah import errors
from howdah.gateway.s3.protocol.cors import CorsRule
from howdah.gateway.s3.protocol.refusals import Refused

log = logging.getLogger(__name__)

T = TypeVar("T")

SEEN_S: Final = 5.0
MOST_SEEN: Final = 1000
Rules = tuple[CorsRule, ...] | None


class Seen(Generic[T]):
    """What was seen of each bucket, as long as it counts. Thread-safe."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, T]] = {}
        self._changes = 0

    def of(self, bucket: str, look: Callable[[], T]) -> T:
        """Return what counts for a bucket; `look` finds it where nothing was seen. What that raises
        is raised, and not kept."""
        now_s = self._now_s()
        with self._lock:
            seen, changes = self._seen.get(bucket), self._changes
        if seen is not None and now_s - seen[0] < SEEN_S:
            return seen[1]
        found = look()
        with self._lock:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            if changes == self._changes:  # Otherwise it may be what was there before the change.
                self._seen[bucket] = now_s, found
        return found

    def forget(self, bucket: str) -> None:
        """It has changed."""
        with self._lock:
            self._changes += 1
            self._seen.pop(bucket, None)


class BucketRules:
    """The rules of CORS of buckets: of one gateway. Thread-safe.

    Browsers ask for them unsigned, so whoever can reach the gateway can have it look.
    """

    def __init__(
        self,
        look: Callable[[str], Rules],
        others: Sequence[CorsRule],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` finds the rules of a bucket, None where it has none; `others` count then."""
        self._look = look
        self._others = others
        self._seen: Seen[Rules] = Seen(now_s)

    def of(self, bucket: str) -> Sequence[CorsRule]:
        """Return what counts for a bucket; "" for none."""
        rules = self._seen.of(bucket, lambda: self._read_rules(bucket)) if bucket else None
        return self._others if rules is None else rules

    def _read_rules(self, bucket: str) -> Rules:
        try:
            return self._look(bucket)
        except (errors.HowdahError, Refused) as error:
            log.info("rules of CORS of the bucket %s cannot be seen: %s", bucket, error)
            return None

    def forget(self, bucket: str) -> None:
        """They have changed."""
        self._seen.forget(bucket)
