"""`/logs`: what this server has logged, and nothing else (shell).

A server logs to its standard error. Where that is a file, the end of this file is shown, and
all of it is to be had as text. Otherwise the last lines are shown, which are kept in memory; a
server that is two processes shows both.
No request names a file, so none can name another one. What looks like a secret is blackened.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, Final

from howdah.web.channel import Channel
from howdah.web.http import Response, text_response
from howdah.web.pages.html import Child, tag
from howdah.web.pages.layout import live
from howdah.web.process_bridge import OtherProcess

PATH: Final = "/logs"
RAW: Final = "/logs/text"
SHOWN_BYTES: Final = 128 * 1024
_PIECE_BYTES: Final = 256 * 1024
_KEPT_LINES: Final = 1000
_KEPT_LINE_CHARS: Final = 2000
_STDERR: Final = 2

# Names and schemes have a bound: anybody's text may be in a log, and who reads a page of it must
# not keep the process busy for a minute.
_SECRETS: Final = (
    re.compile(
        r"((?:password|passwd|secret|credential|token|access[._-]?key|authorization|api[._-]?key)"
        r"[\w.\-]{0,80}[\"']?\s*(?:=|:|\bis\b)\s*)(?!\s)"
        r"(\"[^\"]*\"|'[^']*'|(?:Bearer |Basic )?[^\s,;&)\]}]+)",
        re.I,
    ),
    re.compile(r"(\b[a-z][a-z0-9+.\-]{0,40}://[^\s/:@]+:)([^\s/@]+)(?=@)", re.I),
)


def redacted(text: str) -> str:
    """With values of passwords, tokens and keys blackened.

    >>> redacted("x.password=abc, next")
    'x.password=<redacted>, next'
    """
    for pattern in _SECRETS:
        text = pattern.sub(r"\1<redacted>", text)
    return text


class LastLines(logging.Handler):
    """The last records of this process, for a log that is no file."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self.format(record)[:_KEPT_LINE_CHARS])
        except Exception:  # noqa: BLE001 - as every handler of logging does
            self.handleError(record)

    def text(self) -> str:
        return "".join(f"{line}\n" for line in list(self._lines))


class Log:
    """Of this server."""

    def __init__(self, descriptor: int = _STDERR, also: OtherProcess | None = None) -> None:
        """`descriptor`: where the log goes; `also`: another process, which logs there too."""
        self._also = also
        self._descriptor = descriptor
        self._lines: LastLines | None = None
        file = self.open()
        if file is not None:
            file.close()
        else:
            self._lines = LastLines()
            logging.getLogger().addHandler(self._lines)

    def open(self) -> BinaryIO | None:
        """The file, from its beginning; None where the log is none. Whoever asks closes it."""
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                return None
            # A descriptor of its own: the position of the one that is written to is not moved.
            return open(f"/dev/fd/{self._descriptor}", "rb")
        except OSError:
            return None

    def tail(self) -> tuple[str, int]:
        """The last `SHOWN_BYTES`, and how many bytes there are in all. Raises OSError."""
        file = self.open()
        if file is None:
            text = redacted(self._lines.text() if self._lines is not None else "")
            if self._also is not None:
                text += f"\n{self._also.name}:\n\n{self._also.log()}"
            return text, len(text)
        with file:
            total = file.seek(0, os.SEEK_END)
            file.seek(max(0, total - SHOWN_BYTES))
            data = file.read(SHOWN_BYTES)
        if total > SHOWN_BYTES:
            data = data[data.find(b"\n") + 1 :]
        return redacted(data.decode("utf-8", "replace")), total


def page(log: Log) -> list[Child]:
    """The body of the page. Raises OSError."""
    text, total = log.tail()
    shown = "all of it" if total <= SHOWN_BYTES else f"its last {SHOWN_BYTES // 1024} KiB"
    return [
        tag(
            "p",
            f"The log of this server has {total:,} bytes; this is {shown}, the newest last. ",
            tag("a", "All as text", href=RAW),
        ),
        live("log", tag("pre", text or "Nothing was logged.", tabindex="0", aria_label="Log")),
    ]


class WholeLog:
    """All of the log, in pieces."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._refusal: Response | None = None

    def run(self, channel: Channel) -> None:
        file = self._log.open()
        if file is None:
            self._refusal = text_response(200, self._log.tail()[0])
            return
        with file:
            channel.begin(200, {"Content-Type": "text/plain; charset=utf-8"})
            for lines in _whole_lines(file):
                channel.send(redacted(lines.decode("utf-8", "replace")).encode())
        channel.end()

    def done(self) -> Response | None:
        return self._refusal


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Pieces that end with a line, so that no secret is cut in two; a line that is longer than
    a piece ends with it."""
    rest = b""
    while data := file.read(_PIECE_BYTES):
        lines, end, rest = (rest + data).rpartition(b"\n")
        if lines or end:
            yield lines + end
        elif len(rest) > _PIECE_BYTES:
            yield rest
            rest = b""
    if rest:
        yield rest
