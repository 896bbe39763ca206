"""A document of a provider, fetched when it is needed, and kept (shell: threads, a clock).

One thread at a time fetches; who comes meanwhile takes what there is, or waits. A failure is
remembered for a while, so that a provider that does not answer costs one wait and not one for each
request, and what was there before serves on for a day.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from howdah.protocol.web_authentication.openid.metadata import MalformedDocument
from howdah.security.openid.documents import TIMEOUT_S, ProviderUnreachable

log = logging.getLogger(__name__)

T = TypeVar("T")

FRESH_S: Final = 15 * 60.0
"""So long a document counts without another look: a key that a provider takes back is good here
for as long."""
STALE_S: Final = 24 * 3600.0
"""So long it serves where a provider does not answer."""
AGAIN_S: Final = 10.0
"""No sooner is a provider asked again that did not answer, or for a key that it may have by now."""


class CachedDocument(Generic[T]):
    """Of one provider. Thread-safe."""

    def __init__(
        self, what: str, fetch: Callable[[], T], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """`fetch` raises ProviderUnreachable, MalformedDocument."""
        self._what = what
        self._fetch = fetch
        self._now_s = now_s
        self._lock = threading.Lock()
        self._value: T | None = None
        self._fetched_s = 0.0
        self._tried_s = float("-inf")
        self._problem = ""

    def get(self) -> T:
        """Return what there is, fetched anew if that is old. Raises ProviderUnreachable."""
        return self._found(FRESH_S)

    def newer(self) -> T:
        """Return what there is, fetched anew unless that was tried just now. Raises
        ProviderUnreachable."""
        return self._found(0.0)

    def _found(self, fresh_s: float) -> T:
        value = self._value
        if value is not None and self._now_s() - self._fetched_s < fresh_s:
            return value
        # Who has something to go on with does not wait for others; a new key is waited for.
        if not self._lock.acquire(timeout=0 if value is not None and fresh_s else TIMEOUT_S):
            return self._served()
        try:
            if self._now_s() - self._tried_s >= AGAIN_S:
                self._try()
        finally:
            self._lock.release()
        return self._served()

    def _try(self) -> None:
        self._tried_s = self._now_s()
        try:
            self._value = self._fetch()
        except (ProviderUnreachable, MalformedDocument) as error:
            self._problem = f"{self._what} cannot be had: {error}"
            log.warning("%s", self._problem)
            return
        finally:
            self._tried_s = self._now_s()
        self._fetched_s, self._problem = self._tried_s, ""

    def _served(self) -> T:
        """Raises ProviderUnreachable."""
        value = self._value
        if value is not None and self._now_s() - self._fetched_s < STALE_S:
            return value
        raise ProviderUnreachable(self._problem or f"{self._what} is being fetched: try again")
