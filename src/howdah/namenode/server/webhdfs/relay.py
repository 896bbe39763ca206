"""The bytes of files through the server that shows a page (shell).

A namenode sends a client of WebHDFS on to a datanode. The browser that shows the namenode's page
may not reach one: it came through a tunnel or a forwarded port, or by another name than the
configuration has. So for the page the namenode asks the datanode itself, and passes on what it
hears, on the thread of the connection. A few at a time, since each byte passes through the
namenode's process.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime.tls.client import ClientTls
from howdah.web.channel import Channel
from howdah.web.connections import Connections, Exchange
from howdah.web.cross_site import header_of
from howdah.web.http import Request, Response, text_response
from howdah.web.http_client import place_of, split_url

PARAMETER: Final = "relay"
AT_ONCE: Final = 4
_PIECE_BYTES: Final = 1 << 18
_MOST_SAID_BYTES: Final = 1 << 16
"""Of an answer to a file that was sent: a few words, or an error."""
_PASSED_ON: Final = ("Content-Type", "Content-Length", "Location")


class Relay:
    """To all datanodes. Thread-safe."""

    def __init__(self, conf: Configuration) -> None:
        timeout_s = conf.get(keys.DFS_CLIENT_SOCKET_TIMEOUT)
        self._connections = Connections(timeout_s, timeout_s, ClientTls(conf))
        self._own_header = header_of(conf)
        self._free = threading.BoundedSemaphore(AT_ONCE)

    def pass_on(self, request: Request, location: str, channel: Channel) -> Response | None:
        """Do at `location`, where the request would be sent to, what it asks. The answer, or None
        where it is out. Raises Unreachable, CallTimeout, OSError."""
        if not self._free.acquire(blocking=False):
            return text_response(503, f"{AT_ONCE} files are on their way already: try again")
        try:
            parts = split_url(location)
            exchange = self._connections.exchange(place_of(parts), fresh=True)
            try:
                target = f"{parts.path}?{parts.query}"
                if request.method in ("GET", "HEAD"):
                    return self._read(exchange, request.method, target, channel)
                return self._write(exchange, request, target, channel)
            finally:
                exchange.close()
        finally:
            self._free.release()

    def _read(
        self, exchange: Exchange, method: str, target: str, channel: Channel
    ) -> Response | None:
        exchange.begin(method, target, self._own_header)
        exchange.end()
        head = exchange.head()
        headers = _relayed_headers(head.headers)
        if head.status != 200:
            headers.pop("Content-Length", None)
            return Response(head.status, headers, exchange.body(_MOST_SAID_BYTES))
        channel.begin(head.status, headers)
        piece = memoryview(bytearray(_PIECE_BYTES))
        try:
            while count := exchange.readinto(piece):
                channel.send(piece[:count])
        except errors.HowdahError:
            # Only the end of the connection can say that the answer broke off.
            channel.broken = True
            raise
        channel.end()
        return None

    def _write(
        self, exchange: Exchange, request: Request, target: str, channel: Channel
    ) -> Response:
        length = request.headers.get("content-length")
        headers = {
            **self._own_header,
            "Content-Type": "application/octet-stream",
            "Expect": "100-continue",
        }
        if length is None:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = length
        exchange.begin(request.method, target, headers)
        head = exchange.refused()
        if head is None:
            while data := channel.read():
                exchange.send(data)
            exchange.end()
            head = exchange.head()
        relayed = _relayed_headers(head.headers)
        relayed.pop("Content-Length", None)
        return Response(head.status, relayed, exchange.body(_MOST_SAID_BYTES))


def _relayed_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that the relay passes on."""
    return {name: headers[name.lower()] for name in _PASSED_ON if name.lower() in headers}
