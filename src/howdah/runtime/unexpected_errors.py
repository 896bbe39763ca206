"""Defects: errors that nobody foresaw, and the one rule of what becomes of them (pure).

A `HowdahError` is meant: it refuses a call, or says what of the outside failed. Any other
exception is a defect of the program. Where it happens decides how far it reaches:

1. **In `apply`**: the namespace may lie between two transactions. The process ends at once.
   One CRITICAL line names the edit, its transaction id and what comes next. The edit gets no
   record, nothing that was computed since leaves the process, and no image is written. A
   start replays the log up to the last durable transaction (`Namesystem.commit`).
2. **In a call**: its caller gets an error, and the log has the trace. Everybody else is
   served on. The same holds for a slice of a long call.
3. **In a duty** (something that a server does by itself: a tick, or a slice of long work):
   the log has the trace, and the duty is tried again at a later turn. The pause doubles with
   each defect in a row, to at most a minute. Other duties go on (`ha.duties`).
4. **In work for a pending answer**: the answer is settled with an error. Each `Deferred` has
   an owner who settles it: after work that failed, at its deadline, and when the owner stops.
   The server withdraws from it when the caller is gone, and answers for the owner when the
   server itself stops.
5. **In a callback of the event loop**: the loop goes on, and the log has the trace.

`seen` counts 2 to 5 by what failed; `/jmx` shows it. A count above zero is a bug to report.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

log = logging.getLogger(__name__)

seen: Final[Counter[str]] = Counter()
"""Defects since the start of the process, by what failed."""


def note(activity: str, error: BaseException, then: str) -> None:
    """Count a defect on which `activity` failed, and log its trace with what comes next."""
    seen[activity] += 1
    log.error("%s failed on a defect; %s", activity, then, exc_info=error)
