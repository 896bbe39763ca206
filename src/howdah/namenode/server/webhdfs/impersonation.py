"""May one act for another? Asked on the loop, awaited on the thread of a connection (shell)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from howdah import errors
from howdah.protocol.rpc.server_hooks import Impersonation
from howdah.protocol.rpc.service import defect
from howdah.web.channel import Gone

_LOOK_S: Final = 0.5


class ProxyAuthorization:
    """Of one request over HTTP."""

    def __init__(
        self, impersonation: Impersonation, real_user: str, user: str, address: str
    ) -> None:
        self._impersonation = impersonation
        self._whose = real_user, user, address
        self._outcome: Future[None] = Future()

    def request(self) -> None:
        """On the loop."""
        try:
            self._impersonation.authorize(*self._whose, self._resolved)
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            self._resolved(defect("doas", error))

    def _resolved(self, error: errors.HowdahError | None) -> None:
        if error is None:
            self._outcome.set_result(None)
        else:
            self._outcome.set_exception(error)

    def wait(self, has_left: Callable[[], bool]) -> None:
        """On the thread. Raises AuthorizationFailed, whatever else hinders, and Gone."""
        while True:
            try:
                return self._outcome.result(_LOOK_S)
            except TimeoutError:
                if self._outcome.done():
                    raise  # which hinders
                if has_left():
                    raise Gone("nobody waits for a permission any more") from None
