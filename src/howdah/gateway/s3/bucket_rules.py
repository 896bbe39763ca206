"""The rules of CORS of buckets, as a gateway knows them (shell: the clock, locks).

Browsers ask for them unsigned, so whoever can reach the gateway can have it look. What it has seen
counts for some seconds, also that there is nothing, and it knows so many buckets at most.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from howdah import errors
from howdah.gateway.s3.protocol.cors import CorsRule
from howdah.gateway.s3.protocol.refusals import Refused

log = logging.getLogger(__name__)

SEEN_S: Final = 5.0
MOST_SEEN: Final = 1000
Rules = tuple[CorsRule, ...] | None


class BucketRules:
    """Of one gateway. Thread-safe."""

    def __init__(
        self,
        look: Callable[[str], Rules],
        others: Sequence[CorsRule],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`look` finds the rules of a bucket, None where it has none; `others` count then."""
        self._look = look
        self._others = others
        self._now_s = now_s
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, Rules]] = {}

    def of(self, bucket: str) -> Sequence[CorsRule]:
        """Return what counts for a bucket; "" for none."""
        rules = self._of(bucket) if bucket else None
        return self._others if rules is None else rules

    def _of(self, bucket: str) -> Rules:
        now_s = self._now_s()
        with self._lock:
            seen_s, rules = self._seen.get(bucket, (-SEEN_S, None))
        if now_s - seen_s < SEEN_S:
            return rules
        try:
            rules = self._look(bucket)
        except (errors.HowdahError, Refused) as error:
            log.info("rules of CORS of the bucket %s cannot be seen: %s", bucket, error)
            rules = None
        with self._lock:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen[bucket] = now_s, rules
        return rules

    def forget(self, bucket: str) -> None:
        """They have changed."""
        with self._lock:
            self._seen.pop(bucket, None)
