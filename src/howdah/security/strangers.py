"""Who still comes without a proof to a server that takes both (`howdah.security.transition`): its
operator has to know before he closes the door (shell: the clock, and a thread for the reminder).

1. Each user at each address is named in the log once an hour, the first time at once.
2. Who comes in thousands of names fills no memory: so many are known, and the rest is counted.
3. The reminder that everybody is believed comes at the start, and every ten minutes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from howdah.config import keys

log = logging.getLogger(__name__)

AGAIN_S: Final = 3600.0
REMINDER_S: Final = 600.0
MOST_KNOWN: Final = 1000
MOST_NAMED: Final = 5
_MOST_SHOWN: Final = 100


class Strangers:
    """Of one process. Thread-safe."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._named_s: dict[tuple[str, str], float] = {}
        self._since: dict[tuple[str, str], None] = {}
        self._uncounted = 0

    def note(self, user: str, address: str) -> None:
        """Hear of one who was believed. `user` may be empty where he gave no name."""
        now_s, who = self._now_s(), (user[:_MOST_SHOWN], address)
        with self._lock:
            if who not in self._since and len(self._since) < MOST_KNOWN:
                self._since[who] = None
            named_s = self._named_s.get(who)
            if named_s is not None and now_s - named_s < AGAIN_S:
                return
            if named_s is None and len(self._named_s) >= MOST_KNOWN:
                self._forget_old(now_s)
                if len(self._named_s) >= MOST_KNOWN:
                    self._uncounted += 1
                    return
            self._named_s[who] = now_s
        log.info("%s came without a proof, and was believed", _name_and_address(who))

    def reminder(self, server: str) -> str:
        """What the operator is reminded of; who came is counted anew from now on."""
        with self._lock:
            since, self._since = list(self._since), {}
            others, self._uncounted = self._uncounted, 0
        text = warning(server)
        if not since:
            return f"{text}. Nobody came without a proof since this was said last"
        named = ", ".join(map(_name_and_address, since[:MOST_NAMED]))
        more = len(since) - MOST_NAMED
        rest = f" and {more} others" if more > 0 else ""
        unnamed = f" (and others {others} times)" if others else ""
        return f"{text}. Without a proof came {named}{rest}{unnamed}"

    def _forget_old(self, now_s: float) -> None:
        self._named_s = {
            who: named_s for who, named_s in self._named_s.items() if now_s - named_s < AGAIN_S
        }


def _name_and_address(who: tuple[str, str]) -> str:
    user, address = who
    # It is anybody's text, and goes into a log.
    name = user if user.isprintable() else ascii(user)
    return f"{name or 'somebody'} from {address}"


def warning(server: str) -> str:
    """What is wrong with a server that takes both.

    >>> warning("namenode")
    'the namenode believes everybody who shows no proof, as without Kerberos, since \
howdah.security.transition is true: take it out as soon as all clients and servers have changed'
    """
    return (
        f"the {server} believes everybody who shows no proof, as without Kerberos, since "
        f"{keys.HOWDAH_SECURITY_TRANSITION.name} is true: take it out as soon as all clients and "
        "servers have changed"
    )


STRANGERS: Final = Strangers()
"""Of this process."""


def keep_reminding(server: str, *, every_s: float = REMINDER_S) -> str:
    """Log the warning now and from time to time until the process ends, and return it."""
    text = warning(server)
    log.warning("%s", text)
    threading.Thread(
        target=_remind, args=(server, every_s), name="transition reminder", daemon=True
    ).start()
    return text


def _remind(server: str, every_s: float) -> None:
    while True:
        time.sleep(every_s)
        log.warning("%s", STRANGERS.reminder(server))
