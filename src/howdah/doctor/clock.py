"""The clock of this machine, and that of another one (shell)."""

from __future__ import annotations

import email.utils
import http.client
import struct
import sys
import time
from typing import Final

from howdah import errors
from howdah.runtime import libc
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place

_STATUS_OFFSET: Final = 40
_UNSYNCHRONISED: Final = 0x40
_DATE_RESOLUTION_S: Final = 1.0


def is_kept() -> bool | None:
    """Whether the kernel's clock is held by NTP or the like; None if the system doesn't say."""
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        return None
    state = libc.clock_state()
    if state is None:
        return None
    (status,) = struct.unpack_from("=i", state, _STATUS_OFFSET)
    return not status & _UNSYNCHRONISED


def seconds_ahead(place: Place, timeout_s: float, tls: ClientTls) -> tuple[float, float] | None:
    """Return how far the clock of a web server is ahead of ours, and by how much that may be wrong;
    None if it does not say."""
    try:
        connection = tls.http(place, timeout_s)
    except errors.InvalidConfiguration:
        return None
    try:
        began_s = time.time()
        connection.request("GET", "/conf?name=dfs.nameservices")
        answer = connection.getresponse()
        ended_s = time.time()
        date = answer.getheader("Date")
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    sent = email.utils.parsedate_to_datetime(date) if date else None
    if sent is None:
        return None
    middle_s = (began_s + ended_s) / 2
    # The header has whole seconds, cut off.
    ahead_s = sent.timestamp() + _DATE_RESOLUTION_S / 2 - middle_s
    return ahead_s, _DATE_RESOLUTION_S / 2 + (ended_s - began_s) / 2
