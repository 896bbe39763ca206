"""A long text as an answer, piece by piece, so that it takes the memory of a piece (shell).

It goes out in chunks, as gzip where the other side takes that. A piece is made when those before
it are on their way: whoever reads slowly is not written ahead of.
"""

from __future__ import annotations

import threading
from typing import Final

from howdah.web.channel import Channel
from howdah.web.encoding import ENCODED, VARYING, squeeze, takes_gzip
from howdah.web.http import Request

_SQUEEZED_AT_ONCE: Final = threading.BoundedSemaphore(2)
"""For a piece each, and never while one is sent: others want their turn of the processor."""


class TextOut:
    """One answer; nothing is sent before its first piece."""

    def __init__(self, channel: Channel, request: Request, content_type: str) -> None:
        self._channel = channel
        self._headers = {"Content-Type": content_type, **VARYING}
        self._squeeze = None
        if takes_gzip(request.headers.get("accept-encoding")):
            self._headers |= ENCODED
            self._squeeze = squeeze()
        self.has_begun = False

    def send(self, data: bytes) -> bool:
        """A piece; whether more of them are wanted, which after a HEAD is not so. Raises
        OSError."""
        if not self.has_begun:
            self._channel.begin(200, self._headers)
            self.has_begun = True
        if not self._channel.wants_body:
            return False
        if self._squeeze is not None:
            with _SQUEEZED_AT_ONCE:
                data = self._squeeze.compress(data)
        self._channel.send(data)
        return True

    def end(self) -> None:
        """All of it was sent. Raises OSError."""
        if self._squeeze is not None:
            self._channel.send(self._squeeze.flush())
        self._channel.end()
